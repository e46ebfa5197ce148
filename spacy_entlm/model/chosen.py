"""An encoder's output, cut down to wanted pieces before the head sees it."""

import contextlib
from contextvars import ContextVar
from typing import Any, Iterator, Optional

import torch

# Of this thread: others may be predicting with the same encoder.
_WANTED: ContextVar[Optional[torch.Tensor]] = ContextVar("wanted", default=None)


def let_choose(encoder: torch.nn.Module) -> None:
    """Make `only_pieces` work on an encoder; again is no more than once."""
    if _gather not in encoder._forward_hooks.values():
        encoder.register_forward_hook(_gather)


@contextlib.contextmanager
def only_pieces(positions: torch.Tensor) -> Iterator[None]:
    """A context in which encoders give some pieces only, as one sequence.

    positions: int64 (n), rows of the flattened windows.
    """
    token = _WANTED.set(positions)
    try:
        yield
    finally:
        _WANTED.reset(token)


def _gather(_module: torch.nn.Module, _inputs: Any, output: Any) -> Any:
    """A hook on the encoder."""
    positions = _WANTED.get()
    if positions is None:
        return output
    kept = output[0].flatten(0, 1)[positions][None]
    if isinstance(output, tuple):
        return (kept, *output[1:])
    output.last_hidden_state = kept
    return output
