"""Time of `spacy.load` beyond an empty pipeline, against its weights and tokenizer.

    python project/benchmarks/load_time.py OUT.json --model PIPELINE [--rounds 15]

PIPELINE is a trained `entlm_ner` pipeline, a folder or an installed package. Processor
time of one thread, in rounds in turn, imports done before: spacy.load of the pipeline,
spacy.load of an empty one in the same language, safetensors' load_file of the weights,
and transformers' tokenizer from the same folder. safetensors maps a file and reads it
when it is used: the weights are read once on both sides. The ratio of medians is

    (pipeline - empty pipeline) / (weights + tokenizer).
"""

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import spacy
import torch
import typer
from safetensors.torch import load_file
from tqdm import tqdm
from transformers import AutoTokenizer

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.files.file import write_file

COMPONENT = "entlm_ner"
WANTED = 1.5


def main(
    out: Path,
    model: str = typer.Option(..., help="Folder or package of a trained pipeline"),
    rounds: int = typer.Option(15, min=1),
) -> None:
    """Measure and write all figures to OUT."""
    torch.set_num_threads(1)
    with one_line_errors(), tempfile.TemporaryDirectory() as empty:
        nlp = spacy.load(model)
        folder = Path(nlp.path or model) / COMPONENT / "model"
        weights = folder / "model.safetensors"
        if COMPONENT not in nlp.pipe_names or not weights.is_file():
            raise ValueError(
                f"{model} has no trained {COMPONENT}: there is no {weights}"
            )
        spacy.blank(nlp.lang).to_disk(empty)
        milliseconds = measure(
            {
                "pipeline": lambda: _read_all(_parameters(spacy.load(model))),
                "empty pipeline": lambda: spacy.load(empty),
                "weights": lambda: _read_all(load_file(weights).values()),
                "tokenizer": lambda: AutoTokenizer.from_pretrained(folder),
            },
            rounds,
        )
    medians = {name: statistics.median(runs) for name, runs in milliseconds.items()}
    beyond = medians["pipeline"] - medians["empty pipeline"]
    ratio = beyond / (medians["weights"] + medians["tokenizer"])
    results = {"milliseconds": milliseconds, "ratio": ratio, "weights": str(weights)}
    with write_file(out) as path:
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")
    for name, median in medians.items():
        print(f"{name:16} {median:7.1f} ms")
    print(
        f"beyond the empty pipeline: {ratio:.2f} of weights and tokenizer "
        f"(at most {WANTED})"
    )


def measure(
    methods: Dict[str, Callable[[], Any]], rounds: int
) -> Dict[str, List[float]]:
    """Milliseconds of processor time of each method, after one round that is not
    counted."""
    taken: Dict[str, List[float]] = {name: [] for name in methods}
    for number in tqdm(range(rounds + 1), unit="round", disable=None):
        for name, run in methods.items():
            start = time.process_time()
            run()
            if number:
                taken[name].append(1000 * (time.process_time() - start))
    return taken


def _parameters(nlp: Any) -> List[torch.Tensor]:
    return list(nlp.get_pipe(COMPONENT).label_model.network.parameters())


@torch.no_grad()
def _read_all(tensors: Any) -> None:
    for tensor in tensors:
        tensor.sum()


if __name__ == "__main__":
    typer.run(main)
