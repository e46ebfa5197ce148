"""F1 by class names alone, and with a few examples of each class.

    python project/benchmarks/few_shot.py OUT.jsonl NAME=TRAIN:TEST ... \
        --shots 0,5,20 --samples 1,2,3 --measured 300

TRAIN is annotated text, from which the samples are drawn, or a folder of samples
(1.jsonl and so on). Of TEST as many sentences are measured as --measured says, always
the same; 0: all. Without ":TEST" they are other sentences of TRAIN: that is what
settings are chosen on. Classes begin by the names that the data give them. A line of
OUT.jsonl is one training, or with 0 shots none; what is there is not done again. At the
end a table of means is shown, and how many samples end below their names alone.
"""

import json
import random
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import spacy
import torch
import typer
from known_names import f1, parts
from spacy.language import Language
from spacy.tokens import Doc

import spacy_entlm
from spacy_entlm.cli._util import one_line_errors

# A sample that ends this far below its names alone was made worse by its examples.
WORSE = 1.0

Rows = List[Dict[str, Any]]


def main(
    out: Path,
    datasets: List[str] = typer.Argument(..., help="NAME=TRAIN or NAME=TRAIN:TEST"),
    shots: str = typer.Option("0,5", help="Examples of each class"),
    samples: str = typer.Option("1,2,3", help="Seeds of the draws, or files of TRAIN"),
    measured: int = typer.Option(300, help="Sentences of the test part; 0: all"),
    backbone: str = typer.Option("entlm-base", help="A masked LM, or its folder"),
    layers: Optional[int] = typer.Option(None, help="How many of its layers"),
    component: str = typer.Option("entlm_ner", help="Or a peer, such as bert_tagger"),
    threads: int = typer.Option(1, help="Of PyTorch"),
) -> None:
    """Add a line for each training to OUT, and show the means."""
    with one_line_errors():
        torch.set_num_threads(threads)
        rows = read_rows(out)
        done = {(row["data"], row["shots"], row["sample"]) for row in rows}
        for name, train, test in map(paths_of, datasets):
            for sample in map(int, samples.split(",")):
                for n in map(int, shots.split(",")):
                    if (name, n, sample) in done:
                        continue
                    row = {"data": name, "shots": n, "sample": sample}
                    kind = (component, backbone, layers)
                    row |= measure(train, test, n, sample, measured, *kind)
                    rows.append(row)
                    with out.open("a", encoding="utf8") as file:
                        file.write(json.dumps(row) + "\n")
                    print(row, file=sys.stderr, flush=True)
        print(table(rows))


def read_rows(out: Path) -> Rows:
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf8").splitlines()]


def paths_of(dataset: str) -> Tuple[str, str, Optional[Path]]:
    """A data set as it is named: its name, the training part, the test part."""
    name, _, paths = dataset.partition("=")
    train, _, test = paths.partition(":")
    return name, train, Path(test) if test else None


def measure(
    train: str,
    test: Optional[Path],
    shots: int,
    sample: int,
    measured: int,
    component: str,
    backbone: str,
    layers: Optional[int],
) -> Dict[str, Any]:
    """One training, measured. train (str): With "{shots}" in place of their number
    where there is a folder of samples for each."""
    path = Path(train.replace("{shots}", str(shots or 5)))
    examples, gold, _ = parts(path, test, shots or 5, sample)
    if measured and len(gold) > measured:
        gold = random.Random(0).sample(gold, measured)
    labels = sorted({ent.label_ for doc in examples for ent in doc.ents})
    start = time.monotonic()
    nlp = pipeline(examples if shots else [], labels, component, backbone, layers)
    seconds = time.monotonic() - start
    return {"f1": f1(nlp, gold), "sentences": len(gold), "seconds": round(seconds, 1)}


def pipeline(
    examples: List[Doc],
    labels: List[str],
    component: str,
    backbone: str,
    layers: Optional[int],
) -> Language:
    """A pipeline with the defaults that learned from the examples, if there are any."""
    nlp = spacy.blank("xx")
    config: Dict[str, Any] = {"model": {"name": backbone, "layers": layers}}
    if component == "entlm_ner":  # peers know no class before they have learned
        config["labels"] = labels
    nlp.add_pipe(component, config=config)
    if examples:
        spacy_entlm.train(nlp, examples, seed=1)
    return nlp


def table(rows: Rows) -> str:
    """Means and standard deviations over the samples, and what became worse."""
    cells: Dict[Tuple[str, int], Dict[int, float]] = defaultdict(dict)
    for row in rows:
        cells[row["data"], row["shots"]][row["sample"]] = row["f1"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    shots = sorted({row["shots"] for row in rows})
    lines = ["| | " + " | ".join(f"{n or 'names alone'}" for n in shots) + " |"]
    lines.append("| --- |" + " ---: |" * len(shots))
    for name in names:
        shown = [cell(list(cells[name, n].values())) for n in shots]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    means = [
        cell([statistics.mean(x) for k in names if (x := cells[k, n].values())], False)
        for n in shots
    ]
    lines.append("| mean | " + " | ".join(means) + " |")
    worse = [
        f"{name} ({n}, sample {sample})"
        for (name, n), found in cells.items()
        for sample, value in found.items()
        if n and value < cells.get((name, 0), {}).get(sample, value) - WORSE
    ]
    return "\n".join([*lines, "", f"Worse than names alone: {', '.join(worse) or 0}"])


def cell(values: List[float], spread: bool = True) -> str:
    if not values:
        return ""
    mean = f"{statistics.mean(values):.1f}"
    return f"{mean} ({statistics.stdev(values):.1f})" if spread and values[1:] else mean


if __name__ == "__main__":
    typer.run(main)
