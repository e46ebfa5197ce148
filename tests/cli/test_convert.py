import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from spacy.cli._util import app as spacy_app
from spacy.tokens import DocBin
from typer.testing import CliRunner

from ..commands import entlm, error_of, read_docbin

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"

CONLL = "Angela B-PER\nRuiz I-PER\nleft O\n\nLima B-LOC\n"


@pytest.fixture
def convert(tmp_path, monkeypatch):
    """Run the command in a folder of its own, that holds a small corpus."""
    monkeypatch.chdir(tmp_path)
    Path("in.conll").write_text(CONLL)
    return partial(entlm, "convert")


def assert_one_line_error(result, text):
    assert text in error_of(result) and result.stdout == ""


def test_convert_writes_a_docbin_and_prints_the_report(convert):
    result = convert("in.conll", "out.spacy")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "columns 1 word, 2 tag; 2 sentences of 4 words; LOC 1, PER 1",
        "Wrote out.spacy",
    ]
    docs = read_docbin("out.spacy")
    assert [ent.text for doc in docs for ent in doc.ents] == ["Angela Ruiz", "Lima"]


def test_convert_writes_json_lines(convert):
    convert("in.conll", "out.jsonl")
    lines = Path("out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"text": ["Angela", "Ruiz", "left"], "label": ["B-PER", "I-PER", "O"]},
        {"text": ["Lima"], "label": ["B-LOC"]},
    ]


def test_convert_to_docbin_and_back_changes_nothing(convert):
    convert("in.conll", "a.jsonl")
    convert("a.jsonl", "b.spacy")
    convert("b.spacy", "c.jsonl")
    assert Path("a.jsonl").read_text() == Path("c.jsonl").read_text()


def test_convert_shows_what_does_not_align(convert):
    Path("in.txt").write_text("The [Lima](LOC)s\n")
    result = convert("in.txt", "out.spacy")
    assert result.exit_code == 0
    assert "  e.g. 'Lima' (LOC) in 'Limas', line 1" in result.stdout


def test_convert_says_in_one_line_what_it_understood(convert):
    Path("in.tsv").write_text(
        "id\tword\tpos\ttag\n1\tAnn\tNNP\tB-PER\n2\tleft\tVBD\tO\n"
    )
    result = convert("in.tsv", "out.jsonl")
    assert result.stdout.splitlines() == [
        "columns 2 word, 4 tag (row 1 a header); 1 sentence of 2 words; PER 1",
        "Wrote out.jsonl",
    ]
    result = convert("in.tsv", "again.jsonl", "--columns", "Word,TAG")
    assert Path("again.jsonl").read_bytes() == Path("out.jsonl").read_bytes()


def test_columns_that_cannot_be_told_are_asked_for_in_one_line(convert):
    Path("in.conll").write_text("Ann PROPN\nleft VERB\n")
    result = convert("in.conll", "out.jsonl")
    assert_one_line_error(result, "the first row is 1 'Ann', 2 'PROPN'")
    assert "--columns" in result.stderr and not Path("out.jsonl").exists()


def test_numbers_of_tags_take_names(convert):
    Path("in.jsonl").write_text('{"tokens": ["Ann", "left"], "ner_tags": [1, 0]}\n')
    assert_one_line_error(convert("in.jsonl", "out.conll"), "--labels O,B-PER")
    assert convert("in.jsonl", "out.conll", "--labels", "O,B-PER").exit_code == 0
    assert Path("out.conll").read_text() == "Ann\tB-PER\nleft\tO\n"


def test_entities_that_go_over_a_line_break_alone_are_told(convert):
    """Which end there in the result, as those of their class do in other examples."""
    entries = [
        ("to 1 Lane\nUlm", [[3, 13, "ADDRESS"]]),
        ("Bo\fAl", [[0, 5, "PER"]]),
        ("Ann\nLee", [[0, 3, "PER"], [4, 7, "PER"]]),
    ]
    Path("data").mkdir()
    lines = [json.dumps({"text": text, "spans": spans}) for text, spans in entries]
    Path("data/train.jsonl").write_text("\n".join(lines) + "\n")
    for names in (["data/train.jsonl", "out.spacy"], ["data", "out"]):
        result = convert(*names)
        assert result.exit_code == 0, result.stderr
        told = "Entities over a line break, which can never be found whole: 1, eg"
        assert f"{told} 'Bo\\x0cAl' (PER)" in result.stdout


