"""The scripts that measure the model from inside, with tiny models."""

import importlib.util
import json
from pathlib import Path

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc, Span

from spacy_entlm.label_words.prototypes import find_prototypes

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gold(make_examples):
    """The annotated sentences, of a vocabulary of their own."""
    return [eg.reference for eg in make_examples(spacy.blank("xx"))]


@pytest.fixture
def data(gold, tmp_path):
    """The same as a file."""
    path = tmp_path / "gold.jsonl"
    lines = []
    for doc in gold:
        words = [token.text for token in doc]
        tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
        lines.append(json.dumps({"text": words, "label": tags}))
    path.write_text("\n".join(lines))
    return path


def unannotated(nlp, docs):
    return [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]


def test_labels_of_both_ways_are_compared(trained, gold):
    script = load("same_labels")
    docs = unannotated(trained, gold)
    result = script.compare(trained, docs)
    assert result["words"] == sum(map(len, docs))
    assert result["entity_words"] == sum(
        bool(t.ent_type_) for doc in trained.pipe(docs) for t in doc
    )
    assert result["differing"] == 0
    assert result["max_confidence_difference"] < 1e-4
    assert result["smallest_margin"] > 0
    # What differs is counted: labels that a bias takes away count on one side only.
    component = script._component
    script._component = lambda *args: (component(*args)[0] * 0 - 1, component(*args)[1])
    changed = script.compare(trained, docs)
    assert changed["differing"] == result["entity_words"]
    assert len(changed["margins_of_differing"]) == result["entity_words"]


def test_labels_are_compared_with_the_bias_of_the_pipeline(trained, gold):
    trained.get_pipe("entlm_ner").cfg["label_bias"] = 1000.0
    result = load("same_labels").compare(trained, unannotated(trained, gold))
    assert result["differing"] == 0
    assert result["entity_words"] == result["words"]


def test_number_format_is_that_of_the_component_only(trained, gold):
    shim = trained.get_pipe("entlm_ner").label_model.shim
    script = load("same_labels")
    docs = unannotated(trained, gold)
    exact = script.compare(trained, docs)["max_confidence_difference"]
    rounded = script.compare(trained, docs, "bfloat16")["max_confidence_difference"]
    assert exact < rounded < 0.2
    assert shim._precision == "float32"


def test_prototypes_are_those_of_the_package(bert, gold, label_words):
    script = load("prototype_rows")
    nlp = script._start(str(bert), label_words, gold)
    found = script._prototypes(gold, nlp)
    view = nlp.get_pipe("entlm_ner").label_model
    expected = find_prototypes(view, gold, label_words)
    for place, label in enumerate(label_words):
        row, bias = found["features"][label]
        assert torch.allclose(row, expected[label], atol=1e-5)
        assert torch.equal(bias, view.network.head.biases[place])
    # A weighted mean of the vocabulary's rows lies among them.
    weight = view.vocabulary.weight
    for row, _ in found["predictions"].values():
        assert (row <= weight.max(0).values).all() and (
            row >= weight.min(0).values
        ).all()
    script._set_rows(nlp, found["features"])
    rows = view.network.label_rows.weight
    assert torch.allclose(rows, torch.stack([expected[k] for k in label_words]))


def test_words_of_several_pieces_are_taken_for_label_words(bert):
    doc = Doc(spacy.blank("xx").vocab, words=["Marypeter", "saw", "Rome", "Johnston"])
    doc.set_ents([Span(doc, 0, 1, "PER"), Span(doc, 2, 4, "LOC")])
    script = load("prototype_rows")
    nlp = script._start(str(bert), {"X": ["the"]}, [doc])
    # "Rome" is a single piece.
    expected = {"PER": ["marypeter"], "LOC": ["johnston"]}
    assert script._multi_piece_words([doc], nlp) == expected


@pytest.mark.parametrize("method", ["entlm_ner", "nnshot"])
def test_kept_probabilities_are_those_of_the_pipeline(
    method, bert, gold, fit, label_words, tmp_path
):
    nlp = spacy.blank("xx")
    nlp.add_pipe(method, config={"model": {"name": str(bert)}})
    fit(nlp, label_words=label_words if method == "entlm_ner" else None, epochs=3)
    script = load("tau")
    script._save_scores(nlp, gold, tmp_path / "scores.npz")
    saved = numpy.load(tmp_path / "scores.npz")
    pipe = nlp.get_pipe(method)
    assert saved["labels"].tolist() == list(pipe.labels)
    best = saved["best"]
    scores = pipe.score_words(unannotated(nlp, gold))
    numpy.testing.assert_array_equal(best, scores.best)
    # Of the class that wins, the confidence is its probability.
    won = best >= 0
    top = saved["probs"][numpy.arange(len(best)), best]
    numpy.testing.assert_allclose(top[won], saved["confidence"][won], rtol=1e-5)
    total = saved["probs"].sum(1) + saved["word_prob"]
    assert (saved["word_prob"] > 0).all() and (total < 1 + 1e-5).all()


def test_counting_and_the_loop_count_alike(bert, data, tmp_path, capsys):
    saved = tmp_path / "counts.json"
    load("lm_counts").main(str(bert), data, n_sentences=9, pad_to=None, save=saved)
    assert "same counts: " in capsys.readouterr().out
    assert {"PER", "LOC", "ORG"} <= set(json.loads(saved.read_text()))


def test_number_formats_are_compared(trained_folder, data, tmp_path, capsys):
    out = tmp_path / "out.json"
    options = {"sentences": 2, "rounds": 1, "threads": 1}
    load("number_formats").main(
        out, trained_folder, data, formats="float32,bfloat16", **options
    )
    result = json.loads(out.read_text())
    assert result["float32"]["f1"] > 95
    assert result["float32"]["words_changed"] == 0
    assert result["bfloat16"]["words"] == result["float32"]["words"]
    assert result["auto"] in ("float32", "bfloat16")
    assert "bfloat16" in capsys.readouterr().out


def test_time_of_loading_is_that_of_a_trained_pipeline(trained_folder, tmp_path):
    out = tmp_path / "out.json"
    load("load_time").main(out, str(trained_folder), rounds=1)
    result = json.loads(out.read_text())
    assert set(result["milliseconds"]) == {
        *("pipeline", "empty pipeline", "weights", "tokenizer")
    }
    assert result["weights"].endswith("entlm_ner/model/model.safetensors")


@pytest.mark.parametrize("method", ["_component", "_loop"])
def test_both_trainings_take_the_same_steps(
    method, bert, gold, label_words, monkeypatch
):
    script = load("training_speed")
    monkeypatch.setattr(script, "EPOCHS", 2)
    steps = []
    made = script._batches
    monkeypatch.setattr(
        script, "_batches", lambda data: steps.extend(made(data)) or steps
    )
    getattr(script, method)(spacy.blank("xx"), gold, label_words, str(bert), False)()
    assert [len(step) for step in steps] == [4, 4, 2] * 2
