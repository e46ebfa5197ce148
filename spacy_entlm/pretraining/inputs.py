"""What a run is given, and how it is known again when the run goes on."""

import hashlib
from pathlib import Path
from typing import Any, Dict, Iterable, List

from ..backbones.names import resolve_backbone
from ..corpus.texts import TEXT_EXTENSIONS, check_text_files
from ..files.errors import DataError
from ..files.text import check_file, find_part

# What plain text is called in a data folder.
UNLABELED = "unlabeled"
HASH_BYTES = 8
BLOCK_BYTES = 1 << 20


def find_texts(paths: Iterable[Path]) -> List[Path]:
    """Find the files with text.

    paths (Iterable[Path]): Text files, and data folders that hold `unlabeled.*`.
    RETURNS (List[Path]): The files.
    RAISES (DataError): If a folder has no such file or several, or a file is missing
        or of an unknown form.
    """
    files = [_in_folder(path) if path.is_dir() else path for path in paths]
    if not files:
        raise DataError("Give at least one file with text")
    check_text_files(files)
    return files


def _in_folder(folder: Path) -> Path:
    found = find_part(folder, UNLABELED, TEXT_EXTENSIONS)
    if found is None:
        raise DataError(
            f"has no {UNLABELED}.txt, .jsonl (packed with .xz or .gz or not) or "
            ".spacy: add it, or name files with text",
            path=folder,
        )
    return found


def describe_files(paths: Iterable[Path]) -> List[Dict[str, Any]]:
    """Names, sizes and hashes of files, not their places on somebody's disk.

    RAISES (DataError): If there is no such file.
    """
    paths = list(paths)
    for path in paths:
        check_file(path)
    return [
        {"name": path.name, "bytes": path.stat().st_size, "hash": _hash(path)}
        for path in paths
    ]


def describe_backbone(backbone: str) -> Dict[str, Any]:
    """What is noted of a backbone.

    backbone (str): A folder, a hub name, or what `resolve_backbone` knows.
    RETURNS (Dict[str, Any]): Its name, and for a folder its files of weights.
    """
    folder = Path(resolve_backbone(backbone))
    weights = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    path = Path(backbone)
    name = path.resolve().name if path.exists() else backbone
    return {"backbone": name, "backbone_files": describe_files(weights)}


def _hash(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=HASH_BYTES)
    with path.open("rb") as file_:
        while block := file_.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
