"""The corpus of kinds that lies in the repository, and the script that checks it."""

import json
import lzma
import re
import shutil
from collections import Counter
from pathlib import Path

import pandas
import pytest
import typer.testing

from spacy_entlm.files.json_lines import read_objects
from spacy_entlm.teaching.lines import FORM, read_marked_lines

ROOT = Path(__file__).resolve().parents[2]
KINDS = ROOT / "project" / "assets" / "kinds"
LINES, DEV = KINDS / "lines.jsonl.xz", KINDS / "dev.jsonl.xz"
# Data to measure on, outside the repository.
MEASURED_ON = ROOT.parent / "shared" / "data"
LINE = {
    "id": "en-1",
    "lang": "en",
    "text": "Anna left Rome",
    "spans": [
        {"start": 0, "end": 4, "kinds": ["writer", "person"]},
        {"start": 10, "end": 14, "kinds": ["city", "location"]},
    ],
    "labels": None,
    "source": "written",
    "licence": "CC0-1.0",
    "field": "",
}


DEV_LINE = {
    **LINE,
    **{"id": "dev-1", "text": "Anna left Bari", "labels": ["PER", "WoA"]},
    **{"spans": [{"start": 0, "end": 4, "kinds": ["PER"]}]},
    **{"set": "short forms", "group": "names of data sets"},
}


@pytest.fixture(scope="module")
def script(import_script):
    return import_script("kinds_corpus")


@pytest.fixture(scope="module")
def entries():
    """The objects of the shipped lines."""
    return [entry for _, entry in read_objects(LINES, form=FORM)]


@pytest.fixture(scope="module")
def dev():
    """The objects of the shipped development part."""
    return [entry for _, entry in read_objects(DEV, form=FORM)]


def test_the_shipped_corpus_has_no_problem(script, entries):
    assert list(script.problems_of_all(entries)) == []
    assert list(script.problems_beside(KINDS, entries)) == []


def test_its_development_part_has_no_problem(script, entries, dev):
    assert list(script.problems_of_dev(dev, entries)) == []


def test_its_development_part_has_three_sets_in_each_group_and_language(script, dev):
    """Of 25 lines for kinds of names, and of 50 for languages."""
    lines = Counter((entry["group"], entry["set"], entry["lang"]) for entry in dev)
    of_languages = {key: n for key, n in lines.items() if key[0] == script.OF_LANGUAGES}
    assert {*of_languages.values()} == {50}
    assert [*Counter(lang for _, _, lang in of_languages).values()] == [3] * 8
    of_kinds = {key: n for key, n in lines.items() if key not in of_languages}
    assert {*of_kinds.values()} == {25}
    assert [*Counter(group for group, _, _ in of_kinds).values()] == [3] * 8
    assert sum(lang == "en" for _, _, lang in of_kinds) == 16


def test_what_learns_from_the_corpus_does_not_name_the_development_part():
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("*.md"), *ROOT.glob("*.yml")]
    assert any("lines.jsonl.xz" in page.read_text(encoding="utf8") for page in pages)
    assert not [p for p in pages if "dev.jsonl.xz" in p.read_text(encoding="utf8")]


def test_its_readme_has_its_counts(script, entries, dev):
    text = (KINDS / "README.md").read_text(encoding="utf8")
    assert script.COUNTS.findall(text) == [script.counts(entries)]
    assert script.SETS.findall(text) == [script.counts_of_sets(dev)]
    real = sum(entry["source"] != "written" for entry in entries)
    assert f"{len(entries):,} lines" in text and f"{real:,} of real text" in text


def test_its_readme_shows_one_of_its_lines(entries):
    text = (KINDS / "README.md").read_text(encoding="utf8")
    (shown,) = re.findall(r"```json\n(.+)\n```", text)
    assert json.loads(shown) in entries


def test_it_is_small_enough_for_a_repository():
    assert sum(path.stat().st_size for path in KINDS.iterdir()) < 8_000_000


def test_it_is_read_as_marked_lines(entries):
    lines = list(read_marked_lines([LINES]))
    assert [line.text for line in lines] == [entry["text"] for entry in entries]
    assert sum(len(line.marks) for line in lines) == sum(
        len(entry["spans"]) for entry in entries
    )
    assert [bool(line.labels) for line in lines] == [
        entry["labels"] is not None for entry in entries
    ]


