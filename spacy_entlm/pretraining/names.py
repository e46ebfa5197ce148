"""A backbone that has learned the names of a lexicon in plain text: at each of them it
says a label word of the name's class (the objective of EntLM)."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from tqdm import tqdm

from ..backbones.names import ENTLM_MINI
from ..backbones.recommended import LABEL_WORDS_KEY
from ..corpus.texts import make_docs, read_texts
from ..files.errors import DataError
from ..lexicon.match import LexiconMatcher, annotate
from ..lexicon.readers import read_lexicon
from ..model.base import get_label_model
from ..training.check import ENTLM_FACTORY
from ..training.recipe import train
from .folder import check_model_folder
from .inputs import describe_backbone, describe_files, find_texts
from .output import recommendations, versions, write_model

BATCH_SIZE = 32
# Sentences that are kept to measure what was learned, at most a third of them.
WATCHED = 50


@dataclass
class NameLearning:
    """Learns names from text.

    lexicon (Path): The names. text (List[Path]): Files with text, or data folders.
    out (Path): The model folder to be. backbone (str): A folder or a hub name.
    sentences (int): Sentences with names that are learned from, at most.
    label (Optional[str]): Class of names that have none, as in a plain list.
    lang (str): Language whose tokenizer and stop words are used.
    seed (int): Of the choice of the sentences and of their order.
    mixed_precision (bool): Whether to train so; on a GPU it is faster.
    """

    lexicon: Path
    text: List[Path]
    out: Path
    backbone: str = ENTLM_MINI
    sentences: int = 10_000
    label: Optional[str] = None
    lang: str = "en"
    seed: int = 0
    mixed_precision: bool = False

    def run(
        self, *, overwrite: bool = False, echo: Callable[[str], None] = print
    ) -> Dict[str, Any]:
        """Learn, and write the model folder with its pretrain.json.

        overwrite (bool): Whether a model may be replaced. echo (Callable): Shows a
            line.
        RETURNS (Dict[str, Any]): What pretrain.json says.
        RAISES (ValueError): If anything given cannot be used.
        """
        check_model_folder(self.out, overwrite=overwrite)
        files = find_texts(self.text)
        if self.sentences < 1:
            raise DataError(f"--sentences is 1 or more, not {self.sentences}")
        facts = {**describe_backbone(self.backbone), **recommendations(self.backbone)}
        nlp = self._pipeline()
        watched, learned = self._sentences(files, nlp)
        n_names = sum(len(doc.ents) for doc in learned)
        echo(f"{n_names:,} names in {len(learned):,} sentences")
        train(nlp, learned, epochs=1, batch_size=BATCH_SIZE, seed=self.seed)
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in watched]
        scores = nlp.evaluate(examples)
        found = {key: scores[key] for key in ("ents_p", "ents_r", "ents_f")}
        pipe: Any = nlp.get_pipe(ENTLM_FACTORY)
        report = {
            **facts,
            "text": describe_files(files),
            "lexicon": describe_files([self.lexicon]),
            LABEL_WORDS_KEY: pipe.label_data,
            "names": {"sentences": len(learned), "names": n_names, **found},
            "seed": self.seed,
            "versions": versions(),
        }
        masked_lm = get_label_model(pipe.model).network.masked_lm
        write_model(masked_lm, report, self.out)
        if found["ents_f"] is not None:
            echo(
                f"In {len(watched)} other sentences it finds the lexicon's names with "
                f"F1 {100 * found['ents_f']:.1f} %"
            )
        return report

    def _pipeline(self) -> Language:
        try:
            nlp = spacy.blank(self.lang)
        except ImportError as error:
            raise DataError(f"--lang {self.lang}: {error}") from error
        model = {"name": self.backbone, "mixed_precision": self.mixed_precision}
        nlp.add_pipe(ENTLM_FACTORY, config={"model": model})
        return nlp

    def _sentences(self, files: List[Path], nlp: Language) -> List[List[Doc]]:
        """Sentences with names: those to measure, and those to learn from."""
        entries, _ = read_lexicon(self.lexicon, label=self.label)
        matcher = LexiconMatcher(entries, stop_words=nlp.Defaults.stop_words)
        # Words that may be names, though the lexicon lacks them, carry no loss.
        docs = annotate(_docs(files, nlp), matcher, join=True, open_=True)
        marked = (doc for doc, _ in docs if doc.ents)
        chosen = _draw(marked, self.sentences + WATCHED, random.Random(self.seed))
        if len(chosen) < 2:
            raise DataError(
                "The text has fewer than two sentences with a name of the lexicon: "
                "give more text, or another lexicon"
            )
        n_watched = min(WATCHED, max(1, len(chosen) // 3))
        return [chosen[:n_watched], chosen[n_watched : n_watched + self.sentences]]


def _docs(files: List[Path], nlp: Language) -> Iterator[Doc]:
    for path in files:
        lines = tqdm(
            read_texts([path]), "Marking names", unit="line", leave=False, disable=None
        )
        yield from make_docs(enumerate(lines, 1), nlp, path)


def _draw(docs: Iterable[Doc], size: int, rng: random.Random) -> List[Doc]:
    """Draw some of a stream of Docs, each with the same chance, in random order."""
    chosen: List[Doc] = []
    for number, doc in enumerate(docs):
        if number < size:
            chosen.append(doc)
        elif (place := rng.randrange(number + 1)) < size:
            chosen[place] = doc
    rng.shuffle(chosen)
    return chosen
