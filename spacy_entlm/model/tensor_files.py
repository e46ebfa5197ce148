"""Small safetensors files beside a backbone's."""

import shutil
from pathlib import Path
from typing import Dict, Mapping, Optional, Tuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..backbones.errors import BackboneError
from ..backbones.masked_lm import CONFIG_FILE

# For each tensor its sizes, None where any will do.
Shapes = Mapping[str, Tuple[Optional[int], ...]]


def save_tensors(path: Path, tensors: Dict[str, torch.Tensor]) -> None:
    """Write tensors beside a backbone's configuration.

    path (Path): The file. tensors (Dict[str, Tensor]): On any device.
    """
    cpu = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    save_file(cpu, path)
    # safetensors makes files that only their owner may read, which would be so in a
    # package that is installed for everybody.
    shutil.copymode(path.with_name(CONFIG_FILE), path)


def load_tensors(path: Path, shapes: Shapes) -> Dict[str, torch.Tensor]:
    """Read what `save_tensors` wrote.

    path (Path): The file. shapes (Shapes): The tensors that are expected.
    RAISES (BackboneError): If the file is missing, broken, or holds something else.
    """
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as err:
        raise BackboneError(f"Cannot read {path}: {err}") from err
    found = {key: tuple(value.shape) for key, value in tensors.items()}
    if found.keys() != shapes.keys() or not all(
        _fits(found[key], shape) for key, shape in shapes.items()
    ):
        raise BackboneError(
            f"{path} does not fit the model: expected {dict(shapes)}, found {found}"
        )
    return tensors


def _fits(found: Tuple[int, ...], expected: Tuple[Optional[int], ...]) -> bool:
    return len(found) == len(expected) and all(
        wanted in (size, None) for size, wanted in zip(found, expected)
    )
