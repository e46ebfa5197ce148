"""What a masked LM predicts at labelled words, counted per class (paper, Eq. 6)."""

from collections import Counter
from typing import Any, Dict, Iterable, List, Optional, Tuple

import numpy
import torch
from spacy.tokens import Doc
from spacy.training.batchers import minibatch_by_words
from tokenizers.models import WordPiece

from .reader import CHUNK_WORDS, NO_CLASS, Progress, Reader, word_classes
from .search import LM_TOP_K, Counts
from .words import LabelWordError

# Function words and punctuation that do not count; the paper's authors' list.
NOT_COUNTED = frozenset([*",:;'\"/.()?-", "and", "or", "the", "a", "of"])
MAX_BATCH_PIECES = 2048
# Words that are scored against the whole vocabulary at once.
BLOCK_WORDS = 256
# Predictions kept on the device before equal ones are added up.
COMPACT_ROWS = 2**22
# Stands before a piece that begins no word, as BERT's vocabularies spell it.
CONTINUATION = "##"


@torch.no_grad()
def count_predictions(
    reader: Reader,
    docs: Iterable[Doc],
    *,
    top_k: int = LM_TOP_K,
    masked: bool = False,
    max_batch_pieces: int = MAX_BATCH_PIECES,
    progress: Optional[Progress] = None,
) -> Counts:
    """Count the LM's best predictions at the first piece of each labelled word.

    A prediction does not count if it is a substring of the piece that is read there,
    as the vocabulary spells both, or one of NOT_COUNTED. The encoder runs once over
    the Docs that have entities, and the vocabulary is scored at those pieces only.
    Counts of parts of a corpus add up (`merge_counts`).

    reader (Reader): The masked LM.
    docs (Iterable[Doc]): With their entities in doc.ents.
    top_k (int): How many predictions count at each word.
    masked (bool): Whether the LM reads a word's pieces masked, one word at a time;
        then it may also predict the word itself. Else it reads the text as it is.
    max_batch_pieces (int): Most pieces of a batch, padding counted.
    progress (Optional[Progress]): Called with the list of batches of Docs, returns
        what to iterate over in its place.
    RETURNS (Dict[str, Counter]): Per class, in order of first appearance, how often
        each piece was predicted. Pieces are spelled as words, those that begin no
        word with "##" before them.
    RAISES (ValueError): If the LM has not so many pieces, or no mask to read.
    """
    tokenizer = reader.tokenizer
    if not 1 <= top_k <= len(tokenizer):
        raise ValueError(f"top_k must be from 1 to {len(tokenizer)}, not {top_k}")
    if masked and tokenizer.mask_token_id is None:
        raise LabelWordError("The backbone's tokenizer has no mask: count unmasked")
    docs = list(docs)
    names = {ent.label: ent.label_ for doc in docs for ent in doc.ents}
    chunks = list(minibatch_by_words((doc for doc in docs if doc.ents), CHUNK_WORDS))
    tally = _Tally(len(tokenizer), top_k)
    for chunk in chunks if progress is None else progress(chunks):
        classes = word_classes(chunk, list(names))
        pieces = reader.read_words(
            chunk,
            wanted=classes != NO_CLASS,
            masked=masked,
            max_batch_pieces=max_batch_pieces,
        )
        words = pieces.first_words
        arrays = (classes[words], pieces.piece_ids, words)
        parts = [torch.from_numpy(array).to(reader.device) for array in arrays]
        blocks = (part.split(BLOCK_WORDS) for part in (pieces.features, *parts))
        for features, block_classes, read, block_words in zip(*blocks):
            # An output matrix may have more rows than the tokenizer has pieces.
            scores = reader.vocabulary.scores(features)[:, : tally.n_pieces]
            predicted = scores.topk(tally.top_k, dim=1).indices
            tally.add(block_classes, read, block_words, predicted)
        tally.next_words(len(classes))
    return _spelled_counts(tally, list(names.values()), tokenizer, masked)


class _Tally:
    """Counts of (class, piece read, piece predicted), on the device until the end.

    Beside each count stands where the three were first seen, in the order of the
    text, which the order of the batches does not change.
    """

    def __init__(self, n_pieces: int, top_k: int):
        self.n_pieces = n_pieces
        self.top_k = top_k
        self._first_word = 0
        self._parts: List[Tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self._n_rows = 0

    def add(
        self,
        classes: torch.Tensor,
        read: torch.Tensor,
        words: torch.Tensor,
        predicted: torch.Tensor,
    ) -> None:
        """Count predictions. classes, read, words: int64 (n), class, piece id, and
        index in the chunk of each word; predicted: int64 (n, top_k), piece ids."""
        codes = (classes * self.n_pieces + read)[:, None] * self.n_pieces + predicted
        ranks = torch.arange(self.top_k, device=words.device)
        seen = (self._first_word + words)[:, None] * self.top_k + ranks
        codes, seen = codes.flatten(), seen.flatten()
        self._parts.append((codes, torch.ones_like(codes), seen))
        self._n_rows += len(codes)
        if self._n_rows > COMPACT_ROWS:
            self._compact()
            self._n_rows = 0

    def next_words(self, n_words: int) -> None:
        """Go on to the next chunk, after one of n_words words."""
        self._first_word += n_words

    def rows(self) -> numpy.ndarray:
        """int64 (n, 4): class, piece read, piece predicted and count, in the order of
        first appearance."""
        if not self._parts:
            return numpy.zeros((0, 4), dtype="int64")
        self._compact()
        codes, counts, seen = (part.cpu().numpy() for part in self._parts[0])
        rest, predicted = numpy.divmod(codes, self.n_pieces)
        classes, read = numpy.divmod(rest, self.n_pieces)
        order = numpy.argsort(seen)
        return numpy.stack([classes, read, predicted, counts], axis=1)[order]

    def _compact(self) -> None:
        codes, counts, seen = (torch.cat(part) for part in zip(*self._parts))
        unique, place = torch.unique(codes, return_inverse=True)
        zeros = torch.zeros_like(unique)
        total = zeros.scatter_add(0, place, counts)
        first = zeros.scatter_reduce(0, place, seen, "amin", include_self=False)
        self._parts = [(unique, total, first)]


def _spelled_counts(
    tally: _Tally, labels: List[str], tokenizer: Any, masked: bool
) -> Counts:
    counts: Counts = {label: Counter() for label in labels}
    words: Dict[int, str] = {}
    for class_, read, predicted, count in tally.rows().tolist():
        piece = tokenizer.convert_ids_to_tokens(predicted)
        # What a masked word's place is called says nothing of the word.
        if not masked and piece in tokenizer.convert_ids_to_tokens(read):
            continue
        if predicted not in words:
            words[predicted] = piece_as_word(piece, tokenizer)
        if words[predicted] not in NOT_COUNTED:
            counts[labels[class_]][words[predicted]] += count
    return counts


def piece_as_word(piece: str, tokenizer: Any) -> str:
    """A piece as the word that it is, or with "##" before it if it begins no word.

    piece (str): As the vocabulary spells it.
    tokenizer (PreTrainedTokenizerFast): The backbone's tokenizer.
    """
    backend = tokenizer.backend_tokenizer
    if isinstance(backend.model, WordPiece) or backend.decoder is None:
        return piece
    # Byte-level and unigram pieces hold the space before a word.
    text = backend.decoder.decode(["a", piece])[1:]
    return text[1:] if text.startswith(" ") else f"{CONTINUATION}{text}"
