"""Plain text: what two trainings on the same examples agree on is learned, too."""

import logging

import pytest
import spacy
import torch
from spacy.tokens import Doc, Span

import spacy_entlm
from spacy_entlm.training import adaptation
from spacy_entlm.training.adaptation import MIN_ENTITIES, adapt_trained

NAME = "entlm_ner"
PEOPLE = ["Anna", "John", "Mary", "Peter"]
PLACES = ["Berlin", "Paris", "London", "Rome"]
TEXTS = [f"{who} left {place} ." for who in PEOPLE for place in PLACES]
NOISE = ["green house", "blue words", "street river"]


@pytest.fixture
def nlp(bert, blank_nlp):
    return blank_nlp(bert)


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def plain(bert, blank_nlp, fit, weights_of):
    """The weights that the examples alone give."""
    nlp = blank_nlp(bert)
    fit(nlp)
    return weights_of(nlp)


def test_text_is_learned(nlp, plain, fit, entities, caplog, weights_of):
    with caplog.at_level(logging.INFO, logger="spacy.entlm"):
        history = fit(nlp, unlabeled=TEXTS)
    assert len(history[NAME]) == 30  # of the training on the examples
    assert not same(weights_of(nlp), plain)
    assert "Read 16 texts: two trainings agree" in caplog.text
    assert entities(nlp("Mary left Rome ."))[1:] == [(10, 14, "LOC")]


def test_a_text_counts_once_and_a_blank_one_not(nlp, fit, caplog):
    with caplog.at_level(logging.INFO, logger="spacy.entlm"):
        fit(nlp, unlabeled=iter([*TEXTS, *TEXTS, "", "  "]))
    assert "Read 16 texts" in caplog.text


def test_where_trainings_hardly_agree_the_pipeline_stays(
    nlp, plain, fit, caplog, weights_of
):
    fit(nlp, unlabeled=NOISE)
    assert same(weights_of(nlp), plain)
    assert f"{MIN_ENTITIES} entities are wanted" in caplog.text
    assert caplog.records[-1].levelno == logging.WARNING


def test_text_and_a_seed_repeat(bert, blank_nlp, fit, weights_of):
    runs = []
    for _ in range(2):
        nlp = blank_nlp(bert)
        fit(nlp, unlabeled=TEXTS, seed=3)
        runs.append(weights_of(nlp))
    assert same(*runs)


@pytest.mark.parametrize("call", [1, 2])
def test_an_interrupted_adaptation_leaves_the_first_training(
    nlp, plain, fit, monkeypatch, call, weights_of
):
    """In the second training, and in that on the text."""
    calls = []
    original = adaptation.fit

    def stop(*args, **kwargs):
        calls.append(original(*args, **kwargs))
        if len(calls) == call:
            raise KeyboardInterrupt

    monkeypatch.setattr(adaptation, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        fit(nlp, unlabeled=TEXTS)
    assert same(weights_of(nlp), plain)


def test_a_loaded_pipeline_learns_text_with_its_backbone(
    trained, make_examples, weights_of
):
    before = weights_of(trained)
    examples = make_examples(trained)
    result = adapt_trained(trained, examples, TEXTS, max_texts=14, learn_rate=1e-2)
    assert result.n_texts == 14
    assert result.taken and not same(weights_of(trained), before)
    assert set(result.entities) <= {"PER", "LOC", "ORG"}


def test_a_loaded_pipeline_without_its_backbone_says_so(
    trained, make_examples, monkeypatch, weights_of
):
    before = weights_of(trained)
    config = trained.get_pipe(NAME).label_model.config
    monkeypatch.setattr(config, "name", "nowhere/to-be-found")
    with pytest.raises(ValueError, match="nowhere/to-be-found"):
        adapt_trained(trained, make_examples(trained), TEXTS)
    assert same(weights_of(trained), before)


@pytest.mark.parametrize("factories", [["bert_tagger"], [NAME, NAME]])
def test_one_component_is_wanted(bert, annotated, factories):
    nlp = spacy.blank("xx")
    for i, factory in enumerate(factories):
        nlp.add_pipe(factory, name=f"{i}", config={"model": {"name": str(bert)}})
    with pytest.raises(ValueError, match="one entlm_ner, and no peer; found 0"):
        spacy_entlm.train(nlp, annotated, unlabeled=TEXTS)


# What counts as agreed


def marked(ents=()):
    doc = Doc(spacy.blank("xx").vocab, words=["Anna", "saw", "Bern", "and", "Rome"])
    doc.set_ents([Span(doc, *ent) for ent in ents])
    return doc


ANNA, BERN, ROME = (0, 1, "PER"), (2, 3, "LOC"), (4, 5, "LOC")


def said(found, doubted=()):
    return adaptation.Reading(found, {**found, **dict.fromkeys(doubted, 0.5)})


def learn(one, other, listed=(), doubted=()):
    readings = [said(one)], [said(other, doubted)]
    result, examples = adaptation._agree([marked(listed)], *readings, seed=1)
    return result, [example.get_aligned_ner() for example in examples]


def test_what_both_are_sure_of_is_learned_and_what_one_says_left_open():
    result, tags = learn({ANNA: 0.9, BERN: 0.9}, {ANNA: 0.5, ROME: 0.9})
    assert tags == [["U-PER", "O", None, "O", None]]
    assert result.entities == {"PER": 1}
    assert result.agreement == 0.5


def test_what_neither_is_sure_of_is_left_open():
    assert learn({ANNA: 0.6, BERN: 0.9}, {ANNA: 0.5, BERN: 0.9})[1] == [
        [None, "O", "U-LOC", "O", "O"]
    ]


def test_what_one_doubts_is_left_open():
    assert learn({ANNA: 0.9}, {ANNA: 0.9}, doubted=[(3, 5, "PER")])[1] == [
        ["U-PER", "O", "O", None, None]
    ]


def test_a_list_makes_two_of_one():
    """But no entity of its own: names in a list are often something else."""
    _, tags = learn({ANNA: 0.9, BERN: 0.4}, {}, listed=[ANNA, BERN, ROME])
    assert tags == [["U-PER", "O", None, "O", "O"]]


def test_texts_without_an_agreed_entity_are_learned_if_nothing_is_open():
    docs = [marked() for _ in range(9)]
    one = [said(found) for found in [{ANNA: 0.9}] * 6 + [{}, {}, {BERN: 0.9}]]
    other = [said(found) for found in [{ANNA: 0.9}] * 6 + [{}, {}, {}]]
    result, examples = adaptation._agree(docs, one, other, seed=1)
    assert result.n_learned == len(examples) == 8
    assert not result.taken  # six entities are too few
