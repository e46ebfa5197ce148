"""Words per second of `entlm-base` by names alone, in each format, on one thread.

    python project/benchmarks/formats_speed.py ../shared/data/conll03/test.jsonl

The first 1,200 sentences, four classes; the median of three rounds in batches, and one
round of 200 sentences given one by one. Each format is measured in its own process.
"""

import multiprocessing
import statistics
import tempfile
import time
from pathlib import Path
from typing import Tuple

import spacy
import torch
import typer

import spacy_entlm
from spacy_entlm.corpus.readers import read_docs

FORMATS = ["float32", "bfloat16", "onnx", "int8"]
SENTENCES, ALONE, ROUNDS = 1200, 200, 3


def main(
    data: Path,
    layers: str = typer.Option("12,6", help="How many layers, with commas"),
    formats: str = typer.Option(",".join(FORMATS), help="Some of these"),
    threads: int = typer.Option(1, help="Of PyTorch and ONNX Runtime"),
) -> None:
    """Print a table of words per second."""
    print("| layers | format | in batches | one by one |")
    print("| ---: | --- | ---: | ---: |")
    context = multiprocessing.get_context("spawn")
    for n in map(int, layers.split(",")):
        for form in formats.split(","):
            with context.Pool(1) as pool:
                many, single = pool.apply(measure, (data, n, form, threads))
            print(f"| {n} | {form} | {many:,.0f} | {single:,.0f} |", flush=True)


def measure(data: Path, layers: int, form: str, threads: int) -> Tuple[float, float]:
    """Words per second in batches, and one by one."""
    torch.set_num_threads(threads)
    docs = read_docs(data, spacy.blank("en"))[0][:SENTENCES]
    texts, n_words = [doc.text for doc in docs], [len(doc) for doc in docs]
    nlp = spacy.blank("en")
    precision = "bfloat16" if form == "bfloat16" else "float32"
    model = {"layers": layers, "precision": precision}
    labels = ["person", "location", "organization", "miscellaneous"]
    nlp.add_pipe("entlm_ner", config={"model": model, "labels": labels})
    nlp(texts[0])
    with tempfile.TemporaryDirectory() as folder:
        if form in ("onnx", "int8"):
            kind = "int8" if form == "int8" else "float32"
            nlp = spacy_entlm.export(nlp, folder, format=kind)
        list(nlp.pipe(texts[:ALONE]))
        rounds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            list(nlp.pipe(texts))
            rounds.append(sum(n_words) / (time.perf_counter() - start))
        start = time.perf_counter()
        for text in texts[:ALONE]:
            nlp(text)
        single = sum(n_words[:ALONE]) / (time.perf_counter() - start)
    return statistics.median(rounds), single


if __name__ == "__main__":
    typer.run(main)
