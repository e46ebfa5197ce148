"""Bins of confidences, and the error over them."""

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span, SpanGroup

from spacy_entlm.evaluation.compare.calibration import (
    add_bins,
    calibration_bins,
    expected_calibration_error,
)

WORDS = ["Ann", "Lee", "met", "Bob", "Ray"]


@pytest.fixture
def docs():
    """A prediction with scores, and gold in which two neighbours are one for IO."""
    nlp = spacy.blank("xx")
    gold = Doc(nlp.vocab, words=WORDS, ents=["B-PER", "B-PER", "O", "B-LOC", "O"])
    predicted = Doc(nlp.vocab, words=WORDS)
    spans = [Span(predicted, 0, 2, label="PER"), Span(predicted, 3, 4, label="PER")]
    scores = numpy.array([1.0, 0.29], dtype="float32")
    predicted.spans["ner"] = SpanGroup(
        predicted, name="ner", spans=spans, attrs={"scores": scores}
    )
    return [predicted], [gold]


def test_entities_are_counted_by_confidence(docs):
    bins = calibration_bins(*docs, "ner")
    filled = {i: bin_ for i, bin_ in enumerate(bins) if bin_["count"]}
    assert set(filled) == {2, 9}
    assert filled[9] == {"count": 1, "correct": 1, "confidence": 1.0}
    assert filled[2]["correct"] == 0
    assert filled[2]["confidence"] == pytest.approx(0.29)


def test_without_confidences_there_are_no_bins(docs):
    assert calibration_bins(*docs, None) is None
    assert calibration_bins(*docs, "other") is None
    docs[0][0].spans["bare"] = []
    assert calibration_bins(*docs, "bare") is None


def test_error_is_the_mean_distance_weighted_by_entities(docs):
    bins = calibration_bins(*docs, "ner")
    assert expected_calibration_error(bins) == pytest.approx(0.29 / 2)
    doubled = add_bins([bins, bins])
    assert sum(bin_["count"] for bin_ in doubled) == 4
    assert expected_calibration_error(doubled) == pytest.approx(0.29 / 2)
    assert expected_calibration_error(bins[3:5]) == 0
