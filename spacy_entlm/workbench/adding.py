"""Texts that come into a workbench, with or without marks, once or several times."""

import json
import sqlite3
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import (
    Any,
    Dict,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

import numpy

from ..files.counts import count_of
from .changes import (
    ACCEPT,
    GIVEN,
    GIVEN_MOVE,
    MOVE,
    OPEN,
    note,
    set_part,
    set_state,
    state_of,
    value_of,
)
from .classes import given_class
from .mentions import Words, joined

# Of so many texts one is drawn for the test part, and of so many answers one is asked
# of it.
TEST_SHARE = 10
# From so many documents on, all parts of one are in the same part of the data.
MANY_DOCUMENTS = 20
_NO_KEYS = "{}"


@dataclass(frozen=True)
class NewText:
    """A text to be added. marks (Optional): If it is annotated already: first word,
    end and label. is_test (Optional[bool]): None: a tenth is drawn. is_whole (bool):
    Whether all words are annotated; else the marks wait for an answer."""

    words: Words
    marks: Optional[List[Tuple[int, int, str]]] = None
    is_test: Optional[bool] = None
    is_whole: bool = True


@dataclass(frozen=True)
class NewDocument:
    """What came in, and the texts in which it is shown: with each the place of its
    first character. keys (Dict[str, Any]): What the input says of it, such as an id."""

    text: str
    parts: List[Tuple[int, NewText]]
    keys: Dict[str, Any] = field(default_factory=dict)


class Added(NamedTuple):
    """What became of texts: how many are new; how many that were there got marks; on
    how many the marks that were there and those given differ; and how many moved to
    the test part, since they are in it as well."""

    new: int = 0
    marked: int = 0
    differing: int = 0
    moved: int = 0

    def lines(self) -> List[str]:
        """What is to be said of it, a sentence a line."""
        said = [count_of(self.new, "new texts")]
        if self.marked:
            had = count_of(self.marked, "texts")
            said.append(f"{had} that came without marks before got them")
        if self.differing:
            had = count_of(self.differing, "texts")
            said.append(
                f"{had} had other marks already: these stay, and the page shows both "
                "(All texts, Disagreements)"
            )
        if self.moved:
            had = count_of(self.moved, "texts")
            said.append(f"{had} in train and in test: kept in the test part only")
        return said


def add_texts(
    db: sqlite3.Connection, texts: Iterable[Union[NewText, NewDocument]], seed: int
) -> Added:
    """Add texts that are not there yet, and the marks of those that are."""
    before = value_of(db, "SELECT count(*) FROM texts")
    rng = numpy.random.default_rng([seed, before])
    added = Added()
    documents = list(map(_as_document, texts))
    is_many = len(documents) >= MANY_DOCUMENTS
    for document in documents:
        share = rng.random()
        places = []
        for start, text in document.parts:
            own = share if is_many else rng.random()
            number, one = _add_text(db, text, rng.random(), own < 1 / TEST_SHARE)
            places.append((start, number))
            added = Added(*map(sum, zip(added, one)))
        add_document(db, document.text, document.keys, places)
    return added


def _as_document(text: Union[NewText, NewDocument]) -> NewDocument:
    if isinstance(text, NewDocument):
        return text
    return NewDocument(joined(text.words), [(0, text)])


def add_document(
    db: sqlite3.Connection,
    text: str,
    keys: Mapping[str, Any],
    parts: Iterable[Tuple[int, int]],
) -> None:
    """Note what came in, unless it is there. parts (Iterable): The place of the first
    character, and the number, of each text of it."""
    noted = json.dumps(keys, ensure_ascii=False, sort_keys=True)
    digest = _digest(text, noted)
    # What came without keys before is the same.
    change = "UPDATE OR IGNORE documents SET digest = ?, keys = ? WHERE digest = ?"
    db.execute(change, (digest, noted, _digest(text, _NO_KEYS)))
    query = "INSERT OR IGNORE INTO documents (digest, text, keys) VALUES (?, ?, ?)"
    done = db.execute(query, (digest, text, noted))
    if done.rowcount:
        rows = [(done.lastrowid, start, number) for start, number in parts]
        db.executemany("INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", rows)


def _digest(text: str, keys: str) -> str:
    hashed = blake2b(f"{keys}\n{text}".encode("utf8", "replace"), digest_size=16)
    return hashed.hexdigest()


def _add_text(
    db: sqlite3.Connection, new: NewText, drawn: float, is_drawn: bool
) -> Tuple[int, Added]:
    """RETURNS: The number of a text, and what became of it."""
    text = joined(new.words)
    known = db.execute("SELECT id, is_test FROM texts WHERE text = ?", (text,))
    if (row := known.fetchone()) is None:
        is_test = is_drawn if new.is_test is None else new.is_test
        words = json.dumps(new.words, ensure_ascii=False)
        query = "INSERT INTO texts (text, words, is_test, drawn) VALUES (?, ?, ?, ?)"
        done = db.execute(query, (text, words, int(is_test), drawn))
        number = int(done.lastrowid or 0)
        if new.marks is not None:
            _take_marks(db, number, new)
        return number, Added(new=1)
    number, moved = row["id"], False
    if new.is_test and not row["is_test"] and not _was_moved(db, number):
        # What is in both parts is measured on, and not trained on.
        set_part(db, number, True)
        note(db, GIVEN_MOVE, number, False, True)
        moved = True
    taken = new.marks is not None and _take_marks(db, number, new)
    differs = new.marks is not None and taken is None
    return number, Added(marked=int(bool(taken)), differing=differs, moved=moved)


def _was_moved(db: sqlite3.Connection, number: int) -> bool:
    query = "SELECT 1 FROM changes WHERE target = ? AND kind IN (?, ?)"
    return value_of(db, query, number, MOVE, GIVEN_MOVE) is not None


def _take_marks(db: sqlite3.Connection, number: int, new: NewText) -> Optional[bool]:
    """Take the marks that a file gives for a text, if it has none, and note them beside
    others if they differ from what it has.
    RETURNS (Optional[bool]): Whether they were taken; None if there are others."""
    marks = [
        [start, end, class_]
        for start, end, label in sorted(new.marks or ())
        if (class_ := given_class(db, label)) is not None
    ]
    state = state_of(db, number)
    if state is not None and state["spans"] == marks:
        return False
    after = {"answer": ACCEPT if new.is_whole else OPEN, "spans": marks}
    query = "SELECT 1 FROM changes WHERE target = ? AND kind = ? AND after = ?"
    if value_of(db, query, number, GIVEN, json.dumps(after)):
        return False  # the same command came back, and somebody has decided since
    change = note(db, GIVEN, number, None, after)
    if state is None or state["spans"] is None:
        set_state(db, number, after, change)
        return True
    db.execute(
        "INSERT OR IGNORE INTO others VALUES (?, ?)", (number, json.dumps(marks))
    )
    return None
