"""What the parts of the model hand each other."""

from dataclasses import dataclass
from typing import List, Optional

import numpy
from thinc.types import Floats1d, Floats2d, Ints1d

# A word that no piece stands for, and a piece that stands for no word.
NONE = -1
# Word targets: a class index, or one of these two.
NO_ENTITY = -1
NO_TARGET = -2


@dataclass
class LabelScores:
    """What the model hands the decoder: words of all Docs concatenated, on the device.

    best: Ints1d (n_words), index of the class that outscores the vocabulary, or -1.
    confidence: Floats1d (n_words), p(best class); 0 where there is none.
    probs: Floats2d (n_words, n_labels), p(class), only if the decoder asked for it.
    lengths: words per Doc.
    word_prob: Floats1d (n_words), p(the vocabulary's best word), with `probs`.
    """

    best: Ints1d
    confidence: Floats1d
    probs: Optional[Floats2d]
    lengths: List[int]
    word_prob: Optional[Floats1d] = None


@dataclass
class PieceFeatures:
    """Features of the pieces that carry the objective, one row a piece.

    features: Floats2d (n_pieces, width), on the device.
    piece_ids: int64 (n_pieces), ids in the vocabulary, on the host.
    first_words: int64 (n_pieces), word of the piece's first character, counted over
        the concatenated Docs; last_words: of its last character.
    lengths: words per Doc.
    """

    features: Floats2d
    piece_ids: numpy.ndarray
    first_words: numpy.ndarray
    last_words: numpy.ndarray
    lengths: List[int]
