"""What a person did: texts, classes, answers, and every change with its time."""

import json
import secrets
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy

from ..corpus.tags import check_label
from .database import connect, create_database, reading

# An answer; OPEN: marks that are not answered yet. Their names are Prodigy's.
OPEN, ACCEPT, REJECT, IGNORE = "open", "accept", "reject", "ignore"
ANSWERS = (OPEN, ACCEPT, REJECT, IGNORE)
# Kinds of changes. What was given with the texts is not taken back.
ANSWER, CLASS, RENAME, UNDO = "answer", "class", "rename", "undo"
GIVEN, GIVEN_CLASS = "given", "given class"
# Orders of texts: as they were chosen, or as they come.
CHOSEN, COMING = "chosen", "coming"
# Of so many texts one is drawn for the test part, and of so many answers one is asked
# of it.
TEST_SHARE = 10

# First word, end, number of the class.
Mark = Tuple[int, int, int]
# The words of a text, and whether a blank follows each.
Words = List[Tuple[str, bool]]


class Conflict(ValueError):
    """Somebody else, such as another tab, changed the text in the meantime."""


@dataclass(frozen=True)
class NewText:
    """A text to be added. marks (Optional): If it is annotated already: first word,
    end and label. is_test (Optional[bool]): None: a tenth is drawn. is_whole (bool):
    Whether all words are annotated; else the marks wait for an answer."""

    words: Words
    marks: Optional[List[Tuple[int, int, str]]] = None
    is_test: Optional[bool] = None
    is_whole: bool = True


