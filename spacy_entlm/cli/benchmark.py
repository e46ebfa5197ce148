"""The commands `benchmark ...`: a grid of few-shot trainings, and the paper's
ablations."""

import json
from pathlib import Path
from typing import Annotated, Any, List, Optional

import typer
from typer.core import TyperGroup

from ..evaluation.compare.config import read_config
from ..evaluation.compare.errors import BenchmarkError
from ..evaluation.compare.records import RECORDS_FILE
from ._util import echo_lines, entlm_cli, one_line_errors

DEFAULT_FOLDER = Path("build") / "benchmark"
RUN = "run"
# Errors that are printed; all of them are in errors.txt.
N_ERRORS_SHOWN = 5


class _RunByDefault(TyperGroup):
    """A config in place of a command's name means `run`."""

    def parse_args(self, ctx: Any, args: List[str]) -> List[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [RUN, *args]
        return super().parse_args(ctx, args)


benchmark_cli = typer.Typer(
    name="benchmark",
    cls=_RunByDefault,
    help="Few-shot trainings over datasets, K, splits, seeds, backbones and methods. "
    "`benchmark CONFIG.yml` is short for `benchmark run CONFIG.yml`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
entlm_cli.add_typer(benchmark_cli)

JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs", min=1, help="Trainings at a time; the cores are divided between them"
    ),
]
GpusOption = Annotated[
    Optional[str],
    typer.Option("--gpus", help="GPUs to use in turn, eg 0,1", show_default="none"),
]
LimitOption = Annotated[
    Optional[int],
    typer.Option(
        "--limit", min=1, help="Only the first test sentences", show_default="all"
    ),
]


@benchmark_cli.command(RUN)
def run_cli(
    config_path: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG.yml",
            help="What to run: docs/benchmark_command.md",
            show_default=False,
        ),
    ],
    folder: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="OUT_DIR",
            help=f"Folder for {RECORDS_FILE}; what has a record there is not run again",
            show_default=f"{DEFAULT_FOLDER}/CONFIG",
        ),
    ] = None,
    jobs: JobsOption = 1,
    gpus: GpusOption = None,
    limit: LimitOption = None,
    settings: Annotated[
        Optional[List[str]],
        typer.Option(
            "--set",
            help="A value in place of the config's, repeatable: "
            "settings.learn_rate=0.0005",
        ),
    ] = None,
) -> None:
    """Train and evaluate every cell of a grid that has no record yet.

    A run that was stopped goes on where it was: call it again.

    \b
    Example:
      python -m spacy entlm benchmark run benchmark.yml build/benchmark/mine --jobs 2
    """
    with one_line_errors():
        overrides = dict(_parse_setting(setting) for setting in settings or [])
        config = read_config(config_path, overrides)
        if limit is not None:
            datasets = {
                name: dataset.model_copy(update={"limit": limit})
                for name, dataset in config.datasets.items()
            }
            config = config.model_copy(update={"datasets": datasets})
        folder = folder or DEFAULT_FOLDER / config_path.stem
        from ..evaluation.compare.run import run_benchmark  # torch takes seconds

        result = run_benchmark(
            config,
            folder,
            n_processes=jobs,
            gpus=parse_gpus(gpus),
            notify=lambda line: echo_lines([line]),
        )
        finish(result, folder)


def finish(result: Any, folder: Path) -> None:
    """Say where the records are.

    result (RunResult): Of a run. folder (Path): Its folder.
    RAISES (BenchmarkError): If some trainings failed.
    """
    echo_lines([f"{len(result.records)} records in {folder / RECORDS_FILE}"])
    if result.errors:
        shown = "; ".join(result.errors[:N_ERRORS_SHOWN])
        raise BenchmarkError(
            f"{len(result.errors)} trainings failed (errors.txt has all; run again to "
            f"try them again): {shown}"
        )


def parse_gpus(value: Optional[str]) -> List[int]:
    """Read the value of --gpus.

    RAISES (BenchmarkError): If it is no list of numbers.
    """
    try:
        return [int(part) for part in (value or "").split(",") if part.strip()]
    except ValueError as err:
        raise BenchmarkError(f"--gpus is a list such as 0,1, not {value!r}") from err


def _parse_setting(setting: str) -> "tuple[str, Any]":
    name, equals, value = setting.partition("=")
    if not equals or not name:
        raise BenchmarkError(f"--set takes NAME=VALUE, not {setting!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
