"""Train and evaluate the cells that share a training."""

import logging
import platform
import time
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Dict, List, Optional, Tuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

import spacy_entlm

from ...corpus.readers import read_docs
from ...label_words.words import LabelWords
from ...pipeline.base import MaskedLMNER
from .cells import Cell, Job
from .commands import External
from .data import DatasetReader, entity_counts
from .external import run_external
from .methods import Distant
from .predict import (
    bare_doc,
    evaluate,
    evaluate_pipelines,
    last_component,
    lexicon_matches,
    score_docs,
)

logger = logging.getLogger("spacy.entlm")

# Distributions whose versions a record names.
DISTRIBUTIONS = ("spacy-entlm", "spacy", "thinc", "torch", "transformers")


def run_job(job: Job, reader: DatasetReader) -> List[Dict[str, Any]]:
    """Train once, evaluate every cell.

    job (Job): The cells. reader (DatasetReader): Of their dataset.
    RETURNS (List[Dict[str, Any]]): The records of cells and copies.
    """
    first = job.cells[0]
    examples = reader.split(first.name.shots, first.name.split)
    gold = reader.test_docs()
    results: Dict[str, Dict[str, Any]] = {}
    trained: List[Tuple[Cell, Language]] = []
    for cell in job.cells:
        if cell.method.external:
            results[cell.key] = _run_external(cell, examples, reader)
        elif not cell.method.factory:
            matches = lexicon_matches(cell, reader.nlp)
            results[cell.key] = _result(cell, [], 0.0, evaluate(matches, gold))
        elif not trained:
            start = time.perf_counter()
            nlp = train_cell(cell, examples, reader.config.lang)
            seconds = time.perf_counter() - start
            trained.append((cell, nlp))
        else:
            nlp = adopt_training(cell, trained[0][1], examples, reader.config.lang)
            trained.append((cell, nlp))
    for group in _passes(trained, job.share_scores):
        outcomes = evaluate_pipelines([nlp for _, nlp in group], gold)
        for (cell, nlp), outcome in zip(group, outcomes):
            words = getattr(last_component(nlp), "label_data", None)
            used = examples if cell.method.examples else []
            results[cell.key] = _result(cell, used, seconds, outcome, words)
    # A copy has the figures of the cell with its key, and costs no time of its own.
    records = [_record(cell, results[cell.key]) for cell in job.cells]
    copied = {"copied": True, "seconds_train": 0.0, "seconds_test": 0.0}
    records += [_record(cell, {**results[cell.key], **copied}) for cell in job.copies]
    return records


def _passes(
    trained: List[Tuple[Cell, Language]], share_scores: bool
) -> List[List[Tuple[Cell, Language]]]:
    """What one pass over the test part serves: each pipeline alone, or together with
    those that differ from it in their decoders only."""
    if not share_scores:
        return [[one] for one in trained]
    groups: List[List[Tuple[Cell, Language]]] = []
    for cell, nlp in trained:
        for group in groups:
            if _scores_alike((cell, nlp), group[0]):
                group.append((cell, nlp))
                break
        else:
            groups.append([(cell, nlp)])
    return groups


def _scores_alike(one: Tuple[Cell, Language], other: Tuple[Cell, Language]) -> bool:
    components = [last_component(nlp) for _, nlp in (one, other)]
    configs = [{**cell.method.config, "decoder": None} for cell, _ in (one, other)]
    return (
        isinstance(components[0], MaskedLMNER)
        and type(components[0]) is type(components[1])
        and configs[0] == configs[1]
    )


def _result(
    cell: Cell,
    examples: List[Doc],
    seconds_train: float,
    outcome: Dict[str, Any],
    words: Optional[LabelWords] = None,
) -> Dict[str, Any]:
    return {
        "entities": entity_counts(examples),
        "seconds_train": round(seconds_train, 3),
        "label_words": words if cell.method.label_words else None,
        **outcome,
    }


