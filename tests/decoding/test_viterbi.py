"""Scores of words -> entities: the Viterbi decoder."""

import itertools
import json

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.transitions import TransitionCounts, transition_matrix
from spacy_entlm.decoding.types import LabelScores
from spacy_entlm.decoding.viterbi import PROBABILITY_FLOOR, ViterbiDecoder

NLP = spacy.blank("en")
LABELS = ("PER", "LOC")
COUNTS = TransitionCounts(
    start_outside=80,
    start_inside=20,
    outside_outside=900,
    outside_inside=100,
    inside_outside=50,
    inside_same=49,
    inside_other=1,
)


def make_doc(words, sent_starts=None):
    return Doc(NLP.vocab, words=words, sent_starts=sent_starts)


def make_scores(docs, probs):
    """What the classes leave is for no entity."""
    probs = numpy.array(probs, dtype="float32").reshape(-1, len(LABELS))
    return LabelScores(probs, 1 - probs.sum(axis=1), [len(doc) for doc in docs])


def make_decoder(counts=COUNTS, **settings):
    decoder = ViterbiDecoder(**settings)
    decoder.counts = counts
    return decoder


def decode(docs, probs, **settings):
    return make_decoder(**settings)(make_scores(docs, probs), docs)


def spans(found):
    return [tuple(span) for span in found.spans.tolist()]


def test_gap_inside_an_entity_is_bridged_and_a_stray_word_is_dropped():
    doc = make_doc(list("abcdefgh"))
    probs = [[0, 0], [0.9, 0], [0.45, 0], [0.9, 0], [0, 0], [0, 0], [0, 0.55], [0, 0]]
    (word_by_word,) = decode([doc], probs, tau=0.0)
    assert spans(word_by_word) == [(1, 2, 0), (3, 4, 0), (6, 7, 1)]
    (found,) = decode([doc], probs, tau=0.6)
    assert spans(found) == [(1, 4, 0)]


def test_without_weight_a_word_takes_what_is_most_probable_for_itself():
    doc = make_doc(list("abcd"))
    probs = [[0.4, 0.35], [0.2, 0.6], [0.3, 0.1], [0.51, 0.0]]
    (found,) = decode([doc], probs, tau=0.0)
    assert spans(found) == [(0, 1, 0), (1, 2, 1), (3, 4, 0)]
    numpy.testing.assert_allclose(found.confidences, [0.4, 0.6, 0.51], rtol=1e-3)


@st.composite
def texts(draw):
    """Docs of a few words with sentences and white space, and their probabilities."""
    docs, probs = [], []
    rng = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    for _ in range(draw(st.integers(0, 3))):
        words = draw(st.lists(st.sampled_from(["a", "b", " ", "\n"]), max_size=6))
        starts = None
        if draw(st.booleans()):
            starts = [draw(st.booleans()) for _ in words]
        docs.append(make_doc(words, starts))
        # With 0.05 most words are of one class, or of none, beyond doubt.
        alpha = draw(st.sampled_from([0.05, 0.5]))
        probs.append(rng.dirichlet([alpha] * 3, size=len(words))[:, 1:])
    return docs, numpy.concatenate([*probs, numpy.zeros((0, 2))])


def chains(docs):
    """Lists of words (Doc, token, row in the probabilities) of one sentence each."""
    row = 0
    for i, doc in enumerate(docs):
        sentences = [[]]
        for token in doc:
            if token.sent_start == 1 and doc.has_annotation("SENT_START"):
                sentences.append([])
            if not token.is_space:
                sentences[-1].append((i, token.i, row))
            row += 1
        yield from filter(None, sentences)


