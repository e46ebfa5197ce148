"""Two workbenches put into a new one, and on which texts the two disagree."""

import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple

from ..files.counts import count_of
from ..files.errors import DataError
from ..files.folder import new_folder
from ..files.json_lines import dump_line
from ..files.temporary import temporary_folder
from .adding import add_document, add_texts
from .agreement import Agreement, Pair, Place, measure
from .changes import (
    ACCEPT,
    GIVEN,
    GIVEN_CLASS,
    GIVEN_MOVE,
    IGNORE,
    MERGED,
    OPEN,
    note,
    set_part,
    set_state,
    state_of,
    value_of,
)
from .classes import class_number, new_class
from .database import connect, reading
from .mentions import word_ends
from .names import Names, copy_names, merge_names
from .runs import FILE
from .sides import Answer, Text, all_documents, all_texts, in_words
from .store import Store
from .upgrade import open_database

# Which answer is taken where the two disagree; NEITHER: the text waits for one.
FIRST, SECOND, NEITHER = "first", "second", "none"
TAKEN = (NEITHER, FIRST, SECOND)
DISAGREEMENTS = "disagreements.jsonl"
# What a copy does not keep: what a model found, the runs, and the page's secret.
_FORGOTTEN = (
    "DELETE FROM proposals",
    "DELETE FROM mentions WHERE found",
    "DELETE FROM runs",
    "DELETE FROM settings WHERE key IN ('token', 'suits', 'looked')",
)


class Disagreement(NamedTuple):
    """A text that the two answered differently. taken: One of TAKEN."""

    text: str
    first: Answer
    second: Answer
    taken: str

    def entry(self) -> Dict[str, Any]:
        """As a JSON line."""
        sides = {
            name: {
                "answer": own.answer,
                "spans": [
                    {"start": a, "end": b, "label": label, "text": self.text[a:b]}
                    for a, b, label in own.places or ()
                ],
            }
            for name, own in ((FIRST, self.first), (SECOND, self.second))
        }
        return {"text": self.text, **sides, "taken": self.taken}


class Merged(NamedTuple):
    """What became of two workbenches. notes: What is to be said of it, a sentence
    each. agreement: Of the texts that both accepted, other than those that came to both
    with their marks."""

    notes: List[str]
    disagreements: List[Disagreement]
    agreement: Agreement


def merge(first: Path, second: Path, out: Path, take: str = NEITHER) -> Merged:
    """Put two workbenches into a new one. Both stay as they are, and pages of them may
    be open.

    first, second (Path): Folders of workbenches. Of what a workbench has one only, such
        as its language, the new one gets that of the first.
    out (Path): The new folder, which also gets a file of the disagreements.
    take (str): Which answer is taken where they disagree, one of TAKEN.
    RETURNS (Merged): What became of them.
    RAISES (DataError): If one is no workbench, or the new one cannot be written.
    """
    if take not in TAKEN:
        raise DataError(f"unknown choice {take!r:.60}: choose {', '.join(TAKEN)}")
    if out.exists():
        raise DataError("is there already: name a new folder", path=out)
    with temporary_folder() as ours, new_folder(out) as writing:
        path, other = writing / FILE, ours / FILE
        try:
            _copy(first, path)
            _copy(second, other)
            with connect(path) as db, reading(other) as beside:
                merging = _Merging(db, beside, take)
                merged = merging.merge()
            for folder, copy in ((first, path), (second, other)):
                copy_names(folder, copy.parent)
            merge_names(Names(Store(path)), Names(Store(other)), merging.names)
        except sqlite3.Error as error:
            raise DataError(f"cannot be written ({error})", path=out) from error
        lines = (dump_line(each.entry()) for each in merged.disagreements)
        (writing / DISAGREEMENTS).write_bytes(b"".join(lines))
    return merged


def _copy(folder: Path, copy: Path) -> None:
    """Copy the file of a workbench, and give the copy the present form.
    RAISES (DataError): If there is none."""
    source = folder / FILE
    if not source.is_file():
        raise DataError(f"is no workbench: it has no {FILE}", path=folder)
    os.close(os.open(copy, os.O_CREAT | os.O_RDWR, 0o600))  # only its owner reads it
    try:
        with (
            closing(sqlite3.connect(source)) as db,
            closing(sqlite3.connect(copy)) as to,
        ):
            db.backup(to)
    except sqlite3.OperationalError:  # of the disk
        raise
    except sqlite3.DatabaseError as error:
        raise DataError(f"is no workbench ({error})", path=source) from error
    try:
        open_database(copy)
    except DataError as error:
        problem = "is no workbench of this version of the package"
        raise DataError(problem, path=source) from error


