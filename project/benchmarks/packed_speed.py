"""Words per second with weights that oneDNN has packed, and without, in turn.

    python project/benchmarks/packed_speed.py --model PIPELINE --test test.jsonl

Two copies of a pipeline read the same sentences, round after round in one process; the
entities must be the same. Packing is switched off as a user would switch it off.
"""

import statistics
import time
from pathlib import Path
from typing import Dict, List, Tuple

import spacy
import torch
import typer
from spacy.language import Language

from spacy_entlm.corpus.readers import read_docs

Entities = List[List[Tuple[int, int, str]]]


def main(
    model: Path = typer.Option(..., help="Trained pipeline"),
    test: Path = typer.Option(..., help="Sentences of any form that convert reads"),
    every: int = typer.Option(6, help="Read one sentence of so many"),
    rounds: int = 7,
) -> None:
    """Print both medians and their ratio."""
    docs, _ = read_docs(test, spacy.blank("xx"))
    texts = [doc.text for doc in docs[::every]]
    pipelines = {packed: spacy.load(model) for packed in (True, False)}
    seconds: Dict[bool, List[float]] = {True: [], False: []}
    found: Dict[bool, Entities] = {}
    for turn in range(rounds + 1):
        for packed, nlp in pipelines.items():
            torch.backends.mkldnn.enabled = packed
            start = time.perf_counter()
            found[packed] = read(nlp, texts)
            if turn:  # the first one loads and packs
                seconds[packed].append(time.perf_counter() - start)
    if found[True] != found[False]:
        raise SystemExit("The entities are not the same")
    n_words = sum(len(doc) for doc in pipelines[True].tokenizer.pipe(texts))
    medians = {packed: statistics.median(seconds[packed]) for packed in (True, False)}
    print(f"{len(texts):,} sentences, {n_words:,} words, the same entities")
    for packed, name in ((True, "packed"), (False, "plain")):
        print(f"{name:8} {n_words / medians[packed]:,.0f} words per second")
    print(f"ratio    {medians[False] / medians[True]:.2f}")


def read(nlp: Language, texts: List[str]) -> Entities:
    """The entities of all texts."""
    return [
        [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        for doc in nlp.pipe(texts, batch_size=256)
    ]


if __name__ == "__main__":
    typer.run(main)
