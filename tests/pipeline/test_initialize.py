"""Where classes and label words come from, and what goes back out."""

import shutil

import pytest
import spacy
import srsly
import torch
from confection import ConfigValidationError
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.tensors import save_tensors
from spacy_entlm.label_words.words import LabelWordError

NAME = "entlm_ner"


def initialize(nlp, examples, **settings):
    nlp.config["initialize"]["components"][NAME] = settings
    nlp.initialize(lambda: examples)
    return nlp.get_pipe(NAME)


@pytest.fixture
def nlp(bert, blank_nlp):
    return blank_nlp(bert)


@pytest.fixture
def examples(nlp, make_examples):
    return make_examples(nlp)


def test_given_label_words_are_taken(nlp, examples, label_words):
    pipe = initialize(nlp, examples, label_words=label_words)
    assert pipe.label_data == label_words
    assert pipe.labels == ("PER", "LOC", "ORG")


def test_without_label_words_they_are_searched(nlp, examples):
    pipe = initialize(nlp, examples)
    assert set(pipe.labels) == {"PER", "LOC", "ORG"}
    # Most frequent first, as the uncased tokenizer reads them; at most six.
    assert pipe.label_data["LOC"] == ["berlin", "paris", "london", "rome"]
    assert pipe.label_data["ORG"][:3] == ["acme", "corp", "commission"]
    assert all(1 <= len(words) <= 6 for words in pipe.label_data.values())


def test_classes_without_given_words_get_searched_ones(nlp, examples):
    pipe = initialize(nlp, examples, label_words={"PER": ["Mary"]})
    assert pipe.label_data["PER"] == ["Mary"]
    assert pipe.label_data["LOC"] == ["berlin", "paris", "london", "rome"]


def test_label_rows_are_where_classes_start(nlp, examples, label_words, tmp_path):
    """Those that are given; the others start from their words."""
    plain = initialize(nlp, examples, label_words=label_words)
    before = [row.detach().clone() for row in plain.network.rows]
    path = tmp_path / "rows.safetensors"
    row = torch.arange(float(len(before[0])))
    save_tensors(path, {"LOC": row, "FOOD": row.clone()})
    pipe = initialize(nlp, examples, label_words=label_words, label_rows=str(path))
    assert pipe.label_data == label_words
    for label, now, then in zip(pipe.labels, pipe.network.rows, before):
        assert torch.equal(now, row if label == "LOC" else then)
    save_tensors(path, {"LOC": torch.ones(3)})
    with pytest.raises(DataError, match="search them again"):
        initialize(nlp, examples, label_words=label_words, label_rows=str(path))


def test_searched_words_come_after_given_ones_and_before_the_name(
    nlp, examples, tmp_path
):
    searched = {"PER": ["mary"], "LOC": ["rome"], "ORG": [], "OTHER": ["red"]}
    path = tmp_path / "searched.json"
    srsly.write_json(path, searched)
    given = {"LOC": ["paris"]}
    pipe = initialize(nlp, examples, searched_words=str(path), label_words=given)
    assert pipe.label_data["PER"] == ["mary"]
    assert pipe.label_data["LOC"] == ["paris"]
    assert pipe.label_data["ORG"][:3] == ["acme", "corp", "commission"]
    assert set(pipe.labels) == {"PER", "LOC", "ORG"}


def test_a_class_is_known_by_the_words_of_its_name(nlp):
    """Where its name holds words; else by its examples."""
    words = ["Mary", "met", "Acme", "in", "Paris"]
    tags = ["U-john_mary", "O", "U-red_bank", "O", "U-GPE"]
    examples = [Example.from_dict(Doc(nlp.vocab, words), {"entities": tags})]
    pipe = initialize(nlp, examples)
    assert pipe.label_data == {
        "john_mary": ["john", "mary"],
        "red_bank": ["bank"],
        "GPE": ["paris"],
    }


@pytest.mark.parametrize("content", ["{", "[]", '{"learn_rate": "high"}'])
def test_what_a_backbone_says_and_cannot_be_read_is_told(
    bert, blank_nlp, make_examples, tmp_path, content
):
    folder = shutil.copytree(bert, tmp_path / "lm")
    (folder / "pretrain.json").write_text(content)
    nlp = blank_nlp(folder)
    with pytest.raises(ValueError, match=r"pretrain\.json"):
        initialize(nlp, make_examples(nlp))


