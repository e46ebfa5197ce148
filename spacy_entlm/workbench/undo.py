"""Undo and redo: changes that make things as they were, or were before an undo."""

import json
import sqlite3
from typing import Any, Dict, List, Optional, Sequence

from .changes import (
    ANSWER,
    CLASS,
    DESCRIBE,
    MERGED,
    MOVE,
    OWN,
    UNDO,
    new_batch,
    note,
    set_part,
    set_state,
    value_of,
)
from .classes import put_class, remove_unused

_OWN = ", ".join(f"'{kind}'" for kind in OWN)
# The change up to which all came from other workbenches.
_AFTER_MERGE = f"coalesce((SELECT max(id) FROM changes WHERE kind = '{MERGED}'), 0)"


def undo(db: sqlite3.Connection) -> Optional[Dict[str, Any]]:
    """Take the last change back that was not taken back yet, with those of the same
    click. RETURNS: As `Store.undo`."""
    undone = "SELECT undoes FROM changes WHERE undoes IS NOT NULL AND kind = 'undo'"
    last = db.execute(
        f"SELECT * FROM changes WHERE kind IN ({_OWN}) AND id NOT IN ({undone}) "
        f"AND id > {_AFTER_MERGE} ORDER BY id DESC LIMIT 1"
    ).fetchone()
    return last and _turn_back(db, _batch_of(db, last), UNDO)


def redo(db: sqlite3.Connection) -> Optional[Dict[str, Any]]:
    """Do again what the last undo took back, if nothing else was changed since.
    RETURNS: As `Store.undo`."""
    last = db.execute(
        "SELECT * FROM changes AS undone WHERE kind = 'undo' AND id > "
        f"{_AFTER_MERGE} AND NOT EXISTS (SELECT 1 "
        "FROM changes WHERE undoes = undone.id) AND NOT EXISTS (SELECT 1 FROM changes "
        f"WHERE id > undone.id AND undoes IS NULL AND kind IN ({_OWN})) ORDER BY id "
        "DESC LIMIT 1"
    ).fetchone()
    return last and _turn_back(db, _batch_of(db, last), None)


def _batch_of(db: sqlite3.Connection, last: sqlite3.Row) -> List[sqlite3.Row]:
    """The changes of one click, the last first."""
    if last["batch"] is None:
        return [last]
    query = "SELECT * FROM changes WHERE batch = ? ORDER BY id DESC"
    return db.execute(query, (last["batch"],)).fetchall()


def _turn_back(
    db: sqlite3.Connection, rows: Sequence[sqlite3.Row], kind: Optional[str]
) -> Dict[str, Any]:
    """Make everything as it was before some changes, by new changes of a kind; None:
    of the kind that was taken back."""
    batch = new_batch(db) if len(rows) > 1 else None
    query = "SELECT kind FROM changes WHERE id = ?"
    kinds = []
    for row in rows:
        own = row["kind"] if kind else value_of(db, query, row["undoes"])
        kinds.append(own)
        before, after = json.loads(row["before"]), json.loads(row["after"])
        number = note(
            db,
            kind or own,
            row["target"],
            after,
            before,
            undoes=row["id"],
            batch=batch,
        )
        _set(db, own, row["target"], before, number)
    return {"kind": kinds[0], "target": rows[0]["target"], "n": len(rows)}


def _set(
    db: sqlite3.Connection, kind: str, target: int, wanted: Any, number: int
) -> None:
    """Make a text or a class as it was. number (int): Of the change that does."""
    if kind == ANSWER:
        set_state(db, target, wanted, number)
    elif kind == MOVE:
        set_part(db, target, wanted)
    elif kind == DESCRIBE:
        db.execute("UPDATE classes SET words = ? WHERE id = ?", (wanted, target))
    elif kind == CLASS and wanted is None:
        remove_unused(db, target)
    elif kind == CLASS:
        put_class(db, target, wanted)
    else:
        # A name that is taken by now stays where it is.
        change = "UPDATE OR IGNORE classes SET name = ? WHERE id = ?"
        db.execute(change, (wanted, target))
