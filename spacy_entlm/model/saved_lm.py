"""Weights of a masked LM from a folder that this package wrote, in little time."""

from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional

import torch

WEIGHTS_FILE = "model.safetensors"


def load_saved_lm(folder: Path, config: Any) -> Optional[Any]:
    """The model of a folder that we saved, in less than half the time that transformers
    takes, which looks for many things that are not there.

    folder (Path): The folder. config (PretrainedConfig): Its configuration.
    RETURNS (Optional[PreTrainedModel]): In float32, for prediction. None where anything
        is missing or unusual: then transformers shall load it, or say what is wrong.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file
    from transformers import AutoModelForMaskedLM, modeling_utils

    # Random values for weights that are read a moment later take time.
    without_init = getattr(modeling_utils, "no_init_weights", None)
    path = folder / WEIGHTS_FILE
    if without_init is None or not path.is_file():
        return None
    try:
        with without_init():
            lm = AutoModelForMaskedLM.from_config(config, torch_dtype=torch.float32)
        lm.tie_weights()  # which is left out with the random values
        tensors = load_file(path)
    except (OSError, SafetensorError):
        return None
    if {tensor.dtype for tensor in tensors.values()} != {torch.float32}:
        return None
    named: Dict[str, torch.Tensor] = dict(tensors)
    for names in _one_parameter(lm):
        saved = next((name for name in names if name in tensors), names[0])
        if saved in tensors:
            named.update(dict.fromkeys(names, torch.nn.Parameter(tensors[saved])))
    try:
        lm.load_state_dict(named, assign=True)
    except RuntimeError:
        return None
    return lm.eval()


def _one_parameter(lm: torch.nn.Module) -> Iterable[List[str]]:
    """Names of each parameter; of those with several the file holds one."""
    names: Dict[int, List[str]] = {}
    for name, parameter in lm.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return names.values()
