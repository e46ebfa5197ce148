"""The command `classes`: how the names of classes are read, and where they begin."""

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import spacy
from spacy.language import Language
from spacy.util import is_package

from ..backbones.names import ENTLM_BASE
from ..files.errors import DataError
from ..label_words.alike import near_classes
from ..label_words.lm_counts import CONTINUATION
from ..label_words.names import ReadName, read_names
from ..label_words.nearest import NearWord, nearest_words
from ..pipeline.entlm_ner import EntLMNER
from ..pipeline.loading import pipeline_of_names
from ..training.check import entlm_pipes
from ._classes import LABELS_HELP, read_classes
from ._options import arg, command, opt
from ._util import echo

CONFIG_FILE = "config.cfg"
# Measured on 402 pairs of classes of 19 training parts (docs/label_words.md): of pairs
# whose rows have this cosine or more, every second is confused, in that more than one
# in ten entities that are found of one is taken for the other; of others one in ten.
CONFUSED = 0.65
N_NEAREST = 6
# So many times as many words are looked at, as some are left out.
WIDER = 5
# Pairs of classes that are listed.
MAX_PAIRS = 10
_CLASSES = f"{LABELS_HELP}; or a pipeline, its folder or package"
_BACKBONE = "Masked language model that reads the names: a folder, or a name on the hub"


@command("classes")
def classes_cli(
    classes: str = arg("CLASSES", _CLASSES),
    backbone: Optional[str] = opt(None, _BACKBONE, show_default=ENTLM_BASE),
    n: int = opt(N_NEAREST, "Nearest words to show of each class", min=1),
) -> None:
    """Show how the names of classes are read, which words the model takes for the
    nearest to each class, and which classes would be taken for each other.

    \b
    Example:
      python -m spacy entlm classes person,city,disease
      python -m spacy entlm classes my_model
    """
    is_pipeline = (Path(classes) / CONFIG_FILE).is_file() or is_package(classes)
    if is_pipeline and backbone is not None:
        raise DataError("--backbone goes with names: a pipeline has its own backbone")
    if is_pipeline:
        pipes = _pipes_of(spacy.load(classes), classes)
    else:
        given = read_classes(classes)
        with _quiet():  # what it would warn of is shown here
            nlp = pipeline_of_names(given, "xx", backbone or ENTLM_BASE)
        pipes = entlm_pipes(nlp)
    for name, pipe in pipes.items():
        if len(pipes) > 1:
            echo(f"Component {name}:")
        echo(*_lines(pipe, n))


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("spacy.entlm")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _pipes_of(nlp: Language, name: str) -> Dict[str, Any]:
    pipes = entlm_pipes(nlp)
    if not pipes:
        raise DataError(f"{name} has no entlm_ner, and so no classes by name")
    for pipe in pipes.values():
        pipe.begin()
        if not hasattr(pipe.network, "masked_lm"):
            raise DataError(
                f"{name} was exported, and has lost what its classes began as: name "
                f"the pipeline that it was made from"
            )
    return pipes


def _lines(pipe: EntLMNER, n: int) -> List[str]:
    """What is shown of a component."""
    texts, read = pipe.label_data, read_names(pipe.labels)
    if not texts:
        return ["There are no classes"]
    vocabulary = pipe.network.vocabulary.weight.detach().cpu().numpy()
    rows = pipe.network.label_rows.weight.detach().cpu().numpy()
    tokenizer = pipe.network.tokenizer
    lines = []
    for label, row in zip(pipe.labels, rows):
        lines.append(f"{label}: {_reading(texts[label], read[label])}")
        near = nearest_words(row, vocabulary, tokenizer, WIDER * n)
        lines.append(f"  near to: {', '.join(_whole_words(near)[:n])}")
    return [*lines, "", *_advice(pipe.labels, rows, texts, read)]


def _whole_words(near: List[NearWord]) -> List[str]:
    """Without pieces that begin no word, and in one way of writing each."""
    whole: Dict[str, str] = {}
    for each in near:
        if not each.word.startswith(CONTINUATION):
            whole.setdefault(each.word.casefold(), each.word)
    return list(whole.values())


def _reading(texts: List[str], read: ReadName) -> str:
    """By which texts a class began, and how they were read."""
    by_name = texts == [read.text]
    return f"{' | '.join(texts)} ({read.how if by_name else 'given'})"


def _advice(labels: Any, rows: Any, texts: Any, read: Any) -> List[str]:
    lines = [
        f"The name {label!r} says nothing of what is meant: give it a word or a "
        f'description, as {{"{label}": "ship"}} in a .json file, or examples'
        for label in labels
        if texts[label] == [read[label].text] and not read[label].says
    ]
    near = near_classes(labels, rows, CONFUSED)
    for one, other, cosine in near[:MAX_PAIRS]:
        begin = f"{one} and {other}"
        if sorted(texts[one]) == sorted(texts[other]):
            lines.append(f"{begin} begin alike, by {' | '.join(texts[one])}")
        else:
            lines.append(f"{begin} are near to each other (cosine {cosine:.2f})")
    if (more := len(near) - MAX_PAIRS) > 0:
        lines.append(f"and {more} more pairs")
    if near:
        lines.append(
            "Classes that are near are taken for each other. Give them words that say "
            "what sets them apart, or examples of both; or make one class of them"
        )
    return lines or ["No class is so near to another that they would be confused"]
