"""The ablations of the paper, and its Table 3: label words for each value of what is
varied, as variants of a comparison.

    python project/benchmarks/ablation.py threshold OUT --text distant.jsonl \\
        --config project/benchmarks/configs/conll.yml
    python -m spacy entlm compare OUT/compare.yml OUT
    python project/benchmarks/ablation.py plot OUT

threshold     the share of a word's occurrences that must have the class
top-k         label words per class
lexicon-size  the most frequent names of each class; the text is annotated anew
unlabeled-size  sentences of the text, in an order drawn at random
domain        the text against as many words of a plain text (--general)
table3        words by data, by LM and by both, each one and six a class

TEXT is annotated with a lexicon; the names that are annotated in it stand for that.
"""

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pandas
import spacy
import srsly
import typer
from spacy.tokens import Doc
from subsample import subsample
from tqdm import tqdm

from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.evaluation.pages import new_figure
from spacy_entlm.files.file import replace_file, write_file
from spacy_entlm.files.json_lines import dump_json
from spacy_entlm.files.text import read_lines
from spacy_entlm.label_words.lm_counts import count_predictions
from spacy_entlm.label_words.search import (
    SearchSettings,
    count_docs,
    fold_counts,
    search_label_words,
)
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.match import LexiconMatcher, annotate
from spacy_entlm.model.search_reader import TextReader

SHARES = (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
DEFAULTS = SearchSettings()
# Settings of the search that differ; the text stays the same.
SETTINGS: Dict[str, Dict[str, SearchSettings]] = {
    "threshold": {
        str(x): replace(DEFAULTS, threshold=x) for x in (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
    },
    "top-k": {str(k): replace(DEFAULTS, top_k=k) for k in (1, 2, 4, 6, 8, 10)},
    "table3": {
        f"{method}, {name}": replace(DEFAULTS, method=method, top_k=k)
        for method in ("data", "lm", "data-lm")
        for name, k in (("discrete", 1), ("virtual", 6))
    },
}
TEXTS = ("lexicon-size", "unlabeled-size", "domain")
PLOT = "plot"


def main(
    name: str = typer.Argument(
        ..., help=f"{', '.join((*SETTINGS, *TEXTS))}, or {PLOT}"
    ),
    out: Path = typer.Argument(..., help="Folder"),
    text: Optional[Path] = typer.Option(None, help="Annotated with a lexicon"),
    config: Optional[Path] = typer.Option(None, help="Of `compare`, with one backbone"),
    general: Optional[Path] = typer.Option(None, help="Plain text of no domain"),
    seed: int = 1,
) -> None:
    """Write OUT/words and OUT/compare.yml; or, when that was run, OUT/plot.svg."""
    if name == PLOT:
        plot(out)
        return
    if text is None or config is None or name not in (*SETTINGS, *TEXTS):
        raise typer.BadParameter("name an ablation, --text and --config")
    data = srsly.read_yaml(config)
    (backbone,) = data["backbones"].values()
    reader: Any = TextReader(backbone["path"])
    docs = read_docs(text, spacy.blank("en"))[0]

    def search(docs: List[Doc], settings: List[SearchSettings]) -> List[Dict]:
        seen = fold_counts(count_docs(docs), reader.fold_word)
        predicted = count_predictions(reader, docs, progress=tqdm)
        lm = fold_counts(predicted, reader.fold_word)
        return [
            search_label_words(seen, lm, one, get_pieces=reader.word_pieces)
            for one in settings
        ]

    if name in SETTINGS:
        points = SETTINGS[name]
        found = dict(zip(points, search(docs, list(points.values()))))
    else:
        texts = vary_text(name, docs, general, seed)
        found = {value: search(part, [DEFAULTS])[0] for value, part in texts}
    variants = {}
    for value, classes in found.items():
        path = out / "words" / f"{value}.json"
        words = {label: one.words for label, one in classes.items()}
        replace_file(path, dump_json(words))
        variants[value] = {"label_words": str(path)}
        print(value, words)
    for dataset in data["datasets"].values():
        dataset.pop("label_words", None)
    with write_file(out / "compare.yml") as temporary:
        srsly.write_yaml(temporary, {**data, "title": name, "variants": variants})


def vary_text(
    name: str, docs: List[Doc], general: Optional[Path], seed: int
) -> Iterator[Tuple[str, List[Doc]]]:
    """The texts of an ablation, annotated."""
    if name == "unlabeled-size":
        order = random.Random(seed).sample(docs, len(docs))
        for share in SHARES:
            yield f"{share:.0%}", order[: max(1, round(share * len(order)))]
        return
    counts = Counter((ent.text, ent.label_) for doc in docs for ent in doc.ents)
    entries = [Entry(n, label, float(count)) for (n, label), count in counts.items()]

    def mark(docs: List[Doc], entries: List[Entry]) -> List[Doc]:
        copies = (unannotated(doc) for doc in docs)
        return [doc for doc, _ in annotate(copies, LexiconMatcher(entries), join=True)]

    if name == "lexicon-size":
        for share in SHARES:
            yield f"{share:.0%}", mark(docs, subsample(entries, share, seed=seed))
        return
    if general is None:
        raise typer.BadParameter("domain needs --general, a plain text")
    yield "in-domain", mark(docs, entries)
    lines = [line for _, line in read_lines(general) if line.strip()]
    random.Random(seed).shuffle(lines)
    nlp, left = spacy.blank("en"), sum(map(len, docs))
    drawn: List[Doc] = []
    for line in lines:
        if left > 0:
            drawn.append(nlp.make_doc(line))
            left -= len(drawn[-1])
    yield "general", mark(drawn, entries)


def plot(out: Path) -> None:
    """Draw F1 over the values."""
    report = json.loads((out / "report.json").read_text(encoding="utf8"))
    figure, axes = new_figure()
    scores = pandas.DataFrame(report["scores"])
    for names, part in scores.groupby(["dataset", "method", "shots"], sort=False):
        places = range(len(part))
        label = "{}, {}, K = {}".format(*names)
        axes.errorbar(places, part["f1"], part["deviation"], capsize=3, label=label)
    axes.set_xticks(range(scores["variant"].nunique()), scores["variant"].unique())
    axes.set_xlabel(report["title"])
    axes.set_ylabel("F1")
    axes.legend()
    figure.savefig(out / "plot.svg")


if __name__ == "__main__":
    typer.run(main)
