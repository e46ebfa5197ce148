"""How the classes of an `entlm_ner` begin: from their names or from label words, with
examples or without."""

import threading
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from spacy.errors import Errors
from spacy.training import Example
from spacy.vocab import Vocab

from ..backbones.recommended import reads_names
from ..backbones.suitable import LEAST_CONFIDENCE, START_PULL
from ..label_words.starts import (
    WORDS,
    Start,
    check_start,
    choose_starts,
    starts_again,
)
from ..label_words.words import LabelWords, check_label_words
from ..model.layer import LabelModel
from .base import MaskedLMNER
from .calibration import UNCHANGED, Calibration
from .classes import Labels, label_texts, tell_of_starts
from .examples import count_entities

# Of several threads that predict first, one loads the backbone.
_BEGINNING = threading.RLock()


class BeginningNER(MaskedLMNER):
    """A component whose classes begin from their names or from label words."""

    def __init__(
        self,
        vocab: Vocab,
        model: LabelModel,
        name: str,
        *,
        labels: Optional[Labels] = None,
        start: Optional[str] = None,
        **settings: Any,
    ) -> None:
        """The arguments are those of `make_entlm_ner`."""
        super().__init__(vocab, model, name, **settings)
        check_start(start)
        self.start = start
        # Of the config: classes wherever a training begins.
        self._given = label_texts(labels)
        self._added = dict(self._given)
        self._note_labels()

    @property
    def label_data(self) -> LabelWords:
        """The texts by which each class began, as `initialize` takes them."""
        known = self.network.label_words if self.is_initialized else self._added
        return {label: list(words) for label, words in known.items()}

    @property
    def reads_names(self) -> bool:
        """Whether classes may start from their names: whether the backbone makes rows
        from them."""
        if self.is_initialized:
            return getattr(self.network, "name_map", None) is not None
        return reads_names(self.backbone)

    @property
    def start_pull(self) -> float:
        """How strongly a training holds weights near to where they began, as of
        `spacy-entlm.Adam.v1`."""
        return START_PULL if self.reads_names else 0.0

    def add_label(self, label: str, words: Optional[List[str]] = None) -> int:
        """Add a class. On a trained pipeline the scores of the others stay.

        label (str): The class.
        words (Optional[List[str]]): Label words, or a description. They may be left out
            where the backbone makes rows from names, and before `initialize`, which
            then searches them in the examples.
        RETURNS (int): 1, or 0 if the class is there already.
        RAISES (LabelWordError): If no word can be used.
        EXAMPLE:
            nlp.get_pipe("entlm_ner").add_label("DATE", ["date"])
        """
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        return len(self.add_labels({label: words or []}))

    def add_labels(self, texts: LabelWords) -> List[str]:
        """Add classes, all or none of them.

        texts (LabelWords): Of each what `add_label` takes; those that are there already
            are left out.
        RETURNS (List[str]): The classes that are new.
        RAISES (LabelWordError): If no word of one can be used.
        """
        known = self.labels
        new = {label: words for label, words in texts.items() if label not in known}
        if not new:
            return []
        new = check_label_words(new, tags=False)
        if self.is_initialized:
            starts = choose_starts(new, reads_names=self.reads_names, start=self.start)
            self._add_starts(starts)
            self.new_labels.update(new)
        else:
            self._added.update(new)
        self._note_labels()
        return list(new)

    def begin(self) -> None:
        """Load the backbone and let classes start from their names, where there are
        classes and no weights yet.
        RAISES (ValueError): If there are no classes, or they cannot start without
            examples."""
        with _BEGINNING:
            if not self.is_initialized:
                self._begin()

    def _begin(self) -> None:
        if not self._added:
            super().begin()
        if self.start == WORDS:
            raise self._wants_examples(f"start is {WORDS!r}")
        texts = self._added
        with self._initializing(None):
            if not self.reads_names:
                what = "makes no rows from names of classes"
                raise self._wants_examples(f"the backbone {self.backbone!r} {what}")
            self._add_starts(choose_starts(texts, reads_names=True))
            self.decoder.initialize(lambda: [], self.labels)
        self.calibration = self._suitable_calibration({})

    def _wants_examples(self, reason: str) -> ValueError:
        advice = "call nlp.initialize() with examples"
        return ValueError(f"[{self.name}] There are no weights yet: {reason}; {advice}")

    def begin_again(self, label_rows: Optional[Path] = None) -> None:
        """Load the backbone afresh, and let the classes start as they did.
        label_rows (Optional[Path]): File of rows from which classes started.
        RAISES (BackboneError): If the backbone cannot be loaded. (DataError): If the
            rows cannot."""
        texts = self.label_data
        self.model.initialize()
        starts = starts_again(texts, reads_names=self.reads_names, start=self.start)
        self._add_starts(starts, label_rows)

    def prepare_training(self, examples: Sequence[Example]) -> None:
        """Take from the first examples of a component that began without them what
        `initialize` takes from them: classes that it lacks, which start from their
        names, what the decoder counts, and how sure is sure enough.
        RAISES (LabelWordError): If a new class has no start."""
        counts = count_entities(examples)
        self.add_labels({label: [] for label in counts})
        self.decoder.initialize(lambda: examples, self.labels)
        self.calibration = self._suitable_calibration(counts)

    def _add_starts(
        self, starts: Dict[str, Start], label_rows: Optional[Path] = None
    ) -> None:
        """Give classes their rows, and say how their names were read."""
        rows = None
        if label_rows is not None:
            from ..label_words.prototypes import read_label_rows

            rows = read_label_rows(label_rows, self.network.masked_lm.width)
        self.network.add_labels(starts, rows)
        self._note_labels()
        tell_of_starts(self.name, starts, rows or {})

    def _suitable_calibration(self, counts: Mapping[str, int]) -> Calibration:
        """counts (Mapping[str, int]): Entities of each class in the examples."""
        few_shot = getattr(self.decoder, "few_shot_calibration", UNCHANGED)
        by_name = getattr(self.decoder, "by_name_calibration", few_shot)
        scale, shift = (few_shot if any(counts.values()) else by_name)[:2]
        return Calibration(scale, shift, LEAST_CONFIDENCE if self.reads_names else 0.0)

    def _write_parts(self, folder: Path, exclude: Iterable[str]) -> None:
        if self._added and not self.is_initialized and "model" not in exclude:
            self._begin_if_it_can()
        super()._write_parts(folder, exclude)

    def _begin_if_it_can(self) -> None:
        """What is saved needs no backbone any more."""
        if self.start != WORDS and reads_names(self.backbone):
            self.begin()
