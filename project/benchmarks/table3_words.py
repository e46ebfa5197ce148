"""Label words for Table 3 of the paper: by data, by LM, by both; one and six a class.

    python project/benchmarks/table3_words.py project/benchmarks/configs/table3.yml

CoNLL: from its lexicon-labelled training text. MIT Movie: from the training queries'
words, whose gold labels are not looked at, annotated with lists of names and rules.
Classes without a list (PLOT, CHARACTER, SONG, REVIEW, TRAILER), and those for which a
search finds nothing, take the words of the few-shot examples: so words are written per
split. Files: build/table3/words/DATASET/{K}shot/SPLIT/METHOD-{1,6}.json.
"""

from itertools import product
from pathlib import Path
from typing import Dict, Iterable, List, Tuple

import spacy
import typer
from movie_lexicon import movie_lexicon
from spacy.tokens import Doc
from tqdm import tqdm

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.evaluation.compare.config import BenchmarkConfig, read_config
from spacy_entlm.evaluation.compare.data import DatasetReader
from spacy_entlm.evaluation.compare.words import WordFinder, write_words
from spacy_entlm.label_words.search import METHODS, TOP_K, SearchSettings
from spacy_entlm.label_words.words import LabelWords
from spacy_entlm.lexicon.match import LexiconMatcher, annotate
from spacy_entlm.lexicon.report import MatchReport

CONLL, MIT = "conll03", "mit_movie"
SIZES = (1, TOP_K)
WORDS = Path("build/table3/words")
Found = Dict[Tuple[str, int], LabelWords]


def main(
    config_path: Path,
    conll: Path = Path("../shared/data/conll03/distant.jsonl"),
    gazetteers: Path = Path("../shared/data/gazetteers"),
    out: Path = WORDS,
) -> None:
    """Write the label words of every split of a config."""
    config = read_config(config_path)
    (backbone,) = config.backbones.values()
    finder = WordFinder(backbone.path)
    for name in config.datasets:
        docs = _annotated_conll(conll) if name == CONLL else None
        if docs is None:
            docs = _annotated_movie(config, gazetteers)
        _write_splits(config, name, finder, _search(finder, docs), out)


def _annotated_conll(path: Path) -> List[Doc]:
    docs, _ = read_docs(path, spacy.blank("en"))
    print(f"{path}: {len(docs):,} sentences, annotated as they are")
    return docs


def _annotated_movie(config: BenchmarkConfig, gazetteers: Path) -> List[Doc]:
    path = config.datasets[MIT].train
    assert path is not None
    nlp = spacy.blank("en")
    docs, _ = read_docs(path, nlp)
    queries = [[token.text for token in doc] for doc in docs]
    bare = [Doc(nlp.vocab, words=words) for words in queries]
    matcher = LexiconMatcher(movie_lexicon(gazetteers, queries))
    report = MatchReport()
    for doc, matches in annotate(bare, matcher):
        report.add(len(doc), matches)
    print(f"{path}: the words, annotated with {len(matcher):,} names")
    print(*report.lines(), sep="\n")
    return bare


def _search(finder: WordFinder, docs: List[Doc]) -> Found:
    data = finder.count_data(docs)
    lm = finder.count_lm(docs, lambda chunks: tqdm(chunks, unit="batch"))
    return {
        (method, top_k): finder.search(data, lm, SearchSettings(method, top_k))
        for method, top_k in product(METHODS, SIZES)
    }


def _write_splits(
    config: BenchmarkConfig, name: str, finder: WordFinder, found: Found, out: Path
) -> None:
    reader = DatasetReader(name, config.datasets[name])
    splits = sorted({(shots, split) for shots, split, _ in config.grid(name)})
    lacking = set()
    for (shots, split), ((method, top_k), words) in product(splits, found.items()):
        docs = reader.split(shots, split)
        labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
        without = [label for label in labels if not words.get(label)]
        lacking.update((label, method) for label in without)
        filled = {
            **{label: words.get(label, []) for label in labels},
            **finder.search_examples(docs, without, top_k),
        }
        folder = out / name / f"{shots}shot" / str(split)
        write_words(filled, folder / f"{method}-{top_k}.json")
    _report(name, found, lacking)


def _report(name: str, found: Found, lacking: Iterable[Tuple[str, str]]) -> None:
    for (method, top_k), words in found.items():
        print(f"{name}, {method}, {top_k}:")
        for label, chosen in words.items():
            print(f"  {label}: {', '.join(chosen) or '-'}")
    for label, method in sorted(lacking):
        print(f"{name}, {method}: {label} takes its words from the examples")


if __name__ == "__main__":
    typer.run(main)
