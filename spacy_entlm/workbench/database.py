"""The file of a workbench: an SQLite database that several processes may use."""

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from ..files.errors import DataError

FIRST_FORM, FORM = "spacy-entlm workbench 1", "spacy-entlm workbench 2"
# Seconds that a process waits for another one's write.
PATIENCE = 30.0

# `changes` has every change that a person made, and none is ever altered: an undo is a
# change, too. The other tables are what follows from it, and are written with it.
SCHEMA = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE classes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE,
    words TEXT NOT NULL,
    is_test INTEGER NOT NULL,
    drawn REAL NOT NULL
);
CREATE TABLE answers (
    text_id INTEGER PRIMARY KEY REFERENCES texts (id),
    answer TEXT NOT NULL,
    spans TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    target INTEGER NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    undoes INTEGER UNIQUE REFERENCES changes (id)
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT,
    done REAL NOT NULL DEFAULT 0,
    seconds_left REAL,
    message TEXT NOT NULL DEFAULT '',
    n_examples INTEGER NOT NULL DEFAULT 0,
    scores TEXT
);
CREATE UNIQUE INDEX one_run ON runs (state) WHERE state = 'running';
CREATE TABLE proposals (
    text_id INTEGER PRIMARY KEY REFERENCES texts (id),
    turn INTEGER,
    spans TEXT NOT NULL,
    reasons TEXT NOT NULL,
    doubtful INTEGER NOT NULL DEFAULT 0
);
"""


def create_database(path: Path) -> None:
    """Make a file of the first form that only its owner may read, if there is none.
    RAISES (DataError): If another file is in its place."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with connect(path) as db:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                run_all(db, SCHEMA)
                db.execute("INSERT INTO settings VALUES ('form', ?)", (FIRST_FORM,))
            rows = db.execute("SELECT value FROM settings WHERE key = 'form'")
            form = (rows.fetchone() or (None,))[0]
    except sqlite3.DatabaseError as error:
        raise DataError(f"is no workbench ({error})", path=path) from error
    if form not in (FIRST_FORM, FORM):
        problem = f"is a workbench of another version ({form}): choose another folder"
        raise DataError(problem, path=path)


def run_all(db: sqlite3.Connection, statements: str) -> None:
    """Run statements that end with ";"."""
    for statement in statements.split(";"):
        db.execute(statement)


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection in a transaction that is kept whole, or not at all. No other
    process writes until the end, so that what was read is still so."""
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode = WAL")
        # What is committed outlives a kill, and the file outlives a loss of power,
        # which may take the last clicks. FULL waits for the disk at each click.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")
    finally:
        db.close()  # what was not committed is gone


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection to look at one state of the file, beside one that writes."""
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        db.execute("BEGIN")
        yield db
    finally:
        db.close()
