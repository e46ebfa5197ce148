"""Smaller files of a trained pipeline."""

import spacy
import torch
from spacy.util import registry

import spacy_entlm
from spacy_entlm.training.weights import round_weights

NAME = "entlm_ner"
WEIGHTS = ("entlm_ner", "model", "compact.safetensors")


def test_a_rounded_pipeline_is_half_as_large_and_loads_as_it_is(
    trained_folder, texts, tmp_path
):
    nlp = spacy.load(trained_folder)
    with torch.no_grad():  # as after a training: no form but float32 gives it back
        for parameter in nlp.get_pipe(NAME).network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=1e-3)
    nlp.to_disk(tmp_path / "full")
    assert registry.callbacks.get("spacy-entlm.round_weights.v1")()(nlp) is nlp
    nlp.to_disk(tmp_path / "rounded")
    full, rounded = (
        (tmp_path / folder).joinpath(*WEIGHTS).stat().st_size
        for folder in ("full", "rounded")
    )
    assert rounded < 0.6 * full
    loaded = spacy.load(tmp_path / "rounded")
    before = nlp.get_pipe(NAME).network.state_dict()
    after = loaded.get_pipe(NAME).network.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_frozen_and_exported_components_stay_as_they_are(trained_folder, tmp_path):
    round_pipeline = registry.callbacks.get("spacy-entlm.round_weights.v1")()
    nlp = spacy.load(trained_folder)
    parameter = nlp.get_pipe(NAME).network.rows[0]
    with torch.no_grad():
        parameter.add_(1e-6)
    before = parameter.detach().clone()
    nlp.config["training"]["frozen_components"] = [NAME]
    round_pipeline(nlp)
    assert torch.equal(parameter, before)
    exported = spacy_entlm.export(spacy.load(trained_folder), tmp_path, format="int8")
    assert round_pipeline(exported) is exported


def test_rounding_changes_less_than_half_precision_can_tell():
    layer = torch.nn.Linear(64, 64)
    before = layer.weight.detach().clone()
    round_weights(layer)
    assert not torch.equal(layer.weight, before)
    assert torch.allclose(layer.weight, before, rtol=2**-10, atol=1e-7)


def test_what_half_precision_cannot_hold_stays():
    layer = torch.nn.Linear(8, 1)
    with torch.no_grad():
        layer.weight[0, 0] = 1e6
    before = layer.weight.detach().clone()
    round_weights(layer)
    assert torch.equal(layer.weight, before)
