"""The commands `report ...`: results as pages that a browser opens from disk."""

from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional, Tuple

import numpy
import typer

from ..evaluation.label_words.geometry import nearest_rows, project
from ..evaluation.label_words.page import ClassView, render_page
from ..evaluation.label_words.picture import Point, draw
from ..evaluation.label_words.report import read_report, report_path
from ..files.file import check_output, write_file
from ..label_words.words import LabelWords, read_label_words, word_pieces
from ._util import echo_lines, entlm_cli, one_line_errors

# Words of the vocabulary that are shown beside a class's row.
N_NEAREST = 10

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
            "--backbone", help="Masked LM, a folder or a hub name", show_default=False
        ),
    ],
    report_file: Annotated[
        Optional[Path],
        typer.Option(
            "--report",
            help="What `search` wrote beside the words; where it lies there, it need "
            "not be named",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show label words with the counts behind them, and where their rows lie.

    \b
    Example:
      python -m spacy entlm report label-words label_words.html \\
        --words label_words.json --backbone bert-base-cased
    """
    with one_line_errors():
        check_output(output_path, source=words_path)
        beside = report_path(words_path)
        if report_file is None and beside.is_file():
            report_file = beside
        report = {} if report_file is None else read_report(report_file)
        # The keys of what `search` wrote are classes, not tags: one may be "B-CELL".
        words = read_label_words(words_path, tags=not report)
        page = _page(words, report, backbone)
        with write_file(output_path) as temporary:
            temporary.write_text(page, encoding="utf8")
        echo_lines([f"Wrote {output_path}"])


def _page(words: LabelWords, report: Dict[str, Any], backbone: str) -> str:
    """The page on label words. report: of `search`, or empty."""
    from ..backbones.loading import load_masked_lm
    from ..label_words.rows import Rows, initial_row  # torch takes seconds

    masked_lm = load_masked_lm(backbone)
    tokenizer, decoder = masked_lm.tokenizer, masked_lm.decoder
    rows = Rows(decoder.weight.detach(), None)
    vocabulary = rows.weight.numpy()[: len(tokenizer)]

    def mean_row(pieces: List[List[int]]) -> numpy.ndarray:
        return initial_row(rows, pieces, mean_bias=False)[0].numpy()

    views: List[ClassView] = []
    points: List[Tuple[Point, numpy.ndarray]] = []
    for index, (label, label_words) in enumerate(words.items()):
        pieces = {word: word_pieces(word, tokenizer) for word in label_words}
        shown = [
            (word, tokenizer.convert_ids_to_tokens(ids)) for word, ids in pieces.items()
        ]
        view = ClassView(label, shown, report=_class_report(report, label))
        views.append(view)
        usable = {word: ids for word, ids in pieces.items() if ids}
        if not usable:
            continue
        for word, ids in usable.items():
            points.append((Point(word, index, False), mean_row([ids])))
        row = mean_row(list(usable.values()))
        points.append((Point(label, index, True), row))
        view.nearest = _nearest(row, vocabulary, tokenizer, words)
    picture, share = "", 0.0
    if points:
        plane, share = project(numpy.stack([row for _, row in points]))
        picture = draw([point for point, _ in points], plane)
    settings = {**report.get("settings", {}), "backbone of this page": backbone}
    return render_page(views, settings=settings, picture=picture, shown=share)


def _class_report(report: Dict[str, Any], label: str) -> Dict[str, Any]:
    return report.get("classes", {}).get(label, {})


def _nearest(
    row: numpy.ndarray, vocabulary: numpy.ndarray, tokenizer: Any, words: LabelWords
) -> List[Tuple[str, float, str]]:
    """Vocabulary words nearest to a row, their cosines, and whose label words they
    are."""
    from ..label_words.lm_counts import piece_as_word

    owners: Dict[int, List[str]] = {}
    for label, label_words in words.items():
        for ids in (word_pieces(word, tokenizer) for word in label_words):
            if len(ids) == 1:
                owners.setdefault(ids[0], []).append(label)
    special = set(tokenizer.all_special_ids)
    nearest = nearest_rows(row, vocabulary, N_NEAREST + len(special))
    found = [
        (
            piece_as_word(tokenizer.convert_ids_to_tokens(index), tokenizer),
            cosine,
            ", ".join(owners.get(index, [])),
        )
        for index, cosine in zip(*(part.tolist() for part in nearest))
        if index not in special
    ]
    return found[:N_NEAREST]
