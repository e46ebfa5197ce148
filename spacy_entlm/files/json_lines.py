"""JSON files, and files of one JSON object a line."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from .errors import DataError
from .text import read_bytes, read_lines


def load_json(text: Union[str, bytes]) -> Any:
    """Read JSON.
    RAISES (ValueError): If it is broken, or a key of an object stands twice with
        different values, of which one would be lost. (RecursionError): If it is nested
        too deep."""
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise ValueError(f"{key!r:.60} stands twice in one object")
        found[key] = value
    return found


def load_object(
    line: Union[str, bytes], path: Path, number: Optional[int] = None, *, form: str
) -> Dict[str, Any]:
    """Read the object in a line. Where it stands, and the form of an object, are for
    messages.
    RAISES (DataError): If the line is no JSON, or no object."""
    try:
        entry = load_json(line)
    # Thousands of open brackets end in a RecursionError.
    except (ValueError, RecursionError) as error:
        problem = f"broken JSON ({error}): write one JSON object per line"
        raise DataError(problem, path=path, line=number) from error
    if not isinstance(entry, dict):
        kind = type(entry).__name__
        problem = f"a JSON {kind} where an object is needed: write one {form} per line"
        raise DataError(problem, path=path, line=number)
    return entry


def read_objects(path: Path, *, form: str) -> Iterator[Tuple[int, Dict[str, Any]]]:
    """Go through the objects of a file, packed or not.

    form (str): What an object looks like, for messages.
    YIELDS (Tuple[int, Dict[str, Any]]): Line numbers and objects.
    RAISES (DataError): If the file cannot be read, or a line holds no object.
    """
    for number, line in read_lines(path):
        if line.strip():
            yield number, load_object(line, path, number, form=form)


def read_json(path: Path) -> Any:
    """RAISES (DataError): If the file cannot be read, or is no JSON."""
    data = read_bytes(path)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"broken JSON ({error})", path=path) from error


def dump_line(value: Any, other: Optional[Callable[[Any], Any]] = None) -> bytes:
    """A value as one line of JSON in UTF-8, with its end. other (Optional[Callable]):
    Makes of a value that JSON does not know one that it does."""
    try:
        line = json.dumps(value, ensure_ascii=False, default=other)
        return (line + "\n").encode("utf8")
    except UnicodeEncodeError:  # half a character, which JSON can escape
        return (json.dumps(value, default=other) + "\n").encode("ascii")


def dump_json(value: Any) -> bytes:
    """A value as the content of a JSON file that people read."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf8")
