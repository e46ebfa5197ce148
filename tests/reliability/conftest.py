"""Limits of time and memory for what is read."""

import signal
import tracemalloc
from contextlib import contextmanager

import pytest


@contextmanager
def limits(seconds, megabytes=None):
    """Stop what takes too long; check the most memory that Python and its libraries
    took in the meantime, in 2**20 bytes."""

    def stop(*args):
        raise TimeoutError(f"no end after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    if megabytes is not None:
        tracemalloc.start()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        if megabytes is not None:
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
    if megabytes is not None:
        assert peak < megabytes


@pytest.fixture
def at_most():
    """Gives limits: at_most(seconds, megabytes=None)."""
    return limits
