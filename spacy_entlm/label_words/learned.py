"""Which of the classes that a backbone learned is meant by a class of the user: its
name says so, or the rows that win at its entities in the examples."""

from typing import Dict, List, Tuple

import numpy
import torch
from spacy.tokens import Doc

from .class_names import last_part
from .reader import Reader
from .rows import Rows
from .words import LabelWords

# Classes with a lower contrast are like none of the backbone's.
LEAST_CONTRAST = 0.2
# What a name that ends so, or with a word like it, counts beside a contrast of -1 to 1.
SAME_END = 0.2
# Words whose rows are so alike mean much the same: area and region, town and city.
LEAST_LIKENESS = 0.4


@torch.no_grad()
def recognise_classes(
    reader: Reader,
    docs: List[Doc],
    classes: numpy.ndarray,
    labels: List[str],
    *,
    learned_words: LabelWords,
    learned_rows: Rows,
    same_name: LabelWords,
    same_end: LabelWords,
) -> LabelWords:
    """Find the class of the backbone for each class, no one for two of them.

    One that has its name. Else that of the highest contrast: how much more probable it
    is, among the backbone's, at entities of the class than at those of the others. Its
    name may end with that of one ("gene_product"), which then counts more.

    docs (List[Doc]): Texts. classes: int64 (n_words), class of each word of an entity,
        below 0 elsewhere; other classes than `labels` come after these.
    learned_words (Dict[str, List[str]]): The backbone's classes with their words.
    learned_rows (Rows): Their rows.
    same_name, same_end (Dict[str, List[str]]): Words of the classes that have the name
        of one, or end with it.
    RETURNS (Dict[str, List[str]]): Words of the classes that are like one.
    """
    # As a whole: sentences may be known only when the pipeline runs.
    pieces = reader.read_words(docs, wanted=classes >= 0, whole=True)
    here = torch.from_numpy(classes[pieces.first_words])
    scores = learned_rows.scores(pieces.features.cpu())
    contrast = _contrasts(scores.softmax(1), here, len(labels))
    words = list(learned_words.values())
    same_end = _alike(reader, labels, learned_words) | same_end
    for label, some in same_end.items():
        i, at = labels.index(label), words.index(some)
        contrast[i, at] = contrast[i, at].clamp(min=0.0) + SAME_END
    contrast[contrast < LEAST_CONTRAST] = -torch.inf
    found: Dict[int, int] = {}
    for label, some in same_name.items():
        if words.index(some) not in found.values():
            found[labels.index(label)] = words.index(some)
    contrast[list(found)] = -torch.inf
    contrast[:, list(found.values())] = -torch.inf
    found |= _match(contrast)
    return {labels[i]: list(words[j]) for i, j in found.items()}


def _alike(reader: Reader, labels: List[str], learned_words: LabelWords) -> LabelWords:
    """The classes whose names end with a word that is like the name of one of the
    backbone's (cosine of their rows less the mean of all), with the words of that."""
    vocabulary = reader.vocabulary.weight.cpu()

    def directions(words: Dict[str, str]) -> Tuple[List[str], torch.Tensor]:
        ids = {name: reader.word_ids(word) for name, word in words.items()}
        single = {name: some[0] for name, some in ids.items() if len(some) == 1}
        rows = vocabulary[[*single.values()]] - vocabulary.mean(0)
        return list(single), torch.nn.functional.normalize(rows, dim=1)

    ours, rows = directions({label: last_part(label) for label in labels})
    theirs, their_rows = directions({label: label for label in learned_words})
    if not ours or not theirs:
        return {}
    likeness, at = (rows @ their_rows.T).max(1)
    return {
        ours[i]: learned_words[theirs[int(at[i])]]
        for i in torch.nonzero(likeness >= LEAST_LIKENESS).flatten().tolist()
    }


def _contrasts(
    probs: torch.Tensor, classes: torch.Tensor, n_classes: int
) -> torch.Tensor:
    """float32 (n_classes, n_learned), of a class without an entity 0.
    probs: (n, n_learned). classes: int64 (n)."""
    contrast = probs.new_zeros(n_classes, probs.shape[1])
    for i in range(n_classes):
        inside, others = probs[classes == i], probs[classes != i]
        if len(inside):
            contrast[i] = inside.mean(0)
            if len(others):
                contrast[i] -= others.mean(0)
    return contrast


def _match(scores: torch.Tensor) -> Dict[int, int]:
    """The highest scores of which no two share a row or a column.
    RETURNS: The column of each row that has one."""
    scores = scores.clone()
    found: Dict[int, int] = {}
    while scores.numel() and scores.max() > -torch.inf:
        i, j = divmod(int(scores.argmax()), scores.shape[1])
        found[i] = j
        scores[i] = scores[:, j] = -torch.inf
    return found
