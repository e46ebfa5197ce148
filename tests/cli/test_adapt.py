"""The command `adapt`."""

import lzma

import pytest
import spacy
import torch
from spacy.tokens import DocBin

from ..commands import entlm, error_of

TEXTS = [
    f"{who} left {place} ."
    for who in ("Anna", "John", "Mary", "Peter")
    for place in ("Berlin", "Paris", "London", "Rome")
]


@pytest.fixture
def adapt(trained_folder, make_examples, tmp_path, monkeypatch):
    """Runs the command in a folder with texts.txt and train.spacy."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join([*TEXTS, "", TEXTS[0]]))
    nlp = spacy.blank("xx")
    docs = [example.reference for example in make_examples(nlp)]
    DocBin(docs=docs).to_disk("train.spacy")

    def run(*options, pipeline=trained_folder, text="texts.txt", out="out", code=0):
        given = [pipeline, text, out, "--examples", "train.spacy", *options]
        result = entlm("adapt", *given)
        assert result.exit_code == code, result.output
        return error_of(result) if code else result.stdout

    return run


def test_a_pipeline_learns_text_and_is_written(adapt, trained, tmp_path):
    output = adapt("--learn-rate", "0.01")
    assert "The backbone reads 16 texts" in output
    assert "The mean of 3 trainings on" in output and "Wrote out" in output
    nlp = spacy.load("out")
    assert nlp.pipe_names == trained.pipe_names
    assert [path.name for path in tmp_path.iterdir() if path.name[0] == "."] == []


def test_a_folder_of_data_has_its_unlabeled_text(adapt, tmp_path):
    (tmp_path / "data").mkdir()
    with lzma.open("data/unlabeled.txt.xz", "wt") as file_:
        file_.write("\n".join(TEXTS[:5]))
    assert "reads 5 texts" in adapt("--max-texts", 9, text="data")


@pytest.mark.parametrize(
    "parts, n_texts",
    [(["distant", "train"], 2), (["train"], 3), (["unlabeled", "distant"], 5)],
)
def test_without_unlabeled_text_the_converted_data_is_read(
    adapt, tmp_path, parts, n_texts
):
    data, corpus = tmp_path / "data", tmp_path / "corpus"
    data.mkdir()
    corpus.mkdir()
    nlp = spacy.blank("xx")
    for name, number in (("distant", 2), ("train", 3)):
        if name in parts:
            docs = list(map(nlp.make_doc, TEXTS[:number]))
            DocBin(docs=docs).to_disk(corpus / f"{name}.spacy")
    if "unlabeled" in parts:
        (data / "unlabeled.txt").write_text("\n".join(TEXTS[:5]))
    output = adapt("--corpus", "corpus", text="data")
    assert f"reads {n_texts} texts" in output


def test_recipe_of_examples_leaves_the_pipeline(adapt, trained_folder):
    output = adapt("--recipe", "examples", out=trained_folder)
    assert "is done: it learned from its examples alone" in " ".join(output.split())


def test_recipe_of_several_trainings_reads_no_text(adapt, trained):
    output = adapt("--recipe", "mean", "--learn-rate", "0.01", text="none.txt")
    assert "The mean of 3 trainings on" in output
    networks = [
        nlp.get_pipe("entlm_ner").network for nlp in (trained, spacy.load("out"))
    ]
    pairs = zip(*(network.parameters() for network in networks))
    assert not all(torch.equal(before, now) for before, now in pairs)


@pytest.mark.parametrize(
    "options, changed, message",
    [
        (
            ["--recipe", "most"],
            {},
            "--recipe is one of examples, mean, full, not 'most'",
        ),
        (["--recipe", "examples"], {}, "with --recipe examples OUT is PIPELINE"),
        (["--learn-rate", "fast"], {}, "is a number above 0, or null, not 'fast'"),
        (["--learn-rate", "nan"], {}, "is a number above 0, or null, not 'nan'"),
        ([], {"text": "nowhere.txt"}, "nowhere.txt: no such file"),
        ([], {"text": "empty.txt"}, "empty.txt: holds no text"),
        ([], {"text": "."}, "has no unlabeled.*: full wants plain text"),
        ([], {"pipeline": "."}, "is no trained pipeline: it has no config.cfg"),
        ([], {"out": "texts.txt"}, "texts.txt: is a file"),
        (["--examples", "none.spacy"], {}, "none.spacy: holds no examples"),
    ],
)
def test_wrong_input_is_one_clear_line(adapt, tmp_path, options, changed, message):
    (tmp_path / "empty.txt").write_text("\n\n")
    DocBin().to_disk("none.spacy")
    assert message in adapt(*options, **changed, code=1)


def test_the_output_is_not_the_input_nor_replaced_unasked(adapt, trained_folder):
    assert "is the input too" in adapt(out=trained_folder, code=1)
    adapt()
    assert "with --overwrite" in adapt(code=1)
