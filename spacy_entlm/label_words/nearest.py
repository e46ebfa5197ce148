"""The words of a vocabulary that are nearest to a row: what a class starts as."""

from itertools import islice
from typing import Any, List, NamedTuple

import numpy

from .lm_counts import piece_as_word


class NearWord(NamedTuple):
    """A word, its piece's number, and the cosine with the row."""

    word: str
    piece: int
    cosine: float


def nearest_words(
    row: numpy.ndarray, vocabulary: numpy.ndarray, tokenizer: Any, n: int
) -> List[NearWord]:
    """The `n` words whose rows have the greatest cosine with a row. Pieces without a
    letter or a digit are no words.

    row: float32 (width). vocabulary: float32 (n_pieces, width).
    tokenizer (PreTrainedTokenizerFast): The backbone's.
    """
    vocabulary = vocabulary[: len(tokenizer)]
    norms = numpy.linalg.norm(vocabulary, axis=1) * numpy.linalg.norm(row)
    cosines = vocabulary @ row / numpy.maximum(norms, numpy.finfo(row.dtype).tiny)
    cosines[tokenizer.all_special_ids] = -numpy.inf
    pieces = numpy.argsort(-cosines, kind="stable").tolist()
    as_words = (
        (piece_as_word(tokenizer.convert_ids_to_tokens(piece), tokenizer), piece)
        for piece in pieces
    )
    words = (
        NearWord(word, piece, float(cosines[piece]))
        for word, piece in as_words
        if any(map(str.isalnum, word))
    )
    return list(islice(words, n))