def test_text_without_a_mark_is_refused(convert):
    Path("in.jsonl").write_text('{"text": "Ann left", "markings": [[0, 3, "PER"]]}\n')
    result = convert("in.jsonl", "out.spacy")
    assert_one_line_error(result, "no marks are read in it (there are 'markings')")
    assert not Path("out.spacy").exists()
    Path("in.jsonl").write_text('{"text": "Ann left"}\n')
    assert_one_line_error(convert("in.jsonl", "out.spacy"), "no marks: mark entities")
    Path("in.jsonl").write_text('{"text": "Ann left", "spans": []}\n')
    assert convert("in.jsonl", "out.spacy").exit_code == 0


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_a_part_whose_marks_are_not_read_is_refused(convert, data, part):
    folder = data(train=ANN, test=ANN)
    line = '{"text": "Ann left", "markings": [[0, 3, "PER"]]}\n'
    Path(folder, f"{part}.txt").unlink(missing_ok=True)
    Path(folder, f"{part}.jsonl").write_text(line)
    assert_part_error = convert(folder, "out")
    assert assert_part_error.exit_code == 1
    assert "'markings'" in assert_part_error.stderr


def test_what_a_form_cannot_say_is_told(convert):
    Path("in.conll").write_text("Ann B-PER\nleft -\n")
    result = convert("in.conll", "out.json")
    assert "1 text has words that nobody annotated" in result.stdout
    assert "nobody annotated" not in convert("in.conll", "out.conll").stdout


def test_a_folder_of_brat_is_one_text_each(convert):
    Path("docs").mkdir()
    for name, label in (("a", "PER"), ("b", "ORG")):
        Path(f"docs/{name}.txt").write_text("Ann left.")
        Path(f"docs/{name}.ann").write_text(f"T1\t{label} 0 3\tAnn\n")
    assert convert("docs", "out.spacy").exit_code == 0
    docs = read_docbin("out.spacy")
    assert [ent.label_ for doc in docs for ent in doc.ents] == ["PER", "ORG"]


def test_convert_takes_format_and_language(convert):
    Path("in.data").write_text("[서울](LOC)에 왔다\n", encoding="utf-8")
    result = convert("in.data", "out.jsonl", "--format", "inline", "--lang", "xx")
    assert result.exit_code == 0
    assert json.loads(Path("out.jsonl").read_text(encoding="utf-8")) == {
        "text": ["서울에", "왔다"],
        "label": ["-", "O"],
    }


def test_convert_makes_missing_folders_and_leaves_no_temporary_file(convert):
    assert convert("in.conll", "a/b/out.spacy").exit_code == 0
    assert os.listdir("a/b") == ["out.spacy"]


def test_bad_line_is_one_line_and_leaves_the_old_output(convert):
    Path("out.spacy").write_text("old")
    Path("bad.conll").write_text("Lima B-LOC\nis\n")
    result = convert("bad.conll", "out.spacy", "--overwrite")
    assert_one_line_error(result, "bad.conll, line 2: 1 column(s)")
    assert Path("out.spacy").read_text() == "old"
    assert sorted(os.listdir(".")) == ["bad.conll", "in.conll", "out.spacy"]


