"""What the parts of the model hand each other."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Optional

import numpy

if TYPE_CHECKING:
    import torch

# A word that no piece stands for, and a piece that stands for no word.
NONE = -1
# Word targets: a class index, or one of these two.
NO_ENTITY = -1
NO_TARGET = -2


@dataclass
class WordFeatures:
    """What a network says of the words of some Docs, in prediction.

    features: float32 (n, width), of the first piece of each word that has one; a tensor
        on the model's device without gradients, or an array of an exported model.
    piece_ids: int64 (n), the first pieces' ids. words: int64 (n), which words these
        are, counted over the concatenated Docs, in no particular order. On the host.
    lengths: words per Doc.
    """

    features: Any
    piece_ids: numpy.ndarray
    words: numpy.ndarray
    lengths: List[int]


@dataclass
class Pieces:
    """The pieces that are read in training, without special ones; on the host.

    ids: int64 (n). first_words, last_words: int64 (n), word of the piece's first and
        last character, counted over the concatenated Docs.
    """

    ids: numpy.ndarray
    first_words: numpy.ndarray
    last_words: numpy.ndarray


@dataclass
class PieceScores:
    """Scores of the pieces of some Docs in training; also the gradient of a loss that
    is summed over pieces.

    scores: float32 (n, n_rivals + n_labels), on the model's device: of what a label has
        to outscore (rows of the vocabulary, or "no entity"), then of the labels.
    own: int64 (n), the rival that is right where a piece is in no entity; on the
        device.
    n_rivals: How many rivals there are.
    rival_ids: int64 (n_rivals), their ids in the vocabulary; None: all of it in order,
        or what is no vocabulary. On the host.
    pieces: Which pieces these are.
    n_lossy: Of a gradient: how many pieces carry a loss.
    """

    scores: "torch.Tensor"
    own: "torch.Tensor"
    n_rivals: int
    rival_ids: Optional[numpy.ndarray]
    pieces: Pieces
    n_lossy: int = 0
