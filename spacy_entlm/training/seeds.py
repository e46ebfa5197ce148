"""Random numbers of a training, which are none of the caller's."""

import random
from contextlib import contextmanager
from typing import Iterator

import numpy
import torch
from thinc.api import fix_random_seed


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let python's, numpy's and PyTorch's random numbers depend on a seed; at the end
    those of the caller go on as if nothing had been drawn."""
    python, array = random.getstate(), numpy.random.get_state()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=list(devices)):
            fix_random_seed(seed)
            yield
    finally:
        random.setstate(python)
        numpy.random.set_state(array)
