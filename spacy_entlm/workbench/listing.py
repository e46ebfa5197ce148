"""What a workbench holds, to look through: its texts, and the entities of a class."""

import json
import re
import sqlite3
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .changes import ACCEPT, IGNORE, OPEN, REJECT, change_state, new_batch
from .classes import known_class
from .database import connect, reading
from .mentions import Words, joined, occurrences
from .store import Store

# Rows of a page, and characters of a text that are shown in a row.
N_TEXTS, N_STRINGS, N_CONTEXTS = 50, 25, 100
MAX_CHARS, CONTEXT_CHARS = 300, 60
# Kinds of texts in a list.
ALL, NEW, BEGUN, DONE, TEST = "all", "new", "begun", "done", "test"
DISAGREEMENTS, SKIPPED, REJECTED = "disagreements", "skipped", "rejected"
_BEGUN = "answer = 'open' AND answers.spans != 'null'"
_DIFFERENT = "(coalesce(doubtful, 0) OR texts.id IN (SELECT text_id FROM others))"
KINDS = {
    ALL: "1",
    NEW: f"coalesce(answer, 'open') = 'open' AND NOT coalesce({_BEGUN}, 0)",
    BEGUN: _BEGUN,
    DONE: f"answer = '{ACCEPT}'",
    SKIPPED: f"answer = '{IGNORE}'",
    REJECTED: f"answer = '{REJECT}'",
    DISAGREEMENTS: _DIFFERENT,
    TEST: "is_test",
}
# Orders of a list.
COMING, UNSURE, LATEST = "coming", "unsure", "latest"
_TEXTS = (
    "texts LEFT JOIN answers ON texts.id = answers.text_id LEFT JOIN proposals ON "
    "texts.id = proposals.text_id"
)