@pytest.mark.parametrize(
    "args, text",
    [
        (["none.conll", "out.spacy"], "none.conll: no such file"),
        ([".", "out.spacy"], ".: is a folder"),
        (["none", "out"], "none: is no folder: check the path"),
        (["in.conll", "out.txt"], "end its name in .spacy, .jsonl, .conll"),
        (["in.conll", "out"], "end its name in .spacy, .jsonl, .conll"),
        (["in.conll", "out.txt", "--to", "doccano"], "end its name in .jsonl"),
        (["in.conll", "out.spacy", "--to", "xml"], "unknown form 'xml': choose spacy"),
        (["in.conll", "out.spacy", "--columns", "1,3"], "'3' is no column"),
        (["in.conll", "folder.spacy"], "folder.spacy: is a folder"),
        (["in.conll", "in.conll/out.spacy"], "in.conll"),
        (["in.conll", "out.spacy", "--format", "pdf"], "unknown format 'pdf'"),
        (["in.conll", "out.spacy", "--format", "xml"], "no marks"),
        (["in.conll", "out.spacy", "--format", "inline"], "no marks"),
        (["in.conll", "out.spacy", "--lang", "zzz"], "--lang zzz"),
    ],
)
def test_bad_arguments_are_one_line(convert, args, text):
    Path("folder.spacy").mkdir()
    assert_one_line_error(convert(*args), text)
    assert not Path("out.spacy").exists()


@pytest.mark.parametrize("output", ["same.jsonl", "link.jsonl"])
def test_output_must_not_be_the_input(convert, output):
    line = '{"text": "It rained."}\n'
    Path("same.jsonl").write_text(line)
    Path("link.jsonl").symlink_to("same.jsonl")
    assert_one_line_error(convert("same.jsonl", output), "is the input too")
    assert Path("same.jsonl").read_text() == line


def test_a_file_that_is_there_stays_unless_it_is_told(convert):
    Path("out.spacy").write_text("old")
    assert_one_line_error(convert("in.conll", "out.spacy"), "--overwrite")
    assert Path("out.spacy").read_text() == "old"
    assert convert("in.conll", "out.spacy", "--overwrite").exit_code == 0
    assert len(read_docbin("out.spacy")) == 2


