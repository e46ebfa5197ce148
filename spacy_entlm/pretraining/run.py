"""A pre-training, from text files to a model folder."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from tqdm import tqdm

from ..backbones.loading import load_masked_lm
from ..backbones.masked_lm import MaskedLM
from ..backbones.names import resolve_backbone
from ..backbones.recommended import (
    LABEL_WORDS_KEY,
    LEARN_RATE_KEY,
    PRETRAIN_FILE,
    Recommended,
    read_recommended,
)
from ..corpus.texts import check_text_files, read_texts
from ..files.folder import write_folder
from ..training.schedule import learn_rate_for_width
from .checkpoint import (
    State,
    last_checkpoint,
    load_checkpoint,
    load_optimizer,
    save_checkpoint,
    write_errors,
)
from .evaluation import evaluate
from .folder import RunFolder
from .held_out import is_held_out
from .loop import Report, Training
from .masking import Masker
from .models import change_vocabulary, new_model
from .optimization import make_optimizer, set_dropout
from .pieces import PieceStore, write_pieces
from .report import describe_measures, make_report
from .sequences import PackedSequences
from .settings import DEFAULT_LENGTH, PretrainError, Settings, describe_text

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


@dataclass
class Pretraining:
    """A pre-training.

    text (List[Path]): Files with text. out (Path): The model folder to be.
    backbone (Optional[str]): A folder or a hub name, or None and
    new (Optional[Path]): the configuration of a model from scratch.
    settings (Settings): How it is done.
    few_shot_learn_rate (Optional[float]): Recommended in pretrain.json for few-shot
        training; None: what the backbone's recommends, if it does.
    echo (Callable): Shows a line.
    """

    text: List[Path]
    out: Path
    backbone: Optional[str] = None
    new: Optional[Path] = None
    settings: Settings = field(default_factory=Settings)
    few_shot_learn_rate: Optional[float] = None
    echo: Callable[[str], None] = print

    def run(self, *, resume: bool = False, overwrite: bool = False) -> Dict[str, Any]:
        """Do it, and write the model folder with its pretrain.json.

        resume (bool): Whether an unfinished run goes on, if there is one.
        overwrite (bool): Whether a model and an unfinished run may be replaced.
        RETURNS (Dict[str, Any]): What pretrain.json says.
        RAISES (ValueError): If anything given cannot be used, or the disk is full.
        """
        self._check()
        folder = RunFolder(self.out)
        done = folder.finished() if resume and not overwrite else None
        if done is not None:
            self.echo(f"{self.out} is finished")
            return done
        given = {**self._given(), "settings": self.settings.lasting()}
        if not folder.claim(given, resume=resume, overwrite=overwrite):
            self._begin(folder)
        store = PieceStore.load(folder.pieces)
        masked_lm, state, chosen = self._train(folder, store)
        if self.settings.half:
            masked_lm.half().float()  # what is stored is what is measured
        chosen["held_out"] = self._evaluate(masked_lm, store)
        report = make_report(folder.read(), self.settings, state, store, chosen)
        with write_errors(str(self.out), f"{folder.path} is intact, use --resume"):
            self._write(masked_lm, report)
        folder.remove()
        for line in describe_measures(report["held_out"], report["held_out_before"]):
            self.echo(line)
        return report

    def _check(self) -> None:
        if (self.backbone is None) == (self.new is None):
            raise PretrainError("Give either --backbone or --new")
        if self.new is not None:
            if self.settings.steps == 0:
                raise PretrainError("--steps 0 only measures: leave out --new")
            if self.settings.keep_vocab or self.settings.add_vocab:
                raise PretrainError(
                    "--keep-vocab and --add-vocab change a --backbone; a model from "
                    "scratch takes --new-vocab"
                )
        rate = self.few_shot_learn_rate
        if rate is not None and not 0 < rate < 1:
            raise PretrainError(
                f"--few-shot-learn-rate is above 0 and below 1, not {rate}"
            )
        if not self.text:
            raise PretrainError("Give at least one file with text")
        check_text_files(self.text)
        _ = self._device  # told before any work is done

    @property
    def _source(self) -> str:
        """Folder or hub name of the backbone."""
        return resolve_backbone(str(self.backbone))

    def _given(self) -> Dict[str, Any]:
        """What a run that goes on must be given again."""
        name = self.backbone
        if name is not None and Path(name).exists():
            name = Path(name).resolve().name
        config = None if self.new is None else self.new.name
        return {"backbone": name, "new": config, "text": describe_text(self.text)}

    def _begin(self, folder: RunFolder) -> None:
        """All that comes before the first step, so that it is done only once."""
        try:
            with write_errors(str(folder.path), "make room and begin again"):
                self._prepare(folder)
        finally:
            if not folder.is_begun:
                folder.remove()

    def _prepare(self, folder: RunFolder) -> None:
        masked_lm, vocabulary = self._start_model()
        if self._length(masked_lm) > masked_lm.max_pieces:
            raise PretrainError(
                f"--length {self.settings.length}: the model takes at most "
                f"{masked_lm.max_pieces} pieces"
            )
        folder.pieces.mkdir()
        with _bar("Splitting the text", unit="piece") as bar:
            store = write_pieces(
                read_texts(self.text),
                masked_lm,
                folder.pieces,
                held_out=self.settings.held_out,
                count=bar.update,
            )
        before: Dict[str, Any] = {}
        if self.settings.steps != 0:
            self._check_size(store)
            before = self._evaluate(masked_lm.to(self._device), store)
        save_checkpoint(folder.path, masked_lm, State())
        facts: Dict[str, Any] = {"vocabulary": vocabulary, "held_out_before": before}
        # What the backbone recommends for few-shot training is kept.
        recommended = Recommended()
        if self.new is None:
            recommended = read_recommended(self._source)
        learn_rate = self.few_shot_learn_rate or recommended.learn_rate
        if learn_rate is not None:
            facts[LEARN_RATE_KEY] = learn_rate
        if recommended.label_words:
            facts[LABEL_WORDS_KEY] = recommended.label_words
        folder.write({**self._given(), **facts}, self.settings)

    def _start_model(self) -> Tuple[MaskedLM, Optional[Dict[str, Any]]]:
        """The model, and how its vocabulary was made or changed."""

        def training_lines() -> Iterator[str]:
            for line in read_texts(self.text):
                if not is_held_out(line, self.settings.held_out):
                    yield line

        if self.new is not None:
            return new_model(self.new, self.settings, training_lines)
        masked_lm = load_masked_lm(self._source)
        if not self.settings.changes_vocabulary:
            return masked_lm, None
        return masked_lm, change_vocabulary(masked_lm, self.settings, training_lines)

    def _check_size(self, store: PieceStore) -> None:
        if not store.train:
            raise PretrainError(
                f"All {store.held_out_lines} lines of the text are held out: give more "
                f"text, or a smaller --held-out than {self.settings.held_out}"
            )

    def _train(
        self, folder: RunFolder, store: PieceStore
    ) -> Tuple[MaskedLM, State, Dict[str, Any]]:
        """The trained model, how far it is, and what was chosen for it."""
        path = last_checkpoint(folder.path)
        masked_lm, state = load_checkpoint(path)
        masked_lm.to(self._device)
        n_parameters = sum(p.numel() for p in masked_lm.parameters())
        chosen = {"parameters": n_parameters, "device": self._device.type}
        if self.settings.steps == 0:
            return masked_lm, state, chosen
        optimizer = make_optimizer(masked_lm, self.settings.weight_decay)
        load_optimizer(path, optimizer, masked_lm, state.step)
        set_dropout(masked_lm, self.settings.dropout)
        sequences = self._sequences(masked_lm, store)
        settings = self._with_steps(sequences)
        learn_rate = settings.learn_rate or learn_rate_for_width(masked_lm.width)
        share, whole_word = settings.mask_share, settings.whole_word
        if state.step:
            self.echo(f"Going on at step {state.step:,}")
        with _bar("Training", total=1.0) as bar:
            log = _Log(bar, self.echo)

            def save(state: State) -> None:
                save_checkpoint(folder.path, masked_lm, state, optimizer)
                log.saved()

            training = Training(
                masked_lm=masked_lm,
                optimizer=optimizer,
                sequences=sequences,
                masker=Masker(masked_lm.tokenizer, share, whole_word=whole_word),
                settings=settings,
                learn_rate=learn_rate,
                precision=settings.precision,
                save=save,
                report=log,
            )
            log.start(training.done(state.step, state.seconds))
            training.run(state)
        chosen |= {
            "precision": settings.precision,
            "pretraining_learn_rate": learn_rate,
        }
        return masked_lm, state, {**chosen, "sequence_pieces": sequences.length}

    def _sequences(self, masked_lm: MaskedLM, store: PieceStore) -> PackedSequences:
        prefix, suffix = masked_lm.special_pieces()
        stream = store.array("train")
        length = self._length(masked_lm)
        return PackedSequences(stream, length, prefix, suffix, self.settings.seed)

    def _length(self, masked_lm: MaskedLM) -> int:
        return self.settings.length or min(DEFAULT_LENGTH, masked_lm.max_pieces)

    def _with_steps(self, sequences: PackedSequences) -> Settings:
        if self.settings.steps is not None or self.settings.minutes is not None:
            return self.settings
        size = self.settings.batch_size * self.settings.accumulate
        return replace(self.settings, steps=-(-sequences.n_sequences // size))

    @property
    def _device(self) -> torch.device:
        name = self.settings.device
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            return torch.zeros((), device=name).device
        except (RuntimeError, AssertionError) as error:
            raise PretrainError(
                f"--device {name!r} cannot be used ({str(error).splitlines()[0]})"
            ) from error

    def _evaluate(self, masked_lm: MaskedLM, store: PieceStore) -> Dict[str, Any]:
        with _bar("Measuring", total=2 * store.held_out, unit="piece") as bar:
            length = self._length(masked_lm)
            return evaluate(masked_lm, store, length, count=bar.update)

    def _write(self, masked_lm: MaskedLM, report: Dict[str, Any]) -> None:
        if self.settings.half:
            masked_lm.half()
        with write_folder(self.out.absolute()) as new:
            masked_lm.save(new)
            text = json.dumps(report, ensure_ascii=False, indent=1)
            (new / PRETRAIN_FILE).write_text(text + "\n", encoding="utf8")


class _Log:
    """Shows reports in a progress bar, or, where there is none, as lines."""

    def __init__(self, bar: Any, echo: Callable[[str], None]):
        self.bar, self.echo = bar, echo
        self.last: Optional[Report] = None

    def start(self, done: float) -> None:
        """A run goes on: what is left takes no longer for what was done before."""
        self.bar.initial = self.bar.n = done

    def __call__(self, report: Report) -> None:
        self.last = report
        values = f"step {report.step:,}, loss {report.loss:.3f}"
        self.bar.set_postfix_str(f"{values}, {report.speed:,.0f} pieces/s", False)
        self.bar.update(min(report.done, 1.0) - self.bar.n)

    def saved(self) -> None:
        """A checkpoint was written."""
        if self.bar.disable and self.last is not None:
            last = self.last
            self.echo(
                f"Step {last.step:,} ({100 * min(last.done, 1.0):.0f} %): loss "
                f"{last.loss:.3f}, {last.speed:,.0f} pieces/s"
            )


@contextmanager
def _bar(name: str, **options: Any) -> Iterator[Any]:
    if options.get("total") == 1.0:
        options["bar_format"] = BAR
    # disable=None: no bar where stderr is not a terminal.
    with tqdm(desc=name, leave=False, disable=None, unit_scale=True, **options) as bar:
        yield bar
