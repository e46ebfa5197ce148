"""Ablations: label words of every point, the cells they need, a file with the curve."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import spacy

from ...label_words.search import SearchSettings
from ..statistics import mean_and_deviation
from .config import BenchmarkConfig, Lexicon, make_config
from .data import hash_files, hash_value
from .errors import BenchmarkError
from .files import write_atomically
from .points import DOMAIN, Ablation, Point, Value
from .records import FORMAT, FORMAT_KEY, Record
from .texts import annotated_names, read_names, read_text
from .words import Progress, WordFinder, write_words

WORDS_FOLDER = "words"
POINTS_FILE = "points.json"
# Numbers that results are rounded to: more says nothing.
DIGITS = 4


@dataclass(frozen=True)
class AblationPlan:
    """What an ablation is made from, before the first training.

    name (str): One of ABLATIONS. values (Sequence[Value]): Of what is varied.
    text (Path): Where label words are searched. backbone (str): The masked LM.
    lexicon (Optional[Lexicon]): Annotates the text; None: the text is annotated, and
        the names in it stand for the lexicon.
    general (Optional[Path]): Plain text of no domain.
    lm_counts (Sequence[Path]): In place of counting.
    search (SearchSettings): As far as it is not varied.
    seed (int): Of what is drawn from the text. lang (str): Its language.
    """

    name: str
    values: Sequence[Value]
    text: Path
    backbone: str
    lexicon: Optional[Lexicon] = None
    general: Optional[Path] = None
    lm_counts: Sequence[Path] = ()
    search: SearchSettings = field(default_factory=SearchSettings)
    seed: int = 1
    lang: str = "en"

    def check(self) -> None:
        """Look for what is missing before long work.

        RAISES (BenchmarkError): If a file is not there, or an option does not fit.
        """
        if self.name == DOMAIN and self.general is None:
            raise BenchmarkError(f"the ablation {DOMAIN} needs --general, a plain text")
        for path in self._files():
            if not path.is_file():
                raise BenchmarkError(f"{path}: no such file")

    def as_json(self) -> Dict[str, Any]:
        """All that the points depend on."""
        lexicon = self.lexicon
        return {
            **{"ablation": self.name, "values": list(self.values)},
            **{"text": str(self.text), "backbone": self.backbone},
            "lexicon": None if lexicon is None else lexicon.model_dump(mode="json"),
            "general": None if self.general is None else str(self.general),
            "lm_counts": list(map(str, self.lm_counts)),
            "search": asdict(self.search),
            **{"seed": self.seed, "lang": self.lang},
            "files": hash_files(self._files()),
        }

    def make_points(
        self, notify: Callable[[str], None], progress: Optional[Progress] = None
    ) -> List[Point]:
        """Search the label words of every value.

        notify (Callable[[str], None]): Called with what a person wants to know.
        progress (Optional[Progress]): Shows how far counting is.
        """
        nlp = spacy.blank(self.lang)
        docs = read_text(self.text, nlp)
        if self.lexicon is None:
            names = annotated_names(docs)
            notify(f"Lexicon: the names annotated in {self.text}")
        else:
            names = read_names(self.lexicon, docs)
            docs = names.annotate(docs, nlp)
        notify(f"{len(names.entries):,} names, {len(docs):,} sentences")
        ablation = Ablation(
            WordFinder(self.backbone),
            nlp,
            docs,
            names,
            self.search,
            seed=self.seed,
            general=self.general,
            lm_counts=self.lm_counts,
            progress=progress,
            notify=notify,
        )
        return ablation.points(self.name, self.values)

    def _files(self) -> List[Path]:
        given = [self.text, self.general, self.lexicon and self.lexicon.path]
        return [path for path in (*given, *self.lm_counts) if path]


def stored_points(folder: Path, plan: AblationPlan, **hooks: Any) -> List[Point]:
    """Make the points of an ablation, or take those that an earlier run made.

    folder (Path): Where they are kept, in points.json. plan (AblationPlan): The plan.
    hooks: Of `AblationPlan.make_points`.
    RAISES (BenchmarkError): If the folder has points that were made from something
        else, or a file that is none of ours.
    """
    path = folder / POINTS_FILE
    made_from = plan.as_json()
    key = hash_value(made_from)
    if path.exists():
        try:
            stored = json.loads(path.read_text(encoding="utf8"))
            points = [Point(**point) for point in stored["points"]]
            same = stored["key"] == key
        except (ValueError, KeyError, TypeError) as err:
            raise BenchmarkError(f"{path} holds no points: delete it ({err})") from err
        if not same:
            raise BenchmarkError(
                f"{path} was made with other data or settings: choose another folder"
            )
        return points
    points = plan.make_points(**hooks)
    data = {"key": key, "from": made_from, "points": [asdict(p) for p in points]}
    write_json(path, data)
    return points


def ablation_config(
    points: Sequence[Point], folder: Path, grid: Dict[str, Any]
) -> BenchmarkConfig:
    """The benchmark that trains every point, whose label words are written to files.

    points (Sequence[Point]): The points. folder (Path): Of the run.
    grid (Dict[str, Any]): The rest of the config: datasets, backbones, shots, ...
    RAISES (BenchmarkError): If a value is wrong.
    """
    variants = {}
    for i, point in enumerate(points, 1):
        path = folder / WORDS_FOLDER / f"{i}.json"
        write_words(point.label_words, path)
        # Braces in file names of a config are fields, which these are not.
        escaped = str(path).replace("{", "{{").replace("}", "}}")
        variants[point.name] = {"label_words": escaped}
    return make_config({**grid, "variants": variants}, "the options of the ablation")


def summarise(
    plan: Dict[str, Any], points: Sequence[Point], records: Sequence[Record]
) -> Dict[str, Any]:
    """Put points and figures together, as they are written to NAME.json.

    plan (Dict[str, Any]): From `AblationPlan.as_json`.
    points (Sequence[Point]): Its points. records (Sequence[Record]): Of their cells.
    RETURNS (Dict[str, Any]): Per point value, label words, sizes, and per method and K
        the mean and standard deviation of F1 (0 to 100, IO gold) with the cells.
    """
    return {
        FORMAT_KEY: FORMAT,
        "ablation": plan["ablation"],
        "made_from": plan,
        "points": [
            {**asdict(point), "results": _results(point, records)} for point in points
        ],
    }


def summary_lines(summary: Dict[str, Any]) -> List[str]:
    """One line per point, for people."""
    lines = []
    for point in summary["points"]:
        results = ", ".join(
            f"{r['method']} K={r['shots']} {r['mean']:.2f} ({r['sd']:.2f})"
            for r in point["results"]
        )
        lines.append(f"{point['name']}: F1 {results or '-'}")
    return lines


def write_json(path: Path, data: Any) -> None:
    """Write JSON that is complete or not there."""
    text = json.dumps(data, ensure_ascii=False, indent=1)
    write_atomically(path, f"{text}\n")


def _results(point: Point, records: Sequence[Record]) -> List[Dict[str, Any]]:
    groups: Dict[Any, List[Record]] = {}
    for record in records:
        if record["variant"] == point.name:
            key = (record["method"], record["shots"])
            groups.setdefault(key, []).append(record)
    results = []
    for (method, shots), group in groups.items():
        mean, deviation = mean_and_deviation([100 * r["io"]["f"] for r in group])
        results.append(
            {
                **{"method": method, "shots": shots, "n": len(group)},
                **{"mean": round(mean, DIGITS), "sd": round(deviation, DIGITS)},
                "cells": [_cell(record) for record in group],
            }
        )
    return results


def _cell(record: Record) -> Dict[str, Any]:
    return {
        **{field: record[field] for field in ("split", "seed", "copied")},
        **{way: round(100 * record[way]["f"], DIGITS) for way in ("io", "bio")},
        "label_words": record["label_words"],
    }
