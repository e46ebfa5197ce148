"""Run a cross-validation: folds, and trainings that are not done yet."""

import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

from pydantic import TypeAdapter, ValidationError
from spacy.tokens import Doc
from tqdm import tqdm

from ...files.counts import count_of, sentence_of
from ...files.errors import DataError
from ...files.file import check_output
from ...files.progress import bar_place
from ...files.records import Records
from ..compare.data import hash_docs, hash_value
from .folds import Training, entity_matrix, plan_trainings
from .result import Outcome
from .training import Trainer

# Is told what a person wants to know.
Notify = Callable[[str], None]

STORE_EXTENSION = ".folds.jsonl"
FORM = "crossval.v1"
OUTCOME = TypeAdapter(Outcome)
BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} to go"


class Settings(NamedTuple):
    """Those of `plan_trainings`."""

    n_folds: int = 3
    n_repeats: int = 1
    seed: int = 1
    curve: bool = False


def usable_docs(docs: Sequence[Doc], n_folds: int, notify: Notify) -> List[Doc]:
    """The sentences that can be divided; notify is told what is odd about them.
    RAISES (DataError): If there are fewer sentences than folds, or no entity."""
    kept = [doc for doc in docs if doc.has_annotation("ENT_IOB")]
    if len(kept) < n_folds:
        text = f"{count_of(len(kept), 'annotated sentences')} cannot be divided into "
        raise DataError(f"{text}{n_folds} folds: lower --folds, or annotate more")
    counts = Counter(ent.label_ for doc in kept for ent in doc.ents)
    if not counts:
        raise DataError(f"no entity in {count_of(len(kept), 'sentences')}: mark some")
    if len(kept) < len(docs):
        left_out = count_of(len(docs) - len(kept), "sentences")
        notify(f"{left_out} without annotation: left out")
    if rare := [f"{x} ({n})" for x, n in sorted(counts.items()) if n < n_folds]:
        notify(
            f"Fewer examples than folds: {', '.join(rare)}. Their figures say little: "
            "annotate more, or lower --folds"
        )
    if copies := len(kept) - len({tuple(t.text for t in doc) for doc in kept}):
        notify(
            f"{sentence_of(copies, 'sentence repeats', 'sentences repeat')} another "
            "one: F1 is too high if copies of a "
            "sentence are both trained on and held out. Remove them"
        )
    return kept


def run_trainings(
    trainer: Trainer,
    docs: Sequence[Doc],
    settings: Settings,
    out: Path,
    *,
    overwrite: bool = False,
    notify: Notify = lambda line: None,
) -> Dict[Training, Outcome]:
    """Do every training that has not been done yet; gives what each found.

    docs (Sequence[Doc]): From `usable_docs`.
    out (Path): The report; what finished trainings found is kept beside it.
    overwrite (bool): Whether a report that is there may be replaced by one of other
        settings. One of these settings, whose trainings are found, always may.
    RAISES (DataError): If another run writes there, or the files are none of ours.
    """
    trainings = plan_trainings(entity_matrix(docs), **settings._asdict())
    base = [trainer.fingerprint(), hash_docs(docs)]
    keys = {t: hash_value([*base, t.seed, t.train, t.test]) for t in trainings}
    with Records(out.with_name(f"{out.stem}{STORE_EXTENSION}"), FORM) as records:
        stored = _outcomes(records)
        done = {t: stored[key] for t, key in keys.items() if key in stored}
        check_output(out, overwrite=overwrite or bool(done))
        waiting = [t for t in trainings if t not in done]
        before = f", {len(done)} of them done before" if done else ""
        notify(f"{count_of(len(trainings), 'trainings')}{before}")
        # By sentences: trainings on a part of them take less time.
        total, start = sum(len(t.train) for t in waiting), time.monotonic()
        form: Any = {"bar_format": BAR, "smoothing": 0, **bar_place()}
        with tqdm(total=total, leave=False, **form) as progress:
            for i, t in enumerate(waiting, 1):
                progress.set_description(f"Training {i} of {len(waiting)}")
                train, test = ([docs[i] for i in part] for part in (t.train, t.test))
                done[t] = trainer.train_and_predict(train, test, seed=t.seed)
                records.append([{"key": keys[t], **done[t]._asdict()}])
                progress.update(len(t.train))
                left = sum(len(t.train) for t in waiting[i:])
                if left and progress.disable:  # there is no bar that shows it
                    seconds = (time.monotonic() - start) * left / (total - left)
                    told = f"Training {i} of {len(waiting)} is done"
                    notify(f"{told}: {duration(seconds)} to go")
    return done


def duration(seconds: float) -> str:
    """A time for people, such as "about 3 minutes"."""
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * length:
            return f"about {round(seconds / length)} {unit}s"
    return f"about {round(seconds)} seconds" if seconds >= 10 else "a few seconds"


def _outcomes(records: Records) -> Dict[str, Outcome]:
    """What finished trainings found, by their keys."""
    read = records.read()
    try:
        return {record.pop("key"): OUTCOME.validate_python(record) for record in read}
    except (KeyError, ValidationError) as error:
        text = "not a cross-validation's: move the file away, or choose another --out"
        raise DataError(text, path=records.path) from error
