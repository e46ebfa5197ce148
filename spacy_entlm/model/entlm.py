"""`spacy-entlm.EntLM.v1`: a masked LM scores label words against its vocabulary."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

import numpy
import torch
from spacy.tokens import Doc, Span

from ..backbones.recommended import Recommended, knows_classes
from ..decoding.types import Bias, LabelScores
from ..label_words.prototypes import read_label_rows
from ..label_words.rows import Rows
from ..label_words.words import LabelWords, word_pieces
from .base import PieceModel, get_label_model
from .label_scores import score_words
from .network import EntLMNetwork, read_learned_rows
from .objective import distillation_loss, sample_vocabulary
from .pytorch import (
    MaskedLMModel,
    ModelConfig,
    as_label_scores,
    build_model,
    mean_loss,
)
from .types import NO_TARGET, PieceFeatures, PieceGradient
from .windows import doc_spans

# Of labels of a backbone that knows classes, in training: else holding its weights near
# to where they began would cost recall (benchmarks/RESULTS.md).
LABEL_MARGIN = 1.5


def build_entlm_v1(
    name: str,
    get_spans: Callable[[Iterable[Doc]], List[List[Span]]],
    window: Optional[int] = None,
    stride: Optional[int] = None,
    max_batch_pieces: Optional[int] = None,
    precision: str = "float32",
    mixed_precision: bool = False,
    train_vocabulary: Optional[bool] = None,
    transformer_config: Dict[str, Any] = {},  # noqa: B006 (config values are copied)
    tokenizer_config: Dict[str, Any] = {},  # noqa: B006
) -> PieceModel:
    """A masked LM that scores the label words of classes against its vocabulary.

    name (str): The backbone: a folder or a name on the hub. It is loaded when the
        pipeline is initialised, and never again once that has been saved.
    get_spans (Callable): What is read together, for instance one of
        spacy-transformers' span getters.
    window (Optional[int]): Most word pieces read at once; None: what the model takes,
        at most 128 with special pieces.
    stride (Optional[int]): Pieces by which a window moves on; None: 7/8 of it.
    max_batch_pieces (Optional[int]): Most pieces of a batch in prediction, padding
        counted; None: 1024 on a CPU, 8192 on a GPU.
    precision (str): Of prediction: "float32", "bfloat16" or "float16".
    mixed_precision (bool): Whether to train with products in half precision: float16
        on a GPU, bfloat16 on a CPU.
    train_vocabulary (Optional[bool]): Whether word embeddings and output matrix learn,
        too, as in the paper; None: not where all classes start from rows that the
        backbone learned (benchmarks/RESULTS.md). Label rows always learn. In a step of
        training, what does not learn is sampled.
    transformer_config, tokenizer_config (Dict[str, Any]): Replace settings of the
        model's and the tokenizer's own configuration.
    RAISES (ValueError): If a setting has no such value.
    """
    config = ModelConfig(**locals())  # the settings have the same names
    return build_model(EntLMModel, config)


def load_reader(name: str) -> "EntLMModel":
    """Load a masked LM, without classes, to the active device, to read texts with.

    name (str): A folder, or a name on the hub.
    RAISES (BackboneError): If there is no such model, or it is no masked LM.
    """
    model = build_entlm_v1(name, doc_spans)
    model.initialize()
    return get_label_model(model)


class EntLMModel(MaskedLMModel):
    """The label rows of classes beside the vocabulary of a masked LM."""

    network_class = EntLMNetwork

    @property
    def label_words(self) -> LabelWords:
        """Label words of the classes, in the order of their rows."""
        return self.network.label_words

    @property
    def labels(self) -> List[str]:
        """The classes, in the order of their rows."""
        return list(self.label_words)

    def add_labels(
        self,
        label_words: LabelWords,
        *,
        learned: Optional[Recommended] = None,
        label_rows: Optional[Path] = None,
    ) -> Set[str]:
        """Add classes with label rows at their initial values; others stay.

        learned (Optional[Recommended]): What the backbone brings: a class that has the
            words of one of its classes starts from that one's row.
        label_rows (Optional[Path]): File of rows that come before all these.
        RETURNS (Set[str]): The classes that start from a row of the backbone.
        RAISES (LabelWordError): If a class has no usable word; then none is added.
            (DataError): If a file of rows is broken, or of another backbone.
        """
        width = self.network.masked_lm.width
        rows = {} if learned is None else _learned_rows(learned, label_words, width)
        given: Dict[str, Rows] = {}
        if label_rows is not None:
            found = read_label_rows(label_rows, width)
            given = {label: Rows(row[None], None) for label, row in found.items()}
        some_learn = bool(self.labels) and not self.has_fixed_vocabulary
        self.network.add_labels(label_words, rows | given)
        started = rows.keys() - given.keys()
        learns = self.config.train_vocabulary
        # Rows like those of words would not get away from fixed ones.
        learns_by_rule = some_learn or len(started) < len(label_words)
        self.network.train_vocabulary(learns_by_rule if learns is None else learns)
        return started

    def fold_word(self, word: str) -> str:
        """How the backbone's tokenizer normalises a word: an uncased one folds it."""
        normalizer = self.tokenizer.backend_tokenizer.normalizer
        return normalizer.normalize_str(word).strip() if normalizer else word

    def word_ids(self, word: str) -> List[int]:
        """The pieces of a label word."""
        return word_pieces(word, self.tokenizer)

    def word_pieces(self, word: str) -> List[str]:
        """The pieces of a label word, as the vocabulary spells them."""
        return list(self.tokenizer.convert_ids_to_tokens(self.word_ids(word)))

    def score(
        self, pieces: PieceFeatures, *, label_bias: Bias = 0.0, **settings: Any
    ) -> LabelScores:
        """Scores of the words that `model.predict` read (paper, Eq. 4), with the
        settings of `score_words`."""
        bias: Any = label_bias
        if isinstance(bias, numpy.ndarray):
            bias = self.to_device(bias)
        scores = score_words(
            pieces.features,
            self.to_device(pieces.piece_ids),
            self.to_device(pieces.first_words),
            sum(pieces.lengths),
            self.vocabulary,
            self.network.label_rows,
            label_bias=bias,
            **settings,
        )
        return as_label_scores(scores, pieces.lengths)

    def loss(
        self, pieces: PieceFeatures, word_targets: numpy.ndarray
    ) -> Tuple[float, PieceGradient]:
        """The EntLM objective over the pieces of some Docs (paper, Eq. 3), where labels
        of a backbone that knows classes have to win by a margin, and a vocabulary that
        does not learn is sampled.

        pieces (PieceFeatures): From `model.begin_update(docs)`.
        word_targets: int64 (n_words), class index, NO_ENTITY, or NO_TARGET where the
            annotation is missing.
        RETURNS: mean loss per piece that carries one, and the gradient of its sum.
        """
        targets = word_targets[pieces.first_words]
        # A piece that reaches into a word with another target says nothing certain.
        clear = (targets == word_targets[pieces.last_words]) & (targets != NO_TARGET)
        rows = numpy.flatnonzero(clear)
        targets, own = targets[rows], pieces.piece_ids[rows]
        vocabulary = self.vocabulary
        if self.has_fixed_vocabulary:
            vocabulary, own = sample_vocabulary(vocabulary, own)
        return self.cross_entropy(
            pieces,
            rows,
            numpy.where(targets >= 0, len(vocabulary) + targets, own),
            vocabulary,
            dtype=self._objective_dtype,
            margin=LABEL_MARGIN if knows_classes(self.backbone) else 0.0,
        )

    def rehearsal_loss(
        self, teacher: "EntLMModel", docs: List[Doc], pieces: PieceFeatures
    ) -> Tuple[float, PieceGradient]:
        """Cross-entropy against the softmax of an earlier model over the same pieces.

        teacher (EntLMModel): With the same backbone. pieces: Of the Docs, as in `loss`.
        RETURNS: mean loss per piece, and the gradient of its sum.
        """
        features = (pieces.features, teacher.same_pieces(docs))
        rows = (self.vocabulary, self.network.label_rows)
        earlier = (teacher.vocabulary, teacher.network.label_rows)
        loss, gradient = distillation_loss(
            *features,
            *rows,
            *earlier,
            dtype=self._objective_dtype,
            fixed_vocabulary=self.has_fixed_vocabulary,
        )
        return mean_loss(loss, gradient), gradient

    @property
    def _objective_dtype(self) -> torch.dtype:
        # Scaled gradients would not fit float16.
        scaled = self.shim.scales_gradients
        return torch.float32 if scaled else self.shim.training_dtype


def _learned_rows(
    learned: Recommended, label_words: LabelWords, width: int
) -> Dict[str, Rows]:
    """The rows of classes whose words are those of a class of the backbone."""
    rows = read_learned_rows(learned, width)
    if rows is None:
        return {}
    index: Dict[Tuple[str, ...], int] = {}
    for i, words in enumerate(learned.label_words.values()):
        index.setdefault(tuple(words), i)  # `learn_names` puts what it learned first
    at = {label: index.get(tuple(words)) for label, words in label_words.items()}
    return {label: rows[i : i + 1] for label, i in at.items() if i is not None}