@pytest.mark.skipif(not MEASURED_ON.is_dir(), reason="the data is not there")
def test_no_line_is_in_data_to_measure_on(entries, dev):
    def bare(text):
        return re.sub(r"[\W_]+", "", text.lower())

    lines = {bare(entry["text"]): entry["id"] for entry in [*entries, *dev]}
    texts = [
        " ".join(entry["text"])
        for path in MEASURED_ON.rglob("*.jsonl")
        for _, entry in read_objects(path, form=FORM)
    ]
    assert len(texts) > 10_000
    assert [lines[bare(text)] for text in texts if bare(text) in lines] == []


def test_pandas_reads_it_as_it_is_written(entries):
    frame = pandas.read_json(LINES, lines=True, nrows=3000)
    assert list(frame) == list(LINE)
    assert frame["id"].tolist() == [entry["id"] for entry in entries[:3000]]
    assert frame["spans"].tolist() == [entry["spans"] for entry in entries[:3000]]


def test_a_good_line_has_no_problem(script):
    fixed = [{"start": 0, "end": 4, "kinds": ["person"]}]
    assert not list(script.problems_of_all([LINE]))
    assert not list(script.problems({**LINE, "labels": ["person"], "spans": fixed}))
    real = {"source": "English Wikinews", "licence": "CC-BY-2.5"}
    assert not list(script.problems({**LINE, **real}))


def span(start=0, end=4, kinds=("person",)):
    return {"start": start, "end": end, "kinds": list(kinds)}


@pytest.mark.parametrize(
    "change, told",
    [
        ({"more": 1}, "has the fields"),
        ({"text": "", "spans": []}, "the text is empty"),
        ({"text": " Anna left Rome", "spans": []}, "blanks at an end"),
        ({"text": "An\u200bna left Rome", "spans": []}, "invisible signs"),
        ({"lang": "English"}, "the language is 'English'"),
        ({"source": ""}, "the source is ''"),
        ({"licence": None}, "the licence None"),
        ({"licence": "CC-BY-NC-4.0"}, "the licence 'CC-BY-NC-4.0'"),
        ({"licence": "MIT"}, "is not free"),
        ({"labels": []}, "the labels are []"),
        ({"labels": ["Person"]}, "the labels are ['Person']"),
        ({"labels": ["city"]}, "is none of the labels"),
        ({"spans": [span(4, 4)]}, "a mark is from 4 to 4"),
        ({"spans": [span(10, 15)]}, "a mark is from 10 to 15"),
        ({"spans": [span(0, 4), span(3, 9)]}, "a mark is from 3 to 9"),
        ({"spans": [span(0, 5)]}, "'Anna ' is empty or has blanks"),
        ({"spans": [span(kinds=[])]}, "the kinds of 'Anna' are []"),
        ({"spans": [span(kinds=["Person"])]}, "the kinds of 'Anna' are ['Person']"),
        ({"spans": [span(kinds=["a_b"])]}, "the kinds of 'Anna' are ['a_b']"),
        ({"spans": [span(kinds=["a", "a"])]}, "the kinds of 'Anna' are ['a', 'a']"),
        ({"text": "Write to anna@rome.it"}, "anna@rome.it may be somebody's address"),
        ({"text": "Pay to GB82 WEST 1234 5698 7654 32"}, "may be somebody's account"),
        ({"text": "Anna (529.982.247-25) left"}, "may be somebody's number"),
    ],
)
def test_what_is_wrong_with_a_line_is_told(script, change, told):
    spans = {} if "text" not in change else {"spans": []}
    found = list(script.problems({**LINE, **spans, **change}))
    assert any(told in problem for problem in found)


@pytest.mark.parametrize(
    "text",
    [
        "Write to anna@rome.example or anna@example.org",
        "Pay to GB00 WEST 1234 5698 7654 32",
        "systemd: postgresql@14-main.service failed",
    ],
)
def test_what_is_nobodys_is_no_problem(script, text):
    assert not list(script.problems({**LINE, "text": text, "spans": []}))


def test_a_line_of_the_development_part_has_labels_in_any_writing(script):
    assert not list(script.problems_of_dev([DEV_LINE], [LINE]))


@pytest.mark.parametrize(
    "change, told",
    [
        ({"more": 1}, "dev-1: has the fields"),
        ({"labels": ["film_title", "film title", "PER"]}, "dev-1: the labels are"),
        ({"labels": None}, "dev-1: language, labels and group of its set are others"),
        ({"set": ""}, "dev-1: language, labels and group of its set are others"),
        ({"labels": ["WoA"]}, "is none of the labels"),
        ({"text": "Anna left Rome"}, "dev-1: a line to learn from has this text"),
    ],
)
def test_what_is_wrong_with_a_line_of_the_development_part_is_told(
    script, change, told
):
    found = list(script.problems_of_dev([{**DEV_LINE, **change}], [LINE]))
    assert any(told in problem for problem in found)


