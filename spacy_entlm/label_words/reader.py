"""What searches ask of a masked LM that reads texts."""

from typing import Any, Callable, Iterable, List, Optional, Protocol, Sequence

import numpy
import torch
from spacy.tokens import Doc

from .rows import Rows

# Wraps what is gone through, eg to show a progress bar.
Progress = Optional[Callable[[Sequence[Any]], Iterable[Any]]]
# Words that are read and sorted by length in one go: bounds the memory.
CHUNK_WORDS = 2**14
# A word outside of entities.
NO_CLASS = -1


class Reader(Protocol):
    """A masked LM that reads texts; `model.search_reader.TextReader` is one."""

    tokenizer: Any
    vocabulary: Rows
    device: torch.device

    def fold_word(self, word: str) -> str:
        """The form in which the backbone's tokenizer reads a word."""

    def word_pieces(self, word: str) -> List[str]:
        """The pieces of a word, as the vocabulary spells them."""

    def read_words(
        self, docs: List[Doc], *, wanted: Optional[numpy.ndarray] = None
    ) -> Any:
        """Features of words, in no particular order: a `model.types.WordFeatures`.
        wanted: bool (n_words)."""


def word_classes(docs: List[Doc], labels: List[int]) -> numpy.ndarray:
    """int64 (n_words): index of each word's class, NO_CLASS outside entities.
    labels (List[int]): The classes, as numbers of the vocabulary's strings."""
    index = {label: i for i, label in enumerate(labels)}
    classes = [index.get(token.ent_type, NO_CLASS) for doc in docs for token in doc]
    return numpy.array(classes, dtype="int64")
