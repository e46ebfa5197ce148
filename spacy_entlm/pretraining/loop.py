"""The training loop."""

import math
import time
from dataclasses import dataclass
from typing import Callable, Iterator

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ..backbones.masked_lm import MaskedLM
from ..model.precision import DTYPES, autocast
from .checkpoint import State
from .masking import MaskedBatch, Masker
from .optimization import clip_gradients, learn_rate_at
from .scores import score_masked
from .sequences import MASKS, PackedSequences
from .settings import PretrainError, Settings

# Updates after which a GPU is asked for the loss, which makes it wait.
GPU_REPORT_STEPS = 50
SECONDS_PER_MINUTE = 60.0


@dataclass
class Report:
    """What a progress bar shows: updates, share of the training that is done, mean
    loss since the report before, pieces per second."""

    step: int
    done: float
    loss: float
    speed: float


@dataclass
class Training:
    """What a training works with.

    masked_lm (MaskedLM): The model, on its device, in float32.
    optimizer (Optimizer): Its optimizer.
    sequences (PackedSequences), masker (Masker): Its data.
    settings (Settings): With a number of steps, or minutes.
    learn_rate (float): The highest. precision (str): A key of DTYPES.
    save (Callable): Writes a checkpoint. report (Callable): Shows a Report.
    """

    masked_lm: MaskedLM
    optimizer: torch.optim.Optimizer
    sequences: PackedSequences
    masker: Masker
    settings: Settings
    learn_rate: float
    precision: str
    save: Callable[[State], None]
    report: Callable[[Report], None]

    def run(self, state: State) -> None:
        """Train to the end, from where the state stands; it is changed in place.

        RAISES (PretrainError): If the loss is no number any more.
        """
        device = self.masked_lm.decoder.weight.device
        self.masked_lm.train()
        # Dropout must not change the random numbers of whoever calls this.
        devices = [device] if device.type == "cuda" else []
        try:
            with torch.random.fork_rng(devices=devices):
                self._run(state, device)
        finally:
            self.masked_lm.eval()

    def _run(self, state: State, device: torch.device) -> None:
        before, start = state.seconds, time.perf_counter()
        saved, pieces, losses = start, state.pieces, _Losses(device)
        every = GPU_REPORT_STEPS if device.type == "cuda" else 1
        interval = SECONDS_PER_MINUTE * self.settings.checkpoint_minutes
        while self.done(state.step, state.seconds) < 1.0:
            self._set_rate(self.done(state.step + 0.5, state.seconds))
            losses.add(self._update(state.step, device))
            state.step += 1
            state.pieces += self.settings.accumulate * self._batch_pieces
            now = time.perf_counter()
            state.seconds = before + now - start
            if state.step % every == 0:
                loss = losses.read(state.step)
                speed = (state.pieces - pieces) / (now - start)
                done = self.done(state.step, state.seconds)
                self.report(Report(state.step, done, loss, speed))
            if now - saved >= interval and self.done(state.step, state.seconds) < 1.0:
                self._save(state, losses)
                saved = time.perf_counter()
        self._save(state, losses)

    def done(self, step: float, seconds: float) -> float:
        """Share of the training that is over: of its steps, or of its time."""
        steps, minutes = self.settings.steps, self.settings.minutes
        of_steps = 0.0 if steps is None else step / max(steps, 1)
        if minutes is None:
            return of_steps
        return max(of_steps, seconds / max(minutes * SECONDS_PER_MINUTE, 1e-9))

    @property
    def _batch_pieces(self) -> int:
        return self.settings.batch_size * self.sequences.length

    def _set_rate(self, done: float) -> None:
        rate = learn_rate_at(done, self.learn_rate, self.settings.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def _update(self, step: int, device: torch.device) -> torch.Tensor:
        """One step of the optimizer. RETURNS: its mean loss, on the device."""
        # Nothing random goes on from one step to the next: see `State`.
        seeds = np.random.SeedSequence([self.settings.seed, MASKS, step])
        torch.manual_seed(int(seeds.generate_state(1, np.uint64)[0]))
        total = torch.zeros((), device=device)
        for batch in self._batches(step, np.random.default_rng(seeds)):
            ids, positions, targets = (_to(part, device) for part in batch)
            with autocast(device, DTYPES[self.precision]):
                logits = score_masked(self.masked_lm, ids, positions)
            loss = cross_entropy(logits.float(), targets) / self.settings.accumulate
            loss.backward()
            total += loss.detach()
        clip_gradients([p for p in self.masked_lm.parameters() if p.grad is not None])
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _batches(self, step: int, rng: np.random.Generator) -> Iterator[MaskedBatch]:
        size = self.settings.batch_size
        first = step * self.settings.accumulate
        for number in range(first, first + self.settings.accumulate):
            yield self.masker.mask(self.sequences.batch(number * size, size), rng)

    def _save(self, state: State, losses: "_Losses") -> None:
        if losses.count or losses.pending:
            state.losses.append([state.step, losses.take(state.step)])
        self.save(state)


class _Losses:
    """Mean losses; a GPU computes on while they are not read."""

    def __init__(self, device: torch.device):
        self._waiting = torch.zeros((), device=device)
        self.pending = 0
        self._sum, self.count = 0.0, 0

    def add(self, loss: torch.Tensor) -> None:
        self._waiting += loss
        self.pending += 1

    def read(self, step: int) -> float:
        """The mean since it was read last.

        RAISES (PretrainError): If it is no number.
        """
        mean = float(self._waiting) / max(self.pending, 1)
        if not math.isfinite(mean):
            raise PretrainError(
                f"The loss is {mean} at step {step:,}: the training has gone astray. "
                f"Try a lower --learn-rate, or --precision float32"
            )
        self._sum += mean * self.pending
        self.count += self.pending
        self._waiting.zero_()
        self.pending = 0
        return mean

    def take(self, step: int) -> float:
        """The mean since it was taken last."""
        self.read(step)
        mean = self._sum / self.count
        self._sum, self.count = 0.0, 0
        return mean


def _to(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """On its way to the device: nothing waits for it to arrive."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)
