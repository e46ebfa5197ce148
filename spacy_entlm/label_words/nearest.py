"""The words of a vocabulary that are nearest to a row: what a class starts as."""

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
    """The `n` words whose rows have the greatest cosine with a row.

    row: float32 (width). vocabulary: float32 (n_pieces, width).
    tokenizer (PreTrainedTokenizerFast): The backbone's.
    """
    vocabulary = vocabulary[: len(tokenizer)]
    norms = numpy.linalg.norm(vocabulary, axis=1) * numpy.linalg.norm(row)
    cosines = vocabulary @ row / numpy.maximum(norms, numpy.finfo(row.dtype).tiny)
    cosines[tokenizer.all_special_ids] = -numpy.inf
    found = []
    for piece in numpy.argsort(-cosines, kind="stable")[:n].tolist():
        word = piece_as_word(tokenizer.convert_ids_to_tokens(piece), tokenizer)
        found.append(NearWord(word, piece, float(cosines[piece])))
    return found
