"""What is looked at in a model from anybody before its weights are read."""

import math
import re
from pathlib import Path
from typing import Any, Dict

import torch

from ..files.json_lines import read_json
from .compact import COMPACT_FILE
from .names import CONFIG_FILE

# transformers would read the weights of the model that it names, wherever that is.
ADAPTER_FILE = "adapter_config.json"
INDEX_FILE = "model.safetensors.index.json"
# Layers and classes are built one by one, before there is a weight for them.
MAX_PARTS = 1000
# Values of 4 bits.
MAX_PER_BYTE = 2
_PARTS = re.compile("layers|num_labels|hidden_groups|group_num|block_sizes")


def check_config(folder: Path, settings: Dict[str, Any]) -> None:
    """Check the configuration of a model in a folder.

    settings (Dict[str, Any]): What replaces settings of the file.
    RAISES (ValueError): If it is no JSON object, holds NaN or infinite numbers, asks
        for more layers or classes than any model has, or for code from the hub.
    """
    config = read_json(folder / CONFIG_FILE)
    if not isinstance(config, dict):
        raise ValueError(f"{CONFIG_FILE} is no JSON object")
    for key, value in {**config, **settings}.items():
        _check_value(key, value)


def _check_value(key: str, value: Any) -> None:
    if isinstance(value, dict):
        for inner, part in value.items():
            _check_value(inner, part)
    elif isinstance(value, list):
        for part in value:
            _check_value(key, part)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{CONFIG_FILE}: {key:.100} is {value}, which is no number")
    elif isinstance(value, int) and value > MAX_PARTS and _PARTS.search(key):
        # Not the number: Python does not print one of thousands of digits.
        raise ValueError(f"{CONFIG_FILE}: {key:.100} is more than {MAX_PARTS}")
    elif isinstance(value, str) and "attn" in key and "/" in value:
        raise ValueError(f"{CONFIG_FILE}: {key:.100} asks for code from {value!r:.100}")


def check_weight_files(folder: Path) -> None:
    """RAISES (ValueError): If a file tells of weights in another folder."""
    if (folder / ADAPTER_FILE).exists():
        problem = "merge the adapter into its model, and save that"
        raise ValueError(f"there is an {ADAPTER_FILE}: {problem}")
    if (folder / INDEX_FILE).is_file():
        index = read_json(folder / INDEX_FILE)
        names = index.get("weight_map") if isinstance(index, dict) else None
        files = names.values() if isinstance(names, dict) else [None]
        if not all(isinstance(x, str) and Path(x).name == x for x in files):
            raise ValueError(f"{INDEX_FILE} is broken: it names no files")


def check_size(folder: Path, config: Any) -> None:
    """Check that there are weights for a model, before it takes memory.

    config (PretrainedConfig): Its configuration.
    RAISES (ValueError): If it has more of them than its files have bytes.
    """
    from transformers import AutoModelForMaskedLM

    n_bytes = sum(path.stat().st_size for path in folder.glob("model*.safetensors"))
    if (folder / COMPACT_FILE).is_file():
        n_bytes = MAX_PER_BYTE * (folder / COMPACT_FILE).stat().st_size
    if not n_bytes:
        return  # which is told where they are read
    with torch.device("meta"):
        lm = AutoModelForMaskedLM.from_config(config, trust_remote_code=False)
    n_weights = sum(tensor.numel() for tensor in [*lm.parameters(), *lm.buffers()])
    if n_weights > n_bytes:
        raise ValueError(
            f"{CONFIG_FILE} asks for {n_weights:,} weights, and there are files for "
            f"{n_bytes:,} at most: they are cut off, or they do not belong together"
        )


def first_line(error: Exception) -> str:
    """What an error of a library says, in one line that is not too long."""
    lines = str(error).strip().splitlines() or [repr(error)]
    return lines[0][:300]