@pytest.fixture
def data():
    """Writes a folder of data: names and texts."""

    def write(**parts):
        for name, text in parts.items():
            path = Path("data", name.replace("__", "/")).with_suffix(".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return "data"

    return write


def contents(folder):
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


ANN = "[Ann](PER) left .\n"


def test_parts_of_a_folder_are_converted(convert, data):
    folder = data(train=ANN, **{"5shot__2": ANN}, lexicon="Ann", distant=ANN)
    result = convert(folder, "out")
    assert result.exit_code == 0, result.stderr
    assert "data has no test part: F1 will not be measured" in result.stdout
    assert set(contents("out")) == {
        *("train.spacy", "5shot/2.spacy", "distant.spacy"),
        *("data.json", "files.json"),
    }
    assert len(read_docbin("out/5shot/2.spacy")) == 1
    assert json.loads(Path("out/data.json").read_text()) == [
        *("distant.txt", "lexicon.txt", "train.txt")
    ]


def test_a_part_that_is_gone_is_removed_and_others_keep_their_bytes(convert, data):
    folder = data(train=ANN * 3, test=ANN, dev=ANN)
    assert convert(folder, "out", "--backbone", "entlm-base").exit_code == 0
    first = contents("out")
    (Path("out") / "mine.txt").write_text("mine")
    assert convert(folder, "out").exit_code == 1
    Path(folder, "dev.txt").unlink()
    args = (folder, "out", "--backbone", "entlm-base", "--overwrite")
    assert convert(*args).exit_code == 0
    second = contents("out")
    assert second.pop("mine.txt") == b"mine"
    assert set(first) - set(second) == {"dev.spacy"}
    assert all(second[name] == first[name] for name in second if "json" not in name)
    assert second["backbone.json"] == first["backbone.json"]
    # Renamed files are seen, though a folder's checksum knows no names.
    assert second["data.json"] != first["data.json"]


def test_a_changed_backbone_is_noted(convert, data, tmp_path):
    lm = tmp_path / "lm"
    lm.mkdir()
    noted = []
    for weights in ("old", "new"):
        (lm / "model.safetensors").write_text(weights)
        convert(data(train=ANN), "out", "--backbone", lm, "--overwrite")
        noted.append(Path("out/backbone.json").read_text())
    assert noted[0] != noted[1]


@pytest.mark.parametrize("part", ["train", "5shot__1", "distant"])
def test_a_training_part_without_an_entity_ends_in_one_line(convert, data, part):
    folder = data(**{part: "Ann O\nleft O\n", "test": ANN})
    text = Path("data", f"{part.replace('__', '/')}.txt")
    target = text.rename(text.with_suffix(".conll"))
    assert f"{target}: no entity in it" in error_of(convert(folder, "out"))
    assert not Path("out").exists()


def test_marks_off_the_words_of_a_tokenizer_ask_for_the_language(convert, data):
    text = "[\u6d77\u5357](LOC)\u5728\u5357\u65b9\n\u5728\u5357\u65b9\n"
    result = convert(data(train=text, test=ANN), "out")
    assert result.exit_code == 1
    assert "is --lang en right?" in result.stderr
    result = convert(data(train=ANN, test=text), "out")
    assert result.exit_code == 0
    assert result.stdout.count("is --lang en right?") == 1


def test_what_makes_figures_doubtful_is_told(convert, data):
    train = "[Ann](PER) left\n[Lima](LOC) is far\n"
    test = "[Ann](PER)  left\n[Ann](WHO) and [Bo](WHO) left\nno one left\n"
    result = convert(data(train=train, test=test), "out")
    assert "Classes of the test part that no example has: WHO 2\n" in result.stdout
    assert (
        "Test sentences with entities that are examples, too: 1 of 2" in result.stdout
    )
    data(distant="[Bo](WHO) left\n")  # which are no examples
    result = convert("data", "out", "--overwrite")
    assert "Classes of the test part that no example has: WHO 2\n" in result.stdout
    Path("data/distant.txt").unlink()
    again = convert(data(train=train, test="[Bo](PER) ran\n"), "out", "--overwrite")
    assert "examples" not in again.stdout and "no example" not in again.stdout


def test_what_lies_beside_samples_is_none(convert, data):
    data(train=ANN, **{"5shot__1": ANN, "5shot__README": "Drawn", "ashot__1": "Shot"})
    assert convert("data", "out").exit_code == 0
    assert {x.name for x in Path("out").iterdir() if x.is_dir()} == {"5shot"}
    assert [x.name for x in Path("out/5shot").iterdir()] == ["1.spacy"]


def test_what_a_folder_lacks_or_has_twice_is_one_line(convert, data):
    folder = data(notes="x")
    assert_one_line_error(convert(folder, "out"), "has no train.* or test.*")
    data(train=ANN)
    Path("data/train.conll").write_text(CONLL)
    Path("data/train.conll.bak").write_text(CONLL)
    line = "has several files for one part (train.conll, train.txt)"
    assert_one_line_error(convert(folder, "out"), line)
    assert_one_line_error(convert(folder, folder), "is the input too")
    assert not Path("out").exists()


def test_of_distant_text_in_several_forms_one_is_read(convert, data):
    folder = Path(data(train=ANN, test=ANN))
    (folder / "distant.txt").write_text(CONLL)
    words = '{"text": ["Lima"], "label": ["B-LOC"]}'
    (folder / "distant.jsonl").write_text(words)
    result = convert(folder, "out")
    assert result.exit_code == 0
    assert "distant.jsonl is read, not distant.txt" in result.stdout
    (doc,) = read_docbin("out/distant.spacy")
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Lima", "LOC")]
    # The one that may have the format that is asked for.
    (folder / "train.txt").write_text(CONLL)
    (folder / "test.txt").unlink()
    result = convert(folder, "named", "--format", "conll")
    assert result.exit_code == 0
    assert "distant.txt is read, not distant.jsonl" in result.stdout


def test_commands_are_part_of_the_spacy_command():
    result = CliRunner().invoke(spacy_app, ["entlm", "--help"])
    assert result.exit_code == 0
    assert "convert" in result.stdout
    assert "sample" in result.stdout
    assert "entlm" in CliRunner().invoke(spacy_app, ["--help"]).stdout


def test_commands_import_no_transformers():
    code = "import sys, spacy_entlm.cli; sys.exit('transformers' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
def test_real_corpus_is_converted_whole(convert):
    result = convert(SHARED / "conll03" / "test.jsonl", "out.spacy")
    assert result.exit_code == 0
    assert len(DocBin().from_disk("out.spacy")) == 3453
