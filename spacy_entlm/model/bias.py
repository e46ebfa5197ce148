"""What is added to the scores of classes in prediction."""

from dataclasses import dataclass
from typing import Iterable, Optional, Sequence, Union

import numpy
from spacy.tokens import Doc

# One number for all, or float32 (n_words, n_labels).
Bias = Union[float, numpy.ndarray]


@dataclass
class ScoreBias:
    """Added to all labels, and more where a known name speaks for a class.

    label_bias (float): For all words and classes.
    lexicon_key (Optional[str]): Span group of known names; None: none.
    lexicon_weight (float): For each word of such a name, at each of its words.
    """

    label_bias: float = 0.0
    lexicon_key: Optional[str] = None
    lexicon_weight: float = 0.0

    def of_words(self, docs: Iterable[Doc], labels: Sequence[str]) -> Bias:
        """The bias of the words of some Docs: `label_bias` alone where no name is
        known. Long names are seldom anything else, so each word of a name adds as often
        as the name has words; of several names of a class the longest counts."""
        index = {label: i for i, label in enumerate(labels)}
        places = []
        n_words = 0
        for doc in docs:
            if self.lexicon_key is not None and self.lexicon_key in doc.spans:
                places += [
                    (n_words + span.start, n_words + span.end, index[span.label_])
                    for span in doc.spans[self.lexicon_key]
                    if span.label_ in index
                ]
            n_words += len(doc)
        if not places or not self.lexicon_weight:
            return self.label_bias
        lengths = numpy.zeros((n_words, len(labels)), dtype="float32")
        for start, end, label in places:
            longest = lengths[start:end, label]
            numpy.maximum(longest, end - start, out=longest)
        return self.label_bias + self.lexicon_weight * lengths
