"""The commands `report ...`: results as pages that a browser opens from disk."""

from pathlib import Path
from typing import Optional

import spacy

from ..files.errors import DataError
from ..files.file import check_output, replace_file
from ._options import BACKBONE, arg, command, entlm_cli, flag, group, opt
from ._util import check_outputs, echo

_WORDS = 'Label words, {"PER": [...]} in a .json file, or the folder of a pipeline'
_HELP = "Results as pages that a browser opens from disk."
report_cli = group("report", _HELP, entlm_cli)


@command("label-words", report_cli)
def label_words_cli(
    output_path: Path = arg("OUT.html", "Page to write"),
    words_path: Path = opt(..., _WORDS, "--words"),
    backbone: str = BACKBONE,
    report_file: Optional[Path] = opt(
        None,
        "Report that `search` wrote; if it lies beside the words it is found",
        "--report",
    ),
    overwrite: bool = flag("--overwrite", "Replace a page that is there"),
) -> None:
    """Show how often label words occur in their classes, and which words of the
    vocabulary are nearest to each class.

    \b
    Example:
      python -m spacy entlm report label-words label_words.html \\
        --words label_words.json --backbone bert-base-cased
      python -m spacy entlm report label-words label_words.html --words model-last
    """
    check_outputs([output_path], [words_path, report_file], overwrite)
    if words_path.is_dir():
        _write_page(output_path, _page_of_pipeline(words_path), overwrite)
        return
    from ..evaluation.label_words.page import label_words_page
    from ..evaluation.label_words.search_report import read_report, report_path
    from ..label_words.words import read_label_words

    beside = report_path(words_path)
    if report_file is None and beside.is_file():
        report_file = beside
    report = {} if report_file is None else read_report(report_file)
    # The keys of what `search` wrote are classes, not tags: one may be "B-CELL".
    words = read_label_words(words_path, tags=not report)
    if not words:
        raise DataError(
            "holds no class, as none was searched: name a trained pipeline in its "
            "place, such as --words model-last",
            path=words_path,
        )
    _write_page(output_path, label_words_page(words, report, backbone), overwrite)


def _page_of_pipeline(folder: Path) -> str:
    from ..evaluation.label_words.page import pipeline_page
    from ..training.check import only_entlm

    _, pipe = only_entlm(spacy.load(folder))
    pipe.begin()
    if not hasattr(pipe.network, "masked_lm"):
        problem = "was exported, and has lost what its classes began as: name the "
        raise DataError(f"{problem}pipeline that it was made from", path=folder)
    return pipeline_page(pipe, str(folder))


def _write_page(path: Path, page: str, overwrite: bool) -> None:
    from ..evaluation.pages import HOW_TO_GET, has_matplotlib

    replace_file(path, page.encode("utf8"), overwrite=overwrite)
    if not has_matplotlib():
        echo(HOW_TO_GET)
    echo(f"Wrote {path}")


@command("reliability", report_cli, hidden=True)  # its earlier name
@command("calibration", report_cli)
def calibration_cli(
    metrics: Path = arg("METRICS.json", "What `evaluate` wrote with --out"),
    output_path: Path = arg("OUT.html", "Page to write"),
    overwrite: bool = flag("--overwrite", "Replace a page that is there"),
) -> None:
    """Draw how far a pipeline's confidences can be trusted (a reliability diagram).

    \b
    Example:
      python -m spacy entlm report calibration metrics.json calibration.html
    """
    check_output(output_path, source=metrics, overwrite=overwrite)
    from ..evaluation.calibration import calibration_page, read_calibration_curve

    curve = read_calibration_curve(metrics)
    page = calibration_page(curve, f"Confidences of {metrics}")
    _write_page(output_path, page, overwrite)
