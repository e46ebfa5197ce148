"""Texts that are longer than a window, read by the whole component."""

import tracemalloc
import warnings

import numpy
import pytest
from spacy.tokens import Doc

from spacy_entlm.model.layer import shim_of
from spacy_entlm.model.objective import label_cross_entropy
from spacy_entlm.model.reading import read_windows
from spacy_entlm.model.shim import CPU_BATCH_PIECES
from spacy_entlm.model.types import NO_ENTITY, NO_TARGET
from spacy_entlm.model.windows import Layout


def pipe_of(nlp):
    return nlp.get_pipe("entlm_ner")


def find_all_words(nlp):
    """Make every word that is read an entity."""
    pipe_of(nlp).label_bias = 1000.0


def windows_of(nlp, docs):
    pipe = pipe_of(nlp)
    return read_windows(docs, pipe.network.pieces, pipe.layer.attrs["reading"])


def words_without_prediction(nlp, doc):
    return sum(not token.ent_type for token in nlp(doc))


@pytest.fixture
def long_word(roberta, load_network):
    """A word of exactly 800 pieces."""
    tokenizer = load_network(roberta).tokenizer
    word = "q" * 800
    assert len(tokenizer.tokenize(word)) == 800
    return word


def test_word_of_800_pieces_loses_its_own_tail_only(roberta, start_nlp, long_word):
    nlp = start_nlp(roberta)
    find_all_words(nlp)
    words = ["Anna", "met", long_word, "in", "Berlin", "."]
    with pytest.warns(UserWarning, match="more than 31 word pieces"):
        assert words_without_prediction(nlp, Doc(nlp.vocab, words=words)) == 0


def test_neighbours_of_a_long_word_share_a_window_with_it(
    roberta, start_nlp, long_word
):
    nlp = start_nlp(roberta)
    words = ["Anna", "met", long_word, "in", "Berlin", "."]
    with pytest.warns(UserWarning):
        windows = windows_of(nlp, [Doc(nlp.vocab, words=words)])
    window = numpy.searchsorted(windows.starts, windows.word_rows, side="right")
    # Half a window of the long word is left, so that all stand in the first one.
    assert (windows.first_words == 2).sum() == 31
    assert set(window.tolist()) == {1}


