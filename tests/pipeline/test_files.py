"""Pipelines on disk and as bytes: what is stored, and what comes back."""

import contextlib
import copy
import shutil
import socket

import pytest
import spacy
import torch
from spacy.util import load_model_from_config

from spacy_entlm.decoding.transitions import TransitionCounts
from spacy_entlm.decoding.viterbi import ViterbiDecoder
from spacy_entlm.files import tensors
from spacy_entlm.files.errors import DataError
from spacy_entlm.model.layer import network_of
from spacy_entlm.pipeline.calibration import Calibration

NAME = "entlm_ner"


def predictions(nlp, texts):
    found = []
    for doc in nlp.pipe(texts):
        spans = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        found.append((spans, doc.spans[NAME].attrs["scores"].tolist()))
    return found


def files_in(folder):
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def fitted(family, trained_folder_of):
    """A trained pipeline of each family: a test may not change it."""
    return spacy.load(trained_folder_of(family))


def test_pipeline_from_disk_predicts_the_same(fitted, texts, tmp_path):
    fitted.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.get_pipe(NAME).label_data == fitted.get_pipe(NAME).label_data
    assert predictions(loaded, texts) == predictions(fitted, texts)


def test_pipeline_from_bytes_predicts_the_same(fitted, texts):
    loaded = load_model_from_config(fitted.config).from_bytes(fitted.to_bytes())
    assert predictions(loaded, texts) == predictions(fitted, texts)


def test_saving_does_not_change_predictions(fitted, texts, tmp_path):
    before = predictions(fitted, texts)
    fitted.to_disk(tmp_path)
    fitted.to_bytes()
    assert predictions(fitted, texts) == before


def test_weights_are_stored_once(fitted, tmp_path):
    fitted.to_disk(tmp_path)
    network = fitted.get_pipe(NAME).network
    # Shared tensors (the tied output matrix) are one parameter. A training ends with
    # half precision (training/weights.py).
    n_bytes = 2 * sum(parameter.numel() for parameter in network.parameters())
    sizes = [size for name, size in files_in(tmp_path).items() if "safetensors" in name]
    assert n_bytes <= sum(sizes) < n_bytes + 20_000
    assert len(fitted.to_bytes()) < sum(files_in(tmp_path).values()) + 100_000


def test_saved_files_are_safetensors_and_text(fitted, tmp_path):
    fitted.to_disk(tmp_path)
    for name in files_in(tmp_path / NAME / "model"):
        assert name.endswith((".safetensors", ".json", ".txt"))
    assert set(files_in(tmp_path / NAME)) >= {
        "cfg",
        "decoder",
        "model/config.json",
        "model/label_rows.safetensors",
        "model/label_words.json",
        "model/compact.safetensors",
        "model/tokenizer.json",
    }
    for path in (tmp_path / NAME).rglob("*"):
        # Protocol 2 and later of pickle, and zip archives (torch.save).
        assert path.is_dir() or path.read_bytes()[:2] not in (b"\x80\x04", b"PK")


def test_files_can_be_read_by_others_as_the_umask_says(fitted, tmp_path):
    fitted.to_disk(tmp_path)
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    modes = {p.stat().st_mode for p in (tmp_path / NAME).rglob("*") if p.is_file()}
    assert modes == {plain.stat().st_mode}


