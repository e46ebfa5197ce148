"""WordPiece vocabularies: cut to what a text uses, grown by its words, made anew.

A vocabulary is a list of pieces in the order of their ids, and for each piece the ids
of the old pieces whose rows are averaged to make its row (Gee et al. 2022, fast
vocabulary transfer). A piece that was there before keeps its own row.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import List, Sequence

from .settings import PretrainError
from .wordpiece import WordPiece

# A word seen once says nothing that training could use.
MIN_COUNT = 2


@dataclass
class Vocabulary:
    """Pieces of a model-to-be, and where their rows come from.

    pieces (List[str]): In the order of their ids.
    sources (List[List[int]]): Per piece, ids of the old pieces that it is made from.
    """

    pieces: List[str]
    sources: List[List[int]]

    @classmethod
    def of(cls, old: WordPiece) -> "Vocabulary":
        """The vocabulary as it is."""
        pieces = sorted(old.ids, key=old.ids.__getitem__)
        return cls(pieces, [[old.ids[piece]] for piece in pieces])


def cut_vocabulary(old: WordPiece, counts: "Counter[str]", size: int) -> Vocabulary:
    """Keep the pieces that a text uses most, and all that is needed to split any text.

    counts (Counter[str]): Words of the text, normalised.
    size (int): Pieces to keep, special ones and single characters counted.
    RETURNS (Vocabulary): In the old order; single characters that were only part of
        other pieces come last.
    RAISES (PretrainError): If the size is too small, or larger than the vocabulary.
    """
    if size > len(old.ids):
        raise PretrainError(
            f"--keep-vocab {size:,} is more than the vocabulary has ({len(old.ids):,})"
        )
    needed = _needed([old], size, "--keep-vocab")
    kept = {piece for piece in needed if piece in old.ids}
    used: Counter[int] = Counter()
    for word, count in counts.items():
        for piece_id in old.split(word) or []:
            used[piece_id] += count
    others = [piece for piece in old.ids if piece not in kept]
    others.sort(key=lambda piece: (-used[old.ids[piece]], old.ids[piece]))
    kept.update(others[: size - len(needed)])
    pieces = sorted(kept, key=old.ids.__getitem__)
    pieces += [piece for piece in needed if piece not in old.ids]
    return Vocabulary(pieces, [old.sources(piece) for piece in pieces])


def add_words(
    vocabulary: Vocabulary, old: WordPiece, counts: "Counter[str]", n_words: int
) -> List[str]:
    """Add the most frequent words that are several pieces.

    With a long piece more, a word may be cut where it was not before, so single
    characters that were only part of other pieces are added first: in BERT none is.

    vocabulary (Vocabulary): Changed in place: the new words come last.
    old (WordPiece): The vocabulary before any change, of whose rows new rows are made.
    counts (Counter[str]): Words of the text, normalised. n_words (int): At most.
    RETURNS (List[str]): The words added, most frequent first.
    """
    known = set(vocabulary.pieces)
    for piece in old.alphabet():
        if piece not in known:
            vocabulary.pieces.append(piece)
            vocabulary.sources.append(old.sources(piece))
    known = set(vocabulary.pieces)
    candidates = [
        (-count, word)
        for word, count in counts.items()
        if count >= MIN_COUNT and word not in known and any(map(str.isalpha, word))
    ]
    added: List[str] = []
    for _, word in sorted(candidates):
        if len(added) == n_words:
            break
        sources = old.split(word)
        if sources is not None and not old.continues(word):
            vocabulary.pieces.append(word)
            vocabulary.sources.append(sources)
            added.append(word)
    return added


def new_vocabulary(old: WordPiece, learned: Sequence[str], size: int) -> Vocabulary:
    """Put together a vocabulary from pieces that were learned anew.

    Special pieces and single characters of the old one stay, so that what could be
    split before still can.

    learned (Sequence[str]): Pieces, the most useful first.
    size (int): Of the whole vocabulary.
    RAISES (PretrainError): If the size is too small.
    """
    ids = {piece: i for i, piece in enumerate(dict.fromkeys(learned))}
    fresh = replace(old, ids=ids)
    needed = _needed([old, fresh], size, "--new-vocab")
    kept = set(needed)
    others = [piece for piece in ids if piece not in kept]
    pieces = [*needed, *others[: size - len(needed)]]
    return Vocabulary(pieces, [old.sources(piece) for piece in pieces])


def _needed(parts: Sequence[WordPiece], size: int, option: str) -> List[str]:
    """Special pieces and single characters."""
    alphabets = [piece for part in parts for piece in part.alphabet()]
    fixed = sorted(parts[0].fixed, key=parts[0].ids.__getitem__)
    needed = list(dict.fromkeys([*fixed, *alphabets]))
    if len(needed) > size:
        raise PretrainError(
            f"{option} {size:,} is too small: special pieces and single characters "
            f"alone are {len(needed):,}"
        )
    return needed
