"""Checkpoints of a pre-training: whole or not there, and no pickle."""

import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, List, Tuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..files.errors import DataError
from ..files.folder import new_folder
from ..files.json_lines import dump_json, read_json

PREFIX = "checkpoint-"
STATE_FILE = "state.json"
OPTIMIZER_FILE = "optimizer.safetensors"


@dataclass
class State:
    """How far a training is: updates, pieces read, seconds, and at each checkpoint
    [step, mean loss since the one before]. Random numbers depend on seed and step."""

    step: int = 0
    pieces: int = 0
    seconds: float = 0.0
    losses: List[List[float]] = field(default_factory=list)


def make_optimizer(module: torch.nn.Module) -> torch.optim.Optimizer:
    """AdamW of a model in float32, whose update is one pass over each parameter;
    biases and the scales of layer norms do not decay."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    matrices = [p for p in parameters if p.dim() > 1]
    others = [p for p in parameters if p.dim() <= 1]
    groups: List[Any] = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0, fused=True)


def save_checkpoint(
    folder: Path, model: Any, optimizer: torch.optim.Optimizer, state: State
) -> None:
    """Write a checkpoint to a folder of them, and only then remove the one before.
    model (Module): Has `save`, which writes its files to a folder."""
    target = folder / f"{PREFIX}{state.step:09}"
    shutil.rmtree(target, ignore_errors=True)
    with new_folder(target) as new:
        model.save(new)
        moments = {
            f"{number}.{name}": tensor
            for number, found in optimizer.state_dict()["state"].items()
            for name, tensor in found.items()
        }
        save_file(moments, new / OPTIMIZER_FILE)
        (new / STATE_FILE).write_bytes(dump_json(asdict(state)))
    for path in set(find_checkpoints(folder)) - {target}:
        shutil.rmtree(path, ignore_errors=True)


def find_checkpoints(folder: Path) -> List[Path]:
    """Whole checkpoints, the last one first."""
    return sorted(folder.glob(PREFIX + 9 * "[0-9]"), reverse=True)


def load_checkpoint(
    folder: Path, device: torch.device, load: Callable[[Path], Any]
) -> Tuple[Any, torch.optim.Optimizer, State]:
    """Read the last checkpoint in a folder; the model goes to the device.
    load (Callable): Reads what the model's `save` wrote.
    RAISES (DataError): If there is none, or it is damaged."""
    found = find_checkpoints(folder)
    if not found:
        problem = "holds no checkpoint any more: begin again with --overwrite"
        raise DataError(problem, path=folder)
    path = found[0]
    model = load(path).to(device)
    optimizer = make_optimizer(model)
    try:
        state = State(**read_json(path / STATE_FILE))
        whole = optimizer.state_dict()
        for key, tensor in load_file(path / OPTIMIZER_FILE).items():
            number, _, name = key.partition(".")
            whole["state"].setdefault(int(number), {})[name] = tensor
        optimizer.load_state_dict(whole)
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        reason = f"{type(error).__name__}: {error}"
        problem = f"the checkpoint is damaged ({reason}): begin again with --overwrite"
        raise DataError(problem, path=path) from error
    return model, optimizer, state