class Store:
    """The file of a workbench. Each method is one transaction, so that whatever ends
    the process, all that was answered is there."""

    def __init__(self, path: Path) -> None:
        """path (Path): The file; it is made if there is none."""
        create_database(path)
        self.path = path

    def setting(self, key: str, default: str) -> str:
        """A setting, which is noted if it was not."""
        query = "SELECT value FROM settings WHERE key = ?"
        with reading(self.path) as db:
            if (value := _value(db, query, key)) is not None:
                return value
        with connect(self.path) as db:
            db.execute("INSERT OR IGNORE INTO settings VALUES (?, ?)", (key, default))
            return _value(db, query, key)

    def set_setting(self, key: str, value: str) -> None:
        """Replace a setting."""
        with connect(self.path) as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))

    def token(self) -> str:
        """The secret of this workbench, which stays the same."""
        return self.setting("token", secrets.token_urlsafe(24))

    def add_texts(self, texts: Iterable[NewText], *, seed: int = 0) -> int:
        """Add texts that are not there yet.

        seed (int): Of the draw of the test part, and of an order.
        RETURNS (int): How many are new.
        """
        with connect(self.path) as db:
            (before,) = db.execute("SELECT count(*) FROM texts").fetchone()
            rng = numpy.random.default_rng([seed, before])
            for text in texts:
                _add_text(db, text, rng)
            (after,) = db.execute("SELECT count(*) FROM texts").fetchone()
        return after - before

    def classes(self) -> List[Dict[str, Any]]:
        """The classes, "id" and "name", in the order in which they were added."""
        with reading(self.path) as db:
            return [dict(row) for row in db.execute("SELECT * FROM classes")]

    def add_class(self, name: str, *, given: bool = False) -> int:
        """Add a class, if there is none of this name. RETURNS (int): Its number.
        given (bool): Whether it is no change that an undo takes back, and one that had
            the name before it was renamed will do.
        RAISES (ValueError): If the name is none."""
        with connect(self.path) as db:
            return _add_class(db, name.strip(), GIVEN_CLASS if given else CLASS)

    def class_number(self, name: str) -> Optional[int]:
        """The class that has a name, or had it before it was renamed."""
        with reading(self.path) as db:
            return _class_number(db, name)

    def rename_class(self, number: int, name: str) -> None:
        """Give a class another name, also where it is marked.
        RAISES (ValueError): If the name is none or taken, or there is no such class."""
        name = check_label(name.strip())
        with connect(self.path) as db:
            old = _value(db, "SELECT name FROM classes WHERE id = ?", number)
            if _value(db, "SELECT id FROM classes WHERE name = ?", name):
                raise ValueError(f"There is a class {name!r} already")
            if old is None:
                raise ValueError(f"There is no class {number}")
            db.execute("UPDATE classes SET name = ? WHERE id = ?", (name, number))
            _note(db, RENAME, number, old, name)

    def text(self, number: int) -> Optional[Dict[str, Any]]:
        """A text with its words, its marks, and what the model proposes: nothing for
        the test part, or of a class that is gone."""
        with reading(self.path) as db:
            return _text(db, number)

    def answer(
        self, number: int, answer: str, marks: Sequence[Mark], version: int
    ) -> Dict[str, Any]:
        """Note the marks of a text, and an answer.

        version (int): Of the text, as it was when it was shown.
        RETURNS (Dict): The text as it is now.
        RAISES (Conflict): If it was changed since. (ValueError): If there is no such
            text, or a mark does not fit it.
        """
        with connect(self.path) as db:
            text = _text(db, number)
            if text is None:
                raise ValueError(f"There is no text {number}")
            if text["version"] != version:
                raise Conflict("This text was changed elsewhere in the meantime")
            known = {row["id"] for row in db.execute("SELECT id FROM classes")}
            spans = _checked(marks, len(text["words"]), known)
            if answer not in ANSWERS:
                raise ValueError(f"An answer is one of {', '.join(ANSWERS)}")
            before = _state(db, number)
            after = {"answer": answer, "spans": spans}
            _set_state(db, number, after, _note(db, ANSWER, number, before, after))
            # Whoever looked at it again has decided.
            db.execute("UPDATE proposals SET doubtful = 0 WHERE text_id = ?", (number,))
            return _text(db, number) or {}

    def undo(self) -> Optional[Dict[str, Any]]:
        """Take the last change back that was not taken back yet, by a new change.
        RETURNS (Optional[Dict]): "kind", and "target": the number of the text or class;
            None if there is nothing to take back."""
        with connect(self.path) as db:
            row = db.execute(
                "SELECT * FROM changes WHERE kind IN (?, ?, ?) AND id NOT IN (SELECT "
                "undoes FROM changes WHERE undoes IS NOT NULL) ORDER BY id DESC "
                "LIMIT 1",
                (ANSWER, CLASS, RENAME),
            ).fetchone()
            if row is None:
                return None
            before, after = json.loads(row["before"]), json.loads(row["after"])
            number = _note(db, UNDO, row["target"], after, before, row["id"])
            if row["kind"] == ANSWER:
                _set_state(db, row["target"], before, number)
            elif before is None:
                _remove_class(db, row["target"])
            else:
                # A name that is taken by now stays where it is.
                change = (before, row["target"])
                db.execute("UPDATE OR IGNORE classes SET name = ? WHERE id = ?", change)
            return {"kind": row["kind"], "target": row["target"]}

    def history(self) -> List[Dict[str, Any]]:
        """All changes, the first first."""
        with reading(self.path) as db:
            rows = [dict(row) for row in db.execute("SELECT * FROM changes")]
        for row in rows:
            row.update({key: json.loads(row[key]) for key in ("before", "after")})
        return rows

    def next_text(self, *, other_than: int = 0) -> Optional[int]:
        """The number of the text to show: one whose marks are not answered yet; else
        each tenth of the test part; else the next one in order."""
        with reading(self.path) as db:
            order = _value(db, "SELECT value FROM settings WHERE key = 'order'")
            n, n_test = db.execute(
                "SELECT count(*), coalesce(sum(is_test), 0) FROM answers CROSS JOIN "
                "texts ON id = text_id WHERE answer != 'open'"
            ).fetchone()
            from_test = (n_test + 1) * TEST_SHARE <= n + 1
            by = "turn IS NULL, turn, drawn" if order != COMING else "id"
            return _value(
                db,
                "SELECT id FROM texts LEFT JOIN answers ON id = answers.text_id LEFT "
                "JOIN proposals ON id = proposals.text_id WHERE id != ? AND "
                "coalesce(answer, 'open') = 'open' ORDER BY answer IS NULL, "
                f"is_test != ?, CASE WHEN is_test THEN drawn END, {by} LIMIT 1",
                *(other_than, int(from_test)),
            )

    def counts(self) -> Dict[str, Any]:
        """Texts, "answers" by kind, accepted ones for "train" and "test", and accepted
        marks by number of the class ("marks")."""
        with reading(self.path) as db:
            (n_texts,) = db.execute("SELECT count(*) FROM texts").fetchone()
            rows = db.execute(_ANSWERED).fetchall()
        answers = dict.fromkeys(ANSWERS, 0)
        marks: Dict[int, int] = {}
        for row in rows:
            answers[row["answer"]] += 1
            accepted = json.loads(row["spans"]) if row["answer"] == ACCEPT else []
            for _, _, number in accepted:
                marks[number] = marks.get(number, 0) + 1
        parts = [row["is_test"] for row in rows if row["answer"] == ACCEPT]
        split = {"test": sum(parts), "train": len(parts) - sum(parts)}
        return {"texts": n_texts, "answers": answers, "marks": marks, **split}

    def answered(self) -> List[Dict[str, Any]]:
        """Texts with an answer, in order: as `text`, "is_test" among it."""
        with reading(self.path) as db:
            ids = [row["id"] for row in db.execute(_ANSWERED)]
            texts = [_text(db, number) or {} for number in ids]
        return [text for text in texts if text["answer"] != OPEN]

    def doubtful(self) -> List[int]:
        """Numbers of the answered texts on which the model disagrees."""
        with reading(self.path) as db:
            query = "SELECT text_id FROM proposals WHERE doubtful ORDER BY text_id"
            return [row["text_id"] for row in db.execute(query)]

    def unanswered(self) -> List[Dict[str, Any]]:
        """Texts without an answer that are not of the test part, "id" and "words"."""
        with reading(self.path) as db:
            rows = db.execute(
                "SELECT id, words FROM texts LEFT JOIN answers ON id = text_id WHERE "
                "coalesce(answer, 'open') = 'open' AND NOT is_test ORDER BY id"
            ).fetchall()
        return [{"id": row["id"], "words": json.loads(row["words"])} for row in rows]


