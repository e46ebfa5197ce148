"""`spacy-entlm.OnnxEntLM.v1`: an EntLM model that was exported; it only predicts."""

from typing import Any, Callable, Iterable, List, NoReturn, Optional, Tuple

import numpy
from spacy.tokens import Doc, Span
from thinc.api import Model

from ...decoding.types import LabelScores
from ...label_words.words import LabelWords
from ..base import (
    CPU_BATCH_PIECES,
    Alphabet,
    PieceModel,
    ReadingConfig,
    ReadingModel,
    forward,
    init,
)
from ..batches import Batch
from ..types import PieceFeatures
from .scores import score_words
from .shim import OnnxShim

ARCHITECTURE = "spacy-entlm.OnnxEntLM.v1"


def build_onnx_entlm_v1(
    get_spans: Callable[[Iterable[Doc]], List[List[Span]]],
    window: Optional[int] = None,
    stride: Optional[int] = None,
    max_batch_pieces: Optional[int] = None,
) -> PieceModel:
    """An EntLM model on ONNX Runtime, as `spacy entlm export` writes it: on the CPU, or
    with onnxruntime-gpu on the GPU that spaCy uses. It cannot be trained. The settings
    are those of `spacy-entlm.EntLM.v1`.

    RAISES (ValueError): If a setting has no such value.
    """
    config = ReadingConfig(get_spans, window, stride, max_batch_pieces)
    attrs = {"label_model": OnnxEntLMModel, "config": config}
    return Model("onnx_entlm", forward, init=init, shims=[OnnxShim()], attrs=attrs)


class OnnxEntLMModel(ReadingModel):
    """Label rows beside the vocabulary of a masked LM that runs on ONNX Runtime."""

    config: ReadingConfig
    shim: OnnxShim

    @property
    def alphabet(self) -> Alphabet:
        """What the network reads."""
        return self.network.alphabet

    @property
    def label_words(self) -> LabelWords:
        """Label words of the classes, in the order of their rows."""
        return self.network.label_words

    @property
    def labels(self) -> List[str]:
        """The classes, in the order of their rows."""
        return list(self.label_words)

    @property
    def batch_limits(self) -> Tuple[int, int]:
        """Windows of one length are read together: graphs take no padding."""
        return CPU_BATCH_PIECES, 0

    def read_batch(self, batch: Batch) -> numpy.ndarray:
        """float32 (n, width), features of the words that are read from a batch."""
        ids, mask = batch.input_ids, batch.attention_mask
        return self.network.read(ids, mask, batch.word_positions)

    def joined(self, parts: List[numpy.ndarray]) -> numpy.ndarray:
        """What `read_batch` gave, of none or of several batches."""
        return numpy.concatenate([self.network.vocabulary.weight[:0], *parts])

    def score(self, pieces: PieceFeatures, **settings: Any) -> LabelScores:
        """Scores of the words that `model.predict` read (paper, Eq. 4), with the
        settings of `score_words`."""
        scores: List[Any] = list(
            score_words(
                pieces.features,
                pieces.piece_ids,
                pieces.first_words,
                sum(pieces.lengths),
                self.network.vocabulary,
                self.network.label_rows,
                **settings,
            )
        )
        best, confidence, probs, word_prob = scores
        return LabelScores(best, confidence, probs, pieces.lengths, word_prob)

    @property
    def backbone(self) -> str:
        """There is none any more."""
        _refuse()

    def load_backbone(self) -> None:
        """There is none any more."""
        _refuse()

    def add_labels(self, *args: Any, **settings: Any) -> None:
        """No class can be added."""
        _refuse()

    def read_pieces(self, docs: List[Doc]) -> Any:
        """Nothing can be learned."""
        _refuse()


def _refuse() -> NoReturn:
    raise ValueError(
        "An exported pipeline only predicts: train the one that it was exported from, "
        "and export that again"
    )
