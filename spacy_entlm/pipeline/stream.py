"""How many Docs of a stream are predicted together."""

from typing import Iterable, Iterator, List

from spacy.tokens import Doc

# Enough words that windows of nearly every length come by the batch.
FEWEST_WORDS = 8192
# Beyond this, more make no better batches and take memory.
MOST_WORDS = 65536


def look_ahead(stream: Iterable[Doc], batch_size: int) -> Iterator[List[Doc]]:
    """Take at least batch_size Docs and FEWEST_WORDS words together, but no further
    Doc after MOST_WORDS words.

    stream (Iterable[Doc]): The Docs.
    batch_size (int): Docs, at least 1.
    """
    docs: List[Doc] = []
    n_words = 0
    for doc in stream:
        docs.append(doc)
        n_words += len(doc)
        enough = len(docs) >= batch_size and n_words >= FEWEST_WORDS
        if enough or n_words >= MOST_WORDS:
            yield docs
            docs, n_words = [], 0
    if docs:
        yield docs
