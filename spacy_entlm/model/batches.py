"""Docs -> groups, windows -> batches: of like length, so that little is padded."""

from dataclasses import dataclass
from typing import Iterable, Iterator, List, Optional, Tuple

import numpy
from spacy.tokens import Doc

from .types import NONE
from .windows import Windows


@dataclass
class Batch:
    """Some windows, padded to the longest.

    input_ids: int64 (n_windows, longest); attention_mask: int64, the same shape.
    rows: int64 (n_windows, longest), the row in `Windows`, -1 where padded.
    words: int64 (n), the words read from this batch.
    word_positions: int64 (n), their first pieces in the flattened batch.
    """

    input_ids: numpy.ndarray
    attention_mask: numpy.ndarray
    rows: numpy.ndarray
    words: numpy.ndarray
    word_positions: numpy.ndarray


def doc_groups(
    docs: Iterable[Doc], most_words: int, most_docs: Optional[int] = None
) -> Iterator[List[Doc]]:
    """Group Docs in their order: a group ends with its last Doc, or the one with which
    it has `most_words` or more."""
    group: List[Doc] = []
    n_words = 0
    for doc in docs:
        group.append(doc)
        n_words += len(doc)
        if n_words >= most_words or len(group) == most_docs:
            yield group
            group, n_words = [], 0
    if group:
        yield group


def iter_batches(
    windows: Windows, max_batch_pieces: int, max_padding: Optional[int] = None
) -> Iterator[Batch]:
    """Group windows of like length into batches.

    max_batch_pieces (int): Most pieces of a batch, padding counted; a batch holds one
        window at least.
    max_padding (Optional[int]): Most of them that are padding; None: any number.
    """
    order = numpy.argsort(-windows.sizes, kind="stable")
    by_window = _words_by_window(windows)
    sizes = windows.sizes[order].tolist()
    begin = 0
    while begin < len(order):
        longest, padding = sizes[begin], 0
        limit = begin + max(1, max_batch_pieces // max(longest, 1))
        end = begin + 1
        while end < min(limit, len(sizes)):
            padding += longest - sizes[end]
            if max_padding is not None and padding > max_padding:
                break
            end += 1
        # In the order of the text: dropout then does not depend on lengths.
        chosen = numpy.sort(order[begin:end])
        yield _batch(windows, chosen, longest, by_window)
        begin = end


def _batch(
    windows: Windows,
    chosen: numpy.ndarray,
    longest: int,
    by_window: Tuple[numpy.ndarray, numpy.ndarray],
) -> Batch:
    starts = windows.starts[chosen]
    columns = numpy.arange(longest)
    real = columns < windows.sizes[chosen][:, None]
    rows = numpy.where(real, starts[:, None] + columns, NONE)
    # What padding holds does not matter, it is masked: any id of the vocabulary.
    input_ids = numpy.where(real, windows.ids[rows], 0)
    words, bounds = by_window
    per_window = [words[bounds[window] : bounds[window + 1]] for window in chosen]
    batch_words = numpy.concatenate(per_window or [words[:0]])
    slots = numpy.repeat(numpy.arange(len(chosen)), [len(part) for part in per_window])
    positions = windows.word_rows[batch_words] - starts[slots] + slots * longest
    return Batch(input_ids, real.astype("int64"), rows, batch_words, positions)


def _words_by_window(windows: Windows) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Words sorted by the window from which they are read, and where those of each
    window begin (n_windows + 1)."""
    words = numpy.flatnonzero(windows.word_rows >= 0)
    window = numpy.searchsorted(windows.starts, windows.word_rows[words], side="right")
    order = numpy.argsort(window, kind="stable")
    bounds = numpy.searchsorted(window[order] - 1, numpy.arange(len(windows.sizes) + 1))
    return words[order], bounds