def test_label_words_of_a_class_without_examples_make_a_class(nlp, examples):
    pipe = initialize(nlp, examples, label_words={"FOOD": ["red"]})
    assert set(pipe.labels) == {"FOOD", "PER", "LOC", "ORG"}


def test_label_words_are_read_by_the_config(
    bert, blank_nlp, tmp_path, make_examples, label_words
):
    path = tmp_path / "words.json"
    srsly.write_json(path, label_words)
    nlp = blank_nlp(bert)
    config = nlp.config.copy()
    reader = {"@readers": "spacy.read_labels.v1", "path": str(path)}
    config["initialize"]["components"][NAME] = {"label_words": reader}
    text = config.to_str()
    nlp = load_model_from_config(Config().from_str(text, interpolate=False))
    nlp.initialize(lambda: make_examples(nlp))
    assert nlp.get_pipe(NAME).label_data == label_words


def test_label_data_goes_back_in_as_labels(nlp, examples, bert, blank_nlp):
    label_data = initialize(nlp, examples).label_data
    again = blank_nlp(bert)
    pipe = initialize(again, examples, labels=label_data)
    assert pipe.label_data == label_data
    assert pipe.labels == tuple(label_data)


def test_label_data_is_what_spacy_init_labels_writes_and_reads(
    nlp, examples, bert, blank_nlp, tmp_path
):
    label_data = initialize(nlp, examples).label_data
    path = tmp_path / "labels.json"
    srsly.write_json(path, label_data)
    reader = {"@readers": "spacy.read_labels.v1", "path": str(path)}
    pipe = initialize(blank_nlp(bert), examples, labels=reader)
    assert pipe.label_data == label_data


def test_label_data_is_a_copy(nlp, examples, label_words):
    pipe = initialize(nlp, examples, label_words=label_words)
    pipe.label_data["PER"].append("Rome")
    assert pipe.label_data == label_words


def test_labels_as_a_list_name_all_classes(nlp, examples):
    pipe = initialize(nlp, examples, labels=["LOC", "PER"])
    assert pipe.labels == ("LOC", "PER")
    doc = nlp.make_doc("Acme")
    with pytest.raises(ValueError, match="'ORG'"):
        nlp.update([Example.from_dict(doc, {"entities": [(0, 4, "ORG")]})])


def test_label_words_win_over_those_of_labels(nlp, examples):
    labels = {"PER": ["John"], "LOC": ["Paris"], "ORG": ["Corp"]}
    pipe = initialize(nlp, examples, labels=labels, label_words={"PER": ["Mary"]})
    assert pipe.label_data == {**labels, "PER": ["Mary"]}


def test_label_rows_are_those_of_the_words(nlp, examples, label_words):
    pipe = initialize(nlp, examples, label_words=label_words)
    network = pipe.network
    for row, words in zip(network.rows, label_words.values()):
        ids = network.tokenizer.convert_tokens_to_ids([w.lower() for w in words])
        torch.testing.assert_close(row, network.vocabulary.weight[ids].mean(0))


def test_class_without_a_usable_word_is_named(nlp, examples):
    with pytest.raises(LabelWordError, match=r"'CITY'.*漢漢"):
        initialize(nlp, examples, label_words={"CITY": ["漢漢"]})


def test_class_that_cannot_be_searched_is_named(nlp, examples):
    with pytest.raises(LabelWordError, match="no label word for 'GHOST'"):
        initialize(nlp, examples, label_words={"GHOST": []})


def test_label_words_of_the_wrong_form_are_refused(nlp, examples):
    with pytest.raises(ConfigValidationError, match="label_words"):
        initialize(nlp, examples, label_words={"PER": "John"})


def test_examples_without_entities_are_refused(nlp):
    text = "The cat sleeps ."
    example = Example.from_dict(nlp.make_doc(text), {"entities": []})
    with pytest.raises(LabelWordError, match="no class to learn"):
        initialize(nlp, [example])


def test_examples_without_entities_do_with_label_words(nlp, label_words):
    example = Example.from_dict(nlp.make_doc("The cat sleeps ."), {"entities": []})
    pipe = initialize(nlp, [example], label_words=label_words)
    assert pipe.labels == ("PER", "LOC", "ORG")


