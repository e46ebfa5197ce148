"""`spacy-entlm.viterbi_decoder.v1`: the best sequence of classes (EntLM + Struct)."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Tuple, Union

import numpy
import spacy
import srsly
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats2d
from thinc.util import get_array_module

from .chains import decode_chains
from .corpus.readers import read_docs
from .decoding import DocEntities, find_entities
from .model.types import LabelScores
from .transitions import (
    TransitionCounts,
    count_transitions,
    sentence_starts,
    transition_matrix,
    words_of,
)

# Measured on wikigold (docs/decoding.md).
DEFAULT_TAU = 0.3
# The authors' decoder (rtmaww/EntLM).
OFFICIAL_TAU = 0.05
# A class that is less probable than this share of the best word is as good as
# impossible: no sequence makes up for it.
NEGLIGIBLE = 1e-4
FORMAT_VERSION = 1
# Splits texts into words where the examples' language is not known.
ANY_LANGUAGE = "xx"


def build_viterbi_decoder(
    tau: Optional[float] = None,
    official: bool = False,
    transitions: Optional[Union[str, Path]] = None,
    require: bool = True,
) -> "ViterbiDecoder":
    """The best sequence of classes of each sentence, by what the model says of each
    word and by how often entities begin, go on and end
    (`spacy-entlm.viterbi_decoder.v1`).

    tau (Optional[float]): Weight of the transitions, from 0 (none) to 1 (as they were
        counted); None: 0.3, or 0.05 with `official`.
    official (bool): Whether to decode as the authors' code does.
    transitions (Optional[Union[str, Path]]): Annotated text, .spacy or JSON lines,
        from which transitions are counted when the pipeline is initialised. None: from
        the training examples.
    require (bool): Whether that text has to be there and to have entities of the
        classes; if not, the training examples serve where it does not.
    RAISES (ValueError): If tau is out of range.
    """
    if tau is None:
        tau = OFFICIAL_TAU if official else DEFAULT_TAU
    if not 0.0 <= tau <= 1.0:
        raise ValueError(f"tau must be from 0 to 1, not {tau}")
    path = None if transitions is None else Path(transitions)
    return ViterbiDecoder(tau=tau, official=official, transitions=path, require=require)


class ViterbiDecoder:
    """Neighbouring words of one class on the best path are one entity.

    What speaks for a class at a word is its probability, and for no entity that of the
    vocabulary's best word, since that is what a class has to outscore (paper, Eq. 4):
    without weight of the transitions, this is the IO decoder.

    A chain is a sentence, or the Doc where it has no sentence boundaries. White space
    is no word: it is no part of a chain, and a line break ends an entity. The
    confidence of an entity is the mean over its words of the marginal probability that
    the word has the class, given the whole chain.
    """

    needs_probs = True

    def __init__(
        self,
        *,
        tau: float,
        official: bool = False,
        transitions: Optional[Path] = None,
        require: bool = True,
    ):
        """The settings are those of `build_viterbi_decoder`."""
        self.tau = tau
        self.official = official
        self.transitions = transitions
        self.require = require
        self.counts: Optional[TransitionCounts] = None

    @property
    def negligible(self) -> float:
        """A model may give 0 for p(class), and 1 for that of the best word, where every
        class is less probable than this share of the best word; 0.0: it may not."""
        return 0.0 if self.official else NEGLIGIBLE

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], labels: Tuple[str, ...]
    ) -> None:
        """Count transitions in the annotated text, or else in the examples.

        get_examples (Callable[[], Iterable[Example]]): Annotated examples.
        labels (Tuple[str, ...]): The classes; other entities do not count.
        RAISES (CorpusError): If the annotated text cannot be read.
            (ValueError): If it has no entity of these classes and is required.
        """
        references = [eg.reference for eg in get_examples()]
        path = self.transitions
        if path is None or not (self.require or path.exists()):
            self.counts = count_transitions(references, labels)
            return
        language = references[0].vocab.lang if references else ANY_LANGUAGE
        docs, _ = read_docs(path, spacy.blank(language or ANY_LANGUAGE))
        counts = count_transitions(docs, labels)
        if not counts.n_inside and not self.require:
            counts = count_transitions(references, labels)
        elif not counts.n_inside:
            raise ValueError(
                f"{path} has no entity of the classes {', '.join(labels)}: annotate it "
                f"with these, or leave the decoder's setting transitions out"
            )
        self.counts = counts

    def __call__(self, scores: LabelScores, docs: List[Doc]) -> List[DocEntities]:
        """Decode the words of some Docs.

        scores (LabelScores): Of all words of the Docs, with `probs`.
        docs (List[Doc]): The Docs, for their sentences and white space.
        RAISES (ValueError): If no transitions were counted.
        """
        probs = scores.probs
        if probs is None:
            raise ValueError("The Viterbi decoder needs the probabilities of all words")
        xp = get_array_module(probs)
        words, lengths = _chains_of(docs)
        index = xp.asarray(words)
        chosen = self._emissions(scores)[index]
        transitions = xp.asarray(self._matrix(probs.shape[1]))
        path, marginals = decode_chains(chosen, lengths, transitions)
        best = xp.full(len(probs), -1, dtype="int64")
        best[index] = path - 1
        confidence = xp.zeros(len(probs), dtype="float32")
        confidence[index] = marginals[xp.arange(len(path)), path]
        return find_entities(replace(scores, best=best, confidence=confidence), docs)

    def _matrix(self, n_labels: int) -> numpy.ndarray:
        if self.counts is None:
            raise ValueError(
                "The Viterbi decoder has counted no transitions: initialise the "
                "pipeline with it, or call decoder.initialize(get_examples, labels)"
            )
        return transition_matrix(
            self.counts, n_labels, self.tau, official=self.official
        )

    def _emissions(self, scores: LabelScores) -> Floats2d:
        """float32 (n_words, 1 + n_labels), of no entity and of the classes; the
        greatest of each word is 1."""
        probs: Any = scores.probs
        word_prob: Any = scores.word_prob
        if word_prob is None:
            raise ValueError(
                "The Viterbi decoder needs a model that gives the probability of the "
                "vocabulary's best word, too (LabelScores.word_prob)"
            )
        xp = get_array_module(probs)
        emissions = xp.concatenate([word_prob[:, None], probs], axis=1)
        if self.official:  # a softmax of what are probabilities already
            emissions = xp.exp(emissions)
        # Only ratios count: what is the same for all does not change a path.
        emissions = emissions / emissions.max(axis=1, keepdims=True)
        return xp.maximum(emissions, NEGLIGIBLE)

    def to_bytes(self) -> bytes:
        """The counts as JSON; empty if there are none. Settings are the config's."""
        if self.counts is None:
            return b""
        data = {"version": FORMAT_VERSION, "transitions": self.counts.to_dict()}
        return srsly.json_dumps(data).encode("utf8")

    def from_bytes(self, data: bytes) -> "ViterbiDecoder":
        """Undo `to_bytes`.

        RAISES (ValueError): If the data was written by something else.
        """
        self.counts = None
        if data:
            read = srsly.json_loads(data.decode("utf8"))
            version = read.get("version") if isinstance(read, dict) else None
            if version != FORMAT_VERSION:
                raise ValueError(
                    f"The decoder's data is of version {version!r}, this is "
                    f"spacy-entlm for version {FORMAT_VERSION}: update it"
                )
            self.counts = TransitionCounts.from_dict(read.get("transitions"))
        return self


def _chains_of(docs: List[Doc]) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Words that are in a chain, and how many each has.

    RETURNS: int64 (n_words), counted over the concatenated Docs; int64 (n_chains).
    """
    starts = [sentence_starts(doc) for doc in docs if len(doc)]
    words = [words_of(doc) for doc in docs if len(doc)]
    if not starts:
        empty = numpy.zeros(0, dtype="int64")
        return empty, empty
    index = numpy.flatnonzero(numpy.concatenate(words))
    sentences = numpy.cumsum(numpy.concatenate(starts))[index]
    return index, numpy.bincount(sentences)
