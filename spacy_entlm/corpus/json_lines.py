"""One line of a JSON lines file."""

import json
from pathlib import Path
from typing import Any, Dict

from .errors import CorpusError


def load_object(line: str, path: Path, number: int, *, form: str) -> Dict[str, Any]:
    """Read the object in a line.

    line (str): The line.
    path (Path), number (int): Where it stands, for messages.
    form (str): What an object looks like, for messages.
    RETURNS (Dict[str, Any]): The object.
    RAISES (CorpusError): If the line is no JSON, or no object.
    """
    try:
        entry = json.loads(line)
    # Thousands of open brackets end in a RecursionError.
    except (ValueError, RecursionError) as error:
        raise CorpusError(
            f"broken JSON ({error}): write one JSON object per line",
            path=path,
            line=number,
        ) from error
    if not isinstance(entry, dict):
        raise CorpusError(
            f"a JSON {type(entry).__name__} where an object is needed: write one "
            f"{form} per line",
            path=path,
            line=number,
        )
    return entry
