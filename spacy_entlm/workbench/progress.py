"""How far the work of a workbench has come, and what would help most now."""

from typing import Any, Dict, List, Optional

from ..files.counts import count_of
from .runs import RUNNING, TRAIN, Runs
from .store import Store

# Examples of a class below which more of it help most.
FEW_EXAMPLES = 10
# F1 of a class below which it is weak.
WEAK_F1 = 70.0


def progress(runs: Runs, counts: Dict[str, Any]) -> Dict[str, Any]:
    """What the page says of the work.

    runs (Runs): Of the workbench. counts (Dict): `Store.counts`.
    RETURNS (Dict): "new", the texts to train on that were accepted since the last
        training; and "advice", a sentence.
    """
    trained = runs.trained()
    scores = (trained[-1]["scores"] if trained else None) or {}
    n_new = runs.store.n_new(scores.get("version", 0))
    latest = runs.latest()
    if latest and (latest["kind"], latest["state"]) == (TRAIN, RUNNING):
        return {"new": n_new, "advice": "Go on marking while it trains."}
    return {"new": n_new, "advice": _advice(runs.store, counts, trained, scores, n_new)}


def _advice(
    store: Store,
    counts: Dict[str, Any],
    trained: List[Dict[str, Any]],
    scores: Dict[str, Any],
    n_new: int,
) -> str:
    classes = store.classes()
    if not classes:
        return "Add a class: its name is enough to begin."
    if not any(counts["marks"].values()):
        return "Correct what is suggested in a few texts, accept them, and train."
    marks = {row["id"]: counts["marks"].get(row["id"], 0) for row in classes}
    names = {row["id"]: row["name"] for row in classes}
    rarest = min(marks, key=lambda number: marks[number])
    if marks[rarest] < FEW_EXAMPLES:
        n = marks[rarest]
        has = "no example" if n == 0 else count_of(n, "examples")
        search = "look for it in All texts"
        return f"More of {names[rarest]}: it has {has}; {search}."
    if not trained:
        return "Train: there are examples of each class."
    weakest = _weakest(scores, names)
    if weakest is not None:
        f1 = scores["classes"][str(weakest)]["value"]
        return f"More of {names[weakest]}: its F1 is {f1:.0f}, the lowest."
    if len(store.doubtful()):
        return "Look at the disagreements: either you or the model is wrong there."
    return "Go on with the texts that teach most." if n_new else "Accept more texts."


def _weakest(scores: Dict[str, Any], names: Dict[int, str]) -> Optional[int]:
    """The class with the lowest F1, if that is low."""
    known = {int(k): x["value"] for k, x in scores.get("classes", {}).items()}
    known = {number: f1 for number, f1 in known.items() if number in names}
    lowest = min(known, key=lambda number: known[number], default=None)
    return lowest if lowest is not None and known[lowest] < WEAK_F1 else None
