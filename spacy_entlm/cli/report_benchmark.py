"""The command `report benchmark`: tables and plots of records."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional, Tuple

import typer

from ..evaluation.compare.errors import BenchmarkError
from ..files.file import check_output, write_file
from ._util import echo_lines, one_line_errors
from .report import report_cli

LAYOUTS = ("auto", "table1", "table3", "table4", "table5")
TIME_LAYOUT = "table4"
GOLD = ("io", "bio")
MARKDOWN, HTML = (".md",), (".html", ".htm")
TITLE = "Benchmark"
METHOD = "method="
DEFAULT_BASELINE = "method=bert_tagger"

Figures = List[Tuple[str, Any]]


@report_cli.command("benchmark")
def report_benchmark_cli(
    paths: Annotated[
        Optional[List[Path]],
        typer.Argument(
            metavar="RECORDS...",
            help="Folders of runs, or their records.jsonl",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Optional[Path],
        typer.Option("--out", help="File, .md or .html", show_default="the screen"),
    ] = None,
    layout: Annotated[
        str, typer.Option("--layout", help=f"One of {', '.join(LAYOUTS)}")
    ] = LAYOUTS[0],
    baseline: Annotated[
        Optional[List[str]],
        typer.Option(
            "--baseline",
            help="What differences are to, eg method=bert_tagger, repeatable; for "
            "decoding times, the method whose time counts 1",
            show_default=DEFAULT_BASELINE,
        ),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's figures beside ours")
    ] = False,
    beside: Annotated[
        Optional[List[Path]],
        typer.Option("--beside", help="JSON with figures of others, repeatable"),
    ] = None,
    beside_dataset: Annotated[
        Optional[str],
        typer.Option("--beside-dataset", help="Dataset of such figures"),
    ] = None,
    times: Annotated[
        Optional[List[Path]],
        typer.Option(
            "--times", help="JSON of project/benchmarks/decoding_time.py, repeatable"
        ),
    ] = None,
    curve: Annotated[
        Optional[List[Path]],
        typer.Option(
            "--curve", help="JSON of `benchmark ablation` to draw, repeatable"
        ),
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
        if not (paths or times or curve):
            raise BenchmarkError("name the folder of a run, --times or --curve")
        from ..evaluation.compare.beside import PAPER
        from ..evaluation.compare.times import read_times

        parts = _Parts(
            groups=_read_groups(paths or [], gold),
            times=[read_times(path) for path in times or []],
            curves=[_read_curve(path) for path in curve or []],
        )
        files = [*([PAPER] if paper else []), *(beside or [])]
        _add_beside(parts, files, beside_dataset, layout)
        tables = _tables(parts, layout, baseline or [], gold, classes, seed)
        figures = _draw(parts) if plots and out is not None else []
        if out is None:
            echo_lines("\n".join(t.to_markdown() for t in tables).split("\n"))
        else:
            _write(tables, figures, out)


@dataclass
class _Parts:
    """What a report is made from.

    groups: Ours and those beside them. times: Of `decoding_time.py`. curves: Of
    ablations. notes: Of figures of others. paper_seconds: By dataset and method.
    """

    groups: Dict[Any, Any]
    times: List[Dict[str, Any]]
    curves: List[Dict[str, Any]]
    notes: List[str] = field(default_factory=list)
    paper_seconds: Dict[str, Dict[str, float]] = field(default_factory=dict)


def _read_groups(paths: List[Path], gold: str) -> Dict[Any, Any]:
    from ..evaluation.compare.scores import group_records, read_all

    return group_records(read_all(paths), gold) if paths else {}


def _read_curve(path: Path) -> Dict[str, Any]:
    try:
        summary = json.loads(path.read_text(encoding="utf8"))
        if not ("ablation" in summary and summary["points"]):
            raise ValueError("no points")
    except (OSError, ValueError, TypeError, KeyError) as err:
        raise BenchmarkError(f"{path} is no curve of `ablation`: {err}") from err
    return summary


def _add_beside(
    parts: _Parts, files: List[Path], dataset: Optional[str], layout: str
) -> None:
    from ..evaluation.compare.beside import read_beside

    ours = dict(parts.groups)
    for path in files:
        found = read_beside(path, ours, dataset, layout)
        parts.groups.update(found.groups)
        parts.notes += found.notes
        parts.paper_seconds.update(found.seconds)


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
    parts: _Parts,
    layout: str,
    baselines: List[str],
    gold: str,
    classes: bool,
    seed: int,
) -> List[Any]:
    from ..evaluation.compare import tables as make
    from ..evaluation.compare.times import BASELINE, decoding_table

    method = next((b for b in baselines if b.startswith(METHOD)), None)
    method = method and method.removeprefix(METHOD)
    found: List[Any] = []
    groups = parts.groups
    if groups and layout != TIME_LAYOUT:
        chosen = make.choose_layout(layout, list(groups))
        found.append(make.f1_table(groups, chosen, gold=gold))
        found[0].notes += parts.notes
        found.append(
            make.difference_table(groups, baselines or _default(groups), seed=seed)
        )
        found.append(make.calibration_table(groups, chosen))
        if classes:
            found.append(make.class_table(groups, chosen, gold))
    elif groups and not parts.times:
        chosen = make.choose_layout("auto", list(groups))
        found.append(make.time_table(groups, chosen, method))
    for times in parts.times:
        paper = parts.paper_seconds.get(times["dataset"])
        found.append(decoding_table(times, paper, method or BASELINE))
    return [table for table in found if table is not None]


def _default(groups: Dict[Any, Any]) -> List[str]:
    """The baseline where none is named."""
    methods = {group.method for group in groups if not group.source}
    known = len(methods) > 1 and DEFAULT_BASELINE.removeprefix(METHOD) in methods
    return [DEFAULT_BASELINE] if known else []


def _draw(parts: _Parts) -> Figures:
    from ..evaluation.compare import plots

    if not plots.has_matplotlib():
        echo_lines([plots.HOW_TO_GET])
        return []
    found = [*plots.plot_shots(parts.groups), *plots.plot_reliability(parts.groups)]
    found += [plots.plot_lengths(times) for times in parts.times]
    return found + [plots.plot_ablation(summary) for summary in parts.curves]


def _write(tables: List[Any], figures: Figures, out: Path) -> None:
    """Plots stand in an HTML page, and beside a Markdown file."""
    from ..evaluation.html import html_page, html_text

    if out.suffix.lower() in HTML:
        from ..evaluation.compare.plots import as_svg

        parts = [table.to_html() for table in tables]
        for title, figure in figures:
            parts += [f"<h2>{html_text(title)}</h2>", as_svg(figure)]
        text = html_page(TITLE, parts)
    else:
        texts = [table.to_markdown() for table in tables]
        for i, (title, figure) in enumerate(figures, 1):
            path = out.with_suffix(f".{i}.svg")
            from ..evaluation.compare.plots import save

            save(figure, path)
            texts.append(f"![{title}]({path.name})\n")
        text = "\n".join([f"# {TITLE}\n", *texts])
    with write_file(out) as temporary:
        temporary.write_text(text, encoding="utf8")
    echo_lines([f"Wrote {out}"])
