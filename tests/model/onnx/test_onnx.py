"""A pipeline on ONNX Runtime finds what it found on PyTorch."""

import copy
import os
import pickle
import subprocess
import sys

import numpy
import onnxruntime
import pytest
import spacy
import torch
from scipy.special import logsumexp
from spacy.util import load_model_from_config

import spacy_entlm
from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.label_words.rows import Rows
from spacy_entlm.model.label_scores import score_words as score_tensors
from spacy_entlm.model.onnx.graph import Graph
from spacy_entlm.model.onnx.quantize import quantized, quantized_rows
from spacy_entlm.model.onnx.rows import CLOSE, ArrayRows, Vocabulary
from spacy_entlm.model.onnx.scores import score_words
from spacy_entlm.model.onnx.steps import summing_graph

NAME = "entlm_ner"
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}
MORE_TEXTS = ["", " ", "\n\n", "Peter", "Rome , Rome and Rome"]


def vocabulary_of(rows, in_int8=False):
    int8 = Graph(quantized_rows(rows)) if in_int8 else None
    exact = Graph(summing_graph(rows.weight.shape[1]))
    return Vocabulary(rows.weight, rows.bias, exact, int8)


def found_in(nlp, texts, **settings):
    return [
        [(e.start, e.end, e.label_) for e in doc.ents]
        for doc in nlp.pipe(texts, **settings)
    ]


def confidences(nlp, texts):
    groups = [doc.spans[NAME].attrs["scores"] for doc in nlp.pipe(texts)]
    return numpy.concatenate(groups)


def scores_of(nlp, texts, need_probs=True):
    pipe = nlp.get_pipe(NAME)
    pipe.decoder = IODecoder()
    pipe.decoder.needs_probs = need_probs
    return pipe.score_words([nlp.make_doc(text) for text in texts])


def test_entities_and_scores_are_those_of_pytorch(
    family, trained_folder_of, exported_folder_of, texts
):
    texts = [*texts, *MORE_TEXTS]
    nlp = spacy.load(trained_folder_of(family))
    exported = spacy.load(exported_folder_of(family))
    assert found_in(exported, texts) == found_in(nlp, texts)
    assert exported.get_pipe(NAME).label_data == nlp.get_pipe(NAME).label_data
    difference = confidences(exported, texts) - confidences(nlp, texts)
    assert numpy.abs(difference).max() < 1e-4
    one, other = scores_of(nlp, texts), scores_of(exported, texts)
    assert numpy.array_equal(one.best, other.best)
    for name in ("confidence", "probs", "word_prob"):
        assert numpy.allclose(getattr(one, name), getattr(other, name), atol=1e-4)


def test_int8_still_knows_the_sentences(family, exported_folder_of, annotated):
    nlp = spacy.load(exported_folder_of(family, "int8"))
    docs = list(nlp.pipe(text for text, _ in annotated))
    found = [[(e.start_char, e.end_char, e.label_) for e in d.ents] for d in docs]
    assert found == [gold["entities"] for _, gold in annotated]


def test_int8_of_a_text_does_not_depend_on_its_neighbours(exported_folder_of, texts):
    nlp = spacy.load(exported_folder_of("bert", "int8"))
    alone = numpy.concatenate([confidences(nlp, [text]) for text in texts])
    assert numpy.allclose(confidences(nlp, texts), alone, atol=0.02)


@pytest.mark.parametrize("window", [6, None])
def test_long_texts_are_read_in_the_same_windows(
    trained_folder, exported_folder, window
):
    text = "Anna left Rome for Globex . " * 40
    config = {f"components.{NAME}.model.window": window}
    pipelines = [
        spacy.load(f, config=config) for f in (trained_folder, exported_folder)
    ]
    found = [found_in(nlp, [text]) for nlp in pipelines]
    assert found[0] == found[1]
    assert len(found[0][0]) > 40


