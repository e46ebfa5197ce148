"""What a pipeline says about texts: its doubt, what it expects, where they lie."""

from itertools import islice
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple

import numpy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import to_numpy

from ..decoding.types import LabelScores
from ..model.layer import read_words
from ..model.precision import has_fast_bfloat16
from ..model.types import WordFeatures
from ..training.check import docs_before, only_entlm

# Texts that are read at once: features of all their words are held.
GROUP = 512
# Neighbours whose mean similarity is a text's density, and texts compared at once.
N_NEIGHBOURS, BLOCK = 20, 512
# A length that is none.
TINY = 1e-5


class Signals(NamedTuple):
    """Of n texts, each in an array.

    doubt: float32 (n), sum over words of 1 - margin, by the square root of their
        number; the margin is that of the best two of all classes and none, relative to
        their sum.
    expected: float32 (n, n_labels), entity words that are expected of each class.
    features: float32 (n, width), mean features of their words, of length 1 after the
        mean of all texts was taken away; 0 for a text without words.
    """

    doubt: numpy.ndarray
    expected: numpy.ndarray
    features: numpy.ndarray


def read_signals(nlp: Language, docs: Iterable[Doc]) -> Signals:
    """Read texts with the `entlm_ner` of a pipeline, on a CPU in bfloat16 if that is
    faster there: an order of texts is not worth 1.6 times the time.

    docs (Iterable[Doc]): One or more; their annotation is not looked at.
    RAISES (ValueError): If there is no such component, or it has no weights.
    """
    name, pipe = only_entlm(nlp)
    if pipe.labels:
        pipe.begin()
    if not pipe.is_initialized:
        raise ValueError(f"[{name}] has no weights: train or initialize it first")
    doubt, expected, features = [], [], []
    for group in _groups(nlp, name, docs):
        with torch.autocast("cpu", torch.bfloat16, enabled=has_fast_bfloat16()):
            words = read_words(pipe.layer, group)
        scores = pipe.score_words(group, words)
        starts = numpy.cumsum([0, *words.lengths[:-1]])
        doubt.append(_doubt(scores, starts))
        expected.append(_sums(to_numpy(scores.probs), starts, words.lengths))
        features.append(_mean_features(words))
    return Signals(*map(numpy.concatenate, (doubt, expected, features)))


def _groups(nlp: Language, name: str, docs: Iterable[Doc]) -> Iterator[List[Doc]]:
    stream = iter(docs)
    while group := list(islice(stream, GROUP)):
        yield docs_before(nlp, name, group)


def _doubt(scores: LabelScores, starts: numpy.ndarray) -> numpy.ndarray:
    classes: Any = to_numpy(scores.probs)
    none: Any = to_numpy(scores.outside)
    both = numpy.concatenate([none[:, None], classes], axis=1)
    if not len(both):
        return numpy.zeros(len(scores.lengths), dtype="f")
    best = numpy.partition(both, both.shape[1] - 2, axis=1)[:, -2:]
    margin = (best[:, 1] - best[:, 0]) / numpy.maximum(best.sum(axis=1), 1e-9)
    total = _sums((1.0 - margin)[:, None], starts, scores.lengths)[:, 0]
    n_words = numpy.maximum(scores.lengths, 1).astype("f")
    return total / numpy.sqrt(n_words)


def _sums(words: Any, starts: numpy.ndarray, lengths: List[int]) -> numpy.ndarray:
    """(n_words, m) to (n_docs, m): sums over the words of each Doc."""
    sums = numpy.zeros((len(lengths), words.shape[1]), dtype="f")
    filled = numpy.flatnonzero(lengths)  # reduceat has no empty sums
    if len(filled):
        sums[filled] = numpy.add.reduceat(words, starts[filled], axis=0)
    return sums


def _mean_features(found: WordFeatures) -> numpy.ndarray:
    docs = numpy.repeat(numpy.arange(len(found.lengths)), found.lengths)
    features = torch.as_tensor(found.features).float()  # an exported model's: numpy
    index = torch.from_numpy(docs[found.words]).to(features.device)
    sums = features.new_zeros((len(found.lengths), features.shape[1]))
    sums.index_add_(0, index, features)
    n_read = numpy.bincount(docs[found.words], minlength=len(found.lengths))
    return sums.cpu().numpy() / numpy.maximum(n_read, 1).astype("f")[:, None]


def directions(features: numpy.ndarray) -> numpy.ndarray:
    """float32 (n, width): features without their mean, of length 1; 0 stays 0."""
    filled = features.any(axis=1, keepdims=True)
    mean = features.sum(axis=0) / max(filled.sum(), 1)
    centred = numpy.where(filled, features - mean, 0.0).astype("f")
    lengths = numpy.linalg.norm(centred, axis=1, keepdims=True)
    # Of texts that are all alike, rounding is left.
    return centred / lengths.clip(TINY) * (lengths > TINY)


def density(directed: numpy.ndarray) -> numpy.ndarray:
    """float32 (n): of each text, the mean cosine with its nearest neighbours, from
    `directions`. Blocks bound the memory."""
    n = len(directed)
    k = min(N_NEIGHBOURS, n - 1)
    if k < 1:
        return numpy.zeros(n, dtype="f")
    found = numpy.zeros(n, dtype="f")
    for start in range(0, n, BLOCK):
        block = directed[start : start + BLOCK]
        cosines = block @ directed.T
        own = numpy.arange(len(block))
        cosines[own, start + own] = -numpy.inf
        nearest = numpy.partition(cosines, n - k, axis=1)[:, n - k :]
        found[start : start + BLOCK] = nearest.mean(axis=1)
    return found


def class_weights(labels: List[str], counts: Dict[str, int]) -> numpy.ndarray:
    """float32 (n_labels): 1 for the class with fewest examples, less for others."""
    n = numpy.array([counts.get(label, 0) for label in labels], dtype="f")
    return (n.min(initial=numpy.inf) + 1) / (n + 1) if len(n) else n
