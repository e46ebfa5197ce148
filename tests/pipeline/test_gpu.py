"""Training and prediction on a CUDA device; its pipelines on a CPU, and back."""

import os
import subprocess
import sys

import numpy
import pytest
import spacy
import torch
from thinc.api import prefer_gpu, require_cpu

NAME = "entlm_ner"


def has_gpu():
    try:
        import cupy
    except ImportError:
        return False
    return torch.cuda.is_available() and cupy.cuda.runtime.getDeviceCount() > 0


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not has_gpu(), reason="needs cupy and a CUDA device"),
]


@pytest.fixture
def gpu():
    """All that a test makes is on the device; afterwards the CPU is active again."""
    assert prefer_gpu()
    yield
    require_cpu()


def network_of(nlp):
    return nlp.get_pipe(NAME).network


def scores_of(nlp, texts):
    return [doc.spans[NAME].attrs["scores"] for doc in nlp.pipe(texts)]


@pytest.mark.parametrize("mixed_precision", [False, True])
def test_trained_on_gpu_predicts_the_same_on_cpu(
    gpu, backbone, blank_nlp, fit, annotated, entities, tmp_path, mixed_precision
):
    texts = [text for text, _ in annotated]
    nlp = blank_nlp(backbone, model={"mixed_precision": mixed_precision})
    fit(nlp)
    assert network_of(nlp).device.type == "cuda"
    on_gpu = [entities(doc) for doc in nlp.pipe(texts)]
    learned = [annotation["entities"] for _, annotation in annotated]
    # Half precision learns a tiny ALBERT a little less well.
    wrong = sum(found != gold for found, gold in zip(on_gpu, learned))
    assert wrong <= (2 if mixed_precision else 0)
    scores = scores_of(nlp, texts)
    nlp.to_disk(tmp_path)

    require_cpu()
    loaded = spacy.load(tmp_path)
    assert network_of(loaded).device.type == "cpu"
    assert [entities(doc) for doc in loaded.pipe(texts)] == on_gpu
    for ours, theirs in zip(scores, scores_of(loaded, texts)):
        assert isinstance(ours, numpy.ndarray)
        numpy.testing.assert_allclose(theirs, ours, atol=1e-3)


def test_trained_on_cpu_predicts_the_same_on_gpu(
    trained_folder, annotated, entities, gpu
):
    nlp = spacy.load(trained_folder)
    assert network_of(nlp).device.type == "cuda"
    for text, annotation in annotated:
        assert entities(nlp(text)) == annotation["entities"]


def test_labels_and_confidences_come_to_the_host_once(gpu, trained_folder, texts):
    import cupy

    nlp = spacy.load(trained_folder)
    pipe = nlp.get_pipe(NAME)
    docs = [nlp.make_doc(text) for text in texts]
    scores = pipe.score_docs(docs)
    assert isinstance(scores.probs, cupy.ndarray)
    assert isinstance(scores.outside, cupy.ndarray)
    found = pipe.decoder(scores, docs)
    assert isinstance(found[0].confidences, numpy.ndarray)


def test_adam_steps_on_the_device(gpu, bert, start_nlp, make_examples):
    import cupy

    nlp = start_nlp(bert)
    seen = set()

    def optimizer(key, weights, gradient, **_):
        seen.add((type(weights), type(gradient)))
        return weights, gradient

    nlp.get_pipe(NAME).update(make_examples(nlp), sgd=optimizer)
    assert seen == {(cupy.ndarray, cupy.ndarray)}
    assert {p.device.type for p in network_of(nlp).parameters()} == {"cuda"}


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_half_precision_finds_the_same(
    gpu, trained_folder, annotated, entities, precision
):
    config = {"components": {NAME: {"model": {"precision": precision}}}}
    nlp = spacy.load(trained_folder, config=config)
    for text, annotation in annotated:
        assert entities(nlp(text)) == annotation["entities"]


def test_pipeline_of_a_gpu_loads_where_there_is_none(
    gpu, bert, start_nlp, tmp_path, texts
):
    start_nlp(bert).to_disk(tmp_path)
    code = f"import spacy; print(len(spacy.load({str(tmp_path)!r})({texts[0]!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split()[-1] == "6"
