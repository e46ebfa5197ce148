"""Memory that libraries below would keep for ever."""

import ctypes
import functools
import os
from typing import Callable, Optional

# Products that oneDNN and PyTorch's layer above it keep ready, each. One is kept for
# every number of rows, half a megabyte or more, and by default 1,024 of every kind.
# The layers of one batch share a handful.
READY_PRODUCTS = 16
CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")


def limit_ready_products() -> None:
    """Keep few products ready in this process, unless the environment says how many.
    To be called before the first product: later it changes nothing."""
    for variable in CACHES:
        os.environ.setdefault(variable, str(READY_PRODUCTS))


def return_free_memory() -> None:
    """Give memory that was freed back to the system, where the C library has a call
    for it (glibc). It keeps what lies between blocks in use, and with blocks of ever
    new sizes that grows to gigabytes."""
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Optional[Callable[[int], int]]:
    if os.name != "posix":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
