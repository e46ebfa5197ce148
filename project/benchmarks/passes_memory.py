"""Memory of one process that reads the same sentences again and again, shuffled.

    python project/benchmarks/passes_memory.py --model PIPELINE --test test.jsonl

Memory that grows from pass to pass is kept for batches of ever new sizes: PyTorch and
oneDNN keep 1024 products of every kind ready. How it grows with fewer of them:

    ONEDNN_PRIMITIVE_CACHE_CAPACITY=16 LRU_CACHE_CAPACITY=16 python ...

Linux only.
"""

import random
import time
from pathlib import Path

import spacy
import typer

from spacy_entlm.corpus.readers import read_docs


def main(
    model: Path = typer.Option(..., help="Trained pipeline"),
    test: Path = typer.Option(..., help="Sentences of any form that convert reads"),
    passes: int = 5,
) -> None:
    """Print the resident memory and the words per second of each pass."""
    nlp = spacy.load(model)
    docs, _ = read_docs(test, spacy.blank("xx"))
    texts = [doc.text for doc in docs]
    print(f"{resident():,} MiB after loading")
    order = random.Random(0)
    for turn in range(1, passes + 1):
        order.shuffle(texts)
        start = time.perf_counter()
        n_words = sum(len(doc) for doc in nlp.pipe(texts))
        speed = n_words / (time.perf_counter() - start)
        print(f"pass {turn}: {resident():,} MiB, {speed:,.0f} words per second")


def resident() -> int:
    """Resident memory of this process, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return (
        int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) >> 10
    )


if __name__ == "__main__":
    typer.run(main)
