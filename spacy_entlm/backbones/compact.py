"""Weights in few bytes that give them back exactly.

Each array is stored in the first of these forms that loses nothing: 4 bits in blocks
of 32 values with a scale (the word embeddings of our backbone came so), 8 bits with a
scale for each row, float16, float32. What a training has changed so has full precision,
and what it has not takes as little as before.
"""

from pathlib import Path
from typing import Dict, Mapping, Optional, Tuple

import numpy

from ..files.arrays import load_arrays, save_arrays
from ..files.errors import DataError

# The file in a model's folder, in place of model.safetensors.
COMPACT_FILE = "compact.safetensors"
# Ends of names: values of 4 bits with their scales, and scales of rows of 8 bits.
Q4, SCALE = ".q4", ".scale"
# Values of a block, and its bytes: a scale in float16, then two values in each byte,
# those of its first half in the lower bits.
BLOCK, BLOCK_BYTES = 32, 18
# What smaller arrays would save is not worth the look.
MIN_VALUES = 10_000
TINY = numpy.finfo("float32").tiny

Array = numpy.ndarray


def save_compact(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays to a file: float32, or what `pack_q4` gave for them."""
    stored: Dict[str, Array] = {}
    # What is too large for float16 is no error: another form is taken.
    with numpy.errstate(over="ignore", invalid="ignore"):
        for name, array in arrays.items():
            if array.dtype == "uint8":
                stored[name + Q4] = array
                continue
            exact = numpy.asarray(array, dtype="float32", order="C")
            stored.update(_stored(name, exact))
    save_arrays(path, stored)


def load_compact(path: Path, *, packed: Optional[str] = None) -> Dict[str, Array]:
    """Read what `save_compact` wrote, as float32.

    packed (Optional[str]): An array that stays as `pack_q4` gave it, uint8, if it is
        stored so.
    RAISES (DataError): If the file is missing, broken, or holds something else, NaN or
        infinite numbers.
    """
    stored = load_arrays(path)
    scales = {
        name: stored.pop(name)
        for name in [*stored]
        if name.endswith(SCALE) and name.removesuffix(SCALE) in stored
    }
    found: Dict[str, Array] = {}
    for key in [*stored]:
        # Nothing is held in both forms for longer than it takes.
        array, name = stored.pop(key), key.removesuffix(Q4)
        try:
            with numpy.errstate(over="ignore", invalid="ignore"):
                if key.endswith(Q4) and name == packed:
                    found[name], numbers = array, scales_q4(array)
                else:
                    numbers = found[name] = _unpacked(key, array, scales)
        except (KeyError, ValueError) as error:
            raise DataError(f"holds no compact weights ({error})", path=path) from error
        if not numpy.isfinite(numbers).all():
            problem = f"holds NaN or infinite numbers ({name:.100})"
            raise DataError(problem, path=path)
    return found


def _unpacked(key: str, array: Array, scales: Mapping[str, Array]) -> Array:
    """float32, of an array of a file.
    RAISES (KeyError, ValueError): If it is none that `save_compact` wrote."""
    if key.endswith(Q4):
        return unpack_q4(array)
    if array.dtype == "int8":
        return _unpack_rows(array, scales[key + SCALE])
    return array.astype("float32", copy=False)


def _stored(name: str, array: Array) -> Dict[str, Array]:
    if array.ndim == 2 and array.size >= MIN_VALUES:
        packed = pack_q4(array)
        if packed is not None:
            return {name + Q4: packed}
        rows = _rows_of_int8(array)
        if rows is not None:
            return {name: rows[0], name + SCALE: rows[1]}
    half = array.astype("float16")
    return {name: half if (half == array).all() else array}


def _rows_of_int8(array: Array) -> Optional[Tuple[Array, Array]]:
    """int8 (n, width) and float16 (n, 1), if they give the array back."""
    scale = (numpy.abs(array).max(axis=1, keepdims=True) / 127).astype("float16")
    exact = scale.astype("float32")
    # The least scales are so coarse that a value can be more than 127 of them.
    values = numpy.clip(numpy.rint(array / numpy.maximum(exact, TINY)), -127, 127)
    if not (values * exact == array).all():
        return None
    return values.astype("int8"), scale


def _unpack_rows(values: Array, scale: Array) -> Array:
    """RAISES (ValueError): If these are no rows with a scale each."""
    if values.ndim != 2 or scale.shape != (len(values), 1):
        raise ValueError("these are no rows of 8 bits with their scales")
    return values * scale.astype("float32")


def pack_q4(array: Array) -> Optional[Array]:
    """Values of 4 bits, if they give an array back.

    array: float32 (n, width).
    RETURNS: uint8 (n, width / 32 * 18), or None.
    """
    n, width = array.shape
    if width % BLOCK:
        return None
    # A sample tells of nearly all other arrays that they are no such values.
    for rows in (array[:8], array):
        blocks = rows.reshape(-1, BLOCK)
        # The value that is farthest from zero is stored as -8.
        farthest = numpy.abs(blocks).argmax(axis=1)[:, None]
        extreme = numpy.take_along_axis(blocks, farthest, axis=1)
        # The scale of zeros is 0, and never -0: what is saved again stays the same.
        scale = (extreme / -8 + 0).astype("float16")
        exact = scale.astype("float32")
        by = numpy.where(exact == 0, 1, exact)
        values = numpy.clip(numpy.rint(blocks / by), -8, 7)
        if not (values * exact == blocks).all():
            return None
    unsigned = (values + 8).astype("uint8")
    halves = unsigned[:, : BLOCK // 2] | (unsigned[:, BLOCK // 2 :] << 4)
    packed = numpy.concatenate([scale.view("uint8"), halves], axis=1)
    return packed.reshape(n, -1)


def unpack_q4(packed: Array) -> Array:
    """Undo `pack_q4`. packed: uint8 (n, width / 32 * 18). RETURNS: float32 (n, width).
    RAISES (ValueError): If these are no such values."""
    scale = scales_q4(packed).astype("float32")
    halves = packed.reshape(-1, BLOCK_BYTES)[:, 2:]
    values = numpy.empty((len(halves), BLOCK), dtype="float32")
    values[:, : BLOCK // 2] = halves & 15
    values[:, BLOCK // 2 :] = halves >> 4
    values -= 8
    values *= scale
    return values.reshape(len(packed), -1)


def scales_q4(packed: Array) -> Array:
    """float16 (n * width / 32, 1), of what `pack_q4` gave; all values are finite if
    they are. RAISES (ValueError): If these are no such values."""
    if packed.dtype != "uint8" or packed.ndim != 2 or packed.shape[1] % BLOCK_BYTES:
        raise ValueError("these are no values of 4 bits")
    blocks = packed.reshape(-1, BLOCK_BYTES)
    return numpy.ascontiguousarray(blocks[:, :2]).view("float16")
