"""Docs -> windows of word pieces, and which piece stands for which word.

The span getter says what is read together; a span of more pieces than a window takes is
cut into windows of one length that overlap, and each word is read from the window in
which it has most context. Pieces come from the Doc's own text, so that spaces count
where the tokenizer counts them.
"""

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, List, Optional, Tuple

import numpy
from spacy.attrs import IDX, IS_SPACE, LENGTH
from spacy.tokens import Doc, Span

from .types import NONE

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = numpy.ndarray
SpanGetter = Callable[[Iterable[Doc]], List[List[Span]]]
# Most pieces of a window where the config leaves it open, special ones counted. A model
# that learned from sentences finds less in longer ones, and they take more time.
DEFAULT_WINDOW = 128
# Of a window without a stride of its own, the part by which the next one moves on.
DEFAULT_STRIDE = 0.875


def configure_doc_spans() -> SpanGetter:
    """The whole Doc as one span, for where spacy-transformers is not installed."""
    return doc_spans


def doc_spans(docs: Iterable[Doc]) -> List[List[Span]]:
    """One span a Doc."""
    return [[doc[:]] for doc in docs]


@dataclass
class Layout:
    """How a tokenizer and a model want their windows.

    prefix, suffix: special pieces before and after a window.
    window: most pieces a window holds, special ones not counted.
    stride: most pieces by which a window moves on from the one before.
    """

    prefix: List[int]
    suffix: List[int]
    window: int
    stride: int

    @classmethod
    def create(
        cls,
        prefix: List[int],
        suffix: List[int],
        model_limit: int,
        window: Optional[int],
        stride: Optional[int],
    ) -> "Layout":
        """Fill in what is not set and check what is.

        model_limit (int): Most pieces that the model takes, special ones counted.
        window, stride (Optional[int]): In pieces, special ones not counted.
        RAISES (ValueError): If they do not fit the model or each other.
        """
        limit = model_limit - len(prefix) - len(suffix)
        if limit < 1:
            raise ValueError(
                f"The model takes {model_limit} pieces, the special ones counted: no "
                f"room for text"
            )
        if window is None:
            window = max(1, min(limit, DEFAULT_WINDOW - len(prefix) - len(suffix)))
        if not 1 <= window <= limit:
            raise ValueError(f"window must be from 1 to {limit} pieces, not {window}")
        if stride is None:
            stride = max(1, int(window * DEFAULT_STRIDE))
        if not 1 <= stride <= window:
            raise ValueError(
                f"stride must be from 1 to window ({window}) pieces, not {stride}"
            )
        return cls(prefix, suffix, window, stride)

    @property
    def longest_word(self) -> int:
        """Pieces after which a single word loses its tail: half a window, so that a
        word of hundreds of pieces leaves room for its neighbours."""
        return max(1, self.window // 2)


@dataclass
class Windows:
    """All windows of some Docs. Arrays are flat over windows, special pieces in.

    ids: int64 (n_rows), piece ids.
    first_words, last_words: int64 (n_rows), the word (counted over the concatenated
        Docs) of a piece's first and last character, blanks before it not counted;
        -1: special piece or space.
    read_here: bool (n_rows), whether the piece's word is read from this window.
    starts, sizes: int64 (n_windows), where a window begins and how long it is.
    word_rows: int64 (n_words), row of the first piece of each word in the window
        from which it is read; -1 where a word has no piece.
    lengths: words per Doc.
    n_cut: words that lost their tail.
    """

    ids: Array
    first_words: Array
    last_words: Array
    read_here: Array
    starts: Array
    sizes: Array
    word_rows: Array
    lengths: List[int]
    n_cut: int

    @property
    def n_words(self) -> int:
        return len(self.word_rows)


def get_windows(
    docs: List[Doc],
    get_spans: SpanGetter,
    tokenizer: "Tokenizer",
    layout: Layout,
    *,
    in_parallel: bool = False,
) -> Windows:
    """Cut Docs into windows.

    get_spans (SpanGetter): Chooses what is read together. Words in no span get no
        prediction.
    tokenizer (tokenizers.Tokenizer): The backbone's, without padding or truncation.
    in_parallel (bool): Whether it may use all cores, which a fork of the process then
        cannot: for where these would wait for another device.
    """
    lengths = [len(doc) for doc in docs]
    pieces = _read_pieces(docs, get_spans, tokenizer, in_parallel)
    pieces, cut = _cut_tails(pieces, layout.longest_word)
    ends = numpy.cumsum(lengths)
    n_cut = 0
    for word in cut.tolist():
        number = int(numpy.searchsorted(ends, word, side="right"))
        n_cut += not docs[number][word - int(ends[number])].is_space
    return _cut_windows(pieces, lengths, layout, n_cut)


@dataclass
class _Pieces:
    """Word pieces of all spans, one after the other.

    ids, first_words, last_words: As in `Windows`, without special pieces.
    begins: bool (n_pieces), whether a piece is the first one of its word in its span.
    sizes: int64 (n_spans), pieces of each span.
    """

    ids: Array
    first_words: Array
    last_words: Array
    begins: Array
    sizes: Array


def _read_pieces(
    docs: List[Doc], get_spans: SpanGetter, tokenizer: "Tokenizer", in_parallel: bool
) -> _Pieces:
    """Pieces of the spans of Docs, and the words of their first and last characters."""
    begins, ends, is_space, text_starts = _token_chars(docs)
    texts: List[str] = []
    starts: List[int] = []
    for spans, text_start in zip(get_spans(docs), text_starts):
        texts += [span.text for span in spans]
        starts += [text_start + span.start_char for span in spans]
    if in_parallel:
        encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    else:
        encodings = [tokenizer.encode(x, add_special_tokens=False) for x in texts]
    ids: List[int] = []
    chars: List[int] = []
    sizes = [len(encoding) for encoding in encodings]
    for encoding in encodings:
        ids += encoding.ids
        chars += chain.from_iterable(encoding.offsets)
    span_sizes = numpy.array(sizes, dtype="int64")
    bounds = numpy.array(chars, dtype="int64")
    shift = numpy.repeat(numpy.array(starts, dtype="int64"), span_sizes)
    first, last = _words_of(bounds.reshape(-1, 2) + shift[:, None], begins, ends)
    first = _without_blanks(first, last, is_space)
    return _Pieces(
        numpy.array(ids, dtype="int64"),
        first,
        last,
        _begins_word(first, len(begins), span_sizes),
        span_sizes,
    )


def _token_chars(docs: List[Doc]) -> Tuple[Array, Array, Array, List[int]]:
    """Where each token begins and ends in the texts of the Docs, laid end to end with
    room between them; whether it is of blanks; and where each text begins there."""
    none = numpy.zeros((0, 3), dtype="int64")
    rows = [doc.to_array([IDX, LENGTH, IS_SPACE]).reshape(-1, 3) for doc in docs]
    chars = numpy.concatenate([none, *rows]).astype("int64")
    begins, ends, is_space = chars[:, 0], chars[:, :2].sum(1), chars[:, 2] > 0
    text_starts, start, n_words = [], 0, 0
    for doc in docs:
        text_starts.append(start)
        if len(doc):
            n_words += len(doc)
            start += int(ends[n_words - 1]) + 2
    lengths = [len(doc) for doc in docs]
    shift = numpy.repeat(numpy.array(text_starts, dtype="int64"), lengths)
    return begins + shift, ends + shift, is_space, text_starts


def _words_of(chars: Array, begins: Array, ends: Array) -> Tuple[Array, Array]:
    """Words of the first and of the last character of each piece, -1 for pure space.

    chars: int64 (n_pieces, 2), character bounds of pieces. begins, ends: Of words."""
    first = numpy.searchsorted(begins, chars[:, 0], side="right") - 1
    # A piece that begins with the space before a word belongs to that word.
    in_space = (first < 0) | (chars[:, 0] >= ends[first])
    first = numpy.where(in_space, first + 1, first)
    last = numpy.searchsorted(begins, chars[:, 1] - 1, side="right") - 1
    empty = chars[:, 1] <= chars[:, 0]
    none = empty | (first >= len(begins)) | (last < first)
    first[none] = NONE
    last[none] = NONE
    return first, last


def _without_blanks(first: Array, last: Array, is_space: Array) -> Array:
    """First words of pieces, of which a token of blanks is none: a byte-level piece
    takes in the blank before its word, which in "in  Berlin" is a token.

    first, last: int64 (n_pieces). is_space: bool (n_words)."""
    if not is_space.any():
        return first
    index = numpy.arange(len(is_space))
    later = numpy.where(is_space, len(is_space), index)
    next_word = numpy.minimum.accumulate(later[::-1])[::-1]
    return numpy.where(first >= 0, numpy.minimum(next_word[first], last), NONE)


def _begins_word(words: Array, n_words: int, span_sizes: Array) -> Array:
    """Whether a piece is the first one of its word in its span.
    words: int64 (n_pieces)."""
    # A word counts anew in each span: spans may share words.
    spans = numpy.repeat(numpy.arange(len(span_sizes)), span_sizes)
    known = numpy.where(words >= 0, words + spans * n_words, NONE)
    # Pieces of pure space can stand inside a word, too.
    so_far = numpy.maximum.accumulate(known)
    begins = known >= 0
    begins[1:] &= known[1:] != so_far[:-1]
    return begins


def _cut_tails(pieces: _Pieces, longest_word: int) -> Tuple[_Pieces, Array]:
    """Drop the pieces of a word (and of the space after it) after its first
    `longest_word` ones, but none that reaches into the next word. Gives the words
    that lost some, too."""
    sizes, first = pieces.sizes, pieces.first_words
    index = numpy.arange(len(first))
    begins = numpy.where(pieces.begins, index, 0)
    span_starts = numpy.cumsum(sizes) - sizes
    begins = numpy.maximum(begins, numpy.repeat(span_starts, sizes))
    word_start = numpy.maximum.accumulate(begins)
    keep = (index - word_start < longest_word) | (pieces.last_words > first)
    if keep.all():
        return pieces, first[:0]
    spans = numpy.repeat(numpy.arange(len(sizes)), sizes)[keep]
    kept = _Pieces(
        pieces.ids[keep],
        first[keep],
        pieces.last_words[keep],
        pieces.begins[keep],
        numpy.bincount(spans, minlength=len(sizes)),
    )
    cut = numpy.unique(first[~keep])
    return kept, cut[cut >= 0]


def _bounds(n_pieces: int, layout: Layout) -> Iterator[Tuple[int, int]]:
    """As few windows as the layout allows, evenly spaced and of one length."""
    overlap = layout.window - layout.stride
    n_windows = -(-max(n_pieces - overlap, 1) // layout.stride)
    length = -(-(n_pieces + (n_windows - 1) * overlap) // n_windows)
    if length:
        for i in range(n_windows):
            start = i * (n_pieces - length) // max(n_windows - 1, 1)
            yield start, start + length


def _cut_windows(
    pieces: _Pieces, lengths: List[int], layout: Layout, n_cut: int
) -> Windows:
    """Windows of spans, with special pieces around each."""
    bounds, span_start = [], 0
    for size in pieces.sizes.tolist():
        for start, end in _bounds(size, layout):
            bounds.append((span_start + start, span_start + end))
        span_start += size
    begins, ends = numpy.array(bounds, dtype="int64").reshape(-1, 2).T
    before, after = len(layout.prefix), len(layout.suffix)
    sizes = ends - begins + before + after
    starts = numpy.cumsum(sizes) - sizes
    window = numpy.repeat(numpy.arange(len(sizes)), sizes)
    place = numpy.arange(len(window)) - starts[window] - before  # in the window
    text = numpy.flatnonzero((place >= 0) & (place < (ends - begins)[window]))
    source = place[text] + begins[window[text]]

    ids = numpy.empty(len(window), dtype="int64")
    ids[text] = pieces.ids[source]
    for i, piece in enumerate(layout.prefix):
        ids[starts + i] = piece
    for i, piece in enumerate(layout.suffix):
        ids[starts + sizes - after + i] = piece
    first, last = numpy.full((2, len(window)), NONE, dtype="int64")
    first[text] = pieces.first_words[source]
    last[text] = pieces.last_words[source]

    # A window that starts inside a word does not read it.
    reads = text[pieces.begins[source]]
    context = numpy.minimum(place, (ends - begins)[window] - 1 - place)[reads]
    best = _best_windows(first[reads], context, window[reads], sum(lengths))
    here = first >= 0
    here[here] = best[first[here]] == window[here]
    word_rows = _word_rows(first, last, here, len(best))
    return Windows(ids, first, last, here, starts, sizes, word_rows, lengths, n_cut)


def _best_windows(words: Array, contexts: Array, windows: Array, n_words: int) -> Array:
    """int64 (n_words), the window in which each word has most context, the first one
    of several; -1 where there is none.

    words, contexts, windows: int64 (n), where words begin in windows."""
    best_context = numpy.full(n_words, NONE, dtype="int64")
    numpy.maximum.at(best_context, words, contexts)
    best = contexts == best_context[words]
    best_window = numpy.full(n_words, NONE, dtype="int64")
    best_window[words[best][::-1]] = windows[best][::-1]  # the first one comes last
    return best_window


def _word_rows(first: Array, last: Array, here: Array, n_words: int) -> Array:
    """Row of each word's first piece. A word inside a piece that began in an earlier
    word ("cannot" as two tokens and one piece) is read from that piece."""
    word_rows = numpy.full(n_words, NONE, dtype="int64")
    rows = numpy.flatnonzero(here)[::-1]
    word_rows[first[rows]] = rows  # from the back: a word's first piece comes last
    # From the window of the earlier word if the piece is there, else from any.
    across = last > first
    for row in numpy.append(
        numpy.flatnonzero(across & here), numpy.flatnonzero(across)
    ):
        inner = numpy.arange(first[row] + 1, last[row] + 1)
        word_rows[inner[word_rows[inner] < 0]] = row
    return word_rows
