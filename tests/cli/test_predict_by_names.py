"""The command `predict` with names of classes in place of a pipeline."""

import json
from pathlib import Path

import pytest

from spacy_entlm.pipeline.entlm_ner import EntLMNER

from ..commands import entlm, error_of, read_jsonl

NAMES = "PER,LOC,ORG"


@pytest.fixture
def predict(knowing, texts, tmp_path, monkeypatch):
    """Runs the command in a folder of its own that holds texts, with a backbone that
    knows what classes are called."""
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("\n".join(texts) + "\n", encoding="utf8")

    def predict(*args, options=("--backbone", str(knowing), "--lang", "xx")):
        return entlm("predict", *args, *options)

    return predict


def spans(path):
    return [
        [(s["start"], s["end"], s["label"]) for s in entry["spans"]]
        for entry in read_jsonl(path)
    ]


@pytest.fixture
def expected(annotated):
    return [annotation["entities"] for _, annotation in annotated]


def test_names_of_classes_are_enough(predict, expected):
    result = predict("--labels", NAMES, "in.txt", "out.jsonl")
    assert result.exit_code == 0, result.stderr
    assert spans("out.jsonl") == expected
    told = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    assert told[1:4] == [
        ["PER", "person"],
        ["LOC", "location"],
        ["ORG", "organization"],
    ]
    assert f"{len(expected)} texts, 21 entities" in result.stdout


def test_a_page_can_be_looked_at(predict, texts):
    assert predict("in.txt", "out.html", "--labels", " PER , LOC,").exit_code == 0
    page = Path("out.html").read_text(encoding="utf8")
    assert "Anna Smith" in page and "PER" in page and "ORG" not in page


@pytest.mark.parametrize(
    "classes",
    [
        ["PER", "LOC", "ORG"],
        {"PER": "person", "LOC": ["location"], "ORG": None},
        {"PER": [], "LOC": "", "ORG": ["organization", "organization"]},
    ],
)
def test_a_file_may_give_words_or_descriptions(predict, expected, classes):
    Path("classes.json").write_text(json.dumps(classes), encoding="utf8")
    result = predict("--labels", "classes.json", "in.txt", "out.jsonl")
    assert result.exit_code == 0, result.output
    assert spans("out.jsonl") == expected


def test_a_class_is_called_as_it_was_asked_for(predict, expected):
    names = {"PER": "Wer?", "LOC": "日本", "ORG": "a-b c"}
    classes = dict(zip(names.values(), ["person", "location", "organization"]))
    Path("c.json").write_text(json.dumps(classes), encoding="utf8")
    assert predict("--labels", "c.json", "in.txt", "out.jsonl").exit_code == 0
    assert spans("out.jsonl") == [
        [(start, end, names[label]) for start, end, label in ents] for ents in expected
    ]


def test_an_interrupted_run_goes_on(predict, expected):
    assert predict("--labels", NAMES, "in.txt", "whole.jsonl").exit_code == 0
    lines = Path("whole.jsonl").read_bytes().splitlines(keepends=True)
    Path("out.jsonl.unfinished").write_bytes(b"".join(lines[:4]))
    result = predict("--labels", NAMES, "in.txt", "out.jsonl", "--resume")
    assert result.exit_code == 0, result.output
    assert spans("out.jsonl") == expected


def test_the_threshold_holds(predict):
    args = ("--labels", NAMES, "in.txt", "out.jsonl", "--threshold", "1.0")
    assert predict(*args).exit_code == 0
    assert not any(spans("out.jsonl"))


def test_first_texts_are_there_before_all_are_read(predict, monkeypatch, texts):
    """The first batches are small, and what is found is the same."""
    sizes, score_docs = [], EntLMNER.score_docs

    def noted(self, docs):
        sizes.append(len(docs))
        return score_docs(self, docs)

    monkeypatch.setattr(EntLMNER, "score_docs", noted)
    Path("in.txt").write_text("\n".join(texts * 10) + "\n", encoding="utf8")
    assert predict("--labels", NAMES, "in.txt", "out.jsonl").exit_code == 0
    assert sum(sizes) == 10 * len(texts) and sizes[0] <= 10 < sizes[-2]
    sizes.clear()
    args = ("--labels", NAMES, "in.txt", "one.jsonl", "--batch-size", "1")
    assert predict(*args).exit_code == 0
    assert set(sizes) == {1}
    assert spans("one.jsonl") == spans("out.jsonl")


BACKBONE = ("--backbone", "none")


