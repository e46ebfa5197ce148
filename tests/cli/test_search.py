"""The command `search`."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import spacy
import typer
from safetensors.torch import load_file
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_entlm.backbones.recommended import read_recommended
from spacy_entlm.cli import entlm_cli

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
        return CliRunner().invoke(entlm_cli, list(map(str, command)))

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
    assert line.startswith(
        "PER: 1 words are no single piece of the vocabulary: annas ["
    )
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
    result = search(*args)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert text in line
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
    result = search("--method", "data", source="bad.conll")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert text in line
    assert not Path("out.json").exists()


def test_help_shows_an_example(search):
    assert "python -m spacy entlm search annotated.jsonl" in search("--help").stdout


OWN = {"PER": ["anna", "john"], "LOC": ["china", "paris"], "ORG": ["bbc"]}


@pytest.fixture
def lm(bert, tmp_path):
    """A backbone with label words of its own."""
    shutil.copytree(bert, tmp_path / "lm")
    (tmp_path / "lm" / "pretrain.json").write_text(json.dumps({"label_words": OWN}))
    return tmp_path / "lm"


def write_text(*labels, names=("Mary", "Rome")):
    """An annotated file in which classes have names."""
    blocks = [f"{name} B-{label}\nleft O\n" for label in labels for name in names]
    Path("text.conll").write_text("\n".join(blocks))
    return "text.conll"


def test_nothing_is_searched_where_the_backbone_has_words_for_all(search, lm):
    for old in ("out.report.json", "out.rows.safetensors"):
        Path(old).write_text("old")
    result = search("--backbone", lm, source=write_text("LOC", "Person"))
    assert result.exit_code == 0, result.stderr
    # Classes by their names in the text, in the order in which they appear there.
    assert list(read().items()) == [("LOC", OWN["LOC"]), ("Person", OWN["PER"])]
    assert result.stdout.splitlines() == [
        "The backbone has words of its own for LOC, Person: nothing is searched",
        "  LOC china, paris",
        "  Person anna, john",
        "Wrote out.json",
    ]
    # The config names a file of rows, and no report of another search is left.
    assert load_file("out.rows.safetensors") == {}
    assert not Path("out.report.json").exists()


def test_the_second_of_two_names_of_one_class_gets_other_words(search, lm):
    text = "text.conll"
    Path(text).write_text("Mary B-Person\n\nRome B-people\n")
    result = search("--backbone", lm, source=text)
    assert result.exit_code == 0, result.stderr
    assert read() == {"Person": OWN["PER"], "people": ["rome"]}


def test_words_of_a_class_that_it_lacks_are_searched(search, lm):
    text = "text.conll"
    Path(text).write_text("John B-PER\n\nMary B-GENE\n")
    result = search("--backbone", lm, source=text)
    assert result.exit_code == 0, result.stderr
    assert list(read().items()) == [("PER", OWN["PER"]), ("GENE", ["mary"])]
    assert "words of its own for PER, which are taken" in result.stdout
    assert list(read("out.report.json")["classes"]) == ["GENE"]
    assert search("--backbone", lm, "--no-own", source=text).exit_code == 0
    assert read() == {"PER": ["john"], "GENE": ["mary"]}


def test_a_class_whose_words_stand_for_another_is_searched_too(search, lm):
    Path("text.conll").write_text("Paris B-GPE\n\nRome B-LOC\n\nJohn B-PER\n")
    search("--backbone", lm, "--method", "data", source="text.conll")
    assert read() == {"GPE": ["paris"], "LOC": ["rome"], "PER": OWN["PER"]}


def test_classes_may_be_called_like_tags(search):
    Path("text.conll").write_text("cd B-B-CELL\n\nstripe B-I-BAND\n")
    search("--method", "data", source="text.conll")
    assert read() == {"B-CELL": ["cd"], "I-BAND": ["stripe"]}


def test_rows_are_those_of_searched_classes_and_do_not_stay(search, lm):
    Path("text.conll").write_text("Mary B-PER\nleft O\n\nRome B-GENE\n")
    options = ("--backbone", lm, "--method")
    assert search(*options, "prototype", source="text.conll").exit_code == 0
    assert list(load_file("out.rows.safetensors")) == ["GENE"]
    assert search(*options, "data", source="text.conll").exit_code == 0
    assert load_file("out.rows.safetensors") == {}


def test_given_words_are_taken(search, lm):
    Path("data").mkdir()
    Path("data/label_words.json").write_text('{"PER": ["mary"], "X": []}')
    result = search("--backbone", lm, "--data", "data")
    assert read() == {"PER": ["mary"], "X": []}
    assert "Label words from data/label_words.json" in result.stdout
    assert "words of its own for PER, which may find more" in result.stdout
    result = search("--backbone", lm, "--data", "data", "--no-own")
    assert read() == {"PER": ["mary"], "X": []}
    assert "words of its own" not in result.stdout
    Path("data/label_words.json").write_text('{"PER": [], "X": ["x"]}')
    result = search("--data", "data", "--backbone", lm)
    assert "words of its own" not in result.stdout
    result = search("--data", "data", "--backbone", "in.conll")
    assert result.exit_code == 0
    Path("data/label_words.json").write_text('{"B-CELL": ["lymphocyte"]}')
    search(
        "--backbone", lm, "--data", "data"
    )  # examples tell whether that is a class or a tag
    assert read() == {"B-CELL": ["lymphocyte"]}
    Path("data/label_words.json").write_text("{")
    result = search("--backbone", lm, "--data", "data")
    assert result.exit_code == 1
    assert "label_words.json: broken JSON" in result.stderr


def test_without_annotated_text_there_are_no_words(search, lm):
    Path("data").mkdir()
    Path("empty.spacy").write_bytes(b"")
    result = search("--data", "data", "--backbone", lm, source="empty.spacy")
    assert result.exit_code == 0, result.stderr
    assert "Label words will be the backbone's, or taken from the" in result.stdout
    assert read() == {}
    assert load_file("out.rows.safetensors") == {}
    result = search("--method", "data", source="empty.spacy")
    assert "the file is empty" in result.stderr


def test_a_bare_search_finds_what_the_project_finds(search):
    """The same backbone and the same settings by default."""
    write_text("PER", "LOC")
    Path("data").mkdir()
    for out, options in (("a.json", []), ("b.json", ["--data", "data"])):
        command = ["search", "text.conll", out, *options]
        assert CliRunner().invoke(entlm_cli, command).exit_code == 0
    assert read("a.json") == read("b.json")
    own = read_recommended("entlm-mini").label_words
    assert read("a.json") == {label: own[label] for label in ("PER", "LOC")}
    defaults = {o.name: o.default for o in entlm_cli_command("search").params}
    assert (defaults["backbone"], defaults["smoothing"]) == ("entlm-mini", True)


def entlm_cli_command(name):
    return typer.main.get_command(entlm_cli).commands[name]


def test_what_a_backbone_brings_may_be_broken(search, lm):
    (lm / "pretrain.json").write_text("{")
    result = search("--backbone", lm)
    (line,) = result.stderr.splitlines()
    assert "pretrain.json: broken JSON" in line


@pytest.mark.parametrize("old", ["out.json", "out.report.json", "out.rows.safetensors"])
def test_files_that_are_there_stay_unless_it_is_told(search, old):
    Path(old).write_text("old")
    command = ["search", "in.conll", "out.json", "--backbone", "", "--method", "data"]
    result = CliRunner().invoke(entlm_cli, command)
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


def test_of_two_names_of_one_class_the_other_is_left_to_the_component(search, lm):
    """Where the text has no word for one of them alone."""
    source = write_text("place", "LOC", names=["Rome"])
    result = search("--backbone", lm, "--method", "data", source=source)
    assert result.exit_code == 0, result.stderr
    assert read() == {"LOC": OWN["LOC"], "place": []}
