"""Several windows in one sequence, each of which sees only itself: no padding.

A backbone serves if it takes position ids and an attention mask per piece, which
`probes.packable_from` finds out.
"""

from typing import Tuple

import numpy

from .windows import Windows

# Attention costs the square of the length of a sequence: beyond this, padding is less.
MAX_PACKED_PIECES = 512


def pack(
    windows: Windows, first_position: int
) -> Tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """All windows one after another in one sequence.

    first_position (int): Position id of a window's first piece.
    RETURNS: input_ids int64 (1, n), attention_mask int64 (1, n, n), position_ids int64
        (1, n).
    """
    window = numpy.repeat(numpy.arange(len(windows.sizes)), windows.sizes)
    positions = numpy.arange(len(windows.ids)) - windows.starts[window] + first_position
    mask = (window[:, None] == window).astype("int64")
    return windows.ids[None], mask[None], positions[None]
