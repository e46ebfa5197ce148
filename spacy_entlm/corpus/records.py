"""What a parser makes of a file: words with tags, or a text with spans."""

from typing import NamedTuple, Sequence


class CharSpan(NamedTuple):
    """A span of a text: character offsets, the end exclusive, and its class."""

    start: int
    end: int
    label: str


class WordRecord(NamedTuple):
    """Words with one tag each, and the line or the like where each stands."""

    words: list[str]
    tags: list[str]
    lines: list[int]
    unit: str = "line"


class TextRecord(NamedTuple):
    """A text with spans, and where it stands: the number of a line or of an entry.
    missing: Places of the text, character offsets, that count as not annotated."""

    text: str
    spans: list[CharSpan]
    number: int
    unit: str = "line"
    missing: Sequence[tuple[int, int]] = ()


Record = WordRecord | TextRecord
