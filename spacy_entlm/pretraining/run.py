"""A pre-training, from text files to a model folder."""

import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch
from safetensors import SafetensorError
from tqdm import tqdm

from ..backbones.loading import load_masked_lm
from ..backbones.masked_lm import MaskedLM
from ..backbones.names import ENTLM_MINI, resolve_backbone
from ..corpus.texts import read_texts
from ..files.errors import DataError
from ..training.schedule import learn_rate_for_width
from .added_words import add_words
from .checkpoint import State, load_checkpoint, make_optimizer, save_checkpoint
from .evaluation import evaluate
from .folder import RunFolder
from .inputs import describe_backbone, describe_files, find_texts
from .loop import Training
from .masking import Masker
from .output import describe_measures, recommendations, versions, write_model
from .pieces import Pieces, is_held_out, split_text
from .sequences import PackedSequences
from .settings import DEFAULT_LENGTH, Settings

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


@dataclass
class Pretraining:
    """A pre-training.

    text (List[Path]): Files with text, or data folders that hold `unlabeled.*`.
    out (Path): The model folder to be. backbone (str): A folder or a hub name.
    settings (Settings): How it is done. echo (Callable): Shows a line.
    """

    text: List[Path]
    out: Path
    backbone: str = ENTLM_MINI
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
        with folder.locked(), _write_errors(folder):
            given = self._given()
            noted = folder.claim(given, resume=resume, overwrite=overwrite)
            if noted is not None and not folder.is_begun:
                self.echo(f"{self.out} is finished")
                return noted
            pieces = self._begin(folder, given) if noted is None else None
            report = self._train(folder, pieces)
            folder.end()
        for line in describe_measures(report["held_out"], report["held_out_before"]):
            self.echo(line)
        return report

    def _given(self) -> Dict[str, Any]:
        """What a run that goes on must be given again."""
        settings = self.settings.model_dump(mode="json")
        # Where a file lay on somebody's disk is nobody's business.
        settings["lexicon"] = [path.name for path in self.settings.lexicon]
        return {
            **describe_backbone(self.backbone),
            "text": describe_files(self.text),
            "lexicon": describe_files(self.settings.lexicon),
            "settings": settings,
        }

    def _begin(self, folder: RunFolder, given: Dict[str, Any]) -> Pieces:
        """All that comes before the first step."""
        masked_lm = load_masked_lm(resolve_backbone(self.backbone))
        length, n_most = self._length(masked_lm), masked_lm.max_pieces
        if length > n_most:
            raise DataError(f"--length {length}: the model takes at most {n_most}")
        facts = {**given, "vocabulary": None, "held_out_before": {}}
        share = self.settings.held_out
        if self.settings.add_vocab:
            lines = (x for x in read_texts(self.text) if not is_held_out(x, share))
            facts["vocabulary"] = add_words(
                masked_lm, lines, self.settings.add_vocab, self.settings.lexicon
            )
        pieces = self._split(masked_lm)
        if self.settings.steps != 0:
            if not len(pieces.train):
                raise DataError(
                    f"All {len(pieces.held_out)} lines of the text are held out: give "
                    f"more text, or a smaller --held-out than {share}"
                )
            masked_lm.to(self._device)
            facts["held_out_before"] = self._evaluate(masked_lm, pieces)
        save_checkpoint(folder.path, masked_lm, make_optimizer(masked_lm), State())
        folder.begin({**facts, **recommendations(self.backbone)})
        return pieces

    def _train(self, folder: RunFolder, pieces: Optional[Pieces]) -> Dict[str, Any]:
        """Train to the end, and write the model. RETURNS: its report."""
        masked_lm, optimizer, state = load_checkpoint(folder.path, self._device)
        pieces = pieces or self._split(masked_lm)
        report = {**folder.read(), "settings": self._given()["settings"]}
        report["parameters"] = sum(p.numel() for p in masked_lm.parameters())
        if self.settings.steps != 0:
            if state.step:
                self.echo(f"Going on at step {state.step:,}")
            with _bar("Training", total=1.0, bar_format=BAR) as bar:
                training = self._training(folder, masked_lm, optimizer, pieces, bar)
                # What is left takes no longer for what was done before.
                bar.initial = bar.n = training.done(state.step, state.seconds)
                training.run(state)
            report["pretraining_learn_rate"] = training.learn_rate
            report["sequence_pieces"] = training.sequences.length
        if self.settings.half:
            masked_lm.half().float()  # what is stored is what is measured
        report["held_out"] = self._evaluate(masked_lm, pieces)
        report |= _figures(state, pieces, self._device)
        if self.settings.few_shot_learn_rate is not None:
            report |= recommendations(None, self.settings.few_shot_learn_rate)
        write_model(masked_lm, report, self.out, half=self.settings.half)
        return report

    def _training(
        self,
        folder: RunFolder,
        masked_lm: MaskedLM,
        optimizer: torch.optim.Optimizer,
        pieces: Pieces,
        bar: Any,
    ) -> Training:
        def save(state: State) -> None:
            save_checkpoint(folder.path, masked_lm, optimizer, state)
            if bar.disable:
                self.echo(f"Step {state.step:,}: loss {state.losses[-1][1]:.3f}")

        def show(step: int, done: float, loss: float, speed: float) -> None:
            values = f"step {step:,}, loss {loss:.3f}, {speed:,.0f} pieces/s"
            bar.set_postfix_str(values, False)
            bar.update(min(done, 1.0) - bar.n)

        around, seed = masked_lm.special_pieces(), self.settings.seed
        length, width = self._length(masked_lm), masked_lm.width
        sequences = PackedSequences(pieces.train, length, *around, seed)
        return Training(
            masked_lm=masked_lm,
            optimizer=optimizer,
            sequences=sequences,
            masker=Masker(masked_lm.tokenizer, self.settings.mask_share),
            settings=self._with_steps(sequences.n_sequences),
            learn_rate=self.settings.learn_rate or learn_rate_for_width(width),
            save=save,
            report=show,
        )

    def _split(self, masked_lm: MaskedLM) -> Pieces:
        with _bar("Splitting the text", unit="piece") as bar:
            return split_text(
                read_texts(self.text),
                masked_lm,
                held_out=self.settings.held_out,
                count=bar.update,
            )

    def _evaluate(self, masked_lm: MaskedLM, pieces: Pieces) -> Dict[str, Any]:
        with _bar("Measuring", unit="piece") as bar:
            length = self._length(masked_lm)
            return evaluate(masked_lm, pieces.held_out, length, count=bar.update)

    def _length(self, masked_lm: MaskedLM) -> int:
        return self.settings.length or min(DEFAULT_LENGTH, masked_lm.max_pieces)

    def _with_steps(self, n_sequences: int) -> Settings:
        """The settings, with a number of steps in place of passes."""
        settings = self.settings
        epochs = settings.epochs
        if epochs is None:
            if settings.steps is not None or settings.minutes is not None:
                return settings
            epochs = 1
        steps = math.ceil(epochs * n_sequences / settings.batch_size)
        steps = min(steps, settings.steps or steps)
        return settings.model_copy(update={"steps": steps})

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


def _figures(state: State, pieces: Pieces, device: torch.device) -> Dict[str, Any]:
    """What pretrain.json says of the training."""
    speed = round(state.pieces / state.seconds, 1) if state.seconds else None
    return {
        "steps": state.step,
        "pieces_seen": state.pieces,
        "seconds": round(state.seconds, 3),
        "pieces_per_second": speed,
        "losses": state.losses,
        "corpus": pieces.sizes,
        "device": device.type,
        "versions": versions(),
    }


@contextmanager
def _bar(name: str, **options: Any) -> Iterator[Any]:
    # disable=None: no bar where stderr is not a terminal.
    with tqdm(desc=name, leave=False, disable=None, unit_scale=True, **options) as bar:
        yield bar


@contextmanager
def _write_errors(folder: RunFolder) -> Iterator[None]:
    """Say what to do when the disk is full; safetensors has an error of its own.

    RAISES (DataError): In place of those.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        then = "go on with --resume" if folder.is_begun else "begin again"
        raise DataError(
            f"cannot be written ({reason}): make room, and {then}", path=folder.path
        ) from error
