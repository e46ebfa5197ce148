"""The folder of a run that is not finished, beside the one that it will be."""

import re
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Collection, Dict, Iterator, List, Optional

from safetensors import SafetensorError

from ..backbones.masked_lm import MaskedLM
from ..backbones.name_map import NameMap
from ..backbones.recommended import PRETRAIN_FILE
from ..files.errors import DataError, DiskFullError
from ..files.file import lock_file, replace_file
from ..files.folder import check_output_folder, recover_folder, write_folder
from ..files.json_lines import dump_json, read_json

UNFINISHED = ".unfinished"
RUN_FILE = "run.json"
LOCK_FILE = ".lock"
# In run.json and pretrain.json: whose run a model comes from.
RUN_KEY = "run"
# What such a folder may hold: nothing else is ever removed with it.
OURS = re.compile(
    r"run\.json|\.run\.[0-9a-f]{8}\.json|\.lock|\.?checkpoint-\d{9}(/[^/]+)?"
)
# Settings that a run that goes on may be given anew, and those that change nothing.
CHANGEABLE = ("steps", "epochs", "minutes", "precision", "half", "few_shot_learn_rate")
IRRELEVANT = ("device", "checkpoint_minutes", "workers")
Facts = Dict[str, Any]


class RunFolder:
    """Where a run keeps its checkpoints until the model in OUT is whole:
    OUT.unfinished beside it."""

    def __init__(self, out: Path):
        self.out = out.absolute()
        self.path = self.out.with_name(self.out.name + UNFINISHED)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out, or raise a DataError. At the end the folder goes, unless
        a run is begun."""
        with lock_file(self.path / LOCK_FILE, self.out):
            try:
                yield
            finally:
                if not self.is_begun:
                    self._clear()

    @contextmanager
    def telling_full_disk(self) -> Iterator[None]:
        """Tell in a DataError that something cannot be written, and how to go on."""
        try:
            yield
        except (OSError, SafetensorError, DiskFullError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            then = "go on with --resume" if self.is_begun else "begin again"
            problem = f"cannot be written ({reason}): make room, and {then}"
            raise DataError(problem, path=self.path) from error

    @property
    def is_begun(self) -> bool:
        """Whether there is a run to go on with: all before its first step is done."""
        return (self.path / RUN_FILE).is_file()

    def claim(self, given: Facts, *, resume: bool, overwrite: bool) -> Optional[Facts]:
        """Make room for a new run of what is given, unless one goes on or is finished.
        RETURNS (Optional[Facts]): What is noted of the run that goes on, or, if none
        is begun, of the model that is finished; None: a new run.
        RAISES (DataError): If OUT or a run would be lost."""
        recover_folder(self.out)  # a run that was killed as it wrote the model
        noted = self._noted() if resume else None
        if self.is_begun or noted is None:
            check_model_folder(self.out, overwrite=overwrite)
        problem = ""
        if noted is not None:
            ignored = (*CHANGEABLE, *IRRELEVANT) if self.is_begun else IRRELEVANT
            changed = "; ".join(_changes(given, noted, ignored))
            if not changed:
                return noted
            problem = f"was given other settings: {changed}. Go on with those"
        elif self.is_begun:
            problem = "holds an unfinished run: go on with --resume"
        if problem and not overwrite:
            path = self.path if self.is_begun else self.out
            raise DataError(f"{problem}, or begin again with --overwrite", path=path)
        foreign = [p.name for p in self.path.rglob("*") if not self._is_ours(p)]
        if foreign:
            holds = f"is needed for the run, and holds {foreign[0]}, which is none of "
            problem = f"{holds}its files: move it away, or choose another OUT"
            raise DataError(problem, path=self.path)
        self._clear(keep=LOCK_FILE)
        return None

    def _noted(self) -> Optional[Facts]:
        """Of a begun run, or of the model in OUT."""
        path = self.out / PRETRAIN_FILE
        report = _read(path) if path.is_file() else None
        if not self.is_begun:
            return report
        run = _read(self.path / RUN_FILE)
        if report is None or run.get(RUN_KEY) != report.get(RUN_KEY):
            return run
        self.end()  # killed after the model was whole
        return report

    def begin(self, facts: Facts) -> Facts:
        """Note what the run was given and found; from then on it can go on."""
        facts = {RUN_KEY: secrets.token_hex(8), **facts}
        replace_file(self.path / RUN_FILE, dump_json(facts))
        return facts

    def end(self) -> None:
        """The model is whole: nothing goes on from here."""
        (self.path / RUN_FILE).unlink()

    def _is_ours(self, path: Path) -> bool:
        return OURS.fullmatch(path.relative_to(self.path).as_posix()) is not None

    def _clear(self, keep: str = "") -> None:
        """Remove what runs have written, and nothing else."""
        paths = sorted(self.path.rglob("*"), reverse=True)
        ours = [p for p in paths if self._is_ours(p) and p.name != keep]
        for path in [*ours, self.path]:
            with suppress(OSError):  # a folder that is not empty
                path.rmdir() if path.is_dir() else path.unlink()


def check_model_folder(out: Path, *, overwrite: bool) -> None:
    """RAISES (DataError): If something would be lost by writing a model there."""
    check_output_folder(out, overwrite=overwrite)
    is_ours = (out / PRETRAIN_FILE).is_file()
    if out.exists() and any(out.iterdir()) and not is_ours:
        problem = f"was not written by this command (it has no {PRETRAIN_FILE}): "
        raise DataError(f"{problem}remove it, or choose another folder", path=out)


def write_model(
    masked_lm: MaskedLM, report: Facts, out: Path, name_map: Optional[NameMap] = None
) -> None:
    """Write a model folder with its report as pretrain.json, and the map from names of
    classes to rows, if there is one."""
    with write_folder(out.absolute()) as new:
        masked_lm.save(new)
        if name_map is not None:
            name_map.save(new)
        (new / PRETRAIN_FILE).write_bytes(dump_json(report))


def _changes(given: Facts, noted: Facts, ignored: Collection[str]) -> List[str]:
    """What differs, for people. Both: settings as a dict, and other things."""
    ours, theirs = ({**facts, **facts["settings"]} for facts in (given, noted))
    return [
        f"{name} {theirs.get(name)!r} -> {value!r}"
        for name, value in ours.items()
        if name not in ("settings", *ignored) and theirs.get(name) != value
    ]


def _read(path: Path) -> Facts:
    try:
        data = dict(read_json(path))
        return {**data, "settings": dict(data.get("settings", {}))}
    except (ValueError, TypeError) as error:
        problem = "is damaged: begin again with --overwrite"
        raise DataError(problem, path=path) from error
