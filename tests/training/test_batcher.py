"""Enough updates where examples are few."""

import itertools
import math
import random
from collections import Counter
from types import SimpleNamespace

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin
from spacy.util import registry

from spacy_entlm.training.batcher import build_batcher
from spacy_entlm.training.fit import few_shot_settings
from spacy_entlm.training.schedule import decay_to_zero, n_repeats


@given(st.integers(1, 100), st.integers(1, 40), st.integers(1, 8), st.integers(0, 200))
def test_updates_are_enough_and_not_a_pass_too_many(n, epochs, size, wanted):
    times = n_repeats(n, epochs, size, wanted)

    def updates(times):
        return epochs * math.ceil(n * times / size)

    assert updates(times) >= wanted
    assert times == 1 or updates(times - 1) < wanted


def test_batches_repeat_the_examples_of_a_pass():
    batcher = registry.batchers.get("spacy-entlm.Batcher.v1")(
        size=4, epochs=20, min_updates=60
    )
    assert [len(batch) for batch in batcher(iter("abcd"))] == [4, 4, 4]
    assert sorted(itertools.chain(*batcher("abcd"))) == sorted("abcd" * 3)
    assert [len(batch) for batch in batcher("abcdefghi")] == [4, 4, 1]
    assert list(batcher([])) == []


@pytest.mark.parametrize(
    "epochs, min_updates, max_updates", [(-1, 60, 240), (0, 60, 240), (20, 0, 0)]
)
def test_a_stream_is_not_collected(epochs, min_updates, max_updates):
    batches = build_batcher(2, epochs, min_updates, max_updates)(itertools.count())
    assert list(itertools.islice(batches, 2)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "n, expected",
    # Sentences, and batches of a pass: all; 240 / 20; as many as five whole passes.
    [(4, 3), (36, 9), (48, 12), (120, 12), (192, 12), (400, 25), (4000, 250)],
)
def test_updates_are_not_too_many(n, expected, tmp_path):
    batcher = build_batcher(4, 20, min_updates=60, max_updates=240)
    assert len(list(batcher(range(n)))) == expected
    path = tmp_path / "train.spacy"
    nlp = spacy.blank("en")
    DocBin(docs=[nlp.make_doc(".") for _ in range(n)]).to_disk(path)
    rates = decay_to_zero(1.0, 20, 4, str(path), min_updates=60, max_updates=240)
    assert rates.n_steps == 20 * expected


@given(st.integers(1, 5000))
def test_train_makes_about_as_many_updates(n):
    suits = SimpleNamespace(learn_rate=1e-4, start_pull=0.0)  # a component
    epochs = few_shot_settings(n, suits).epochs
    batcher = build_batcher(4, 20, min_updates=60, max_updates=240)
    n_updates = 20 * len(list(batcher(range(n))))
    assert epochs * math.ceil(n / 4) == pytest.approx(n_updates, rel=0.25)


@pytest.mark.parametrize("n", [60, 107, 400])
def test_each_example_comes_as_often(n):
    batcher = build_batcher(4, 20, min_updates=60, max_updates=240)
    order = random.Random(0)
    came = Counter()
    for _ in range(20):  # shuffled anew for each pass, as spaCy does
        came.update(itertools.chain(*batcher(order.sample(range(n), n))))
    assert len(came) == n
    assert max(came.values()) - min(came.values()) <= 1


def test_few_passes_are_whole():
    batcher = build_batcher(4, 3, min_updates=60, max_updates=240)
    assert sorted(itertools.chain(*batcher(range(400)))) == list(range(400))


def test_rate_falls_over_the_repeated_examples(tmp_path):
    path = tmp_path / "train.spacy"
    nlp = spacy.blank("en")
    DocBin(docs=[nlp.make_doc("Anna .") for _ in range(4)]).to_disk(path)
    rates = decay_to_zero(1.0, 20, 4, examples=str(path), min_updates=60)
    assert [next(rates) for _ in range(60)][-1] == pytest.approx(1 / 60)
