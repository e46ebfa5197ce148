"""Small safetensors files."""

from pathlib import Path
from typing import Dict, Mapping, Optional, Tuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from .errors import DataError
from .text import check_file

# For each tensor its sizes, None where any will do.
Shapes = Mapping[str, Tuple[Optional[int], ...]]


def save_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors, which may be on any device, to a file."""
    cpu = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    # Not `save_file`, whose files only their owner may read.
    path.write_bytes(save(cpu))


def load_tensors(
    path: Path, shapes: Optional[Shapes] = None
) -> Dict[str, torch.Tensor]:
    """Read what `save_tensors` wrote; numbers that are not whole become float32.

    shapes (Optional[Shapes]): The tensors that are expected; None: any.
    RAISES (DataError): If the file is missing, broken, or holds something else, NaN or
        infinite numbers.
    """
    check_file(path)
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as err:
        raise DataError(f"cannot be read ({err})", path=path) from err
    found = {key: tuple(value.shape) for key, value in tensors.items()}
    if shapes is not None and (
        found.keys() != shapes.keys()
        or not all(_fits(found[key], shape) for key, shape in shapes.items())
    ):
        some = f"expected {dict(shapes)}, found {found!s:.100}"
        raise DataError(f"does not fit the model: {some}", path=path)
    for key, tensor in tensors.items():
        if tensor.is_floating_point():
            tensors[key] = tensor.float()
            if not torch.isfinite(tensors[key]).all():
                problem = f"holds NaN or infinite numbers ({key:.100})"
                raise DataError(problem, path=path)
    return tensors


def _fits(found: Tuple[int, ...], expected: Tuple[Optional[int], ...]) -> bool:
    pairs = zip(expected, found)
    return len(found) == len(expected) and all(want in (n, None) for want, n in pairs)
