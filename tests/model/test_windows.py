"""Docs -> windows of word pieces: property tests with every kind of tokenizer."""

import math

import numpy
import pytest
import spacy
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from spacy_entlm.model.batches import iter_batches
from spacy_entlm.model.windows import Layout, doc_spans, get_windows

NLP = spacy.blank("en")
PREFIX, SUFFIX, MASK_ID = [901], [902], 903
# More pieces than any text of these tests has.
UNBOUNDED = Layout(PREFIX, SUFFIX, 10**6, 10**6)
HARD_WORDS = [
    "Anna",
    "Berlin",
    "unbelievable",
    "12345",
    "...",
    "\U0001f600",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family, joined by zero-width
    "\u200b",  # zero-width space
    "zero\u200bwidth",
    "\ufeff",
    "e\u0301",  # e with a combining accent
    "\u0301",
    "\u0130stanbul",  # its lower case is two characters
    "\ufb01n",  # a ligature that NFKC takes apart
    "東京",
    "\n",
    "\n\n",
    "\t",
    "[MASK]",
    "",  # joined by spaces: a double space
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(HARD_WORDS), max_size=40).map(" ".join),
    st.text(
        alphabet=st.sampled_from("aAz. \n\t\u200b\u200d\u0301\ufeff\U0001f600東½İ"),
        max_size=60,
    ),
)


@st.composite
def layouts(draw):
    window = draw(st.integers(1, 12))
    return Layout(PREFIX, SUFFIX, window, draw(st.integers(1, window)))


@pytest.fixture(scope="module", params=["bert", "roberta", "xlm-roberta"])
def tokenizer(request, backbone_folder, load_network):
    """A WordPiece, a byte-level BPE and a unigram tokenizer."""
    network = load_network(backbone_folder(request.param))
    return network.tokenizer.backend_tokenizer


def read(doc, tokenizer, layout=UNBOUNDED, get_spans=doc_spans):
    return get_windows([doc], get_spans, tokenizer, layout)


def ids_of_words(windows):
    """Piece id of each word, -1 without one."""
    return numpy.append(windows.ids, -1)[windows.word_rows]


def pieces_of(windows):
    """Pieces, and their words, without the special pieces."""
    chosen = (windows.ids != PREFIX[0]) & (windows.ids != SUFFIX[0])
    return windows.ids[chosen], windows.first_words[chosen]


def loses_pieces(words, layout):
    """Whether a word, with the space after it, is too long for the layout."""
    words = numpy.maximum.accumulate(words)
    return len(words) and numpy.unique(words, return_counts=True)[1].max() > max(
        1, layout.window // 2
    )


def expected_bounds(n_pieces, layout):
    """The fewest windows, as short as they can be, evenly spaced."""
    overlap = layout.window - layout.stride
    fitting = (
        (n_windows, length)
        for n_windows in range(1, max(n_pieces, 1) + 1)
        for length in range(1, layout.window + 1)
        if length + (n_windows - 1) * (length - overlap) >= n_pieces
    )
    n_windows, length = next(fitting)
    step = (n_pieces - length) / max(n_windows - 1, 1)
    starts = [math.floor(i * step + 1e-9) for i in range(n_windows)]
    assert all(b - a <= length - overlap for a, b in zip(starts, starts[1:]))
    return [(start, start + length) for start in starts]


@given(text=TEXTS, layout=layouts())
@example(text="a" * 40 + " Anna", layout=Layout(PREFIX, SUFFIX, 4, 1))
@example(text="東 " * 9, layout=Layout(PREFIX, SUFFIX, 1, 1))
# One piece of several words, beyond what its first word may have, or out of the window
# from which that is read.
@example(text=HARD_WORDS[6], layout=Layout(PREFIX, SUFFIX, 1, 1))
@example(text="東A\U0001f600", layout=Layout(PREFIX, SUFFIX, 1, 1))
@settings(max_examples=60, deadline=None)
def test_every_word_with_a_piece_is_read_at_its_first_piece(tokenizer, text, layout):
    doc = NLP.make_doc(text)
    whole, cut = read(doc, tokenizer), read(doc, tokenizer, layout)
    assert cut.n_words == len(doc)
    assert ids_of_words(cut).tolist() == ids_of_words(whole).tolist()


