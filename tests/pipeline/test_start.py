"""How classes begin where the backbone makes rows from names: the setting `start`."""

import logging

import pytest
import spacy
import srsly
import torch

from spacy_entlm.files.tensors import save_tensors
from spacy_entlm.label_words.rows import initial_row
from spacy_entlm.label_words.words import LabelWordError, label_word_pieces

NAME = "entlm_ner"
NAMES = {"PER": ["person"], "LOC": ["location"], "ORG": ["organization"]}
SEARCHED = {"PER": ["mary", "john"], "LOC": ["rome"], "OTHER": ["red"]}


@pytest.fixture
def initialized(naming, blank_nlp, make_examples, tmp_path):
    """Makes an initialised component: (start, **settings) -> component."""

    def make(start=None, *, searched=None, **settings):
        nlp = blank_nlp(naming, start=start)
        if searched is not None:
            srsly.write_json(tmp_path / "searched.json", searched)
            settings["searched_words"] = str(tmp_path / "searched.json")
        nlp.config["initialize"]["components"][NAME] = settings
        nlp.initialize(lambda: make_examples(nlp))
        return nlp.get_pipe(NAME)

    return make


def row_of(pipe, label):
    number = pipe.labels.index(label)
    return pipe.network.rows[number].detach(), pipe.network.biases[number].detach()


def by_names(pipe, *names):
    rows = [pipe.network.row_of_name(name) for name in names]
    return tuple(torch.stack(some).mean(0) for some in zip(*rows))


def by_words(pipe, *words):
    network = pipe.network
    pieces = label_word_pieces({"": list(words)}, network.tokenizer)[""]
    return initial_row(network.vocabulary, pieces)


def mean(*found):
    return tuple(torch.stack(some).mean(0) for some in zip(*found))


def assert_begins(pipe, label, expected):
    for ours, theirs in zip(row_of(pipe, label), expected):
        torch.testing.assert_close(ours, theirs.detach())


@pytest.mark.parametrize("start", [None, "name"])
@pytest.mark.parametrize("searched", [None, SEARCHED])
def test_classes_start_from_their_names(initialized, start, searched):
    """Whatever was searched."""
    pipe = initialized(start, searched=searched)
    assert pipe.label_data == NAMES
    for label, (name,) in NAMES.items():
        assert_begins(pipe, label, by_names(pipe, name))


def test_what_is_given_stands_for_the_name(initialized):
    given = {"PER": ["someone"], "LOC": ["a house", "a street"], "FOOD": []}
    pipe = initialized(label_words=given)
    expected = {**NAMES, "PER": given["PER"], "LOC": given["LOC"], "FOOD": ["food"]}
    assert pipe.label_data == expected
    assert_begins(pipe, "LOC", by_names(pipe, "a house", "a street"))


def test_classes_start_from_words(initialized):
    """Given, searched in annotated text, or else searched in the examples."""
    searched = {"PER": ["mary"], "ORG": ["acme"]}
    pipe = initialized("words", searched=searched, label_words={"ORG": ["bank"]})
    cities = ["berlin", "paris", "london", "rome"]
    assert pipe.label_data == {"ORG": ["bank"], "PER": ["mary"], "LOC": cities}
    for label, words in pipe.label_data.items():
        assert_begins(pipe, label, by_words(pipe, *words))


def test_classes_start_from_both(initialized):
    """The mean of what names and searched words give; several names are as one."""
    given = {"ORG": ["a bank", "a house"]}
    searched = {**SEARCHED, "ORG": ["acme"]}
    pipe = initialized("both", searched=searched, label_words=given)
    assert pipe.label_data["PER"] == ["person", "mary", "john"]
    assert pipe.label_data["LOC"] == ["location", "rome"]
    assert pipe.label_data["ORG"] == ["a bank", "a house", "acme"]
    names, words = by_names(pipe, "a bank", "a house"), by_words(pipe, "acme")
    assert_begins(pipe, "ORG", mean(names, words))
    names, words = by_names(pipe, "person"), by_words(pipe, "mary", "john")
    assert_begins(pipe, "PER", mean(names, words))


def test_without_searched_words_both_is_the_name(initialized):
    pipe = initialized("both", searched={"PER": []})
    assert pipe.label_data == NAMES


def test_a_backbone_that_reads_no_names_starts_from_words(
    bert, blank_nlp, make_examples
):
    for start in (None, "name", "words", "both"):
        nlp = blank_nlp(bert, start=start)
        nlp.initialize(lambda nlp=nlp: make_examples(nlp))
        words = nlp.get_pipe(NAME).label_data["LOC"]
        assert words == ["berlin", "paris", "london", "rome"]


@pytest.mark.parametrize(
    "start, texts",
    [("name", ["color"]), ("both", ["color"]), ("words", None)],
)
def test_a_class_that_is_added_starts_in_the_same_way(initialized, start, texts):
    pipe = initialized(start)
    if texts is None:
        with pytest.raises(LabelWordError, match="'COLOR' has no usable label word"):
            pipe.add_label("COLOR")
        assert len(pipe.labels) == len(pipe.network.rows) == 3
        pipe.add_label("COLOR", ["red", "green"])
        assert_begins(pipe, "COLOR", by_words(pipe, "red", "green"))
    else:
        pipe.add_label("COLOR")
        assert pipe.label_data["COLOR"] == texts
        assert_begins(pipe, "COLOR", by_names(pipe, *texts))
        pipe.add_label("SIZE", ["a large house"])
        assert_begins(pipe, "SIZE", by_names(pipe, "a large house"))


def test_rows_of_a_file_come_before_names(initialized, tmp_path, caplog):
    """Their bias is that of the name. Classes with rows of their own differ."""
    row = torch.arange(32.0)
    save_tensors(tmp_path / "rows.safetensors", {"LOC": row})
    settings = {"label_words": {"PER": ["cat"], "LOC": ["cat"]}}
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        pipe = initialized(**settings, label_rows=str(tmp_path / "rows.safetensors"))
    assert not caplog.messages
    assert_begins(pipe, "LOC", (row, by_names(pipe, "cat")[1]))


def test_names_are_read_again_where_the_backbone_is(
    initialized, naming, blank_nlp, make_examples
):
    """`label_data` as `labels`, as spaCy's `init labels` writes and reads it."""
    for start in (None, "words"):
        first = initialized(start, searched=SEARCHED)
        nlp = blank_nlp(naming, start=start)
        nlp.config["initialize"]["components"][NAME] = {"labels": first.label_data}
        nlp.initialize(lambda nlp=nlp: make_examples(nlp))
        again = nlp.get_pipe(NAME)
        assert again.label_data == first.label_data
        for label in first.labels:
            assert_begins(again, label, row_of(first, label))


def test_labels_of_an_initialisation_may_be_described(initialized):
    labels = {"PER": "someone", "LOC": ["a house"], "ORG": []}
    pipe = initialized(labels=labels)
    assert pipe.label_data == {**NAMES, "PER": ["someone"], "LOC": ["a house"]}


def test_the_setting_is_that_of_the_config_after_loading(initialized, tmp_path):
    pipe = initialized("words")
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={"start": "words"}).from_bytes(pipe.to_bytes())
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe(NAME).start == "words"


@pytest.mark.parametrize("start", ["names", "", "Words"])
def test_there_are_no_other_modes(bert, blank_nlp, start):
    with pytest.raises(ValueError, match="start is one of 'name', 'words', 'both'"):
        blank_nlp(bert, start=start)
