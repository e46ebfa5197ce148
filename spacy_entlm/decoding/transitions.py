"""Abstract transitions between words inside and outside of entities (StructShot: Yang
& Katiyar, 2020).

They are counted without regard to classes, so that they can come from text annotated
with other examples, or with a lexicon, and are then spread over the classes at hand.
"""

from dataclasses import astuple, dataclass, fields
from typing import Dict, Iterable, Sequence

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, SENT_START
from spacy.tokens import Doc

# Added to each count: what was never seen in a few sentences is rare, not impossible.
SMOOTHING = 1.0
# More than any text has words; what float64 holds exactly.
MAX_TRANSITIONS = 2**53
# spaCy's codes of doc.to_array.
IOB_MISSING, IOB_OUTSIDE = 0, 2
STARTS_SENTENCE = 1


@dataclass
class TransitionCounts:
    """How often a word of one kind follows another, in sentences.

    "start" is before the first word, "outside" a word of no entity, "inside" a word of
    an entity; "same" is an entity word after one of the same class, "other" of another.
    """

    start_outside: int = 0
    start_inside: int = 0
    outside_outside: int = 0
    outside_inside: int = 0
    inside_outside: int = 0
    inside_same: int = 0
    inside_other: int = 0

    @property
    def n_inside(self) -> int:
        """Words of entities that were seen."""
        after_inside = self.inside_same + self.inside_other
        return self.start_inside + self.outside_inside + after_inside

    @property
    def begin_rate(self) -> float:
        """Entities that begin, for each word that follows no entity."""
        inside = self.start_inside + self.outside_inside
        return inside / max(inside + self.start_outside + self.outside_outside, 1)

    @classmethod
    def from_dict(cls, data: Dict[str, int]) -> "TransitionCounts":
        """Undo `dataclasses.asdict`.

        RAISES (ValueError): If that is no map of these counts.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            problem = f"Transition counts have {sorted(names)}, not {data!r:.100}"
            raise ValueError(problem)
        for name, count in data.items():
            # type() and not isinstance(): true is no count.
            if type(count) is not int or not 0 <= count <= MAX_TRANSITIONS:
                raise ValueError(f"Transition count {name} is {count!r:.100}")
        return cls(**data)


def sentence_starts(doc: Doc) -> numpy.ndarray:
    """bool (n_tokens), whether a token begins a sentence; without any, the Doc is
    one."""
    # Codes are signed, what to_array gives is not.
    starts = doc.to_array([SENT_START]).astype("int64").ravel() == STARTS_SENTENCE
    starts[:1] = True
    return starts


def words_of(doc: Doc) -> numpy.ndarray:
    """bool (n_tokens), whether a token is a word: white space is none."""
    return doc.to_array([IS_SPACE]).ravel() == 0


def count_transitions(docs: Iterable[Doc], labels: Sequence[str]) -> TransitionCounts:
    """Count the transitions between the words of sentences.

    docs (Iterable[Doc]): Annotated Docs. White space is left out, and so is what
        touches a word whose annotation is missing.
    labels (Sequence[str]): Entities of other labels count as none.
    """
    counts = [astuple(_count_doc(doc, labels)) for doc in docs if len(doc)]
    return TransitionCounts(*map(sum, zip(*counts)))


def _count_doc(doc: Doc, labels: Sequence[str]) -> TransitionCounts:
    words, strings = words_of(doc), doc.vocab.strings
    iob, types = doc.to_array([ENT_IOB, ENT_TYPE])[words].T
    wanted = [strings[label] for label in labels if label in strings]
    known = iob != IOB_MISSING
    inside = (iob != IOB_OUTSIDE) & known
    inside &= numpy.isin(types, numpy.array(wanted, dtype=types.dtype))
    sentences = numpy.cumsum(sentence_starts(doc))[words]
    first = numpy.diff(sentences, prepend=0) > 0
    left, right = inside[:-1], inside[1:]
    follows = known[:-1] & known[1:] & ~first[1:]
    same = types[:-1] == types[1:]

    def count(chosen: numpy.ndarray) -> int:
        return int(chosen.sum())

    return TransitionCounts(
        start_outside=count(first & known & ~inside),
        start_inside=count(first & inside),
        outside_outside=count(follows & ~left & ~right),
        outside_inside=count(follows & ~left & right),
        inside_outside=count(follows & left & ~right),
        inside_same=count(follows & left & right & same),
        inside_other=count(follows & left & right & ~same),
    )


def transition_matrix(
    counts: TransitionCounts, n_labels: int, tau: float
) -> numpy.ndarray:
    """Spread counts over classes, raise the probabilities to tau and renormalise.

    tau (float): From 0, all transitions alike, to 1, as they were counted.
    RETURNS: float32 (2 + n_labels, 1 + n_labels), from row to column: rows are the
        start, outside, and the classes, columns are outside and the classes.
    """
    matrix = numpy.zeros((2 + n_labels, 1 + n_labels))
    rows = (
        (slice(0, 1), counts.start_outside, counts.start_inside),
        (slice(1, 2), counts.outside_outside, counts.outside_inside),
    )
    for row, outside, inside in rows:
        shares = _shares(outside, inside)
        matrix[row, 0] = shares[0]
        matrix[row, 1:] = shares[1] / max(n_labels, 1)
    events = [counts.inside_outside, counts.inside_same]
    if n_labels > 1:  # else there is no other class
        events.append(counts.inside_other)
    shares = _shares(*events)
    matrix[2:, 0] = shares[0]
    matrix[2:, 1:] = shares[2] / (n_labels - 1) if n_labels > 1 else 0.0
    numpy.fill_diagonal(matrix[2:, 1:], shares[1])
    powered = matrix**tau
    return (powered / powered.sum(axis=1, keepdims=True)).astype("float32")


def _shares(*counts: int) -> numpy.ndarray:
    smoothed = numpy.array(counts, dtype="float64") + SMOOTHING
    return smoothed / smoothed.sum()
