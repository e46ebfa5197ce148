"""Label rows that start from features: the prototype of a class in annotated text.

Where the vocabulary has no piece for words of a class (chemistry, medicine), the mean
of its pieces' rows says little. What the features at the class's words have in common
does: their mean, less the mean at all words, as long as the label words' row.
"""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

import numpy
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from spacy.tokens import Doc
from spacy.training.batchers import minibatch_by_words
from thinc.api import Model

from ..label_words.words import LabelWords, label_word_pieces
from .label_head import initial_row
from .masked_lm import BackboneError
from .reading import get_doc_windows, get_network, get_shim, iter_word_features
from .types import NONE

# Words that are read and sorted by length in one go: bounds the memory.
CHUNK_WORDS = 2**14

LabelRows = Dict[str, torch.Tensor]
# Wraps what is gone through, eg to show a progress bar.
Progress = Callable[[Sequence[Any]], Iterable[Any]]


@torch.no_grad()
def find_prototypes(
    model: Model,
    docs: Iterable[Doc],
    label_words: LabelWords,
    *,
    progress: Optional[Progress] = None,
) -> LabelRows:
    """Find the rows of classes in annotated text, with one pass of the encoder.

    model (Model): A backbone. docs (Iterable[Doc]): With entities.
    label_words (Dict[str, List[str]]): Words of the classes; those of a row say how
        long it is.
    RETURNS (Dict[str, Tensor]): float32 (width), for each class that the text has.
    """
    network, device = get_network(model), get_shim(model).device
    labels = [label for label, words in label_words.items() if words]
    sums = torch.zeros(len(labels), network.masked_lm.width, device=device)
    counts = torch.zeros(len(labels), device=device)
    total, n_words = torch.zeros(network.masked_lm.width, device=device), 0
    chunks = list(minibatch_by_words(docs, CHUNK_WORDS))
    for chunk in chunks if progress is None else progress(chunks):
        classes = torch.from_numpy(_word_classes(chunk, labels)).to(device)
        windows = get_doc_windows(model, chunk)
        for words, features in iter_word_features(model, windows):
            here = classes[torch.from_numpy(words).to(device)]
            inside = here >= 0
            sums.index_add_(0, here[inside], features[inside])
            counts += torch.bincount(here[inside], minlength=len(labels))
            total += features.sum(0)
            n_words += len(words)
    pieces = label_word_pieces(
        {label: label_words[label] for label in labels}, network.tokenizer
    )
    rows: LabelRows = {}
    for label, summed, count in zip(labels, sums, counts):
        if count:
            direction = summed / count - total / n_words
            row, _ = initial_row(network.decoder_rows, pieces[label], mean_bias=False)
            rows[label] = direction * (row.norm() / direction.norm())
    return rows


def write_label_rows(rows: LabelRows, path: Path) -> None:
    """Write rows as safetensors, one tensor a class; there may be none.

    rows (Dict[str, Tensor]): From `find_prototypes`. path (Path): The file.
    """
    # Not `save_file`, whose files only their owner may read.
    path.write_bytes(save({key: row.cpu().contiguous() for key, row in rows.items()}))


def read_label_rows(path: Path, width: int) -> LabelRows:
    """Read what `write_label_rows` wrote.

    path (Path): The file. width (int): That of the backbone's features.
    RAISES (BackboneError): If the file is missing, broken, or of another backbone.
    """
    try:
        rows = load_file(path)
    except (OSError, SafetensorError) as err:
        raise BackboneError(f"Cannot read label rows from {path}: {err}") from err
    for label, row in rows.items():
        if tuple(row.shape) != (width,) or not row.is_floating_point():
            raise BackboneError(
                f"{path}: the row of {label!r} has the form {tuple(row.shape)}, and "
                f"the backbone's have ({width},): search them again with this backbone"
            )
    return {label: row.float() for label, row in rows.items()}


def _word_classes(docs: List[Doc], labels: List[str]) -> numpy.ndarray:
    """int64 (n_words), the class of each word, or NONE."""
    index = {label: i for i, label in enumerate(labels)}
    classes = [index.get(token.ent_type_, NONE) for doc in docs for token in doc]
    return numpy.array(classes, dtype="int64")
