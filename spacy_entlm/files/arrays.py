"""Small safetensors files, read and written without PyTorch."""

from pathlib import Path
from typing import Dict, Mapping

import numpy
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from .errors import DataError


def save_arrays(path: Path, arrays: Mapping[str, numpy.ndarray]) -> None:
    """Write arrays to a file."""
    # Not `save_file`, whose files only their owner may read.
    path.write_bytes(save({k: numpy.asarray(a, order="C") for k, a in arrays.items()}))


def load_arrays(path: Path) -> Dict[str, numpy.ndarray]:
    """Read what `save_arrays` wrote.
    RAISES (DataError): If the file is missing or broken."""
    try:
        return load_file(path)
    # What numpy does not have, such as bfloat16, is a KeyError.
    except (OSError, SafetensorError, KeyError) as err:
        raise DataError(f"cannot be read ({err})", path=path) from err
