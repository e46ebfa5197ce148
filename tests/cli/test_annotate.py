import gzip
import json
import lzma
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from ..commands import entlm, error_of, read_docbin

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
NEWS = ROOT / "project" / "assets" / "news"

LEXICON = "Lima\tLOC\nNew York\tLOC\nAnn\tPER\nRuiz\tPER\nJordan\tLOC\nJordan\tPER\n"
TEXT = "Ann Ruiz left New York for Lima.\n\nJordan saw Lima.\n"
GOLD = "[Ann Ruiz](PER) left [New York](LOC) for Lima.\nShe saw [Lima](LOC).\n"


@pytest.fixture
def annotate(tmp_path, monkeypatch):
    """Run the command in a folder of its own, that holds a lexicon and texts."""
    monkeypatch.chdir(tmp_path)
    Path("lexicon.tsv").write_text(LEXICON)
    Path("plain.txt").write_text(TEXT)
    Path("gold.txt").write_text(GOLD)

    def annotate(*args):
        return entlm("annotate", *args, "--overwrite")

    return annotate


def entities(path):
    return [[(e.text, e.label_) for e in doc.ents] for doc in read_docbin(path)]


def test_plain_text_is_annotated_and_reported(annotate):
    result = annotate("lexicon.tsv", "plain.txt", "out.spacy")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "5 names to match",
        "Names that get no label, as several labels have equal weight: 1",
        "2 texts of 12 words: 5 names found in 2 texts",
        "  LOC 3",
        "  PER 2",
        "Most frequent names:",
        "  LOC Lima 2",
        "  PER Ann 1",
        "  PER Ruiz 1",
        "  LOC New York 1",
        "1 place of 1 name under several labels of equal weight: left out (Jordan 1)",
        "Wrote out.spacy",
    ]
    assert entities("out.spacy") == [
        [("Ann", "PER"), ("Ruiz", "PER"), ("New York", "LOC"), ("Lima", "LOC")],
        [("Lima", "LOC")],
    ]
    assert all(doc.has_annotation("ENT_IOB") for doc in read_docbin("out.spacy"))


@pytest.mark.parametrize("name, pack", [("t.txt.xz", lzma), ("t.txt.gz", gzip)])
def test_packed_text_is_read(annotate, name, pack):
    Path(name).write_bytes(pack.compress(TEXT.encode("utf-8")))
    assert annotate("lexicon.tsv", name, "out.jsonl").exit_code == 0
    lines = Path("out.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == {
        "text": ["Jordan", "saw", "Lima", "."],
        "label": ["O", "O", "B-LOC", "O"],
    }


def test_gold_entities_are_measured_and_replaced(annotate):
    result = annotate("lexicon.tsv", "gold.txt", "out.spacy")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    told = "What the list alone finds of them, and of their words, in percent:"
    start = lines.index(f"3 entities were marked before. {told}")
    rows = [line.split() for line in lines[start + 3 : -1]]
    assert rows[:3] == [
        ["all", "40.00", "66.67", "50.00"],
        ["LOC", "66.67", "100.00", "80.00"],
        ["PER", "0.00", "0.00", "0.00"],
    ]
    assert ["words", "of", "PER", "100.00", "100.00", "100.00"] in rows
    assert entities("out.spacy")[1] == [("Lima", "LOC")]


def test_words_that_may_be_names_are_left_open(annotate):
    Path("plain.txt").write_text(
        "The envoy Ann met Bo Kim in jordan, Jordan. It rained."
    )
    assert annotate("lexicon.tsv", "plain.txt", "out.spacy", "--open").exit_code == 0
    (doc,) = read_docbin("out.spacy")
    missing = [token.text for token in doc if not token.ent_iob]
    assert missing == ["Bo", "Kim", "Jordan"]
    assert [ent.text for ent in doc.ents] == ["Ann"]
    assert annotate("lexicon.tsv", "plain.txt", "closed.spacy").exit_code == 0
    (doc,) = read_docbin("closed.spacy")
    assert all(token.ent_iob for token in doc)


def test_texts_without_a_name_can_be_left_out(annotate):
    Path("plain.txt").write_text("It rained.\nAnn left.\nIt rained.\n")
    assert annotate("lexicon.tsv", "plain.txt", "out.spacy").exit_code == 0
    assert len(read_docbin("out.spacy")) == 3
    result = annotate("lexicon.tsv", "plain.txt", "out.spacy", "--only-matches")
    assert result.exit_code == 0
    assert entities("out.spacy") == [[("Ann", "PER")]]


