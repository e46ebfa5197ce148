"""Decoding times, measured side by side in one run: the paper's Table 4, and the plot
over the length of sentences."""

import json
import statistics
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .errors import BenchmarkError
from .scores import order_key
from .tables import NOTHING, Table

# The method whose time counts 1, as the paper's text compares.
BASELINE = "bert_tagger"
PAPER_BATCH, BEST = "paper_batch", "best"
# What `project/benchmarks/decoding_time.py` writes.
KEYS = ("dataset", "sentences", "words", "methods", "lengths", "machine", "notes")


def read_times(path: Path) -> Dict[str, Any]:
    """Read the times of a run.

    path (Path): JSON of `project/benchmarks/decoding_time.py`.
    RAISES (BenchmarkError): If the file holds something else.
    """
    try:
        times = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError) as err:
        raise BenchmarkError(f"cannot read decoding times from {path}: {err}") from err
    missing = [key for key in KEYS if not isinstance(times, dict) or key not in times]
    if missing:
        raise BenchmarkError(
            f"{path} holds no decoding times ({', '.join(missing)} missing): they are "
            "what project/benchmarks/decoding_time.py writes"
        )
    return times


def median_seconds(times: Mapping[str, Any], setting: str) -> Dict[str, float]:
    """Median seconds for the whole test part, by method.

    times (Mapping[str, Any]): From `read_times`.
    setting (str): PAPER_BATCH: the batches of the paper; BEST: each method's own.
    """
    return {
        method: statistics.median(measured[setting]["seconds"])
        for method, measured in times["methods"].items()
        if setting in measured
    }


def decoding_table(
    times: Mapping[str, Any],
    paper: Optional[Mapping[str, float]] = None,
    baseline: str = BASELINE,
) -> Table:
    """Seconds and ratios at the paper's batches and at each method's best.

    times (Mapping[str, Any]): From `read_times`.
    paper (Optional[Mapping[str, float]]): The paper's seconds, to stand beside ours.
    baseline (str): The method with the ratio 1.
    RAISES (BenchmarkError): If the baseline was not measured.
    """
    columns: List[Mapping[str, float]] = [
        median_seconds(times, PAPER_BATCH),
        median_seconds(times, BEST),
    ]
    if any(baseline not in seconds for seconds in columns):
        known = ", ".join(times["methods"])
        raise BenchmarkError(f"no time of {baseline!r}: there is {known}")
    head = ["method", "batch", "seconds", "ratio", "best batch", "seconds", "ratio"]
    if paper:
        columns.append(paper)
        head += ["paper, seconds", "paper, ratio"]
    rows = []
    for method in sorted(times["methods"], key=lambda name: order_key([name])):
        row = [method]
        for seconds, setting in zip(columns, (PAPER_BATCH, BEST, None)):
            if setting is not None:
                measured = times["methods"][method].get(setting, {})
                row.append(str(measured.get("batch_size", NOTHING)))
            row += _seconds_and_ratio(seconds, method, baseline)
        rows.append(row)
    title = f"Decoding time, {times['dataset']}"
    notes = [
        f"Median seconds for the {times['sentences']:,} sentences "
        f"({times['words']:,} words) of the test part, measured in turn in one run, "
        f"and the ratio to {baseline}. {times['machine']}.",
        *times["notes"],
    ]
    return Table(title, head, rows, n_names=1, notes=notes)


def _seconds_and_ratio(
    seconds: Mapping[str, float], method: str, baseline: str
) -> Sequence[str]:
    if method not in seconds:
        return NOTHING, NOTHING
    ratio = NOTHING
    if baseline in seconds:
        ratio = f"{seconds[method] / seconds[baseline]:.2f}"
    return f"{seconds[method]:,.2f}", ratio