@settings(max_examples=100, deadline=None)
@given(texts(), st.sampled_from([0.1, 0.5, 1.0]))
def test_entities_and_confidences_are_those_of_a_search_through_all_paths(text, tau):
    docs, probs = text
    matrix = transition_matrix(COUNTS, len(LABELS), tau).astype("float64")
    probs = probs.astype("float32")
    emissions = numpy.column_stack([1 - probs.sum(1, keepdims=True), probs])
    emissions /= emissions.max(axis=1, keepdims=True)
    emissions = numpy.maximum(emissions.astype("float64"), PROBABILITY_FLOOR)
    found = decode(docs, probs, tau=tau)
    for chain in chains(docs):
        rows = [row for _, _, row in chain]
        weights = {}
        for path in itertools.product(range(3), repeat=len(chain)):
            before = [0, *(state + 1 for state in path[:-1])]
            steps = matrix[before, path] * emissions[rows, path]
            weights[path] = steps.prod()
        total = sum(weights.values())
        ours = [label_at(found[i], token) for i, token, _ in chain]
        states = tuple(label + 1 for label, _ in ours)
        assert weights[states] == pytest.approx(max(weights.values()), rel=1e-4)
        for place, (state, (_, alone)) in enumerate(zip(states, ours)):
            if alone is not None:  # an entity of one word
                share = sum(w for path, w in weights.items() if path[place] == state)
                assert alone == pytest.approx(share / total, abs=1e-4)


def label_at(found, token):
    """Class of a token, -1 for none, and the confidence if it is alone."""
    for (start, end, label), confidence in zip(found.spans, found.confidences):
        if start <= token < end:
            return label, confidence if end == start + 1 else None
    return -1, None


def test_confidence_is_the_mean_of_the_marginals_of_the_words():
    doc = make_doc(list("ab"))
    (found,) = decode([doc], [[0.9, 0], [0.6, 0]], tau=0.0)
    assert spans(found) == [(0, 2, 0)]
    numpy.testing.assert_allclose(found.confidences, [0.75], rtol=1e-3)
    assert found.confidences.dtype == "float32"


def test_sentences_are_apart():
    """A person at the end of one sentence does not make the next begin with one."""
    words, probs = list("abcd"), [[0, 0], [0.9, 0], [0.6, 0], [0, 0]]
    one = make_doc(words)
    two = make_doc(words, [True, False, True, False])
    assert spans(decode([one], probs, tau=0.5)[0]) == [(1, 3, 0)]
    assert spans(decode([two], probs, tau=0.5)[0]) == [(1, 2, 0)]


def test_docs_do_not_touch_each_other():
    docs = [make_doc(["a", "b"]), make_doc([]), make_doc(["c"])]
    probs = [[0, 0], [0.9, 0], [0, 0.8]]
    together = decode(docs, probs, tau=0.3)
    assert [spans(found) for found in together] == [[(1, 2, 0)], [], [(0, 1, 1)]]
    alone = decode(docs[2:], probs[2:], tau=0.3)
    numpy.testing.assert_allclose(together[2].confidences, alone[0].confidences)


def test_no_docs_are_no_entities():
    assert decode([], []) == []


def test_white_space_is_no_word_and_a_line_break_ends_an_entity():
    doc = make_doc(["a", " ", "b", "\n", "c", "\n"])
    probs = [[0.9, 0], [0, 0], [0.9, 0], [0, 0], [0.9, 0], [0.9, 0]]
    (found,) = decode([doc], probs)
    assert spans(found) == [(0, 3, 0), (4, 5, 0)]


@given(texts())
def test_without_weight_it_is_the_io_decoder(text):
    docs, probs = text
    scores = make_scores(docs, probs)
    expected = IODecoder()(scores, docs)
    found = make_decoder(tau=0.0)(scores, docs)
    assert [spans(each) for each in found] == [spans(each) for each in expected]


def test_how_little_a_class_is_below_the_floor_changes_nothing():
    """No sequence makes up for so little."""
    doc = make_doc(list("abc"))
    probs = numpy.array([[0.6, 0.1], [3e-6, 1e-6], [1e-5, 0.3]])
    assert (probs[1] < PROBABILITY_FLOOR).all()
    (one,) = decode([doc], probs)
    probs[1] = 0
    (other,) = decode([doc], probs)
    assert one.spans.tolist() == other.spans.tolist()
    numpy.testing.assert_allclose(one.confidences, other.confidences, rtol=1e-5)


