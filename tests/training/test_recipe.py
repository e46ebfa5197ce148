"""`spacy_entlm.train`: from sentences to `doc.ents` in one call."""

import logging
import math

import pytest
import spacy
import torch
from spacy.tokens import Doc, Span
from spacy.training import Example

import spacy_entlm
from spacy_entlm.label_words.words import LabelWordError

NAME = "entlm_ner"


@pytest.fixture
def nlp(bert, blank_nlp):
    return blank_nlp(bert)


def as_doc(nlp, text, annotation):
    doc = nlp.make_doc(text)
    spans = [doc.char_span(*span[:2], label=span[2]) for span in annotation["entities"]]
    doc.set_ents(spans)
    return doc


def as_example(nlp, text, annotation):
    return Example.from_dict(nlp.make_doc(text), annotation)


def as_pair(nlp, text, annotation):
    return text, annotation


@pytest.mark.parametrize("form", [as_pair, as_doc, as_example])
def test_every_form_of_example_teaches_the_same(
    bert, blank_nlp, annotated, label_words, form
):
    losses = []
    for make in (as_pair, form):
        nlp = blank_nlp(bert)
        data = [make(nlp, text, annotation) for text, annotation in annotated]
        losses.append(spacy_entlm.train(nlp, data, label_words=label_words, epochs=2))
    assert losses[0] == losses[1]
    assert list(losses[0]) == [NAME]
    assert len(losses[0][NAME]) == 2


def test_an_empty_pipeline_gets_the_component(annotated):
    """With the backbone that comes with the package."""
    nlp = spacy.blank("en")
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert nlp.pipe_names == [NAME]
    assert nlp.config["components"][NAME]["model"]["name"] == "entlm-base"


def test_what_was_trained_predicts(nlp, annotated, entities, fit):
    history = fit(nlp)
    assert history[NAME][-1] < history[NAME][0] / 10
    for text, annotation in annotated:
        assert entities(nlp(text)) == annotation["entities"]


def test_label_words_are_searched_if_none_are_given(nlp, annotated):
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert nlp.get_pipe(NAME).label_data["LOC"] == ["berlin", "paris", "london", "rome"]


def test_examples_may_come_from_a_generator(nlp, annotated, label_words):
    pairs = (pair for pair in annotated)
    history = spacy_entlm.train(nlp, pairs, label_words=label_words, epochs=1)
    assert len(history[NAME]) == 1


def test_callback_is_called_after_each_epoch(nlp, annotated, label_words):
    calls = []
    history = spacy_entlm.train(
        nlp,
        annotated,
        label_words=label_words,
        epochs=3,
        callback=lambda epoch, losses: calls.append((epoch, losses)),
    )
    assert calls == [(i + 1, {NAME: loss}) for i, loss in enumerate(history[NAME])]


def test_training_repeats_exactly_with_one_seed(bert, blank_nlp, fit, weights_of):
    runs = []
    for seed in (3, 3, 4):
        nlp = blank_nlp(bert)
        losses = fit(nlp, epochs=2, seed=seed)
        runs.append((losses, weights_of(nlp)))
    (losses, weights), (again, same), (other, _) = runs
    assert losses == again != other
    assert all(torch.equal(weights[name], same[name]) for name in weights)


def test_examples_are_left_as_they_were_given(nlp, annotated, label_words):
    data = list(annotated)
    spacy_entlm.train(nlp, data, label_words=label_words, epochs=2)
    assert data == annotated


def test_nothing_to_train_on_is_refused(nlp):
    with pytest.raises(ValueError, match="no examples were given"):
        spacy_entlm.train(nlp, [])


def test_examples_without_entities_are_refused(nlp):
    with pytest.raises(LabelWordError, match="no class to learn"):
        spacy_entlm.train(nlp, [("The cat sleeps .", {"entities": []})])


@pytest.mark.parametrize("bad", ["Anna", 3, ("Anna",), ("Anna", 3), (3, {})])
def test_what_is_no_example_is_named(nlp, bad):
    with pytest.raises(ValueError, match="Example 1 is no Example, no annotated Doc"):
        spacy_entlm.train(nlp, [bad])


@pytest.mark.parametrize("setting", ["epochs", "batch_size"])
def test_numbers_below_one_are_refused(nlp, annotated, setting):
    with pytest.raises(ValueError, match=f"{setting} must be at least 1, not 0"):
        spacy_entlm.train(nlp, annotated, **{setting: 0})


def test_learning_nothing_ends_with_a_warning(bert, blank_nlp, fit, caplog):
    """An untrained one finds nothing where a label has to outscore all words."""
    nlp = blank_nlp(bert, model={"rivals": "vocabulary"})
    with caplog.at_level(logging.WARNING, logger="spacy.entlm"):
        fit(nlp, epochs=1, learn_rate=1e-9)
    (record,) = caplog.records
    assert "no entity is found in the training examples" in record.getMessage()
    assert "1e-09" in record.getMessage()


