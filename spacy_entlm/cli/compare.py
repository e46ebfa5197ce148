"""The command `compare`: methods, backbones and label words side by side."""

import json
from pathlib import Path
from typing import Any, List, Optional, Tuple

from ..evaluation.pages import HOW_TO_GET, has_matplotlib
from ..files.errors import DataError
from ._options import arg, command, flag, opt
from ._util import GOES_ON, echo

# Errors that are printed; all of them are in errors.txt.
N_ERRORS_SHOWN = 5
_OUT = "Folder for the results; what it has already is not trained again"
_BASELINE = (
    "What the others are compared with: method=X, variant=X or backbone=X; may be "
    "given several times"
)
_SET = "NAME=VALUE replaces a value of the config; may be given several times"


@command("compare", stopped=GOES_ON)
def compare_cli(
    config_path: Path = arg(
        "CONFIG.yml", "File that says what to compare, such as configs/compare.yml"
    ),
    folder: Path = arg("OUT", _OUT),
    baseline: Optional[List[str]] = opt(
        None, _BASELINE, show_default="method=bert_tagger"
    ),
    jobs: int = opt(1, "Trainings at a time; they share the cores", min=1),
    gpus: Optional[str] = opt(None, "GPUs to use in turn, eg 0,1", show_default="none"),
    settings: Optional[List[str]] = opt(None, _SET, "--set"),
    seed: int = opt(1, "Seed of the draws by which intervals are computed"),
    report_only: bool = flag("--report-only", "Train nothing: report what is there"),
) -> None:
    """Train and measure methods, backbones and label words on your data, and report
    how much one is better than another.

    A run that was stopped goes on where it was if you call it again.

    \b
    Example:
      python -m spacy entlm compare compare.yml build/compare --jobs 2 \\
        --set settings.epochs=10 --baseline method=bert_tagger
    """
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
            config, folder, n_processes=jobs, gpus=_parse_gpus(gpus), notify=echo
        )
    if result.records or report_only:
        title = config.title
        lines = write_report(result, folder, title, baselines=baseline, seed=seed)
        echo("F1, as mean (standard deviation):", *lines, f"Wrote {folder / PAGE}")
        if not has_matplotlib():
            echo(HOW_TO_GET)
    if errors := result.errors:
        hint = "errors.txt has all; run again to try them again"
        shown = "; ".join(errors[:N_ERRORS_SHOWN])
        raise DataError(f"{len(errors)} trainings failed ({hint}): {shown}")


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
