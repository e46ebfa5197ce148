"""Label rows that start from features: the prototype of a class in annotated text.

Where the vocabulary has no piece for words of a class (chemistry, medicine), the mean
of its pieces' rows says little. What the features at the class's words have in common
does: their mean, less the mean at all words, as long as the label words' row.
"""

from pathlib import Path
from typing import Dict, Iterable

import torch
from spacy.tokens import Doc
from spacy.training.batchers import minibatch_by_words

from ..files.errors import DataError
from ..files.tensors import load_tensors
from .reader import CHUNK_WORDS, Progress, Reader, word_classes
from .rows import initial_row
from .words import LabelWords, label_word_pieces

LabelRows = Dict[str, torch.Tensor]


@torch.no_grad()
def find_prototypes(
    reader: Reader,
    docs: Iterable[Doc],
    label_words: LabelWords,
    *,
    progress: Progress = None,
) -> LabelRows:
    """Find the rows of classes in annotated text, with one pass of the encoder.

    reader (Reader): The masked LM. docs (Iterable[Doc]): With entities.
    label_words (Dict[str, List[str]]): Words of the classes; those of a row say how
        long it is.
    RETURNS (Dict[str, Tensor]): float32 (width), for each class that the text has.
    """
    labels = [label for label, words in label_words.items() if words]
    width, device = reader.vocabulary.weight.shape[1], reader.device
    # Of each class, and last of all words.
    sums = torch.zeros(len(labels) + 1, width, device=device)
    counts = torch.zeros(len(labels) + 1, device=device)
    chunks = list(minibatch_by_words(docs, CHUNK_WORDS))
    for chunk in chunks if progress is None else progress(chunks):
        strings = chunk[0].vocab.strings
        classes = word_classes(chunk, [strings.add(label) for label in labels])
        pieces = reader.read_words(chunk)
        here = torch.from_numpy(classes[pieces.words]).to(device)
        inside = here >= 0
        sums.index_add_(0, here[inside], pieces.features[inside])
        counts += torch.bincount(here[inside], minlength=len(labels) + 1)
        sums[-1] += pieces.features.sum(0)
        counts[-1] += len(here)
    means = sums / counts[:, None]
    given = {label: label_words[label] for label in labels}
    ids = label_word_pieces(given, reader.tokenizer)
    rows: LabelRows = {}
    for label, mean, count in zip(labels, means, counts):
        if count:
            direction = mean - means[-1]
            row, _ = initial_row(reader.vocabulary, ids[label])
            rows[label] = direction * (row.norm() / direction.norm())
    return rows


def read_label_rows(path: Path, width: int) -> LabelRows:
    """Read rows of classes.

    path (Path): The file. width (int): That of the backbone's features.
    RAISES (DataError): If the file is missing, broken, or of another backbone.
    """
    rows = load_tensors(path)
    for label, row in rows.items():
        if tuple(row.shape) != (width,) or not row.is_floating_point():
            raise DataError(
                f"the row of {label!r:.100} has the form {tuple(row.shape)}, and the "
                f"backbone's have ({width},): search them again with this backbone",
                path=path,
            )
    return rows
