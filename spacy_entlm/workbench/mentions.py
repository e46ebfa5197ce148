"""One row for each mark of a text, and for each entity that a model found in one."""

import json
import sqlite3
from typing import Any, Dict, List, Optional, Sequence, Tuple

# The words of a text, and whether a blank follows each.
Words = Sequence[Sequence[Any]]


def joined(words: Words) -> str:
    """Words as the text that they were."""
    return "".join(word + " " * bool(blank) for word, blank in words)


def word_ends(words: Words) -> List[Tuple[int, int]]:
    """The first character and the end of each word."""
    ends, place = [], 0
    for word, blank in words:
        ends.append((place, place + len(word)))
        place += len(word) + bool(blank)
    return ends


def words_at(words: Words) -> Tuple[Dict[int, int], Dict[int, int]]:
    """The word that begins at a character, and the number of words up to the end of
    one."""
    ends = word_ends(words)
    starts = {start: i for i, (start, _) in enumerate(ends)}
    return starts, {end: i + 1 for i, (_, end) in enumerate(ends)}


def write_mentions(
    db: sqlite3.Connection,
    number: int,
    spans: Optional[Sequence[Sequence[Any]]],
    *,
    found: bool,
) -> None:
    """Replace the mentions of a text.

    spans (Optional[Sequence]): First word, end, class and, of a model, confidence.
    found (bool): Whether a model found them, rather than that a person marked them.
    """
    change = "DELETE FROM mentions WHERE text_id = ? AND found = ?"
    db.execute(change, (number, found))
    if not spans:
        return
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
        "SELECT proposals.spans FROM proposals JOIN texts ON texts.id = "
        "proposals.text_id LEFT JOIN answers ON answers.text_id = texts.id WHERE "
        "texts.id = ? AND NOT is_test AND coalesce(answers.spans, 'null') = 'null'"
    )
    row = db.execute(query, (number,)).fetchone()
    write_mentions(db, number, row and json.loads(row["spans"]), found=True)


def occurrences(words: Words, string: str) -> List[Tuple[int, int]]:
    """Where a string stands in a text as whole words.

    words (Words): Of the text.
    RETURNS (List[Tuple[int, int]]): First word and end of each, without overlap.
    """
    text, (starts, ends) = joined(words), words_at(words)
    places: List[Tuple[int, int]] = []
    found = text.find(string) if string else -1
    while found >= 0:
        start, end = starts.get(found), ends.get(found + len(string))
        if start is not None and end is not None:
            places.append((start, end))
            found += len(string) - 1
        found = text.find(string, found + 1)
    return places
