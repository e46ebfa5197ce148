"""The training loop of a teaching."""

import math
import time
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np
import torch

from ..files.errors import DataError
from ..pretraining.batches import MASKS, MaskedBatch, Masker, PackedSequences
from ..pretraining.checkpoint import State
from .feed import Feed
from .objective import KindLoss, Student, hidden_loss, kind_loss
from .sampler import KindBatch, Sampler
from .settings import Settings

GRADIENT_NORM = 1.0
# Share of the training over which the learning rate rises.
WARMUP = 0.03
# Updates after which a GPU is asked for the loss, which makes it wait.
GPU_REPORT_STEPS = 50
SECONDS_PER_MINUTE = 60.0
# Passes over the lines where neither steps nor minutes are given.
PASSES = 10
HELD_OUT_BATCHES, HELD_OUT_LINES = 8, 64
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class StepBatch(NamedTuple):
    """What a step reads."""

    kinds: KindBatch
    hidden: Optional[MaskedBatch]


@dataclass
class Loop:
    """A teaching, from a student to a taught one, which is changed in place.

    student (Student): On its device, in float32. optimizer: Of its parameters.
    sampler (Sampler): Of the lines to learn from; held_out: of those to measure on.
    text (Optional[PackedSequences]): Plain text.
    save (Callable): Keeps the student; report (Callable): shows the step, the share of
        the training that is done, and what was measured since the last report.
    """

    student: Student
    optimizer: torch.optim.Optimizer
    sampler: Sampler
    held_out: Optional[Sampler]
    text: Optional[PackedSequences]
    settings: Settings
    save: Callable[[State], None]
    report: Callable[[int, float, Dict[str, float]], None]

    def __post_init__(self) -> None:
        settings = self.settings
        tokenizer = self.student.masked_lm.tokenizer
        self.masker = Masker(tokenizer, settings.mask_share)
        prefix, suffix = self.student.masked_lm.special_pieces()
        self.pad, self.special = tokenizer.pad_token_id, [*prefix, *suffix]
        self.steps = settings.steps
        if settings.steps is None and settings.minutes is None:
            self.steps = math.ceil(PASSES * len(self.sampler.lines) / settings.lines)

    def run(self, state: State) -> None:
        """Train to the end, from where the state stands; it is changed in place.
        RAISES (DataError): If the loss is no number any more."""
        device = self.student.name_map.weight.device
        devices = [device] if device.type == "cuda" else []
        feed = Feed(self.make, state.step, self.settings.workers)
        with feed as batches, torch.random.fork_rng(devices=devices):
            self._run(state, batches, device)

    def make(self, number: int) -> StepBatch:
        """The batch of a step."""
        settings = self.settings
        kinds = self.sampler.batch(number, settings.lines)
        if self.text is None or not settings.texts:
            return StepBatch(kinds, None)
        seeds = np.random.SeedSequence([settings.seed, MASKS, number])
        ids = self.text.batch(number * settings.texts, settings.texts)
        hidden = self.masker.mask(ids, np.random.default_rng(seeds))
        return StepBatch(kinds, hidden)

    def _run(self, state: State, batches: Any, device: torch.device) -> None:
        settings, before, start = self.settings, state.seconds, time.perf_counter()
        saved, first, sums = start, state.step, torch.zeros(3, device=device)
        every = GPU_REPORT_STEPS if device.type == "cuda" else 1
        interval = SECONDS_PER_MINUTE * settings.checkpoint_minutes
        live = self._live()
        live.train()
        _set_dropout(live, settings.dropout)
        while (done := self.done(state.step + 0.5, state.seconds)) < 1.0:
            torch.manual_seed(settings.seed * 1_000_003 + state.step)
            sums += self._update(live, next(batches), self._rate(done))
            state.step += 1
            now = time.perf_counter()
            state.seconds = before + now - start
            done = self.done(state.step, state.seconds)
            is_due = done >= 1.0 or now - saved >= interval
            if is_due or state.step % every == 0:
                kinds, hidden, f1 = (sums / (state.step - first)).tolist()
                if not math.isfinite(kinds + hidden):
                    raise DataError(
                        f"The loss is {kinds + hidden} at step {state.step:,}: the "
                        "training has gone astray. Try a lower --learn-rate"
                    )
                shown = {"loss": kinds, "text loss": hidden, "f1": f1}
                self.report(state.step, done, shown)
            if is_due:
                state.losses.append([state.step, kinds])
                self.save(state)
                sums.zero_()
                saved, first = time.perf_counter(), state.step

    def done(self, step: float, seconds: float) -> float:
        """Share of the training that is over: of its steps, or of its time."""
        minutes = self.settings.minutes
        of_steps = 0.0
        if self.steps is not None:
            of_steps = step / self.steps if self.steps else 1.0
        of_time = 0.0 if minutes is None else seconds / (minutes * SECONDS_PER_MINUTE)
        return max(of_steps, of_time)

    def _rate(self, done: float) -> float:
        rising, falling = done / WARMUP, (1.0 - done) / (1.0 - WARMUP)
        return self.settings.learn_rate * min(rising, falling)

    def _live(self) -> Student:
        """The student whose gradients are computed: the one in float32 itself, or a
        copy of less precision, which follows it."""
        dtype = DTYPES[self.settings.precision]
        if dtype == torch.float32:
            return self.student
        live = deepcopy(self.student).to(dtype)
        live.masked_lm.tokenizer = self.student.masked_lm.tokenizer
        return live

    def _update(self, live: Student, batch: StepBatch, rate: float) -> torch.Tensor:
        """One step. RETURNS: (3), the losses of kinds and of hidden pieces, and F1."""
        device = live.name_map.weight.device
        loss, f1 = kind_loss(live, batch.kinds, self.pad, self.special)
        loss.backward()
        text_loss = torch.zeros((), device=device)
        if batch.hidden is not None:
            hidden = [torch.from_numpy(x).to(device) for x in batch.hidden]
            text_loss = hidden_loss(live, *hidden)
            (self.settings.text_weight * text_loss).backward()
        pairs = list(zip(self.student.parameters(), live.parameters()))
        pairs = [(ours, its) for ours, its in pairs if its.grad is not None]
        if live is not self.student:
            for ours, its in pairs:
                gradient: Any = its.grad
                ours.grad, its.grad = gradient.to(ours.dtype), None
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        learn = [ours for ours, _ in pairs]
        torch.nn.utils.clip_grad_norm_(learn, GRADIENT_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if live is not self.student:
            with torch.no_grad():
                for ours, its in pairs:
                    its.copy_(ours)
        return torch.stack([loss.detach().float(), text_loss.detach().float(), f1])

    @torch.no_grad()
    def measure(self) -> Dict[str, float]:
        """Loss and F1 at the words of held-out lines, kinds given; empty without."""
        if self.held_out is None:
            return {}
        was_training = self.student.training
        self.student.eval()
        size = min(HELD_OUT_LINES, len(self.held_out.lines))
        found: List[KindLoss] = []
        for number in range(min(HELD_OUT_BATCHES, len(self.held_out.lines) // size)):
            batch = self.held_out.batch(number, size)
            found.append(kind_loss(self.student, batch, self.pad, self.special))
        self.student.train(was_training)
        sums = [sum(float(one[i]) for one in found) / len(found) for i in (0, 1)]
        return {"loss": sums[0], "f1": sums[1]}


def _set_dropout(module: torch.nn.Module, share: float) -> None:
    one: Any
    for one in module.modules():
        if isinstance(one, torch.nn.Dropout):
            one.p = share
        elif hasattr(one, "dropout_prob"):  # of attention, as BERT names it
            one.dropout_prob = share
