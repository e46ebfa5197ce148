"""The number format of prediction: what was asked for, or what measures fastest."""

import contextlib
import functools
import time
from typing import TYPE_CHECKING, ContextManager, Dict

import torch

from .memory import limit_ready_products

if TYPE_CHECKING:
    from .network import EntLMNetwork

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


def product_dtype(
    device: torch.device, precision: str, network: "EntLMNetwork"
) -> torch.dtype:
    """The number format of matrix products in prediction.

    precision (str): A key of DTYPES, or "auto": what a short measurement on this
        device finds fastest at the network's width.
    """
    if precision == AUTO:
        precision = fastest_precision(device.type, network.masked_lm.width)
    return DTYPES[precision]


def autocast(device: torch.device, dtype: torch.dtype) -> ContextManager:
    """A context in which matrix products run in a number format."""
    if dtype == torch.float32:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=dtype)


@functools.cache
def fastest_precision(device_type: str, width: int) -> str:
    """Measure a feed-forward-sized product: instruction flags alone do not tell.

    device_type (str): "cpu" or "cuda".
    width (int): Width of the features.
    RETURNS (str): "float32" or "bfloat16".
    """
    limit_ready_products()
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
