"""What pretrain.json says, and the lines that people read."""

import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Dict, List

from ..about import __version__
from .checkpoint import State
from .pieces import PieceStore
from .settings import Settings

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")
NOT_REPORTED = ("folder", "dtype", "words")


def make_report(
    facts: Dict[str, Any],
    settings: Settings,
    state: State,
    store: PieceStore,
    training: Dict[str, Any],
) -> Dict[str, Any]:
    """What is to be known of a model.

    facts (Dict[str, Any]): What the run noted at its begin.
    training (Dict[str, Any]): What it found since.
    """
    chosen = asdict(settings)
    # Where a file lay on somebody's disk is nobody's business.
    chosen["lexicon"] = [Path(name).name for name in settings.lexicon]
    sizes = {key: n for key, n in asdict(store).items() if key not in NOT_REPORTED}
    speed = round(state.pieces / state.seconds, 1) if state.seconds else None
    return {
        **{key: value for key, value in facts.items() if key != "settings"},
        **training,
        "steps": state.step,
        "pieces_seen": state.pieces,
        "seconds": round(state.seconds, 3),
        "pieces_per_second": speed,
        "losses": state.losses,
        "corpus": sizes,
        "settings": chosen,
        "versions": versions(),
    }


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
        if key in after:
            line = f"  {name:<26}{factor * after[key]:>10.{digits}f}"
            if before.get(key) is not None:
                line += f"  (before: {factor * before[key]:.{digits}f})"
            lines.append(line)
    return lines