def test_joined_names_are_one_entity(annotate):
    result = annotate("lexicon.tsv", "gold.txt", "out.spacy", "--join")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["PER", "100.00", "100.00", "100.00"] in rows
    assert entities("out.spacy")[0][0] == ("Ann Ruiz", "PER")


def test_gold_may_be_left_unmeasured(annotate):
    result = annotate("lexicon.tsv", "gold.txt", "out.spacy", "--no-gold")
    assert result.exit_code == 0 and "marked before" not in result.stdout


def test_a_docbin_need_not_be_annotated(annotate):
    nlp = spacy.blank("en")
    DocBin(docs=[nlp("Ann saw Lima."), nlp("")]).to_disk("in.spacy")
    result = annotate("lexicon.tsv", "in.spacy", "out.spacy")
    assert result.exit_code == 0, result.stderr
    assert entities("out.spacy") == [[("Ann", "PER"), ("Lima", "LOC")]]
    assert "marked before" not in result.stdout


def test_words_of_json_lines_are_annotated(annotate):
    Path("in.jsonl").write_text('{"text": ["Lima", ","], "label": ["O", "O"]}\n')
    assert annotate("lexicon.tsv", "in.jsonl", "out.jsonl").exit_code == 0
    assert json.loads(Path("out.jsonl").read_text())["label"] == ["B-LOC", "O"]


@pytest.mark.parametrize(
    "options, expected",
    [
        ([], ["Lima"]),
        (["--case", "lower"], ["Lima", "LIMA", "lima"]),
        (["--case", "capitalised"], ["Lima", "LIMA"]),
        (["--case", "lower", "--skip-initial"], ["LIMA", "lima"]),
    ],
)
def test_case_rules(annotate, options, expected):
    Path("in.txt").write_text("Lima saw LIMA lima")
    Path("names.txt").write_text("Lima")
    result = annotate("names.txt", "in.txt", "out.spacy", "--label", "X", *options)
    assert result.exit_code == 0, result.stderr
    assert [text for text, _ in entities("out.spacy")[0]] == expected


def test_stop_words_and_minimum_length(annotate):
    Path("in.txt").write_text("It is Lima or Ann Will")
    Path("names.txt").write_text("It\nLima\nAnn\nWill")
    Path("stops.txt").write_text("ann\n")
    args = ["names.txt", "in.txt", "out.spacy", "--label", "X"]
    annotate(*args, "--stop-words", "stops.txt", "--min-length", 3)
    assert entities("out.spacy") == [[("Lima", "X"), ("Will", "X")]]
    result = annotate(*args, "--stop-words", "auto")
    assert entities("out.spacy") == [[("Lima", "X"), ("Ann", "X")]]
    assert "Entries left out as stop words or as too short: 2" in result.stdout


def test_label_map_applies(annotate):
    result = annotate("lexicon.tsv", "plain.txt", "out.spacy", "--map", "PER=person")
    assert result.exit_code == 0
    assert entities("out.spacy")[1] == [("Jordan", "person")]
    assert "types that the label map does not name" in result.stdout


def test_text_without_any_match_gives_a_notice(annotate):
    Path("in.txt").write_text("nothing here\n")
    result = annotate("lexicon.tsv", "in.txt", "out.spacy")
    assert result.exit_code == 0
    assert "No name of the lexicon occurs in the text" in result.stdout
    assert entities("out.spacy") == [[]]


def test_text_that_looks_annotated_can_be_read_as_text(annotate):
    args = ["lexicon.tsv", "gold.txt", "out.spacy", "--format", "text"]
    assert annotate(*args).exit_code == 0
    assert read_docbin("out.spacy")[0].text.startswith("[Ann Ruiz](PER)")


