"""How time and memory of prediction grow: with the words, not with the documents."""

import time
import tracemalloc

import pytest
from spacy.tokens import Doc

from spacy_entlm.model.layer import shim_of
from spacy_entlm.pipeline import base

WORDS = ["Anna", "lives", "in", "Berlin", ".", "He", "sees", "the", "street", "."]
# CPU time of two lengths never has exactly the ratio of the lengths; what grows with
# the square of the words would exceed it a hundredfold.
TIME_TOLERANCE = 2.0
# Time of a text that is short is mostly that of a call: it is the least of some runs.
SHORT_RUNS = 5


@pytest.fixture
def component(bert, start_nlp):
    """An `entlm_ner`, and a function that makes Docs of some words."""
    nlp = start_nlp(bert)

    def make_doc(n_words):
        return Doc(nlp.vocab, words=(WORDS * (n_words // len(WORDS) + 1))[:n_words])

    return nlp, make_doc


def peak_of_pipe(nlp, make_doc, n_docs, n_words):
    """Bytes that Python, NumPy and spaCy hold at most while a stream is read."""
    tracemalloc.start()
    try:
        docs = (make_doc(n_words) for _ in range(n_docs))
        assert sum(1 for _ in nlp.pipe(docs, batch_size=16)) == n_docs
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_documents(component):
    nlp, make_doc = component
    n_words = 64
    peak_of_pipe(nlp, make_doc, 16, n_words)
    few = peak_of_pipe(nlp, make_doc, 48, n_words)
    many = peak_of_pipe(nlp, make_doc, 240, n_words)
    assert many < 1.3 * few


@pytest.mark.parametrize(
    "lengths, expected",
    [
        ([], []),
        ([10, 10, 10, 10], [3, 1]),
        ([40, 40, 1], [1, 1, 1]),  # a Doc is never split
        ([0, 0, 0], [3]),
        ([1, 40, 1, 0], [2, 2]),  # one begins where there is room for a word
    ],
)
def test_docs_that_are_predicted_together_have_a_bound(
    component, monkeypatch, lengths, expected
):
    nlp, make_doc = component
    pipe = nlp.get_pipe("entlm_ner")
    monkeypatch.setattr(base, "MAX_WORDS", 30)
    groups = []
    decoder = pipe.decoder

    class NotingDecoder:
        def __call__(self, scores, docs):
            groups.append(docs)
            return decoder(scores, docs)

    monkeypatch.setattr(pipe, "decoder", NotingDecoder())
    docs = [make_doc(length) for length in lengths]
    assert len(pipe.predict(docs)) == len(docs)
    assert [len(group) for group in groups] == expected
    assert [doc for group in groups for doc in group] == docs


def test_pieces_that_are_read_grow_with_the_words(component, monkeypatch):
    nlp, make_doc = component
    shim = shim_of(nlp.get_pipe("entlm_ner").layer)
    features, sizes = shim.features, []

    def count(inputs):
        sizes.append(inputs[0].size)
        return features(inputs)

    monkeypatch.setattr(shim, "features", count)
    per_word = []
    for n_words in (1_000, 100_000):
        sizes.clear()
        nlp(make_doc(n_words))
        per_word.append(sum(sizes) / n_words)
    short, long = per_word
    assert long == pytest.approx(short, rel=0.1)


def test_time_grows_with_the_words(component):
    nlp, make_doc = component

    def seconds(n_words):
        doc = make_doc(n_words)
        start = time.process_time()
        nlp(doc)
        return time.process_time() - start

    seconds(1_000)
    short = min(seconds(1_000) for _ in range(SHORT_RUNS))
    assert seconds(100_000) < TIME_TOLERANCE * 100 * short
