"""Files that are complete or not there."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a file under a temporary name, and rename it.

    path (Path): The file; missing parent folders are made. text (str): Its content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        temporary.write_text(text, encoding="utf8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
