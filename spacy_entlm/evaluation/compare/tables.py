"""Tables of benchmarks, in the layouts of the paper."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..html import html_table, html_text
from ..statistics import CONFIDENCE, Difference, mean_and_deviation, paired_difference
from .calibration import add_bins, expected_calibration_error
from .errors import BenchmarkError
from .scores import Group, Groups, Results, order_key

# Rows and columns of the paper's tables.
LAYOUTS: Dict[str, Tuple[Tuple[str, ...], Tuple[str, ...]]] = {
    "auto": ((), ("dataset", "shots")),
    "table1": (("dataset", "method"), ("shots",)),
    "table3": (("variant",), ("dataset", "shots")),
    "table5": (("backbone", "method"), ("dataset", "shots")),
}
HEADINGS = {"shots": "K", "method": "method", "variant": "variant"}
NOTHING = "–"
# Fields that are named in a table only where they differ, the last one innermost: rows
# of others, which have another backbone, stand beside ours.
OPTIONAL = ("dataset", "method", "variant", "backbone")


@dataclass
class Table:
    """A table of texts.

    title (str): Its heading. head (List[str]): Of the columns.
    rows (List[List[str]]): The cells. n_names (int): Columns that are no numbers.
    notes (List[str]): Lines under it.
    """

    title: str
    head: List[str]
    rows: List[List[str]]
    n_names: int
    notes: List[str] = field(default_factory=list)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        marks = ["---"] * self.n_names + ["---:"] * (len(self.head) - self.n_names)
        lines = [self.head, marks, *self.rows]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        body = [f"| {' | '.join(line)} |" for line in escaped]
        notes = [line for note in self.notes for line in ("", note)]
        return "\n".join([f"## {self.title}", "", *body, *notes]) + "\n"

    def to_html(self) -> str:
        """The table as HTML elements."""
        numbers = range(self.n_names, len(self.head))
        notes = [f'<p class="note">{html_text(note)}</p>' for note in self.notes]
        heading = f"<h2>{html_text(self.title)}</h2>"
        return "\n".join([heading, html_table(self.head, self.rows, numbers), *notes])


@dataclass(frozen=True)
class Layout:
    """Which fields make rows and which columns."""

    rows: Tuple[str, ...]
    columns: Tuple[str, ...]

    def row(self, group: Group) -> Tuple[Any, ...]:
        """The row of a group; its source is the last part."""
        return (*(getattr(group, name) for name in self.rows), group.source)

    def column(self, group: Group) -> Tuple[Any, ...]:
        """The column of a group."""
        return tuple(getattr(group, name) for name in self.columns)


def choose_layout(name: str, groups: Sequence[Group]) -> Layout:
    """A layout that mixes no settings.

    name (str): One of LAYOUTS.
    groups (Sequence[Group]): What differs among them and is neither row nor column is
        added to the rows.
    RAISES (BenchmarkError): If there is no such layout.
    """
    if name not in LAYOUTS:
        raise BenchmarkError(
            f"unknown layout {name!r}: choose from {', '.join(LAYOUTS)}"
        )
    rows, columns = LAYOUTS[name]
    varying = [f for f in OPTIONAL if len({getattr(g, f) for g in groups}) > 1]
    added = [f for f in varying if f not in (*rows, *columns)]
    return Layout((*rows, *added) or ("method",), columns)


def f1_table(groups: Groups, layout: Layout, *, gold: str = "io") -> Table:
    """Mean (standard deviation) of F1 over splits and seeds.

    groups (Groups): Ours and those beside them. layout (Layout): Rows and columns.
    gold (str): As in `group_records`, for the title.
    """
    sizes = {_size(results) for results in groups.values() if results.scores}
    same_size = len(sizes) == 1

    def cell(results: Results) -> str:
        if results.published is not None:
            return "{:.2f} ({:.2f})".format(*results.published)
        mean, deviation = mean_and_deviation(list(results.scores.values()))
        text = f"{mean:.2f} ({deviation:.2f})"
        return text if same_size else f"{text} n={len(results.scores)}"

    table = _grid(groups, layout, cell)
    table.title = f"F1, {gold.upper()} gold"
    table.notes.append("Mean (standard deviation) over splits and seeds.")
    if same_size:
        n_splits, n_cells = next(iter(sizes))
        table.notes[-1] = (
            f"Mean (standard deviation) over {n_cells} trainings, {n_splits} splits."
        )
    return table


def time_table(groups: Groups, layout: Layout, baseline: Optional[str]) -> Table:
    """Seconds for the test part, and their ratio to a method's (paper, Table 4).

    baseline (Optional[str]): The method with the ratio 1; None: the fastest.
    """
    seconds: Dict[Group, float] = {}
    for group, results in groups.items():
        own = [r["seconds_test"] for r in results.records if not r["copied"]]
        # A command may not tell how long prediction took.
        own = [value for value in own if value is not None]
        if own:
            seconds[group] = sorted(own)[len(own) // 2]
    if not seconds:
        raise BenchmarkError("the records hold no times of their own: all are copies")

    def cell_of(group: Group) -> str:
        others = {
            other.method: value
            for other, value in seconds.items()
            if layout.column(other) == layout.column(group)
        }
        base = others.get(baseline or "", min(others.values()))
        return f"{seconds[group]:.1f} s ({seconds[group] / max(base, 1e-9):.2f})"

    shown = {group: groups[group] for group in seconds}
    texts = {id(results): cell_of(group) for group, results in shown.items()}
    table = _grid(shown, layout, lambda results: texts[id(results)])
    table.title = "Decoding time"
    table.notes.append(
        f"Median seconds for the test part (ratio to {baseline or 'the fastest'})."
    )
    return table


def calibration_table(groups: Groups, layout: Layout) -> Optional[Table]:
    """Expected calibration error of the confidences; None if there are none."""
    shown = {
        group: results
        for group, results in groups.items()
        if results.records and all(r["calibration"] for r in results.records)
    }
    if not shown:
        return None

    def cell(results: Results) -> str:
        bins = add_bins([record["calibration"] for record in results.records])
        if not any(bin_["count"] for bin_ in bins):
            return NOTHING
        return f"{100 * expected_calibration_error(bins):.1f}"

    table = _grid(shown, layout, cell)
    table.title = "Expected calibration error of the confidences, %"
    return table


def class_table(groups: Groups, layout: Layout, gold: str = "io") -> Table:
    """Mean F1 of each class."""
    ours = {group: results for group, results in groups.items() if results.records}
    types = {
        label
        for results in ours.values()
        for record in results.records
        for label in record[gold]["per_type"]
    }
    head = [*layout.rows, *layout.columns, *sorted(types)]
    rows = []
    for group, results in ours.items():
        names = [*layout.row(group)[:-1], *layout.column(group)]
        values = []
        for label in sorted(types):
            f1s = [r[gold]["per_type"].get(label, {}).get("f") for r in results.records]
            known = [100 * f1 for f1 in f1s if f1 is not None]
            values.append(f"{mean_and_deviation(known)[0]:.2f}" if known else NOTHING)
        rows.append([*map(str, names), *values])
    n_names = len(layout.rows) + len(layout.columns)
    return Table("F1 by class", [HEADINGS.get(h, h) for h in head], rows, n_names)


def difference_table(
    groups: Groups, baselines: Sequence[str], **settings: Any
) -> Optional[Table]:
    """Paired differences to a baseline, and to figures of others for the same method.

    groups (Groups): Ours and those beside them.
    baselines (Sequence[str]): FIELD=VALUE, eg "method=bert_tagger" or "variant=lm,
        virtual".
    settings: Of `paired_difference`.
    RETURNS (Optional[Table]): None if there is nothing to compare.
    RAISES (BenchmarkError): If the baseline is no field, or no group has it.
    """
    pairs = [pair for name in baselines or [""] for pair in _pairs(groups, name)]
    pairs = list(dict.fromkeys(pairs))
    rows = []
    for group, other in pairs:
        found = paired_difference(
            groups[group].scores, groups[other].scores, **settings
        )
        if found is not None:
            names = [group.dataset, str(group.shots), group_name(group, groups)]
            rows.append([*names, group_name(other, groups), *_difference_cells(found)])
    if not rows:
        return None
    confidence = settings.get("confidence", CONFIDENCE)
    head = ["dataset", "K", "", "against", "difference"]
    head += [f"{confidence:.0%} interval", "by split"]
    return Table(
        "Paired differences of F1",
        head,
        rows,
        n_names=4,
        notes=[
            "Means over splits; intervals from a bootstrap over splits and the seeds "
            "in them. Few splits make them too narrow."
        ],
    )


def group_name(group: Group, groups: Groups) -> str:
    """What tells a group's method from the others, for tables and legends."""
    parts = [group.method]
    for field_ in ("variant", "backbone"):
        if len({getattr(other, field_) for other in groups}) > 1:
            parts.append(getattr(group, field_))
    return ", ".join(filter(None, parts)) + (
        f" ({group.source})" if group.source else ""
    )


