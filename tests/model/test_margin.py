"""Labels of a backbone that knows classes have to win by a margin in training."""

import shutil

import numpy
import pytest
import spacy
import torch

from spacy_entlm.backbones.recommended import LABEL_ROWS_FILE
from spacy_entlm.model.entlm import LABEL_MARGIN

NAME = "entlm_ner"


@pytest.fixture
def knowing(trained_folder, tmp_path):
    """The component of a trained pipeline as a backbone: it knows its classes."""
    folder = tmp_path / "backbone"
    shutil.copytree(trained_folder / NAME / "model", folder)
    return folder


def loss_of(nlp, make_examples):
    pipe = nlp.get_pipe(NAME)
    examples = make_examples(nlp)
    torch.manual_seed(0)  # the same dropout each time
    pieces, _ = pipe.model.begin_update([eg.predicted for eg in examples])
    return pipe.get_loss(examples, pieces)[0]


def test_only_a_backbone_that_knows_classes_has_one(
    trained_folder, knowing, make_examples
):
    config = {"components": {NAME: {"model": {"name": str(knowing)}}}}
    losses = []
    for rows in (True, False):
        if not rows:
            (knowing / LABEL_ROWS_FILE).unlink()
        nlp = spacy.load(trained_folder, config=config)
        network = nlp.get_pipe(NAME).label_model.network
        losses.append(loss_of(nlp, make_examples))
        with torch.no_grad():
            for bias in network.head.biases:
                bias += LABEL_MARGIN
        losses.append(loss_of(nlp, make_examples))
    with_margin, raised, without, _ = losses
    assert with_margin > without
    # Labels that score more by the margin lose as much as they did without it.
    assert raised == pytest.approx(without, rel=1e-4)


def test_predictions_have_no_margin(trained_folder, knowing):
    config = {"components": {NAME: {"model": {"name": str(knowing)}}}}
    docs = [spacy.load(trained_folder)("Anna Smith lives in Berlin .")]
    docs.append(
        spacy.load(trained_folder, config=config)("Anna Smith lives in Berlin .")
    )
    one, other = (doc.spans[NAME].attrs["scores"] for doc in docs)
    numpy.testing.assert_array_equal(one, other)
