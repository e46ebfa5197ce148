"""The order of texts in which they teach most, with reasons."""

from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.docs import unannotated
from ..training.check import only_entlm
from .signals import class_weights, density, directions, read_signals

# Shares of what a text is chosen for: doubt, expected entities of rare classes, and
# many others like it (project/benchmarks/RESULTS.md: what they bring).
WEIGHTS = {"doubt": 0.4, "rare": 0.4, "density": 0.2}
# What likeness to a text that is chosen already takes away, times their cosine.
LIKENESS = 0.5
# Texts that are more alike are one text.
DUPLICATE = 0.95
# Taken from the score of these: more than any other score spans.
LAST = 1e6
N = 25
# Of more texts as many are drawn: reading them is what takes time.
MAX_TEXTS = 10_000


@dataclass(frozen=True)
class Ranked:
    """A text that was chosen.

    index (int): Its place among the texts.
    score (float): Of the choice, at its turn. reasons (Dict[str, float]): Doubt, rare
        and density, each the share of texts that have less; and likeness, the cosine
        with the nearest text that was annotated or chosen before.
    rarest (Optional[str]): The class that most of "rare" is due to; None: there is no
        class.
    """

    index: int
    score: float
    reasons: Dict[str, float]
    rarest: Optional[str]


def rank(
    nlp: Language,
    texts: Iterable[Union[str, Doc]],
    *,
    n: Optional[int] = N,
    annotated: Sequence[Doc] = (),
    weights: Optional[Dict[str, float]] = None,
    likeness: float = LIKENESS,
    max_texts: Optional[int] = MAX_TEXTS,
    seed: int = 0,
) -> List[Ranked]:
    """Order texts by what the pipeline would learn from their annotation.

    Each turn takes the text with the highest sum of three shares, less its likeness to
    texts before it: doubt (margin between the best class and none, or the second),
    expected entities of classes that have few examples, and density (how near its
    neighbours are, by mean features). Near duplicates come last.

    nlp (Language): A pipeline with an `entlm_ner`, trained or just initialised.
    texts (Iterable): Texts, or Docs if their words are given.
    n (Optional[int]): How many are chosen; None: all are put in order.
    annotated (Sequence[Doc]): What is annotated already: examples of each class are
        counted, and texts like them come later.
    weights (Optional[Dict[str, float]]): Other WEIGHTS.
    likeness (float): In place of LIKENESS.
    max_texts (Optional[int]): Of more texts as many are drawn, the others are not read;
        None: all are read.
    seed (int): Of the draw and between texts of one score: the same seed, the same
        order.
    RETURNS (List[Ranked]): The texts in their order.
    RAISES (ValueError): If a setting has no such value, or the pipeline no weights.
    EXAMPLE:
        from spacy_entlm.active import rank

        texts = ["Ann lives in Rome.", "The sea is calm.", "Bo moved to Oslo."]
        next_texts = [texts[ranked.index] for ranked in rank(nlp, texts, n=2)]
    """
    weights = _checked(weights, n, likeness, max_texts)
    texts = list(texts)
    if not texts:
        return []
    rng = numpy.random.default_rng(seed)
    order = rng.permutation(len(texts))[:max_texts]
    drawn = (texts[i] for i in order)
    docs = [nlp.make_doc(x) if isinstance(x, str) else unannotated(x) for x in drawn]
    n_most = len(docs) if n is None else min(n, len(docs))
    signals = read_signals(nlp, [*docs, *map(unannotated, annotated)])
    directed = directions(signals.features)
    labels = list(only_entlm(nlp)[1].labels)
    counts = Counter(ent.label_ for doc in annotated for ent in doc.ents)
    rare = signals.expected[: len(docs)] * class_weights(labels, counts)
    shares = {
        "doubt": _share(signals.doubt[: len(docs)]),
        "rare": _share(numpy.minimum(rare, 1.0).sum(axis=1)),
        "density": _share(density(directed[: len(docs)])),
    }
    scores = sum(weights[key] * shares[key] for key in shares)
    chosen = []
    for i, score, near in _turns(numpy.asarray(scores), directed, n_most, likeness):
        reasons = {key: round(float(share[i]), 4) for key, share in shares.items()}
        reasons["likeness"] = round(near, 4)
        rarest = labels[int(rare[i].argmax())] if rare[i].any() else None
        chosen.append(Ranked(int(order[i]), round(score, 4), reasons, rarest))
    return chosen


def _checked(
    weights: Optional[Dict[str, float]],
    n: Optional[int],
    likeness: float,
    max_texts: Optional[int],
) -> Dict[str, float]:
    weights = WEIGHTS if weights is None else weights
    if weights.keys() != WEIGHTS.keys() or min(weights.values()) < 0:
        raise ValueError(f"weights are those of {list(WEIGHTS)}, from 0: {weights}")
    for name, value in (("n", n), ("max_texts", max_texts)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is at least 1, not {value}")
    if likeness < 0:
        raise ValueError(f"likeness is at least 0, not {likeness}")
    return weights


def _share(values: numpy.ndarray) -> numpy.ndarray:
    """float64 (n), from 0 to 1: the share of the others that are below each value."""
    from scipy.stats import rankdata  # it takes a second to import

    return (rankdata(values) - 1) / max(len(values) - 1, 1)


def _turns(
    scores: numpy.ndarray, directed: numpy.ndarray, n_most: int, likeness: float
) -> List[tuple[int, float, float]]:
    """Indices in order, with the score at their turn, and the cosine with the nearest
    text before them. The first of equals comes first.

    scores: float64 (n). directed: float32 (n and more, width), the annotated ones last.
    """
    own, before = directed[: len(scores)], directed[len(scores) :]
    nearest = numpy.zeros(len(scores), dtype="f")
    for row in before:
        numpy.maximum(nearest, own @ row, out=nearest)
    left = numpy.ones(len(scores), dtype=bool)
    turns = []
    for _ in range(n_most):
        now = scores - likeness * nearest
        last = now - LAST * (nearest > DUPLICATE)
        i = int(numpy.where(left, last, -numpy.inf).argmax())
        left[i] = False
        turns.append((i, float(now[i]), float(nearest[i])))
        numpy.maximum(nearest, own @ own[i], out=nearest)
    return turns
