"""Plain text: the backbone reads it before it is trained on the examples."""

import pytest
import spacy
import torch
from spacy.tokens import Doc

import spacy_entlm
from spacy_entlm.training import adaptation, recipe, several
from spacy_entlm.training.adaptation import adapt_network, draw_texts
from spacy_entlm.training.several import average_trained

NAME = "entlm_ner"
TEXTS = [
    f"{who} left {place} ."
    for who in ("Anna", "John", "Mary", "Peter")
    for place in ("Berlin", "Paris", "London", "Rome")
]


@pytest.fixture
def nlp(bert, blank_nlp):
    return blank_nlp(bert)


@pytest.fixture
def shift(monkeypatch):
    """In place of reading 1 is added to each weight. What was read is in `shift`."""
    seen = []

    @torch.no_grad()
    def read(masked_lm, texts, seed):
        seen.append((list(texts), seed))
        for parameter in masked_lm.parameters():
            parameter.add_(1.0)

    monkeypatch.setattr(adaptation, "guess_hidden", read)
    return seen


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def test_examples_are_learned_after_the_text(
    nlp, fit, entities, weights_of, blank_nlp, bert
):
    history = fit(nlp, unlabeled=TEXTS)
    assert len(history[NAME]) == 30  # of the first training
    assert entities(nlp("Mary left Rome ."))[1:] == [(10, 14, "LOC")]
    plain = blank_nlp(bert)
    fit(plain, trainings=3)
    assert not same(weights_of(nlp), weights_of(plain))


def test_half_of_the_weights_are_those_that_read(trained, shift, weights_of):
    network = trained.get_pipe(NAME).network
    before = weights_of(trained)
    adapt_network(network, TEXTS, 4)
    assert shift == [(TEXTS, 4)]
    for name, tensor in weights_of(trained).items():
        added = 0.5 if name.startswith("masked_lm.") else 0.0
        if tensor.is_floating_point():
            torch.testing.assert_close(tensor, before[name] + added, msg=name)


def test_three_trainings_begin_there_and_one_if_so_wanted(
    bert, blank_nlp, fit, shift, monkeypatch, weights_of
):
    begun = []
    for module in (recipe, several):

        def note(nlp, *args, original=module.fit):
            begun.append(weights_of(nlp))
            return original(nlp, *args)

        monkeypatch.setattr(module, "fit", note)
    fit(blank_nlp(bert), unlabeled=TEXTS)
    assert len(begun) == 3 and same(begun[0], begun[1]) and same(begun[0], begun[2])
    fit(blank_nlp(bert), unlabeled=TEXTS, trainings=1)
    assert len(begun) == 4 and same(begun[0], begun[3])


def test_text_and_a_seed_repeat(bert, blank_nlp, fit, weights_of):
    runs = []
    for _ in range(2):
        nlp = blank_nlp(bert)
        fit(nlp, unlabeled=TEXTS, seed=3)
        runs.append(weights_of(nlp))
    assert same(*runs)


def test_a_loaded_pipeline_is_trained_anew(
    bert, blank_nlp, fit, make_examples, weights_of
):
    """With what `train` gives from the same text."""
    nlp, other = blank_nlp(bert), blank_nlp(bert)
    texts = draw_texts(TEXTS, seed=2)
    fit(nlp, unlabeled=TEXTS, seed=2, epochs=20, learn_rate=0.01)
    fit(other, seed=7)
    examples = make_examples(other)
    average_trained(other, examples, trainings=3, texts=texts, learn_rate=0.01, seed=2)
    assert same(weights_of(nlp), weights_of(other))


@pytest.mark.parametrize("call", [1, 2, 3])
def test_what_is_interrupted_leaves_the_pipeline(
    trained, make_examples, monkeypatch, call, weights_of
):
    """While the backbone reads, and in two of the trainings."""
    before, calls = weights_of(trained), []
    for module, name in ((adaptation, "guess_hidden"), (several, "fit")):

        def stop(*args, original=getattr(module, name)):
            calls.append(original(*args))
            if len(calls) == call:
                raise KeyboardInterrupt

        monkeypatch.setattr(module, name, stop)
    with pytest.raises(KeyboardInterrupt):
        average_trained(trained, make_examples(trained), trainings=3, texts=TEXTS)
    assert same(weights_of(trained), before)


def test_a_loaded_pipeline_without_its_backbone_says_so(
    trained, trained_folder, make_examples, weights_of
):
    before = weights_of(trained)
    config = {f"components.{NAME}.model.name": "nowhere/to-be-found"}
    nlp = spacy.load(trained_folder, config=config)
    with pytest.raises(ValueError, match="nowhere/to-be-found"):
        average_trained(nlp, make_examples(nlp), trainings=3, texts=TEXTS)
    assert same(weights_of(nlp), before)


@pytest.mark.parametrize("factories", [["bert_tagger"], [NAME, NAME]])
def test_one_component_is_wanted(bert, annotated, factories):
    nlp = spacy.blank("xx")
    for i, factory in enumerate(factories):
        nlp.add_pipe(factory, name=f"{i}", config={"model": {"name": str(bert)}})
    with pytest.raises(ValueError, match="one entlm_ner, and no peer; found 0"):
        spacy_entlm.train(nlp, annotated, unlabeled=TEXTS)


# Which texts are read


def test_a_text_counts_once_and_a_blank_one_not():
    doc = Doc(spacy.blank("xx").vocab, words=["Anna", "left"], spaces=[True, False])
    drawn = draw_texts(iter(["b", "  ", "b", "", "Anna left", doc]), seed=1)
    assert sorted(drawn) == ["Anna left", "b"]


def test_of_many_some_are_drawn_by_the_seed():
    one, again, other = (draw_texts(TEXTS, seed, 5) for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == 5 and set(one) < set(TEXTS)


@pytest.mark.parametrize(
    "texts, message",
    [
        ([], "no text to learn from"),
        (["", " "], "no text to learn from"),
        ("texts.txt", "a list of texts, not one: 'texts.txt'"),
    ],
)
def test_no_text_is_told_before_anything_is_trained(nlp, fit, texts, message):
    with pytest.raises(ValueError, match=message):
        fit(nlp, unlabeled=texts)
    assert not nlp.get_pipe(NAME).is_initialized
