"""Neighbouring words of one class are one entity: the IO scheme."""

from typing import Callable, Iterable, List, Tuple

import numpy
from spacy.tokens import Doc
from spacy.training import Example

from .types import DocEntities, LabelScores


class IODecoder:
    """Neighbouring words of one class are one entity; its confidence is the mean over
    its words of p(class). White space is no word: an entity neither begins nor ends
    with it, and a line break ends one, as does the end of a sentence."""

    needs_probs = False
    few_shot_calibration = (0.58, -1.65)

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], labels: Tuple[str, ...]
    ) -> None:
        """There is nothing to learn."""

    def __call__(self, scores: LabelScores, docs: List[Doc]) -> List[DocEntities]:
        """Decode the words of some Docs."""
        return find_entities(scores, docs)

    def to_bytes(self) -> bytes:
        """Nothing was learned."""
        return b""

    def from_bytes(self, data: bytes) -> "IODecoder":
        """Nothing was learned."""
        return self


def find_entities(scores: LabelScores, docs: List[Doc]) -> List[DocEntities]:
    """What `IODecoder` finds, from the best class and confidence of all words."""
    best, confidence = to_host(scores)
    decoded = []
    start = 0
    for doc, length in zip(docs, scores.lengths):
        words = slice(start, start + length)
        decoded.append(_entities(doc, best[words], confidence[words]))
        start += length
    return decoded


def to_host(scores: LabelScores) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Best classes (int64) and confidences (float32), in one copy from the device."""
    if isinstance(scores.best, numpy.ndarray):
        return scores.best, numpy.asarray(scores.confidence)
    import cupy

    # Class indices are small enough for float32 to hold them exactly.
    both = cupy.asnumpy(cupy.stack([scores.best.astype("f"), scores.confidence]))
    return both[0].astype("int64"), both[1]


def _entities(doc: Doc, best: numpy.ndarray, confidence: numpy.ndarray) -> DocEntities:
    spans: List[Tuple[int, int, int]] = []
    confidences: List[float] = []
    start = end = -1
    label = -1
    total, n_words = 0.0, 0

    def close() -> None:
        if label >= 0:
            spans.append((start, end, label))
            confidences.append(total / n_words)

    # Words that are no entity and follow none need no look: jump between the others.
    previous = -1
    for i in numpy.flatnonzero(best >= 0).tolist():
        if doc[i].is_space:
            continue
        if label == best[i] and _joined(doc, previous, i):
            end, total, n_words = i + 1, total + float(confidence[i]), n_words + 1
        else:
            close()
            start, end, label = i, i + 1, int(best[i])
            total, n_words = float(confidence[i]), 1
        previous = i
    close()
    return DocEntities(
        numpy.array(spans, dtype="int64").reshape(-1, 3),
        numpy.array(confidences, dtype="float32"),
    )


def _joined(doc: Doc, left: int, right: int) -> bool:
    """Whether only white space without a line break stands between two words of a
    sentence."""
    between = doc[left + 1 : right]
    if any(token.is_sent_start for token in doc[left + 1 : right + 1]):
        return False
    return all(token.is_space and "\n" not in token.text for token in between)
