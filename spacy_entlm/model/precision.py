"""Number formats of matrix products: in prediction and in training."""

import contextlib
from typing import Any, ContextManager, Dict

import torch

# Of prediction: what is fastest on the processor that is used.
AUTO = "auto"
DTYPES: Dict[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


PRECISIONS = (*DTYPES, AUTO)


def dtype_of(precision: str, device: torch.device) -> torch.dtype:
    """The number format of matrix products in prediction. precision (str): One of
    PRECISIONS."""
    if precision != AUTO:
        return DTYPES[precision]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if has_fast_bfloat16() else torch.float32


def training_dtype(device: torch.device, mixed_precision: bool) -> torch.dtype:
    """The number format of matrix products in training: float32, or in mixed precision
    float16 on a CUDA device, with scaled gradients, and bfloat16 on any other."""
    half = torch.float16 if device.type == "cuda" else torch.bfloat16
    return half if mixed_precision else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> ContextManager:
    """A context in which matrix products run in a number format; weights stay
    float32."""
    if dtype == torch.float32:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=dtype)


def has_fast_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16 faster than in float32. Older
    versions of PyTorch do not say so: then no."""
    known: Dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))