@pytest.mark.parametrize("action, n_warnings", [("always", 2), ("default", 1)])
def test_words_that_lose_their_tail_are_told_in_one_warning(
    roberta, start_nlp, long_word, action, n_warnings
):
    """One for each call, however many words; Python's filter makes it one for all."""
    nlp = start_nlp(roberta)
    docs = [Doc(nlp.vocab, words=["Anna", long_word]) for _ in range(3)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        pipe_of(nlp).predict(docs)
        pipe_of(nlp).predict(docs)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == n_warnings
    assert messages[0].startswith("Some words have more than 31 word pieces")


def test_long_white_space_is_no_word_to_warn_of(roberta, start_nlp):
    nlp = start_nlp(roberta)
    assert nlp("Anna" + "\n" * 500 + "Berlin").text.endswith("Berlin")


@pytest.mark.parametrize("window, stride", [(8, 4), (20, 20), (62, 15)])
def test_small_windows_read_every_word(bert, start_nlp, texts, window, stride):
    nlp = start_nlp(bert, model={"window": window, "stride": stride})
    find_all_words(nlp)
    assert words_without_prediction(nlp, nlp.make_doc(" ".join(texts))) == 0


@pytest.mark.parametrize("max_pieces, longest", [(512, 128), (64, 64)])
def test_windows_are_of_128_pieces_where_the_model_takes_so_many(max_pieces, longest):
    layout = Layout.create([1], [2], max_pieces, window=None, stride=None)
    assert layout.window + len([*layout.prefix, *layout.suffix]) == longest
    assert layout.stride < layout.window


def test_long_text_is_cut_evenly(bert, start_nlp, texts):
    """A word more than a window holds makes no second window that is as long."""
    nlp = start_nlp(bert, model={"window": 50, "stride": 40})
    # The vocabulary has every word of the text as one piece.
    doc = nlp.make_doc(" ".join(texts * 4))[:51].as_doc()
    sizes = windows_of(nlp, [doc]).sizes - 2
    assert sizes.tolist() == [31, 31]


def test_window_larger_than_the_model_takes_is_refused(bert, start_nlp):
    with pytest.raises(ValueError, match="window must be from 1 to 62 pieces, not 63"):
        start_nlp(bert, model={"window": 63})


@pytest.mark.parametrize("window, stride", [(10, 10), (10, 4)])
def test_strided_spans_of_spacy_transformers(bert, start_nlp, texts, window, stride):
    getter = {
        "@span_getters": "spacy-transformers.strided_spans.v1",
        "window": window,
        "stride": stride,
    }
    nlp = start_nlp(bert, model={"get_spans": getter})
    find_all_words(nlp)
    text = " ".join(texts)
    assert words_without_prediction(nlp, nlp.make_doc(text)) == 0


def test_word_in_two_spans_is_learned_once(bert, start_nlp, texts):
    """Overlapping spans: each word is read, and carries loss, in one of them."""
    getter = {
        "@span_getters": "spacy-transformers.strided_spans.v1",
        "window": 10,
        "stride": 4,
    }
    nlp = start_nlp(bert, model={"get_spans": getter})
    doc = nlp.make_doc(" ".join(texts))
    scores, _ = pipe_of(nlp).model.begin_update([doc])
    # The vocabulary has every word of the text as one piece.
    assert sorted(scores.pieces.first_words.tolist()) == list(range(len(doc)))


def test_sent_spans_of_spacy_transformers(bert, start_nlp, texts):
    getter = {"@span_getters": "spacy-transformers.sent_spans.v1"}
    nlp = start_nlp(bert, model={"get_spans": getter})
    find_all_words(nlp)
    doc = nlp.make_doc(" ".join(texts[:3]))
    for token in doc:
        token.is_sent_start = token.i == 0 or doc[token.i - 1].text == "."
    assert words_without_prediction(nlp, doc) == 0


def test_spans_change_what_is_read_together(bert, start_nlp, texts):
    getter = {"@span_getters": "spacy-transformers.sent_spans.v1"}
    whole, split = start_nlp(bert), start_nlp(bert, model={"get_spans": getter})
    doc = split.make_doc(" ".join(texts[:2]))
    for token in doc:
        token.is_sent_start = token.i == 0 or doc[token.i - 1].text == "."
    together = pipe_of(whole).model.predict([doc]).probs
    apart = pipe_of(split).model.predict([doc]).probs
    docs = [whole.make_doc(text) for text in texts[:2]]
    alone = pipe_of(whole).model.predict(docs).probs
    numpy.testing.assert_allclose(apart, alone, rtol=0, atol=1e-5)
    assert not numpy.allclose(apart, together, rtol=0, atol=1e-5)


def test_spans_of_the_package_itself_are_the_whole_doc(bert, start_nlp, texts):
    own = start_nlp(bert, model={"get_spans": {"@misc": "spacy-entlm.doc_spans.v1"}})
    default = start_nlp(bert)
    docs = [own.make_doc(text) for text in texts]
    ours, theirs = (pipe_of(nlp).model.predict(docs) for nlp in (own, default))
    assert numpy.array_equal(ours.probs, theirs.probs)
    assert numpy.array_equal(ours.outside, theirs.outside)


def test_special_pieces_and_missing_words_carry_no_loss(bert, start_nlp, texts):
    nlp = start_nlp(bert)
    pipe = pipe_of(nlp)
    docs = [nlp.make_doc(text) for text in texts[:2]]
    scores, _ = pipe.model.begin_update(docs)
    special_ids = pipe.network.tokenizer.all_special_ids
    assert not set(scores.pieces.ids.tolist()) & set(special_ids)
    n_words = sum(map(len, docs))
    everything = numpy.full(n_words, NO_ENTITY)
    loss, gradient = label_cross_entropy(scores, everything)
    assert loss > 0
    assert gradient.n_lossy == len(scores.pieces.ids)
    nothing = numpy.full(n_words, NO_TARGET)
    loss, gradient = label_cross_entropy(scores, nothing)
    assert loss == 0
    assert gradient.n_lossy == 0
    assert not gradient.scores.any()


def test_document_of_100_000_words_gets_a_prediction_for_every_word(
    bert, start_nlp, monkeypatch
):
    nlp = start_nlp(bert)
    shim = shim_of(pipe_of(nlp).layer)
    features, batch_sizes = shim.features, []

    def note_size(inputs):
        batch_sizes.append(inputs[0].size)
        return features(inputs)

    monkeypatch.setattr(shim, "features", note_size)
    find_all_words(nlp)
    words = ["Anna", "lives", "in", "Berlin", "."] * 20_000
    doc = Doc(nlp.vocab, words=words)
    tracemalloc.start()
    try:
        scores = pipe_of(nlp).predict([doc])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (found,) = scores
    covered = sum(end - start for start, end, _ in found.spans.tolist())
    assert covered == len(words)
    # Some dozens of int64 a word; what goes through the network has a bound.
    assert peak < 300 * len(words)
    assert max(batch_sizes) <= CPU_BATCH_PIECES
