"""Number formats of matrix products: in prediction and in training."""

import contextlib
import functools
import time
from typing import ContextManager, Dict

import torch

DTYPES: Dict[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
AUTO = "auto"
# A trial matrix product: pieces of a batch, and runs of which the fastest counts.
TRIAL_ROWS = 512
TRIAL_RUNS = 3
# Half precision must win by this much to be worth its rounding.
WORTHWHILE = 1.2


def check_precision(precision: str) -> None:
    """RAISES (ValueError): If there is no such precision."""
    if precision not in (*DTYPES, AUTO):
        raise ValueError(
            f"precision is one of {', '.join([*DTYPES, AUTO])}, not {precision!r}"
        )


def prediction_dtype(device: torch.device, precision: str, width: int) -> torch.dtype:
    """The number format of matrix products in prediction.

    precision (str): A key of DTYPES, or "auto": what a short measurement on this
        device finds fastest at the network's width.
    """
    if precision == AUTO:
        precision = fastest_precision(device.type, width)
    return DTYPES[precision]


def training_dtype(device: torch.device, mixed_precision: bool) -> torch.dtype:
    """The number format of matrix products in training: float32, or in mixed precision
    float16 on a CUDA device, with scaled gradients, and bfloat16 on any other."""
    if not mixed_precision:
        return torch.float32
    return torch.float16 if device.type == "cuda" else torch.bfloat16


def autocast(device: torch.device, dtype: torch.dtype) -> ContextManager:
    """A context in which matrix products run in a number format; weights stay
    float32."""
    if dtype == torch.float32:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=dtype)


@functools.cache
def fastest_precision(device_type: str, width: int) -> str:
    """Measure a feed-forward-sized product: instruction flags alone do not tell.

    device_type (str): Such as "cpu" or "cuda".
    width (int): Width of the features.
    RETURNS (str): "float32" or "bfloat16".
    """
    seconds = {}
    for name in ("float32", "bfloat16"):
        left = torch.ones(TRIAL_ROWS, width, dtype=DTYPES[name], device=device_type)
        right = torch.ones(width, 4 * width, dtype=DTYPES[name], device=device_type)
        runs = []
        for _ in range(TRIAL_RUNS + 1):
            start = time.perf_counter()
            product = left @ right
            float(product[0, 0])  # waits for the device
            runs.append(time.perf_counter() - start)
        seconds[name] = min(runs[1:])
    if seconds["bfloat16"] * WORTHWHILE < seconds["float32"]:
        return "bfloat16"
    return "float32"