_ANSWERED = (
    "SELECT id, is_test, answer, spans FROM answers CROSS JOIN texts ON id = text_id "
    "ORDER BY text_id"  # a cross join goes through the few answers, not all texts
)


def now() -> str:
    """The time, in UTC, as text that sorts."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def _value(db: sqlite3.Connection, query: str, *values: Any) -> Any:
    row = db.execute(query, values).fetchone()
    return None if row is None else row[0]


def _note(
    db: sqlite3.Connection,
    kind: str,
    target: int,
    before: Any,
    after: Any,
    undoes: Optional[int] = None,
) -> int:
    """Note a change. RETURNS (int): Its number."""
    row = (now(), kind, target, json.dumps(before), json.dumps(after), undoes)
    query = "INSERT INTO changes (time, kind, target, before, after, undoes) VALUES "
    number = db.execute(f"{query} (?, ?, ?, ?, ?, ?)", row).lastrowid
    return int(number or 0)


def _class_number(db: sqlite3.Connection, name: str) -> Optional[int]:
    known = _value(db, "SELECT id FROM classes WHERE name = ?", name)
    if known is not None:
        return known
    query = (
        "SELECT target FROM changes JOIN classes ON classes.id = target WHERE "
        "kind = ? AND before = ? ORDER BY changes.id DESC LIMIT 1"
    )
    return _value(db, query, RENAME, json.dumps(name))


def _add_class(db: sqlite3.Connection, name: str, kind: str) -> int:
    check_label(name)
    if kind == GIVEN_CLASS:
        known = _class_number(db, name)
    else:
        known = _value(db, "SELECT id FROM classes WHERE name = ?", name)
    if known is not None:
        return known
    # A number is never given twice, also after an undo: history may name it.
    query = "SELECT max(target) FROM changes WHERE kind IN (?, ?)"
    number = 1 + (_value(db, query, CLASS, GIVEN_CLASS) or 0)
    db.execute("INSERT INTO classes VALUES (?, ?)", (number, name))
    _note(db, kind, number, None, name)
    return number


def _remove_class(db: sqlite3.Connection, number: int) -> None:
    """Unless a text that was given since is marked with it."""
    spans = [
        json.loads(row["spans"]) for row in db.execute("SELECT spans FROM answers")
    ]
    if not any(mark[2] == number for marks in spans for mark in marks or ()):
        db.execute("DELETE FROM classes WHERE id = ?", (number,))


def _add_text(
    db: sqlite3.Connection, new: NewText, rng: numpy.random.Generator
) -> None:
    text = "".join(word + " " * blank for word, blank in new.words)
    drawn, share = rng.random(), rng.random()
    is_test = share < 1 / TEST_SHARE if new.is_test is None else new.is_test
    row = (text, json.dumps(new.words, ensure_ascii=False), int(is_test), drawn)
    query = "INSERT OR IGNORE INTO texts (text, words, is_test, drawn) VALUES"
    if not db.execute(f"{query} (?, ?, ?, ?)", row).rowcount or new.marks is None:
        return
    number = _value(db, "SELECT id FROM texts WHERE text = ?", text)
    marks = [
        (start, end, _add_class(db, label, GIVEN_CLASS))
        for start, end, label in new.marks
    ]
    after = {"answer": ACCEPT if new.is_whole else OPEN, "spans": sorted(marks)}
    _set_state(db, number, after, _note(db, GIVEN, number, None, after))


def _state(db: sqlite3.Connection, number: int) -> Optional[Dict[str, Any]]:
    query = "SELECT answer, spans FROM answers WHERE text_id = ?"
    row = db.execute(query, (number,)).fetchone()
    return row and {"answer": row["answer"], "spans": json.loads(row["spans"])}


def _set_state(
    db: sqlite3.Connection,
    number: int,
    state: Optional[Dict[str, Any]],
    version: int,
) -> None:
    # Without marks and answer a text has a version all the same, after an undo.
    state = state or {"answer": OPEN, "spans": None}
    row = (number, state["answer"], json.dumps(state["spans"]), version)
    db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)


def _text(db: sqlite3.Connection, number: int) -> Optional[Dict[str, Any]]:
    row = db.execute(
        "SELECT texts.*, answer, answers.spans AS marks, version, proposals.spans AS "
        "proposed, reasons, doubtful FROM texts LEFT JOIN answers ON id = "
        "answers.text_id LEFT JOIN proposals ON id = proposals.text_id WHERE id = ?",
        (number,),
    ).fetchone()
    if row is None:
        return None
    known = {each["id"] for each in db.execute("SELECT id FROM classes")}
    found = [] if row["is_test"] else json.loads(row["proposed"] or "[]")
    return {
        "id": number,
        "words": json.loads(row["words"]),
        "is_test": bool(row["is_test"]),
        "answer": row["answer"] or OPEN,
        "marks": json.loads(row["marks"] or "null"),
        "version": row["version"] or 0,
        "proposed": [span for span in found if span[2] in known],
        "reasons": json.loads(row["reasons"] or "{}"),
        "doubtful": bool(row["doubtful"]),
    }


def _checked(marks: Sequence[Mark], n_words: int, known: set[int]) -> List[Mark]:
    """Marks in order. RAISES (ValueError): If they overlap or do not fit the text."""
    last = 0
    for start, end, number in sorted(marks):
        if not last <= start < end <= n_words:
            raise ValueError(f"The mark {start} to {end} overlaps, or leaves the text")
        if number not in known:
            raise ValueError(f"There is no class {number}")
        last = end
    return sorted(marks)
