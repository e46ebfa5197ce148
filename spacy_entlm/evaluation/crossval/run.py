"""Run a cross-validation: folds, trainings that are not done yet, figures."""

from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Sequence

from spacy.tokens import Doc
from tqdm import tqdm

from ..compare.data import hash_docs, hash_value
from .errors import CrossvalError
from .folds import Training, entity_matrix, plan_trainings
from .store import FoldStore, Found
from .training import Trainer

Notify = Callable[[str], None]


class Settings(NamedTuple):
    """n_folds (int): Parts, each held out once. n_repeats (int): Divisions into folds.
    seed (int): Of the first division. curve (bool): Whether to train on parts of the
    training sentences too."""

    n_folds: int = 5
    n_repeats: int = 3
    seed: int = 1
    curve: bool = True


def usable_docs(docs: Sequence[Doc], n_folds: int, notify: Notify) -> List[Doc]:
    """The sentences that can be divided, with a word on what is odd about them.

    docs (Sequence[Doc]): As read. n_folds (int): Folds.
    notify (Callable[[str], None]): Called with each warning.
    RAISES (CrossvalError): If there are fewer sentences than folds, or no entity.
    """
    kept = [doc for doc in docs if doc.has_annotation("ENT_IOB")]
    if len(kept) < n_folds:
        raise CrossvalError(
            f"{len(kept)} annotated sentences cannot be divided into {n_folds} folds: "
            "lower --folds, or annotate more"
        )
    counts = Counter(ent.label_ for doc in kept for ent in doc.ents)
    if not counts:
        raise CrossvalError(f"no entity in {len(kept)} sentences: annotate some")
    if len(kept) < len(docs):
        notify(f"{len(docs) - len(kept)} sentences without annotation: left out")
    rare = [f"{label} ({n})" for label, n in sorted(counts.items()) if n < n_folds]
    if rare:
        notify(
            f"Fewer examples than folds: {', '.join(rare)}. Their figures say little: "
            "annotate more, or lower --folds"
        )
    copies = len(kept) - len({tuple(t.text for t in doc) for doc in kept})
    if copies:
        notify(
            f"{copies} sentences repeat another one: F1 is too high if copies of a "
            "sentence are both trained on and held out. Remove them"
        )
    return kept


def run_trainings(
    trainer: Trainer,
    docs: Sequence[Doc],
    settings: Settings,
    path: Path,
    *,
    notify: Notify = lambda line: None,
) -> Dict[Training, Found]:
    """Do every training that has not been done yet.

    trainer (Trainer): Of the config. docs (Sequence[Doc]): From `usable_docs`.
    settings (Settings): Of the cross-validation.
    path (Path): File with what finished trainings found; it is made.
    notify (Callable[[str], None]): Called with what a person wants to know.
    RETURNS (Dict[Training, Found]): What each training found in its test sentences.
    RAISES (CrossvalError): If another run writes to the file, or it is none of ours.
    """
    trainings = plan_trainings(
        entity_matrix(docs),
        n_folds=settings.n_folds,
        n_repeats=settings.n_repeats,
        seed=settings.seed,
        curve=settings.curve,
    )
    base = [trainer.fingerprint(), hash_docs(docs)]
    keys = {
        training: hash_value([*base, training.seed, training.train, training.test])
        for training in trainings
    }
    with FoldStore(path) as store:
        done = store.read()
        waiting = [training for training in trainings if keys[training] not in done]
        notify(
            f"{len(trainings)} trainings, {len(trainings) - len(waiting)} of them done "
            "before"
        )
        # Sentences, not trainings: those on a quarter take less time.
        total = sum(len(training.train) for training in waiting)
        with tqdm(
            total=total, unit="sentence", smoothing=0, disable=None, leave=False
        ) as progress:
            for training in waiting:
                found = trainer.train_and_predict(
                    [docs[i] for i in training.train],
                    [docs[i] for i in training.test],
                    seed=training.seed,
                )
                store.append(keys[training], found)
                done[keys[training]] = found
                progress.update(len(training.train))
    return {training: done[key] for training, key in keys.items()}