def test_no_examples_at_all_are_refused(nlp):
    with pytest.raises(TypeError, match=r"EntLMNER\.initialize.*got: \[\]"):
        initialize(nlp, [])


def test_examples_must_be_examples(nlp):
    with pytest.raises(TypeError):
        nlp.get_pipe(NAME).initialize(lambda: ["Anna"], nlp=nlp)


def test_unknown_backbone_is_named(blank_nlp, make_examples):
    nlp = blank_nlp("nobody/has-this-model")
    with pytest.raises(BackboneError, match=r"nobody/has-this-model.*name = "):
        initialize(nlp, make_examples(nlp))


def test_failed_initialisation_can_be_tried_again(nlp, examples, label_words):
    with pytest.raises(LabelWordError):
        initialize(nlp, examples, label_words={"CITY": ["漢漢"]})
    pipe = initialize(nlp, examples, label_words=label_words)
    assert pipe.labels == ("PER", "LOC", "ORG")
    assert nlp("Anna").text == "Anna"


def test_initialising_again_begins_anew(nlp, examples, label_words):
    pipe = initialize(nlp, examples, label_words=label_words)
    rows = [row.clone() for row in pipe.network.rows]
    for _ in range(3):
        nlp.update(examples)
    pipe.add_label("FOOD", ["red"])
    pipe = initialize(nlp, examples, label_words=label_words)
    assert pipe.labels == ("PER", "LOC", "ORG")
    again = pipe.network.rows
    assert all(torch.equal(left, right) for left, right in zip(rows, again))


def test_initialising_a_loaded_pipeline_reads_its_backbone_again(
    blank_nlp, make_examples, label_words, bert, tmp_path
):
    backbone = shutil.copytree(bert, tmp_path / "backbone")
    nlp = blank_nlp(backbone)
    examples = make_examples(nlp)
    initialize(nlp, examples, label_words=label_words)
    shutil.rmtree(backbone)
    with pytest.raises(BackboneError, match=str(backbone)):
        initialize(nlp, examples, label_words=label_words)
    # What was there is still there.
    assert nlp("Anna met Peter").text == "Anna met Peter"


@pytest.mark.parametrize("labels", [["B-CELL"], ["B-CELL", "I-BEAM"]])
def test_labels_that_look_like_tags_keep_their_names(bert, blank_nlp, tmp_path, labels):
    nlp = blank_nlp(bert)
    text = "red house"
    spans = [(0, 3, labels[0]), (4, 9, labels[-1])]
    example = Example.from_dict(nlp.make_doc(text), {"entities": spans})
    pipe = initialize(nlp, [example])
    assert pipe.labels == tuple(labels)
    nlp.update([example])
    pipe.add_label("I-PAD", ["mask"])
    assert pipe.labels == (*labels, "I-PAD")
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path).get_pipe(NAME)
    assert loaded.labels == pipe.labels
    assert loaded.network.label_words == pipe.label_data


def test_given_words_of_a_class_that_looks_like_a_tag_are_its_own(bert, blank_nlp):
    nlp = blank_nlp(bert)
    example = Example.from_dict(
        nlp.make_doc("red house"), {"entities": [(0, 3, "B-CELL")]}
    )
    pipe = initialize(nlp, [example], label_words={"B-CELL": ["green"]})
    assert pipe.label_data == {"B-CELL": ["green"]}


def test_prefixed_label_words_stand_for_the_classes_of_the_examples(nlp, examples):
    words = {"I-PER": ["John"], "I-LOC": ["Paris"], "I-ORG": ["Corp"]}
    pipe = initialize(nlp, examples, label_words=words)
    assert pipe.labels == ("PER", "LOC", "ORG")


def test_search_leaves_function_words_and_other_classes_out(bert, blank_nlp):
    nlp = blank_nlp(bert, lang="en")
    words = ["Bank", "of", "Paris", "in", "Paris"]
    reference = Doc(nlp.vocab, words=words, ents=["B-ORG", "I-ORG", "I-ORG", "O", "O"])
    predicted = Doc(nlp.vocab, words=words)
    pipe = initialize(nlp, [Example(predicted, reference)])
    assert pipe.label_data == {"ORG": ["bank"]}