@pytest.mark.parametrize("need_probs", [False, True])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("n_labels", [0, 3])
def test_scores_of_arrays_are_those_of_tensors(need_probs, biases, n_labels):
    rng = numpy.random.default_rng(1)

    def rows(n):
        bias = rng.normal(size=n).astype("float32") if biases else None
        return ArrayRows(rng.normal(size=(n, 8)).astype("float32"), bias)

    def as_tensors(array_rows):
        weight, bias = array_rows.weight, array_rows.bias
        bias = None if bias is None else torch.from_numpy(bias)
        return Rows(torch.from_numpy(weight), bias)

    vocabulary, labels = rows(3000), rows(n_labels)
    features = rng.normal(size=(600, 8)).astype("float32")
    ids, words = rng.integers(0, 3000, 600), rng.permutation(700)[:600]
    settings = {"label_bias": 1.5, "need_probs": need_probs, "probability_floor": 1e-4}
    rows_of_both = vocabulary_of(vocabulary), labels
    found = score_words(features, ids, words, 700, *rows_of_both, **settings)
    arrays = [torch.from_numpy(array) for array in (features, ids, words)]
    tensors = (as_tensors(vocabulary), as_tensors(labels))
    expected = score_tensors(*arrays, 700, *tensors, **settings)
    for array, tensor in zip(found, expected):
        assert (array is None) == (tensor is None)
        if array is not None:
            assert numpy.allclose(array, tensor.numpy(), atol=1e-5)


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("n_rows", [1, 5000])
def test_scores_are_summed_up_and_in_int8_close_calls_are_exact(biases, n_rows):
    rng = numpy.random.default_rng(1)
    bias = rng.normal(size=n_rows).astype("float32") if biases else None
    if biases:  # a part of the rows that nothing is
        bias[2048:4096] = -numpy.inf
    rows = ArrayRows(rng.normal(size=(n_rows, 32)).astype("float32"), bias)
    features = rng.normal(size=(300, 32)).astype("float32")
    features[7] = 0
    scores = rows.scores(features.astype("float64"))
    expected = scores.max(axis=1), logsumexp(scores, axis=1)
    exact, in_int8 = (vocabulary_of(rows, is_int8) for is_int8 in (False, True))
    rivals = expected[0].astype("float32")
    for wanted, one, other, far in zip(
        expected,
        exact.summarise(features, rivals + 10),
        in_int8.summarise(features, rivals),
        in_int8.summarise(features, rivals + 10),
    ):
        assert one.dtype == other.dtype == far.dtype == numpy.float32
        assert numpy.allclose(wanted, one, rtol=0, atol=1e-5)
        assert numpy.allclose(wanted, other, rtol=0, atol=1e-5)
        assert 1e-4 < numpy.abs(wanted - far).max() < CLOSE
    for each in (exact, in_int8):
        nothing = each.summarise(features[:0], rivals[:0])
        assert [len(part) for part in nothing] == [0, 0]


@pytest.mark.parametrize("n_rows, width", [(1, 3), (700, 33), (3000, 256)])
def test_int8_is_the_same_with_slower_products_that_never_overflow(n_rows, width):
    """Some processors add up two products in 16 bits, unless they are told not to."""
    rng = numpy.random.default_rng(1)
    weight = rng.standard_t(3, size=(n_rows, width)).astype("float32")
    content = quantized_rows(ArrayRows(weight, None))
    features = rng.normal(size=(50, width)).astype("float32")
    features[0] = 1
    found = []
    for is_slow in ("0", "1"):
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.x64quantprecision", is_slow)
        session = onnxruntime.InferenceSession(content, options)
        found.append(session.run(None, {"features": features}))
    for fast, slow in zip(*found):
        assert numpy.array_equal(fast, slow)


def test_a_weight_may_be_shared_and_products_follow_each_other():
    """Some backbones use a layer several times, and some have no biases."""
    onnx = pytest.importorskip("onnx")
    helper, rng = onnx.helper, numpy.random.default_rng(1)
    x, weight = rng.normal(size=(2, 16, 16)).astype("float32") / 4
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["y"], "first"),
        helper.make_node("MatMul", ["y", "weight"], ["z"], "second"),
        helper.make_node("Add", ["z", "weight"], ["out"], "last"),
    ]
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["row", 16])
        for name in ("x", "out")
    ]
    weights = [onnx.numpy_helper.from_array(weight, "weight")]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], weights)
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    (found,) = Graph(quantized(model.SerializeToString()))(x=x)
    assert 0 < numpy.abs(found - (x @ weight @ weight + weight)).max() < 0.05


def test_input_embeddings_of_their_own(trained, tmp_path, texts):
    lm = trained.get_pipe(NAME).label_model.network.masked_lm.body
    own = 1.1 * lm.get_input_embeddings().weight.detach()
    lm.get_input_embeddings().weight = torch.nn.Parameter(own)
    exported = spacy_entlm.export(trained, tmp_path / "out")
    one, other = scores_of(trained, texts), scores_of(exported, texts)
    assert numpy.allclose(one.probs, other.probs, atol=1e-4)


