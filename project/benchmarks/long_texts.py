"""F1 and time of a pipeline on long texts, by the length of its windows.

    python project/benchmarks/long_texts.py PIPELINE GOLD... --windows 510:382,126:110

Sentences that follow each other in a file of GOLD are joined to texts of about --words
words. --windows are word pieces, special ones not counted, and the step to the next
window; "null" is what the package takes. The sentences themselves are read, too.
"""

import time
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Iterator, List

import spacy
import typer
from spacy.tokens import Doc
from spacy.training import Example

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.readers import read_docs


def main(
    pipeline: Path,
    gold: List[Path],
    windows: str = "510:382,254:222,126:110,62:46",
    words: int = typer.Option(800, help="Of a text, about"),
) -> None:
    """Print F1, and seconds of processor time, of each."""
    with one_line_errors():
        print("windows | F1 | precision | recall | seconds")
        nlp = spacy.load(pipeline)
        sentences = [read_docs(path, nlp)[0] for path in gold]
        long_texts = [text for docs in sentences for text in _joined(docs, words)]
        print("sentences |", _measure(nlp, sum(sentences, [])))
        for given in windows.split(","):
            sizes = [None] * 2 if given == "null" else map(int, given.split(":"))
            settings = dict(zip(("window", "stride"), sizes))
            config = {"components": {"entlm_ner": {"model": settings}}}
            nlp = spacy.load(pipeline, vocab=nlp.vocab, config=config)
            print(given, "|", _measure(nlp, long_texts), flush=True)


def _joined(docs: List[Doc], n_words: int) -> Iterator[Doc]:
    """Docs that follow each other as one of about n_words words."""
    starts = accumulate(map(len, docs), initial=0)
    for _, group in groupby(zip(starts, docs), lambda pair: pair[0] // n_words):
        joined = Doc.from_docs([doc for _, doc in group])
        assert joined is not None
        yield joined


def _measure(nlp: Any, gold: List[Doc]) -> str:
    begin = time.process_time()
    texts = [Doc(nlp.vocab, words=[word.text for word in doc]) for doc in gold]
    read = list(nlp.pipe(texts))
    seconds = time.process_time() - begin
    scores = nlp.evaluate([Example(*pair) for pair in zip(read, gold)])
    figures = [100 * scores[f"ents_{key}"] for key in "fpr"]
    return " | ".join([*(f"{figure:.2f}" for figure in figures), f"{seconds:.1f}"])


if __name__ == "__main__":
    typer.run(main)
