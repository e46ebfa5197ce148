"""The report of a comparison: means, paired differences, F1 by class; as a page, as
Markdown, and as CSV and JSON."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pandas

from ...files.counts import count_of
from ...files.errors import DataError
from ...files.file import replace_file
from ...files.json_lines import dump_json
from ...files.records import Record
from ..pages import NOTHING, as_svg, has_matplotlib, new_figure, render_page
from ..statistics import SEED, paired_difference
from .config import Comparison
from .run import RECORDS_FILE, Result

PAGE, MARKDOWN, JSON = "report.html", "report.md", "report.json"
PARTS = ("scores", "differences", "classes")
FILES = (PAGE, MARKDOWN, JSON, *(f"{part}.csv" for part in PARTS))
# What splits and seeds are taken together for.
GROUP = ["dataset", "shots", "backbone", "method", "variant"]
DEFAULT_BASELINE = "method=bert_tagger"
SCORE_NOTE = (
    "Mean (standard deviation) over {}. Neighbouring entities of one class count as "
    "one; f1_bio in scores.csv counts them as annotated."
)
DIFFERENCE_NOTE = (
    "Means over splits, with 95 % intervals (low, high) from a bootstrap over splits "
    "and the seeds in them. Few splits make them too narrow."
)
TIME_NOTE = "Medians; methods that share a training have its seconds."
PERCENT = 100
DIGITS = 4

# For people: "title", "head", "rows" of texts, "note", and the number of columns that
# are "names".
Table = Dict[str, Any]
# FIELD=VALUE, or None for the default.
Baselines = Optional[Sequence[str]]


def check_report(config: Comparison, folder: Path, baselines: Baselines) -> None:
    """Check before long work that a report can be written, as `write_report` does.
    RAISES (DataError): If a baseline is no field or not in the config, or the folder
    has a report of something else."""
    fields = ("method", "variant", "backbone")
    for baseline in baselines or ():
        name, _, value = baseline.partition("=")
        if name not in fields:
            text = f"--baseline is FIELD=VALUE with a field of {', '.join(fields)}"
            raise DataError(f"{text}, not {baseline!r}")
        known = getattr(config, f"{name}s")
        if value not in known:
            raise DataError(f"no {name} is {value!r}: there is {', '.join(known)}")
    there = [folder / name for name in FILES if (folder / name).exists()]
    if there and not (folder / RECORDS_FILE).exists():
        text = "exists, but no records beside it: choose another folder"
        raise DataError(text, path=there[0])


def write_report(
    result: Result,
    folder: Path,
    title: str,
    *,
    baselines: Baselines = None,
    seed: int = SEED,
) -> List[str]:
    """Write the report of a comparison; what an earlier call wrote is replaced.

    baselines (Optional[Sequence[str]]): What differences are to, FIELD=VALUE. None:
        DEFAULT_BASELINE, if it is there.
    RETURNS (List[str]): The means of F1, for the screen.
    RAISES (DataError): If there are no records.
    """
    if not result.records:
        raise DataError("no training has a record yet: nothing to report", path=folder)
    frame = to_frame(result.records)
    scores = score_frame(frame)
    differences = difference_frame(frame, baselines, seed=seed)
    parts = dict(zip(PARTS, (scores, differences, class_frame(result.records))))
    # What tells methods apart.
    varying = [field for field in ("variant", "backbone") if frame[field].nunique() > 1]
    names = ["method", *varying]
    tables, notes = _tables(parts, names), []
    if missing := result.n_cells - len(result.records):
        notes.append(f"{missing} of {result.n_cells} results are not there yet.")
    if result.n_unused:
        records = f"{count_of(result.n_unused, 'results')} of other data or settings"
        notes.append(f"{records} in {RECORDS_FILE} stay there, and are not used.")
    figures = _draw(scores, names) if has_matplotlib() else []
    values = {"title": title, "tables": tables, "notes": notes, "figures": figures}
    for name, template in ((PAGE, "compare.html"), (MARKDOWN, "compare.md")):
        page = render_page(template, **values)
        replace_file(folder / name, page.encode("utf8"))
    summary: Dict[str, Any] = {"title": title, "notes": notes}
    for name, part in parts.items():
        replace_file(folder / f"{name}.csv", part.to_csv(index=False).encode("utf8"))
        # None where pandas has NaN, which is no JSON.
        summary[name] = part.astype(object).where(part.notna(), None).to_dict("records")
    replace_file(folder / JSON, dump_json(summary))
    return [" | ".join(row) for row in (tables[0]["head"], *tables[0]["rows"])] + notes


def to_frame(records: Sequence[Record]) -> pandas.DataFrame:
    """The figures of each cell; scores are percent."""
    columns = [*GROUP, "split", "seed", "seconds_train", "seconds_test"]
    frame = pandas.DataFrame(records, columns=columns)
    for name, key in (("f1", "f"), ("precision", "p"), ("recall", "r")):
        frame[name] = [PERCENT * record["io"][key] for record in records]
    frame["f1_bio"] = [PERCENT * record["bio"]["f"] for record in records]
    return frame


def score_frame(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Means of what `to_frame` gives over splits and seeds, with the standard deviation
    of F1 (0 for a single training), and medians of seconds."""
    means = {name: (name, "mean") for name in ("precision", "recall", "f1_bio")}
    medians = {name: (name, "median") for name in ("seconds_train", "seconds_test")}
    found = frame.groupby(GROUP, sort=False).agg(
        trainings=("f1", "size"),
        splits=("split", "nunique"),
        f1=("f1", "mean"),
        deviation=("f1", "std"),
        **means,
        **medians,
    )
    return found.fillna({"deviation": 0.0}).round(DIGITS).reset_index()