class Listing:
    """Looks through the file of a workbench, and mends what is found there."""

    def __init__(self, store: Store) -> None:
        """store (Store): The file."""
        self.path = store.path

    def texts(
        self,
        *,
        words: str = "",
        kind: str = ALL,
        class_: int = 0,
        below: float = 1.0,
        order: str = COMING,
        least: float = 0.0,
        page: int = 0,
    ) -> Dict[str, Any]:
        """A page of the texts.

        words (str): That the texts hold. kind (str): One of KINDS.
        class_ (int): Of which something is marked or found; 0: any.
        below (float): Something is found with less confidence; 1: it does not matter.
        order (str): COMING, UNSURE (the least sure first) or LATEST (answered last).
        least (float): What is found with less is not shown. page (int): From 0.
        RETURNS (Dict): "total", "kinds" (how many texts of each kind match the rest),
            "size" (of a page) and "rows": "id", "text", "answer", "is_test",
            "is_begun", "differs" and "marks" (words, class, confidence).
        RAISES (ValueError): If there is no such kind or order.
        """
        if kind not in KINDS or order not in (COMING, UNSURE, LATEST):
            raise ValueError("There is no such kind or order of texts")
        where, values = _conditions(words, class_, below, least)
        with reading(self.path) as db:
            sums = ", ".join(f"sum({x}) AS '{name}'" for name, x in KINDS.items())
            query = f"SELECT {sums} FROM {_TEXTS} WHERE {where}"
            counted = dict(db.execute(query, values).fetchone())
            kinds = {name: n or 0 for name, n in counted.items()}
            sure = (
                "(SELECT min(sure) FROM mentions WHERE text_id = texts.id AND found "
                "AND sure >= ?)"
            )
            by = {
                COMING: "texts.id",
                LATEST: "coalesce(version, 0) * (answer != 'open') DESC, texts.id",
                UNSURE: f"coalesce(answer, 'open') != 'open', {sure} IS NULL, {sure}",
            }[order]
            query = (
                "SELECT texts.id, text, is_test, answer, answers.spans, "
                f"{_DIFFERENT} AS differs FROM {_TEXTS} WHERE {where} AND "
                f"({KINDS[kind]}) ORDER BY {by} LIMIT ? OFFSET ?"
            )
            more = [least] * by.count("?")
            rows = db.execute(
                query, (*values, *more, N_TEXTS, page * N_TEXTS)
            ).fetchall()
            found = [_row(db, row, least) for row in rows]
        return {"total": kinds[kind], "kinds": kinds, "size": N_TEXTS, "rows": found}

    def entities(
        self,
        class_: int,
        *,
        words: str = "",
        mixed: bool = False,
        least: float = 0.0,
        page: int = 0,
    ) -> Dict[str, Any]:
        """A page of what is marked or found of a class, each string once, the most
        frequent first.

        class_ (int): The class. words (str): That the strings hold.
        mixed (bool): Only those that are marked as another class, too.
        least (float): What is found with less confidence does not count.
        page (int): From 0.
        RETURNS (Dict): "total", "size" and "rows": "words", "marked", "found", "other"
            (marks of other classes, by name) and "plain" (how often it stands unmarked
            in accepted texts).
        """
        values = {"class": class_, "like": _like(words), "least": least}
        own = (
            "SELECT words, sum(NOT found) AS marked, sum(found) AS found FROM mentions "
            "AS own WHERE class = :class AND (NOT found OR sure >= :least) AND words "
            "LIKE :like ESCAPE '\\' GROUP BY words"
        )
        if mixed:
            own += (
                " HAVING EXISTS (SELECT 1 FROM mentions AS other WHERE NOT other.found "
                "AND other.class != :class AND other.words = own.words)"
            )
        with reading(self.path) as db:
            total = db.execute(f"SELECT count(*) FROM ({own})", values).fetchone()[0]
            query = f"{own} ORDER BY count(*) DESC, words LIMIT :n OFFSET :first"
            place = {"n": N_STRINGS, "first": page * N_STRINGS}
            rows = [dict(row) for row in db.execute(query, {**values, **place})]
            plain = _plain(db, [row["words"] for row in rows])
            for row in rows:
                row["other"] = _others(db, row["words"], class_)
                row["plain"] = plain.get(row["words"], 0)
        return {"total": total, "size": N_STRINGS, "rows": rows}

    def contexts(self, words: str) -> Dict[str, Any]:
        """Where some words stand.

        words (str): The text of the words.
        RETURNS (Dict): "total" and "rows", of at most 100 places: "text", "before",
            "words", "after", "class" (its number, None where they are not marked),
            "is_longer" (whether the mark is longer), "is_found" (whether a model found
            it). Texts that a person has marked come first.
        """
        with reading(self.path) as db:
            query = (
                "SELECT texts.id, words, is_test, answers.spans AS marks, "
                f"proposals.spans AS proposed FROM {_TEXTS} WHERE instr(text, ?) ORDER "
                "BY coalesce(answers.spans, 'null') = 'null', texts.id"
            )
            rows: List[Dict[str, Any]] = []
            total = 0
            for row in db.execute(query, (words,)):
                for found in _places(row, words):
                    total += 1
                    if len(rows) < N_CONTEXTS:
                        rows.append(found)
        return {"total": total, "rows": rows}

    def mend(self, words: str, class_: Optional[int], texts: Sequence[int]) -> int:
        """Mark some words as a class wherever they stand in some texts, or nowhere.
        They stay part of a mark that is longer, and one undo takes all of it back.

        words (str): The text of the words. class_ (Optional[int]): None: no class.
        texts (Sequence[int]): Texts that have marks or an answer; others stay.
        RETURNS (int): How many texts changed.
        RAISES (ValueError): If there is no such class.
        """
        with connect(self.path) as db:
            if class_ is not None:
                known_class(db, class_)
            batch, changed = new_batch(db), 0
            for number in texts:
                query = (
                    "SELECT words, answer, spans FROM texts JOIN answers ON id = "
                    "text_id WHERE id = ? AND answer IN ('open', 'accept') AND spans "
                    "!= 'null'"
                )
                row = db.execute(query, (number,)).fetchone()
                if row is None:
                    continue
                own, spans = json.loads(row["words"]), json.loads(row["spans"])
                after = _mended(own, spans, words, class_)
                if after != spans:
                    state = {"answer": row["answer"], "spans": after}
                    change_state(db, number, state, batch)
                    changed += 1
        return changed


def _conditions(
    words: str, class_: int, below: float, least: float
) -> Tuple[str, List[Any]]:
    """What a list asks of texts, in SQL."""
    where: List[str] = ["1"]
    values: List[Any] = []
    if words.strip():
        where.append("text LIKE ? ESCAPE '\\'")
        values.append(_like(words.strip()))
    if class_:
        where.append(
            "texts.id IN (SELECT text_id FROM mentions WHERE class = ? AND (NOT found "
            "OR sure >= ?))"
        )
        values += [class_, least]
    if below < 1:
        where.append(
            "texts.id IN (SELECT text_id FROM mentions WHERE found AND sure >= ? AND "
            "sure < ?)"
        )
        values += [least, below]
    return " AND ".join(where), values


