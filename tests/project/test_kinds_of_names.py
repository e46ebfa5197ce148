"""Which names of classes are read well: the script, with a tiny model."""

import json

import pytest
import spacy
import typer.testing
from spacy.tokens import Doc, Span

from spacy_entlm.files.errors import DataError

SETS = {
    "news": ("proper names", ["person", "location"], "John lives in Peterville ."),
    "sales": ("roles", ["buyer", "seller"], "John sold it to Mary ."),
    "short": ("proper names", ["PER", "LOC"], "Mary lives in Smithville ."),
}


@pytest.fixture(scope="module")
def script(import_script):
    return import_script("kinds_of_names")


def line(name):
    """A line of a set: its first word is of the first label, its last of the second."""
    group, labels, text = SETS[name]
    *_, last, _ = text.split()
    ends = [(0, text.index(" ")), (text.index(last), text.index(last) + len(last))]
    spans = [
        {"start": start, "end": end, "kinds": [label]}
        for (start, end), label in zip(ends, labels)
    ]
    entry = {"text": text, "spans": spans, "lang": "en", "labels": labels}
    return {**entry, "set": name, "group": group}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "dev.jsonl"
    entries = [{**line(name), "lang": "xx"} for name in SETS]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


@pytest.fixture
def run(script, data, knowing, tmp_path):
    """Runs the script and returns its rows and what it showed."""
    app, out = typer.Typer(), tmp_path / "out.jsonl"
    app.command()(script.main)

    def run(*options):
        line = [str(out), "--data", str(data), "--backbone", str(knowing), *options]
        result = typer.testing.CliRunner().invoke(app, line, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return [json.loads(row) for row in out.read_text().splitlines()], result.stdout

    return run


def test_it_writes_a_row_of_each_set_and_group_and_shows_them(run):
    rows, shown = run()
    assert [row.get("set", row["group"]) for row in rows] == [
        *("news", "sales", "short", "proper names", "roles", "all")
    ]
    assert [row["names"] for row in rows] == [2, 2, 2, 4, 2, 6]
    assert all(0 <= row["f1"] <= row["untyped"] <= 100 for row in rows)
    by_label = rows[0]["labels"]
    # The tiny model knows persons by their name.
    assert by_label["person"]["r"] == by_label["person"]["bounded"] == 100
    assert rows[2]["labels"]["PER"]["r"] == 100
    for text in ("| proper names | news |", "| sales | buyer |", "| all |"):
        assert text in shown


def test_labels_are_asked_for_in_other_words(run):
    rows, _ = run("--names", "buyer=person, seller=location")
    assert rows[1]["labels"]["buyer"]["r"] == 100


def doc_of(*ents):
    doc = Doc(spacy.blank("xx").vocab, words=["Anna", "Bell", "of", "New", "York"])
    doc.ents = [Span(doc, start, end, label=label) for start, end, label in ents]
    return doc


def test_a_name_that_is_misread_is_found_whatever_its_label(script):
    counts = script.Counts()
    gold = doc_of((0, 2, "seller"), (3, 5, "city"))
    counts.add(doc_of((0, 2, "buyer"), (4, 5, "city")), gold)
    assert counts.row() == {"p": 0, "r": 0, "f1": 0, "untyped": 50, "names": 2}
    rows = counts.by_label()
    assert rows["seller"]["bounded"] == 100 and rows["city"]["bounded"] == 0
    assert rows["buyer"] == {"p": 0, "r": 0, "f1": 0, "bounded": None, "names": 0}


def test_right_names_count_with_their_labels(script):
    counts = script.Counts()
    counts.add(doc_of((0, 2, "seller")), doc_of((0, 2, "seller"), (3, 5, "city")))
    row = counts.row()
    assert (row["p"], row["r"], row["f1"]) == (100, 50, 66.67)
    assert counts.by_label()["seller"]["f1"] == 100


def test_a_mark_that_cuts_a_word_is_told(script):
    entry = {**line("news"), "spans": [{"start": 0, "end": 3, "kinds": ["person"]}]}
    doc = spacy.blank("xx").make_doc(entry["text"])
    with pytest.raises(DataError, match=r"'Joh' in .* cuts a word"):
        script.marked(doc, entry)


@pytest.mark.parametrize("field", ["text", "lang", "labels", "set", "group", "spans"])
def test_a_line_that_lacks_a_field_is_told(script, tmp_path, field):
    path = tmp_path / "dev.jsonl"
    entry = line("news")
    del entry[field]
    path.write_text(json.dumps(entry) + "\n")
    with pytest.raises(DataError, match=f"line 1: has no '{field}'"):
        script.read_sets(path)


@pytest.mark.parametrize("names", ["buyer", "buyer=", "=person"])
def test_words_without_a_label_are_told(script, names):
    with pytest.raises(DataError, match="write LABEL=WORDS"):
        script.words_of(names)
