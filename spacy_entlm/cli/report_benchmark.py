"""The command `report benchmark`: tables and plots of records."""

from pathlib import Path
from typing import Annotated, Any, List, Optional, Tuple

import typer

from ..benchmark.errors import BenchmarkError
from ._util import atomic_output, check_output, echo_lines, one_line_errors
from .report import report_cli

LAYOUTS = ("auto", "table1", "table3", "table4", "table5")
TIME_LAYOUT = "table4"
GOLD = ("io", "bio")
MARKDOWN, HTML = (".md",), (".html", ".htm")
TITLE = "Benchmark"

Figures = List[Tuple[str, Any]]


@report_cli.command("benchmark")
def report_benchmark_cli(
    paths: Annotated[
        List[Path],
        typer.Argument(
            metavar="RECORDS...",
            help="Folders of runs, or their records.jsonl",
            show_default=False,
        ),
    ],
    out: Annotated[
        Optional[Path],
        typer.Option("--out", help="File, .md or .html", show_default="the screen"),
    ] = None,
    layout: Annotated[
        str, typer.Option("--layout", help=f"One of {', '.join(LAYOUTS)}")
    ] = LAYOUTS[0],
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            help="What differences are to, eg method=bert_tagger; with table4, the "
            "method whose time counts 1",
        ),
    ] = "",
    beside: Annotated[
        Optional[List[Path]],
        typer.Option("--beside", help="JSON with figures of others, repeatable"),
    ] = None,
    beside_dataset: Annotated[
        Optional[str],
        typer.Option("--beside-dataset", help="Dataset of such figures"),
    ] = None,
    gold: Annotated[
        str,
        typer.Option(
            "--gold",
            help="io: neighbours of one class are one entity; bio: they are not",
        ),
    ] = GOLD[0],
    classes: Annotated[
        bool, typer.Option("--classes", help="F1 by class, too")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap")] = 1,
    plots: Annotated[
        bool, typer.Option("--plots/--no-plots", help="Draw plots for --out")
    ] = True,
) -> None:
    """Show the records of benchmarks as tables: mean and standard deviation over splits
    and seeds, and differences with their intervals.

    \b
    Example:
      python -m spacy entlm report benchmark build/benchmark/mine --out report.html \\
        --baseline method=bert_tagger
    """
    with one_line_errors():
        _check(layout, gold, out)
        from ..benchmark.scores import group_records, read_all, read_beside

        groups = group_records(read_all(paths), gold)
        others: dict = {}
        for path in beside or []:
            others.update(read_beside(path, groups, beside_dataset))
        tables = _tables({**groups, **others}, layout, baseline, gold, classes, seed)
        figures = _draw({**groups, **others}) if plots and out is not None else []
        if out is None:
            echo_lines("\n".join(t.to_markdown() for t in tables).split("\n"))
        else:
            _write(tables, figures, out)


def _check(layout: str, gold: str, out: Optional[Path]) -> None:
    for option, value, known in (
        ("--layout", layout, LAYOUTS),
        ("--gold", gold, GOLD),
        ("the extension of --out", out and out.suffix.lower(), MARKDOWN + HTML),
    ):
        if value is not None and value not in known:
            raise BenchmarkError(
                f"{option} is one of {', '.join(known)}, not {value!r}"
            )
    if out is not None:
        check_output(out)


def _tables(
    groups: Any, layout: str, baseline: str, gold: str, classes: bool, seed: int
) -> List[Any]:
    from ..benchmark import tables as make

    if layout == TIME_LAYOUT:
        method = baseline.removeprefix("method=") or None
        return [
            make.time_table(groups, make.choose_layout("auto", list(groups)), method)
        ]
    chosen = make.choose_layout(layout, list(groups))
    found = [
        make.f1_table(groups, chosen, gold=gold),
        make.difference_table(groups, baseline, seed=seed),
        make.calibration_table(groups, chosen),
    ]
    if classes:
        found.append(make.class_table(groups, chosen, gold))
    return [table for table in found if table is not None]


def _draw(groups: Any) -> Figures:
    from ..benchmark.plots import (
        HOW_TO_GET,
        has_matplotlib,
        plot_reliability,
        plot_shots,
    )

    if not has_matplotlib():
        echo_lines([HOW_TO_GET])
        return []
    return [*plot_shots(groups), *plot_reliability(groups)]


def _write(tables: List[Any], figures: Figures, out: Path) -> None:
    """Plots stand in an HTML page, and beside a Markdown file."""
    from ..html import html_page, html_text

    if out.suffix.lower() in HTML:
        from ..benchmark.plots import as_svg

        parts = [table.to_html() for table in tables]
        for title, figure in figures:
            parts += [f"<h2>{html_text(title)}</h2>", as_svg(figure)]
        text = html_page(TITLE, parts)
    else:
        texts = [table.to_markdown() for table in tables]
        for i, (title, figure) in enumerate(figures, 1):
            path = out.with_suffix(f".{i}.svg")
            from ..benchmark.plots import save

            save(figure, path)
            texts.append(f"![{title}]({path.name})\n")
        text = "\n".join([f"# {TITLE}\n", *texts])
    with atomic_output(out) as temporary:
        temporary.write_text(text, encoding="utf8")
    echo_lines([f"Wrote {out}"])
