"""The search for label words in annotated sentences (paper, Eq. 5-8)."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from spacy.tokens import Doc

from .words import LabelWordError

OUTSIDE = "O"
DATA, LM, DATA_LM = "data", "lm", "data-lm"
METHODS = (DATA, LM, DATA_LM)
# The paper's settings for virtual label words: Section 4.1, "Implementation".
TOP_K = 6
CONFLICT_THRESHOLD = 0.6
# The LM's best predictions at a word that count: as in the authors' counts.
LM_TOP_K = 3

TaggedSentence = Iterable[Tuple[str, str]]
Counts = Dict[str, Counter]
Pieces = Optional[Callable[[str], List[str]]]


def count_words(sentences: Iterable[TaggedSentence]) -> Counts:
    """Count how often each word stands inside each class (paper, Eq. 5).

    sentences (Iterable[Iterable[Tuple[str, str]]]): Pairs of a word, spelled as it
        shall be counted, and its class, "O" outside entities.
    RETURNS (Dict[str, Counter]): Per class, "O" among them, word -> count.
    """
    counts: Counts = defaultdict(Counter)
    for word, label in chain.from_iterable(sentences):
        counts[label][word] += 1
    return counts


def count_docs(docs: Iterable[Doc]) -> Counts:
    """As `count_words`, of annotated Docs. Words whose annotation is missing do not
    count."""

    def tagged(doc: Doc) -> Iterator[Tuple[str, str]]:
        for token in doc:
            if token.ent_iob and not token.is_space:
                yield token.text, token.ent_type_ or OUTSIDE

    return dict(count_words(tagged(doc) for doc in docs))


def fold_counts(counts: Counts, fold: Callable[[str], str]) -> Counts:
    """Count words by the form in which a backbone reads them.

    fold (Callable[[str], str]): Gives that form; empty: the word is left out.
    RETURNS (Dict[str, Counter]): Words of one form are added up.
    """
    folded: Counts = {}
    for label, counter in counts.items():
        folded[label] = Counter()
        for word, count in counter.items():
            form = fold(word)
            if form:
                folded[label][form] += count
    return folded


@dataclass(frozen=True)
class SearchSettings:
    """How label words are searched.

    method (str): "data" ranks words by how often they are labelled with the class,
        "lm" by how often the LM predicts them there, "data-lm" by the product.
    top_k (int): The most words a class gets: 6 for virtual label words, 1 for
        discrete ones.
    threshold (float): The conflict filter's.
    smoothing (bool): With "data-lm", whether a word that only one of the two counts
        holds counts as 1 in the other; else it is out.
    RAISES (LabelWordError): If a value is none of these.
    """

    method: str = "data-lm"
    top_k: int = TOP_K
    threshold: float = CONFLICT_THRESHOLD
    smoothing: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise LabelWordError(
                f"method is one of {', '.join(METHODS)}, not {self.method!r}"
            )
        if self.top_k < 1:
            raise LabelWordError(f"top_k must be at least 1, not {self.top_k}")
        if not 0 <= self.threshold < 1:
            raise LabelWordError(
                f"threshold is a share, from 0 to below 1, not {self.threshold}"
            )
        if self.smoothing and self.method != DATA_LM:
            raise LabelWordError(
                f"smoothing belongs to the method {DATA_LM}, not to {self.method}"
            )

    @property
    def uses_lm(self) -> bool:
        """Whether LM counts are needed."""
        return self.method != DATA


@dataclass
class Candidate:
    """A word that may stand for a class, as it was counted, and what it is ranked by.

    data, lm (int): How often it is labelled with the class, and how often the LM
        predicts it for the class.
    by_class (Dict[str, int]): How often it has each label, "O" among them.
    ratio (float): The class's share in that (paper, Eq. 8); 0 if it never occurs.
    pieces (Optional[List[str]]): Its pieces in the backbone's vocabulary, none if that
        cannot say it; None where no backbone is named.
    """

    word: str
    score: int
    data: int
    lm: int
    by_class: Dict[str, int]
    ratio: float
    pieces: Optional[List[str]] = None


@dataclass
class ClassSearch:
    """What the search found for a class.

    chosen: The label words, best first; of several pieces only where words of one
        piece are lacking.
    conflicts: Words that would have been chosen, but too often stand elsewhere.
    unseen: Words that would have been chosen, but are not in the annotated text.
    multi_piece: Words that would have been chosen, but are no single piece.
    n_candidates: Words with a score, before any filter.
    """

    chosen: List[Candidate] = field(default_factory=list)
    conflicts: List[Candidate] = field(default_factory=list)
    unseen: List[Candidate] = field(default_factory=list)
    multi_piece: List[Candidate] = field(default_factory=list)
    n_candidates: int = 0

    @property
    def words(self) -> List[str]:
        """The label words."""
        return [candidate.word for candidate in self.chosen]


def search_label_words(
    data: Counts,
    lm: Optional[Counts] = None,
    settings: SearchSettings = SearchSettings(),
    *,
    labels: Optional[Iterable[str]] = None,
    get_pieces: Pieces = None,
) -> Dict[str, ClassSearch]:
    """Choose the label words of each class (paper, Eq. 5-8).

    data (Dict[str, Counter]): From `count_words`: per class, "O" among them.
    lm (Optional[Dict[str, Counter]]): What the LM predicts per class; its words have
        the form of those in `data`.
    labels (Optional[Iterable[str]]): The classes; None: all that are in `data`.
    get_pieces (Optional[Callable]): Gives a word's pieces in the backbone's vocabulary,
        none if that cannot say it. Words of one piece are chosen first.
    RETURNS (Dict[str, ClassSearch]): Of each class; there may be fewer words than asked
        for, or none. Ties keep the order of first appearance in `lm`, then in `data`.
    RAISES (LabelWordError): If the method needs LM counts and there are none.
    """
    if settings.uses_lm and lm is None:
        raise LabelWordError(f"The method {settings.method} needs LM counts")
    if labels is None:
        labels = [label for label in data if label != OUTSIDE]
    lm = lm if lm is not None and settings.uses_lm else {}
    return {
        label: _search_class(label, data, lm, settings, get_pieces) for label in labels
    }


def _search_class(
    label: str, data: Counts, lm: Counts, settings: SearchSettings, get_pieces: Pieces
) -> ClassSearch:
    in_data, in_lm = data.get(label, Counter()), lm.get(label, Counter())
    ranked = _rank(in_data, in_lm, settings)
    found = ClassSearch(n_candidates=len(ranked))
    for word, score in ranked:
        if len(found.chosen) == settings.top_k:
            return found
        by_class = {key: count[word] for key, count in data.items() if count[word]}
        ratio = by_class.get(label, 0) / max(sum(by_class.values()), 1)
        counted = (in_data[word], in_lm[word])
        candidate = Candidate(word, score, *counted, by_class, ratio)
        if not by_class:
            found.unseen.append(candidate)
        elif ratio <= settings.threshold:
            found.conflicts.append(candidate)
        else:
            pieces = candidate.pieces = None if get_pieces is None else get_pieces(word)
            is_single = pieces is None or len(pieces) == 1
            (found.chosen if is_single else found.multi_piece).append(candidate)
    n_lacking = settings.top_k - len(found.chosen)
    found.chosen += [word for word in found.multi_piece if word.pieces][:n_lacking]
    return found


def _rank(
    in_data: Counter, in_lm: Counter, settings: SearchSettings
) -> List[Tuple[str, int]]:
    """Words with their scores, best first; words that score 0 are left out."""
    # What only one of the two counts holds; 0 makes the product 0.
    missing = 1 if settings.smoothing else 0
    scores: Dict[str, int] = {}
    for word in chain(in_lm, in_data):
        if settings.method == DATA:
            score = in_data[word]
        elif settings.method == LM:
            score = in_lm[word]
        else:
            score = (in_data[word] or missing) * (in_lm[word] or missing)
        # A word has more than one character, and a letter among them.
        if score and len(word) > 1 and any(char.isalpha() for char in word):
            scores[word] = score
    # A dict keeps the order of first appearance, and sorting is stable.
    return sorted(scores.items(), key=lambda item: -item[1])
