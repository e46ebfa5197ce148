"""The points of the paper's ablations: label words for each value of what is varied."""

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from spacy.language import Language
from spacy.tokens import Doc

from ...label_words.counts import merge_counts, read_counts, strip_tags
from ...label_words.search import OUTSIDE, Counts, SearchSettings
from ...label_words.words import LabelWords
from .errors import BenchmarkError
from .texts import Names, sample_text
from .words import Progress, WordFinder

THRESHOLD, TOP_K = "threshold", "top-k"
LEXICON_SIZE, UNLABELED_SIZE, DOMAIN = "lexicon-size", "unlabeled-size", "domain"
ABLATIONS = (THRESHOLD, TOP_K, LEXICON_SIZE, UNLABELED_SIZE, DOMAIN)
SHARES = (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
IN_DOMAIN, GENERAL = "in-domain", "general"
Value = Union[float, int, str]
# What the paper varies (sections 4.4 and 4.5), and no filter at all.
VALUES: Dict[str, Sequence[Value]] = {
    THRESHOLD: (0.0, 0.5, 0.6, 0.7, 0.8, 0.9),
    TOP_K: (1, 2, 4, 6, 8, 10),
    LEXICON_SIZE: SHARES,
    UNLABELED_SIZE: SHARES,
    DOMAIN: (IN_DOMAIN, GENERAL),
}


@dataclass(frozen=True)
class Point:
    """One value of an ablation.

    name (str): As records and plots show it. value (Value): The value.
    label_words (Dict[str, List[str]]): A class may have none: then training takes its
        words from the examples.
    size (Dict[str, int]): Of the text that was searched: "sentences", "words",
        "entity_words", and "names" of the lexicon where one was used.
    """

    name: str
    value: Value
    label_words: LabelWords
    size: Dict[str, int] = field(default_factory=dict)


@dataclass
class Ablation:
    """What the points of an ablation are made from.

    finder (WordFinder): Counts and searches. nlp (Language): Makes Docs of text.
    docs (List[Doc]): The annotated text.
    names (Names): The lexicon.
    settings (SearchSettings): Of the search, as far as they are not varied.
    seed (int): Of what is drawn. general (Optional[Path]): Plain text of no domain.
    lm_counts (Sequence[Path]): Files of LM counts, in place of counting.
    progress (Optional[Progress]): Shows how far counting is.
    notify (Callable[[str], None]): Called with each point that is done.
    """

    finder: WordFinder
    nlp: Language
    docs: List[Doc]
    names: Names
    settings: SearchSettings = field(default_factory=SearchSettings)
    seed: int = 1
    general: Optional[Path] = None
    lm_counts: Sequence[Path] = ()
    progress: Optional[Progress] = None
    notify: Callable[[str], None] = lambda line: None

    def points(
        self, name: str, values: Optional[Sequence[Value]] = None
    ) -> List[Point]:
        """Search the label words of every value.

        name (str): One of ABLATIONS.
        values (Optional[Sequence[Value]]): None: those of the paper.
        RAISES (BenchmarkError): If the ablation is unknown.
        """
        makers: Dict[str, Callable[[Sequence[Any]], List[Point]]] = {
            THRESHOLD: self._settings_points("threshold"),
            TOP_K: self._settings_points("top_k"),
            LEXICON_SIZE: self._lexicon_points,
            UNLABELED_SIZE: self._text_points,
            DOMAIN: self._domain_points,
        }
        if name not in makers:
            raise BenchmarkError(
                f"unknown ablation {name!r}: choose from {', '.join(ABLATIONS)}"
            )
        if self.lm_counts and name not in (THRESHOLD, TOP_K):
            raise BenchmarkError(f"{name} counts on several texts: no --lm-counts")
        return makers[name](values or VALUES[name])

    def _settings_points(self, field_: str) -> Callable[[Sequence[Any]], List[Point]]:
        def make(values: Sequence[Any]) -> List[Point]:
            data, lm = self._count(self.docs)
            return [
                self._point(
                    str(value),
                    value,
                    data,
                    lm,
                    replace(self.settings, **{field_: value}),
                    n_sentences=len(self.docs),
                )
                for value in values
            ]

        return make

    def _lexicon_points(self, values: Sequence[Any]) -> List[Point]:
        points = []
        for share in values:
            # Matched and counted anew: without a long name, a shorter one inside it, or
            # one that overlaps it, may be found.
            names = self.names.fraction(share, self.seed)
            docs = names.annotate(self.docs, self.nlp)
            points.append(self._text_point(_percent(share), share, docs, names))
        return points

    def _text_points(self, values: Sequence[Any]) -> List[Point]:
        docs = list(self.docs)
        random.Random(self.seed).shuffle(docs)
        points: List[Point] = []
        data: Counts = {}
        lm: Optional[Counts] = None
        start = 0
        for share in sorted(values):
            end = max(1, round(share * len(docs)))
            # Counts are sums over sentences: each sentence is counted once.
            more_data, more_lm = self._count(docs[start:end])
            data = merge_counts([data, more_data])
            lm = None if more_lm is None else merge_counts([lm or {}, more_lm])
            points.append(
                self._point(_percent(share), share, data, lm, n_sentences=end)
            )
            start = end
        return points

    def _domain_points(self, values: Sequence[Any]) -> List[Point]:
        general = self.general
        if general is None:
            raise BenchmarkError("the ablation domain needs --general, a plain text")
        n_words = sum(len(doc) for doc in self.docs)
        texts = {
            IN_DOMAIN: lambda: self.docs,
            GENERAL: lambda: sample_text(general, self.nlp, n_words, self.seed),
        }
        points = []
        for name in values:
            docs = self.names.annotate(texts[name](), self.nlp)
            points.append(self._text_point(name, name, docs, self.names))
        return points

    def _text_point(
        self, name: str, value: Value, docs: List[Doc], names: Names
    ) -> Point:
        data, lm = self._count(docs)
        point = self._point(name, value, data, lm, n_sentences=len(docs))
        return replace(point, size={**point.size, "names": len(names.entries)})

    def _count(self, docs: List[Doc]) -> "tuple[Counts, Optional[Counts]]":
        data = self.finder.count_data(docs)
        if not self.settings.uses_lm:
            return data, None
        if self.lm_counts:
            given = merge_counts(map(read_counts, self.lm_counts))
            return data, self.finder.fold(strip_tags(given, list(data)))
        return data, self.finder.count_lm(docs, self.progress)

    def _point(
        self,
        name: str,
        value: Value,
        data: Counts,
        lm: Optional[Counts],
        settings: Optional[SearchSettings] = None,
        *,
        n_sentences: int,
    ) -> Point:
        words = self.finder.search(data, lm, settings or self.settings)
        size = {
            "sentences": n_sentences,
            "words": sum(sum(counter.values()) for counter in data.values()),
            "entity_words": sum(
                sum(counter.values()) for key, counter in data.items() if key != OUTSIDE
            ),
        }
        shown = "; ".join(f"{k}: {' '.join(v) or '-'}" for k, v in words.items())
        self.notify(f"{name}: {shown}")
        return Point(name, value, words, size)


def _percent(share: float) -> str:
    return f"{100 * share:g}%"
