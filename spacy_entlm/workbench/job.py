"""What is done in the background of a workbench."""

import re
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..active import rank
from ..backbones.names import ENTLM_BASE
from ..corpus.docs import unannotated
from ..evaluation.crossval.folds import Training
from ..evaluation.scoring import score_entities
from ..files.errors import DataError
from ..files.file import write_file
from ..files.folder import write_folder
from ..files.json_lines import dump_json
from ..label_words.names import read_names
from ..label_words.words import LabelWordError
from ..pipeline.confidence import confidence
from ..pipeline.lexicon import add_lexicon
from ..pipeline.loading import ENTLM_NER, blank_pipeline
from ..training.fit import few_shot_settings
from ..training.recipe import train
from .changes import ACCEPT
from .docs import as_doc
from .measure import (
    CROSSVAL,
    MIN_ENTITIES,
    cross_validate,
    differ,
    measure_test,
    what_is_missing,
)
from .names import Names
from .runs import AFTER, LOOK, MODEL, REPORT, TRAIN, WHEEL, WHEELS, Proposal, Runs

# Texts that are put in order after a training or a look, and those that they are chosen
# from; of a look fewer, which is to be over soon.
N_RANKED, MAX_TEXTS, MAX_TEXTS_OF_LOOK = 200, 2000, 500
# Texts that are proposed at once in the beginning, before there is an order.
N_FIRST = 16
# Texts that are read at once, and at most in all, where all are gone through.
BATCH, MAX_FOUND = 32, 20_000
# The least confidence of what is proposed. The page begins with what suits a model.
LOWEST = 0.05
# What a wheel tells of its pipeline: the examples, and figures as of `evaluate`.
EXAMPLES, FIGURES = "examples.spacy", "figures.json"
# Share of the time that a training takes, before ranking.
TRAINING_SHARE = 0.7
SECONDS_BETWEEN_NOTES = 0.5


