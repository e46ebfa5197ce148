"""The model folder that a run writes, and the lines that people read."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Dict, List, Optional

from ..about import __version__
from ..backbones.masked_lm import MaskedLM
from ..backbones.recommended import (
    LABEL_WORDS_KEY,
    LEARN_RATE_KEY,
    PRETRAIN_FILE,
    Recommended,
    read_recommended,
)
from ..files.folder import write_folder
from ..files.json_lines import dump_json

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")


def write_model(
    masked_lm: MaskedLM, report: Dict[str, Any], out: Path, *, half: bool = False
) -> None:
    """Write a model folder with its pretrain.json.

    masked_lm (MaskedLM): The model. report (Dict[str, Any]): What is to be known.
    out (Path): The folder. half (bool): Whether the weights become float16.
    """
    if half:
        masked_lm.half()
    with write_folder(out.absolute()) as new:
        masked_lm.save(new)
        (new / PRETRAIN_FILE).write_bytes(dump_json(report))


def recommendations(
    backbone: Optional[str], learn_rate: Optional[float] = None
) -> Dict[str, Any]:
    """What pretrain.json recommends for few-shot training: what is given, or else what
    the backbone recommends.

    RAISES (ValueError): If what the backbone says is broken.
    """
    own = Recommended() if backbone is None else read_recommended(backbone)
    rate = learn_rate or own.learn_rate
    facts: Dict[str, Any] = {} if rate is None else {LEARN_RATE_KEY: rate}
    return {**facts, **({LABEL_WORDS_KEY: own.label_words} if own.label_words else {})}


def versions() -> Dict[str, str]:
    """Versions that a result may depend on."""
    found = {name: version(name) for name in LIBRARIES}
    return {"spacy-entlm": __version__, **found, "python": platform.python_version()}


def describe_measures(after: Dict[str, Any], before: Dict[str, Any]) -> List[str]:
    """Lines with what was measured on held-out text.

    before (Dict[str, Any]): The same before the training, empty if there was none.
    """
    if after.get("loss") is None:
        return ["No line of the text is held out (--held-out): nothing was measured"]
    rows = [
        ("loss", "loss", 1, 3),
        ("masked pieces right, %", "accuracy", 100, 2),
        ("masked words right, %", "word_accuracy", 100, 2),
        ("perplexity of a piece", "perplexity", 1, 2),
        ("perplexity of a character", "perplexity_per_character", 1, 4),
    ]
    lines = [f"On {after['characters']:,} characters of held-out text:"]
    for name, key, factor, digits in rows:
        line = f"  {name:<26}{factor * after[key]:>10.{digits}f}"
        if before.get(key) is not None:
            line += f"  (before: {factor * before[key]:.{digits}f})"
        lines.append(line)
    return lines