def test_a_set_has_labels_that_nothing_learned_from_in_one_list(script):
    lines = [{**LINE, "labels": ["per", "woa"]}]
    found = list(script.problems_of_dev([DEV_LINE], lines))
    assert found == ["short forms: lines to learn from have these labels"]


def test_lines_of_one_set_have_the_same_labels(script):
    other = {**DEV_LINE, "id": "dev-2", "text": "Anna left", "labels": ["PER"]}
    found = list(script.problems_of_dev([DEV_LINE, other, DEV_LINE], [LINE]))
    assert "dev-2: language, labels and group of its set are others" in found
    assert "dev-1: the text comes twice" in found


def test_what_comes_twice_is_told(script):
    found = list(script.problems_of_all([LINE, LINE]))
    assert found == ["en-1: the id comes twice", "en-1: the text comes twice"]


@pytest.fixture
def folder(tmp_path):
    """A small corpus, its README without counts."""
    folder = tmp_path / "kinds"
    folder.mkdir()
    second = {**LINE, "id": "en-2", "text": "It rains", "spans": []}
    with lzma.open(folder / "lines.jsonl.xz", "wt", encoding="utf8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in (LINE, second))
    sets = [{"labels": {"who": ["@person"], "where": ["city"]}}]
    (folder / "label_sets.json").write_text(json.dumps(sets))
    (folder / "types.tsv").write_text("writer\tperson\n")
    (folder / "wordings.tsv").write_text("city\ten\ttown\nwho\tde\twer\n")
    (folder / "README.md").write_text("# A\n<!-- counts -->\n<!-- end of counts -->\n")
    return folder


@pytest.fixture
def run(script, folder):
    """Runs the script on the small corpus."""
    app = typer.Typer()
    app.command()(script.main)

    def run(*options):
        arguments = ["--folder", str(folder), *options]
        return typer.testing.CliRunner().invoke(app, arguments)

    return run


def test_the_counts_are_written_into_the_readme(run, folder):
    stale = run()
    assert stale.exit_code == 1 and "the counts are others: use --write" in stale.stdout
    assert run("--write").exit_code == 0
    text = (folder / "README.md").read_text(encoding="utf8")
    for row in (
        *("| lines | 2 |", "| lines without a mark | 1 |", "| marks | 2 |"),
        *("| en | 2 | 0 | 0 | 5 | 2 |", "| written | CC0-1.0 | all | 2 |"),
    ):
        assert row in text.splitlines()
    assert text.startswith("# A\n")
    assert run().exit_code == 0


def test_the_sets_of_the_development_part_are_counted_in_the_readme(run, folder):
    run("--write")
    with lzma.open(folder / "dev.jsonl.xz", "wt", encoding="utf8") as file:
        file.write(json.dumps(DEV_LINE) + "\n")
    readme = folder / "README.md"
    places = "<!-- sets -->\n<!-- end of sets -->\n"
    readme.write_text(readme.read_text(encoding="utf8") + places, encoding="utf8")
    assert run().exit_code == 1
    assert run("--write").exit_code == 0
    row = "| names of data sets | short forms | en | PER, WoA | 1 | 0 | 3 | 1 |"
    assert row in readme.read_text(encoding="utf8").splitlines()
    assert run().exit_code == 0


@pytest.mark.parametrize(
    "name, content, told",
    [
        ("types.tsv", "writer\tperson\npoet\tperson\n", "no line has the kind poet"),
        ("wordings.tsv", "poet\ten\tbard\n", "no line has the kind poet"),
        ("wordings.tsv", "city\n", "wordings.tsv, line 1: write KIND"),
        ("label_sets.json", '[{"labels": {"x": ["y"]}}]', "no line has a kind of x"),
        ("label_sets.json", "3", "holds no sets of labels"),
    ],
)
def test_what_is_wrong_beside_the_lines_is_told(run, folder, name, content, told):
    run("--write")
    (folder / name).write_text(content)
    result = run()
    assert result.exit_code == 1 and told in result.stdout


def test_a_folder_without_lines_is_told(run, folder):
    shutil.move(folder / "lines.jsonl.xz", folder / "other")
    result = run()
    assert "lines.jsonl.xz: no such file" in str(result.exception)