class Job:
    """One run of a workbench."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.number = folder, number
        self.runs = Runs(folder)
        self.store = self.runs.store
        self.lang = self.store.setting("lang", "en")
        self.backbone = self.store.setting("backbone", ENTLM_BASE)
        self.classes = self.store.classes()
        self.names = {row["id"]: row["name"] for row in self.classes}
        self.numbers = {name: number for number, name in self.names.items()}
        self.started, self._noted = time.monotonic(), 0.0

    def docs(self, texts: Iterable[Dict[str, Any]], vocab: Vocab) -> List[Doc]:
        """Texts of the store as Docs, with their marks."""
        return [as_doc(text, vocab, self.names) for text in texts]

    def run(self, kind: str) -> None:
        """Do what is to be done."""
        steps = {
            LOOK: self.look,
            TRAIN: self.train,
            AFTER: self.after,
            WHEEL: self.wheel,
        }
        steps[kind]()

    def look(self) -> None:
        """Propose what a pipeline finds that knows the names of the classes."""
        texts = list(islice(self.store.unanswered(), N_FIRST))
        try:
            nlp = self.pipeline([])
        except LabelWordError:  # no name says anything: there is nothing to find
            first = [Proposal(x["id"], turn, [], {}) for turn, x in enumerate(texts)]
            self.runs.propose(first)
            return
        self.note_least(nlp)
        with _lowest(nlp):
            docs = list(nlp.pipe(self.docs(texts, nlp.vocab)))
        # Those in which something is found first, so that there is something to see.
        found = sorted(zip(texts, docs), key=lambda pair: not pair[1].ents)
        self.runs.propose(
            [self.proposal(x["id"], doc, i) for i, (x, doc) in enumerate(found)]
        )
        self.runs.check(self.number)
        self.progress(0.1)
        self.choose(nlp, [], max_texts=MAX_TEXTS_OF_LOOK)
        self.find_everywhere(nlp, 0.2, 1.0)

    def train(self) -> None:
        """Train on what was accepted, measure, save, and propose."""
        version = self.store.last_change()
        texts = [x for x in self.store.answered() if x["answer"] == ACCEPT]
        gold = [x for x in texts if not x["is_test"]]
        if not any(x["marks"] for x in gold):
            raise ValueError("Nothing is marked yet: mark and accept some texts first")
        nlp = self.pipeline(gold)
        docs = self.docs(gold, nlp.vocab)
        self.runs.note(self.number, n_examples=len(docs))
        self.fit(nlp, docs, 0.0, TRAINING_SHARE)
        found = list(nlp.pipe(map(unannotated, self.docs(texts, nlp.vocab))))
        with write_folder(self.folder / MODEL) as writing:
            nlp.to_disk(writing)
        with write_file(self.folder / EXAMPLES) as temporary:
            DocBin(docs=docs).to_disk(temporary)
        (self.folder / REPORT).unlink(missing_ok=True)  # it is of another model
        tests = [x for x in texts if x["is_test"]]
        found_in_tests = [doc for x, doc in zip(texts, found) if x["is_test"]]
        right = self.docs(tests, nlp.vocab)
        self.keep_figures(right, found_in_tests)
        scores = measure_test(tests, right, found_in_tests, self.numbers)
        scores.update(self.without_examples(nlp, docs), version=version)
        self.runs.note(self.number, scores=scores)
        self.note_least(nlp)
        checked = [self.checked(x, doc) for x, doc in zip(texts, found)]
        self.choose(nlp, docs, checked)

    def fit(self, nlp: Language, docs: Sequence[Doc], begin: float, end: float) -> None:
        """Train a pipeline. begin, end (float): The shares of the run that are done
        before and after it."""
        settings = few_shot_settings(len(docs), nlp.get_pipe(ENTLM_NER))

        def tell(epoch: int, losses: Dict[str, float]) -> None:
            self.runs.check(self.number)
            self.progress(begin + (end - begin) * epoch / settings.epochs)

        # Anew each time: share=1 keeps nothing of what came before.
        train(nlp, docs, share=1, callback=tell)

    def after(self) -> None:
        """Propose what the trained pipeline finds in all other texts and, where the
        test part is too small for a figure, measure by a cross-validation."""
        trained = self.runs.trained()[-1]
        nlp = spacy.load(self.folder / MODEL)
        self.find_everywhere(nlp, 0.0, 0.4)
        scores = trained["scores"] or {}
        if "f1" in scores:
            return
        texts = [
            x
            for x in self.store.answered()
            if x["answer"] == ACCEPT and x["version"] <= scores.get("version", 0)
        ]
        gold = self.docs(texts, nlp.vocab)
        if missing := what_is_missing(gold):
            self.runs.note(trained["id"], scores={**scores, "missing": missing})
            return
        del nlp  # its memory is for the others

        def find(training: Training) -> List[Doc]:
            known = [texts[i] for i in training.train]
            own = self.pipeline(known)
            begin = 0.4 + 0.15 * training.fold
            self.fit(own, self.docs(known, own.vocab), begin, begin + 0.15)
            rest = self.docs([texts[i] for i in training.test], own.vocab)
            return list(own.pipe(map(unannotated, rest)))

        measured, page, found = cross_validate(texts, gold, self.numbers, find)
        with write_file(self.folder / REPORT) as temporary:
            temporary.write_text(page, encoding="utf8")
        self.keep_figures(gold, found, how=CROSSVAL)
        self.runs.note(trained["id"], scores={**scores, **measured})

    def keep_figures(self, gold: List[Doc], found: List[Doc], **more: Any) -> None:
        """Keep figures as of `evaluate`, which a wheel tells, if there are entities
        enough.

        gold, found (List[Doc]): Accepted texts, and what was found in them.
        more: What the figures say besides.
        """
        figures = score_entities(map(Example, found, gold))
        path = self.folder / FIGURES
        if figures["n_entities"] < MIN_ENTITIES:
            path.unlink(missing_ok=True)
            return
        figures.update(sentences=len(gold), date=date.today().isoformat(), **more)
        with write_file(path) as temporary:
            temporary.write_bytes(dump_json(figures))

    def wheel(self) -> None:
        """Build a wheel of the trained pipeline, called as the workbench's folder."""
        if not self.runs.is_trained:
            raise ValueError("There is no trained model yet: train first")
        line = [sys.executable, "-m", "spacy", "entlm", "package"]
        line += [str(self.folder / MODEL), str(self.folder / WHEELS), "--overwrite"]
        line += ["--version", f"1.0.{len(self.runs.trained())}"]
        if re.search("[A-Za-z0-9]", self.folder.name):
            line += ["--name", self.folder.name]
        for option, name in (("--train", EXAMPLES), ("--metrics", FIGURES)):
            if (self.folder / name).is_file():
                line += [option, str(self.folder / name)]
        if subprocess.run(line, check=False).returncode:
            raise ValueError("No wheel could be built: training.log says why")

    def pipeline(self, gold: List[Dict[str, Any]]) -> Language:
        """A pipeline with the classes that are marked, or whose names say something."""
        nlp = blank_pipeline(self.lang)
        pipe: Any = nlp.add_pipe(ENTLM_NER, config={"model": {"name": self.backbone}})
        if listed := Names(self.store).by_class():
            with suppress(DataError):  # nothing but stop words
                add_lexicon(nlp, listed)
        docs = self.docs(gold, nlp.vocab)
        examples = [Example(unannotated(doc), doc) for doc in docs]
        examples = examples or [Example(nlp.make_doc("."), nlp.make_doc("."))]
        labels = {x["name"]: [x["words"]] if x["words"] else [] for x in self.classes}
        marked = {ent.label_ for doc in docs for ent in doc.ents}
        if pipe.reads_names:
            read = read_names(labels)
            known = {k: x or k in marked or read[k].says for k, x in labels.items()}
            labels = {k: x for k, x in labels.items() if known[k]}
            if not labels:
                raise LabelWordError("No name of a class says anything")
        try:
            pipe.initialize(lambda: examples, nlp=nlp, labels=labels)
        except LabelWordError as error:
            labels = {k: x for k, x in labels.items() if k not in error.labels}
            if not labels or not marked.issubset(labels):
                raise
            pipe.initialize(lambda: examples, nlp=nlp, labels=labels)
        return nlp

    def choose(
        self,
        nlp: Language,
        gold: List[Doc],
        checked: Optional[List[Proposal]] = None,
        max_texts: int = MAX_TEXTS,
    ) -> None:
        """Put texts in order, and propose what the pipeline finds in them."""
        texts = list(self.store.unanswered())
        docs = self.docs(texts, nlp.vocab)
        order = rank(nlp, docs, n=N_RANKED, annotated=gold, max_texts=max_texts)
        chosen = [unannotated(docs[one.index]) for one in order]
        with _lowest(nlp):
            proposals = [
                self.proposal(
                    texts[one.index]["id"],
                    doc,
                    turn,
                    {**one.reasons, "rarest": one.rarest},
                )
                for turn, (one, doc) in enumerate(zip(order, nlp.pipe(chosen)))
            ]
        # A text may have been taken back in the meantime: then it is to be answered.
        self.runs.propose([*(checked or []), *proposals])

    def find_everywhere(self, nlp: Language, begin: float, end: float) -> None:
        """Propose what a pipeline finds in the texts that it has not read yet.
        begin, end (float): As for `fit`."""
        known = self.runs.proposed()
        rest = (x for x in self.store.unanswered() if x["id"] not in known)
        n = min(MAX_FOUND, max(1, self.store.counts()["texts"] - len(known)))
        done = 0
        with _lowest(nlp):
            for texts in minibatch(rest, BATCH):
                self.runs.check(self.number)
                docs = nlp.pipe(self.docs(texts, nlp.vocab))
                found = [self.proposal(x["id"], doc) for x, doc in zip(texts, docs)]
                self.runs.propose(found, replace=False)
                done += len(texts)
                self.progress(begin + (end - begin) * min(1.0, done / n))
                if done >= MAX_FOUND:
                    return

    def checked(self, text: Dict[str, Any], doc: Doc) -> Proposal:
        """What was found in a text that has an answer, and whether it differs."""
        found = self.proposal(text["id"], doc)
        differs = differ(as_doc(text, doc.vocab, self.names), doc)
        return found._replace(doubted=text["version"] if differs else None)

    def proposal(
        self,
        number: int,
        doc: Doc,
        turn: Optional[int] = None,
        reasons: Optional[Dict[str, Any]] = None,
    ) -> Proposal:
        """What was found in a text."""
        spans: List[List[float]] = []
        for ent in doc.ents:
            # A class may have got another name, or have gone, since the training.
            class_ = self.numbers.get(ent.label_)
            class_ = self.store.class_number(ent.label_) if class_ is None else class_
            if class_ is not None:
                sure = round(confidence(ent) or 0.0, 3)
                spans.append([ent.start, ent.end, class_, sure])
        return Proposal(number, turn, spans, reasons or {})

    def without_examples(
        self, nlp: Language, docs: Sequence[Doc]
    ) -> Dict[str, List[int]]:
        """Classes that no example has: those that are found by their names all the same
        ("unseen"), and those that are not ("left_out")."""
        pipe: Any = nlp.get_pipe(ENTLM_NER)
        marked = {ent.label_ for doc in docs for ent in doc.ents}
        unseen = [n for x, n in self.numbers.items() if x in pipe.labels]
        return {
            "unseen": [n for n in unseen if self.names[n] not in marked],
            "left_out": [n for n in self.names if n not in unseen],
        }

    def note_least(self, nlp: Language) -> None:
        """Note the least confidence that suits a pipeline, for the page."""
        pipe: Any = nlp.get_pipe(ENTLM_NER)
        self.store.set_setting("suits", str(pipe.threshold))

    def progress(self, done: float) -> None:
        """Note how much is done, and how long the rest may take."""
        elapsed = time.monotonic() - self.started
        if elapsed - self._noted < SECONDS_BETWEEN_NOTES and done < TRAINING_SHARE:
            return
        self._noted = elapsed
        left = elapsed * (1 - done) / max(done, 1e-3)
        self.runs.note(self.number, done=done, seconds_left=round(left, 1))


@contextmanager
def _lowest(nlp: Language) -> Iterator[None]:
    """Let a pipeline find what it is hardly sure of, too."""
    pipe: Any = nlp.get_pipe(ENTLM_NER)
    before = pipe.cfg["threshold"]  # None: what suits it
    pipe.threshold = LOWEST
    try:
        yield
    finally:
        pipe.threshold = before
