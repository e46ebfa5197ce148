"""Where graphs run: on the GPU that spaCy uses, if ONNX Runtime can."""

import logging
from types import SimpleNamespace

import onnxruntime
import pytest
import spacy

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


@pytest.fixture
def gpu(monkeypatch):
    """Operations are those of the second GPU, as `require_gpu(1)` leaves them."""
    device = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: SimpleNamespace(id=1)))
    ops = SimpleNamespace(device_type="gpu", xp=device)
    graph = "spacy_entlm.model.onnx.graph"
    monkeypatch.setattr(f"{graph}.get_current_ops", lambda: ops)


@pytest.fixture
def asked(monkeypatch):
    """The providers that sessions are started with; each runs on the CPU."""
    start, found = onnxruntime.InferenceSession, []

    def session(content, options, providers):
        found.append(providers)
        return start(content, options, providers=[CPU])

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    return found


def available(monkeypatch, names):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: names)


def test_on_a_cpu_nothing_else_is_asked_for(exported_folder, asked, monkeypatch):
    available(monkeypatch, [CUDA, CPU])
    spacy.load(exported_folder)
    assert asked == [[CPU]]


def test_the_gpu_that_spacy_uses_comes_first(exported_folder, gpu, asked, monkeypatch):
    available(monkeypatch, [CUDA, CPU])
    spacy.load(exported_folder)
    assert asked == [[(CUDA, {"device_id": 1, "use_tf32": 0}), CPU]]


def test_a_runtime_without_gpus_says_so_once(
    exported_folder, gpu, asked, monkeypatch, caplog
):
    available(monkeypatch, [CPU])
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        spacy.load(exported_folder)
    assert asked == [[CPU]]
    assert caplog.text.count("onnxruntime-gpu") == 1
