"""Neighbouring words of one class are one entity: the IO scheme."""

from typing import Any, Callable, Iterable, List, Optional, Tuple

import numpy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import get_array_module

from .lines import SpanLines, breaks_line
from .types import NO_LABEL, DocEntities, LabelScores


class IODecoder:
    """Neighbouring words of one class are one entity; its confidence is the mean over
    its words of p(class). White space is no word: an entity neither begins nor ends
    with it. A line break ends one, but of the classes of `lines`, and so does the end
    of a sentence."""

    few_shot_calibration = (0.70, -1.33)
    by_name_calibration = (0.62, -1.32)

    def __init__(self, span_lines: Optional[bool] = None) -> None:
        """span_lines (Optional[bool]): As the setting of `SpanLines`."""
        self.lines = SpanLines(span_lines)

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], labels: Tuple[str, ...]
    ) -> None:
        """Learn which classes have entities over line breaks."""
        self.lines.learn((eg.reference for eg in get_examples()), labels)

    def __call__(self, scores: LabelScores, docs: List[Doc]) -> List[DocEntities]:
        """Decode the words of some Docs."""
        probs: Any = scores.probs
        if not probs.shape[1]:
            return find_entities(*_none(scores), scores.lengths, docs, self.lines)
        xp = get_array_module(probs)
        best, confidence = probs.argmax(axis=1), probs.max(axis=1)
        wins = confidence > scores.outside
        best = xp.where(wins, best, NO_LABEL)
        return find_entities(best, confidence, scores.lengths, docs, self.lines)

    def to_bytes(self) -> bytes:
        """What was learned; empty if that is nothing."""
        return self.lines.to_bytes()

    def from_bytes(self, data: bytes) -> "IODecoder":
        """Undo `to_bytes`. RAISES (ValueError): If the data is something else's."""
        self.lines.from_bytes(data)
        return self


def find_entities(
    best: Any,
    confidence: Any,
    lengths: List[int],
    docs: List[Doc],
    lines: SpanLines,
) -> List[DocEntities]:
    """Entities from the class of each word and its confidence.

    best: int64 (n_words), class, or NO_LABEL. confidence: float32 (n_words).
    lengths: words per Doc. lines: Classes whose entities may go over line breaks.
    """
    best, confidence = _to_host(best, confidence)
    decoded = []
    start = 0
    for doc, length in zip(docs, lengths):
        words = slice(start, start + length)
        decoded.append(_entities(doc, best[words], confidence[words], lines))
        start += length
    return decoded


def _none(scores: LabelScores) -> Tuple[numpy.ndarray, numpy.ndarray]:
    n_words = len(scores.outside)
    return numpy.full(n_words, NO_LABEL), numpy.zeros(n_words, dtype="float32")


def _to_host(best: Any, confidence: Any) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Both, in one copy from the device."""
    if isinstance(best, numpy.ndarray):
        return best, numpy.asarray(confidence)
    import cupy

    # Class indices are small enough for float32 to hold them exactly.
    both = cupy.asnumpy(cupy.stack([best.astype("f"), confidence]))
    return both[0].astype("int64"), both[1]


def _entities(
    doc: Doc, best: numpy.ndarray, confidence: numpy.ndarray, lines: SpanLines
) -> DocEntities:
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
        if label == best[i] and _joined(doc, previous, i, lines.allows(label)):
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


def _joined(doc: Doc, left: int, right: int, over_lines: bool) -> bool:
    """Whether only white space stands between two words of a sentence; with a line
    break only where entities may go over one."""
    between = doc[left + 1 : right]
    if any(token.is_sent_start for token in doc[left + 1 : right + 1]):
        return False
    if not all(token.is_space for token in between):
        return False
    return over_lines or not breaks_line(doc, left + 1, right)
