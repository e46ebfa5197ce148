"""Changes that a person made, and what they make of the marks of texts."""

import json
import sqlite3
from datetime import datetime, timezone
from typing import Any, Dict, Optional

from .mentions import write_found, write_mentions

# An answer; OPEN: marks that are not answered yet. Their names are Prodigy's.
OPEN, ACCEPT, REJECT, IGNORE = "open", "accept", "reject", "ignore"
ANSWERS = (OPEN, ACCEPT, REJECT, IGNORE)
# Kinds of changes: of the marks and the answer of a text; of a class that is added or
# gone, of its name, and of what it means; of a text that went to or from the test part.
ANSWER, CLASS, RENAME, DESCRIBE, MOVE = "answer", "class", "rename", "describe", "move"
UNDO = "undo"
# What a person did, and an undo takes back. What came with the texts is not.
OWN = (ANSWER, CLASS, RENAME, DESCRIBE, MOVE)
GIVEN, GIVEN_CLASS, GIVEN_MOVE = "given", "given class", "given move"
# What came from another workbench. An undo does not go back before it.
MERGED = "merged"


def now() -> str:
    """The time, in UTC, as text that sorts."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def value_of(db: sqlite3.Connection, query: str, *values: Any) -> Any:
    """The first value of the first row, None if there is no row."""
    row = db.execute(query, values).fetchone()
    return None if row is None else row[0]


def note(
    db: sqlite3.Connection,
    kind: str,
    target: int,
    before: Any,
    after: Any,
    *,
    undoes: Optional[int] = None,
    batch: Optional[int] = None,
) -> int:
    """Note a change. RETURNS (int): Its number.
    undoes (Optional[int]): The change that it takes back.
    batch (Optional[int]): The number of the first change of the same click."""
    row = (now(), kind, target, json.dumps(before), json.dumps(after), undoes, batch)
    names = "time, kind, target, before, after, undoes, batch"
    query = f"INSERT INTO changes ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)"
    return int(db.execute(query, row).lastrowid or 0)


def new_batch(db: sqlite3.Connection) -> int:
    """A number for the changes of one click: that of the first of them."""
    return 1 + (value_of(db, "SELECT max(id) FROM changes") or 0)


def state_of(db: sqlite3.Connection, number: int) -> Optional[Dict[str, Any]]:
    """The "answer" and the "spans" of a text, None if it never had any."""
    query = "SELECT answer, spans FROM answers WHERE text_id = ?"
    row = db.execute(query, (number,)).fetchone()
    return row and {"answer": row["answer"], "spans": json.loads(row["spans"])}


def set_state(
    db: sqlite3.Connection,
    number: int,
    state: Optional[Dict[str, Any]],
    version: int,
) -> None:
    """Give a text its answer and its marks. version (int): The number of the change."""
    # Without marks and answer a text has a version all the same, after an undo.
    state = state or {"answer": OPEN, "spans": None}
    row = (number, state["answer"], json.dumps(state["spans"]), version)
    db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)
    is_true = state["answer"] in (OPEN, ACCEPT)
    write_mentions(db, number, state["spans"] if is_true else None, found=False)
    write_found(db, number)


def set_part(db: sqlite3.Connection, number: int, is_test: bool) -> None:
    """Put a text into the test part, or out of it."""
    db.execute("UPDATE texts SET is_test = ? WHERE id = ?", (int(is_test), number))
    write_found(db, number)


def change_state(
    db: sqlite3.Connection,
    number: int,
    after: Optional[Dict[str, Any]],
    batch: Optional[int] = None,
) -> int:
    """Change the answer and the marks of a text. RETURNS (int): The change's number."""
    before = state_of(db, number)
    change = note(db, ANSWER, number, before, after, batch=batch)
    set_state(db, number, after, change)
    return change
