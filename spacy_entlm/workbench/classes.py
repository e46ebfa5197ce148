"""Classes of a workbench: added, named, described, ordered, merged, and taken away."""

import json
import sqlite3
from typing import Any, Dict, List, Optional, Sequence

from ..corpus.tags import check_label
from .changes import (
    CLASS,
    DESCRIBE,
    GIVEN_CLASS,
    RENAME,
    change_state,
    new_batch,
    note,
    value_of,
)

# In the order in which classes get them: neighbours differ for the colour-blind, too,
# and dark letters can be read on each (tests/workbench/test_classes.py).
COLORS = (
    *("#77aadd", "#ccf25a", "#f0605f", "#5feaf2", "#bbcc99", "#ac78f5", "#bb8899"),
    *("#a5cfff", "#ffeebb", "#99bbbb", "#ffbb55", "#e58f50", "#ffcccc", "#55a272"),
    *("#8f8fd0", "#e879e8"),
)
MAX_WORDS_CHARS = 300


def all_classes(db: sqlite3.Connection) -> List[Dict[str, Any]]:
    """The classes in their order: "id", "name", "words" (what is meant), "color"."""
    query = "SELECT id, name, words, color FROM classes ORDER BY place, id"
    rows = [dict(row) for row in db.execute(query)]
    for row in rows:
        row["color"] = row["color"] or COLORS[(row["id"] - 1) % len(COLORS)]
    return rows


def class_number(db: sqlite3.Connection, name: str) -> Optional[int]:
    """The class that has a name, had it before it was renamed, or took one over that
    had it."""
    known = value_of(db, "SELECT id FROM classes WHERE name = ?", name)
    if known is not None:
        return known
    query = (
        "SELECT target FROM changes JOIN classes ON classes.id = target WHERE "
        "kind = ? AND before = ? ORDER BY changes.id DESC LIMIT 1"
    )
    known = value_of(db, query, RENAME, json.dumps(name))
    return known if known is not None else (_removed(db, name) or {}).get("into")


def _removed(db: sqlite3.Connection, name: str) -> Optional[Dict[str, Any]]:
    """A class that a person took away, as it was; None if there was none."""
    query = (
        "SELECT before FROM changes WHERE kind = ? AND after = 'null' AND "
        "json_extract(before, '$.name') = ? AND id NOT IN (SELECT undoes FROM changes "
        "WHERE undoes IS NOT NULL) ORDER BY id DESC LIMIT 1"
    )
    found = value_of(db, query, CLASS, name)
    return None if found is None else json.loads(found)


def given_class(db: sqlite3.Connection, name: str) -> Optional[int]:
    """The class that a file or a command names; it is added if there was none.
    RETURNS (Optional[int]): None if a person took it away."""
    known = class_number(db, name)
    if known is not None:
        return known
    return None if _removed(db, name) else new_class(db, name, GIVEN_CLASS)


def add_class(db: sqlite3.Connection, name: str) -> int:
    """Add a class on the page, if there is none of this name."""
    known = value_of(db, "SELECT id FROM classes WHERE name = ?", name)
    return known if known is not None else new_class(db, name, CLASS)


def new_class(db: sqlite3.Connection, name: str, kind: str) -> int:
    """Add a class that is not there. kind (str): Of the change, CLASS or GIVEN_CLASS.
    RETURNS (int): Its number. RAISES (ValueError): If the name is none."""
    check_label(name)
    # A number is never given twice, also after an undo: history may name it.
    query = "SELECT max(target) FROM changes WHERE kind IN (?, ?)"
    number = 1 + (value_of(db, query, CLASS, GIVEN_CLASS) or 0)
    put_class(db, number, name)
    note(db, kind, number, None, name)
    return number


