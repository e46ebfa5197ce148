"""The command `search`."""

import json
from collections import Counter
from pathlib import Path

import pytest
import spacy
import typer
from safetensors.torch import load_file
from spacy.tokens import DocBin

from spacy_entlm.cli import entlm_cli

from ..commands import entlm, error_of

TEXT = """\
Ann B-PER
Smith I-PER
met O
Bob B-PER
in O
Rome B-LOC

Ann B-PER
met O
May B-PER
in O
May O

May O
came O
"""


@pytest.fixture
def search(tmp_path, monkeypatch):
    """Run the command in a folder of its own, that holds a small corpus."""
    monkeypatch.chdir(tmp_path)
    Path("in.conll").write_text(TEXT)

    def search(*args, source="in.conll", out="out.json"):
        command = ["search", source, out, *args, "--overwrite"]
        command += [] if "--backbone" in args else ["--backbone", ""]
        return entlm(*command)

    return search


def read(path="out.json"):
    return json.loads(Path(path).read_text(encoding="utf8"))


def test_data_needs_no_backbone(search):
    result = search("--method", "data", "--top-k", 1)
    assert result.exit_code == 0
    assert read() == {"PER": ["Ann"], "LOC": ["Rome"]}
    assert result.stdout.splitlines() == [
        "  PER Ann",
        "  LOC Rome",
        "Wrote out.json",
    ]


@pytest.fixture
def predicted(monkeypatch):
    """What the LM predicts, in place of counting."""
    counts = {"PER": Counter(bob=3, ann=1), "LOC": Counter(rome=2)}
    name = "spacy_entlm.label_words.lm_counts.count_predictions"
    monkeypatch.setattr(name, lambda *_, **__: counts)
    return counts


def test_report_carries_settings_counts_and_what_was_left_out(search, bert, predicted):
    search("--backbone", bert, "--threshold", 0.5)
    report = read("out.report.json")
    assert report["settings"] == {
        "method": "data-lm",
        "top_k": 6,
        "threshold": 0.5,
        "smoothing": True,
        "annotated": "in.conll",
        "backbone": str(bert),
        "lm_top_k": 3,
    }
    assert (report["sentences"], report["words"]) == (3, 13)
    person = report["classes"]["PER"]
    assert [(w["word"], w["data"], w["lm"]) for w in person["words"]] == [
        ("smith", 1, 0),  # the only one of a single piece
        ("bob", 1, 3),
        ("ann", 2, 1),
    ]
    (conflict,) = person["conflicts"]
    assert conflict["word"] == "may"
    assert conflict["why"] == "1 of 3 are PER, not more than 0.5: 2 O"


def test_class_with_too_few_words_is_named(search, bert, predicted):
    result = search("--backbone", bert, "--top-k", 2, "--no-smoothing")
    assert (
        "LOC has 1 of 2 words: words that are in both counts: 1 (try --smoothing); "
        "try --method data; annotate more text"
    ) in result.stdout.splitlines()
    assert "PER has" not in result.stdout


def test_class_without_a_word_stays_empty_and_is_named(search, bert, predicted):
    del predicted["LOC"]
    result = search("--backbone", bert, "--no-smoothing")
    assert result.exit_code == 0
    assert read() == {"PER": ["bob", "ann"], "LOC": []}
    assert "  LOC -" in result.stdout.splitlines()
    assert "LOC has 0 of 6 words: the LM predicts no word for it" in result.stdout


def test_backbone_gives_the_form_of_words_and_the_lm_counts(search, bert):
    options = ["--method", "lm", "--lm-top-k", 150, "--backbone", bert]
    result = search(*options, source=corpus(20))
    assert result.exit_code == 0, result.stderr
    report = read("out.report.json")["classes"]
    assert list(report) == ["PER", "LOC"]
    assert report["PER"]["lm_predictions"] > 40
    words = [word for label in read().values() for word in label]
    assert words and all(word == word.lower() for word in words)


def test_lm_words_of_every_family_are_words_of_the_text(search, backbone):
    options = ["--backbone", backbone, "--lm-top-k", 160, "--smoothing"]
    result = search(*options, source=corpus(12))
    assert result.exit_code == 0, result.stderr
    report = read("out.report.json")["classes"]
    chosen = [word for entry in report.values() for word in entry["words"]]
    assert {word["word"].lower() for word in chosen} <= {
        *("john", "mary", "peter", "anna", "paris", "london", "rome")
    }
    # The LM has said some of those that it can say in one piece.
    single = [word for word in chosen if len(word["pieces"]) == 1]
    assert not single or any(word["lm"] for word in single)


