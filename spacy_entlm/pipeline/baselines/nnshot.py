"""The component `nnshot`: the class of the nearest word of the support set."""

import logging
from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Tuple, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ...decoding.types import Decoder, LabelScores
from ...model.base import PieceModel
from ...model.types import NO_TARGET
from ..examples import untrained_before
from .bert_tagger import BertTagger

logger = logging.getLogger("spacy.entlm")


class NNShot(BertTagger):
    """Finds entities by the nearest words of a support set (Yang & Katiyar, "Simple
    and Effective Few-Shot Named Entity Recognition with Structured Nearest Neighbor
    Learning", EMNLP 2020).

    The support set is what `initialize` gets. An update makes the features of its words
    those of an earlier model, so they are read again when they are next wanted: to
    predict or to save. They are saved, the texts are not: a pipeline that was loaded
    and is trained further keeps the features that it has until `set_support`.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: PieceModel,
        name: str = "nnshot",
        *,
        decoder: Decoder,
        **settings: Any,
    ) -> None:
        """vocab (Vocab): The shared vocabulary. name (str): The instance's name. The
        other settings are those of `make_peer`."""
        super().__init__(vocab, model, name, decoder=decoder, **settings)
        self._support: Optional[Tuple[List[Doc], numpy.ndarray]] = None
        self._said_outdated = False

    def _learn(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Optional[Language]
    ) -> None:
        super()._learn(get_examples, nlp)
        self.set_support(get_examples(), nlp=nlp)

    def set_support(
        self, examples: Iterable[Example], *, nlp: Optional[Language] = None
    ) -> None:
        """Take the examples whose words predictions are made from: for a pipeline that
        was loaded and is trained further, or is to have other ones.

        examples (Iterable[Example]): The support set.
        nlp (Optional[Language]): The pipeline: what stands before this component and
            needs no training, such as a sentencizer, annotates the texts.
        RAISES (ValueError): If an entity's label is none of the classes, or nothing is
            annotated.
        """
        examples = list(examples)
        targets = self._word_targets(examples)
        if not (targets != NO_TARGET).any():
            raise ValueError(f"[{self.name}] No word of the support set is annotated")
        docs = [eg.predicted.copy() for eg in examples]
        if nlp is not None:
            for name in untrained_before(nlp, self.name):
                docs = [nlp.get_pipe(name)(doc) for doc in docs]
        self._support = (docs, targets)
        self.label_model.drop_index()

    def score_words(self, docs: List[Doc]) -> LabelScores:
        """What the decoder gets to see of some Docs.

        docs (List[Doc]): The Docs, which are not changed.
        RETURNS (LabelScores): Of all their words.
        RAISES (ValueError): If the component was neither trained nor loaded, or has no
            support set.
        """
        self._read_support()
        if self.is_initialized and not self.label_model.has_index:
            raise ValueError(
                f"[{self.name}] There is no support set: give one with "
                f"nlp.get_pipe({self.name!r}).set_support(examples)"
            )
        return super().score_words(docs)

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters. What was read of the support set is out of date."""
        super().finish_update(sgd)
        if self._support is not None:
            self.label_model.drop_index()
        elif not self._said_outdated:
            self._said_outdated = True
            logger.warning(
                "[%s] The texts of its support set were not saved, so that it keeps "
                "their features of before this training: give them again with "
                "nlp.get_pipe(%r).set_support(examples)",
                self.name,
                self.name,
            )

    def _read_support(self) -> None:
        if self._support is None or not self.is_initialized:
            return
        if not self.label_model.has_index:
            self.label_model.build_index(*self._support)

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Save to a folder, as `entlm_ner` does."""
        self._read_support()
        super().to_disk(path, exclude=exclude)
