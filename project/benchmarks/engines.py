"""What pipelines find after an export for ONNX Runtime: F1, and changed entities.

    OMP_NUM_THREADS=1 python project/benchmarks/engines.py OUT.json \\
        PIPELINE=../shared/data/conll03/test.jsonl OTHER=test.jsonl

Each pipeline reads its text on PyTorch and in each format. How fast they are:
project/benchmarks/speed.py with --methods entlm,onnx_float32,onnx_int8.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any, Dict, List

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from tqdm import tqdm

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.files.file import replace_file
from spacy_entlm.files.json_lines import dump_json
from spacy_entlm.pipeline.export import export

FORMATS = ("float32", "int8")
BATCH_SIZE = 256

Figures = Dict[str, Dict[str, Any]]


def main(
    out: Path,
    pairs: List[str] = typer.Argument(..., help="PIPELINE=ANNOTATED TEXT"),
) -> None:
    """Measure, write the figures to OUT.json and print them."""
    with one_line_errors():
        figures = {}
        for pair in tqdm(pairs, unit="pipeline"):
            pipeline, _, text = pair.partition("=")
            if not text:
                raise ValueError(f"{pair!r} is not PIPELINE=ANNOTATED TEXT")
            figures[pipeline] = measure(spacy.load(pipeline), Path(text))
            replace_file(out, dump_json(figures))
    print_table(figures)


def measure(nlp: Language, text: Path) -> Figures:
    """F1 on PyTorch and in each format, and what is found otherwise."""
    gold, _ = read_docs(text, spacy.blank(nlp.lang or "xx"))
    engines = {"pytorch": nlp}
    with tempfile.TemporaryDirectory() as folder:
        for format in FORMATS:
            engines[format] = export(nlp, Path(folder, format), format=format)
    return quality(engines, gold)


def quality(engines: Dict[str, Language], gold: List[Doc]) -> Figures:
    """F1 of each, and how many entities only one of it and the first finds."""
    figures: Figures = {}
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


def first_docs(docs: List[Doc], n_words: int) -> List[Doc]:
    """The first of them, about so many words."""
    part: List[Doc] = []
    for doc in docs:
        if sum(map(len, part)) >= n_words:
            break
        part.append(doc)
    return part


def read(nlp: Language, gold: List[Doc]) -> List[Doc]:
    """The documents as a pipeline annotates them."""
    docs = [unannotated(doc, nlp.vocab) for doc in gold]
    return list(nlp.pipe(docs, batch_size=BATCH_SIZE))


def print_table(figures: Dict[str, Figures]) -> None:
    """A table in Markdown, and the means."""
    heads = [f"{each}: F1 | others" for each in FORMATS]
    print("\n| | entities | F1 | " + " | ".join(heads) + " |")
    print("| --- | " + "---: | " * (2 + 2 * len(FORMATS)))
    for pipeline, each in figures.items():
        cells = [pipeline, each["pytorch"]["entities"], each["pytorch"]["f1"]]
        for format in FORMATS:
            cells += [each[format]["f1"], each[format]["other"]]
        print("| " + " | ".join(map(str, cells)) + " |")
    for format in FORMATS:
        differences = [e[format]["f1"] - e["pytorch"]["f1"] for e in figures.values()]
        print(f"{format}: {statistics.mean(differences):+.2f} F1 in the mean")


if __name__ == "__main__":
    typer.run(main)