def corpus(n):
    """Sentences whose classes the pieces of the tiny backbone can name."""
    lines = []
    people, places = ["John", "Mary", "Peter", "Anna"], ["Paris", "London", "Rome"]
    for i in range(n):
        words = [people[i % 4], "lives", "in", places[i % 3], "."]
        lines.append({"text": words, "label": ["B-PER", "O", "O", "B-LOC", "O"]})
    Path("corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return "corpus.jsonl"


def test_words_of_one_piece_come_first_and_others_are_told(search, bert):
    options = ["--method", "data", "--backbone", bert]
    result = search(*options, source=name_corpus())
    assert read() == {"PER": ["john", "mary", "annas"]}
    (line,) = [line for line in result.stdout.splitlines() if "single piece" in line]
    assert line.startswith("PER: 1 word is no single piece of the vocabulary: annas [")
    search(*options, "--top-k", 2, source="names.conll")
    assert read() == {"PER": ["john", "mary"]}
    person = read("out.report.json")["classes"]["PER"]
    assert [word["word"] for word in person["multi_piece"]] == ["annas"]
    assert person["words"][0]["pieces"] == ["john"]


def name_corpus():
    names = ["Annas"] * 3 + ["John", "JOHN", "Mary"]
    Path("names.conll").write_text("".join(f"{name} B-PER\n\n" for name in names))
    return "names.conll"


def test_docbin_and_json_lines_are_read(search):
    nlp = spacy.blank("en")
    doc = nlp("Ann met Bob")
    doc.ents = [doc.char_span(0, 3, "PER"), doc.char_span(8, 11, "PER")]
    DocBin(docs=[doc]).to_disk("in.spacy")
    Path("in.jsonl").write_text('{"text": ["Ann"], "label": ["I-PER"]}')
    assert search("--method", "data", source="in.spacy").exit_code == 0
    assert read() == {"PER": ["Ann", "Bob"]}
    assert search("--method", "data", source="in.jsonl").exit_code == 0
    assert read() == {"PER": ["Ann"]}


@pytest.mark.parametrize(
    "args, text",
    [
        (["--method", "both"], "method is one of data, lm, data-lm, not 'both'"),
        (["--method", "lm"], "--method lm needs --backbone"),
        (["--method", "data", "--top-k", "0"], "top_k must be at least 1"),
        (["--method", "data", "--threshold", "60"], "threshold is a share"),
        (["--backbone", "no/such/model"], "Cannot find the masked LM"),
        (["--method", "prototype"], "--method prototype needs --backbone"),
        (["--method", "data", "--data", "none"], "none: is no folder"),
    ],
)
def test_bad_arguments_are_one_line(search, args, text):
    assert text in error_of(search(*args))
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    "content, text",
    [
        (None, "no such file"),
        ("", "the file is empty"),
        ("Ann O\nmet O\n", "no entity in it: annotate it first"),
        ("42 B-PER\n", "no label word for any class. PER: annotate more text"),
    ],
)
def test_text_without_words_is_one_line(search, content, text):
    if content is not None:
        Path("bad.conll").write_text(content)
    assert text in error_of(search("--method", "data", source="bad.conll"))
    assert not Path("out.json").exists()


def write_text(**names):
    """An annotated file in which each class has a name."""
    blocks = [f"{name} B-{label}\nleft O\n" for label, name in names.items()]
    Path("text.conll").write_text("\n".join(blocks))
    return "text.conll"


def test_classes_may_be_called_like_tags(search):
    Path("text.conll").write_text("cd B-B-CELL\n\nstripe B-I-BAND\n")
    search("--method", "data", source="text.conll")
    assert read() == {"B-CELL": ["cd"], "I-BAND": ["stripe"]}


def test_rows_do_not_stay(search, bert):
    options = ("--backbone", bert, "--method")
    source = write_text(PER="Mary")
    assert search(*options, "prototype", source=source).exit_code == 0
    assert list(load_file("out.rows.safetensors")) == ["PER"]
    assert search(*options, "data", source=source).exit_code == 0
    assert load_file("out.rows.safetensors") == {}


