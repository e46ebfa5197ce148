"""Checkpoints of a pre-training: whole or not there, and no pickle."""

import json
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Iterator, List, Optional, Tuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..backbones.loading import load_masked_lm
from ..backbones.masked_lm import MaskedLM
from ..files.folder import new_folder
from .optimization import get_moments, set_moments
from .settings import PretrainError

PREFIX = "checkpoint-"
STATE_FILE = "state.json"
OPTIMIZER_FILE = "optimizer.safetensors"


@dataclass
class State:
    """How far a training is. Its random numbers depend on the seed and the step, so
    there is no more to it.

    step (int): Updates. pieces (int): Pieces read. seconds (float): Of training.
    losses (List): [step, mean loss since the one before], at each checkpoint.
    """

    step: int = 0
    pieces: int = 0
    seconds: float = 0.0
    losses: List[List[float]] = field(default_factory=list)


def save_checkpoint(
    folder: Path,
    masked_lm: MaskedLM,
    state: State,
    optimizer: Optional[torch.optim.Optimizer] = None,
) -> None:
    """Write a checkpoint, and only then remove the one before.

    folder (Path): Of the checkpoints.
    RAISES (PretrainError): If it cannot be written; the one before is intact.
    """
    target = folder / f"{PREFIX}{state.step:09}"
    older = [path for path in find_checkpoints(folder) if path != target]
    with write_errors(f"the checkpoint {target}", _keeps(older)):
        shutil.rmtree(target, ignore_errors=True)
        with new_folder(target) as new:
            masked_lm.save(new)
            if optimizer is not None:
                save_file(get_moments(optimizer, masked_lm), new / OPTIMIZER_FILE)
            text = json.dumps(asdict(state))
            (new / STATE_FILE).write_text(text, encoding="utf8")
    for path in older:
        shutil.rmtree(path, ignore_errors=True)


def find_checkpoints(folder: Path) -> List[Path]:
    """Whole checkpoints, the last one first."""
    return sorted(folder.glob(f"{PREFIX}*"), reverse=True)


def last_checkpoint(folder: Path) -> Path:
    """The checkpoint to go on from.

    RAISES (PretrainError): If there is none.
    """
    found = find_checkpoints(folder)
    if not found:
        raise PretrainError(
            f"{folder} holds no checkpoint any more: begin again with --overwrite"
        )
    return found[0]


def load_checkpoint(path: Path) -> Tuple[MaskedLM, State]:
    """Read the model of a checkpoint and how far it is.

    RAISES (PretrainError): If it is damaged.
    """
    masked_lm = load_masked_lm(path, strict=True)
    try:
        data = json.loads((path / STATE_FILE).read_text(encoding="utf8"))
        return masked_lm, State(**data)
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(path, error) from error


def load_optimizer(
    path: Path, optimizer: torch.optim.Optimizer, masked_lm: MaskedLM, step: int
) -> None:
    """Give an optimizer the state that a checkpoint holds.

    RAISES (PretrainError): If it is damaged.
    """
    file = path / OPTIMIZER_FILE
    if step == 0 and not file.exists():
        return
    try:
        moments = load_file(file)
    except (OSError, SafetensorError) as error:
        raise _damaged(path, error) from error
    set_moments(optimizer, masked_lm, moments, step)


@contextmanager
def write_errors(what: str, then: str) -> Iterator[None]:
    """Say what could not be written and what to do about it.

    RAISES (PretrainError): In place of errors of the file system, which safetensors
        wraps in its own.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PretrainError(f"Cannot write {what} ({reason}): {then}") from error


def _keeps(older: List[Path]) -> str:
    again = "make room and go on with --resume"
    return f"{older[0]} is intact, {again}" if older else "make room and begin again"


def _damaged(path: Path, error: Any) -> PretrainError:
    return PretrainError(
        f"{path}: the checkpoint is damaged ({type(error).__name__}: {error}): begin "
        f"again with --overwrite"
    )