def test_disk_bytes_copies_and_pickles_give_the_same(exported, texts, tmp_path):
    expected = found_in(exported, texts)
    exported.to_disk(tmp_path)
    by_bytes = load_model_from_config(exported.config).from_bytes(exported.to_bytes())
    pipe = exported.get_pipe(NAME)
    for other in (pickle.loads(pickle.dumps(pipe)), copy.deepcopy(pipe)):
        docs = list(other.pipe(map(exported.make_doc, texts)))
        assert [[(e.start, e.end, e.label_) for e in d.ents] for d in docs] == expected
    for nlp in (spacy.load(tmp_path), by_bytes):
        assert found_in(nlp, texts) == expected
    model = pipe.model.copy().from_bytes(pipe.model.to_bytes())
    assert len(model.predict([exported.make_doc(texts[0])]).features)


def test_no_weights_of_pytorch_are_inside(exported_folder):
    names = {path.name for path in (exported_folder / NAME / "model").iterdir()}
    assert names == {
        "export.json",
        "encoder.onnx",
        "label_words.json",
        "rows.safetensors",
        "tokenizer.json",
        "vocabulary.onnx",
    }


@pytest.mark.parametrize("n_process", [1, 2])
def test_processes_give_the_same(exported, texts, n_process):
    expected = found_in(exported, texts)  # a session is running when workers begin
    found = found_in(exported, texts * 3, n_process=n_process, batch_size=2)
    assert found == expected * 3


WITHOUT_PYTORCH = """
import sys


class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "transformers", "spacy_transformers"}:
            raise ModuleNotFoundError(name, name=name)


sys.meta_path.insert(0, Nothing())
import importlib.metadata

every = importlib.metadata.distributions


def others(**params):
    return (dist for dist in every(**params) if dist.name != "spacy-transformers")


importlib.metadata.distributions = others
import spacy

nlp = spacy.load(sys.argv[1])
print([(ent.text, ent.label_) for ent in nlp(sys.argv[2]).ents])
"""


@pytest.mark.parametrize("format", ["float32", "int8"])
def test_prediction_needs_no_pytorch(exported_folder_of, annotated, format):
    text, gold = annotated[0]
    folder = exported_folder_of("bert", format)
    command = [sys.executable, "-c", WITHOUT_PYTORCH, str(folder), text]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    expected = [(text[begin:end], label) for begin, end, label in gold["entities"]]
    assert done.stdout.splitlines()[-1] == str(expected)


def test_nothing_is_told_to_the_makers_of_the_runtime(exported_folder, monkeypatch):
    told = []
    monkeypatch.setattr("onnxruntime.disable_telemetry_events", lambda: told.append(1))
    spacy.load(exported_folder)
    assert told


def test_decoder_settings_and_other_components_stay(trained, tmp_path, annotated):
    text, _ = annotated[0]
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    config = {"components": {NAME: {"threshold": 0.3, "decoder": VITERBI}}}
    nlp.add_pipe(NAME, source=trained)
    nlp.get_pipe(NAME).threshold = 0.3
    exported = spacy_entlm.export(nlp, tmp_path / "out")
    assert exported.pipe_names == ["sentencizer", NAME]
    assert found_in(exported, [text]) == found_in(nlp, [text])
    loaded = spacy.load(tmp_path / "out", config=config)
    assert loaded.get_pipe(NAME).threshold == 0.3
    assert exported.config["components"][NAME]["model"] == {
        "@architectures": "spacy-entlm.OnnxEntLM.v1",
        "get_spans": {"@misc": "spacy-entlm.doc_spans.v1"},
        "window": None,
        "stride": None,
        "max_batch_pieces": None,
    }
    assert any(r.startswith("onnxruntime") for r in exported.meta["requirements"])


def test_names_speak_in_an_exported_pipeline_as_before(trained_folder, texts, tmp_path):
    settings = {f"components.{NAME}.lexicon_weight": 1000.0}
    trained = spacy.load(trained_folder, config=settings)
    spacy_entlm.add_lexicon(trained, {"ORG": ["cat", "Anna Smith"], "LOC": ["lot"]})
    expected = found_in(trained, texts)
    exported = spacy_entlm.export(trained, tmp_path / "out")
    assert exported.pipe_names == ["entlm_lexicon", NAME]
    assert found_in(exported, texts) == expected
    exported.remove_pipe("entlm_lexicon")
    assert found_in(exported, texts) != expected
