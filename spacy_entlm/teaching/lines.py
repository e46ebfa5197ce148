"""Lines in which names are marked with their kinds."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Tuple

from ..files.errors import DataError
from ..files.json_lines import read_objects

FORM = '{"text": "...", "spans": [{"start": 0, "end": 3, "kinds": ["city", "place"]}]}'
# A kind is a few words; more is a mistake.
MAX_KIND_CHARS = 60
_SIGNS = re.compile(r"[_\-/\s]+")


@dataclass(frozen=True)
class Mark:
    """A name in a line. start, end: Characters. kinds: From the finest to the
    coarsest."""

    start: int
    end: int
    kinds: Tuple[str, ...]


@dataclass(frozen=True)
class MarkedLine:
    """A line in which all that has one of its kinds is marked.

    text: The line. lang: Its language, a code such as "de", or "".
    marks: Names, from left to right, none inside another.
    labels: All kinds that the line was read for, where these are fixed: then it has
        no name of those that no mark has, and each mark has one of them. Empty: the
        kinds are free, and those of the marks.
    """

    text: str
    lang: str
    marks: Tuple[Mark, ...]
    labels: Tuple[str, ...] = ()


def clean_kind(kind: str) -> str:
    """A kind in the one form in which it is learned: lower case, words apart."""
    return _SIGNS.sub(" ", kind).strip().lower()[:MAX_KIND_CHARS]


def read_marked_lines(paths: Iterable[Path]) -> Iterator[MarkedLine]:
    """Go through files of marked lines, packed (.xz, .gz) or not.

    A line is {"text": str, "spans": [{"start", "end", "kinds": [str, ...]}]}, and may
    hold "lang" and "labels". "label" in place of "kinds" is one kind. Other fields,
    such as the source of a line, are not read.
    RAISES (DataError): If a file cannot be read, or a line is none of these.
    """
    for path in paths:
        for number, entry in read_objects(path, form=FORM):
            try:
                yield _marked_line(entry)
            except (KeyError, TypeError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
                problem = f"no marked line ({reason}): write one {FORM} per line"
                raise DataError(problem, path=path, line=number) from error


def _marked_line(entry: Dict[str, Any]) -> MarkedLine:
    text, spans = entry["text"], entry.get("spans", [])
    if not isinstance(text, str):
        raise TypeError(f"the text is {text!r:.60}")
    labels = _kinds(entry.get("labels") or [])
    marks: List[Mark] = []
    for span in sorted(spans, key=lambda span: span["start"]):
        start, end = span["start"], span["end"]
        kinds = _kinds(span["kinds"] if "kinds" in span else [span["label"]])
        before = marks[-1].end if marks else 0
        if type(start) is not int or type(end) is not int:
            raise TypeError(f"a mark is from {start!r:.60} to {end!r:.60}")
        if not (before <= start < end <= len(text)):
            raise ValueError(f"the mark {start} to {end} overlaps one or the end")
        if labels and (len(kinds) != 1 or kinds[0] not in labels):
            raise ValueError(f"{kinds} is not one of the line's labels")
        if kinds:
            marks.append(Mark(start, end, kinds))
    return MarkedLine(text, str(entry.get("lang") or ""), tuple(marks), labels)


def _kinds(names: Any) -> Tuple[str, ...]:
    if not isinstance(names, list):
        raise TypeError(f"kinds are a list, not {names!r:.60}")
    return tuple(dict.fromkeys(filter(None, map(clean_kind, names))))
