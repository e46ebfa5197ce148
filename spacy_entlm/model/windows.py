"""Docs -> windows of word pieces, and which piece stands for which word.

The span getter says what is read together; a span of more pieces than a window takes is
cut into windows of one length that overlap, and each word is read from the window in
which it has most context. Pieces come from the Doc's own text, so that spaces count
where the tokenizer counts them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, List, Optional, Tuple

import numpy
from spacy.attrs import IDX, LENGTH
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
        Docs) of a piece's first and last character; -1: special piece or space.
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
    docs: List[Doc], get_spans: SpanGetter, tokenizer: "Tokenizer", layout: Layout
) -> Windows:
    """Cut Docs into windows.

    get_spans (SpanGetter): Chooses what is read together. Words in no span get no
        prediction.
    tokenizer (tokenizers.Tokenizer): The backbone's, without padding or truncation.
    """
    lengths = [len(doc) for doc in docs]
    n_words = sum(lengths)
    parts: List[Tuple[Array, ...]] = []
    best_context = numpy.full(n_words, -1, dtype="int64")
    best_window = numpy.full(n_words, NONE, dtype="int64")
    n_cut = 0
    offset = 0
    for doc, spans in zip(docs, get_spans(docs)):
        # Where each token begins and ends in doc.text.
        token_chars = doc.to_array([IDX, LENGTH]).astype("int64").reshape(-1, 2)
        token_chars[:, 1] += token_chars[:, 0]
        for span in spans:
            ids, first, last = _span_pieces(span, token_chars, tokenizer)
            ids, first, last, cut = _cut_tails(ids, first, last, layout.longest_word)
            n_cut += sum(not doc[word].is_space for word in cut.tolist() if word >= 0)
            first, last = _shift(first, offset), _shift(last, offset)
            # A window that starts inside a word does not read it.
            read = numpy.where(_begins_word(first), first, NONE)
            for start, end in _bounds(len(ids), layout):
                _note_context(read[start:end], len(parts), best_context, best_window)
                parts.append((ids[start:end], first[start:end], last[start:end]))
        offset += len(doc)
    return _join(parts, best_window, lengths, layout, n_cut)


def _span_pieces(
    span: Span, token_chars: Array, tokenizer: "Tokenizer"
) -> Tuple[Array, Array, Array]:
    """Piece ids of a span of tokens; the words of their first and last characters."""
    encoding = tokenizer.encode(span.text, add_special_tokens=False)
    ids = numpy.array(encoding.ids, dtype="int64")
    chars = numpy.array(encoding.offsets, dtype="int64").reshape(-1, 2)
    return (ids, *_words_of(chars + span.start_char, token_chars))


def _words_of(chars: Array, token_chars: Array) -> Tuple[Array, Array]:
    """Words of the first and of the last character of each piece, -1 for pure space.

    chars: int64 (n_pieces, 2), character bounds of pieces in doc.text."""
    begins, ends = token_chars[:, 0], token_chars[:, 1]
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


def _shift(words: Array, offset: int) -> Array:
    return numpy.where(words >= 0, words + offset, NONE)


def _cut_tails(
    ids: Array, first: Array, last: Array, longest_word: int
) -> Tuple[Array, Array, Array, Array]:
    """Drop the pieces of a word (and of the space after it) after its first
    `longest_word` ones, but none that reaches into the next word. Gives the words
    that lost some, too."""
    if len(ids) <= longest_word:
        return ids, first, last, first[:0]
    index = numpy.arange(len(first))
    word_start = numpy.maximum.accumulate(numpy.where(_begins_word(first), index, 0))
    keep = (index - word_start < longest_word) | (last > first)
    return ids[keep], first[keep], last[keep], numpy.unique(first[~keep])


def _begins_word(words: Array) -> Array:
    """Whether a piece is the first one of its word. words: int64 (n_pieces)."""
    # Pieces of pure space can stand inside a word, too.
    so_far = numpy.maximum.accumulate(words)
    begins = words >= 0
    begins[1:] &= words[1:] != so_far[:-1]
    return begins


def _bounds(n_pieces: int, layout: Layout) -> Iterator[Tuple[int, int]]:
    """As few windows as the layout allows, evenly spaced and of one length."""
    overlap = layout.window - layout.stride
    n_windows = -(-max(n_pieces - overlap, 1) // layout.stride)
    length = -(-(n_pieces + (n_windows - 1) * overlap) // n_windows)
    if length:
        for i in range(n_windows):
            start = i * (n_pieces - length) // max(n_windows - 1, 1)
            yield start, start + length


def _note_context(
    words: Array, window: int, best_context: Array, best_window: Array
) -> None:
    """Note this window for the words that have more context here than so far.

    words: int64 (n_pieces), the word that begins with a piece, or -1."""
    index = numpy.arange(len(words))
    context = numpy.minimum(index, len(words) - 1 - index)
    found, context = words[words >= 0], context[words >= 0]
    better = context > best_context[found]
    best_context[found[better]] = context[better]
    best_window[found[better]] = window


def _join(
    parts: List[Tuple[Array, ...]],
    best_window: Array,
    lengths: List[int],
    layout: Layout,
    n_cut: int,
) -> Windows:
    special = numpy.array([*layout.prefix, *layout.suffix], dtype="int64")
    n_prefix = len(layout.prefix)
    no_word = numpy.full_like(special, NONE)
    columns = []
    for i, around in enumerate((special, no_word, no_word)):
        before, after = around[:n_prefix], around[n_prefix:]
        arrays = [array for part in parts for array in (before, part[i], after)]
        columns.append(numpy.concatenate([special[:0], *arrays]))
    ids, first, last = columns
    sizes = numpy.array([len(part[0]) + len(special) for part in parts], dtype="int64")
    starts = numpy.cumsum(sizes) - sizes
    window_of_row = numpy.repeat(numpy.arange(len(parts)), sizes)
    here = first >= 0
    here[here] = best_window[first[here]] == window_of_row[here]
    word_rows = _word_rows(first, last, here, len(best_window))
    return Windows(ids, first, last, here, starts, sizes, word_rows, lengths, n_cut)


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