def train_cell(cell: Cell, examples: List[Doc], lang: str) -> Language:
    """A pipeline of a cell's method, trained.

    cell (Cell): The cell. examples (List[Doc]): Its split. lang (str): Of the text.
    """
    nlp = spacy.blank(lang)
    nlp.add_pipe(cell.method.factory, config=cell.method.config)
    settings, method = cell.settings, cell.method
    given: Dict[str, Any] = {
        "learn_rate": settings.learn_rate,
        "seed": cell.name.seed,
        "shape": settings.shape,
    }
    words: Dict[str, Any] = {}
    if method.label_words:
        words["label_words"] = cell.label_words
    if method.distant is not None:
        later = examples if method.examples else []
        _train_distantly(nlp, method.distant, later, words, given)
    if method.examples:
        spacy_entlm.train(
            nlp,
            examples,
            **words,
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            **given,
        )
    return nlp


def _train_distantly(
    nlp: Language,
    distant: Distant,
    examples: List[Doc],
    words: Dict[str, Any],
    given: Dict[str, Any],
) -> None:
    """Train on text that a lexicon annotated.

    distant (Distant): The text, and how long.
    examples (List[Doc]): Their classes are made ready for a later training on them.
    words (Dict[str, Any]): The label words, for a method that has some.
    given (Dict[str, Any]): Of `train`.
    """
    docs = read_docs(distant.path, nlp)[0][: distant.sentences]
    fix_random_seed(given["seed"])
    pipe = last_component(nlp)
    data = [_example(nlp, doc) for doc in (*docs, *examples)]
    pipe.initialize(lambda: data, nlp=nlp, **words)
    spacy_entlm.train(
        nlp, docs, epochs=distant.epochs, batch_size=distant.batch_size, **given
    )


def adopt_training(
    cell: Cell, trained: Language, examples: List[Doc], lang: str
) -> Language:
    """A pipeline of a cell's method with the weights of another.

    cell (Cell), examples (List[Doc]), lang (str): As in `train_cell`.
    trained (Language): The pipeline of another method of the same training.
    """
    source = last_component(trained)
    nlp = spacy.blank(lang)
    pipe: Any = nlp.add_pipe(cell.method.factory, config=cell.method.config)
    data = [_example(nlp, doc) for doc in examples]
    given = {"label_words": cell.label_words} if cell.method.label_words else {}
    pipe.initialize(lambda: data, nlp=nlp, **given)
    exclude = ["decoder"]
    pipe.from_bytes(source.to_bytes(exclude=exclude), exclude=exclude)
    return nlp


def _example(nlp: Language, doc: Doc) -> Example:
    return Example(bare_doc(nlp, doc), doc)


def _run_external(
    cell: Cell, examples: List[Doc], reader: DatasetReader
) -> Dict[str, Any]:
    gold, name = reader.test_docs(), cell.name
    fields = {**cell.settings.model_dump(), **name._asdict()}
    fields["backbone"] = cell.backbone.path
    found = run_external(
        External.model_validate(cell.method.config),
        examples,
        [bare_doc(reader.nlp, doc) for doc in gold],
        fields,
    )
    return {
        "entities": entity_counts(examples),
        "seconds_train": round(found.seconds_train, 3),
        "label_words": None,
        **score_docs(found.docs, gold, None),
        "seconds_test": found.seconds_test,
        "external_versions": found.versions,
    }


def _record(cell: Cell, result: Dict[str, Any]) -> Dict[str, Any]:
    return {
        **cell.name._asdict(),
        "key": cell.key,
        "training": cell.training,
        "settings": cell.settings.model_dump(),
        "component": {"factory": cell.method.factory, **cell.method.config},
        "split_hash": cell.split_hash,
        "test_hash": cell.test_hash,
        "copied": False,
        **result,
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **_machine(),
    }


@lru_cache(maxsize=1)
def _versions() -> Tuple[Tuple[str, str], ...]:
    return tuple((name, version(name)) for name in DISTRIBUTIONS)


def _machine() -> Dict[str, Any]:
    import torch

    return {
        "versions": {**dict(_versions()), "python": platform.python_version()},
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
    }