def class_frame(records: Sequence[Record]) -> pandas.DataFrame:
    """Mean F1 of each class, by group."""
    rows = [
        [*(record[name] for name in GROUP), label, PERCENT * scores["f"]]
        for record in records
        for label, scores in record["io"]["per_type"].items()
    ]
    frame = pandas.DataFrame(rows, columns=[*GROUP, "class", "f1"])
    means = frame.groupby([*GROUP, "class"], sort=False)["f1"].mean()
    return means.round(DIGITS).reset_index()


def difference_frame(
    frame: pandas.DataFrame, baselines: Baselines = None, *, seed: int = SEED
) -> pandas.DataFrame:
    """Paired differences of F1 to baselines, on the same splits, with their intervals.
    frame (DataFrame): From `to_frame`. baselines, seed: As in `write_report`."""
    groups: Dict[Any, Any] = {
        group: dict(zip(zip(part["split"], part["seed"]), part["f1"]))
        for group, part in frame.groupby(GROUP, sort=False)
    }
    rows = []
    for baseline in [DEFAULT_BASELINE] if baselines is None else baselines:
        name, _, value = baseline.partition("=")
        i = GROUP.index(name)
        for group, scores in groups.items():
            other = (*group[:i], value, *group[i + 1 :])
            theirs = {} if other == group else groups.get(other, {})
            if found := paired_difference(scores, theirs, seed=seed):
                splits = ", ".join(f"{d:+.1f}" for d in found.by_split.values())
                rows.append([*group, baseline, *found[:3], splits])
    columns = [*GROUP, "against", "difference", "low", "high", "by split"]
    return pandas.DataFrame(rows, columns=columns).round(DIGITS)


def _tables(parts: Dict[str, pandas.DataFrame], names: List[str]) -> List[Table]:
    """What people see of the parts. names: The columns that tell methods apart."""
    scores, differences, classes = (parts[name] for name in PARTS)
    index = ["dataset", "shots", *names]
    tables = [_score_table(scores, names)]
    if len(differences):
        texts = differences.set_index([*index, "against"])
        texts = texts[["difference", "low", "high", "by split"]].map(
            lambda x: f"{x:+.2f}" if isinstance(x, float) and x == x else x
        )
        tables.append(_table("Paired differences of F1", texts, DIFFERENCE_NOTE))
    if len(classes):
        texts = classes.assign(f1=classes["f1"].map("{:.2f}".format))
        wide = texts.pivot_table("f1", index, "class", "first", sort=False)
        tables.append(_table("F1 by class", wide))
    seconds = scores.set_index(index)[["seconds_train", "seconds_test"]].round(1)
    tables.append(_table("Seconds of training and prediction", seconds, TIME_NOTE))
    return tables


def _score_table(scores: pandas.DataFrame, names: List[str]) -> Table:
    both = zip(scores["f1"], scores["deviation"])
    texts = [f"{f1:.2f} ({deviation:.2f})" for f1, deviation in both]
    sizes = scores["trainings"]
    over = f"{sizes[0]} trainings, {scores['splits'].max()} splits"
    if sizes.nunique() > 1:
        texts = [f"{text} n={size}" for text, size in zip(texts, sizes)]
        over = "n trainings"
    place = scores["dataset"] + ", K = " + scores["shots"].astype(str)
    named = scores.assign(text=texts, place=place)
    wide = named.pivot_table("text", names, "place", "first", sort=False)
    return _table("F1", wide, SCORE_NOTE.format(over))


def _table(title: str, frame: pandas.DataFrame, note: str = "") -> Table:
    """frame: Texts, whose index are the names."""
    flat = frame.reset_index().astype(object).fillna(NOTHING).astype(str)
    head, rows = list(map(str, flat.columns)), flat.to_numpy().tolist()
    table = {"title": title, "head": head, "rows": rows, "note": note}
    return {**table, "names": frame.index.nlevels}


def _draw(scores: pandas.DataFrame, names: List[str]) -> List[Any]:
    """F1 over K with standard deviations, a figure per dataset."""
    # In matplotlib a pair of dollar signs holds mathematics.
    scores = scores.replace(r"\$", r"\\$", regex=True)
    method = scores[names].agg(", ".join, axis=1)
    figures = []
    for dataset, part in scores.assign(method=method).groupby("dataset", sort=False):
        figure, axes = new_figure()
        wide = part.pivot_table(["f1", "deviation"], "shots", "method", sort=False)
        bars = wide["f1"].sort_index().plot.bar
        bars(yerr=wide["deviation"], ax=axes, rot=0, capsize=2, title=dataset)
        axes.set(xlabel="K", ylabel="F1")
        axes.legend(fontsize="small")
        figures.append(as_svg(figure))
    return figures
