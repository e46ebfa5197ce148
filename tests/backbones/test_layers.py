"""The setting `layers`: the first layers of a backbone are used."""

import pytest
import spacy
import torch

from spacy_entlm.backbones.compact import COMPACT_FILE
from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.loading import load_masked_lm

NAME = "entlm_ner"
IDS = torch.tensor([[0, 7, 8, 9, 2]])
MASK = torch.ones_like(IDS)


@torch.no_grad()
def test_the_first_layers_are_used(backbone):
    whole, cut = load_masked_lm(backbone).eval(), load_masked_lm(backbone, layers=1)
    assert cut.body.config.num_hidden_layers == 1
    weights = whole.state_dict()
    for name, tensor in cut.state_dict().items():
        assert torch.equal(tensor, weights[name]), name
    encoder = whole.body.base_model
    states = encoder(IDS, attention_mask=MASK, output_hidden_states=True).hidden_states
    assert len(states) == 3  # of two layers, and before them
    expected = getattr(encoder, "final_norm", torch.nn.Identity())(states[1])
    torch.testing.assert_close(cut.eval().hidden(IDS, MASK), expected)
    assert not torch.allclose(whole.hidden(IDS, MASK), expected, atol=1e-3)


def test_all_of_them_are_all(bert):
    whole, same = load_masked_lm(bert), load_masked_lm(bert, layers=2)
    assert same.state_dict().keys() == whole.state_dict().keys()


def test_more_than_there_are_are_refused(bert, tmp_path):
    with pytest.raises(BackboneError, match=r"layers = 3: the backbone has 2\."):
        load_masked_lm(bert, layers=3)
    load_masked_lm(bert, layers=1).save(tmp_path, compact=True)
    with pytest.raises(BackboneError, match=r"layers = 2: the backbone has 1\."):
        load_masked_lm(tmp_path, layers=2)


@pytest.mark.parametrize("layers", [0, -1])
def test_a_number_that_is_none_is_refused(bert, blank_nlp, layers):
    with pytest.raises(ValueError, match=f"layers is at least 1, not {layers}"):
        blank_nlp(bert, model={"layers": layers})


def layers_of(nlp):
    return len(nlp.get_pipe(NAME).network.masked_lm.body.bert.encoder.layer)


def test_a_pipeline_is_saved_with_the_layers_that_it_has(
    bert, start_nlp, texts, tmp_path
):
    sizes = []
    for layers in (None, 1):
        nlp = start_nlp(bert, model={"layers": layers})
        nlp.to_disk(tmp_path)
        sizes.append((tmp_path / NAME / "model" / COMPACT_FILE).stat().st_size)
    assert layers_of(nlp) == 1
    assert sizes[1] < sizes[0]
    docs = [nlp.make_doc(text) for text in texts]
    expected = nlp.get_pipe(NAME).model.predict(docs)
    for config in ({}, {f"components.{NAME}.model.layers": None}):
        loaded = spacy.load(tmp_path, config=config)
        assert layers_of(loaded) == 1
        found = loaded.get_pipe(NAME).model.predict(docs)
        assert found.probs.tobytes() == expected.probs.tobytes()


def test_fewer_layers_of_a_trained_pipeline_may_be_used(trained_folder):
    config = {f"components.{NAME}.model.layers": 1}
    nlp = spacy.load(trained_folder, config=config)
    assert layers_of(nlp) == 1
    assert layers_of(spacy.load(trained_folder)) == 2
    nlp("Anna left Rome .")
