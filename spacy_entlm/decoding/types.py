"""What a model hands a decoder, and what a decoder gives back."""

from dataclasses import dataclass
from typing import Callable, Iterable, List, Protocol, Tuple

import numpy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d, Floats2d

# The word is in no entity.
NO_LABEL = -1


@dataclass
class LabelScores:
    """Scores of the words of some Docs, concatenated, on the model's device.

    probs: Floats2d (n_words, n_labels), p(class).
    outside: Floats1d (n_words), p(no class); with those of the classes the sum is 1.
    lengths: words per Doc.
    """

    probs: Floats2d
    outside: Floats1d
    lengths: List[int]


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

    few_shot_calibration: scale and shift of log-odds that make its confidences the
        share that is right, after a training on few examples (benchmarks/RESULTS.md).
        It may be left out.
    by_name_calibration: the same of classes that began by their names and have seen
        no example. Without it the other one serves.
    """

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
