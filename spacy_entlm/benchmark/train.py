"""Train and evaluate the cells that share a training."""

import logging
import platform
import time
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

import spacy_entlm

from ..corpus.readers import read_docs
from ..scoring import score_entities
from .calibration import calibration_bins
from .cells import Cell, Job
from .commands import External
from .config import Lexicon
from .data import DatasetReader, entity_counts
from .external import run_external
from .methods import Distant

logger = logging.getLogger("spacy.entlm")

PREDICT_BATCH = 256
# Distributions whose versions a record names.
DISTRIBUTIONS = ("spacy-entlm", "spacy", "thinc", "torch", "transformers")

Predict = Callable[[Iterable[Doc]], Iterable[Doc]]


def run_job(job: Job, reader: DatasetReader) -> List[Dict[str, Any]]:
    """Train once, evaluate every cell.

    job (Job): The cells. reader (DatasetReader): Of their dataset.
    RETURNS (List[Dict[str, Any]]): The records of cells and copies.
    """
    first = job.cells[0]
    examples = reader.split(first.name.shots, first.name.split)
    trained: Optional[Language] = None
    seconds = 0.0
    results: Dict[str, Dict[str, Any]] = {}
    for cell in job.cells:
        start = time.perf_counter()
        if cell.method.external:
            results[cell.key] = _run_external(cell, examples, reader)
            continue
        if not cell.method.factory:
            predict, words, spans_key = _lexicon_matches(cell, reader.nlp), None, None
        else:
            if trained is None:
                nlp = trained = train_cell(cell, examples, reader.config.lang)
                seconds = time.perf_counter() - start
            else:
                nlp = adopt_training(cell, trained, examples, reader.config.lang)
            pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
            predict, words = _pipe(nlp), getattr(pipe, "label_data", None)
            spans_key = _spans_key(pipe)
        outcome = _evaluate(predict, reader.test_docs(), spans_key)
        results[cell.key] = {
            "entities": entity_counts(examples if cell.method.examples else []),
            "seconds_train": round(seconds, 3),
            "label_words": words if cell.method.label_words else None,
            **outcome,
        }
    # A copy has the figures of the cell with its key, and costs no time of its own.
    records = [_record(cell, results[cell.key]) for cell in job.cells]
    copied = {"copied": True, "seconds_train": 0.0, "seconds_test": 0.0}
    records += [_record(cell, {**results[cell.key], **copied}) for cell in job.copies]
    return records


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
    if method.distant is not None:
        later = examples if method.examples else []
        _train_distantly(nlp, method.distant, later, given)
    if method.examples:
        spacy_entlm.train(
            nlp,
            examples,
            label_words=cell.label_words,
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            **given,
        )
    return nlp


def _train_distantly(
    nlp: Language, distant: Distant, examples: List[Doc], given: Dict[str, Any]
) -> None:
    """Train on text that a lexicon annotated.

    distant (Distant): The text, and how long. given (Dict[str, Any]): Of `train`.
    examples (List[Doc]): Their classes are made ready for a later training on them.
    """
    docs = read_docs(distant.path, nlp)[0][: distant.sentences]
    fix_random_seed(given["seed"])
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    data = [_example(nlp, doc) for doc in (*docs, *examples)]
    pipe.initialize(lambda: data, nlp=nlp)
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
    source: Any = trained.get_pipe(trained.pipe_names[-1])
    nlp = spacy.blank(lang)
    pipe: Any = nlp.add_pipe(cell.method.factory, config=cell.method.config)
    data = [_example(nlp, doc) for doc in examples]
    given = {"label_words": cell.label_words} if cell.method.label_words else {}
    pipe.initialize(lambda: data, nlp=nlp, **given)
    exclude = ["decoder"]
    pipe.from_bytes(source.to_bytes(exclude=exclude), exclude=exclude)
    return nlp


def _example(nlp: Language, doc: Doc) -> Example:
    return Example(_bare(nlp, doc), doc)


def _bare(nlp: Language, doc: Doc) -> Doc:
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(nlp.vocab, words=words, spaces=spaces)


def _pipe(nlp: Language) -> Predict:
    def predict(docs: Iterable[Doc]) -> Iterable[Doc]:
        return nlp.pipe((_bare(nlp, doc) for doc in docs), batch_size=PREDICT_BATCH)

    return predict


def _lexicon_matches(cell: Cell, nlp: Language) -> Predict:
    from ..lexicon.match import LexiconMatcher, annotate
    from ..lexicon.readers import read_lexicon

    settings = Lexicon.model_validate(cell.method.config)
    entries, _ = read_lexicon(
        settings.path, label=settings.label, label_map=settings.map
    )
    stops = nlp.Defaults.stop_words if settings.stop_words else ()
    matcher = LexiconMatcher(
        entries,
        case=settings.case,
        min_length=settings.min_length,
        stop_words=stops,
    )

    def predict(docs: Iterable[Doc]) -> Iterable[Doc]:
        bare = (_bare(nlp, doc) for doc in docs)
        return (doc for doc, _ in annotate(bare, matcher, join=settings.join))

    return predict


def _run_external(
    cell: Cell, examples: List[Doc], reader: DatasetReader
) -> Dict[str, Any]:
    gold, name = reader.test_docs(), cell.name
    fields = {**cell.settings.model_dump(), **name._asdict()}
    fields["backbone"] = cell.backbone.path
    found = run_external(
        External.model_validate(cell.method.config),
        examples,
        [_bare(reader.nlp, doc) for doc in gold],
        fields,
    )
    return {
        "entities": entity_counts(examples),
        "seconds_train": round(found.seconds_train, 3),
        "label_words": None,
        **_score(found.docs, gold, None),
        "seconds_test": found.seconds_test,
        "external_versions": found.versions,
    }


def _spans_key(pipe: Any) -> Optional[str]:
    """The span group in which a component leaves its confidences."""
    key = getattr(pipe, "cfg", {}).get("spans_key")
    return None if key is None else key.replace("{name}", pipe.name)


def _evaluate(
    predict: Predict, gold: List[Doc], spans_key: Optional[str]
) -> Dict[str, Any]:
    start = time.perf_counter()
    predicted = list(predict(gold))
    seconds = time.perf_counter() - start
    outcome = _score(predicted, gold, spans_key)
    return {**outcome, "seconds_test": round(seconds, 3)}


def _score(
    predicted: List[Doc], gold: List[Doc], spans_key: Optional[str]
) -> Dict[str, Any]:
    examples = [Example(x, doc) for x, doc in zip(predicted, gold)]
    scores = score_entities(examples)
    return {
        "io": scores["io"],
        "bio": scores["bio"],
        "n_test": len(gold),
        "calibration": calibration_bins(predicted, gold, spans_key),
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