@pytest.mark.parametrize("lengths", [[], [2, 0, 1]])
def test_without_classes_there_is_no_entity(lengths):
    docs = [make_doc(["a"] * length) for length in lengths]
    n_words = sum(lengths)
    scores = LabelScores(
        numpy.zeros((n_words, 0), "f"), numpy.ones(n_words, "f"), lengths
    )
    assert [spans(each) for each in make_decoder()(scores, docs)] == [[]] * len(docs)


def test_tau_has_a_default():
    assert ViterbiDecoder().tau != 0.05
    assert ViterbiDecoder(tau=0.4).tau == 0.4


@pytest.mark.parametrize("tau", [-0.1, 1.5])
def test_tau_out_of_range_is_refused(tau):
    with pytest.raises(ValueError, match="tau must be from 0 to 1"):
        ViterbiDecoder(tau=tau)


def test_decoder_without_counts_says_what_to_do():
    doc = make_doc(["a"])
    with pytest.raises(ValueError, match="has counted no transitions"):
        decode([doc], [[0.5, 0.1]], counts=None)


def annotated_doc(words, *ents):
    doc = make_doc(words)
    doc.set_ents([Span(doc, *ent) for ent in ents])
    return doc


def examples(*docs):
    return lambda: [Example(Doc(NLP.vocab, words=[t.text for t in d]), d) for d in docs]


def test_transitions_are_counted_in_the_examples():
    decoder = ViterbiDecoder()
    decoder.initialize(examples(annotated_doc(list("abc"), (1, 3, "PER"))), LABELS)
    assert decoder.counts == TransitionCounts(1, 0, 0, 1, 0, 1, 0)


def test_transitions_are_counted_in_the_text_that_is_given():
    def get_docs(language, labels):
        assert (language, labels) == ("en", LABELS)
        return [annotated_doc(list("abc"), (0, 1, "LOC"))]

    decoder = ViterbiDecoder(get_docs=get_docs)
    decoder.initialize(examples(annotated_doc(["x"], (0, 1, "PER"))), LABELS)
    assert decoder.counts == TransitionCounts(0, 1, 1, 0, 1, 0, 0)


@pytest.mark.parametrize("docs", [None, [], [annotated_doc(["a"], (0, 1, "DRUG"))]])
def test_transitions_are_the_examples_where_the_given_text_has_none(docs):
    decoder = ViterbiDecoder(get_docs=lambda *_: docs)
    decoder.initialize(examples(annotated_doc(["x"], (0, 1, "PER"))), LABELS)
    assert decoder.counts == TransitionCounts(start_inside=1)


@pytest.mark.parametrize(
    "least_share, serve", [(0.0, False), (0.5, False), (0.7, True)]
)
def test_examples_serve_where_the_given_text_has_far_fewer_entities(least_share, serve):
    """Of the words of the examples each third begins one, of those of the text each
    fifth, which is six tenths."""
    given = annotated_doc(list("abcde"), (0, 1, "LOC"))
    decoder = ViterbiDecoder(get_docs=lambda *_: [given], least_share=least_share)
    decoder.initialize(examples(annotated_doc(list("xyz"), (0, 1, "PER"))), LABELS)
    own, theirs = TransitionCounts(0, 1, 1, 0, 1), TransitionCounts(0, 1, 3, 0, 1)
    assert decoder.counts == (own if serve else theirs)


def test_counts_are_saved_and_settings_are_not():
    saved = make_decoder(tau=0.9).to_bytes()
    loaded = ViterbiDecoder(tau=0.2).from_bytes(saved)
    assert (loaded.counts, loaded.tau) == (COUNTS, 0.2)
    assert json.loads(saved)["version"] == 1


def test_decoder_that_counted_nothing_is_saved_and_loaded():
    empty = ViterbiDecoder().to_bytes()
    assert empty == b""
    assert make_decoder().from_bytes(empty).counts is None


@pytest.mark.parametrize("data", [b'{"version": 99}', b"[]"])
def test_data_of_another_version_is_refused(data):
    with pytest.raises(ValueError, match="is of version"):
        ViterbiDecoder().from_bytes(data)
