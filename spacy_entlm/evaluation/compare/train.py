"""Train and measure the cells that share a training."""

import platform
import time
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Dict, List, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_entlm

from ...corpus.docs import unannotated
from ...files.records import Record
from ..scoring import score_entities
from .cells import Cell, Job
from .data import DatasetReader, count_entities
from .external import run_external

# Distributions whose versions a record names.
DISTRIBUTIONS = ("spacy-entlm", "spacy", "thinc", "torch", "transformers")
PREDICT_BATCH = 256
DIGITS = 3


def run_job(job: Job, reader: DatasetReader) -> List[Record]:
    """Train once, measure every cell.

    job (List[Cell]): The cells. reader (DatasetReader): Of their dataset.
    RETURNS (List[Record]): Their records.
    """
    place = job[0].name
    examples = reader.split(place.shots, place.split)
    gold = reader.test_docs()
    if job[0].method.external is not None:
        return [_run_command(cell, examples, gold) for cell in job]
    start = time.perf_counter()
    trained = _train(job[0], examples, reader.config.lang)
    seconds_train = time.perf_counter() - start
    records = []
    for cell in job:
        nlp = trained
        if cell is not job[0]:
            nlp = _adopt(cell, trained, examples, reader.config.lang)
        start = time.perf_counter()
        bare = (unannotated(doc, nlp.vocab) for doc in gold)
        predicted = list(nlp.pipe(bare, batch_size=PREDICT_BATCH))
        seconds_test = time.perf_counter() - start
        words = _component(nlp).label_data if cell.method.label_words else None
        result = _result(examples, gold, predicted, seconds_train, seconds_test)
        records.append(_record(cell, {**result, "label_words": words}))
    return records


def _train(cell: Cell, examples: List[Doc], lang: str) -> Language:
    nlp = spacy.blank(lang)
    nlp.add_pipe(cell.method.factory, config=cell.method.config)
    spacy_entlm.train(
        nlp,
        examples,
        label_words=cell.label_words,
        seed=cell.name.seed,
        **cell.settings.model_dump(),
    )
    return nlp


def _adopt(cell: Cell, trained: Language, examples: List[Doc], lang: str) -> Language:
    """A pipeline of a cell's method with the weights of another method."""
    nlp = spacy.blank(lang)
    pipe: Any = nlp.add_pipe(cell.method.factory, config=cell.method.config)
    data = [Example(unannotated(doc, nlp.vocab), doc) for doc in examples]
    given = {"label_words": cell.label_words} if cell.method.label_words else {}
    pipe.initialize(lambda: data, nlp=nlp, **given)
    exclude = ["decoder"]
    weights = _component(trained).to_bytes(exclude=exclude)
    pipe.from_bytes(weights, exclude=exclude)
    return nlp


def _component(nlp: Language) -> Any:
    """The component that finds the entities."""
    return nlp.get_pipe(nlp.pipe_names[-1])


def _run_command(cell: Cell, examples: List[Doc], gold: List[Doc]) -> Record:
    assert cell.method.external is not None
    fields = {**cell.settings.model_dump(), **cell.name._asdict()}
    found = run_external(
        cell.method.external,
        examples,
        [unannotated(doc) for doc in gold],
        {**fields, "backbone": cell.backbone},
    )
    seconds = found.seconds_train, found.seconds_test
    result = _result(examples, gold, found.docs, *seconds)
    return _record(cell, {**result, "external_versions": found.versions})


def _result(
    examples: List[Doc],
    gold: List[Doc],
    predicted: List[Doc],
    seconds_train: float,
    seconds_test: Optional[float],
) -> Dict[str, Any]:
    scores = score_entities([Example(x, doc) for x, doc in zip(predicted, gold)])
    return {
        "io": scores["io"],
        "bio": scores["bio"],
        "n_test": len(gold),
        "entities": count_entities(examples),
        "seconds_train": round(seconds_train, DIGITS),
        # A command may not tell how long prediction took.
        "seconds_test": None if seconds_test is None else round(seconds_test, DIGITS),
    }


def _record(cell: Cell, result: Dict[str, Any]) -> Record:
    import torch

    return {
        "key": cell.key,
        **cell.name._asdict(),
        "settings": cell.settings.model_dump(),
        "component": cell.method.model_dump(mode="json", exclude_defaults=True),
        **result,
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": dict(_versions()),
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
    }


@lru_cache(maxsize=1)
def _versions() -> Dict[str, str]:
    found = {name: version(name) for name in DISTRIBUTIONS}
    return {**found, "python": platform.python_version()}
