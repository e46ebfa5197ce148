"""The component `bert_tagger`: a new linear layer on the encoder of a masked LM."""

from typing import Callable, Iterable, List, Optional, Sequence

import numpy
from spacy.errors import Errors
from spacy.language import Language
from spacy.training import Example, validate_get_examples

from ..base import MaskedLMNER
from ..examples import entity_labels, word_targets


class BertTagger(MaskedLMNER):
    """Finds entities with a new linear layer on the encoder of a masked LM."""

    @property
    def label_data(self) -> List[str]:
        """The classes, as `initialize` takes them."""
        return list(self.labels)

    def add_label(self, label: str) -> int:
        """Add a class. On a trained pipeline its rows are new, the others stay.

        label (str): The class.
        RETURNS (int): 1, or 0 if the class is there already.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        if label in self.labels:
            return 0
        if self.is_initialized:
            self.label_model.add_tags([label])
        else:
            self._added[label] = []
        self._note_labels()
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
    ) -> None:
        """Load the backbone and give each class a new row.

        get_examples (Callable[[], Iterable[Example]]): The training examples.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[Sequence[str]]): The classes; None: those added before and
            those of the examples.
        RAISES (ValueError): If there is no class.
            (BackboneError): If the backbone cannot be loaded.
        """
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        added = [] if self.is_initialized else self.labels
        wanted = labels or [*added, *entity_labels(get_examples())]
        wanted = list(dict.fromkeys(wanted))
        if not wanted:
            raise ValueError(
                f"[{self.name}] There is no class to learn: no example has an entity, "
                f"and no labels are given."
            )
        with self._initializing(nlp):
            self.label_model.add_tags(wanted)
            self._note_labels()  # examples may have another vocabulary
            self._learn(get_examples, nlp)

    def _learn(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Optional[Language]
    ) -> None:
        """What is learned from examples before the training."""
        self.decoder.initialize(get_examples, self.labels)

    def _word_targets(self, examples: Iterable[Example]) -> numpy.ndarray:
        return word_targets(examples, self.labels, self.name)
