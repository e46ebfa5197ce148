"""The commands `report ...`: results as pages that a browser opens from disk."""

from pathlib import Path
from typing import Optional

from ..backbones.names import ENTLM_BASE
from ..files.file import check_output, replace_file
from ._options import arg, command, entlm_cli, flag, group, opt
from ._util import check_outputs, echo

_HELP = "Results as pages that a browser opens from disk."
report_cli = group("report", _HELP, entlm_cli)


@command("label-words", report_cli)
def label_words_cli(
    output_path: Path = arg("OUT.html", "Page to write"),
    words_path: Path = opt(..., 'Label words: {"PER": [...]}', "--words"),
    backbone: str = opt(ENTLM_BASE, f"Masked LM: a folder, a hub name or {ENTLM_BASE}"),
    report_file: Optional[Path] = opt(
        None, "What `search` wrote; beside the words it need not be named", "--report"
    ),
    overwrite: bool = flag("--overwrite", "Replace a page that is there"),
) -> None:
    """Show label words with the counts behind them, and where their rows lie.

    \b
    Example:
      python -m spacy entlm report label-words label_words.html \\
        --words label_words.json --backbone bert-base-cased
    """
    check_outputs([output_path], [words_path, report_file], overwrite)
    from ..evaluation.label_words.page import label_words_page
    from ..evaluation.label_words.report import read_report, report_path
    from ..evaluation.pages import HOW_TO_GET, has_matplotlib
    from ..label_words.words import read_label_words

    beside = report_path(words_path)
    if report_file is None and beside.is_file():
        report_file = beside
    report = {} if report_file is None else read_report(report_file)
    # The keys of what `search` wrote are classes, not tags: one may be "B-CELL".
    words = read_label_words(words_path, tags=not report)
    page = label_words_page(words, report, backbone)
    replace_file(output_path, page.encode("utf8"), overwrite=overwrite)
    if not has_matplotlib():
        echo(HOW_TO_GET)
    echo(f"Wrote {output_path}")


@command("reliability", report_cli)
def reliability_cli(
    metrics: Path = arg("METRICS.json", "What `evaluate` wrote with --out"),
    output_path: Path = arg("OUT.html", "Page to write"),
    overwrite: bool = flag("--overwrite", "Replace a page that is there"),
) -> None:
    """Show how far a pipeline's confidences can be trusted: a reliability diagram.

    \b
    Example:
      python -m spacy entlm report reliability metrics.json reliability.html
    """
    check_output(output_path, source=metrics, overwrite=overwrite)
    from ..evaluation.pages import HOW_TO_GET, has_matplotlib
    from ..evaluation.reliability import read_reliability, reliability_page

    page = reliability_page(read_reliability(metrics), f"Confidences of {metrics}")
    replace_file(output_path, page.encode("utf8"))
    if not has_matplotlib():
        echo(HOW_TO_GET)
    echo(f"Wrote {output_path}")
