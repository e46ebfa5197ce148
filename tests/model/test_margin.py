"""Labels that start from their names have to win by a margin in training."""

import numpy
import pytest
import spacy
import torch
from thinc.api import fix_random_seed

from spacy_entlm.backbones.name_map import NameMap
from spacy_entlm.backbones.recommended import NAME_MAP_FILE
from spacy_entlm.backbones.suitable import LABEL_MARGIN

NAME = "entlm_ner"


@pytest.fixture
def reading(trained_folder, tmp_path):
    """A trained pipeline, and the same one with a map from names to rows."""
    spacy.load(trained_folder).to_disk(tmp_path)
    NameMap(32).save(tmp_path / NAME / "model")
    return tmp_path


def loss_of(nlp, make_examples):
    pipe = nlp.get_pipe(NAME)
    examples = make_examples(nlp)
    fix_random_seed(0)  # the same dropout each time
    scores, _ = pipe.model.begin_update([eg.predicted for eg in examples])
    return pipe.get_loss(examples, scores)[0]


def test_only_labels_of_a_backbone_that_reads_names_have_one(reading, make_examples):
    losses = []
    for has_map in (True, False):
        if not has_map:
            (reading / NAME / "model" / NAME_MAP_FILE).unlink()
        nlp = spacy.load(reading)
        losses.append(loss_of(nlp, make_examples))
        with torch.no_grad():
            for bias in nlp.get_pipe(NAME).network.biases:
                bias += LABEL_MARGIN
        losses.append(loss_of(nlp, make_examples))
    with_margin, raised, without, _ = losses
    assert with_margin > without
    # Labels that score more by the margin lose as much as they did without it.
    assert raised == pytest.approx(without, rel=1e-4)


def test_predictions_have_no_margin(reading, trained_folder):
    docs = [
        spacy.load(each)("Anna Smith lives in Berlin .")
        for each in (trained_folder, reading)
    ]
    one, other = (doc.spans[NAME].attrs["scores"] for doc in docs)
    numpy.testing.assert_array_equal(one, other)
