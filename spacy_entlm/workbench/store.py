"""The file of a workbench: texts, classes, answers, and every change with its time."""

import json
import secrets
import sqlite3
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from . import classes, undo
from .adding import TEST_SHARE, Added, NewDocument, NewText, add_texts
from .changes import ACCEPT, ANSWERS, MOVE, OPEN, change_state, note, set_part, value_of
from .database import connect, reading
from .upgrade import open_database

# Orders of texts: as they were chosen, or as they come.
CHOSEN, COMING = "chosen", "coming"
# Texts that are read at once where all are gone through.
PAGE = 500

# First word, end, number of the class.
Mark = Tuple[int, int, int]


class Conflict(ValueError):
    """Somebody else, such as another tab, changed the text in the meantime."""


class Store:
    """The file of a workbench. Each method is one transaction, so that whatever ends
    the process, all that was answered is there."""

    def __init__(self, path: Path) -> None:
        """path (Path): The file; it is made if there is none."""
        open_database(path)
        self.path = path

    def setting(self, key: str, default: str) -> str:
        """A setting, which is noted if it was not."""
        query = "SELECT value FROM settings WHERE key = ?"
        with reading(self.path) as db:
            if (value := value_of(db, query, key)) is not None:
                return value
        with connect(self.path) as db:
            db.execute("INSERT OR IGNORE INTO settings VALUES (?, ?)", (key, default))
            return value_of(db, query, key)

    def set_setting(self, key: str, value: str) -> None:
        """Replace a setting."""
        with connect(self.path) as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))

    def token(self) -> str:
        """The secret of this workbench, which stays the same."""
        return self.setting("token", secrets.token_urlsafe(24))

    def add_texts(
        self, texts: Iterable[Union[NewText, NewDocument]], *, seed: int = 0
    ) -> Added:
        """Add texts that are not there yet, and the marks of those that are.

        seed (int): Of the draw of the test part, and of an order.
        RETURNS (Added): What became of them.
        """
        with connect(self.path) as db:
            return add_texts(db, texts, seed)

    def classes(self) -> List[Dict[str, Any]]:
        """The classes in their order: as `all_classes`."""
        with reading(self.path) as db:
            return classes.all_classes(db)

    def add_class(self, name: str, *, given: bool = False) -> Optional[int]:
        """Add a class, if there is none of this name. RETURNS (Optional[int]): Its
        number; None if it is given, and a person took it away.
        given (bool): Whether it is no change that an undo takes back, and one that had
            the name before it was renamed will do.
        RAISES (ValueError): If the name is none."""
        with connect(self.path) as db:
            add = classes.given_class if given else classes.add_class
            return add(db, name.strip())

    def class_number(self, name: str) -> Optional[int]:
        """The class that has a name, or had it before it was renamed or merged."""
        with reading(self.path) as db:
            return classes.class_number(db, name)

    def change_class(
        self,
        number: int,
        *,
        name: Optional[str] = None,
        words: Optional[str] = None,
        color: Optional[str] = None,
    ) -> None:
        """Change a class, also where it is marked.

        name (Optional[str]): What it is called. words (Optional[str]): What it means,
            in a word or a description. color (Optional[str]): Such as "#77aadd".
        RAISES (ValueError): If the name is none or taken, or there is no such class.
        """
        with connect(self.path) as db:
            if name is not None:
                classes.rename(db, number, name.strip())
            if words is not None:
                classes.describe(db, number, words)
            if color is not None:
                classes.set_color(db, number, color)

    def remove_class(self, number: int, into: Optional[int] = None) -> int:
        """Take a class away. into (Optional[int]): The class that its marks become;
        None: they go, too.
        RETURNS (int): The number of texts that changed.
        RAISES (ValueError): If there is no such class."""
        with connect(self.path) as db:
            return classes.remove(db, number, into)

    def order_classes(self, numbers: Sequence[int]) -> None:
        """Put the classes in an order. RAISES (ValueError): If these are not all."""
        with connect(self.path) as db:
            classes.set_order(db, numbers)

    def text(self, number: int) -> Optional[Dict[str, Any]]:
        """A text with its words, its marks, and what the model proposes: nothing for
        texts of the test part that have no answer, or of a class that is gone."""
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
            text = _text_at(db, number, version)
            known = {row["id"] for row in db.execute("SELECT id FROM classes")}
            spans = _checked(marks, len(text["words"]), known)
            if answer not in ANSWERS:
                raise ValueError(f"An answer is one of {', '.join(ANSWERS)}")
            change_state(db, number, {"answer": answer, "spans": spans})
            # Whoever looked at it again has decided.
            db.execute("UPDATE proposals SET doubtful = 0 WHERE text_id = ?", (number,))
            if answer != OPEN:
                db.execute("DELETE FROM others WHERE text_id = ?", (number,))
            return _text(db, number) or {}

    def take_back(self, number: int, version: int) -> Dict[str, Any]:
        """Make a text one that has no answer and no marks, which an undo takes back.
        RETURNS and RAISES: As `answer`."""
        with connect(self.path) as db:
            _text_at(db, number, version)
            change_state(db, number, None)
            db.execute("UPDATE proposals SET doubtful = 0 WHERE text_id = ?", (number,))
            return _text(db, number) or {}

    def move(self, number: int, is_test: bool) -> Dict[str, Any]:
        """Move a text to the test part, or from it.
        RETURNS (Dict): The text as it is now.
        RAISES (ValueError): If there is no such text."""
        with connect(self.path) as db:
            text = _text_at(db, number, None)
            if text["is_test"] != is_test:
                set_part(db, number, is_test)
                note(db, MOVE, number, not is_test, is_test)
            return _text(db, number) or {}

    def undo(self) -> Optional[Dict[str, Any]]:
        """Take the last change back that was not taken back yet, by a new change.
        RETURNS (Optional[Dict]): "kind", "target" (the number of the text or class) and
            "n", how many were of the same click; None if there is nothing to take
            back."""
        with connect(self.path) as db:
            return undo.undo(db)

    def redo(self) -> Optional[Dict[str, Any]]:
        """Do again what the last undo took back, if nothing was changed since.
        RETURNS: As `undo`."""
        with connect(self.path) as db:
            return undo.redo(db)

    def next_text(self, *, other_than: int = 0) -> Optional[int]:
        """The number of the text to show: one whose marks are not answered yet; else
        each tenth of the test part; else the next one in order."""
        with reading(self.path) as db:
            order = value_of(db, "SELECT value FROM settings WHERE key = 'order'")
            n, n_test = db.execute(
                "SELECT count(*), coalesce(sum(is_test), 0) FROM answers CROSS JOIN "
                "texts ON id = text_id WHERE answer != 'open'"
            ).fetchone()
            from_test = (n_test + 1) * TEST_SHARE <= n + 1
            by = "turn IS NULL, turn, drawn" if order != COMING else "id"
            return value_of(
                db,
                "SELECT id FROM texts LEFT JOIN answers ON id = answers.text_id LEFT "
                "JOIN proposals ON id = proposals.text_id WHERE id != ? AND "
                "coalesce(answer, 'open') = 'open' ORDER BY answer IS NULL, "
                f"is_test != ?, CASE WHEN is_test THEN drawn END, {by} LIMIT 1",
                *(other_than, int(from_test)),
            )

    def neighbour(self, number: int, step: int) -> Optional[int]:
        """The text that was answered before another one, or after it.

        step (int): -1: before; 1: after.
        RETURNS (Optional[int]): Its number; None if there is none.
        """
        with reading(self.path) as db:
            query = "SELECT version FROM answers WHERE text_id = ? AND answer != 'open'"
            own = value_of(db, query, number)
            if own is None and step > 0:
                return None
            way, order = ("<", "DESC") if step < 0 else (">", "ASC")
            where = "" if own is None else f"AND version {way} {own}"
            query = f"answer != 'open' {where} ORDER BY version {order} LIMIT 1"
            return value_of(db, f"SELECT text_id FROM answers WHERE {query}")

    def counts(self) -> Dict[str, Any]:
        """Texts, "answers" by kind, accepted ones for "train" and "test", and accepted
        marks by number of the class ("marks")."""
        with reading(self.path) as db:
            n_texts = value_of(db, "SELECT count(*) FROM texts")
            rows = db.execute(
                "SELECT answer, is_test, count(*) AS n FROM answers CROSS JOIN texts "
                "ON id = text_id GROUP BY answer, is_test"
            ).fetchall()
            marks = db.execute(
                "SELECT class, count(*) AS n FROM answers CROSS JOIN mentions USING "
                "(text_id) WHERE answer = 'accept' AND NOT found GROUP BY class"
            ).fetchall()
        answers, split = dict.fromkeys(ANSWERS, 0), {"test": 0, "train": 0}
        for row in rows:
            answers[row["answer"]] += row["n"]
            if row["answer"] == ACCEPT:
                split["test" if row["is_test"] else "train"] += row["n"]
        by_class = {row["class"]: row["n"] for row in marks}
        return {"texts": n_texts, "answers": answers, "marks": by_class, **split}

    def n_new(self, since: int) -> int:
        """How many texts to train on got an answer after a change. since (int): Its
        number."""
        with reading(self.path) as db:
            query = (
                "SELECT count(*) FROM answers CROSS JOIN texts ON id = text_id WHERE "
                "answer = 'accept' AND NOT is_test AND version > ?"
            )
            return value_of(db, query, since)

    def last_change(self) -> int:
        """The number of the last change, 0 if there is none."""
        with reading(self.path) as db:
            return value_of(db, "SELECT max(id) FROM changes") or 0

    def answered(self) -> List[Dict[str, Any]]:
        """Texts with an answer, in order: as `text`, "is_test" among it."""
        with reading(self.path) as db:
            query = (
                "SELECT text_id FROM answers WHERE answer != 'open' ORDER BY text_id"
            )
            rows = db.execute(query).fetchall()
            return [_text(db, row["text_id"]) or {} for row in rows]

    def doubtful(self) -> List[int]:
        """Numbers of the answered texts on which the model disagrees, and of the texts
        of which a file has other marks."""
        with reading(self.path) as db:
            query = (
                "SELECT text_id FROM proposals WHERE doubtful UNION SELECT text_id "
                "FROM others ORDER BY text_id"
            )
            return [row["text_id"] for row in db.execute(query)]

    def unanswered(self) -> Iterator[Dict[str, Any]]:
        """Go through texts without an answer that are not of the test part, of which
        few are in memory at a time: "id" and "words"."""
        last = 0
        while True:
            with reading(self.path) as db:
                rows = db.execute(
                    "SELECT id, words FROM texts LEFT JOIN answers ON id = text_id "
                    "WHERE id > ? AND coalesce(answer, 'open') = 'open' AND NOT "
                    "is_test ORDER BY id LIMIT ?",
                    (last, PAGE),
                ).fetchall()
            for row in rows:
                yield {"id": row["id"], "words": json.loads(row["words"])}
            if len(rows) < PAGE:
                return
            last = rows[-1]["id"]


def _text_at(
    db: sqlite3.Connection, number: int, version: Optional[int]
) -> Dict[str, Any]:
    """A text, if it is still at a version; None: at any."""
    text = _text(db, number)
    if text is None:
        raise ValueError(f"There is no text {number}")
    if version is not None and text["version"] != version:
        raise Conflict("This text was changed elsewhere in the meantime")
    return text


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
    answer = row["answer"] or OPEN
    is_hidden = row["is_test"] and answer == OPEN
    found = [] if is_hidden else json.loads(row["proposed"] or "[]")
    query = "SELECT spans FROM others WHERE text_id = ?"
    others = [json.loads(each["spans"]) for each in db.execute(query, (number,))]
    return {
        "id": number,
        "words": json.loads(row["words"]),
        "is_test": bool(row["is_test"]),
        "answer": answer,
        "marks": json.loads(row["marks"] or "null"),
        "version": row["version"] or 0,
        "proposed": [span for span in found if span[2] in known],
        "others": [[x for x in own if x[2] in known] for own in others],
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
