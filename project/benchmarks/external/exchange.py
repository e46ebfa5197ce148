"""What the scripts of this folder have in common: the arguments and files of the
method `external` of a benchmark. It needs the standard library only, since each script
runs in an environment of its own."""

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Sequence

OUTSIDE = "O"


class Sentence(NamedTuple):
    """words, and a BIO tag for each."""

    words: List[str]
    tags: List[str]


def make_parser(description: str) -> argparse.ArgumentParser:
    """A parser of the arguments that every script takes.

    description (str): Of the script, shown by --help.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", type=Path, required=True, help="annotated sentences")
    parser.add_argument("--test", type=Path, required=True, help="to be annotated")
    parser.add_argument("--predictions", type=Path, required=True, help="to write")
    parser.add_argument("--report", type=Path, help="to write: seconds and versions")
    parser.add_argument("--backbone", required=True, help="folder, or name on the hub")
    parser.add_argument("--labels", nargs="+", required=True, help="the classes")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def read_sentences(path: Path) -> List[Sentence]:
    """Read JSON lines {"text": [words], "label": [tags]}."""
    lines = path.read_text(encoding="utf8").split("\n")
    entries = [json.loads(line) for line in lines if line]
    return [Sentence(entry["text"], entry["label"]) for entry in entries]


def write_predictions(
    path: Path, sentences: Sequence[Sentence], predicted: Iterable[List[str]]
) -> None:
    """Write sentences with the tags that were predicted, in the form they came in."""
    lines = [
        json.dumps({"text": sentence.words, "label": tags}, ensure_ascii=False) + "\n"
        for sentence, tags in zip(sentences, predicted)
    ]
    path.write_text("".join(lines), encoding="utf8")


class Report:
    """Measures the seconds of training and prediction, and names versions.

    distributions (Sequence[str]): What decides the result.
    """

    def __init__(self, *distributions: str) -> None:
        self.versions = {name: version(name) for name in distributions}
        self.seconds: Dict[str, float] = {}
        self._start = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a part, "seconds_train" or "seconds_test", and begin the next."""
        now = time.perf_counter()
        self.seconds[name] = round(now - self._start, 3)
        self._start = now

    def write(self, path: Path) -> None:
        """Write the report as JSON."""
        report = {**self.seconds, "versions": self.versions}
        path.write_text(json.dumps(report), encoding="utf8")
