"""Work in the background: one process at a time, whose state is in the file."""

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from filelock import FileLock, Timeout

from .database import connect, reading
from .store import now

# What a run does: a look with a pipeline that knows the names of the classes only; a
# training; a wheel of the trained pipeline.
LOOK, TRAIN, WHEEL = "look", "train", "wheel"
RUNNING, DONE, FAILED, KILLED = "running", "done", "failed", "killed"
# In the folder of a workbench.
FILE, MODEL, WHEELS, LOG = "workbench.sqlite", "model", "wheels", "training.log"
_LOCK = ".run.lock"
# Seconds that a process waits for one that only looks whether it is there.
PATIENCE = 10.0


class Proposal(NamedTuple):
    """What the model found in a text. spans: first word, end, number of the class,
    confidence. turn (Optional[int]): Its place in the order; None: it has none. doubted
    (Optional[int]): The version of an answer with which the model disagrees."""

    text_id: int
    turn: Optional[int]
    spans: List[List[float]]
    reasons: Dict[str, Any]
    doubted: Optional[int] = None


class Runs:
    """The runs of a workbench, for the server and for the process that works."""

    def __init__(self, folder: Path) -> None:
        """folder (Path): Of the workbench, with its file."""
        self.folder, self.path = folder, folder / FILE
        self._process: Optional[subprocess.Popen] = None
        # A run that is noted has its process for each who looks.
        self._beginning = threading.RLock()

    def begin(self, kind: str) -> Optional[int]:
        """Start a process, which goes on if this one ends.
        RETURNS (Optional[int]): Its number; None if one is running."""
        with self._beginning:
            return self._begin(kind)

    def _begin(self, kind: str) -> Optional[int]:
        self.find_killed()
        try:
            with connect(self.path) as db:
                query = "INSERT INTO runs (kind, state, started) VALUES (?, ?, ?)"
                number = db.execute(query, (kind, RUNNING, now())).lastrowid
        except sqlite3.IntegrityError:
            return None
        module = "spacy_entlm.workbench.worker"
        line = [sys.executable, "-m", module, str(self.folder), str(number)]
        with (self.folder / LOG).open("ab") as log:
            self._process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return number

    def find_killed(self) -> None:
        """Note of a run whose process is gone that it was killed."""
        with self._beginning:
            self._find_killed()

    def _find_killed(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._process = None
        try:
            with FileLock(self.folder / _LOCK, timeout=0), connect(self.path) as db:
                change = (KILLED, now(), "The process was killed", RUNNING)
                query = "UPDATE runs SET state = ?, ended = ?, message = ?"
                db.execute(f"{query} WHERE state = ?", change)
        except Timeout:
            pass  # it holds the lock as long as it lives

    def latest(self) -> Optional[Dict[str, Any]]:
        """The run that was started last."""
        with reading(self.path) as db:
            query = "SELECT * FROM runs ORDER BY id DESC LIMIT 1"
            rows = [_row(row) for row in db.execute(query)]
        return rows[0] if rows else None

    def trained(self) -> List[Dict[str, Any]]:
        """The trainings that came to their end, the first first."""
        with reading(self.path) as db:
            query = "SELECT * FROM runs WHERE kind = ? AND state = ? ORDER BY id"
            return [_row(row) for row in db.execute(query, (TRAIN, DONE))]

    # What follows is for the process that works.

    @contextmanager
    def working(self, number: int) -> Iterator[Optional[str]]:
        """Hold the lock of a run, and note how it ended.
        YIELDS (Optional[str]): What is to be done; None if it was given up."""
        with FileLock(self.folder / _LOCK, timeout=PATIENCE):
            with reading(self.path) as db:
                query = "SELECT kind FROM runs WHERE id = ? AND state = ?"
                row = db.execute(query, (number, RUNNING)).fetchone()
            try:
                yield row and row["kind"]
            except Exception as error:
                message = " ".join(str(error).split()) or type(error).__name__
                self._end(number, FAILED, message)
                raise
            self._end(number, DONE, "")

    def note(self, number: int, **values: Any) -> None:
        """Note "done" (float, 0 to 1), "seconds_left", "message", "n_examples", or
        "scores"."""
        if "scores" in values:
            values["scores"] = json.dumps(values["scores"])
        changes = ", ".join(f"{key} = ?" for key in values)
        with connect(self.path) as db:
            row = (*values.values(), number)
            db.execute(f"UPDATE runs SET {changes} WHERE id = ?", row)

    def propose(self, proposals: Sequence[Proposal]) -> None:
        """Replace what was proposed before. Of a text that is proposed twice the later
        one counts, and an answer that was changed since is not in doubt."""
        rows = [
            {
                **p._asdict(),
                "spans": json.dumps(p.spans),
                "reasons": json.dumps(p.reasons),
            }
            for p in proposals
        ]
        version = "SELECT version FROM answers WHERE text_id = :text_id"
        doubtful = f"coalesce(({version}) = :doubted, 0)"
        values = f":text_id, :turn, :spans, :reasons, {doubtful}"
        with connect(self.path) as db:
            db.execute("DELETE FROM proposals")
            db.executemany(f"INSERT OR REPLACE INTO proposals VALUES ({values})", rows)

    def _end(self, number: int, state: str, message: str) -> None:
        query = "UPDATE runs SET state = ?, ended = ?, message = ? WHERE id = ?"
        with connect(self.path) as db:
            db.execute(
                f"{query} AND state = ?", (state, now(), message, number, RUNNING)
            )


def _row(row: sqlite3.Row) -> Dict[str, Any]:
    return {**dict(row), "scores": json.loads(row["scores"] or "null")}
