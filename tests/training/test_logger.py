"""The logger's last look at a training."""

import io
import logging
from itertools import cycle

import pytest

from spacy_entlm.training import logger as logger_module
from spacy_entlm.training.logger import build_training_logger


@pytest.fixture
def last_look(trained, make_examples, monkeypatch):
    """Ends a training; gives what is written."""

    def end(examples=None, **training):
        trained.config["training"].update(training)
        monkeypatch.setattr(
            logger_module.check,
            "training_examples",
            lambda nlp: make_examples(nlp) if examples is None else examples,
        )
        stdout = io.StringIO()
        log, finalize = build_training_logger()(trained, stdout, io.StringIO())
        for _ in range(2):
            log(None)
        finalize()
        return stdout.getvalue()

    return end


def test_the_last_look_tells_of_classes_and_words(last_look):
    assert "classes, entities in the examples, label words" in last_look()


def test_a_stream_without_an_end_is_not_counted(last_look, trained, make_examples):
    endless = cycle(make_examples(trained))
    assert "label words" not in last_look(endless, max_epochs=-1)


def test_of_what_was_frozen_nothing_is_told(last_look):
    assert "label words" not in last_look(frozen_components=["entlm_ner"])


def test_a_last_look_that_fails_does_not_stop_the_saving(trained, monkeypatch, caplog):
    def fail(nlp):
        raise RuntimeError("no training examples here")

    monkeypatch.setattr(logger_module.check, "training_examples", fail)
    setup = build_training_logger(console_output=False)
    log, finalize = setup(trained, io.StringIO(), io.StringIO())
    for _ in range(2):
        log(None)
    with caplog.at_level(logging.WARNING, logger="spacy.entlm"):
        finalize()
    assert "no training examples here" in caplog.text
