"""Speed and F1 of one trained pipeline in several number formats, compiled and not.

    python project/benchmarks/number_formats.py OUT.json --model PIPELINE \\
        --test test.jsonl [--sentences 600]

Rounds in turn; ratios are those of the medians to float32. F1 and the words whose label
differs from float32's are those of the whole test file. "int8" is PyTorch's dynamic
quantisation of the encoder's linear layers, "compiled" torch.compile with shapes that
may change.
"""

import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List

import spacy
import torch
import typer
from spacy.tokens import Doc
from spacy.training import Example
from tqdm import tqdm

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.model.precision import fastest_precision

BATCH_SIZE = 256


def main(
    out: Path,
    model: Path = typer.Option(..., help="Trained pipeline"),
    test: Path = typer.Option(..., help="Annotated sentences"),
    sentences: int = typer.Option(600, help="Timed on the first ones"),
    formats: str = "float32,bfloat16,int8,compiled",
    rounds: int = 5,
    threads: int = 2,
) -> None:
    """Measure each format and write all figures to OUT."""
    torch.set_num_threads(threads)
    gold, _ = read_docs(test, spacy.blank("en"))
    pipelines: Dict[str, Any] = {}
    for name in formats.split(","):
        pipelines[name] = MAKERS[name](str(model))
        print(
            f"{name}: ready after {_seconds(pipelines[name], gold[:sentences]):.1f} s"
        )
    seconds: Dict[str, List[float]] = {name: [] for name in pipelines}
    for _ in tqdm(range(rounds), unit="round"):
        for name, nlp in pipelines.items():
            seconds[name].append(_seconds(nlp, gold[:sentences]))
    results: Dict[str, Any] = {
        "threads": threads,
        "auto": fastest_precision("cpu", 768),
    }
    reference = None
    for name, nlp in pipelines.items():
        docs = _predict(nlp, gold)
        labels = [token.ent_type_ for doc in docs for token in doc]
        reference = reference or labels
        examples = [Example(doc, given) for doc, given in zip(docs, gold)]
        median = statistics.median(seconds[name])
        results[name] = {
            "seconds": seconds[name],
            "speed": statistics.median(seconds["float32"]) / median,
            "f1": 100 * score_entities(examples)["io"]["f"],
            "words_changed": sum(a != b for a, b in zip(labels, reference)),
            "words": len(labels),
        }
        print(
            f"{name:10} {results[name]['speed']:.2f} x float32, F1 "
            f"{results[name]['f1']:.2f}, {results[name]['words_changed']} of "
            f"{len(labels):,} words have another label"
        )
    out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")


def _load(path: str, precision: str = "float32") -> Any:
    return spacy.load(path, config={"components.entlm_ner.model.precision": precision})


def _int8(path: str) -> Any:
    nlp = _load(path)
    masked_lm = nlp.get_pipe("entlm_ner").label_model.network.masked_lm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        masked_lm.body = torch.ao.quantization.quantize_dynamic(
            masked_lm.body, {torch.nn.Linear}, dtype=torch.qint8
        )
    return nlp


def _compiled(path: str) -> Any:
    nlp = _load(path)
    masked_lm = nlp.get_pipe("entlm_ner").label_model.network.masked_lm
    encoder = masked_lm.body.base_model.encoder
    encoder.forward = torch.compile(encoder.forward, dynamic=True)
    return nlp


MAKERS: Dict[str, Callable[[str], Any]] = {
    "float32": _load,
    "bfloat16": lambda path: _load(path, "bfloat16"),
    "int8": _int8,
    "compiled": _compiled,
}


def _predict(nlp: Any, gold: List[Doc]) -> List[Doc]:
    docs = (Doc(nlp.vocab, words=[token.text for token in doc]) for doc in gold)
    return list(nlp.pipe(docs, batch_size=BATCH_SIZE))


def _seconds(nlp: Any, gold: List[Doc]) -> float:
    start = time.perf_counter()
    _predict(nlp, gold)
    return time.perf_counter() - start


if __name__ == "__main__":
    typer.run(main)