def test_learning_something_ends_without_a_warning(nlp, fit, caplog):
    with caplog.at_level(logging.WARNING, logger="spacy.entlm"):
        fit(nlp)
    assert caplog.records == []


def test_trained_pipeline_goes_on(trained, annotated):
    history = spacy_entlm.train(trained, annotated, epochs=1, learn_rate=1e-4)
    assert history[NAME][0] < 1.0


def test_new_classes_of_a_trained_pipeline_are_added(trained, annotated, entities):
    text, spans = "Anna has a red house .", [(0, 4, "PER"), (11, 14, "COLOR")]
    data = [*annotated, (text, {"entities": spans})]
    words = {"COLOR": ["red", "green"], "PER": ["ignored"]}
    spacy_entlm.train(trained, data, label_words=words, learn_rate=5e-3, epochs=30)
    assert trained.get_pipe(NAME).labels == ("PER", "LOC", "ORG", "COLOR")
    assert entities(trained(text)) == spans


def test_new_class_without_label_words_is_named(trained):
    data = [("Anna", {"entities": [(0, 4, "GHOST")]})]
    with pytest.raises(ValueError, match="'GHOST'"):
        spacy_entlm.train(trained, data, epochs=1)


def test_other_components_are_left_alone(nlp, annotated, label_words):
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("textcat")  # would fail if it were updated: it has no labels
    spacy_entlm.train(nlp, annotated, label_words=label_words, epochs=1)
    assert nlp.pipe_names == [NAME, "sentencizer", "textcat"]


def test_two_components_are_trained_together(nlp, bert, annotated, label_words):
    nlp.add_pipe(NAME, name="other", config={"model": {"name": str(bert)}})
    history = spacy_entlm.train(nlp, annotated, label_words=label_words, epochs=2)
    assert set(history) == {NAME, "other"}
    assert all(losses[1] < losses[0] for losses in history.values())


def test_number_of_steps_and_rates_are_those_of_the_recipe(
    nlp, annotated, label_words, monkeypatch
):
    rates = []
    update = type(nlp).update

    def note_rate(self, batch, *, sgd, **settings):
        rates.append(float(sgd.learn_rate))
        return update(self, batch, sgd=sgd, **settings)

    monkeypatch.setattr(type(nlp), "update", note_rate)
    settings = {"epochs": 2, "batch_size": 4, "learn_rate": 1e-3}
    spacy_entlm.train(nlp, annotated, label_words=label_words, **settings)
    n_steps = 2 * math.ceil(len(annotated) / 4)
    expected = [1e-3 * (1 - step / n_steps) for step in range(n_steps)]
    assert rates == pytest.approx(expected)


@pytest.mark.parametrize("n_copies, n_epochs", [(1, 60), (2, 30), (4, 20)])
def test_few_examples_are_passed_more_often(
    nlp, annotated, label_words, monkeypatch, n_copies, n_epochs
):
    def no_update(self, batch, *, losses, **_):
        losses[NAME] = losses.get(NAME, 0.0)

    monkeypatch.setattr(type(nlp), "update", no_update)
    data = annotated[:4] * n_copies
    history = spacy_entlm.train(nlp, data, label_words=label_words)
    assert len(history[NAME]) == n_epochs


def test_missing_annotation_is_kept_missing(nlp, label_words):
    """A Doc on which nothing is annotated teaches nothing."""
    text = "Anna lives in Rome"
    doc = nlp.make_doc(text)
    doc.set_ents([Span(doc, 0, 1, "PER")], missing=[doc[1:4]])
    blank = Doc(nlp.vocab, words=["Rome"])
    words = {"PER": label_words["PER"]}
    history = spacy_entlm.train(nlp, [doc, blank], label_words=words, epochs=1)
    assert history[NAME][0] > 0
    with pytest.raises(LabelWordError):
        spacy_entlm.train(spacy.blank("en"), [blank])


def test_a_sentencizer_annotates_for_a_span_getter(bert, blank_nlp, annotated):
    spans = {"@span_getters": "spacy-transformers.sent_spans.v1"}
    nlp = blank_nlp(bert, model={"get_spans": spans})
    nlp.add_pipe("sentencizer", first=True)
    losses = spacy_entlm.train(nlp, annotated, epochs=1, annotates=["sentencizer"])
    assert losses["entlm_ner"][0] > 0


@pytest.mark.parametrize("factory", ["bert_tagger", "nnshot"])
def test_the_peers_are_trained_by_the_same_recipe(bert, annotated, factory):
    nlp = spacy.blank("xx")
    nlp.add_pipe(factory, config={"model": {"name": str(bert)}})
    losses = spacy_entlm.train(nlp, annotated, epochs=3, learn_rate=1e-2)
    assert nlp.pipe_names == [factory]
    assert losses[factory][-1] < losses[factory][0]
