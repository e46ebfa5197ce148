"""A teaching, from marked lines to a backbone that makes rows from names."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from tqdm import tqdm

from ..backbones.loading import load_masked_lm
from ..backbones.name_map import NameMap
from ..backbones.names import resolve_backbone
from ..backbones.recommended import PRETRAIN_FILE
from ..corpus.texts import read_texts
from ..files.errors import DataError
from ..files.folder import write_folder
from ..files.json_lines import dump_json
from ..pretraining.batches import PackedSequences
from ..pretraining.checkpoint import (
    State,
    load_checkpoint,
    make_optimizer,
    save_checkpoint,
)
from ..pretraining.folder import Facts, RunFolder
from ..pretraining.pieces import find_texts, hash_share, split_text
from ..pretraining.run_report import describe_backbone, describe_files, versions
from .kinds import KindTable, read_label_sets, read_wordings
from .lines import MarkedLine, read_marked_lines
from .loop import Loop
from .objective import Student, head_of
from .sampler import Sampler
from .settings import Settings

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
progress = partial(tqdm, leave=False, disable=None)


@dataclass
class Teaching:
    """A teaching.

    lines (List[Path]): Files of marked lines. out (Path): The model folder to be.
    backbone (str): A folder or a hub name; if it makes rows from names already, it goes
        on from there.
    text (List[Path]): Plain text whose hidden pieces are learned beside; may be empty.
    echo (Callable): Shows a line.
    """

    lines: List[Path]
    out: Path
    backbone: str
    text: List[Path] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    echo: Callable[[str], None] = print

    @property
    def folder(self) -> RunFolder:
        """Where the run is kept until the model is whole."""
        return RunFolder(self.out)

    def run(self, *, resume: bool = False, overwrite: bool = False) -> Dict[str, Any]:
        """Do it, and write the model folder with its pretrain.json.

        resume (bool): Whether an unfinished run goes on, if there is one.
        overwrite (bool): Whether a model and an unfinished run may be replaced.
        RETURNS (Dict[str, Any]): What pretrain.json says.
        RAISES (ValueError): If anything given cannot be used, or the disk is full.
        """
        self.text = find_texts(self.text) if self.text else []
        device = _device(self.settings.device)  # told before any work is done
        folder = self.folder
        with folder.locked():
            given = {  # what a run that goes on must be given again
                **describe_backbone(self.backbone),
                "line_files": describe_files(self.lines),
                "text": describe_files(self.text),
                "files": describe_files(self.settings.files()),
                "settings": self.settings.model_dump(),
            }
            noted = folder.claim(given, resume=resume, overwrite=overwrite)
            if noted is not None and not folder.is_begun:
                self.echo(f"{self.out} is finished")
                return noted
            with folder.telling_full_disk():
                report = self._train(folder, given, noted, device)
            folder.end()
        for line in [*_describe(report), f"Wrote {self.out}"]:
            self.echo(line)
        return report

    def _train(
        self,
        folder: RunFolder,
        given: Facts,
        noted: Optional[Facts],
        device: torch.device,
    ) -> Facts:
        """Train to the end, and write the model. RETURNS: its report."""
        lines = list(read_marked_lines(self.lines))
        if noted is None:
            student = _begun(resolve_backbone(self.backbone), self.settings)
            save_checkpoint(folder.path, student, make_optimizer(student), State())
        student, optimizer, state = load_checkpoint(
            folder.path, device, partial(_load_student, settings=self.settings)
        )
        loop = self._loop(student, optimizer, lines, folder)
        if noted is None:  # what may be wrong with what was given is told by now
            noted = folder.begin({**given, "before": loop.measure()})
        if state.step:
            self.echo(f"Going on at step {state.step:,}")
        with progress(desc="Teaching", total=1.0, bar_format=BAR) as bar:
            self._bar = bar
            bar.initial = bar.n = loop.done(state.step, state.seconds)
            loop.run(state)
        if share := self.settings.start_share:
            start = _begun(resolve_backbone(self.backbone), self.settings)
            student.go_back(start, share)
        report = {
            **noted,
            "settings": self.settings.model_dump(),
            "after": loop.measure(),
            "marked_lines": len(loop.sampler.lines),
            "kinds": len(loop.sampler.kinds.names),
            "device": device.type,
            "steps": state.step,
            "seconds": round(state.seconds, 3),
            "losses": state.losses,
            "versions": versions(),
        }
        with write_folder(self.out.absolute()) as new:
            student.save(new)
            (new / PRETRAIN_FILE).write_bytes(dump_json(report))
        return report

    def _loop(
        self,
        student: Student,
        optimizer: torch.optim.Optimizer,
        lines: List[MarkedLine],
        folder: RunFolder,
    ) -> Loop:
        settings, masked_lm = self.settings, student.masked_lm
        learned, held_out = _split(lines, settings.held_out)
        make = partial(
            Sampler,
            kinds=KindTable.of(lines),
            masked_lm=masked_lm,
            label_sets=(
                read_label_sets(settings.label_sets, settings.types)
                if settings.label_sets
                else ()
            ),
            wordings=read_wordings(settings.wordings) if settings.wordings else {},
            seed=settings.seed,
            workers=settings.workers,
        )

        def save(state: State) -> None:
            save_checkpoint(folder.path, student, optimizer, state)
            if self._bar.disable:
                self.echo(f"Step {state.step:,}: loss {state.losses[-1][1]:.3f}")

        def show(step: int, done: float, found: Dict[str, float]) -> None:
            values = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
            self._bar.set_postfix_str(f"step {step:,}, {values}", False)
            self._bar.update(min(done, 1.0) - self._bar.n)

        sampler, measured = make(learned), make(held_out) if held_out else None
        if not sampler.lines:
            raise DataError("No line is short enough: give sentences, one a line")
        text = None
        if self.text and settings.texts:
            shown = progress(read_texts(self.text), "Splitting the text", unit="line")
            pieces = split_text(shown, masked_lm, held_out=0.0)
            around = masked_lm.special_pieces()
            length = min(settings.length, masked_lm.max_pieces)
            text = PackedSequences(pieces.train, length, *around, settings.seed)
        return Loop(
            student,
            optimizer,
            sampler,
            measured if measured is not None and measured.lines else None,
            text,
            settings,
            save,
            show,
        )


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.zeros((), device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"--device {name!r} cannot be used ({reason})") from error


def _begun(source: str, settings: Settings) -> Student:
    """What a teaching begins with."""
    masked_lm = load_masked_lm(source)
    name_map = NameMap.load(Path(source), masked_lm.width)
    if name_map is None:
        name_map = NameMap(masked_lm.width)
        torch.nn.init.zeros_(name_map.weight)
        torch.nn.init.zeros_(name_map.bias)
    head_of(masked_lm.body)  # told before any work is done
    return Student(masked_lm, name_map, _half(masked_lm, settings))


def _load_student(folder: Path, settings: Settings) -> Student:
    masked_lm = load_masked_lm(folder, strict=True)
    name_map = NameMap.load(folder, masked_lm.width)
    if name_map is None:
        raise DataError("the checkpoint is damaged: it has no map", path=folder)
    return Student(masked_lm, name_map, _half(masked_lm, settings))


def _half(masked_lm: Any, settings: Settings) -> int:
    n_layers = getattr(masked_lm.body.config, "num_hidden_layers", 0)
    return n_layers // 2 if settings.half else 0


def _split(
    lines: List[MarkedLine], held_out: float
) -> Tuple[List[MarkedLine], List[MarkedLine]]:
    """Lines to learn from, and lines to measure on, which their text decides."""
    kept = [hash_share(line.text) < held_out for line in lines]
    if all(kept):
        raise DataError(
            f"All {len(lines)} lines are held out: give more, or a smaller --held-out"
        )
    learned = [line for line, is_kept in zip(lines, kept) if not is_kept]
    return learned, [line for line, is_kept in zip(lines, kept) if is_kept]


def _describe(report: Facts) -> List[str]:
    before, after = report["before"], report["after"]
    if not after:
        return ["Too few lines are held out (--held-out): nothing was measured"]
    return [
        "On held-out lines, asked for their own kinds and others, at words:",
        f"  F1   {100 * after['f1']:6.1f}  (before: {100 * before['f1']:.1f})",
        f"  loss {after['loss']:6.3f}  (before: {before['loss']:.3f})",
    ]
