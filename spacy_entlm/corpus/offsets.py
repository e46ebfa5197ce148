"""Offsets that are counted otherwise than Python counts characters."""

from typing import Iterator, Optional

from spacy.tokens import Doc


def fitting_shifts(doc: Doc, start: int, end: int) -> Iterator[str]:
    """Tell how the offsets of a span would have to be counted to be words.

    start, end (int): As they stand in the file, where they are no words as characters.
    YIELDS (str): Keys of `report.SHIFTS`.
    """
    text = doc.text
    # Blanks at the ends of a span were left out before.
    starts = [start, start - 1] if text[start - 1 : start].isspace() else [start]
    ends = [end, end + 1] if text[end : end + 1].isspace() else [end]
    told = [_places(text, first, last) for first in starts for last in ends]
    if 0 <= start < end <= len(doc):
        yield "words"
    for way in told[0]:
        if any(_is_words(doc, places[way]) for places in told):
            yield way


def _places(text: str, start: int, end: int) -> dict[str, Optional[tuple[int, int]]]:
    return {
        "utf16": _decoded(text, start, end, "utf-16-le", 2),
        "bytes": _decoded(text, start, end, "utf-8", 1),
        "from_one": (start - 1, end - 1),
        "last": (start, end + 1),
        "from_one_last": (start - 1, end),
    }


def _is_words(doc: Doc, place: Optional[tuple[int, int]]) -> bool:
    if place is None or not 0 <= place[0] < place[1] <= len(doc.text):
        return False
    found = doc.char_span(*place)
    return found is not None and found.text == found.text.strip() != ""


def _decoded(
    text: str, start: int, end: int, encoding: str, unit: int
) -> Optional[tuple[int, int]]:
    """A place in characters, from one in units of an encoding; None if that is no place
    between characters, or the same one."""
    try:
        data = text.encode(encoding)
        before = len(data[: start * unit].decode(encoding))
        found = before, len(data[: end * unit].decode(encoding))
    except UnicodeError:
        return None
    return found if found != (start, end) else None
