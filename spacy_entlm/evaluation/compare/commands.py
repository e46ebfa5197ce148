"""The commands of a benchmark's method `external`, as a config names them."""

import shutil
import sys
from pathlib import Path
from string import Formatter
from typing import List, Optional

from pydantic import BaseModel, ConfigDict, Field, field_validator

from .errors import BenchmarkError

# What an argument of a command may hold.
FIELDS = (
    *("python", "train", "test", "predictions", "report", "labels", "backbone"),
    *("dataset", "shots", "split", "seed", "learn_rate", "epochs", "batch_size"),
)
REQUIRED = ("train", "test", "predictions")
LABELS = "{labels}"
DEFAULT_TIMEOUT = 3600.0


class External(BaseModel):
    """A command.

    command (List[str]): The program and its arguments, which may hold fields in braces;
        no shell reads them. An argument that is "{labels}" becomes one for each class.
    python (Optional[str]): What "{python}" stands for; None: the Python of this run.
    timeout (float): Seconds after which the command is ended.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: List[str] = Field(min_length=1)
    python: Optional[str] = None
    timeout: float = Field(default=DEFAULT_TIMEOUT, gt=0)

    @field_validator("command")
    @classmethod
    def _has_known_fields(cls, command: List[str]) -> List[str]:
        found = set()
        for argument in command:
            names = field_names(argument)
            unknown = sorted(set(names) - set(FIELDS))
            if unknown:
                raise ValueError(
                    f"{argument!r} has the unknown field {unknown[0]!r}: there are "
                    f"{', '.join(FIELDS)}; a brace of its own is written twice"
                )
            if "labels" in names and argument != LABELS:
                raise ValueError(f"{LABELS} is an argument of its own, not {argument}")
            found |= set(names)
        others = set(field_names(command[0])) - {"python"}
        if others:
            raise ValueError(f"the program is a name or {{python}}, not {command[0]}")
        missing = [f"{{{name}}}" for name in REQUIRED if name not in found]
        if missing:
            raise ValueError(f"the command has no {', '.join(missing)}")
        return command

    @property
    def python_path(self) -> str:
        """The Python of the command."""
        return self.python or sys.executable

    def check(self) -> None:
        """See that the program is there.

        RAISES (BenchmarkError): If it is not.
        """
        program = self.command[0].format_map({"python": self.python_path})
        if shutil.which(program) is None:
            raise BenchmarkError(
                f"there is no program {program!r} to run: install it, or name the path "
                "of a Python (`python`)"
            )

    def files(self) -> List[Path]:
        """Scripts and other files that the command names as arguments."""
        named = [Path(arg) for arg in self.command[1:] if not field_names(arg)]
        return [path for path in named if path.is_file()]


def field_names(argument: str) -> List[str]:
    """The fields in an argument.

    RAISES (ValueError): If its braces do not match.
    """
    try:
        parts = list(Formatter().parse(argument))
    except ValueError as err:
        raise ValueError(
            f"{argument!r}: {err}; a brace of its own is written twice"
        ) from err
    return [name for _, name, _, _ in parts if name is not None]
