"""One row for each mark of a text, and for each entity that a model found in one."""

import json
import sqlite3
from typing import Any, List, Optional, Sequence, Tuple

# The words of a text, and whether a blank follows each.
Words = Sequence[Sequence[Any]]


def joined(words: Words) -> str:
    """Words as the text that they were."""
    return "".join(word + " " * bool(blank) for word, blank in words)


def write_mentions(
    db: sqlite3.Connection,
    number: int,
    spans: Optional[Sequence[Sequence[Any]]],
    *,
    found: bool,
    words: Optional[Words] = None,
) -> None:
    """Replace the mentions of a text.

    spans (Optional[Sequence]): First word, end, class and, of a model, confidence.
    found (bool): Whether a model found them, rather than that a person marked them.
    words (Optional[Words]): Of the text, if they are at hand.
    """
    change = "DELETE FROM mentions WHERE text_id = ? AND found = ?"
    db.execute(change, (number, found))
    if not spans:
        return
    if words is None:
        query = "SELECT words FROM texts WHERE id = ?"
        words = json.loads(db.execute(query, (number,)).fetchone()["words"])
    rows = []
    for start, end, class_, *sure in spans:
        own = joined(words[start:end]).strip()
        place = len(joined(words[:start]))
        rows.append((number, found, start, end, class_, place, own, *(sure or (None,))))
    db.executemany("INSERT INTO mentions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def write_found(db: sqlite3.Connection, number: int) -> None:
    """Bring the mentions that a model found in a text up to date: there are none where
    a person has marked, and none in the test part, which is not to be prompted."""
    query = (
        "SELECT proposals.spans, words FROM proposals JOIN texts ON texts.id = "
        "proposals.text_id LEFT JOIN answers ON answers.text_id = texts.id WHERE "
        "texts.id = ? AND NOT is_test AND coalesce(answers.spans, 'null') = 'null'"
    )
    row = db.execute(query, (number,)).fetchone()
    if row is None:
        write_mentions(db, number, None, found=True)
        return
    spans, words = json.loads(row["spans"]), json.loads(row["words"])
    write_mentions(db, number, spans, found=True, words=words)


def occurrences(words: Words, wanted: Sequence[str]) -> List[Tuple[int, int]]:
    """Where some words stand in a text, by their whole words.

    words (Words): Of the text.
    wanted (Sequence[str]): The texts of the words that are looked for.
    RETURNS (List[Tuple[int, int]]): First word and end of each, without overlap.
    """
    own, n = [word for word, _ in words], len(wanted)
    places, i = [], 0
    while n and i + n <= len(own):
        if own[i : i + n] == list(wanted):
            places.append((i, i + n))
            i += n
        else:
            i += 1
    return places