@pytest.mark.parametrize(
    "args, text",
    [
        (["none.tsv", "plain.txt", "out.spacy"], "none.tsv: no such file"),
        (["lexicon.tsv", "none.txt", "out.spacy"], "none.txt: no such file"),
        (["lexicon.tsv", "none.spacy", "out.spacy"], "none.spacy: no such file"),
        (["lexicon.tsv", "plain.txt", "out.txt"], "end its name in .spacy or .jsonl"),
        (["lexicon.tsv", "gold.spacy", "gold.spacy"], "is the input too"),
        (["lexicon.tsv", "gold.spacy", "out.spacy"], "no DocBin, or a damaged one"),
        (["lexicon.tsv", "empty.txt", "out.spacy"], "the file is empty"),
        (["lexicon.tsv", "latin.txt", "out.spacy"], "line 2: not UTF-8: byte 0xfc"),
        (["lexicon.tsv", "long.txt", "out.spacy"], "long.txt, line 2: spaCy refuses"),
        (["lexicon.tsv", "plain.txt", "out.spacy", "--gold"], "has no entities"),
        (["lexicon.tsv", "plain.txt", "out.spacy", "--map", "A=B"], "maps none of"),
        (["lexicon.tsv", "plain.txt", "out.spacy", "--case", "no"], "unknown case"),
        (["lexicon.tsv", "plain.txt", "out.spacy", "--min-length", "99"], "no name is"),
        (["lexicon.tsv", "plain.txt", "out.spacy", "--stop-words", "x"], "x: no such"),
        (["lexicon.tsv", "plain.txt", "out.spacy", "--lang", "qq"], "--lang qq"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(annotate, args, text):
    Path("empty.txt").write_text("\n")
    Path("latin.txt").write_bytes(b"Lima\nM\xfcller\n")
    Path("gold.spacy").write_bytes(b"no DocBin")
    Path("long.txt").write_text("Lima\n" + "x" * 1_000_001)
    assert text in error_of(annotate(*args))
    assert not Path("out.spacy").exists()


def test_a_file_that_is_there_stays_unless_it_is_told(annotate):
    Path("out.spacy").write_text("old")
    for args in (["lexicon.tsv", "plain.txt", "out.spacy"], ["d", "out.spacy"]):
        args += ["--corpus", "c"] if len(args) == 2 else []
        result = entlm("annotate", *args)
        assert result.exit_code == 1 and "--overwrite" in result.stderr
    assert Path("out.spacy").read_text() == "old"


@pytest.fixture
def folders(annotate):
    """A folder of data with a lexicon, and the folder of its train part."""
    for name in ("data", "corpus"):
        Path(name).mkdir()
    Path("data/lexicon.tsv").write_text(LEXICON)
    annotate("lexicon.tsv", "gold.txt", "corpus/train.spacy")
    return Path("data"), Path("corpus")


def test_the_lexicon_of_a_folder_is_applied_to_its_text(annotate, folders):
    args = ("data", "out.spacy", "--corpus", "corpus")
    assert annotate(*args).exit_code == 0
    assert len(entities("out.spacy")) == 2
    # Neither a copy beside the text nor a second file is taken for it.
    Path("data/unlabeled.conll.bak").write_text("Bob B-PER\n")
    Path("data/unlabeled.txt").write_text("Ann left .\nAnn left .\nAnn left .\n")
    assert annotate(*args).exit_code == 0
    assert entities("out.spacy") == [[("Ann", "PER")]] * 3
    Path("data/unlabeled.txt.gz").write_bytes(gzip.compress(b"Ann left .\n"))
    result = annotate(*args)
    assert result.exit_code == 1
    assert "(unlabeled.txt, unlabeled.txt.gz): keep one" in result.stderr


def test_what_a_folder_lacks_is_said_and_the_output_is_empty(annotate, folders):
    data, corpus = folders
    args = (data, "out.spacy", "--corpus", corpus)
    (corpus / "train.spacy").rename("train.spacy")
    result = annotate(*args)
    assert result.exit_code == 0, result.stderr
    assert "empty, no unlabeled.* and no train part" in result.stdout
    assert Path("out.spacy").read_bytes() == b""
    (data / "lexicon.tsv").unlink()
    assert "Wrote out.spacy: empty, no lexicon.*" in annotate(*args).stdout
    Path("train.spacy").rename(corpus / "distant.spacy")
    assert annotate(*args).exit_code == 0
    assert entities("out.spacy") == entities(corpus / "distant.spacy") != []


@pytest.mark.parametrize(
    "args, text",
    [
        (["none", "out.spacy", "--corpus", "corpus"], "none: is no folder"),
        (["data", "x", "out.spacy", "--corpus", "corpus"], "name LEXICON, IN and OUT"),
        (["lexicon.tsv", "plain.txt"], "name LEXICON, IN and OUT, or a data folder"),
    ],
)
def test_arguments_of_another_form_are_one_line(annotate, folders, args, text):
    assert text in error_of(annotate(*args))


def test_lexicon_of_the_project_suits_its_corpus(annotate):
    result = annotate(NEWS / "lexicon.jsonl", NEWS / "train.txt", "out.spacy", "--join")
    assert result.exit_code == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    words = {row[2]: row for row in rows if row[:2] == ["words", "of"]}
    assert set(words) == {"LOC", "MISC", "ORG", "PER"}
    assert all(float(row[3]) > 75 for row in words.values())


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
def test_real_gold_is_measured(annotate):
    path = SHARED / "wikigold" / "dev.jsonl"
    result = annotate(NEWS / "lexicon.jsonl", path, "out.spacy", "--join")
    assert result.exit_code == 0, result.stderr
    assert "650 entities were marked before" in result.stdout