def _like(words: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", words)
    return f"%{escaped}%"


def _row(db: sqlite3.Connection, row: sqlite3.Row, least: float) -> Dict[str, Any]:
    """A text of a list, with what is marked in it or, if nothing was, what is found."""
    is_marked = (row["spans"] or "null") != "null"
    answer = row["answer"] or OPEN
    is_hidden = row["is_test"] and answer == OPEN
    query = (
        "SELECT words, class, sure FROM mentions WHERE text_id = ? AND found = ? AND "
        "(NOT found OR sure >= ?) ORDER BY start"
    )
    marks = db.execute(query, (row["id"], not is_marked, least)).fetchall()
    shown = [] if is_hidden and not is_marked else [tuple(mark) for mark in marks]
    return {
        "id": row["id"],
        "text": row["text"][:MAX_CHARS],
        "is_test": bool(row["is_test"]),
        "answer": answer,
        "is_begun": answer == OPEN and is_marked,
        "differs": bool(row["differs"]),
        "marks": shown,
    }


def _others(db: sqlite3.Connection, words: str, class_: int) -> Dict[str, int]:
    """How often a string is marked as each other class, by its name."""
    query = (
        "SELECT name, count(*) AS n FROM mentions JOIN classes ON classes.id = class "
        "WHERE mentions.words = ? AND class != ? AND NOT found GROUP BY name"
    )
    return {row["name"]: row["n"] for row in db.execute(query, (words, class_))}


def _plain(db: sqlite3.Connection, strings: Sequence[str]) -> Dict[str, int]:
    """How often strings stand as whole words, without a mark, in accepted texts."""
    counts: Dict[str, int] = {}
    query = (
        "SELECT text, words, spans FROM answers CROSS JOIN texts ON id = text_id WHERE "
        "answer = 'accept' AND spans != 'null'"
    )
    for row in db.execute(query):
        if not (seen := [string for string in strings if string in row["text"]]):
            continue
        own, spans = json.loads(row["words"]), json.loads(row["spans"])
        for string in seen:
            for start, end in occurrences(own, string):
                if not any(a < end and start < b for a, b, _ in spans):
                    counts[string] = counts.get(string, 0) + 1
    return counts


def _places(row: sqlite3.Row, string: str) -> List[Dict[str, Any]]:
    """Where a string stands in a text, as `Listing.contexts` gives it."""
    words = json.loads(row["words"])
    marks = json.loads(row["marks"] or "null")
    is_found = marks is None
    if is_found:
        marks = [] if row["is_test"] else json.loads(row["proposed"] or "[]")
    places = []
    for start, end in occurrences(words, string):
        after = _near([("", words[end - 1][1]), *words[end:]], from_end=False)
        own = next((m for m in marks if m[0] < end and start < m[1]), None)
        places.append(
            {
                "text": row["id"],
                "before": _near(words[:start], from_end=True),
                "words": joined(words[start:end]).strip(),
                "after": after,
                "class": own and own[2],
                "is_longer": own is not None and (own[0], own[1]) != (start, end),
                "is_found": is_found,
            }
        )
    return places


def _mended(
    words: Words, spans: List[List[int]], string: str, class_: Optional[int]
) -> List[List[int]]:
    """The marks of a text, with a string marked as a class, or not."""
    kept = list(spans)
    for start, end in occurrences(words, string):
        over = [span for span in kept if span[0] < end and start < span[1]]
        if any((span[0], span[1]) != (start, end) for span in over):
            continue
        kept = [span for span in kept if span not in over]
        if class_ is not None:
            kept.append([start, end, class_])
    return sorted(kept)


def _near(words: Words, *, from_end: bool) -> str:
    """The words next to a place, with "…" for those that are left out. from_end (bool):
    Whether the place is behind them."""
    length = n = 0
    for word, blank in reversed(words) if from_end else words:
        length += len(word) + bool(blank)
        if length > CONTEXT_CHARS and n:
            break
        n += 1
    if n == len(words):
        return joined(words)
    return f"… {joined(words[-n:])}" if from_end else f"{joined(words[:n])}…"
