"""Figures of others, to stand beside ours in tables."""

import json
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .errors import BenchmarkError
from .scores import Groups, Results

# What the paper reports (bert-base-cased).
PAPER = Path(__file__).parent / "paper_figures.json"


class Beside(NamedTuple):
    """groups: F1 that stands beside ours. notes: of the source. seconds: of decoding a
    test part, by dataset and method. title: What the source is called."""

    groups: Groups
    notes: List[str]
    seconds: Dict[str, Dict[str, float]]
    title: str


def read_beside(
    path: Path, groups: Groups, dataset: Optional[str], layout: str = ""
) -> Beside:
    """Read figures of others.

    path (Path): JSON {"title": ..., "cells": [...]}; a cell has "method", "K" (or
        "shots"), and either "split", "seed" and "f1", or "mean" and "sd"; it may have
        "dataset", "variant", "backbone" and "layouts", in which alone it is shown. The
        file may have "backbone" for all cells, "notes", "dataset_notes" and
        "decoding_time", {"seconds": {dataset: {method: seconds}}}.
    groups (Groups): Ours: what has no group there is left out. Where there are none,
        only times are wanted.
    dataset (Optional[str]): Of cells that name none.
    layout (str): Of the table.
    RAISES (BenchmarkError): If the file holds something else.
    """
    data = _read(path)
    title = str(data.get("title") or path.stem)
    found: Groups = {}
    for cell in data["cells"]:
        if layout in cell.get("layouts", [layout]):
            _add_cell(cell, data, dataset, title, groups, found, path)
    if groups and not found:
        raise BenchmarkError(
            f"{path} has no figures of these datasets, K and methods (for cells that "
            "name no dataset: --beside-dataset)"
        )
    datasets = dict.fromkeys(group.dataset for group in found)
    by_dataset = data.get("dataset_notes", {})
    notes = [str(note) for note in data.get("notes", [])]
    notes += [by_dataset[name] for name in datasets if name in by_dataset]
    seconds = data.get("decoding_time", {}).get("seconds", {})
    return Beside(found, notes, seconds, title)


def _add_cell(
    cell: Dict[str, Any],
    data: Dict[str, Any],
    dataset: Optional[str],
    title: str,
    groups: Groups,
    found: Groups,
    path: Path,
) -> None:
    try:
        name = str(cell["method"]).replace("+", "_")
        shots = int(cell["K"] if "K" in cell else cell["shots"])
        one = _split_and_seed(cell)
        value = (float(cell["mean"]), float(cell["sd"])) if one is None else None
        f1 = None if one is None else float(cell["f1"])
    except (KeyError, TypeError, ValueError) as err:
        raise BenchmarkError(f"{path}: no figures in {cell!r:.80} ({err})") from err
    where, variant = cell.get("dataset", dataset), cell.get("variant")
    backbone = cell.get("backbone", data.get("backbone"))
    for ours in groups:
        same = (ours.dataset, ours.shots, ours.method) == (where, shots, name)
        if same and variant in (None, ours.variant):
            group = ours._replace(source=title)
            if backbone is not None:
                group = group._replace(backbone=str(backbone))
            results = found.setdefault(group, Results())
            if one is not None and f1 is not None:
                results.scores[one] = f1
            results.published = value


def _split_and_seed(cell: Dict[str, Any]) -> Optional[Tuple[int, int]]:
    return (int(cell["split"]), int(cell["seed"])) if "split" in cell else None


def _read(path: Path) -> Dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError) as err:
        raise BenchmarkError(f"cannot read figures from {path}: {err}") from err
    cells = data.get("cells") if isinstance(data, dict) else None
    if not isinstance(cells, list) or not all(isinstance(c, dict) for c in cells):
        raise BenchmarkError(f'{path} holds no figures: it needs a list "cells"')
    return data
