"""The component `nnshot`: the class of the nearest word of the support set."""

from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ...decoding import Decoder
from ...model.types import NO_TARGET, LabelScores
from ..requirement import add_requirement
from .bert_tagger import (
    ASSIGNS,
    COMMON_CONFIG,
    DEFAULT_CONFIG,
    SCORE_WEIGHTS,
    BertTagger,
)

MODEL_CONFIG = {
    **DEFAULT_CONFIG["model"],
    "@architectures": "spacy-entlm.NNShot.v1",
}


@Language.factory(
    "nnshot",
    assigns=ASSIGNS,
    default_config={
        "model": MODEL_CONFIG,
        "decoder": DEFAULT_CONFIG["decoder"],
        **COMMON_CONFIG,
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_nnshot(
    nlp: Language,
    name: str,
    model: Model[List[Doc], LabelScores],
    decoder: Decoder,
    threshold: float,
    spans_key: Optional[str],
    overwrite: bool,
    scorer: Optional[Callable],
) -> "NNShot":
    """Create a component that is trained as a tagger and predicts the class of the
    nearest word of its support set, the training examples.

    model (Model[List[Doc], LabelScores]): A model such as `spacy-entlm.NNShot.v1`.
    decoder (Decoder): Turns scores into entities.
    threshold, spans_key, overwrite, scorer: As those of `entlm_ner`.
    """
    add_requirement(nlp)
    return NNShot(
        nlp.vocab,
        model,
        name,
        decoder=decoder,
        threshold=threshold,
        spans_key=spans_key,
        overwrite=overwrite,
        scorer=scorer,
    )


class NNShot(BertTagger):
    """Finds entities by the nearest words of a support set (Yang & Katiyar, "Simple
    and Effective Few-Shot Named Entity Recognition with Structured Nearest Neighbor
    Learning", EMNLP 2020).

    The support set is what `initialize` gets. An update makes the features of its words
    those of an earlier model, so they are read again when they are next wanted: to
    predict or to save. They are saved, the texts are not.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[List[Doc], LabelScores],
        name: str = "nnshot",
        *,
        decoder: Decoder,
        **settings: Any,
    ) -> None:
        """vocab (Vocab): The shared vocabulary. name (str): The instance's name. The
        other settings are those of `make_nnshot`."""
        super().__init__(vocab, model, name, decoder=decoder, **settings)
        self._support: Optional[Tuple[List[Doc], numpy.ndarray]] = None

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
    ) -> None:
        """Load the backbone, give each class a new row, and keep the support set. The
        arguments are those of `BertTagger.initialize`."""
        super().initialize(get_examples, nlp=nlp, labels=labels)
        self.set_support(get_examples())

    def set_support(self, examples: Iterable[Example]) -> None:
        """Take the examples whose words predictions are made from: for a pipeline that
        was loaded and is trained further, or is to have other ones.

        examples (Iterable[Example]): The support set.
        RAISES (ValueError): If an entity's label is none of the classes, or nothing is
            annotated.
        """
        examples = list(examples)
        targets = self._word_targets(examples)
        if not (targets != NO_TARGET).any():
            raise ValueError(f"[{self.name}] No word of the support set is annotated")
        self._support = ([eg.predicted.copy() for eg in examples], targets)
        self.model.attrs["drop_index"](self.model)

    def score_words(self, docs: List[Doc]) -> LabelScores:
        """What the decoder gets to see of some Docs.

        docs (List[Doc]): The Docs, which are not changed.
        RETURNS (LabelScores): Of all their words.
        RAISES (ValueError): If the component was neither trained nor loaded, or has no
            support set.
        """
        self._read_support()
        if self.is_initialized and not self.model.attrs["has_index"](self.model):
            raise ValueError(
                f"[{self.name}] There is no support set: it is not saved with a "
                f"pipeline, and has to be given again before a loaded one is trained "
                f"further: nlp.get_pipe({self.name!r}).set_support(examples)"
            )
        return super().score_words(docs)

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters. What was read of the support set is out of date."""
        super().finish_update(sgd)
        self.model.attrs["drop_index"](self.model)

    def _read_support(self) -> None:
        if self._support is None or not self.is_initialized:
            return
        if not self.model.attrs["has_index"](self.model):
            self.model.attrs["build_index"](self.model, *self._support)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialise to bytes."""
        self._read_support()
        return super().to_bytes(exclude=exclude)

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Save to a folder, as `entlm_ner` does."""
        self._read_support()
        super().to_disk(path, exclude=exclude)
