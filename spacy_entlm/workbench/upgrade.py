"""The second form of a workbench's file, and files of the first one."""

import json
import sqlite3
from pathlib import Path

from .adding import add_document
from .changes import value_of
from .database import FIRST_FORM, FORM, connect, create_database, run_all
from .mentions import write_found, write_mentions

# What the second form has more. `documents`: what came in, of which a text may be a
# part (`parts`, with the place of its first character). `others`: other marks of a
# text that a file gave. `mentions`: the marks of texts and, where there are none, what
# a model found (`found`), one a row, so that lists of them are fast. `batch`: the
# changes of one click, which an undo takes back together.
SECOND = """
ALTER TABLE classes ADD COLUMN words TEXT NOT NULL DEFAULT '';
ALTER TABLE classes ADD COLUMN color TEXT NOT NULL DEFAULT '';
ALTER TABLE classes ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN batch INTEGER;
CREATE INDEX changes_target ON changes (target);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    keys TEXT NOT NULL
);
CREATE TABLE parts (
    document_id INTEGER NOT NULL REFERENCES documents (id),
    start INTEGER NOT NULL,
    text_id INTEGER NOT NULL REFERENCES texts (id),
    PRIMARY KEY (document_id, start)
);
CREATE INDEX parts_text ON parts (text_id);
CREATE TABLE others (
    text_id INTEGER NOT NULL REFERENCES texts (id),
    spans TEXT NOT NULL,
    PRIMARY KEY (text_id, spans)
);
CREATE TABLE mentions (
    text_id INTEGER NOT NULL REFERENCES texts (id),
    found INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    class INTEGER NOT NULL,
    place INTEGER NOT NULL,
    words TEXT NOT NULL,
    sure REAL
);
CREATE INDEX mentions_text ON mentions (text_id, found);
CREATE INDEX mentions_class ON mentions (class, words, found, sure, text_id);
CREATE INDEX mentions_words ON mentions (words, found, class);
"""


def open_database(path: Path) -> None:
    """Make a file of a workbench if there is none, and give one of the first form what
    the second has more.
    RAISES (DataError): If another file is in its place."""
    create_database(path)
    with connect(path) as db:
        form = value_of(db, "SELECT value FROM settings WHERE key = 'form'")
        if form == FIRST_FORM:
            run_all(db, SECOND)
            _fill(db)
            db.execute("UPDATE settings SET value = ? WHERE key = 'form'", (FORM,))


def _fill(db: sqlite3.Connection) -> None:
    """Write the rows of the second form that follow from what the first one has."""
    for row in db.execute("SELECT id, text FROM texts").fetchall():
        add_document(db, row["text"], {}, [(0, row["id"])])
    query = (
        "SELECT text_id, spans FROM answers WHERE answer IN ('open', 'accept') AND "
        "spans != 'null'"
    )
    for row in db.execute(query).fetchall():
        spans = json.loads(row["spans"])
        write_mentions(db, row["text_id"], spans, found=False)
    for row in db.execute("SELECT text_id FROM proposals").fetchall():
        write_found(db, row["text_id"])