def put_class(db: sqlite3.Connection, number: int, class_: Any) -> None:
    """Insert a class: its name, or all that is known of it."""
    known = {"name": class_} if isinstance(class_, str) else class_
    place = known.get("place")
    if place is None:
        place = 1 + (value_of(db, "SELECT max(place) FROM classes") or 0)
    row = (number, known["name"], known.get("words", ""), known.get("color", ""), place)
    query = "INSERT OR IGNORE INTO classes (id, name, words, color, place) VALUES"
    db.execute(f"{query} (?, ?, ?, ?, ?)", row)


def remove_unused(db: sqlite3.Connection, number: int) -> None:
    """Take a class away, unless a text that was given since is marked with it."""
    rows = db.execute("SELECT spans FROM answers WHERE spans != 'null'")
    marks = (mark for row in rows for mark in json.loads(row["spans"]))
    if not any(mark[2] == number for mark in marks):
        db.execute("DELETE FROM classes WHERE id = ?", (number,))


def rename(db: sqlite3.Connection, number: int, name: str) -> None:
    """Give a class another name.
    RAISES (ValueError): If the name is none or taken, or there is no such class."""
    check_label(name)
    old = known_class(db, number)["name"]
    if name == old:
        return
    if value_of(db, "SELECT id FROM classes WHERE name = ?", name):
        raise ValueError(f"There is a class {name!r} already: merge the two instead")
    db.execute("UPDATE classes SET name = ? WHERE id = ?", (name, number))
    note(db, RENAME, number, old, name)


def describe(db: sqlite3.Connection, number: int, words: str) -> None:
    """Say what a class means, in a word or a description, by which it is found before
    there are examples. RAISES (ValueError): If there is no such class."""
    old, words = known_class(db, number)["words"], " ".join(words.split())
    if len(words) > MAX_WORDS_CHARS:
        raise ValueError(f"A description has at most {MAX_WORDS_CHARS} characters")
    if words != old:
        db.execute("UPDATE classes SET words = ? WHERE id = ?", (words, number))
        note(db, DESCRIBE, number, old, words)


def remove(db: sqlite3.Connection, number: int, into: Optional[int] = None) -> int:
    """Take a class away; its marks go, or become those of another class.
    RETURNS (int): The number of texts that changed.
    RAISES (ValueError): If there is no such class, or it is to become itself."""
    row = known_class(db, number)
    if into == number:
        raise ValueError("A class cannot become itself")
    if into is not None:
        known_class(db, into)
    batch = new_batch(db)
    changed = _change_marks(db, number, into, batch)
    note(db, CLASS, number, {**dict(row), "into": into}, None, batch=batch)
    db.execute("DELETE FROM classes WHERE id = ?", (number,))
    return changed


def _change_marks(
    db: sqlite3.Connection, number: int, into: Optional[int], batch: int
) -> int:
    rows = db.execute("SELECT text_id, answer, spans FROM answers").fetchall()
    changed = 0
    for row in rows:
        spans = json.loads(row["spans"])
        if not any(span[2] == number for span in spans or ()):
            continue
        kept = [
            [start, end, into if class_ == number else class_]
            for start, end, class_ in spans
            if into is not None or class_ != number
        ]
        after = {"answer": row["answer"], "spans": kept}
        change_state(db, row["text_id"], after, batch)
        changed += 1
    return changed


def set_order(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Put the classes in an order. RAISES (ValueError): If these are not all."""
    known = {row["id"] for row in db.execute("SELECT id FROM classes")}
    if set(numbers) != known or len(numbers) != len(known):
        raise ValueError("An order names each class once")
    rows = [(place, number) for place, number in enumerate(numbers)]
    db.executemany("UPDATE classes SET place = ? WHERE id = ?", rows)


def set_color(db: sqlite3.Connection, number: int, color: str) -> None:
    """Give a class a colour, such as "#77aadd".
    RAISES (ValueError): If there is no such class."""
    known_class(db, number)
    db.execute("UPDATE classes SET color = ? WHERE id = ?", (color, number))


def known_class(db: sqlite3.Connection, number: int) -> sqlite3.Row:
    """A class. RAISES (ValueError): If there is none of this number."""
    row = db.execute("SELECT * FROM classes WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise ValueError(f"There is no class {number}")
    return row
