"""Texts and answers of a workbench in characters and names of classes, so that those
of two workbenches can be compared."""

import json
import sqlite3
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .adding import NewDocument, NewText
from .agreement import Place
from .changes import ACCEPT, GIVEN, IGNORE, OPEN
from .docs import documents
from .mentions import Words, word_ends, words_at

# First word, end, number of the class.
Spans = Sequence[Tuple[int, int, int]]


class Answer(NamedTuple):
    """What was answered to a text. places: Its marks, None if it never had any.
    is_given: Whether it came with a file, and no person has changed it."""

    answer: str
    places: Optional[List[Place]] = None
    is_given: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether it says something of the text: a skipped one waits for others."""
        return self.answer not in (OPEN, IGNORE)

    def is_like(self, other: "Answer") -> bool:
        """Whether two answers say the same; marks count where they are accepted."""
        same_marks = self.answer != ACCEPT or self.places == other.places
        return self.answer == other.answer and same_marks


class Text(NamedTuple):
    """A text of a workbench. others: Other marks of it that a file gave."""

    id: int
    text: str
    words: Words
    is_test: bool
    answer: Answer
    others: List[List[Place]]


def all_texts(db: sqlite3.Connection, names: Dict[int, str]) -> Dict[str, Text]:
    """The texts of a workbench, by what they say. names (Dict[int, str]): Of the
    classes; marks of other classes are left out."""
    others: Dict[int, List[Spans]] = {}
    for row in db.execute("SELECT text_id, spans FROM others ORDER BY rowid"):
        others.setdefault(row["text_id"], []).append(json.loads(row["spans"]))
    query = (
        "SELECT texts.*, answer, spans, kind FROM texts LEFT JOIN answers ON texts.id "
        "= text_id LEFT JOIN changes ON changes.id = version ORDER BY texts.id"
    )
    found = {}
    for row in db.execute(query):
        words = json.loads(row["words"])
        ends = word_ends(words)
        spans = json.loads(row["spans"] or "null")
        marks = None if spans is None else in_characters(spans, ends, names)
        answer = Answer(row["answer"] or OPEN, marks, row["kind"] == GIVEN)
        own = [in_characters(x, ends, names) for x in others.get(row["id"], ())]
        known = (row["id"], row["text"], words, bool(row["is_test"]))
        found[row["text"]] = Text(*known, answer, own)
    return found


def all_documents(db: sqlite3.Connection) -> Iterator[NewDocument]:
    """What came into a workbench, as it would come into another one, without marks."""
    for whole, keys, parts in documents(db):
        new = [(start, NewText(x["words"], is_test=x["is_test"])) for start, x in parts]
        yield NewDocument(whole, new, keys)


def in_characters(
    spans: Spans, ends: Sequence[Tuple[int, int]], names: Dict[int, str]
) -> List[Place]:
    """Marks by words as marks by characters. ends: As of `word_ends`."""
    return [
        (ends[start][0], ends[end - 1][1], names[number])
        for start, end, number in sorted(spans)
        if number in names
    ]


def in_words(
    places: Sequence[Place], words: Words, numbers: Dict[str, int]
) -> Optional[List[List[int]]]:
    """Marks by characters as marks by words.

    numbers (Dict[str, int]): Of the classes.
    RETURNS (Optional[List[List[int]]]): None if one begins or ends within a word.
    """
    starts, ends = words_at(words)
    if any(a not in starts or b not in ends for a, b, _ in places):
        return None
    return [[starts[a], ends[b], numbers[label]] for a, b, label in places]
