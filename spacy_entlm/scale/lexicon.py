"""A lexicon whose names are marked in the texts of a run."""

import hashlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ..files.json_lines import dump_json
from ..lexicon.entries import Entry
from ..lexicon.match import LexiconMatcher, annotate


class Marker:
    """Gives Docs of texts, in which the names of a lexicon are entities."""

    def __init__(self, nlp: Language, matcher: LexiconMatcher, **how: bool) -> None:
        """how (bool): `join` and `open_` of `annotate`."""
        self._nlp, self._matcher, self._how = nlp, matcher, how

    def pipe(self, texts: Iterable[str], *, batch_size: int) -> Iterator[Doc]:
        """As that of a pipeline."""
        docs = map(self._nlp.make_doc, texts)
        return (doc for doc, _ in annotate(docs, self._matcher, **self._how))

    def memory_zone(self) -> AbstractContextManager[Any]:
        """As that of a pipeline."""
        return self._nlp.memory_zone()


@dataclass(frozen=True)
class LexiconReader:
    """Reads texts with a lexicon, which is sent to the workers.

    lang (str): Whose tokenizer splits texts. matching (Dict[str, Any]): Settings of
    `LexiconMatcher`. how (Dict[str, bool]): `join` and `open_` of `annotate`.
    """

    entries: List[Entry]
    lang: str
    matching: Dict[str, Any]
    how: Dict[str, bool]

    def load(self) -> Marker:
        nlp = spacy.blank(self.lang)
        return Marker(nlp, LexiconMatcher(self.entries, **self.matching), **self.how)

    def facts(self) -> Dict[str, Any]:
        digest = hashlib.sha256(dump_json(self.entries)).hexdigest()
        stop_words = sorted(self.matching["stop_words"])
        matching = {**self.matching, "stop_words": stop_words}
        return {"lexicon": digest, "lang": self.lang, **matching, **self.how}
