"""What a backbone's folder says of itself, beside its weights."""

from pathlib import Path
from typing import Any, Optional

from ..files.errors import DataError
from ..files.json_lines import read_json
from .names import resolve_backbone

# `pretrain` and `teach` write it beside the model.
PRETRAIN_FILE = "pretrain.json"
LEARN_RATE_KEY = "learn_rate"
# The map from names of classes to their rows (backbones/name_map.py): weight,
# (width + 1, width), and bias, (width + 1).
NAME_MAP_FILE = "name_map.safetensors"
# What a saved component has beside its masked LM.
LABEL_WORDS_FILE = "label_words.json"
LABEL_ROWS_FILE = "label_rows.safetensors"


def recommended_rate(backbone: str) -> Optional[float]:
    """The initial learning rate that a backbone recommends in its pretrain.json.

    backbone (str): As the component's setting `name`.
    RETURNS (Optional[float]): None if it is no folder, or says nothing.
    RAISES (ValueError): If what it says is broken.
    """
    path = Path(resolve_backbone(backbone)) / PRETRAIN_FILE
    if not path.is_file():
        return None
    facts: Any = read_json(path)
    if not isinstance(facts, dict):
        raise DataError("is no JSON object", path=path)
    rate = facts.get(LEARN_RATE_KEY)
    # type() and not isinstance(): true is no rate.
    if rate is not None and not (type(rate) in (int, float) and 0 < rate <= 1):
        problem = f"cannot be read: {LEARN_RATE_KEY}: {rate!r:.100} is not from 0 to 1"
        raise DataError(problem, path=path)
    return None if rate is None else float(rate)


def reads_names(backbone: str) -> bool:
    """Whether a backbone makes rows of classes from their names: its folder has the
    file of the map. backbone (str): As the component's setting `name`."""
    return Path(resolve_backbone(backbone), NAME_MAP_FILE).is_file()
