"""How often words occur in a text and in the names of a lexicon."""

from collections import Counter
from pathlib import Path
from typing import Any, Iterable, Iterator, List

from ..lexicon.readers import read_lexicon

# Distinct words that are counted at once; beyond that the rarest are forgotten.
MAX_DISTINCT = 4_000_000
# Names need no class here, but a plain list has none of its own.
ANY_LABEL = "NAME"


def count_words(
    lines: Iterable[str], names: Iterable[str], name_weight: int, backend: Any
) -> "Counter[str]":
    """Count words in the form in which a tokenizer splits them into pieces.

    lines (Iterable[str]): The text.
    names (Iterable[str]): Names, each of which counts like `name_weight` occurrences.
    backend (tokenizers.Tokenizer): Normalises texts and splits them into words.
    RETURNS (Counter[str]): Word -> occurrences.
    """
    raw: Counter[str] = Counter()
    for line in lines:
        raw.update(line.split())
        if len(raw) > MAX_DISTINCT:
            raw = forget_rare(raw)
    for name in names:
        for word in name.split():
            raw[word] += name_weight
    words: Counter[str] = Counter()
    # Each distinct word is normalised once: a text is mostly the same words.
    for text, count in raw.items():
        for word in split_words(text, backend):
            words[word] += count
    return words


def split_words(text: str, backend: Any) -> Iterator[str]:
    """The words of a text, as a tokenizer normalises and splits it.

    backend (tokenizers.Tokenizer): The tokenizer.
    """
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    if backend.pre_tokenizer is None:
        yield from text.split()
        return
    for word, _ in backend.pre_tokenizer.pre_tokenize_str(text):
        yield word


def forget_rare(counts: "Counter[str]") -> "Counter[str]":
    """The words that occur more often than the rarer half of them."""
    middle = sorted(counts.values())[len(counts) // 2]
    return Counter({word: n for word, n in counts.items() if n > middle})


def read_names(paths: Iterable[Path]) -> List[str]:
    """The names in lexicon files, whatever their classes.

    RAISES (DataError): If a file cannot be read or holds no name.
    """
    names: List[str] = []
    for path in paths:
        entries, _ = read_lexicon(path, label=ANY_LABEL)
        # A name with two classes is still one name.
        names += dict.fromkeys(entry.name for entry in entries)
    return names
