"""What a search for label words found and left out, as data for people and programs."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List

from pydantic import BaseModel, ValidationError

from ...files.errors import DataError
from ...files.json_lines import read_json
from ...label_words import search
from ...label_words.search import ClassSearch, Counts, SearchSettings

REPORT_SUFFIX = ".report.json"
# Words left out that a report lists per class and reason; it gives the number of all.
MAX_LISTED = 50


class _Word(BaseModel):
    word: str


class _Class(BaseModel):
    words: List[_Word]
    conflicts: List[_Word]
    multi_piece: List[_Word]


class _Report(BaseModel):
    settings: Dict[str, Any]
    classes: Dict[str, _Class]


def report_path(path: Path) -> Path:
    """Where the report on a label-word file lies: words.json -> words.report.json."""
    return path.with_suffix(REPORT_SUFFIX)


def make_report(
    found: Dict[str, ClassSearch], settings: SearchSettings, data: Counts, lm: Counts
) -> Dict[str, Any]:
    """Put together what is known of each class's words.

    found (Dict[str, ClassSearch]): From `search_label_words`.
    data, lm (Dict[str, Counter]): The counts that were searched.
    RETURNS (Dict[str, Any]): As JSON: per class "entity_words" and "lm_predictions"
        (sums of the counts), "candidates", the chosen "words" with the counts behind
        them, the words left out as "conflicts", "unseen" and "multi_piece" (with
        the number of all in "n_..."), and "advice", empty if nothing is lacking.
    """
    report = {}
    for label, own in found.items():
        entry: Dict[str, Any] = {
            "entity_words": sum(data.get(label, {}).values()),
            "lm_predictions": sum(lm.get(label, {}).values()),
            "candidates": own.n_candidates,
            "words": [_as_json(word) for word in own.chosen],
        }
        for reason in ("conflicts", "unseen", "multi_piece"):
            words = getattr(own, reason)
            entry[f"n_{reason}"] = len(words)
            entry[reason] = [_as_json(word) for word in words[:MAX_LISTED]]
        for conflict in entry["conflicts"]:
            others = dict(conflict["by_class"])
            share = f"{others.get(label, 0)} of {sum(others.values())} are {label}"
            others.pop(label, None)
            listed = ", ".join(f"{count} {key}" for key, count in others.items())
            conflict["why"] = f"{share}, not more than {settings.threshold:g}: {listed}"
        report[label] = {**entry, "advice": _advice(entry, settings)}
    return report


def _as_json(candidate: search.Candidate) -> Dict[str, Any]:
    entry = {**asdict(candidate), "ratio": round(candidate.ratio, 4)}
    if candidate.pieces is None:
        del entry["pieces"]
    return entry


def _advice(entry: Dict[str, Any], settings: SearchSettings) -> str:
    """What would help a class that has fewer words than asked for; else empty."""
    if len(entry["words"]) >= settings.top_k:
        return ""
    if not entry["entity_words"]:
        return "no entity of it in the annotated text: annotate some, or choose words"
    hints: List[str] = []
    if settings.uses_lm and not entry["lm_predictions"]:
        hints.append("the LM predicts no word for it")
    if settings.method == search.DATA_LM and not settings.smoothing:
        n = entry["candidates"]
        hints.append(f"words that are in both counts: {n} (try --smoothing)")
    if n := entry["n_conflicts"]:
        lower = f"try a --threshold below {settings.threshold:g}"
        hints.append(f"words that too often stand elsewhere: {n} ({lower})")
    if settings.uses_lm:
        hints.append("try --method data")
    return "; ".join([*hints, "annotate more text"])


def read_report(path: Path) -> Dict[str, Any]:
    """Read a report that `search` wrote, with "settings" and "classes".
    RAISES (DataError): If the file cannot be read, or is no such report."""
    report: Dict[str, Any] = read_json(path)
    try:
        _Report.model_validate(report)
    except ValidationError as error:
        text = "is no report of `search`: run that again"
        raise DataError(text, path=path) from error
    return report