def _pairs(groups: Groups, baseline: str) -> List[Tuple[Group, Group]]:
    pairs = [
        (group._replace(source=""), group)
        for group, results in groups.items()
        if group.source and results.scores and group._replace(source="") in groups
    ]
    if not baseline:
        return pairs
    name, _, value = baseline.partition("=")
    if name not in OPTIONAL:
        raise BenchmarkError(
            f"--baseline is FIELD=VALUE with a field of {', '.join(OPTIONAL)}, not "
            f"{baseline!r}"
        )
    ours = [group for group in groups if not group.source]
    if not any(getattr(group, name) == value for group in ours):
        known = sorted({str(getattr(group, name)) for group in ours})
        raise BenchmarkError(f"no {name} is {value!r}: there is {', '.join(known)}")
    for group in ours:
        changed: Dict[str, Any] = {name: value}
        other = group._replace(**changed)
        if other != group and other in groups:
            pairs.append((group, other))
    return pairs


def _difference_cells(found: Difference) -> List[str]:
    interval = NOTHING
    if found.low is not None and found.high is not None:
        interval = f"{found.low:+.2f} to {found.high:+.2f}"
    splits = ", ".join(f"{value:+.1f}" for value in found.by_split.values())
    return [f"{found.mean:+.2f}", interval, splits]


def _grid(groups: Groups, layout: Layout, cell: Any) -> Table:
    """Cells by row and column. cell: makes the text of a group's Results."""
    columns = sorted({layout.column(group) for group in groups}, key=order_key)
    cells: Dict[Tuple[Any, ...], Dict[Tuple[Any, ...], str]] = {}
    for group, results in groups.items():
        cells.setdefault(layout.row(group), {})[layout.column(group)] = cell(results)
    rows = []
    for row in sorted(cells, key=order_key):
        *names, source = map(str, row)
        if source:
            names[-1] = f"{names[-1]} ({source})"
        rows.append([*names, *(cells[row].get(c, NOTHING) for c in columns)])
    head = [HEADINGS.get(name, name) for name in layout.rows]
    head += [_heading(layout.columns, column) for column in columns]
    return Table("", head, rows, n_names=len(layout.rows))


def _heading(fields: Sequence[str], column: Sequence[Any]) -> str:
    parts = [
        f"K = {value}" if name == "shots" else str(value)
        for name, value in zip(fields, column)
    ]
    return ", ".join(parts)


def _size(results: Results) -> Tuple[int, int]:
    return len({split for split, _ in results.scores}), len(results.scores)
