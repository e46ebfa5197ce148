"""A pre-training, from text files to a model folder."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from tqdm import tqdm

from ..backbones.loading import load_masked_lm
from ..backbones.masked_lm import MaskedLM
from ..backbones.name_map import NameMap
from ..backbones.names import ENTLM_BASE, resolve_backbone
from ..backbones.recommended import LEARN_RATE_KEY
from ..corpus.texts import read_texts
from ..files.errors import DataError
from .added_words import add_words
from .batches import PackedSequences
from .checkpoint import State, load_checkpoint, make_optimizer, save_checkpoint
from .evaluation import evaluate
from .folder import Facts, RunFolder, write_model
from .loop import Training
from .pieces import Pieces, find_texts, hash_share, split_text
from .run_report import (
    describe_backbone,
    describe_files,
    describe_measures,
    recommendations,
    versions,
)
from .settings import DEFAULT_LENGTH, Settings

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
# disable=None: no bar where stderr is not a terminal.
progress = partial(tqdm, leave=False, disable=None, unit_scale=True)


@dataclass
class Pretraining:
    """A pre-training.

    text (List[Path]): Files with text, or data folders that hold `unlabeled.*`.
    out (Path): The model folder to be. backbone (str): A folder or a hub name.
    echo (Callable): Shows a line.
    """

    text: List[Path]
    out: Path
    backbone: str = ENTLM_BASE
    settings: Settings = field(default_factory=Settings)
    echo: Callable[[str], None] = print

    def run(self, *, resume: bool = False, overwrite: bool = False) -> Dict[str, Any]:
        """Do it, and write the model folder with its pretrain.json.

        resume (bool): Whether an unfinished run goes on, if there is one.
        overwrite (bool): Whether a model and an unfinished run may be replaced; with
            `resume`, those that were given something else.
        RETURNS (Dict[str, Any]): What pretrain.json says.
        RAISES (ValueError): If anything given cannot be used, or the disk is full.
        """
        self.text = find_texts(self.text)
        _ = self._device  # told before any work is done
        folder = RunFolder(self.out)
        with folder.locked():
            given = {  # what a run that goes on must be given again
                **describe_backbone(self.backbone),
                "text": describe_files(self.text),
                "lexicon": describe_files(self.settings.lexicon),
                "settings": self.settings.model_dump(),
            }
            noted = folder.claim(given, resume=resume, overwrite=overwrite)
            if noted is not None and not folder.is_begun:
                self.echo(f"{self.out} is finished")
                return noted
            with folder.telling_full_disk():
                pieces = None
                if noted is None:
                    noted, pieces = self._begin(folder, given)
                report = self._train(folder, noted, pieces)
            folder.end()
        lines = describe_measures(report["held_out"], report["held_out_before"])
        for line in [*lines, f"Wrote {self.out}"]:
            self.echo(line)
        return report

    def _begin(self, folder: RunFolder, given: Facts) -> Tuple[Facts, Pieces]:
        """All that comes before the first step."""
        masked_lm = load_masked_lm(resolve_backbone(self.backbone))
        length, n_most = self._length(masked_lm), masked_lm.max_pieces
        if length > n_most:
            raise DataError(f"--length {length}: the model takes at most {n_most}")
        facts, share = {**given, "vocabulary": None}, self.settings.held_out
        if self.settings.add_vocab:
            lines = (x for x in read_texts(self.text) if hash_share(x) >= share)
            facts["vocabulary"] = add_words(
                masked_lm, lines, self.settings.add_vocab, self.settings.lexicon
            )
        pieces, facts["held_out_before"] = self._split(masked_lm), {}
        if self.settings.steps != 0:
            if not len(pieces.train):
                problem = f"All {len(pieces.held_out)} lines of the text are held out: "
                then = f"give more text, or a smaller --held-out than {share}"
                raise DataError(problem + then)
            masked_lm.to(self._device)
            facts["held_out_before"] = evaluate(masked_lm, pieces.held_out, length)
        save_checkpoint(folder.path, masked_lm, make_optimizer(masked_lm), State())
        return folder.begin({**facts, **recommendations(self.backbone)}), pieces

    def _train(
        self, folder: RunFolder, noted: Facts, pieces: Optional[Pieces]
    ) -> Facts:
        """Train to the end, and write the model. RETURNS: its report."""
        masked_lm, optimizer, state = load_checkpoint(
            folder.path, self._device, partial(load_masked_lm, strict=True)
        )
        pieces = pieces or self._split(masked_lm)
        report = {**noted, "settings": self.settings.model_dump()}
        if self.settings.steps != 0:
            report |= self._update(folder, masked_lm, optimizer, state, pieces)
        if self.settings.half:
            masked_lm.half().float()  # what is stored is what is measured
        length = self._length(masked_lm)
        report["held_out"] = evaluate(masked_lm, pieces.held_out, length)
        if self.settings.half:
            masked_lm.half()
        report |= {
            "parameters": sum(p.numel() for p in masked_lm.parameters()),
            "device": self._device.type,
            "steps": state.step,
            "pieces_seen": state.pieces,
            "seconds": round(state.seconds, 3),
            "pieces_per_second": round(state.pieces / max(state.seconds, 1e-9), 1),
            "losses": state.losses,
            "corpus": pieces.sizes,
            "versions": versions(),
        }
        if self.settings.few_shot_learn_rate is not None:
            report[LEARN_RATE_KEY] = self.settings.few_shot_learn_rate
        # The hidden states have changed little: names are read as before.
        name_map = NameMap.of_backbone(self.backbone, masked_lm.width)
        write_model(masked_lm, report, self.out, name_map)
        return report

    def _update(
        self,
        folder: RunFolder,
        masked_lm: MaskedLM,
        optimizer: torch.optim.Optimizer,
        state: State,
        pieces: Pieces,
    ) -> Dict[str, Any]:
        """All steps that are left. RETURNS: facts about them."""

        def save(state: State) -> None:
            save_checkpoint(folder.path, masked_lm, optimizer, state)
            if bar.disable:
                self.echo(f"Step {state.step:,}: loss {state.losses[-1][1]:.3f}")

        def show(step: int, done: float, loss: float, speed: float) -> None:
            values = f"step {step:,}, loss {loss:.3f}, {speed:,.0f} pieces/s"
            bar.set_postfix_str(values, False)
            bar.update(min(done, 1.0) - bar.n)

        if state.step:
            self.echo(f"Going on at step {state.step:,}")
        around, length = masked_lm.special_pieces(), self._length(masked_lm)
        packed = PackedSequences(pieces.train, length, *around, self.settings.seed)
        training = Training(masked_lm, optimizer, packed, self.settings, save, show)
        with progress(desc="Training", total=1.0, bar_format=BAR) as bar:
            # What is left takes no longer for what was done before.
            bar.initial = bar.n = training.done(state.step, state.seconds)
            training.run(state)
        rate = training.learn_rate
        return {"pretraining_learn_rate": rate, "sequence_pieces": packed.length}

    def _split(self, masked_lm: MaskedLM) -> Pieces:
        lines = progress(read_texts(self.text), "Splitting the text", unit="line")
        return split_text(lines, masked_lm, held_out=self.settings.held_out)

    def _length(self, masked_lm: MaskedLM) -> int:
        return self.settings.length or min(DEFAULT_LENGTH, masked_lm.max_pieces)

    @property
    def _device(self) -> torch.device:
        name = self.settings.device
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            return torch.zeros((), device=name).device
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"--device {name!r} cannot be used ({reason})") from error
