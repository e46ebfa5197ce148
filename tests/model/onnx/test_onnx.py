"""A pipeline on ONNX Runtime finds what it found on PyTorch."""

import copy
import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy
import onnxruntime
import pytest
import spacy
import torch
from spacy.util import load_model_from_config

import spacy_entlm
from spacy_entlm.model.network import EntLMNetwork
from spacy_entlm.model.onnx.graph import Graph
from spacy_entlm.model.onnx.network import OnnxNetwork
from spacy_entlm.model.onnx.quantize import quantized

NAME = "entlm_ner"
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}
MORE_TEXTS = ["", " ", "\n\n", "Peter", "Rome , Rome and Rome"]


def found_in(nlp, texts, **settings):
    return [
        [(e.start, e.end, e.label_) for e in doc.ents]
        for doc in nlp.pipe(texts, **settings)
    ]


def confidences(nlp, texts):
    groups = [doc.spans[NAME].attrs["scores"] for doc in nlp.pipe(texts)]
    return numpy.concatenate(groups)


def scores_of(nlp, texts):
    return nlp.get_pipe(NAME).model.predict([nlp.make_doc(text) for text in texts])


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
    assert one.lengths == other.lengths
    assert numpy.allclose(one.probs, other.probs, atol=1e-4)
    assert numpy.allclose(one.outside, other.outside, atol=1e-4)


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


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("n_labels", [0, 3])
def test_scores_of_arrays_are_those_of_tensors(biases, n_labels):
    rng = numpy.random.default_rng(1)
    weight = rng.normal(size=(300 + n_labels, 8)).astype("float32")
    bias = rng.normal(size=300 + n_labels).astype("float32")
    decoder = torch.nn.Linear(8, 300, bias=biases)
    decoder.weight.data = torch.from_numpy(weight[:300])
    if biases:
        decoder.bias.data = torch.from_numpy(bias[:300])
    network = EntLMNetwork(SimpleNamespace(decoder=decoder))
    for i in range(300, 300 + n_labels):
        network.add_row(str(i), *map(torch.from_numpy, (weight[i], bias[i : i + 1])))
    exported = OnnxNetwork(
        encoder=None,
        pieces=None,
        label_words={label: [] for label in network.labels},
        rows=weight[300:],
        biases=bias[300:],
        vocabulary=weight[:300],
        vocabulary_biases=bias[:300] if biases else None,
        embeddings=weight[:300],
    )
    features = rng.normal(size=(60, 8)).astype("float32")
    for n in (60, 0):
        ids = rng.integers(0, 300, n)
        expected = network.word_scores(torch.from_numpy(features[:n]), ids)
        found = exported.word_scores(features[:n], ids)
        for array, tensor in zip(found, expected):
            assert array.shape == tuple(tensor.shape)
            assert numpy.allclose(array, tensor.numpy(), atol=1e-5)


def graph_of(nodes, weights, width):
    """A graph from "x", float32 (n, width), to "out"."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["row", columns])
        for name, columns in (("x", width), ("out", None))
    ]
    tensors = [onnx.numpy_helper.from_array(x, name) for name, x in weights.items()]
    made = [helper.make_node(*node) for node in nodes]
    graph = helper.make_graph(made, "graph", ends[:1], ends[1:], tensors)
    opsets = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return model.SerializeToString()


@pytest.mark.parametrize("width, n_columns", [(3, 1), (33, 700), (256, 3000)])
def test_int8_is_the_same_with_slower_products_that_never_overflow(width, n_columns):
    """Some processors add up two products in 16 bits, unless they are told not to."""
    rng = numpy.random.default_rng(1)
    weight = rng.standard_t(3, size=(width, n_columns)).astype("float32")
    nodes = [("MatMul", ["x", "weight"], ["out"], "product")]
    content = quantized(graph_of(nodes, {"weight": weight}, width))
    x = rng.normal(size=(50, width)).astype("float32")
    x[0] = 1
    found = []
    for is_slow in ("0", "1"):
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.x64quantprecision", is_slow)
        session = onnxruntime.InferenceSession(content, options)
        found.append(session.run(None, {"x": x})[0])
    assert numpy.array_equal(*found)
    exact = x @ weight
    error = numpy.linalg.norm(found[0] - exact) / numpy.linalg.norm(exact)
    assert 0 < error < 0.05


def test_a_weight_may_be_shared_and_products_follow_each_other():
    """Some backbones use a layer several times, and some have no biases."""
    rng = numpy.random.default_rng(1)
    x, weight = rng.normal(size=(2, 16, 16)).astype("float32") / 4
    nodes = [
        ("MatMul", ["x", "weight"], ["y"], "first"),
        ("MatMul", ["y", "weight"], ["z"], "second"),
        ("Add", ["z", "weight"], ["out"], "last"),
    ]
    (found,) = Graph(quantized(graph_of(nodes, {"weight": weight}, 16)))(x=x)
    assert 0 < numpy.abs(found - (x @ weight @ weight + weight)).max() < 0.05


def test_input_embeddings_of_their_own(trained, tmp_path, texts):
    lm = trained.get_pipe(NAME).network.masked_lm.body
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
    assert len(model.predict([exported.make_doc(texts[0])]).probs)


def test_no_weights_of_pytorch_are_inside(exported_folder):
    names = {path.name for path in (exported_folder / NAME / "model").iterdir()}
    assert names == {
        "export.json",
        "encoder.onnx",
        "label_words.json",
        "rows.safetensors",
        "tokenizer.json",
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
