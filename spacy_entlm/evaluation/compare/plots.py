"""Plots of benchmarks, with matplotlib (the extra `plot`)."""

import io
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..statistics import mean_and_deviation
from .calibration import add_bins, expected_calibration_error
from .scores import Groups
from .tables import group_name

HOW_TO_GET = "For the plot: pip install 'spacy-entlm[plot]', and run this again"
PNG_DPI = 150
AXIS_TITLES = {
    "threshold": "conflict threshold",
    "top-k": "label words per class",
    "lexicon-size": "names of the lexicon, %",
    "unlabeled-size": "unlabeled sentences, %",
    "domain": "unlabeled text",
}


def has_matplotlib() -> bool:
    """Whether plots can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(width: float = 5.0, height: float = 3.5) -> Any:
    """A figure and its axes, that needs no screen. Sizes are inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def save(figure: Any, path: Path) -> None:
    """Write a figure; the same data give the same file.

    path (Path): .png or .svg.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _repeatable():
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=PNG_DPI, metadata=metadata)


def _repeatable() -> Any:
    import matplotlib

    # Else names inside an SVG are drawn by chance.
    return matplotlib.rc_context({"svg.hashsalt": "entlm"})


def plot_ablation(summary: Mapping[str, Any]) -> Tuple[str, Any]:
    """Draw F1 over the values of an ablation, with bands of a standard deviation.

    summary (Mapping[str, Any]): From `summarise`.
    RETURNS (Tuple[str, Any]): Title and figure.
    """
    figure, axes = new_figure()
    points = summary["points"]
    values = [point["value"] for point in points]
    numbers = all(isinstance(value, (int, float)) for value in values)
    places: Sequence[float] = values if numbers else range(len(values))
    if summary["ablation"].endswith("-size"):
        places = [100 * value for value in values]
    for (method, shots), line in _lines(points).items():
        found = [(x, *line[i]) for i, x in enumerate(places) if i in line]
        xs, means, deviations = (list(column) for column in zip(*found))
        label = f"{method}, K = {shots}"
        if numbers:
            _draw_band(axes, xs, means, deviations, label)
        else:
            axes.errorbar(
                xs, means, deviations, marker="o", ls="", capsize=4, label=label
            )
    axes.set_xticks(places, [point["name"] for point in points])
    axes.set_xlabel(AXIS_TITLES.get(summary["ablation"], summary["ablation"]))
    axes.set_ylabel("F1")
    axes.legend()
    return f"Ablation: {summary['ablation']}", figure


def _lines(points: List[Dict[str, Any]]) -> Dict[Any, Dict[int, Any]]:
    """Per method and K: number of the point -> mean and standard deviation."""
    lines: Dict[Any, Dict[int, Any]] = {}
    for i, point in enumerate(points):
        for result in point["results"]:
            line = lines.setdefault((result["method"], result["shots"]), {})
            line[i] = (result["mean"], result["sd"])
    return lines


def plot_shots(groups: Groups) -> List[Tuple[str, Any]]:
    """Draw F1 over K with bands of a standard deviation, a figure per dataset.

    groups (Groups): Ours and those beside them.
    RETURNS (List[Tuple[str, Any]]): Titles and figures; datasets with one K have none.
    """
    figures = []
    for dataset in dict.fromkeys(group.dataset for group in groups):
        lines: Dict[str, List[Tuple[int, float, float]]] = {}
        for group, results in groups.items():
            if group.dataset != dataset:
                continue
            values = list(results.scores.values())
            mean, deviation = results.published or mean_and_deviation(values)
            name = group_name(group, groups)
            lines.setdefault(name, []).append((group.shots, mean, deviation))
        if max(len(line) for line in lines.values()) < 2:
            continue
        figure, axes = new_figure()
        for name, line in lines.items():
            shots, means, deviations = zip(*sorted(line))
            _draw_band(axes, shots, means, deviations, name)
        axes.set_xscale("log")
        ticks = sorted({place for line in lines.values() for place, _, _ in line})
        axes.set_xticks(ticks, [str(k) for k in ticks], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_xlabel("K, examples per class")
        axes.set_ylabel("F1")
        axes.set_title(dataset)
        axes.legend(fontsize="small")
        figures.append((f"F1 over K, {dataset}", figure))
    return figures


def plot_lengths(times: Mapping[str, Any]) -> Tuple[str, Any]:
    """Draw milliseconds for a sentence over its words, a line per method.

    times (Mapping[str, Any]): From `read_times`.
    RETURNS (Tuple[str, Any]): Title and figure.
    """
    figure, axes = new_figure()
    lengths = times["lengths"]
    for method in times["methods"]:
        points = [
            (bucket["mean_words"], bucket["milliseconds"][method])
            for bucket in lengths
            if method in bucket["milliseconds"]
        ]
        if points:
            axes.plot(*zip(*points), marker="o", markersize=4, label=method)
    axes.set_yscale("log")
    axes.set_xlabel("words of a sentence")
    axes.set_ylabel("milliseconds for a sentence")
    axes.set_title(times["dataset"])
    axes.legend(fontsize="small")
    return f"Decoding time over length, {times['dataset']}", figure


def plot_reliability(groups: Groups) -> List[Tuple[str, Any]]:
    """Draw the share of right entities over their confidence, a figure per dataset;
    splits, seeds and K are taken together.

    groups (Groups): Ours; what has no confidences is left out.
    RETURNS (List[Tuple[str, Any]]): Titles and figures.
    """
    bins: Dict[str, Dict[str, List[Any]]] = {}
    for group, results in groups.items():
        for record in results.records:
            if record["calibration"]:
                of_dataset = bins.setdefault(group.dataset, {})
                name = group_name(group, groups)
                of_dataset.setdefault(name, []).append(record["calibration"])
    figures = []
    for dataset, lines in bins.items():
        figure, axes = new_figure(4.0, 4.0)
        axes.plot([0, 1], [0, 1], color="#999", linewidth=1)
        for name, parts in lines.items():
            total = add_bins(parts)
            error = expected_calibration_error(total)
            filled = [bin_ for bin_ in total if bin_["count"]]
            confidence = [bin_["confidence"] / bin_["count"] for bin_ in filled]
            right = [bin_["correct"] / bin_["count"] for bin_ in filled]
            label = f"{name}, ECE {error:.1%}"
            axes.plot(confidence, right, marker="o", markersize=4, label=label)
        axes.set_xlabel("confidence")
        axes.set_ylabel("share of right entities")
        axes.set_title(dataset)
        axes.legend(fontsize="small")
        figures.append((f"Reliability, {dataset}", figure))
    return figures


def as_svg(figure: Any) -> str:
    """A figure as an <svg> element, to stand in a page."""
    buffer = io.StringIO()
    with _repeatable():
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _draw_band(
    axes: Any,
    places: Sequence[float],
    means: Sequence[float],
    deviations: Sequence[float],
    label: str,
) -> None:
    (line,) = axes.plot(places, means, marker="o", label=label)
    lower = [mean - sd for mean, sd in zip(means, deviations)]
    upper = [mean + sd for mean, sd in zip(means, deviations)]
    axes.fill_between(places, lower, upper, color=line.get_color(), alpha=0.15)
