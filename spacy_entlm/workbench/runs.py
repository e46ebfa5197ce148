"""Work in the background: one process at a time, whose state is in the file."""

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

from filelock import FileLock, Timeout

from .changes import now, value_of
from .database import connect, reading
from .mentions import write_found
from .store import Store

# What a run does: a look with a pipeline that knows the names of the classes only; a
# training; what comes after it, marks in all other texts and a figure; a wheel of the
# trained pipeline.
LOOK, TRAIN, AFTER, WHEEL = "look", "train", "after", "wheel"
# These end when something else is to be done.
GIVE_WAY = (LOOK, AFTER)
RUNNING, DONE, FAILED, KILLED = "running", "done", "failed", "killed"
# Another run came before it was done.
STOPPED = "stopped"
# In the folder of a workbench.
FILE, MODEL, WHEELS, LOG = "workbench.sqlite", "model", "wheels", "training.log"
# The page of a cross-validation of the accepted texts.
REPORT = "crossval.html"
_LOCK = ".run.lock"
# Of the classes and texts at which the last look was begun.
_LOOKED = "looked"
# Seconds that a process waits for one that only looks whether it is there, or that
# gives way.
PATIENCE = 120.0


class Stopped(Exception):
    """Another run is to be done."""


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
        self.store = Store(self.path)
        # One that works, and those that give way to it.
        self._processes: List[subprocess.Popen] = []
        # A run that is noted has its process for each who looks.
        self._beginning = threading.RLock()

    @property
    def is_trained(self) -> bool:
        """Whether there is a trained model."""
        return (self.folder / MODEL / "config.cfg").is_file()

    def begin(self, kind: str) -> Optional[int]:
        """Start a process, which goes on if this one ends. Work that can wait gives
        way to it.
        RETURNS (Optional[int]): Its number; None if one is running."""
        with self._beginning:
            self.find_killed()
            number = self.note_begin(kind)
            if number is None:
                return None
            module = "spacy_entlm.workbench.worker"
            line = [sys.executable, "-m", module, str(self.folder), str(number)]
            with (self.folder / LOG).open("ab") as log:
                process = subprocess.Popen(
                    line,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self._processes.append(process)
            return number

    def look(self) -> Optional[int]:
        """Begin a look, if there is no trained model and something is to be found that
        the last look did not know of: other classes, or more texts.
        RETURNS (Optional[int]): Its number; None if there is none to begin."""
        with self._beginning:
            known = sorted((x["name"], x["words"]) for x in self.store.classes())
            state = json.dumps([self.store.counts()["texts"], *known])
            before = self.store.setting(_LOOKED, "")
            if self.is_trained or not known or state == before:
                return None
            number = self.begin(LOOK)
            if number is not None:
                self.store.set_setting(_LOOKED, state)
            return number

    def look_again(self, states: Sequence[str] = (STOPPED,)) -> Optional[int]:
        """Begin a look again that did not come to its end.

        states (Sequence[str]): How it ended: STOPPED, if another run came before it,
            or KILLED.
        RETURNS: As `look`.
        """
        with self._beginning:
            with reading(self.path) as db:
                query = "SELECT state FROM runs WHERE kind = ? ORDER BY id DESC LIMIT 1"
                last = value_of(db, query, LOOK)
                query = "SELECT 1 FROM runs WHERE state = ?"
                is_busy = value_of(db, query, RUNNING) is not None
            if last not in states or is_busy or self.is_trained:
                return None
            self.store.set_setting(_LOOKED, "")
            return self.look()

    def note_begin(self, kind: str) -> Optional[int]:
        """Note a run that this process does, or one that it starts.
        RETURNS (Optional[int]): Its number; None if one is running."""
        try:
            with connect(self.path) as db:
                change = "UPDATE runs SET state = ?, ended = ? WHERE state = ?"
                values = (STOPPED, now(), RUNNING, *GIVE_WAY)
                db.execute(f"{change} AND kind IN (?, ?)", values)
                query = "INSERT INTO runs (kind, state, started) VALUES (?, ?, ?)"
                return db.execute(query, (kind, RUNNING, now())).lastrowid
        except sqlite3.IntegrityError:
            return None

    def find_killed(self) -> None:
        """Note of a run whose process is gone that it was killed."""
        # A run holds the lock of the file as long as it lives.
        with self._beginning, suppress(Timeout):
            self._processes = [x for x in self._processes if x.poll() is None]
            if self._processes:
                return
            with FileLock(self.folder / _LOCK, timeout=0), connect(self.path) as db:
                change = (KILLED, now(), "The process was killed", RUNNING)
                query = "UPDATE runs SET state = ?, ended = ?, message = ?"
                db.execute(f"{query} WHERE state = ?", change)

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
    def alive(self) -> Iterator[None]:
        """Hold the lock that tells that the process lives."""
        with FileLock(self.folder / _LOCK, timeout=PATIENCE):
            yield

    @contextmanager
    def working(self, number: int) -> Iterator[Optional[str]]:
        """Note how a run ended.
        YIELDS (Optional[str]): What is to be done; None if it was given up."""
        with reading(self.path) as db:
            query = "SELECT kind FROM runs WHERE id = ? AND state = ?"
            kind = value_of(db, query, number, RUNNING)
        try:
            yield kind
        except Stopped:
            return
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

    def check(self, number: int) -> None:
        """RAISES (Stopped): If a run gave way to another one."""
        with reading(self.path) as db:
            query = "SELECT state FROM runs WHERE id = ?"
            if value_of(db, query, number) == STOPPED:
                raise Stopped

    def propose(self, proposals: Sequence[Proposal], *, replace: bool = True) -> None:
        """Replace what was proposed before. Of a text that is proposed twice the later
        one counts, and an answer that was changed since is not in doubt.
        replace (bool): Whether what was proposed for other texts goes."""
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
            if replace:
                db.execute("DELETE FROM proposals")
                db.execute("DELETE FROM mentions WHERE found")
            db.executemany(f"INSERT OR REPLACE INTO proposals VALUES ({values})", rows)
            for proposal in proposals:
                write_found(db, proposal.text_id)

    def proposed(self) -> Set[int]:
        """The texts that the model has read."""
        with reading(self.path) as db:
            query = "SELECT text_id FROM proposals"
            return {row["text_id"] for row in db.execute(query)}

    def _end(self, number: int, state: str, message: str) -> None:
        query = "UPDATE runs SET state = ?, ended = ?, message = ? WHERE id = ?"
        with connect(self.path) as db:
            db.execute(
                f"{query} AND state = ?", (state, now(), message, number, RUNNING)
            )


def _row(row: sqlite3.Row) -> Dict[str, Any]:
    return {**dict(row), "scores": json.loads(row["scores"] or "null")}