def test_saving_twice_gives_the_same_bytes(trained, tmp_path):
    for name in ("first", "second"):
        trained.to_disk(tmp_path / name)
    for name in files_in(tmp_path / "first" / NAME):
        first, second = (tmp_path / each / NAME / name for each in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


def test_loading_needs_neither_backbone_nor_network(
    bert, blank_nlp, fit, texts, tmp_path, monkeypatch
):
    backbone = shutil.copytree(bert, tmp_path / "backbone")
    nlp = blank_nlp(backbone)
    fit(nlp, epochs=5)
    nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    shutil.rmtree(backbone)

    def refuse(*args, **kwargs):
        raise AssertionError("The network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    expected = predictions(nlp, texts)
    assert predictions(spacy.load(tmp_path / "pipeline"), texts) == expected
    from_bytes = load_model_from_config(nlp.config).from_bytes(data)
    assert predictions(from_bytes, texts) == expected


def test_pipeline_that_was_never_initialised_is_saved_and_loaded(
    bert, blank_nlp, make_examples, tmp_path
):
    nlp = blank_nlp(bert)
    nlp.get_pipe(NAME).add_label("PER", ["John"])
    nlp.to_disk(tmp_path)
    from_bytes = load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    for loaded in (spacy.load(tmp_path), from_bytes):
        pipe = loaded.get_pipe(NAME)
        assert pipe.label_data == {"PER": ["John"]}
        assert not pipe.is_initialized
        loaded.initialize(lambda examples=make_examples(loaded): examples)
        assert pipe.label_data["PER"] == ["John"]
        assert pipe.is_initialized


def test_pipeline_can_be_saved_over_itself(trained, texts, tmp_path):
    trained.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    loaded.to_disk(tmp_path)
    assert predictions(spacy.load(tmp_path), texts) == predictions(trained, texts)
    assert not list(tmp_path.rglob(".*"))


@pytest.fixture
def full_disk(monkeypatch):
    """A context in which weights cannot be written."""

    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    @contextlib.contextmanager
    def context():
        with monkeypatch.context() as patch:
            patch.setattr(tensors, "save", fail)
            with pytest.raises(OSError, match="No space left"):
                yield

    return context


def test_failed_save_leaves_the_old_pipeline(trained, texts, tmp_path, full_disk):
    trained.to_disk(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
    expected = predictions(trained, texts)
    pipe = trained.get_pipe(NAME)
    pipe.add_label("COLOR", ["red"])
    decoder, pipe.decoder = pipe.decoder, ViterbiDecoder()
    pipe.decoder.counts = TransitionCounts(start_inside=1)
    with full_disk():
        trained.to_disk(tmp_path)
    component = {name for name in before if name.startswith(NAME)}
    assert set(files_in(tmp_path / NAME)) == {n[len(NAME) + 1 :] for n in component}
    assert all((tmp_path / name).read_bytes() == before[name] for name in component)
    assert not list(tmp_path.rglob(".*"))
    assert predictions(spacy.load(tmp_path), texts) == expected
    # What could not be saved still works.
    pipe.decoder = decoder
    assert [ent.text for ent in trained(texts[0]).ents] == ["Anna Smith", "Berlin"]


def test_failed_first_save_leaves_no_file(trained, tmp_path, full_disk):
    with full_disk():
        trained.get_pipe(NAME).to_disk(tmp_path / "component")
    assert files_in(tmp_path) == {}


def test_component_is_saved_and_loaded_without_a_pipeline(
    trained, bert, blank_nlp, texts, tmp_path
):
    trained.get_pipe(NAME).to_disk(tmp_path / "component")
    nlp = blank_nlp(bert)
    nlp.get_pipe(NAME).from_disk(tmp_path / "component")
    assert predictions(nlp, texts) == predictions(trained, texts)


def test_parts_can_be_left_out(trained, tmp_path):
    trained.get_pipe(NAME).to_disk(tmp_path / "component", exclude=["model"])
    assert set(files_in(tmp_path / "component")) == {
        "calibration",
        "cfg",
        "decoder",
        "files.json",
    }


def test_a_pipeline_that_was_saved_without_the_component_says_how_to_load_it(
    trained, tmp_path
):
    trained.to_disk(tmp_path, exclude=[NAME])
    with pytest.raises(DataError, match=r"saved without .* exclude=\['entlm_ner'\]"):
        spacy.load(tmp_path)
    assert spacy.load(tmp_path, exclude=[NAME]).pipe_names == []


def test_loaded_pipeline_learns_on(trained_folder, make_examples):
    nlp = spacy.load(trained_folder)
    network = nlp.get_pipe(NAME).network
    row = network.rows[0].detach().clone()
    nlp.update(make_examples(nlp), sgd=nlp.resume_training())
    assert not torch.equal(network.rows[0], row)


def test_copied_component_is_its_own(trained, make_examples):
    pipe = trained.get_pipe(NAME)
    model = copy.deepcopy(pipe.model)
    row = network_of(model).rows[0].detach().clone()
    trained.update(make_examples(trained), sgd=trained.resume_training())
    assert torch.equal(network_of(model).rows[0], row)


@pytest.mark.parametrize("part", ["model", "decoder", "calibration", "cfg"])
def test_parts_that_bytes_leave_out_stay_as_they_are(trained, texts, part):
    pipe = trained.get_pipe(NAME)
    pipe.calibration = Calibration(0.5, -1.0)
    expected = predictions(trained, texts)
    assert pipe.from_bytes(pipe.to_bytes(exclude=[part])) is pipe
    assert predictions(trained, texts) == expected


def test_a_component_without_weights_takes_the_place_of_one_that_has_some(
    trained, blank_nlp, bert, tmp_path
):
    untrained = blank_nlp(bert).get_pipe(NAME)
    untrained.add_label("OTHER", ["red"])
    pipe = trained.get_pipe(NAME)
    pipe.from_bytes(untrained.to_bytes())
    assert pipe.labels == ("OTHER",) and not pipe.is_initialized
    untrained.to_disk(tmp_path)
    assert pipe.from_disk(tmp_path).labels == ("OTHER",)
