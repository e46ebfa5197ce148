"""A backbone that has learned the names of a lexicon in plain text: at each of them it
says a label word of the name's class (the objective of EntLM)."""

import random
from heapq import nlargest
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from tqdm import tqdm

from ..backbones.names import ENTLM_MINI
from ..backbones.recommended import LABEL_WORDS_KEY, read_recommended
from ..corpus.texts import make_docs, read_texts
from ..files.errors import DataError
from ..lexicon.match import LexiconMatcher, annotate
from ..lexicon.readers import read_lexicon
from ..model.base import get_label_model
from ..pretraining.folder import check_model_folder, write_model
from ..pretraining.pieces import find_texts
from ..pretraining.report import (
    describe_backbone,
    describe_files,
    recommendations,
    versions,
)
from .check import ENTLM_FACTORY
from .recipe import train

BATCH_SIZE = 32
# Sentences that are kept to measure what was learned, at most a third of them.
WATCHED = 50


def learn_names(
    lexicon: Path,
    text: List[Path],
    out: Path,
    *,
    backbone: str = ENTLM_MINI,
    sentences: int = 10_000,
    label: Optional[str] = None,
    lang: str = "en",
    seed: int = 0,
    mixed_precision: bool = False,
    overwrite: bool = False,
    echo: Callable[[str], None] = print,
) -> Dict[str, Any]:
    """Learn names from text, and write a model folder with its pretrain.json.

    text, out, backbone, echo: As in `Pretraining`.
    sentences (int): Sentences with names that are learned from, at most.
    label (Optional[str]): Class of names that have none, as in a plain list.
    lang (str): Language whose tokenizer and stop words are used.
    RETURNS (Dict[str, Any]): What pretrain.json says.
    RAISES (ValueError): If anything given cannot be used.
    """
    check_model_folder(out, overwrite=overwrite)
    files = find_texts(text)
    if sentences < 1:
        raise DataError(f"--sentences is 1 or more, not {sentences}")
    brought = read_recommended(backbone)
    facts = {**describe_backbone(backbone), **recommendations(backbone)}
    try:
        nlp = spacy.blank(lang)
    except ImportError as error:
        raise DataError(f"--lang {lang}: {error}") from error
    model = {
        "name": backbone,
        "mixed_precision": mixed_precision,
        "train_vocabulary": True,
    }
    pipe: Any = nlp.add_pipe(ENTLM_FACTORY, config={"model": model})
    marked = _mark(files, nlp, lexicon, label)
    chosen = _draw(marked, sentences + WATCHED, random.Random(seed))
    if len(chosen) < 2:
        problem = "The text has fewer than two sentences with a name of the lexicon"
        raise DataError(f"{problem}: give more text, or another lexicon")
    n_watched = min(WATCHED, max(1, len(chosen) // 3))
    watched, learned = chosen[:n_watched], chosen[n_watched:][:sentences]
    n_names = sum(len(doc.ents) for doc in learned)
    echo(f"{n_names:,} names in {len(learned):,} sentences")
    train(nlp, learned, epochs=1, batch_size=BATCH_SIZE, seed=seed)
    scores = nlp.evaluate([Example(nlp.make_doc(doc.text), doc) for doc in watched])
    found = {key: scores[key] for key in ("ents_p", "ents_r", "ents_f")}
    others = [label for label in brought.label_words if label not in pipe.labels]
    network = get_label_model(pipe.model).network
    words = {label: brought.label_words[label] for label in others}
    pipe.label_model.add_labels(words, learned=brought)
    report = {
        **facts,
        "text": describe_files(files),
        "lexicon": describe_files([lexicon]),
        LABEL_WORDS_KEY: pipe.label_data,
        "names": {"sentences": len(learned), "names": n_names, **found},
        "versions": versions(),
    }
    write_model(network.masked_lm, report, out, network.label_rows)
    f1 = 100 * (found["ents_f"] or 0)
    echo(f"F1 {f1:.1f} % on the lexicon's names in {n_watched} other sentences")
    echo(f"Wrote {out}")
    return report


def _mark(
    files: List[Path], nlp: Language, lexicon: Path, label: Optional[str]
) -> Iterator[Doc]:
    """Sentences with names of the lexicon as their entities."""
    entries, _ = read_lexicon(lexicon, label=label)
    matcher = LexiconMatcher(entries, stop_words=nlp.Defaults.stop_words)
    for path in files:
        lines = read_texts([path])
        shown = tqdm(lines, "Marking names", unit="line", leave=False, disable=None)
        docs = make_docs(enumerate(shown, 1), nlp, path)
        # Words that may be names, though the lexicon lacks them, carry no loss.
        for doc, _ in annotate(docs, matcher, join=True, open_=True):
            if doc.ents:
                yield doc


def _draw(docs: Iterable[Doc], size: int, rng: random.Random) -> List[Doc]:
    """Draw some of a stream of Docs, each with the same chance, in random order."""
    return nlargest(size, docs, key=lambda _: rng.random())