@given(text=TEXTS, layout=layouts())
@settings(max_examples=60, deadline=None)
def test_windows_hold_all_pieces_between_special_ones(tokenizer, text, layout):
    doc = NLP.make_doc(text)
    whole, cut = read(doc, tokenizer), read(doc, tokenizer, layout)
    seen = []
    for start, size in zip(cut.starts, cut.sizes):
        window = cut.ids[start : start + size]
        assert window[0] == PREFIX[0]
        assert window[-1] == SUFFIX[0]
        assert 1 <= size - 2 <= layout.window
        seen.append(window[1:-1].tolist())
    assert len(set(cut.sizes.tolist())) <= 1
    pieces, words = pieces_of(whole)
    if not loses_pieces(words, layout):
        pieces = pieces.tolist()
        bounds = expected_bounds(len(pieces), layout) if pieces else []
        assert seen == [pieces[start:end] for start, end in bounds]


@given(text=TEXTS, layout=layouts())
@settings(max_examples=60, deadline=None)
def test_words_are_read_where_they_have_most_context(tokenizer, text, layout):
    doc = NLP.make_doc(text)
    cut = read(doc, tokenizer, layout)
    _, words = pieces_of(read(doc, tokenizer))
    assume(not loses_pieces(words, layout))
    bounds = expected_bounds(len(words), layout)
    for word in set(words[words >= 0].tolist()):
        index = int(numpy.flatnonzero(words == word)[0])
        contexts = [min(index - start, end - 1 - index) for start, end in bounds]
        row = cut.word_rows[word]
        window = int(numpy.searchsorted(cut.starts, row, side="right")) - 1
        assert cut.starts[window] + 1 + index - bounds[window][0] == row
        assert contexts[window] == max(contexts)


