"""The commands `report ...`: results as pages that a browser opens from disk."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from ..backbones.names import ENTLM_MINI
from ..files.file import check_output, replace_file
from ._util import echo_lines, entlm_cli, one_line_errors

report_cli = typer.Typer(
    name="report",
    help="Results as pages that a browser opens from disk.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
entlm_cli.add_typer(report_cli)


@report_cli.command("label-words")
def label_words_cli(
    output_path: Annotated[
        Path,
        typer.Argument(metavar="OUT.html", help="Page to write", show_default=False),
    ],
    words_path: Annotated[
        Path,
        typer.Option("--words", help='Label words: {"PER": [...]}', show_default=False),
    ],
    backbone: Annotated[
        str,
        typer.Option(
            "--backbone", help=f"Masked LM: a folder, a hub name or {ENTLM_MINI}"
        ),
    ] = ENTLM_MINI,
    report_file: Annotated[
        Optional[Path],
        typer.Option(
            "--report",
            help="What `search` wrote beside the words; where it lies there, it need "
            "not be named",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a page that is there")
    ] = False,
) -> None:
    """Show label words with the counts behind them, and where their rows lie.

    \b
    Example:
      python -m spacy entlm report label-words label_words.html \\
        --words label_words.json --backbone bert-base-cased
    """
    with one_line_errors():
        check_output(output_path, source=words_path, overwrite=overwrite)
        from ..evaluation.figures import HOW_TO_GET, has_matplotlib
        from ..evaluation.label_words.page import label_words_page
        from ..evaluation.label_words.report import read_report, report_path
        from ..label_words.words import read_label_words

        beside = report_path(words_path)
        if report_file is None and beside.is_file():
            report_file = beside
        report = {} if report_file is None else read_report(report_file)
        # The keys of what `search` wrote are classes, not tags: one may be "B-CELL".
        words = read_label_words(words_path, tags=not report)
        page = label_words_page(words, report, backbone)
        replace_file(output_path, page.encode("utf8"))
        echo_lines([] if has_matplotlib() else [HOW_TO_GET])
        echo_lines([f"Wrote {output_path}"])
