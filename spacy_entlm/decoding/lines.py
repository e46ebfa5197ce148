"""Entities and line breaks: which classes have entities that go over one."""

import json
import logging
from collections import Counter
from typing import (
    Any,
    Collection,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from spacy.tokens import Doc

from ..files.counts import sentence_of
from ..files.text import LINE_BREAK

logger = logging.getLogger("spacy.entlm")

# The key of what is saved.
KEY = "span_lines"
# What is told of entities that cannot be learned as they are.
BROKEN = "Entities over a line break, which can never be found whole"
_BROKEN = (
    "entity goes over a line break and can never be found whole",
    "entities go over a line break and can never be found whole",
)


class SpanLines:
    """Classes whose entities may go over a line break, as addresses do, by their
    places among the component's classes. A form feed, a vertical tab and Unicode's
    separators of lines and paragraphs are line breaks, too.

    setting (Optional[bool]): Whether those of all classes may; None: those that do so
        in the examples, more often than two of them stand on neighbouring lines.
    """

    def __init__(self, setting: Optional[bool] = None) -> None:
        self.setting = setting
        self.learned: Tuple[int, ...] = ()

    def learn(self, docs: Iterable[Doc], labels: Sequence[str]) -> None:
        """Find the classes in annotated Docs. Entities that can never be found whole
        are told in a warning."""
        docs = list(docs)
        over = classes_over_lines(docs)
        self.learned = tuple(i for i, label in enumerate(labels) if label in over)
        allowed = [label for i, label in enumerate(labels) if self.allows(i)]
        if broken := broken_entities(docs, allowed):
            logger.warning(
                "%s, eg %s: set span_lines of the decoder to true, or mark the lines "
                "one by one",
                sentence_of(len(broken), *_BROKEN),
                broken[0],
            )

    def allows(self, label: int) -> bool:
        """Whether entities of a class may go over a line break."""
        return label in self.learned if self.setting is None else self.setting

    def to_list(self) -> List[int]:
        """What was learned."""
        return list(self.learned)

    def from_list(self, learned: Any) -> None:
        """Undo `to_list`. RAISES (ValueError): If that is something else."""
        # type() and not isinstance(): true is no number.
        if not isinstance(learned, list) or any(type(i) is not int for i in learned):
            raise ValueError(f"{KEY} holds no numbers of classes: {learned!r:.100}")
        self.learned = tuple(learned)

    def to_bytes(self) -> bytes:
        """What was learned, as JSON; empty if that is nothing."""
        return json.dumps({KEY: self.to_list()}).encode() if self.learned else b""

    def from_bytes(self, data: bytes) -> None:
        """Undo `to_bytes`; of another decoder's data, take what is known here.
        RAISES (ValueError): If that is something else."""
        value = json.loads(data) if data else {}
        self.from_list(value.get(KEY, []) if isinstance(value, dict) else None)


def breaks_line(doc: Doc, start: int, end: int) -> bool:
    """Whether white space with a line break is among some tokens of a Doc."""
    return any(
        token.is_space and LINE_BREAK.search(token.text) for token in doc[start:end]
    )


def _line_ends(doc: Doc) -> Iterator[Tuple[str, bool, bool]]:
    """For each entity its class, whether it goes over a line break, and whether one of
    its class stands on the line before, with nothing between them."""
    before = None
    for ent in doc.ents:
        beside = False
        if before is not None and before.label == ent.label:
            apart = doc[before.end : ent.start]
            is_blank = all(token.is_space for token in apart)
            beside = is_blank and breaks_line(doc, before.end, ent.start)
        yield ent.label_, breaks_line(doc, ent.start, ent.end), beside
        before = ent


def classes_over_lines(docs: Iterable[Doc]) -> Set[str]:
    """Classes whose entities go over line breaks in annotated Docs, more often than two
    of them stand on neighbouring lines."""
    balance: Counter[str] = Counter()
    for doc in docs:
        for label, over, beside in _line_ends(doc):
            balance[label] += over - beside
    return {label for label, n in balance.items() if n > 0}


def broken_entities(docs: Iterable[Doc], allowed: Collection[str]) -> List[str]:
    """Entities over a line break of classes whose entities end there, which can never
    be found whole, with their classes. allowed (Collection[str]): The other classes."""
    return [
        f"{ent.text!r:.60} ({ent.label_})"
        for doc in docs
        for ent in doc.ents
        if ent.label_ not in allowed and breaks_line(doc, ent.start, ent.end)
    ]
