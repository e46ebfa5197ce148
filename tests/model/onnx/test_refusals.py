"""What an exported pipeline refuses, and what export does."""

import hashlib
import json
import shutil
import sys

import numpy
import pytest
import spacy
from safetensors.numpy import load_file, save_file
from spacy.training import Example

import spacy_entlm

NAME = "entlm_ner"
ONLY_PREDICTS = "An exported pipeline only predicts"


@pytest.fixture
def folder(exported_folder, tmp_path):
    """A copy of an exported pipeline."""
    return shutil.copytree(exported_folder, tmp_path / "pipeline")


@pytest.fixture
def model(folder):
    """The folder of its model."""
    return folder / NAME / "model"


def refused(folder, message):
    with pytest.raises(ValueError, match=message) as caught:
        spacy.load(folder)
    assert str(folder / NAME) in str(caught.value)
    assert "\n" not in str(caught.value)


def note_hash(model):
    """Let export.json describe the graph that is there."""
    facts = json.loads((model / "export.json").read_text())
    content = (model / "encoder.onnx").read_bytes()
    facts["sha256"] = hashlib.sha256(content).hexdigest()
    (model / "export.json").write_text(json.dumps(facts))


def test_training_is_refused(exported, annotated, label_words, make_examples):
    examples = make_examples(exported)
    pipe = exported.get_pipe(NAME)
    labels = pipe.labels
    for train in (
        lambda: exported.update(examples),
        lambda: exported.initialize(lambda: examples),
        lambda: pipe.add_label("DRUG", ["aspirin"]),
        lambda: spacy_entlm.train(exported, annotated),
        lambda: spacy_entlm.train(exported, annotated, unlabeled=["Rome ."]),
        lambda: spacy_entlm.train(exported, annotated, label_words={"A": ["a"]}),
    ):
        with pytest.raises(ValueError, match=ONLY_PREDICTS) as caught:
            train()
        assert "\n" not in str(caught.value)
        assert pipe.labels == labels
    exported.resume_training()
    with pytest.raises(ValueError, match=ONLY_PREDICTS):
        exported.rehearse([Example.from_dict(exported.make_doc("Rome ."), {})])


@pytest.mark.parametrize("size", [0, 20, 5000])
def test_truncated_graph(folder, model, size):
    path = model / "encoder.onnx"
    path.write_bytes(path.read_bytes()[:size])
    refused(folder, "damaged, or of another export")
    note_hash(model)
    refused(folder, "cannot be run")


def test_graph_of_another_model(folder, model, exported_folder_of):
    other = exported_folder_of("roberta") / NAME / "model" / "encoder.onnx"
    shutil.copy(other, model)
    refused(folder, "damaged, or of another export")


def test_graph_that_names_another_file(folder, model):
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(model / "encoder.onnx", load_external_data=False)
    tensor = graph.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../secret.bin"
    (model / "encoder.onnx").write_bytes(graph.SerializeToString())
    note_hash(model)
    refused(folder, "may name files outside itself")


@pytest.mark.parametrize(
    "name",
    [
        "export.json",
        "encoder.onnx",
        "label_words.json",
        "rows.safetensors",
        "tokenizer.json",
    ],
)
def test_missing_and_broken_files(folder, model, name):
    (model / name).write_bytes(b"{")
    refused(folder, "broken JSON|damaged|cannot be read|no tokenizer")
    (model / name).unlink()
    refused(folder, "cannot be read|no such file")


@pytest.mark.parametrize(
    "facts",
    [
        [],
        {"version": 1},
        {"version": 4},
        {"sha256": {}},
        {"sha256": None},
        {"prefix": None},
        {"max_pieces": "x"},
        {"special": [-1]},
        {"unknown": "[UNK]"},
        {"special": [10**6]},
    ],
)
def test_facts_that_are_none(folder, model, facts):
    path = model / "export.json"
    if isinstance(facts, dict):
        facts = {**json.loads(path.read_text()), **facts}
    path.write_text(json.dumps(facts))
    refused(folder, "export again|version|do not belong together")


@pytest.mark.parametrize("key", ["labels", "vocabulary", "labels_biases", "embeddings"])
def test_rows_that_do_not_fit(folder, model, key):
    path = model / "rows.safetensors"
    for change in (lambda a: a[:1], lambda a: a[None], lambda a: None):
        arrays = load_file(path)
        changed = change(arrays.get(key, arrays["vocabulary"]))
        arrays = {k: numpy.array(a) for k, a in arrays.items() if k != key}
        if changed is not None:
            arrays[key] = numpy.array(changed)
        elif key == "embeddings":
            continue
        other = folder.parent / "other"
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(folder, other)
        save_file(arrays, other / NAME / "model" / "rows.safetensors")
        with pytest.raises(ValueError, match="does not fit the model"):
            spacy.load(other)


def test_rows_of_another_width(folder, model):
    path = model / "rows.safetensors"
    arrays = load_file(path)
    for key in ("vocabulary", "labels"):
        arrays[key] = numpy.ascontiguousarray(arrays[key][:, :16])
    save_file(arrays, path)
    refused(folder, r"does not fit the rows beside it")


def test_missing_extra_is_named(exported_folder, trained, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"spacy-entlm\[onnx\]"):
        spacy.load(exported_folder)
    with pytest.raises(ImportError, match=r"spacy-entlm\[onnx\]"):
        spacy_entlm.export(trained, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_exported(bert, blank_nlp, exported, trained, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="no entlm_ner"):
        spacy_entlm.export(spacy.blank("xx"), out)
    with pytest.raises(ValueError, match="was not trained yet"):
        spacy_entlm.export(blank_nlp(bert), out)
    with pytest.raises(ValueError, match=r"only spacy-entlm.EntLM.v1 can be"):
        spacy_entlm.export(exported, out)
    with pytest.raises(ValueError, match="float32 or int8, not as 'int4'"):
        spacy_entlm.export(trained, out, format="int4")
    assert not out.exists()


def test_a_pipeline_that_only_has_names_of_classes_is_exported(
    bert, naming, blank_nlp, texts, tmp_path
):
    """If its backbone makes rows from them."""
    labels = ["PER", "LOC"]
    with pytest.raises(ValueError, match="makes no rows from names"):
        spacy_entlm.export(blank_nlp(bert, labels=labels), tmp_path / "out")
    nlp = blank_nlp(naming, labels=labels)
    exported = spacy_entlm.export(nlp, tmp_path / "out")
    assert exported.get_pipe(NAME).labels == ("PER", "LOC")
    docs = [nlp.make_doc(text) for text in texts]
    one, other = (each.get_pipe(NAME).model.predict(docs) for each in (nlp, exported))
    assert numpy.allclose(one.probs, other.probs, atol=1e-4)


def test_rivals_other_than_a_word_s_own_piece_are_refused(bert, start_nlp, tmp_path):
    nlp = start_nlp(bert, model={"rivals": "vocabulary"})
    with pytest.raises(ValueError, match='rivals = "own", not "vocabulary"'):
        spacy_entlm.export(nlp, tmp_path / "out")
    assert not (tmp_path / "out").exists()
