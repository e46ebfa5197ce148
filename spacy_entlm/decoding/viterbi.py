"""The best sequence of classes of each sentence (EntLM + Struct)."""

import json
import logging
from dataclasses import asdict
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy
import srsly
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats2d
from thinc.util import get_array_module

from .chains import decode_chains
from .io import find_entities
from .lines import KEY, SpanLines
from .transitions import (
    TransitionCounts,
    count_transitions,
    sentence_starts,
    transition_matrix,
    words_of,
)
from .types import NO_LABEL, DocEntities, LabelScores

logger = logging.getLogger("spacy.entlm")

# Measured on wikigold (docs/decoding.md).
DEFAULT_TAU = 0.3
# A class that is less probable than this share of the best word is as good as
# impossible: no sequence makes up for it.
PROBABILITY_FLOOR = 1e-4
FORMAT_VERSION = 1
# Where there is no annotated text: of 1,000 words of the marked lines with which the
# package's backbone was taught, names of people, places, organisations, works, events,
# products and peoples.
GENERAL = TransitionCounts(
    start_outside=29,
    start_inside=5,
    outside_outside=793,
    outside_inside=59,
    inside_outside=63,
    inside_same=51,
    inside_other=1,
)

# Called with the examples' language and the classes; gives annotated text, or None.
GetDocs = Callable[[str, Tuple[str, ...]], Optional[Iterable[Doc]]]


class ViterbiDecoder:
    """Neighbouring words of one class on the best path are one entity.

    What speaks for a class at a word is its probability, and for no entity that of what
    a class has to outscore (paper, Eq. 4): without weight of the transitions, this is
    the IO decoder.

    A chain is a sentence, or the Doc where it has no sentence boundaries. White space
    is no word: it is no part of a chain. A line break ends an entity, but of the
    classes of `lines`. The confidence of an entity is the mean over its words of the
    marginal probability that the word has the class, given the whole chain.
    """

    few_shot_calibration = (0.44, -0.71)
    by_name_calibration = (0.56, -0.69)

    def __init__(
        self,
        *,
        tau: Optional[float] = None,
        get_docs: Optional[GetDocs] = None,
        least_share: float = 0.0,
        span_lines: Optional[bool] = None,
    ):
        """tau (Optional[float]): Weight of the transitions, from 0 (none) to 1 (as they
            were counted); None: 0.3.
        get_docs (Optional[Callable]): Gives annotated text, from which transitions are
            counted where it has entities of the classes; else the examples serve.
        least_share (float): They serve, too, where less than this share of as many
            entities begin in that text as in them: a short list of names marks few.
        span_lines (Optional[bool]): As the setting of `SpanLines`.
        RAISES (ValueError): If tau is out of range.
        """
        tau = DEFAULT_TAU if tau is None else tau
        if not 0.0 <= tau <= 1.0:
            raise ValueError(f"tau must be from 0 to 1, not {tau}")
        self.tau = tau
        self.get_docs = get_docs
        self.least_share = least_share
        self.lines = SpanLines(span_lines)
        self.counts: Optional[TransitionCounts] = None

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], labels: Tuple[str, ...]
    ) -> None:
        """Count transitions in the annotated text, or else in the examples (see
        `__init__`). Entities of other labels do not count.

        RAISES (ValueError): What `get_docs` raises.
        """
        references = [eg.reference for eg in get_examples()]
        self.lines.learn(references, labels)
        if not any(doc.ents for doc in references) and self.get_docs is None:
            self.counts = GENERAL
            return
        language = references[0].vocab.lang if references else ""
        docs = None if self.get_docs is None else self.get_docs(language, labels)
        self.counts = own = count_transitions(references, labels)
        if docs is None:
            return
        counts = count_transitions(docs, labels)
        if counts.begin_rate < self.least_share * own.begin_rate:
            logger.info(
                "Transitions are those of the examples, where %.1f %% of the words "
                "begin an entity: in the annotated text %.1f %% do",
                100 * own.begin_rate,
                100 * counts.begin_rate,
            )
        elif counts.n_inside:
            self.counts = counts

    def __call__(self, scores: LabelScores, docs: List[Doc]) -> List[DocEntities]:
        """Decode the words of some Docs.

        scores (LabelScores): Of all words of the Docs.
        docs (List[Doc]): The Docs, for their sentences and white space.
        RAISES (ValueError): If no transitions were counted.
        """
        if self.counts is None:
            raise ValueError(
                "The Viterbi decoder has counted no transitions: initialise the "
                "pipeline with it, or call decoder.initialize(get_examples, labels)"
            )
        probs: Any = scores.probs
        xp = get_array_module(probs)
        words, lengths = _chains_of(docs)
        index = xp.asarray(words)
        matrix = transition_matrix(self.counts, probs.shape[1], self.tau)
        chosen = _emissions(probs, scores.outside)[index]
        path, marginals = decode_chains(chosen, lengths, xp.asarray(matrix))
        best = xp.full(len(probs), NO_LABEL, dtype="int64")
        best[index] = path - 1
        confidence = xp.zeros(len(probs), dtype="float32")
        confidence[index] = marginals[xp.arange(len(path)), path]
        return find_entities(best, confidence, scores.lengths, docs, self.lines)

    def to_bytes(self) -> bytes:
        """The counts and the classes over line breaks as JSON; empty if nothing was
        counted. Settings are the config's."""
        if self.counts is None:
            return b""
        data: Dict[str, Any] = {"version": FORMAT_VERSION}
        data["transitions"] = asdict(self.counts)
        if self.lines.learned:
            data[KEY] = self.lines.to_list()
        return srsly.json_dumps(data).encode("utf8")

    def from_bytes(self, data: bytes) -> "ViterbiDecoder":
        """Undo `to_bytes`.

        RAISES (ValueError): If the data was written by something else.
        """
        self.counts = None
        self.lines.from_list([])
        if data:
            try:
                read = json.loads(data.decode("utf8"))
            except RecursionError as error:
                raise ValueError("The decoder's data is no JSON") from error
            version = read.get("version") if isinstance(read, dict) else None
            if version != FORMAT_VERSION:
                raise ValueError(
                    f"The decoder's data is of version {version!r:.100}, this is "
                    f"spacy-entlm for version {FORMAT_VERSION}: update it"
                )
            self.counts = TransitionCounts.from_dict(read.get("transitions"))
            self.lines.from_list(read.get(KEY, []))
        return self


def _emissions(probs: Any, outside: Any) -> Floats2d:
    """float32 (n_words, 1 + n_labels), of no entity and of the classes; the greatest of
    each word is 1. Words that can be of no class have 0 for all: chains are cut there.
    """
    xp = get_array_module(probs)
    emissions = xp.concatenate([outside[:, None], probs], axis=1)
    # Only ratios count: what is the same for all does not change a path.
    emissions = emissions / emissions.max(axis=1, keepdims=True)
    emissions = xp.maximum(emissions, PROBABILITY_FLOOR)
    n_possible = (emissions[:, 1:] > PROBABILITY_FLOOR).sum(axis=1, keepdims=True)
    emissions[:, 1:] *= n_possible > 0
    return emissions


def _chains_of(docs: List[Doc]) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """int64 (n_words), words in a chain, counted over the concatenated Docs; int64
    (n_chains), how many each chain has."""
    none = numpy.zeros(0, dtype="bool")
    starts = [none, *(sentence_starts(doc) for doc in docs if len(doc))]
    words = [none, *(words_of(doc) for doc in docs if len(doc))]
    index = numpy.flatnonzero(numpy.concatenate(words))
    return index, numpy.bincount(numpy.cumsum(numpy.concatenate(starts))[index])
