"""The training loop."""

import math
import time
from dataclasses import dataclass
from typing import Callable

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ..backbones.masked_lm import MaskedLM
from ..backbones.suitable import learn_rate_for_width
from ..files.errors import DataError
from ..model.precision import DTYPES, autocast
from .batches import MASKS, Masker, PackedSequences, score_masked
from .checkpoint import State
from .settings import Settings

GRADIENT_NORM = 1.0
# Share of the training over which the learning rate rises, as RoBERTa's.
WARMUP = 0.06
# Updates after which a GPU is asked for the loss, which makes it wait.
GPU_REPORT_STEPS = 50
SECONDS_PER_MINUTE = 60.0


@dataclass
class Training:
    """A training.

    masked_lm (MaskedLM): The model, on its device, in float32.
    report (Callable): Shows the step, the share of the training that is done, the mean
        loss since the last checkpoint, and pieces per second.
    """

    masked_lm: MaskedLM
    optimizer: torch.optim.Optimizer
    sequences: PackedSequences
    settings: Settings
    save: Callable[[State], None]
    report: Callable[[int, float, float, float], None]

    def __post_init__(self) -> None:
        settings, width = self.settings, self.masked_lm.width
        self.masker = Masker(self.masked_lm.tokenizer, settings.mask_share)
        self.learn_rate = settings.learn_rate or learn_rate_for_width(width)
        self.steps, epochs = settings.steps, settings.epochs
        if epochs is None and self.steps is None and settings.minutes is None:
            epochs = 1
        if epochs is not None:
            most = math.ceil(epochs * self.sequences.n_sequences / settings.batch_size)
            self.steps = min(most, self.steps or most)

    def run(self, state: State) -> None:
        """Train to the end, from where the state stands; it is changed in place.
        RAISES (DataError): If the loss is no number any more."""
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
        saved, pieces, first = start, state.pieces, state.step
        total = torch.zeros((), device=device)
        every = GPU_REPORT_STEPS if device.type == "cuda" else 1
        interval = SECONDS_PER_MINUTE * self.settings.checkpoint_minutes
        while (done := self.done(state.step + 0.5, state.seconds)) < 1.0:
            total += self._update(state.step, self.learn_rate_at(done), device)
            state.step += 1
            state.pieces += self.settings.batch_size * self.sequences.length
            now = time.perf_counter()
            state.seconds = before + now - start
            done = self.done(state.step, state.seconds)
            is_due = done >= 1.0 or now - saved >= interval
            if is_due or state.step % every == 0:
                loss = float(total) / (state.step - first)
                if not math.isfinite(loss):
                    raise DataError(
                        f"The loss is {loss} at step {state.step:,}: the training has "
                        "gone astray. Try a lower --learn-rate, or --precision float32"
                    )
                speed = (state.pieces - pieces) / (now - start)
                self.report(state.step, done, loss, speed)
            if is_due:
                state.losses.append([state.step, loss])
                self.save(state)
                total.zero_()
                saved, first = time.perf_counter(), state.step

    def done(self, step: float, seconds: float) -> float:
        """Share of the training that is over: of its steps, or of its time."""
        steps, minutes = self.steps, self.settings.minutes
        of_steps = 0.0 if steps is None else step / max(steps, 1)
        of_time = 0.0 if minutes is None else seconds / (minutes * SECONDS_PER_MINUTE)
        return max(of_steps, of_time)

    def learn_rate_at(self, done: float) -> float:
        """The learning rate: it rises linearly, then falls linearly to zero."""
        return self.learn_rate * min(done / WARMUP, (1.0 - done) / (1.0 - WARMUP))

    def _update(self, step: int, rate: float, device: torch.device) -> torch.Tensor:
        """One step of the optimizer. RETURNS: its loss, on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        # Nothing random goes on from one step to the next: see `State`.
        seeds = np.random.SeedSequence([self.settings.seed, MASKS, step])
        torch.manual_seed(int(seeds.generate_state(1, np.uint64)[0]))
        size = self.settings.batch_size
        ids = self.sequences.batch(step * size, size)
        batch = self.masker.mask(ids, np.random.default_rng(seeds))
        masked, positions, targets = (torch.from_numpy(x).to(device) for x in batch)
        with autocast(device, DTYPES[self.settings.precision]):
            logits = score_masked(self.masked_lm, masked, positions)
        loss = cross_entropy(logits.float(), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.masked_lm.parameters(), GRADIENT_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()
