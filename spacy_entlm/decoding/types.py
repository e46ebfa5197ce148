"""What a model hands a decoder, and what a decoder gives back."""

from dataclasses import dataclass
from typing import Callable, Iterable, List, Optional, Protocol, Tuple, Union

import numpy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d, Floats2d, Ints1d

# In `LabelScores.best`: the word is in no entity.
NO_LABEL = -1

# What is added to the scores of classes: one for all, or float32 (n_words, n_labels).
Bias = Union[float, numpy.ndarray]


@dataclass
class LabelScores:
    """Scores of the words of some Docs, concatenated, on the model's device.

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
class DocEntities:
    """Entities of one Doc, in order, without overlap.

    spans: int64 (n_entities, 3), first word, end, class index.
    confidences: float32 (n_entities).
    """

    spans: numpy.ndarray
    confidences: numpy.ndarray


class Decoder(Protocol):
    """What the component asks of a decoder.

    needs_probs: whether `LabelScores.probs` is wanted.
    probability_floor: classes less probable than this share of the vocabulary's best
        word may be given as 0, and that word as 1. A decoder may leave it out: 0.
    few_shot_calibration: scale and shift of log-odds that make its confidences the
        share that is right, after a training on few examples (benchmarks/RESULTS.md).
        It may be left out.
    """

    needs_probs: bool

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], labels: Tuple[str, ...]
    ) -> None:
        """Learn from annotated examples."""

    def __call__(self, scores: LabelScores, docs: List[Doc]) -> List[DocEntities]:
        """Decode the words of some Docs."""

    def to_bytes(self) -> bytes:
        """What was learned."""

    def from_bytes(self, data: bytes) -> "Decoder":
        """Take what was learned."""
