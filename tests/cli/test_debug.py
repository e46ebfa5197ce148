from functools import partial
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin, Span

from ..commands import entlm, error_of

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "entlm.cfg"


@pytest.fixture
def train_file(tmp_path, blank_nlp, bert, make_examples):
    nlp = blank_nlp(bert)
    docs = [eg.reference for eg in make_examples(nlp)]
    path = tmp_path / "train.spacy"
    DocBin(docs=docs).to_disk(path)
    return path


@pytest.fixture
def debug(train_file, bert):
    """Runs the command with a tiny backbone: (*overrides) -> result."""
    paths = ("--paths.train", train_file, "--paths.backbone", bert)
    return partial(entlm, "debug", CONFIG, *paths)


def test_shows_label_words_entities_and_windows(debug, train_file):
    result = debug("--paths.label_words", train_file.with_name("none.json"))
    assert result.exit_code == 0, result.output
    assert "PER: 8 entities" in result.output
    assert "label words: " in result.output
    assert "Windows: 10 for 10 texts" in result.output
    assert "Words cut for their many pieces: 0" in result.output
    assert "suits the backbone: 0.001" in result.output


def test_pieces_of_a_label_word_are_shown(debug, tmp_path):
    words = tmp_path / "words.json"
    words.write_text('{"PER": ["Johnjohn", "mary"], "LOC": ["paris"], "ORG": ["corp"]}')
    result = debug("--paths.label_words", words)
    assert result.exit_code == 0, result.output
    assert "Johnjohn [john ##" in result.output


def test_an_unsuitable_learning_rate_is_pointed_out(debug):
    result = debug("--training.optimizer.learn_rate.initial_rate", "0.00001")
    assert result.exit_code == 0, result.output
    assert "far off" in result.output


def test_missing_config_is_one_clear_line(tmp_path):
    told = error_of(entlm("debug", tmp_path / "none.cfg"))
    assert "none.cfg: no such file" in told


def test_missing_backbone_is_one_clear_line(debug, tmp_path):
    told = error_of(debug("--paths.backbone", tmp_path / "no_model"))
    assert "Cannot find the masked LM" in told


def test_unknown_setting_is_a_clear_error(debug):
    result = debug("--components.entlm_ner.model.windoww", "3")
    assert result.exit_code == 1
    assert "windoww" in result.output


def test_marks_that_cannot_be_learned_are_told(debug, train_file, blank_nlp, bert):
    nlp = blank_nlp(bert)
    docs = list(DocBin().from_disk(train_file).get_docs(nlp.vocab))
    doc = Doc(nlp.vocab, words=["John", "\n", "Smith", "\n", "Mary", "\n", "Ann"])
    doc.set_ents([Span(doc, *span, "PER") for span in ((0, 3), (4, 5), (6, 7))])
    doc.spans["sc"] = [Span(doc, 2, 5, "PER")]
    DocBin(docs=[*docs, doc]).to_disk(train_file)
    result = debug("--paths.label_words", train_file.with_name("none.json"))
    assert result.exit_code == 0, result.output
    assert "Docs with marks in doc.spans" in result.output
    told = "Entities over a line break, which can never be found whole: 1, eg"
    assert told in result.output


@pytest.mark.parametrize("name", ["train.txt", "train.jsonl", "data"])
def test_a_file_that_spacy_does_not_read_is_told(tmp_path, name):
    path = tmp_path / name
    if path.suffix:
        path.write_text("[Ann](PER) left\n")
    else:
        path.mkdir()
        (path / "train.txt").write_text("[Ann](PER) left\n")
    line = error_of(entlm("debug", CONFIG, "--paths.train", path))
    assert name in line and "entlm convert" in line
