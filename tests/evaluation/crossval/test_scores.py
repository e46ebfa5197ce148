"""Counts are those of spaCy's scorer; intervals are those of sentences."""

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_entlm.evaluation.crossval.scores import (
    count_sentence,
    f1,
    f1_gain,
    f1_interval,
    mean_f1,
    rates,
    resampled_f1,
)
from spacy_entlm.evaluation.scoring import score_entities

LABELS = ["X", "Y"]
TAGS = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=8)
VOCAB = spacy.blank("xx").vocab


def doc_of(tags, n_missing=0):
    doc = Doc(VOCAB, words=["w"] * len(tags), ents=tags)
    missing = [doc[i : i + 1] for i in range(len(doc)) if i < n_missing]
    kept = [ent for ent in doc.ents if ent.start >= n_missing]
    doc.set_ents(kept, missing=missing)
    return doc


def spans(doc):
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=4), st.integers(0, 2))
def test_counts_agree_with_spacys_scorer(pairs, n_missing):
    examples = []
    for gold, found in pairs:
        size = min(len(gold), len(found)) + 1
        gold, found = (["O", *tags][:size] for tags in (gold, found))
        gold = [tag.replace("I", "B") if i < 2 else tag for i, tag in enumerate(gold)]
        examples.append(Example(doc_of(found), doc_of(gold, n_missing)))
    theirs = score_entities(examples)
    for way, merged in (("io", True), ("bio", False)):
        counts = sum(
            count_sentence(eg.reference, spans(eg.predicted), LABELS, merged=merged)
            for eg in examples
        )
        assert f1(counts.sum(axis=0)) == pytest.approx(100 * theirs[way]["f"])
        precision, recall = rates(counts)
        assert precision == pytest.approx(100 * theirs[way]["p"])
        assert recall == pytest.approx(100 * theirs[way]["r"])


def test_entities_on_words_without_annotation_are_not_judged(make_doc):
    doc = make_doc("a b c", [(2, 3, "X")], missing=[0])
    counts = count_sentence(doc, [(0, 2, "X"), (2, 3, "X")], LABELS, merged=True)
    assert counts.tolist() == [[1, 0, 0], [0, 0, 0]]


def random_counts(n_repeats, n_sentences, seed=0):
    rng = numpy.random.default_rng(seed)
    return rng.integers(0, 3, size=(n_repeats, n_sentences, 3))


def test_f1_is_pooled_over_the_sentences_of_a_repeat():
    counts = numpy.array([[[1, 0, 0], [0, 1, 1]], [[1, 0, 0], [1, 0, 0]]])
    assert mean_f1(counts) == pytest.approx((50 + 100) / 2)


def test_nothing_to_find_is_no_division_by_zero():
    assert f1_interval(numpy.zeros((1, 4, 3))) == (0, 0, 0)


def test_interval_holds_the_figure_and_repeats():
    counts = random_counts(3, 40)
    interval = f1_interval(counts)
    assert interval.low < interval.value < interval.high
    assert interval == f1_interval(counts)


def test_same_predictions_in_more_repeats_say_no_more():
    """Folds x repeats taken for independent would narrow the interval."""
    once = random_counts(1, 30)
    thrice = numpy.repeat(once, 3, axis=0)
    alone, repeated = f1_interval(once), f1_interval(thrice)
    assert repeated.high - repeated.low == pytest.approx(
        alone.high - alone.low, rel=0.05
    )


def test_more_sentences_narrow_the_interval():
    few, many = random_counts(2, 30), random_counts(2, 480)
    widths = [i.high - i.low for i in (f1_interval(few), f1_interval(many))]
    # Sixteen times as many: a quarter of the width.
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.35)


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = numpy.random.default_rng(3)
    n_right = rng.binomial(1, 0.7, size=(200, 100))
    covered = 0
    truth = 100 * 2 * 0.7 / (2 * 0.7 + 0.6)
    for right in n_right:
        counts = numpy.stack([right, 1 - right, 1 - right], axis=1)[None]
        drawn = resampled_f1([counts], n_resamples=400)
        low, high = numpy.percentile(drawn, [2.5, 97.5])
        covered += low <= truth <= high
    assert 0.90 <= covered / len(n_right) <= 0.99


def test_gain_of_the_same_counts_is_nothing_for_sure():
    counts = random_counts(2, 20)
    assert f1_gain(counts, counts) == (0, 0, 0)


def test_gain_is_paired():
    before = random_counts(1, 60)
    after = before.copy()
    after[..., 1:] = numpy.maximum(after[..., 1:] - 1, 0)
    gain, alone = f1_gain(before, after), f1_interval(after)
    assert gain.low > 0
    assert gain.high - gain.low < alone.high - alone.low
