"""Counts are those of spaCy's scorer; intervals are those of sentences."""

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example

from spacy_entlm.evaluation.crossval import scores
from spacy_entlm.evaluation.crossval.scores import (
    TOO_FEW,
    Interval,
    count_sentence,
    f1,
    f1_gain,
    f1_interval,
)
from spacy_entlm.evaluation.scoring import (
    entity_spans,
    judged_entities,
    score_entities,
)

LABELS = ["X", "Y"]
TAGS = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=8)
VOCAB = spacy.blank("xx").vocab


def doc_of(tags, n_missing=0):
    doc = Doc(VOCAB, words=["w"] * len(tags), ents=tags)
    missing = [doc[i : i + 1] for i in range(len(doc)) if i < n_missing]
    kept = [ent for ent in doc.ents if ent.start >= n_missing]
    doc.set_ents(kept, missing=missing)
    return doc


def count(doc, found, *, merged):
    gold = judged_entities(doc, entity_spans(doc), merged=merged)
    judged = judged_entities(doc, found, merged=merged)
    return numpy.array(count_sentence(gold, judged, LABELS))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=4), st.integers(0, 2))
def test_counts_agree_with_spacys_scorer(pairs, n_missing):
    examples = []
    for gold, found in pairs:
        size = min(len(gold), len(found)) + 1
        gold, found = (["O", *tags][:size] for tags in (gold, found))
        gold = [tag.replace("I", "B") if i < 2 else tag for i, tag in enumerate(gold)]
        examples.append(Example(doc_of(found), doc_of(gold, n_missing)))
    ours, theirs = score_entities(examples), get_ner_prf(examples)
    for key in "prf":
        assert ours["bio"][key] == (theirs[f"ents_{key}"] or 0)
    for way, merged in (("io", True), ("bio", False)):
        counts = sum(
            count(eg.reference, entity_spans(eg.predicted), merged=merged)
            for eg in examples
        )
        assert f1(counts.sum(axis=0)) == pytest.approx(100 * ours[way]["f"])


def random_counts(n_repeats, n_sentences, seed=0):
    rng = numpy.random.default_rng(seed)
    return rng.integers(0, 3, size=(n_sentences, n_repeats, 3))


def width(interval):
    return interval.high - interval.low


def test_f1_is_pooled_over_the_sentences_of_a_repeat():
    counts = numpy.array([[[1, 0, 0], [1, 0, 0]], [[0, 1, 1], [1, 0, 0]]])
    assert f1_interval(counts).value == pytest.approx((50 + 100) / 2)


def test_nothing_to_find_is_no_division_by_zero():
    assert f1_interval(numpy.zeros((4, 1, 3), dtype="int64")) == Interval(0)


@pytest.mark.parametrize("n, has_interval", [(1, False), (4, False), (5, True)])
def test_few_examples_have_no_interval(n, has_interval):
    """That of one right example would have no width, as if all were certain."""
    counts = numpy.zeros((40, 3, 3), dtype="int64")
    counts[:n, :, 0] = 1
    interval = f1_interval(counts)
    assert (interval.low is not None) == has_interval
    assert (TOO_FEW in str(interval)) != has_interval
    assert str(interval).startswith("100.0 (")


@pytest.mark.parametrize(
    "kind, text",
    [(0, "100.0 (47.8 to 100.0)"), (1, "0.0 (0.0 to 52.2)"), (2, "0.0 (0.0 to 52.2)")],
)
def test_sentences_that_are_all_alike_do_not_make_it_certain(kind, text):
    """Five right ones, or five with a wrong or a missed entity."""
    counts = numpy.zeros((40, 3, 3), dtype="int64")
    counts[:5, :, kind] = 1
    counts[:5, :, 2] += kind == 1
    assert str(f1_interval(counts)) == text


def test_interval_holds_the_figure_and_repeats():
    counts = random_counts(3, 40)
    interval = f1_interval(counts)
    assert interval.low < interval.value < interval.high
    assert interval == f1_interval(counts)


def test_same_predictions_in_more_repeats_say_no_more():
    """Folds x repeats taken for independent would narrow the interval."""
    once = random_counts(1, 30)
    thrice = numpy.repeat(once, 3, axis=1)
    assert width(f1_interval(thrice)) == pytest.approx(
        width(f1_interval(once)), rel=0.05
    )


def test_more_sentences_narrow_the_interval():
    widths = [width(f1_interval(random_counts(2, n))) for n in (30, 480)]
    # Sixteen times as many: a quarter of the width.
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.35)


def test_interval_covers_the_truth_as_often_as_it_says(monkeypatch):
    monkeypatch.setattr(scores, "N_RESAMPLES", 400)
    rng = numpy.random.default_rng(3)
    n_right = rng.binomial(1, 0.7, size=(200, 100))
    covered = 0
    truth = 100 * 2 * 0.7 / (2 * 0.7 + 0.6)
    for right in n_right:
        interval = f1_interval(
            numpy.stack([right, 1 - right, 1 - right], axis=1)[:, None]
        )
        covered += interval.low <= truth <= interval.high
    assert 0.90 <= covered / len(n_right) <= 0.99


def test_gain_of_the_same_counts_is_nothing_for_sure():
    counts = random_counts(2, 20)
    assert f1_gain(counts, counts) == Interval(0, 0, 0)


def test_gain_is_paired():
    before = random_counts(1, 60)
    after = before.copy()
    after[..., 1:] = numpy.maximum(after[..., 1:] - 1, 0)
    gain = f1_gain(before, after)
    assert gain.low > 0
    assert width(gain) < width(f1_interval(after))
