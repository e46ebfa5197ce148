"""The search for label words in annotated sentences (paper, Eq. 5-8)."""

from collections import Counter, defaultdict
from typing import Callable, Dict, Iterable, List, Optional, Tuple

from .words import LabelWordError, LabelWords

OUTSIDE = "O"
# The paper's settings for virtual label words: Section 4.1, "Implementation".
TOP_K = 6
CONFLICT_THRESHOLD = 0.6

TaggedSentence = Iterable[Tuple[str, str]]
Counts = Dict[str, Counter]


def count_words(sentences: Iterable[TaggedSentence]) -> Counts:
    """Count how often each word stands inside each class (paper, Eq. 5).

    sentences (Iterable[Iterable[Tuple[str, str]]]): Pairs of a word, spelled as it
        shall be counted, and its class, "O" outside entities.
    RETURNS (Dict[str, Counter]): Per class, "O" among them, word -> count.
    """
    counts: Counts = defaultdict(Counter)
    for sentence in sentences:
        for word, label in sentence:
            counts[label][word] += 1
    return counts


def passes_conflict_filter(
    word: str, label: str, counts: Counts, threshold: float = CONFLICT_THRESHOLD
) -> bool:
    """Whether a word belongs to one class clearly enough (paper, Eq. 8).

    counts (Dict[str, Counter]): The data counts of all classes and "O".
    threshold (float): The share of the word's occurrences that must be exceeded.
    """
    total = sum(counter[word] for counter in counts.values())
    return total > 0 and counts[label][word] / total > threshold


def search_data(
    counts: Counts,
    *,
    labels: Optional[Iterable[str]] = None,
    top_k: int = TOP_K,
    threshold: float = CONFLICT_THRESHOLD,
    is_usable: Callable[[str], bool] = lambda word: True,
) -> LabelWords:
    """Choose the most frequent words of each class (paper, Eq. 5 and 8).

    counts (Dict[str, Counter]): From `count_words`.
    labels (Optional[Iterable[str]]): The classes; None: all that were counted.
    top_k (int): The most words a class gets.
    threshold (float): The conflict filter's.
    is_usable (Callable[[str], bool]): Whether the backbone can say a word in one
        piece. Words that it cannot are taken only where none that it can is left.
    RETURNS (Dict[str, List[str]]): Words per class, most frequent first; ties keep
        the order in which words first appear. Words of one character are out.
    RAISES (LabelWordError): If a class has no word.
    """
    if labels is None:
        labels = [label for label in counts if label != OUTSIDE]
    found: LabelWords = {}
    for label in labels:
        # A Counter keeps the order of first appearance, and sorting is stable.
        ranked = [
            word
            for word, _ in sorted(counts[label].items(), key=lambda item: -item[1])
            if len(word) > 1 and any(char.isalpha() for char in word)
        ]
        clear = [
            w for w in ranked if passes_conflict_filter(w, label, counts, threshold)
        ]
        # Few examples can be so short of words that all are ambiguous: a word that
        # is also used otherwise still says more than none.
        candidates = clear or ranked
        usable = [word for word in candidates if is_usable(word)]
        words: List[str] = (usable or candidates)[:top_k]
        if not words:
            raise LabelWordError(
                f"Found no label word for {label!r}: no entity of this class in the "
                f"examples. Give some in [initialize.components] label_words, or "
                f"annotate an example."
            )
        found[label] = words
    return found
