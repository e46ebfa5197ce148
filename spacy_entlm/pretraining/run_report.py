"""What pretrain.json says, and the lines that people read."""

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Dict, Iterable, List

from ..about import __version__
from ..backbones.names import resolve_backbone
from ..backbones.recommended import LEARN_RATE_KEY, recommended_rate
from ..files.text import check_file

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
HASH_BYTES, BLOCK_BYTES = 8, 1 << 20
# Of a measure: its name for people, its key, a factor, and digits.
MEASURES = (
    ("loss", "loss", 1, 3),
    ("masked pieces right, %", "accuracy", 100, 2),
    ("masked words right, %", "word_accuracy", 100, 2),
    ("perplexity of a piece", "perplexity", 1, 2),
    ("perplexity of a character", "perplexity_per_character", 1, 4),
)


def describe_files(paths: Iterable[Path]) -> List[Dict[str, Any]]:
    """Names, sizes and hashes of files, not their places on somebody's disk.
    RAISES (DataError): If there is no such file."""
    found = []
    for path in paths:
        check_file(path)
        digest = hashlib.blake2b(digest_size=HASH_BYTES)
        with path.open("rb") as file_:
            while block := file_.read(BLOCK_BYTES):
                digest.update(block)
        size = path.stat().st_size
        found.append({"name": path.name, "bytes": size, "hash": digest.hexdigest()})
    return found


def describe_backbone(backbone: str) -> Dict[str, Any]:
    """The name of a backbone, and for a folder its weights."""
    folder, path = Path(resolve_backbone(backbone)), Path(backbone)
    weights = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    name = path.resolve().name if path.exists() else backbone
    return {"backbone": name, "backbone_files": describe_files(weights)}


def recommendations(backbone: str) -> Dict[str, Any]:
    """What a backbone recommends for few-shot training, for pretrain.json.
    RAISES (ValueError): If what it says is broken."""
    rate = recommended_rate(backbone)
    return {} if rate is None else {LEARN_RATE_KEY: rate}


def versions() -> Dict[str, str]:
    """Versions that a result may depend on."""
    found = {name: version(name) for name in LIBRARIES}
    return {"spacy-entlm": __version__, **found, "python": platform.python_version()}


def describe_measures(after: Dict[str, Any], before: Dict[str, Any]) -> List[str]:
    """Lines with what was measured on held-out text, after and before a training;
    `before` may be empty."""
    if after.get("loss") is None:
        return ["Too little text is held out (--held-out): nothing was measured"]
    lines = [f"On {after['characters']:,} characters of held-out text:"]
    for name, key, factor, digits in MEASURES:
        line = f"  {name:<26}{factor * after[key]:>10.{digits}f}"
        if before.get(key) is not None:
            line += f"  (before: {factor * before[key]:.{digits}f})"
        lines.append(line)
    return lines
