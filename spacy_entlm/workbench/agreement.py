"""How far two people agree who marked the same texts: F1 of entities, and kappa."""

from collections import Counter, defaultdict
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from spacy.scorer import PRFScore

from ..files.counts import count_of

# The first character of an entity, its end, and its class.
Place = Tuple[int, int, str]
# Of a word that is in no entity.
OUTSIDE = ""


class Pair(NamedTuple):
    """What two people marked in one text. words: First character and end of each
    word; first, second: the entities of each person, without overlap."""

    words: Sequence[Tuple[int, int]]
    first: Sequence[Place]
    second: Sequence[Place]


class Agreement(NamedTuple):
    """How far two people agree.

    n_texts, n_words: What both of them marked.
    f1: Of the entities of one measured on those of the other, from 0 to 1. It is the
        same both ways. None: neither has marked anything.
    classes: The same for each class that one of them marked.
    kappa: Cohen's kappa of the classes of words, at most 1; 0 is what chance would
        bring. None: it is not defined, since there is no word, or since all words are
        of one class for both.
    """

    n_texts: int
    n_words: int
    f1: Optional[float]
    classes: Dict[str, float]
    kappa: Optional[float]

    def lines(self) -> List[str]:
        """What is to be said of it, a sentence a line."""
        if not self.n_texts:
            return ["No text was accepted by both: nothing is known of the agreement"]
        texts = count_of(self.n_texts, "texts")
        if self.f1 is None:
            return [f"Both accepted {texts}, and marked nothing in them"]
        classes = ", ".join(f"{x} {100 * f1:.1f}" for x, f1 in self.classes.items())
        kappa = (
            "not defined, since all words are of one class"
            if self.kappa is None
            else f"{self.kappa:.2f}"
        )
        return [
            f"Agreement on {texts} that both accepted: F1 {100 * self.f1:.1f} "
            f"({classes})",
            f"Cohen's kappa of {self.n_words:,} words: {kappa}",
        ]


def measure(pairs: Iterable[Pair]) -> Agreement:
    """Measure how far two people agree on texts that both of them marked."""
    scores: Dict[str, PRFScore] = defaultdict(PRFScore)
    labels: List[Tuple[str, str]] = []
    n_texts = 0
    for words, *both in pairs:
        n_texts += 1
        first, second = map(set, both)
        for label in {place[2] for place in first | second}:
            own: List[Set[Place]] = [
                {place for place in side if place[2] == label}
                for side in (second, first)
            ]
            scores[label].score_set(*own)
        labels += zip(*(_labels(words, side) for side in both))
    total = sum(scores.values(), PRFScore())
    return Agreement(
        n_texts=n_texts,
        n_words=len(labels),
        f1=total.fscore if scores else None,
        classes={label: scores[label].fscore for label in sorted(scores)},
        kappa=cohens_kappa(labels),
    )


def cohens_kappa(pairs: Sequence[Tuple[str, str]]) -> Optional[float]:
    """The agreement on classes, less what chance would bring: (p - e) / (1 - e), p the
    share of pairs that are equal, e that to be expected of how often each of the two
    gives each class.

    pairs (Sequence[Tuple[str, str]]): What the one says of a thing, and the other.
    RETURNS (Optional[float]): At most 1; None where it is not defined: there is no
        pair, or all are of one class for both.
    """
    if not pairs:
        return None
    n = len(pairs)
    first, second = (Counter(side) for side in zip(*pairs))
    by_chance = sum(count * second[label] for label, count in first.items())
    if by_chance == n * n:
        return None
    equal = sum(one == other for one, other in pairs)
    return (equal * n - by_chance) / (n * n - by_chance)


def _labels(words: Sequence[Tuple[int, int]], places: Sequence[Place]) -> List[str]:
    """The class of each word: that of the entity in which it begins."""
    found, waiting = [], sorted(places, reverse=True)
    for start, _ in words:
        while waiting and waiting[-1][1] <= start:
            waiting.pop()
        is_in = waiting and waiting[-1][0] <= start
        found.append(waiting[-1][2] if is_in else OUTSIDE)
    return found
