"""What the parts of the model hand each other."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Optional

import numpy

if TYPE_CHECKING:
    import torch

    from ..label_words.rows import Rows

# A word that no piece stands for, and a piece that stands for no word.
NONE = -1
# Word targets: a class index, or one of these two.
NO_ENTITY = -1
NO_TARGET = -2
# A word's own piece must win by more than rounding.
MARGIN = 1e-3
# Words that are scored at once, against so many rows of the vocabulary on a CPU: with
# half the words, or all rows, it takes half as long again (benchmarks/RESULTS.md).
BLOCK_WORDS = 512
CPU_CHUNK_ROWS = 1024


@dataclass
class PieceFeatures:
    """What the network says of some Docs. In prediction one row a word, that of its
    first piece; in training one row a piece.

    features: float32 (n, width), a tensor on the model's device, without gradients;
        of an exported model an array.
    piece_ids: int64 (n), ids in the vocabulary, on the host.
    first_words: int64 (n), word of the piece's first character, counted over the
        concatenated Docs; last_words: of its last character. In prediction both are
        the word itself. On the host.
    lengths: words per Doc.
    """

    features: Any
    piece_ids: numpy.ndarray
    first_words: numpy.ndarray
    last_words: numpy.ndarray
    lengths: List[int]


@dataclass
class PieceGradient:
    """Gradient of a loss that is summed over pieces; what `backprop` takes.

    features: float32 (n, width), of `PieceFeatures.features`.
    vocabulary: of the output matrix, None where that does not learn; labels: of the
        label rows.
    n_pieces: how many pieces carry a loss.
    """

    features: "torch.Tensor"
    vocabulary: Optional["Rows"]
    labels: "Rows"
    n_pieces: int
