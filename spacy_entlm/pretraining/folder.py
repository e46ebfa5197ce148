"""The folder of a run that is not finished, beside the one that it will be."""

import json
import secrets
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List, Optional

from ..backbones.recommended import PRETRAIN_FILE
from .checkpoint import PREFIX
from .settings import PretrainError, Settings

UNFINISHED = ".unfinished"
RUN_FILE = "run.json"
PIECES_FOLDER = "pieces"
# In run.json and pretrain.json: whose run a model comes from.
RUN_KEY = "run"
# What such a folder may hold: nothing else is ever removed with it.
OURS = (RUN_FILE, PIECES_FOLDER, PREFIX, f".{PREFIX}", f".{RUN_FILE}")


class RunFolder:
    """Where a run keeps its pieces and checkpoints until the model is whole.

    out (Path): The model folder to be. The run's own is OUT.unfinished beside it.
    """

    def __init__(self, out: Path):
        self.out = out.absolute()
        self.path = self.out.with_name(self.out.name + UNFINISHED)
        self.pieces = self.path / PIECES_FOLDER

    @property
    def is_begun(self) -> bool:
        """Whether there is a run to go on with: all before its first step is done."""
        return (self.path / RUN_FILE).is_file()

    def finished(self) -> Optional[Dict[str, Any]]:
        """The report of the model in OUT, if no run is begun that would replace it."""
        path = self.out / PRETRAIN_FILE
        if not path.is_file():
            return None
        report = _read_json(path)
        if self.is_begun:
            # Killed after the model was whole, before the run's folder was removed.
            if _read_json(self.path / RUN_FILE).get(RUN_KEY) != report.get(RUN_KEY):
                return None
            self.remove()
        return report

    def claim(self, given: Dict[str, Any], *, resume: bool, overwrite: bool) -> bool:
        """Make the folder for a new run, or leave it for one that goes on.

        given (Dict[str, Any]): What a run that goes on must be given again.
        resume (bool): Whether a begun run goes on.
        overwrite (bool): Whether OUT may be replaced, and a begun run given up: with
            `resume`, one that was begun with other settings.
        RETURNS (bool): Whether a run goes on.
        RAISES (PretrainError): If OUT or a run would be lost.
        """
        self._check_out(overwrite)
        if self.is_begun:
            if not resume and not overwrite:
                raise PretrainError(
                    f"{self.path} holds an unfinished run: go on with --resume, or "
                    f"begin again with --overwrite"
                )
            changed = self._changes(given)
            if resume and not changed:
                return True
            if not overwrite:
                raise PretrainError(
                    f"{self.path} was begun with other settings: "
                    f"{'; '.join(changed)}. Go on with those, or begin again with "
                    f"--overwrite"
                )
        if self.path.exists():
            self._check_ours()
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True)
        return False

    def write(self, facts: Dict[str, Any], settings: Settings) -> None:
        """Note what the run was given and found; from then on it can go on.

        facts (Dict[str, Any]): To be read again. settings (Settings): The run's.
        """
        temporary = self.path / f".{RUN_FILE}"
        key = {RUN_KEY: secrets.token_hex(8)}
        data = {**key, **facts, "settings": asdict(settings)}
        temporary.write_text(json.dumps(data, indent=1), encoding="utf8")
        temporary.replace(self.path / RUN_FILE)

    def read(self) -> Dict[str, Any]:
        """What was noted, with the settings as a dict.

        RAISES (PretrainError): If it is damaged.
        """
        return _read_json(self.path / RUN_FILE)

    def remove(self) -> None:
        """Remove the run, once its model is whole."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _check_out(self, overwrite: bool) -> None:
        if self.out.is_file():
            raise PretrainError(f"{self.out} is a file: name a folder for the model")
        if not self.out.exists() or not any(self.out.iterdir()):
            return
        if not overwrite:
            raise PretrainError(
                f"{self.out} exists: choose another folder, or replace it with "
                f"--overwrite"
            )
        if not (self.out / PRETRAIN_FILE).is_file():
            raise PretrainError(
                f"{self.out} was not written by this command (it has no "
                f"{PRETRAIN_FILE}): remove it yourself, or choose another folder"
            )

    def _check_ours(self) -> None:
        for path in self.path.iterdir():
            if not path.name.startswith(OURS):
                raise PretrainError(
                    f"{self.path} is needed for the run, and holds {path.name}, which "
                    f"is none of its files: move it away, or choose another OUT"
                )

    def _changes(self, given: Dict[str, Any]) -> List[str]:
        """given: settings as a dict, and other things."""
        noted = self.read()
        mine = {**given.pop("settings"), **given}
        theirs = {**noted.pop("settings", {}), **noted}
        return [
            f"{name} {theirs.get(name)!r} -> {value!r}"
            for name, value in mine.items()
            if theirs.get(name) != value
        ]


def _read_json(path: Path) -> Dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf8"))
        return dict(data)
    except (OSError, ValueError, TypeError) as error:
        raise PretrainError(
            f"{path} is damaged ({type(error).__name__}: {error}): begin again with "
            f"--overwrite"
        ) from error
