"""What a masked LM predicts at labelled words, counted per class (paper, Eq. 6)."""

from collections import Counter
from functools import cache, partial
from typing import Any, Iterable, List, Tuple

import numpy
import torch
from spacy.tokens import Doc
from spacy.training.batchers import minibatch_by_words
from tokenizers.models import WordPiece

from .reader import CHUNK_WORDS, NO_CLASS, Progress, Reader, word_classes
from .search import LM_TOP_K, Counts

# Function words and punctuation that do not count; the paper's authors' list.
NOT_COUNTED = frozenset([*",:;'\"/.()?-", "and", "or", "the", "a", "of"])
# Words that are scored against the whole vocabulary at once.
BLOCK_WORDS = 256
# A class, the piece that is read, and a piece that is predicted there.
Prediction = Tuple[int, int, int]
# Stands before a piece that begins no word, as BERT's vocabularies spell it.
CONTINUATION = "##"


def count_predictions(
    reader: Reader, docs: List[Doc], *, top_k: int = LM_TOP_K, progress: Progress = None
) -> Counts:
    """Count the LM's best predictions at the first piece of each labelled word.

    A prediction does not count if it is a substring of the piece that is read there,
    as the vocabulary spells both, or one of NOT_COUNTED. The encoder runs once over
    the Docs that have entities, and the vocabulary is scored at those pieces only.

    reader (Reader): The masked LM. docs (List[Doc]): With entities.
    top_k (int): How many predictions count at each word.
    progress (Progress): Called with the list of batches of Docs, returns
        what to iterate over in its place.
    RETURNS (Dict[str, Counter]): Per class, in order of first appearance, how often
        each piece was predicted. Pieces are spelled as words, those that begin no
        word with "##" before them.
    RAISES (ValueError): If the LM has not so many pieces.
    """
    check_top_k(reader, top_k)
    labels, chunks = chunk_docs(docs)
    counted = chunks if progress is None else progress(chunks)
    tallies = (count_chunk(reader, chunk, labels, top_k) for chunk in counted)
    return add_counts(tallies, labels, reader.tokenizer)


def check_top_k(reader: Reader, top_k: int) -> None:
    """RAISES (ValueError): If the LM has not so many pieces."""
    if not 1 <= top_k <= len(reader.tokenizer):
        raise ValueError(
            f"top_k must be from 1 to {len(reader.tokenizer)}, not {top_k}"
        )


def chunk_docs(docs: List[Doc]) -> Tuple[List[str], List[List[Doc]]]:
    """The classes, and the Docs that have entities in parts, which are counted one by
    one: the counts of all are the sums."""
    names = {ent.label: ent.label_ for doc in docs for ent in doc.ents}
    chunks = minibatch_by_words((doc for doc in docs if doc.ents), CHUNK_WORDS)
    return list(names.values()), list(chunks)


@torch.no_grad()
def count_chunk(
    reader: Reader, docs: List[Doc], labels: List[str], top_k: int
) -> "Counter[Prediction]":
    """Count in a part. RETURNS (Counter): In order of first appearance."""
    n_pieces = len(reader.tokenizer)
    classes = word_classes(docs, [docs[0].vocab.strings.add(label) for label in labels])
    pieces = reader.read_words(docs, wanted=classes != NO_CLASS)
    predicted = [
        # An output matrix may have more rows than the tokenizer has pieces.
        reader.vocabulary.scores(block)[:, :n_pieces].topk(top_k).indices
        for block in pieces.features.split(BLOCK_WORDS)
    ]
    words = pieces.words
    in_text = numpy.argsort(words)  # they come in the order of their batches
    rows = torch.cat(predicted).cpu().numpy()[in_text].tolist()
    read = pieces.piece_ids[in_text].tolist()
    tally: Counter[Prediction] = Counter()
    for class_, piece, best in zip(classes[words[in_text]].tolist(), read, rows):
        tally.update((class_, piece, each) for each in best)
    return tally


def add_counts(
    tallies: "Iterable[Counter[Prediction]]", labels: List[str], tokenizer: Any
) -> Counts:
    """Add the counts of parts in their order, and spell the pieces as words."""
    tally: Counter[Prediction] = Counter()
    for each in tallies:
        tally.update(each)
    counts: Counts = {label: Counter() for label in labels}
    as_word = cache(partial(piece_as_word, tokenizer=tokenizer))
    for (class_, read, predicted), count in tally.items():
        piece = tokenizer.convert_ids_to_tokens(predicted)
        if piece in tokenizer.convert_ids_to_tokens(read):
            continue
        if as_word(piece) not in NOT_COUNTED:
            counts[labels[class_]][as_word(piece)] += count
    return counts


def piece_as_word(piece: str, tokenizer: Any) -> str:
    """A piece as the word that it is, or with "##" before it if it begins no word.
    piece (str): As the vocabulary spells it."""
    backend = tokenizer.backend_tokenizer
    if isinstance(backend.model, WordPiece) or backend.decoder is None:
        return piece
    # Byte-level and unigram pieces hold the space before a word.
    text = backend.decoder.decode(["a", piece])[1:]
    return text[1:] if text.startswith(" ") else f"{CONTINUATION}{text}"