@given(layout=layouts(), n_words=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_words_that_hold_spaces_are_read_at_their_first_piece(
    tokenizer, layout, n_words
):
    doc = Doc(NLP.vocab, words=["New  York Globex"] * n_words)
    whole, cut = read(doc, tokenizer), read(doc, tokenizer, layout)
    assert ids_of_words(cut).tolist() == ids_of_words(whole).tolist()
    assert (cut.word_rows >= 0).all()


@given(text=TEXTS, layout=layouts())
@settings(max_examples=60, deadline=None)
def test_a_word_carries_loss_in_one_window_only(tokenizer, text, layout):
    doc = NLP.make_doc(text)
    cut = read(doc, tokenizer, layout)
    rows = numpy.flatnonzero(cut.read_here)
    window = numpy.searchsorted(cut.starts, rows, side="right")
    pairs = set(zip(cut.first_words[rows].tolist(), window.tolist()))
    words = {word for word, _ in pairs}
    assert len(pairs) == len(words)
    assert words == set(cut.first_words[cut.first_words >= 0].tolist())


@given(
    texts=st.lists(TEXTS, max_size=4),
    layout=layouts(),
    size=st.integers(1, 60),
    padding=st.integers(0, 20),
)
@settings(max_examples=60, deadline=None)
def test_batches_hold_every_word_once(tokenizer, texts, layout, size, padding):
    docs = [NLP.make_doc(text) for text in texts]
    windows = get_windows(docs, doc_spans, tokenizer, layout)
    read_words = []
    for batch in iter_batches(windows, size, padding):
        n_windows, longest = batch.input_ids.shape
        assert n_windows * longest - batch.attention_mask.sum() <= padding
        assert n_windows == 1 or n_windows * longest <= size
        flat = batch.input_ids.ravel()
        rows = windows.word_rows[batch.words]
        assert flat[batch.word_positions].tolist() == windows.ids[rows].tolist()
        assert batch.attention_mask.ravel()[batch.word_positions].all()
        assert batch.attention_mask.sum() == (batch.rows >= 0).sum()
        read_words += batch.words.tolist()
    assert sorted(read_words) == numpy.flatnonzero(windows.word_rows >= 0).tolist()


@given(texts=st.lists(TEXTS, max_size=4), layout=layouts())
@settings(max_examples=30, deadline=None)
def test_one_batch_holds_all_windows_where_padding_has_no_limit(
    tokenizer, texts, layout
):
    docs = [NLP.make_doc(text) for text in texts]
    windows = get_windows(docs, doc_spans, tokenizer, layout)
    batches = list(iter_batches(windows, 10**6))
    if not len(windows.sizes):
        assert batches == []
        return
    (batch,) = batches
    rows = batch.rows[batch.rows >= 0]
    assert sorted(rows.tolist()) == list(range(len(windows.ids)))
    assert batch.input_ids[batch.rows >= 0].tolist() == windows.ids[rows].tolist()


def overlapping_spans(docs):
    return [[doc[i : i + 5] for i in range(0, len(doc), 3)] for doc in docs]


@pytest.mark.parametrize("get_spans", [doc_spans, overlapping_spans])
@given(texts=st.lists(TEXTS, max_size=4), layout=layouts())
@settings(max_examples=30, deadline=None)
def test_docs_read_together_are_read_as_if_alone(tokenizer, get_spans, texts, layout):
    docs = [NLP.make_doc(text) for text in texts]
    together = get_windows(docs, get_spans, tokenizer, layout)
    assert together.lengths == [len(doc) for doc in docs]
    alone = [read(doc, tokenizer, layout, get_spans) for doc in docs]
    assert together.n_cut == sum(each.n_cut for each in alone)
    for get in (ids_of_words, lambda each: each.ids, lambda each: each.read_here):
        assert get(together).tolist() == [x for each in alone for x in get(each)]
    for words in ("first_words", "last_words"):
        n_words, shifted = 0, []
        for each in alone:
            shifted += [x + n_words if x >= 0 else x for x in getattr(each, words)]
            n_words += each.n_words
        assert getattr(together, words).tolist() == shifted


@given(words=st.lists(st.sampled_from(HARD_WORDS), max_size=60))
@settings(max_examples=80, deadline=None)
def test_pieces_are_those_of_the_text(tokenizer, words):
    doc = NLP.make_doc(" ".join(words))
    read_text = doc.text[: doc[-1].idx + len(doc[-1])] if len(doc) else ""
    one_call = tokenizer.encode(read_text, add_special_tokens=False).ids
    assert pieces_of(read(doc, tokenizer))[0].tolist() == one_call


@pytest.fixture(scope="module")
def untrimmed(backbone_folder, load_network):
    """A byte-level tokenizer whose offsets take in the blank before a word."""
    network = load_network(backbone_folder("roberta"))
    tokenizer = Tokenizer.from_str(network.tokenizer.backend_tokenizer.to_str())
    tokenizer.post_processor = TemplateProcessing(single="$A", special_tokens=[])
    assert tokenizer.encode("in Rome").offsets[1][0] == 2
    return tokenizer


@pytest.mark.parametrize(
    "text", ["in  Rome", "in \n Rome", "  Rome", "in \u3000 Rome .", "Rome  Rome"]
)
def test_a_blank_before_a_word_is_no_part_of_it(untrimmed, text):
    """Though it is a token of its own: the pieces of the word are the word's alone."""
    doc = NLP.make_doc(text)
    windows = read(doc, untrimmed)
    (number,) = [token.i for token in doc if token.text == "Rome"][-1:]
    is_own = windows.last_words == number
    assert is_own.any() and set(windows.first_words[is_own]) == {number}
