"""The process that works in the background of a workbench:

python -m spacy_entlm.workbench.worker FOLDER RUN
"""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..active import rank
from ..backbones.names import ENTLM_BASE
from ..corpus.docs import unannotated
from ..evaluation.crossval.scores import Interval, count_sentence, f1_interval
from ..evaluation.scoring import entity_spans, judged_entities
from ..files.errors import DataError
from ..files.folder import write_folder
from ..label_words.words import LabelWordError
from ..pipeline.confidence import confidence
from ..pipeline.lexicon import add_lexicon
from ..training.fit import few_shot_settings
from ..training.recipe import train
from .docs import as_doc, make_pipeline
from .names import Names
from .runs import FILE, LOOK, MODEL, TRAIN, WHEEL, WHEELS, Proposal, Runs
from .store import ACCEPT, Store

# Texts that are put in order after a training, and those that this is chosen from.
N_RANKED, MAX_TEXTS = 200, 2000
# Texts that are proposed at once in the beginning, before there is an order.
N_FIRST = 30
# Share of the time that a training takes, before ranking.
TRAINING_SHARE = 0.7
N_MISTAKES = 8


class Job:
    """One run of a workbench."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.number = folder, number
        self.store, self.runs = Store(folder / FILE), Runs(folder)
        self.lang = self.store.setting("lang", "en")
        self.backbone = self.store.setting("backbone", ENTLM_BASE)
        self.names = {row["id"]: row["name"] for row in self.store.classes()}
        self.numbers = {name: number for number, name in self.names.items()}
        self.started = time.monotonic()

    def run(self, kind: str) -> None:
        """Do what is to be done."""
        steps = {LOOK: self.look, TRAIN: self.train, WHEEL: self.wheel}
        steps[kind]()

    def look(self) -> None:
        """Propose what a pipeline finds that knows the names of the classes."""
        texts = self.store.unanswered()[:N_FIRST]
        try:
            nlp = self.pipeline([])
        except LabelWordError:  # no name says anything: there is nothing to find
            first = [Proposal(x["id"], turn, [], {}) for turn, x in enumerate(texts)]
            self.runs.propose(first)
            return
        docs = [as_doc(text, nlp.vocab, self.names) for text in texts]
        # Those in which something is found first, so that there is something to see.
        found = sorted(zip(texts, nlp.pipe(docs)), key=lambda pair: not pair[1].ents)
        first = [
            self.proposal(text["id"], turn, doc, {})
            for turn, (text, doc) in enumerate(found)
        ]
        self.runs.propose(first)
        self.progress(0.3)
        self.choose(nlp, [])

    def train(self) -> None:
        """Train on what was accepted, measure, save, and propose."""
        texts = [x for x in self.store.answered() if x["answer"] == ACCEPT]
        gold = [x for x in texts if not x["is_test"]]
        if not any(x["marks"] for x in gold):
            raise ValueError("Nothing is marked yet: mark and accept some texts first")
        nlp = self.pipeline(gold)
        docs = [as_doc(x, nlp.vocab, self.names) for x in gold]
        self.runs.note(self.number, n_examples=len(docs))
        settings = few_shot_settings(len(docs), self.backbone)

        def tell(epoch: int, losses: Dict[str, float]) -> None:
            self.progress(TRAINING_SHARE * epoch / settings.epochs)

        # Anew each time: share=1 keeps nothing of what came before.
        train(nlp, docs, share=1, callback=tell)
        found = list(nlp.pipe(as_doc(x, nlp.vocab, {}) for x in _bare(texts)))
        with write_folder(self.folder / MODEL) as writing:
            nlp.to_disk(writing)
        self.runs.note(self.number, scores=self.measure(texts, found))
        checked = [self.checked(x, doc) for x, doc in zip(texts, found)]
        self.choose(nlp, docs, checked)

    def wheel(self) -> None:
        """Build a wheel of the trained pipeline."""
        if not (self.folder / MODEL / "config.cfg").is_file():
            raise ValueError("There is no trained model yet: train first")
        line = [sys.executable, "-m", "spacy", "entlm", "package"]
        line += [str(self.folder / MODEL), str(self.folder / WHEELS), "--overwrite"]
        if subprocess.run(line, check=False).returncode:
            raise ValueError("No wheel could be built: training.log says why")

    def pipeline(self, gold: List[Dict[str, Any]]) -> Language:
        """A pipeline with the classes that are marked, or whose names say something."""
        nlp = make_pipeline(self.lang, self.backbone)
        if listed := Names(self.store).by_class():
            with suppress(DataError):  # nothing but stop words
                add_lexicon(nlp, listed)
        pipe: Any = nlp.get_pipe("entlm_ner")
        docs = [as_doc(text, nlp.vocab, self.names) for text in gold]
        examples = [Example(unannotated(doc), doc) for doc in docs]
        examples = examples or [Example(nlp.make_doc("."), nlp.make_doc("."))]
        labels = list(self.numbers)
        try:
            pipe.initialize(lambda: examples, nlp=nlp, labels=labels)
        except LabelWordError as error:
            labels = [label for label in labels if label not in error.labels]
            marked = {ent.label_ for doc in docs for ent in doc.ents}
            if not labels or not marked.issubset(labels):
                raise
            pipe.initialize(lambda: examples, nlp=nlp, labels=labels)
        return nlp

    def choose(
        self, nlp: Language, gold: List[Doc], checked: Optional[List[Proposal]] = None
    ) -> None:
        """Put texts in order, and propose what the pipeline finds in them."""
        texts = self.store.unanswered()
        docs = [as_doc(text, nlp.vocab, self.names) for text in texts]
        order = rank(nlp, docs, n=N_RANKED, annotated=gold, max_texts=MAX_TEXTS)
        chosen = [unannotated(docs[one.index]) for one in order]
        proposals = [
            self.proposal(
                texts[one.index]["id"], turn, doc, {**one.reasons, "rarest": one.rarest}
            )
            for turn, (one, doc) in enumerate(zip(order, nlp.pipe(chosen)))
        ]
        # A text may have been taken back in the meantime: then it is to be answered.
        self.runs.propose([*(checked or []), *proposals])

    def checked(self, text: Dict[str, Any], doc: Doc) -> Proposal:
        """What was found in a text that has an answer, and whether it differs."""
        found = self.proposal(text["id"], None, doc, {})
        differs = _differ(text, doc, self.names)
        return found._replace(doubted=text["version"] if differs else None)

    def proposal(
        self, number: int, turn: Optional[int], doc: Doc, reasons: Dict[str, Any]
    ) -> Proposal:
        """What was found in a text."""
        spans: List[List[float]] = [
            [e.start, e.end, self.numbers[e.label_], round(confidence(e) or 0.0, 3)]
            for e in doc.ents
        ]
        return Proposal(number, turn, spans, reasons)

    def measure(self, texts: List[Dict[str, Any]], found: List[Doc]) -> Dict[str, Any]:
        """F1 on the test part, in all and by class, with intervals, and mistakes."""
        pairs = [(x, doc) for x, doc in zip(texts, found) if x["is_test"]]
        labels = list(self.numbers)
        rows, mistakes = [], []
        for text, doc in pairs:
            gold = as_doc(text, doc.vocab, self.names)
            right, ours = (
                judged_entities(gold, entity_spans(x), merged=True) for x in (gold, doc)
            )
            rows.append(count_sentence(right, ours, labels))
            mistakes += _mistakes(text["id"], gold, set(right), set(ours))
        scores: Dict[str, Any] = {
            "n_test": len(pairs),
            "mistakes": mistakes[:N_MISTAKES],
        }
        if pairs:
            counts = numpy.array(rows)[:, :, None]
            scores["f1"] = _interval(f1_interval(counts.sum(axis=1)))
            scores["classes"] = {
                self.numbers[label]: _interval(f1_interval(counts[:, i]))
                for i, label in enumerate(labels)
                if counts[:, i].any()
            }
        return scores

    def progress(self, done: float) -> None:
        """Note how much is done, and how long the rest may take."""
        elapsed = time.monotonic() - self.started
        left = elapsed * (1 - done) / max(done, 1e-3)
        self.runs.note(self.number, done=done, seconds_left=round(left, 1))


def _bare(texts: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [{"words": text["words"]} for text in texts]


def _differ(text: Dict[str, Any], doc: Doc, names: Dict[int, str]) -> bool:
    """Whether model and person disagree on a text."""
    gold = as_doc(text, doc.vocab, names)
    right, ours = (
        judged_entities(gold, entity_spans(x), merged=True) for x in (gold, doc)
    )
    return right != ours


def _mistakes(number: int, doc: Doc, right: set, ours: set) -> List[Dict[str, Any]]:
    """What was missed, or found wrongly, in words."""
    wrong: List[Tuple[str, Tuple[int, int, str]]] = []
    wrong += [("missed", span) for span in sorted(right - ours)]
    wrong += [("wrong", span) for span in sorted(ours - right)]
    return [
        {"text": number, "kind": kind, "words": doc[start:end].text, "label": label}
        for kind, (start, end, label) in wrong
    ]


def _interval(figure: Interval) -> Dict[str, Any]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}
