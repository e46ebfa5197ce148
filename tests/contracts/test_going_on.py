"""A trained component goes on to learn."""

import pytest
from thinc.api import Adam

from .test_component import examples_of, same, weights_of


def test_training_goes_on_and_rehearses(nlp, pipe, factory, annotated):
    optimizer = nlp.resume_training(sgd=Adam(1e-3))
    before = weights_of(pipe)
    losses = nlp.update(examples_of(nlp, annotated), sgd=optimizer)
    assert losses[pipe.name] > 0
    assert not same(weights_of(pipe), before)
    examples = examples_of(nlp, annotated)
    losses = nlp.rehearse(examples, sgd=optimizer)
    if factory == "entlm_ner":
        assert losses[pipe.name] > 0
        for sgd in (None, False):
            assert pipe.rehearse(examples, sgd=sgd)[pipe.name] > 0
    assert all(doc.has_annotation("ENT_IOB") for doc in nlp.pipe(["Anna", "Rome"]))


def test_rehearsal_wants_examples(pipe, factory):
    if factory == "entlm_ner":
        with pytest.raises(TypeError, match="E978"):
            pipe.rehearse(["no example"])


def test_classes_may_be_added_to_a_trained_component(pipe):
    assert pipe.is_resizable


@pytest.mark.parametrize("rate, is_told", [(0.1, True), (1e-3, False)])
def test_a_rate_that_makes_it_forget_is_told_once(
    nlp, pipe, annotated, caplog, rate, is_told
):
    for _ in range(2):
        nlp.update(examples_of(nlp, annotated), sgd=Adam(rate))
    told = [x.message for x in caplog.records if "learning rate" in x.message]
    assert len(told) == is_told
    assert all("rate is 0.1, where 0.001 suits" in text for text in told)
