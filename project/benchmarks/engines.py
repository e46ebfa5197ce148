"""A pipeline on PyTorch and exported for ONNX Runtime, side by side in one run.

    OMP_NUM_THREADS=1 python project/benchmarks/engines.py OUT.json \\
        --model PIPELINE --test ../shared/data/conll03/test.jsonl

The engines read the same documents in turn, round after round, in one process. Speed is
by processor time, which other work on the machine disturbs less than time by the clock;
with one thread both are the same on a quiet one. F1 and changed entities are of the
whole test part, speed of its first --words words.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.files.file import replace_file
from spacy_entlm.files.json_lines import dump_json
from spacy_entlm.pipeline.export import export

PYTORCH, FORMATS = "pytorch float32", ("float32", "int8")
BATCH_SIZE = 256


def main(
    out: Path,
    model: Path = typer.Option(..., help="Trained EntLM pipeline"),
    test: Path = typer.Option(..., help="Annotated text"),
    words: int = typer.Option(8000, help="Words that are timed"),
    rounds: int = typer.Option(5, min=1),
) -> None:
    """Measure, write the figures to OUT.json and print them."""
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        engines = {PYTORCH: spacy.load(model)}
        for format in FORMATS:
            target = Path(folder, format)
            engines[f"onnx {format}"] = export(engines[PYTORCH], target, format=format)
        gold, _ = read_docs(test, spacy.blank(engines[PYTORCH].lang))
        figures = quality(engines, gold)
        part = first_docs(gold, words)
        n_words = sum(map(len, part))
        for name, seconds in timed(engines, part, rounds).items():
            figures[name]["seconds"] = [round(each, 3) for each in seconds]
            speed = n_words / statistics.median(seconds)
            figures[name]["words_per_second"] = round(speed, 1)
        replace_file(out, dump_json({"model": str(model), "engines": figures}))
    print_table(figures)


def quality(engines: Dict[str, Language], gold: List[Doc]) -> Dict[str, Dict[str, Any]]:
    """F1 of each engine, and how many entities only one of it and PyTorch finds."""
    figures: Dict[str, Dict[str, Any]] = {}
    reference: List[Any] = []
    for name, nlp in engines.items():
        docs = read(nlp, gold)
        examples = [Example(doc, one) for doc, one in zip(docs, gold)]
        found = [{(e.start, e.end, e.label_) for e in doc.ents} for doc in docs]
        reference = reference or found
        figures[name] = {
            "f1": round(100 * score_entities(examples)["io"]["f"], 2),
            "entities": sum(map(len, found)),
            "other": sum(len(one ^ two) for one, two in zip(found, reference)),
        }
    return figures


def read(nlp: Language, gold: List[Doc]) -> List[Doc]:
    """The documents as a pipeline annotates them."""
    docs = [unannotated(doc, nlp.vocab) for doc in gold]
    return list(nlp.pipe(docs, batch_size=BATCH_SIZE))


def timed(
    engines: Dict[str, Language], part: List[Doc], rounds: int
) -> Dict[str, List[float]]:
    """Seconds of processor time of each round, after one that warms up."""
    seconds: Dict[str, List[float]] = {name: [] for name in engines}
    for number in range(rounds + 1):
        for name, nlp in engines.items():
            start = time.process_time()
            read(nlp, part)
            if number:
                seconds[name].append(time.process_time() - start)
    return seconds


def first_docs(docs: List[Doc], n_words: int) -> List[Doc]:
    """The first of them, about so many words."""
    part: List[Doc] = []
    for doc in docs:
        if sum(map(len, part)) >= n_words:
            break
        part.append(doc)
    return part


def print_table(figures: Dict[str, Dict[str, Any]]) -> None:
    """A table in Markdown."""
    base = figures[PYTORCH]["words_per_second"]
    print("| engine | words per second | : PyTorch | F1 | entities | others |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, each in figures.items():
        ratio = each["words_per_second"] / base
        cells = [name, each["words_per_second"], f"{ratio:.2f}"]
        cells += [each["f1"], each["entities"], each["other"]]
        print("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    typer.run(main)
