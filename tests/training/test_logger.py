"""The logger's last look at a training."""

import io
import logging

from spacy_entlm.training import logger as logger_module
from spacy_entlm.training.logger import build_training_logger


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
