"""Scores of words -> entities: the IO decoder."""

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.types import LabelScores

NLP = spacy.blank("en")
# So many that what is left of a probability is little for each.
N_LABELS = 20
SPACE = " "
NEWLINE = "\n"


def make_doc(words):
    return Doc(NLP.vocab, words=words)


def make_scores(docs, best, confidence=None):
    """Scores by which words have these classes with these probabilities."""
    if confidence is None:
        confidence = [0.0 if label < 0 else 0.5 for label in best]
    probs = numpy.zeros((len(best), N_LABELS), dtype="float32")
    for row, label, prob in zip(probs, best, confidence):
        if label >= 0:
            row[:] = (1 - prob) / N_LABELS  # as much for no entity
            row[label] = prob
    outside = 1 - probs.sum(axis=1)
    return LabelScores(probs, outside, [len(doc) for doc in docs])


def decode(docs, best, confidence=None):
    return IODecoder()(make_scores(docs, best, confidence), docs)


def spans(words, best):
    (found,) = decode([make_doc(words)], best)
    return [tuple(span) for span in found.spans.tolist()]


def test_neighbours_of_one_class_are_one_entity():
    assert spans(list("abcd"), [0, 0, -1, 0]) == [(0, 2, 0), (3, 4, 0)]


def test_neighbours_of_two_classes_are_two_entities():
    assert spans(list("abc"), [0, 1, 1]) == [(0, 1, 0), (1, 3, 1)]


def test_no_label_is_no_entity():
    assert spans(list("abc"), [-1, -1, -1]) == []


def test_confidence_is_the_mean_over_the_words():
    (found,) = decode([make_doc(list("abcd"))], [1, 1, -1, 0], [0.5, 0.9, 0, 0.25])
    numpy.testing.assert_allclose(found.confidences, [0.7, 0.25], rtol=1e-6)
    assert found.confidences.dtype == "float32"


def test_white_space_is_never_an_entity():
    assert spans([SPACE, NEWLINE, "a"], [0, 0, -1]) == []


def test_entity_neither_begins_nor_ends_with_white_space():
    assert spans([SPACE, "a", SPACE, "b"], [0, 0, 0, -1]) == [(1, 2, 0)]


@pytest.mark.parametrize("label", [-1, 0, 1])
def test_white_space_inside_an_entity_is_bridged(label):
    words, best = ["a", SPACE, "b"], [0, label, 0]
    (found,) = decode([make_doc(words)], best, [0.4, 0.9, 0.8])
    assert found.spans.tolist() == [[0, 3, 0]]
    # The mean is over words, and white space is none.
    assert found.confidences.tolist() == [pytest.approx(0.6)]


@pytest.mark.parametrize("space", [NEWLINE, " \n", "\n\n ", "\r\n"])
def test_line_break_ends_an_entity(space):
    assert spans(["a", space, "b"], [0, 0, 0]) == [(0, 1, 0), (2, 3, 0)]


def test_entities_are_split_at_the_docs():
    docs = [make_doc(["a", "b"]), make_doc([]), make_doc(["c"])]
    first, empty, last = decode(docs, [-1, 0, 0], [0, 0.25, 0.75])
    assert first.spans.tolist() == [[1, 2, 0]]
    assert empty.spans.shape == (0, 3)
    assert last.spans.tolist() == [[0, 1, 0]]
    assert (first.confidences.tolist(), last.confidences.tolist()) == ([0.25], [0.75])


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", SPACE, NEWLINE]), st.integers(-1, 2)),
        max_size=20,
    )
)
def test_entities_are_in_order_apart_and_hold_the_labels_found(words):
    doc = make_doc([word for word, _ in words])
    best = [label for _, label in words]
    (found,) = decode([doc], best)
    covered = [-1] * len(doc)
    end_before = 0
    for start, end, label in found.spans.tolist():
        assert end_before <= start < end
        assert not doc[start].is_space
        assert not doc[end - 1].is_space
        assert NEWLINE not in doc[start:end].text
        covered[start:end] = [label] * (end - start)
        end_before = end
    for token, expected, label in zip(doc, best, covered):
        assert token.is_space or expected == label


def decode_probs(probs):
    probs = numpy.array(probs, dtype="float32")
    outside, probs = probs[:, 0].copy(), probs[:, 1:].copy()
    doc = make_doc(["a"] * len(probs))
    (found,) = IODecoder()(LabelScores(probs, outside, [len(doc)]), [doc])
    return [tuple(span) for span in found.spans.tolist()]


def test_a_word_has_the_class_that_is_more_probable_than_none_and_all_others():
    probs = [[0.3, 0.4, 0.3], [0.4, 0.3, 0.3], [0.2, 0.3, 0.5]]
    assert decode_probs(probs) == [(0, 1, 0), (2, 3, 1)]


def test_a_class_that_is_as_probable_as_none_is_no_entity():
    assert decode_probs([[0.5, 0.5], [0.49, 0.51]]) == [(1, 2, 0)]


@pytest.mark.parametrize("lengths", [[], [2, 0, 1]])
def test_without_classes_there_is_no_entity(lengths):
    docs = [make_doc(["a"] * length) for length in lengths]
    n_words = sum(lengths)
    scores = LabelScores(
        numpy.zeros((n_words, 0), "f"), numpy.ones(n_words, "f"), lengths
    )
    found = IODecoder()(scores, docs)
    assert [len(each.spans) for each in found] == [0] * len(docs)


def test_io_decoder_learns_nothing():
    decoder = IODecoder()
    decoder.initialize(lambda: [], ("PER",))
    assert decoder.to_bytes() == b""
    assert decoder.from_bytes(b"") is decoder


def test_a_sentence_ends_an_entity():
    doc = Doc(NLP.vocab, words=list("abcd"), sent_starts=[True, False, True, False])
    (found,) = decode([doc], [-1, 0, 0, 0])
    assert found.spans.tolist() == [[1, 2, 0], [2, 4, 0]]
