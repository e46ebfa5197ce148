"""The scripts that measure the Viterbi decoder."""

import importlib.util
from pathlib import Path

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_entlm.decoding.transitions import count_transitions

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"
LABELS = ["PER", "LOC"]


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_gold():
    vocab = spacy.blank("xx").vocab
    docs = []
    for _ in range(4):
        doc = Doc(vocab, words=["Ann", "Lee", "met", "a", "man", "in", "Rome"])
        doc.set_ents([Span(doc, 0, 2, "PER"), Span(doc, 6, 7, "LOC")])
        docs.append(doc)
    return docs


def make_scores():
    """A model that is a little wrong about "man"."""
    probs = numpy.zeros((7, 2), dtype="f")
    probs[[0, 1, 4], 0], probs[6, 1] = [0.9, 0.9, 0.55], 0.9
    word_prob = 1 - probs.sum(axis=1)
    best = numpy.where(probs.max(axis=1) > word_prob, probs.argmax(axis=1), -1)
    saved = {
        "best": best,
        "confidence": numpy.where(best >= 0, probs.max(axis=1), 0).astype("f"),
        "probs": probs,
        "word_prob": word_prob,
    }
    four = {name: numpy.concatenate([value] * 4) for name, value in saved.items()}
    return {**four, "labels": numpy.array(LABELS)}


def test_tau_table_pairs_each_weight_with_the_io_decoder(capsys):
    tau = load("tau")
    gold = make_gold()
    counts = [count_transitions(gold, LABELS)] * 2
    tau._report([make_scores(), make_scores()], gold, {"sample": counts})
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines()]
    table = {(row[1].strip(), row[2].strip()): row[3].strip() for row in rows[3:]}
    # Word by word, "man" is found, too.
    assert rows[2][3].strip() == "80.00 (0.00)"
    assert table["best word", "0.0"] == "80.00 (0.00), +0.00 (0.00)"
    assert table["best word", "0.5"] == "100.00 (0.00), +20.00 (0.00)"
    assert ("official", "0.05") in table


@pytest.mark.parametrize("length, n_chains", [(5, 20), (600, 1)])
def test_speed_is_that_of_equal_paths(monkeypatch, capsys, length, n_chains):
    script = load("viterbi_speed")
    monkeypatch.setattr(script, "CASES", ((3, length, n_chains),))
    script.main(rounds=1)
    assert f"| 3 | {length} | {n_chains} |" in capsys.readouterr().out
    monkeypatch.setattr(script, "one_by_one", lambda e, n, t: numpy.full(len(e), 99))
    with pytest.raises(ValueError, match="paths differ"):
        script.main(rounds=1)
