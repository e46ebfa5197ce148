"""What it would bring to tokenise the next texts in a thread while the model works.

    python project/benchmarks/read_ahead.py --model PIPELINE --test test.jsonl

The same sentences, predicted as the component does it and with the windows of the next
group read in a thread, in turn; and the time of reading alone.
"""

import statistics
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import spacy
import typer
from spacy.tokens import Doc

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.model import architecture
from spacy_entlm.pipeline.stream import look_ahead

BATCH_SIZE = 256
Groups = Iterator[List[Doc]]


def main(
    model: Path = typer.Option(..., help="Trained pipeline"),
    test: Path = typer.Option(..., help="Sentences of any form that convert reads"),
    name: str = typer.Option("entlm_ner", help="Of the component"),
    rounds: int = 5,
) -> None:
    """Print the medians and the ratio."""
    nlp = spacy.load(model)
    docs, _ = read_docs(test, spacy.blank("xx"))
    texts = [doc.text for doc in docs]
    pipe: Any = nlp.get_pipe(name)
    read = architecture.get_doc_windows
    ready: Dict[int, Any] = {}
    # Windows that a thread has read are taken, others are read now.
    architecture.get_doc_windows = lambda model, docs: (  # type: ignore[assignment]
        ready.pop(id(docs[0]), None) or read(model, docs)
    )

    def put_ready(docs: List[Doc]) -> List[Doc]:
        ready[id(docs[0])] = read(pipe.model, docs)
        return docs

    def predict(groups: Groups) -> None:
        for docs in groups:
            pipe.set_annotations(docs, pipe.predict(docs))

    def only_read(groups: Groups) -> None:
        for docs in groups:
            put_ready(docs)

    ways: Dict[str, Callable[[Groups], None]] = {
        "in turn": predict,
        "read ahead": lambda groups: predict(read_ahead(groups, put_ready)),
        "reading alone": only_read,
    }
    seconds: Dict[str, List[float]] = {way: [] for way in ways}
    for turn in range(rounds + 1):
        for way, run in ways.items():
            fresh = [nlp.make_doc(text) for text in texts]
            start = time.perf_counter()
            run(look_ahead(fresh, BATCH_SIZE))
            if turn:  # the first one packs weights
                seconds[way].append(time.perf_counter() - start)
            ready.clear()
    medians = {way: statistics.median(values) for way, values in seconds.items()}
    for way, median in medians.items():
        print(f"{way:14} {median:.2f} s, {median / medians['in turn']:.3f}")


def read_ahead(groups: Groups, read: Callable[[List[Doc]], List[Doc]]) -> Groups:
    """Groups of Docs; while one is worked on, a thread reads the next."""
    with ThreadPoolExecutor(1) as pool:
        coming: List[Future] = []
        for docs in groups:
            coming.append(pool.submit(read, docs))
            if len(coming) > 1:
                yield coming.pop(0).result()
        yield from (future.result() for future in coming)


if __name__ == "__main__":
    typer.run(main)