class _Merging:
    """Merges a workbench into the copy of another one, in its transaction."""

    def __init__(
        self, db: sqlite3.Connection, beside: sqlite3.Connection, take: str
    ) -> None:
        self.db, self.beside, self.take = db, beside, take
        self.counts: Counter[str] = Counter()
        self.notes: List[str] = []
        self.disagreements: List[Disagreement] = []
        self.pairs: List[Pair] = []
        self.numbers: Dict[str, int] = {}
        # Of the second's classes, as they are called in the new one.
        self.names: Dict[int, str] = {}

    def merge(self) -> Merged:
        """Do it."""
        for statement in _FORGOTTEN:
            self.db.execute(statement)
        self._compare_settings()
        self._merge_classes()
        theirs = all_texts(self.beside, self.names)
        ours = all_texts(self.db, {n: name for name, n in self.numbers.items()})
        for text in ours.values():
            if text.text in theirs:
                self.counts["both"] += 1
                self._merge_text(text, theirs[text.text])
        add_texts(self.db, all_documents(self.beside), seed=0)
        self._keep_all_in_documents()
        for text in theirs.values():
            if text.text not in ours:
                query = "SELECT id FROM texts WHERE text = ?"
                new = text._replace(id=value_of(self.db, query, text.text))
                self._set(new, text.answer, new)
                self._add_others(new, text.others)
        # What was done before is no step of those who go on: no undo leads there.
        note(self.db, MERGED, 0, None, None)
        n = value_of(self.db, "SELECT count(*) FROM texts")
        said = [f"{count_of(n, 'texts')}, {self.counts['both']:,} of them in both"]
        notes = [*said, *self._counted(), *self.notes]
        return Merged(notes, self.disagreements, measure(self.pairs))

    def _compare_settings(self) -> None:
        query = "SELECT value FROM settings WHERE key = ?"
        for key, what in (
            ("lang", "language"),
            ("split", "way to split long texts"),
            ("backbone", "backbone"),
        ):
            one, other = (value_of(db, query, key) for db in (self.db, self.beside))
            if one and other and one != other:
                said = f"The {what} is that of the first, {one}: the second has {other}"
                self.notes.append(said)

    def _merge_classes(self) -> None:
        """Give the first the classes that only the second has."""
        query = "SELECT * FROM classes ORDER BY place, id"
        ours, theirs = (db.execute(query).fetchall() for db in (self.db, self.beside))
        called = {row["id"]: row["name"] for row in ours}
        same = self._same_classes(ours, theirs)
        new = []
        for row in theirs:
            if (number := same.get(row["id"])) is None:
                number = new_class(self.db, row["name"], GIVEN_CLASS)
                new.append(row["name"])
                called[number] = row["name"]
            elif called[number] != row["name"]:
                said = f"{row['name']} of the second is {called[number]} of the first"
                self.notes.append(said)
            self.names[row["id"]] = called[number]
            for key in ("words", "color"):
                change = f"UPDATE classes SET {key} = ? WHERE id = ? AND {key} = ''"
                self.db.execute(change, (row[key], number))
        self.numbers = {name: number for number, name in called.items()}
        for side, own in (
            ("first", [x for x in called.values() if x not in self.names.values()]),
            ("second", new),
        ):
            if own:
                said = f"Classes of the {side} only, which are kept: {', '.join(own)}"
                self.notes.append(said)

    def _same_classes(
        self, ours: List[sqlite3.Row], theirs: List[sqlite3.Row]
    ) -> Dict[int, int]:
        """The first's number of each class of the second that it has, too: under the
        same name, or one that either of them gave it later."""
        own = {row["name"]: row["id"] for row in ours}
        other = {row["name"]: row["id"] for row in theirs}
        same = {number: own[name] for name, number in other.items() if name in own}
        alone = {name: number for name, number in own.items() if name not in other}
        for name, number in other.items():
            if number not in same:
                known = class_number(self.db, name)
                if known in alone.values():
                    same[number] = known
        for name, number in alone.items():
            if (known := class_number(self.beside, name)) in other.values():
                same.setdefault(known, number)
        return same

    def _merge_text(self, ours: Text, theirs: Text) -> None:
        """Merge a text that both have."""
        if ours.is_test != theirs.is_test:
            self.counts["moved"] += 1
            if not ours.is_test:
                set_part(self.db, ours.id, True)
                note(self.db, GIVEN_MOVE, ours.id, False, True)
        one, other = ours.answer, theirs.answer
        is_of_file = one.is_given and other.is_given and one == other
        self.counts["given"] += is_of_file
        if one.answer == other.answer == ACCEPT and not is_of_file:
            pair = (word_ends(ours.words), one.places or [], other.places or [])
            self.pairs.append(Pair(*pair))
        if IGNORE in (one.answer, other.answer):
            self.counts["skipped"] += one.is_judged or other.is_judged
        if one.answer != OPEN and one.is_like(other):
            self.counts["same"] += not is_of_file
        elif one.is_judged and other.is_judged:
            self._disagree(ours, theirs)
        elif not one.is_judged and other.answer != OPEN:
            if one.answer == OPEN:
                self.counts["added"] += 1
            self._set(ours, other, theirs)
        elif one.answer == OPEN:
            self._keep_begun(ours, theirs)

    def _disagree(self, ours: Text, theirs: Text) -> None:
        one, other = ours.answer, theirs.answer
        self.disagreements.append(Disagreement(ours.text, one, other, self.take))
        if self.take == SECOND:
            self._set(ours, other, theirs)
        elif self.take == NEITHER:
            self._set(ours, Answer(OPEN), theirs)
            marks = [own.places for own in (one, other) if own.places is not None]
            self._add_others(ours, marks)

    def _keep_begun(self, ours: Text, theirs: Text) -> None:
        """Keep marks of a text that neither of the two has answered."""
        one, other = ours.answer.places, theirs.answer.places
        if one is None and other is not None:
            ours = self._set(ours, theirs.answer, theirs)
        elif other is not None and one != other:
            self._add_others(ours, [other])
        self._add_others(ours, theirs.others)

    def _set(self, ours: Text, answer: Answer, theirs: Text) -> Text:
        """Give a text of the first an answer.

        theirs (Text): The same text with the words on which the marks of the answer
            fit, if they do not fit those of the first.
        RETURNS (Text): The text with the words that it has now.
        """
        if answer == Answer(OPEN) and state_of(self.db, ours.id) is None:
            return ours  # it has never had one
        places, words, spans = answer.places, ours.words, None
        if places is not None:
            spans = in_words(places, words, self.numbers)
            if spans is None:
                words = theirs.words
                spans = in_words(places, words, self.numbers)
                noted = json.dumps(words, ensure_ascii=False)
                change = "UPDATE texts SET words = ? WHERE id = ?"
                self.db.execute(change, (noted, ours.id))
        if answer.answer != OPEN or words is not ours.words:
            self.db.execute("DELETE FROM others WHERE text_id = ?", (ours.id,))
        after = {"answer": answer.answer, "spans": spans}
        kind = GIVEN if answer.is_given else MERGED
        version = note(self.db, kind, ours.id, state_of(self.db, ours.id), after)
        set_state(self.db, ours.id, after, version)
        return ours._replace(words=words)

    def _add_others(self, text: Text, marks: Iterable[List[Place]]) -> None:
        """Note marks of a text on which a person is to decide."""
        for places in marks:
            spans = in_words(places, text.words, self.numbers)
            if spans is not None:
                change = "INSERT OR IGNORE INTO others VALUES (?, ?)"
                self.db.execute(change, (text.id, json.dumps(spans)))

    def _keep_all_in_documents(self) -> None:
        """Write texts, too, that are parts of a document that the first has in other
        parts: each is one of its own."""
        query = "SELECT id, text FROM texts WHERE id NOT IN (SELECT text_id FROM parts)"
        for row in self.db.execute(query).fetchall():
            add_document(self.db, row["text"], {}, [(0, row["id"])])

    def _counted(self) -> List[str]:
        """What became of the texts that both have."""
        said = {
            "same": "answered alike by both",
            "added": "answered by the second only, whose answer is taken",
            "skipped": "skipped by one: what the other one answered is taken",
            "given": "with the same marks of a file, which nobody changed",
            "moved": "in the test part of one only: in the test part of the new one",
        }
        return [
            f"{count_of(n, 'texts')} {what}"
            for key, what in said.items()
            if (n := self.counts[key])
        ]
