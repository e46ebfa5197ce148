"""The command `compare`: methods, backbones and label words side by side."""

import json
from pathlib import Path
from typing import Annotated, Any, List, Optional, Tuple

import typer

from ..evaluation.figures import HOW_TO_GET, has_matplotlib
from ..files.errors import DataError
from ._util import echo_lines, entlm_cli, one_line_errors

# Errors that are printed; all of them are in errors.txt.
N_ERRORS_SHOWN = 5

ConfigArgument = Annotated[
    Path,
    typer.Argument(metavar="CONFIG.yml", help="What to compare", show_default=False),
]
FolderArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="Folder for records and report; what has a record is not trained again",
        show_default=False,
    ),
]
BaselineOption = Annotated[
    Optional[List[str]],
    typer.Option(
        "--baseline",
        help="What differences are to: method=..., variant=... or backbone=..., "
        "repeatable",
        show_default="method=bert_tagger",
    ),
]
JobsOption = Annotated[
    int,
    typer.Option("--jobs", min=1, help="Trainings at a time; they share the cores"),
]
GpusOption = Annotated[
    Optional[str],
    typer.Option("--gpus", help="GPUs to use in turn, eg 0,1", show_default="none"),
]
SetOption = Annotated[
    Optional[List[str]],
    typer.Option("--set", help="NAME=VALUE in place of the config's, repeatable"),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the bootstrap")]
ReportOption = Annotated[
    bool, typer.Option("--report-only", help="Train nothing: report what is there")
]


@entlm_cli.command("compare")
def compare_cli(
    config_path: ConfigArgument,
    folder: FolderArgument,
    baseline: BaselineOption = None,
    jobs: JobsOption = 1,
    gpus: GpusOption = None,
    settings: SetOption = None,
    seed: SeedOption = 1,
    report_only: ReportOption = False,
) -> None:
    """Train and measure methods, backbones and label words on your data, and report
    means and paired differences.

    A run that was stopped goes on where it was: call it again.

    \b
    Example:
      python -m spacy entlm compare compare.yml build/compare --jobs 2 \\
        --set settings.epochs=10 --baseline method=bert_tagger
    """
    with one_line_errors():
        # pandas and torch take seconds.
        from ..evaluation.compare.config import read_config
        from ..evaluation.compare.report import PAGE, check_report, write_report
        from ..evaluation.compare.run import read_result, run_comparison

        config = read_config(config_path, dict(map(_parse_setting, settings or [])))
        check_report(config, folder, baseline)
        if report_only:
            result = read_result(config, folder)
        else:
            result = run_comparison(
                config,
                folder,
                n_processes=jobs,
                gpus=_parse_gpus(gpus),
                notify=lambda line: echo_lines([line]),
            )
        if result.records or report_only:
            title = config.title
            lines = write_report(result, folder, title, baselines=baseline, seed=seed)
            echo_lines([*lines, f"Wrote {folder / PAGE}"])
            if not has_matplotlib():
                echo_lines([HOW_TO_GET])
        if errors := result.errors:
            raise DataError(
                f"{len(errors)} trainings failed (errors.txt has all; run again to try "
                f"them again): {'; '.join(errors[:N_ERRORS_SHOWN])}"
            )


def _parse_gpus(value: Optional[str]) -> List[int]:
    try:
        return [int(part) for part in (value or "").split(",") if part.strip()]
    except ValueError as error:
        raise DataError(f"--gpus is a list such as 0,1, not {value!r}") from error


def _parse_setting(setting: str) -> Tuple[str, Any]:
    name, equals, value = setting.partition("=")
    if not equals or not name:
        raise DataError(f"--set takes NAME=VALUE, not {setting!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
