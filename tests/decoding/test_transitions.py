"""Counting abstract transitions, and what becomes of the counts."""

from dataclasses import asdict, astuple

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_entlm.decoding.transitions import (
    TransitionCounts,
    count_transitions,
    transition_matrix,
)

NLP = spacy.blank("xx")
LABELS = ("PER", "LOC")
COUNTS = TransitionCounts(6, 2, 80, 20, 15, 4, 1)


def annotated(words, ents, sent_starts=None, default="outside"):
    doc = Doc(NLP.vocab, words=words, sent_starts=sent_starts)
    doc.set_ents([Span(doc, *ent) for ent in ents], default=default)
    return doc


def counts(*docs, labels=LABELS):
    return astuple(count_transitions(docs, labels))


def test_counts_of_a_sentence():
    # O I-PER I-PER I-LOC O O I-LOC
    doc = annotated(list("abcdefg"), [(1, 3, "PER"), (3, 4, "LOC"), (6, 7, "LOC")])
    assert counts(doc) == (1, 0, 1, 2, 1, 1, 1)


def test_neighbouring_entities_of_one_class_are_one():
    doc = annotated(list("ab"), [(0, 1, "PER"), (1, 2, "PER")])
    assert counts(doc) == (0, 1, 0, 0, 0, 1, 0)


def test_each_sentence_begins_anew():
    ents = [(1, 2, "PER"), (2, 3, "PER")]
    doc = annotated(list("abcd"), ents, sent_starts=[True, False, True, False])
    assert counts(doc) == (1, 1, 0, 1, 1, 0, 0)
    assert counts(annotated(list("abcd"), ents)) == (1, 0, 0, 1, 1, 1, 0)


def test_docs_add_up():
    doc = annotated(list("abc"), [(0, 1, "PER")])
    assert counts(doc, doc, annotated([], [])) == tuple(2 * n for n in counts(doc))


def test_white_space_is_no_word():
    doc = annotated(["a", "\n", "b", " "], [(0, 1, "PER"), (2, 3, "PER")])
    assert counts(doc) == (0, 1, 0, 0, 0, 1, 0)


def test_entities_of_other_labels_count_as_none():
    doc = annotated(list("abc"), [(0, 1, "DATE"), (2, 3, "PER")])
    assert counts(doc) == (1, 0, 1, 1, 0, 0, 0)


def test_missing_annotation_is_left_out():
    doc = annotated(list("abcd"), [(2, 3, "PER")], default="missing")
    doc.set_ents(list(doc.ents), outside=[doc[1:2]], default="unmodified")
    assert counts(doc) == (0, 0, 0, 1, 0, 0, 0)


def test_counts_survive_a_round_trip():
    assert TransitionCounts.from_dict(asdict(COUNTS)) == COUNTS
    with pytest.raises(ValueError, match="Transition counts have"):
        TransitionCounts.from_dict({"start": 1})


def test_matrix_is_spread_over_the_classes_and_smoothed():
    matrix = transition_matrix(COUNTS, 3, 1.0)
    assert matrix.shape == (5, 4)
    numpy.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-6)
    # One more of each event: 7 and 3; 81 and 21; 16, 5 and 2.
    numpy.testing.assert_allclose(matrix[0], [0.7, 0.1, 0.1, 0.1], rtol=1e-6)
    numpy.testing.assert_allclose(matrix[1], numpy.array([81, 7, 7, 7]) / 102)
    numpy.testing.assert_allclose(matrix[2], numpy.array([16, 5, 1, 1]) / 23)
    numpy.testing.assert_allclose(matrix[3], numpy.array([16, 1, 5, 1]) / 23)


def test_what_was_never_seen_is_possible():
    assert (transition_matrix(TransitionCounts(), 3, 1.0) > 0.01).all()


def test_tau_flattens():
    full, half, none = (transition_matrix(COUNTS, 2, tau) for tau in (1.0, 0.5, 0.0))
    numpy.testing.assert_allclose(none, numpy.full((4, 3), 1 / 3), rtol=1e-6)
    expected = numpy.sqrt(full)
    expected /= expected.sum(axis=1, keepdims=True)
    numpy.testing.assert_allclose(half, expected, rtol=1e-5)


def test_one_class_has_no_other():
    matrix = transition_matrix(COUNTS, 1, 1.0)
    numpy.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-5)
    assert matrix.shape == (3, 2)
