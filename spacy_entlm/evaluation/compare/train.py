"""Train and measure the cells that share a training."""

import platform
import time
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any, List, Optional, Tuple

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
DIGITS = 3

Docs = List[Doc]
# Seconds of training and of prediction, which a command may not tell.
Times = Tuple[float, Optional[float]]


def run_job(job: Job, reader: DatasetReader) -> List[Record]:
    """Train once, measure every cell of a job; gives their records."""
    first, lang = job[0], reader.config.lang
    examples = reader.split(first.name.shots, first.name.split)
    gold = reader.test_docs()
    if first.method.external is not None:
        bare = [unannotated(doc) for doc in gold]
        fields = {**first.settings.model_dump(), **first.name._asdict()}
        fields["backbone"] = first.backbone
        told = run_external(first.method.external, examples, bare, fields)
        times: Times = (told.seconds_train, told.seconds_test)
        record = _record(first, examples, gold, bare, times)
        return [{**record, "external_versions": told.versions}]
    records: List[Record] = []
    trained, seconds_train = None, 0.0
    for cell in job:
        start = time.perf_counter()
        nlp = spacy.blank(lang)
        pipe: Any = nlp.add_pipe(cell.method.factory, config=cell.method.config)
        if trained is None:
            settings = {**cell.settings.model_dump(), "seed": cell.name.seed}
            spacy_entlm.train(nlp, examples, label_words=cell.label_words, **settings)
            trained, seconds_train = pipe, time.perf_counter() - start
        else:
            _adopt(cell, nlp, pipe, trained, examples)
        start = time.perf_counter()
        copies = (unannotated(doc, nlp.vocab) for doc in gold)
        predicted = list(nlp.pipe(copies))
        times = seconds_train, time.perf_counter() - start
        words = pipe.label_data if cell.method.label_words else None
        record = _record(cell, examples, gold, predicted, times)
        records.append({**record, "label_words": words})
    return records


def _adopt(
    cell: Cell, nlp: Language, pipe: Any, trained: Any, examples: List[Doc]
) -> None:
    """Give a method's component the weights of another method's."""
    data = [Example(unannotated(doc, nlp.vocab), doc) for doc in examples]
    given = {"label_words": cell.label_words} if cell.method.label_words else {}
    pipe.initialize(lambda: data, nlp=nlp, **given)
    own = ["decoder", "calibration"]  # which is the decoder's
    pipe.from_bytes(trained.to_bytes(exclude=own), exclude=own)


def _record(
    cell: Cell, examples: Docs, gold: Docs, predicted: Docs, times: Times
) -> Record:
    import torch

    scores = score_entities(map(Example, predicted, gold))
    versions = {name: version(name) for name in DISTRIBUTIONS}
    return {
        "key": cell.key,
        **cell.name._asdict(),
        "io": scores["io"],
        "bio": scores["bio"],
        "n_test": len(gold),
        "entities": count_entities(examples),
        "seconds_train": round(times[0], DIGITS),
        "seconds_test": None if times[1] is None else round(times[1], DIGITS),
        "settings": cell.settings.model_dump(),
        "component": cell.method.model_dump(mode="json", exclude_defaults=True),
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {**versions, "python": platform.python_version()},
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
    }