@pytest.mark.parametrize(
    "args, options, message",
    [
        (["in.txt", "out.jsonl"], (), "nothing says what to find: put a pipeline"),
        (["model", "in.txt", "out.jsonl", "--labels", "a"], (), "leave out the first"),
        (
            ["--labels", "a", "b,", "in.txt", "o.jsonl"],
            (),
            "and no blanks: person,city",
        ),
        (["in.txt"], (), "expected PIPELINE IN OUT, or --labels NAMES IN OUT"),
        (["a", "b", "in.txt", "out.jsonl"], (), "expected PIPELINE IN OUT"),
        (["m", "in.txt", "out.jsonl"], ("--lang", "de"), "--lang goes with --labels"),
        (["m", "in.txt", "out.jsonl"], BACKBONE, "--backbone goes with --labels"),
        (["in.txt", "out.jsonl", "--labels", " , "], (), "no name of a class in"),
        (["in.txt", "o.jsonl", "--labels", "n.json"], (), "n.json: no such file"),
        (["in.txt", "o.jsonl", "--labels", "7.json"], (), "7.json: holds no classes"),
        (["in.txt", "o.jsonl", "--labels", "in.json"], (), "in.json: holds no classes"),
        (["in.txt", "out.jsonl", "--labels", "a"], ("--lang", "qq"), "--lang qq"),
        (
            ["in.txt", "out.jsonl", "--labels", "a"],
            BACKBONE,
            "no folder of a masked LM",
        ),
        (["none.txt", "out.jsonl", "--labels", "a"], (), "none.txt: no such file"),
    ],
)
def test_what_cannot_be_done_is_one_line(predict, args, options, message):
    Path("7.json").write_text("7")
    Path("in.json").write_text('{"PER": 7}')
    assert message in error_of(predict(*args, options=options))
    assert not Path("out.jsonl").exists()


def test_a_backbone_that_reads_no_names_is_told(predict, bert):
    options = ("--labels", NAMES, "--backbone", str(bert), "--lang", "xx")
    line = error_of(predict("in.txt", "out.jsonl", options=options))
    assert "leave the option out for entlm-base" in line


def test_the_packages_own_backbone_is_the_default(predict, texts):
    """Without any option, and in any language."""
    Path("in.txt").write_text("Ann Lee has influenza in Lima .\n", encoding="utf8")
    args = ("in.txt", "out.jsonl", "--labels", "person,disease")
    result = predict(*args, options=())
    assert result.exit_code == 0, result.output
    (found,) = spans("out.jsonl")
    assert (0, 7, "person") in found and (12, 21, "disease") in found


@pytest.mark.parametrize("content", ["PER\n\nLOC\r\nORG", "\ufeffPER, LOC,ORG\n"])
def test_a_text_file_may_list_the_names(predict, expected, content):
    Path("names.txt").write_text(content, encoding="utf8")
    result = predict("--labels", "names.txt", "in.txt", "out.jsonl")
    assert result.exit_code == 0, result.output
    assert spans("out.jsonl") == expected


@pytest.mark.parametrize(
    "labels, said",
    [
        ("none.txt", "none.txt: no such file"),
        ("empty.txt", "empty.txt: no name of a class"),
        ("names.tsv", "names.tsv: is no list of names"),
        ("PER=person,LOC", "'PER=person'"),
        ("PER;LOC", "commas between them"),
        ("O,PER", "'O' is no class"),
        ("B-PER,I-PER", "tags"),
        ("x" * 101, "is no class"),
    ],
)
def test_what_is_no_name_of_a_class_is_no_name(predict, labels, said):
    Path("names.tsv").write_text("PER\tperson\n", encoding="utf8")
    Path("empty.txt").write_text("\n", encoding="utf8")
    result = predict("--labels", labels, "in.txt", "out.jsonl")
    assert result.exit_code == 1
    assert said in result.stderr and not Path("out.jsonl").exists()


def test_marks_in_a_text_are_told(predict):
    Path("marked.txt").write_text("[Anna Smith](PER) left.\nNo one else.\n")
    result = predict("--labels", NAMES, "marked.txt", "out.jsonl")
    assert result.exit_code == 0
    assert "1 text has marks like [words](LABEL)" in result.stdout
    result = predict("--labels", NAMES, "in.txt", "again.jsonl")
    assert "marks" not in result.stdout


def test_many_texts_are_read_by_names_too(predict, expected):
    result = predict("--labels", NAMES, "in.txt", "found")
    assert result.exit_code == 0, result.stderr
    (path,) = Path("found/data").glob("*.jsonl")
    assert spans(path) == expected
    facts = json.loads(Path("found/manifest.json").read_text(encoding="utf8"))
    assert list(facts["reader"]["classes"]) == NAMES.split(",")
    # With other classes it is another run.
    result = predict("--labels", "PER", "in.txt", "found")
    assert result.exit_code == 1
