"""What many steps of a training leave, and what they may not ask."""

import gc
import time

import pytest
import torch
from thinc.api import Adam

from spacy_entlm.training.adam import build_adam


def n_tensors():
    gc.collect()
    return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())


@pytest.mark.parametrize("make", [lambda: Adam(1e-6), lambda: build_adam(1e-6)])
def test_no_tensor_of_an_earlier_step_is_held(
    start_nlp, bert, make_examples, network_of, make
):
    """As one would be whose memory becomes the parameter's: it holds the one before."""
    nlp, optimizer = start_nlp(bert), make()
    examples = make_examples(nlp)[:2]
    n_parameters = len(list(network_of(nlp).parameters()))
    nlp.update(examples, sgd=optimizer)
    before = n_tensors()
    for _ in range(10):
        nlp.update(examples, sgd=optimizer)
    assert n_tensors() - before < n_parameters


def test_no_clock_chooses_the_number_format(
    start_nlp, bert, make_examples, monkeypatch
):
    """Two trainings on a busy machine would not be the same."""
    settings = {"precision": "bfloat16", "mixed_precision": True}
    nlp = start_nlp(bert, model=settings)
    examples = make_examples(nlp)

    def clock():
        pytest.fail("the time is asked for")

    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", clock)
        nlp.update(examples, sgd=Adam(1e-3))
        list(nlp.pipe(["Anna", "Rome"]))