def test_given_words_are_taken(search, bert):
    Path("data").mkdir()
    for old in ("out.report.json", "out.rows.safetensors"):
        Path(old).write_text("old")
    Path("data/label_words.json").write_text('{"PER": ["mary"], "X": []}')
    result = search("--backbone", bert, "--data", "data")
    assert read() == {"PER": ["mary"], "X": []}
    assert result.stdout.splitlines() == [
        "Label words from data/label_words.json",
        "Wrote out.json",
    ]
    # The config names a file of rows, and no report of another search is left.
    assert load_file("out.rows.safetensors") == {}
    assert not Path("out.report.json").exists()
    # Nothing is asked of the backbone.
    result = search("--data", "data", "--backbone", "in.conll")
    assert result.exit_code == 0
    Path("data/label_words.json").write_text('{"B-CELL": ["lymphocyte"]}')
    # Examples tell whether that is a class or a tag.
    search("--backbone", bert, "--data", "data")
    assert read() == {"B-CELL": ["lymphocyte"]}
    Path("data/label_words.json").write_text("{")
    result = search("--backbone", bert, "--data", "data")
    assert result.exit_code == 1
    assert "label_words.json: broken JSON" in result.stderr


def test_without_annotated_text_there_are_no_words(search, bert):
    Path("data").mkdir()
    Path("empty.spacy").write_bytes(b"")
    result = search("--data", "data", "--backbone", bert, source="empty.spacy")
    assert result.exit_code == 0, result.stderr
    assert "There is no annotated text: no label words are searched" in result.stdout
    assert read() == {}
    assert load_file("out.rows.safetensors") == {}
    result = search("--method", "data", source="empty.spacy")
    assert "the file is empty" in result.stderr


def test_words_near_to_the_names_of_classes_are_shown(search, bert, naming):
    """Where the backbone makes rows from them; what is searched is the same."""
    source, method = write_text(LOC="Rome", C1="Mary"), ("--method", "data")
    plain = search(*method, "--backbone", bert, source=source)
    words = read()
    assert "By their names" not in plain.stdout
    named = search(*method, "--backbone", naming, source=source)
    assert read() == words
    assert words == {"LOC": ["rome"], "C1": ["mary"]}
    lines = named.stdout.splitlines()
    at = lines.index(
        "By their names the classes are near to these words, and start from there "
        "(## stands before a part of a word):"
    )
    for line, name in zip(lines[at + 1 : at + 3], ("LOC (location)", "C1 (c1)")):
        shown, near = line.split(": ")
        assert shown == f"  {name}"
        assert len(near.split(", ")) == 5
    assert lines[at + 3 :] == ["Wrote out.json"]


@pytest.mark.slow
def test_a_bare_search_finds_what_the_project_finds(search):
    """The same backbone and the same settings by default."""
    write_text(PER="Mary", LOC="Rome")
    Path("data").mkdir()
    for out, options in (("a.json", []), ("b.json", ["--data", "data"])):
        assert entlm("search", "text.conll", out, *options).exit_code == 0
    assert read("a.json") == read("b.json")
    command = typer.main.get_command(entlm_cli).commands["search"]
    defaults = {o.name: o.default for o in command.params}
    assert (defaults["backbone"], defaults["smoothing"]) == ("entlm-base", True)


@pytest.mark.parametrize("old", ["out.json", "out.report.json", "out.rows.safetensors"])
def test_files_that_are_there_stay_unless_it_is_told(search, old):
    Path(old).write_text("old")
    options = ("--backbone", "", "--method", "data")
    result = entlm("search", "in.conll", "out.json", *options)
    assert result.exit_code == 1 and "--overwrite" in result.stderr
    assert Path(old).read_text() == "old"


def test_prototypes_are_rows_beside_words_by_data(search, bert):
    result = search("--method", "prototype", "--backbone", bert, "--top-k", 1)
    assert result.exit_code == 0, result.stderr
    assert "Wrote out.json; rows of PER, LOC" in result.stdout
    assert read("out.report.json")["settings"]["method"] == "prototype"
    rows = load_file("out.rows.safetensors")
    assert {label: tuple(row.shape) for label, row in rows.items()} == {
        **{"PER": (32,), "LOC": (32,)}
    }
    words = read()
    search("--method", "data", "--backbone", bert, "--top-k", 1)
    assert read() == words
    result = search("--method", "prototype")
    assert result.exit_code == 1
    assert "needs --backbone" in result.stderr
