"""What every Thinc model on a masked LM shares: Docs in, features of pieces out.

Such a model has a `MaskedLMShim`, which holds the network, and two attributes:
"config", a `ModelConfig`, and "label_model", the class whose methods a component calls.
A component finds it with `get_label_model`, also below layers that wrap the model.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Callable, Optional, Protocol, cast

import numpy
import torch
from spacy.tokens import Doc
from thinc.api import Model
from thinc.util import torch2xp

from ..backbones.loading import load_masked_lm
from ..decoding.types import LabelScores
from ..label_words.rows import Rows
from .batches import Batch, iter_batches
from .label_scores import WordScores
from .objective import label_cross_entropy
from .precision import DTYPES
from .shim import Inputs, MaskedLMShim
from .types import NONE, PieceFeatures, PieceGradient
from .windows import Layout, SpanGetter, Windows, get_windows

MIN_BATCH_PIECES = 16
# Pieces of a batch in prediction where the config leaves it open. On a CPU more than
# fits its caches is slower (docs/speed.md); another device wants enough to be busy.
CPU_BATCH_PIECES, BATCH_PIECES = 1024, 8192
# Padding of a batch that costs less than beginning another one, in pieces.
CPU_BATCH_PADDING, BATCH_PADDING = 80, 2048
# Most pieces whose inner values are kept for a backward pass, padding counted.
TRAINING_PIECES = 4096

PieceModel = Model[list[Doc], PieceFeatures]


@dataclass
class ModelConfig:
    """What the config says about the model; read when used, never saved. The settings
    are those of `spacy-entlm.EntLM.v1`."""

    name: str
    get_spans: SpanGetter
    window: Optional[int] = None
    stride: Optional[int] = None
    max_batch_pieces: Optional[int] = None
    precision: str = "float32"
    mixed_precision: bool = False
    transformer_config: dict[str, Any] = field(default_factory=dict)
    tokenizer_config: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """RAISES (ValueError): If a setting has no such value."""
        if self.precision not in DTYPES:
            names = ", ".join(DTYPES)
            raise ValueError(f"precision is one of {names}, not {self.precision!r}")
        pieces = self.max_batch_pieces
        if pieces is not None and pieces < MIN_BATCH_PIECES:
            raise ValueError(
                f"max_batch_pieces must be at least {MIN_BATCH_PIECES}, not {pieces}"
            )
        # Config values are copied: a network's own settings replace none of theirs.
        self.transformer_config = dict(self.transformer_config)
        self.tokenizer_config = dict(self.tokenizer_config)

    @property
    def load_settings(self) -> dict[str, Any]:
        """What `load_masked_lm` takes, too."""
        transformer, tokenizer = self.transformer_config, self.tokenizer_config
        return {"transformer_config": transformer, "tokenizer_config": tokenizer}


class LabelModel(Protocol):
    """What a component asks of its model."""

    is_initialized: bool
    labels: list[str]

    def score(
        self,
        pieces: PieceFeatures,
        *,
        label_bias: float = 0.0,
        need_probs: bool = False,
        probability_floor: float = 0.0,
    ) -> LabelScores:
        """Scores of the words that `model.predict` has read."""

    def loss(
        self, pieces: PieceFeatures, word_targets: numpy.ndarray
    ) -> tuple[float, PieceGradient]:
        """Mean loss of the pieces that `model.begin_update` has read, and the gradient
        of its sum."""


class MaskedLMModel:
    """A view of a Thinc model on a masked LM; it holds nothing of its own. A subclass
    is a `LabelModel`."""

    # Of the module in the shim.
    network_class: Any

    def __init__(self, model: Model):
        self.config: ModelConfig = model.attrs["config"]
        self.shim = cast(MaskedLMShim, model.shims[0])

    @property
    def is_initialized(self) -> bool:
        """Whether there is a network."""
        return self.shim.network is not None

    @property
    def network(self) -> Any:
        """The network.
        RAISES (ValueError): If the model was neither initialised nor loaded."""
        if self.shim.network is None:
            raise ValueError(
                "The model has no weights yet: call nlp.initialize() with examples, "
                "or load a trained pipeline"
            )
        return self.shim.network

    @property
    def tokenizer(self) -> Any:
        """The fast tokenizer of the backbone."""
        return self.network.masked_lm.tokenizer

    @property
    def vocabulary(self) -> Rows:
        """The output matrix."""
        return self.network.vocabulary

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.shim.device

    def load_backbone(self) -> None:
        """Load the backbone afresh, without classes.
        RAISES (BackboneError): If it cannot be loaded. (ValueError): If the windows do
        not fit it."""
        masked_lm = load_masked_lm(self.config.name, **self.config.load_settings)
        network = self.network_class(masked_lm)
        self._layout(network)  # a wrong window is an error now, not in training
        self.shim.set_network(network)

    def windows(self, docs: list[Doc]) -> Windows:
        """The windows in which Docs are read. Warns of words that are cut."""
        layout = self._layout(self.network)
        backend = self.tokenizer.backend_tokenizer
        windows = get_windows(docs, self.config.get_spans, backend, layout)
        _hide_special_pieces(windows, self.tokenizer)
        if windows.n_cut:
            # The same text each time: said once, by Python's own filter of warnings.
            warnings.warn(
                f"Some words have more than {layout.longest_word} word pieces: the "
                f"model reads their beginning only",
                UserWarning,
                stacklevel=2,
            )
        return windows

    def read_words(
        self, docs: list[Doc], *, wanted: Optional[numpy.ndarray] = None
    ) -> PieceFeatures:
        """Features of words, those of their first pieces, without gradients.

        wanted: bool (n_words), words that are read; None: all. Words without a piece
            are left out.
        """
        windows = self.windows(docs)
        if wanted is not None:
            windows.word_rows[~wanted] = NONE
        limit, padding = BATCH_PIECES, BATCH_PADDING
        if self.device.type == "cpu":
            limit, padding = CPU_BATCH_PIECES, CPU_BATCH_PADDING
        limit = self.config.max_batch_pieces or limit
        words, features = [numpy.zeros(0, dtype="int64")], [self._no_features()]
        for batch in iter_batches(windows, limit, padding):
            if len(batch.words):
                inputs = self._inputs(batch, batch.word_positions)
                words.append(batch.words)
                features.append(self.shim.features(inputs))
        index = numpy.concatenate(words)
        ids = windows.ids[windows.word_rows[index]]
        return PieceFeatures(torch.cat(features), ids, index, index, windows.lengths)

    def read_pieces(
        self, docs: list[Doc]
    ) -> tuple[PieceFeatures, Callable[[PieceGradient], list[Doc]]]:
        """Features of all pieces in training, and the callback for their gradient."""
        windows = self.windows(docs)
        inputs, rows = self._training_inputs(windows)
        features, shim_backprop = self.shim.begin_features(inputs)

        def backprop(gradient: PieceGradient) -> list[Doc]:
            shim_backprop(gradient)
            return []

        words = (windows.first_words[rows], windows.last_words[rows])
        ids = windows.ids[rows]
        return PieceFeatures(features, ids, *words, windows.lengths), backprop

    def same_pieces(self, docs: list[Doc]) -> torch.Tensor:
        """Features of the pieces that `read_pieces` reads, as in prediction."""
        inputs, _ = self._training_inputs(self.windows(docs))
        parts = [self.shim.features(batch) for batch in inputs]
        return torch.cat([self._no_features(), *parts])

    def cross_entropy(
        self,
        pieces: PieceFeatures,
        rows: numpy.ndarray,
        targets: numpy.ndarray,
        dtype: torch.dtype = torch.float32,
    ) -> tuple[float, PieceGradient]:
        """`label_cross_entropy` where only some pieces carry a loss.

        rows: int64 (n), these pieces; targets: int64 (n), theirs.
        RETURNS: mean loss of these, and the gradient of its sum, of all pieces.
        """
        index = self.to_device(rows)
        loss, gradient = label_cross_entropy(
            pieces.features[index],
            self.to_device(targets),
            self.vocabulary,
            self.network.label_rows,
            dtype=dtype,
        )
        features = torch.zeros_like(pieces.features)
        features.index_copy_(0, index, gradient.features)
        return mean_loss(loss, gradient), replace(gradient, features=features)

    def _training_inputs(self, windows: Windows) -> tuple[list[Inputs], numpy.ndarray]:
        """What the network reads, and the rows in `Windows` of the pieces that it gives
        features of: neither special pieces nor what is read from another window."""
        inputs = []
        rows = [numpy.zeros(0, dtype="int64")]
        for batch in iter_batches(windows, TRAINING_PIECES):
            flat = batch.rows.ravel()
            positions = numpy.flatnonzero((flat >= 0) & windows.read_here[flat])
            inputs.append(self._inputs(batch, positions))
            rows.append(flat[positions])
        return inputs, numpy.concatenate(rows)

    def _layout(self, network: Any) -> Layout:
        prefix, suffix = network.masked_lm.special_pieces()
        limit, config = network.masked_lm.max_pieces, self.config
        return Layout.create(prefix, suffix, limit, config.window, config.stride)

    def _inputs(self, batch: Batch, positions: numpy.ndarray) -> Inputs:
        ids, mask = batch.input_ids, batch.attention_mask
        return self.to_device(ids), self.to_device(mask), self.to_device(positions)

    def _no_features(self) -> torch.Tensor:
        return self.network.no_features().detach()

    def to_device(self, array: numpy.ndarray) -> torch.Tensor:
        """An array as a tensor on the network's device."""
        return torch.from_numpy(array).to(self.device, non_blocking=True)


def build_model(view: type[MaskedLMModel], config: ModelConfig) -> PieceModel:
    """A Thinc model on a masked LM, and the view of it that the component calls."""
    load = partial(view.network_class.load, **config.load_settings)
    shim = MaskedLMShim(load, config.precision, config.mixed_precision)
    attrs = {"label_model": view, "config": config}
    return Model("masked_lm", forward, init=init, shims=[shim], attrs=attrs)


def get_label_model(model: Model) -> Any:
    """Find the `LabelModel` that a component calls, in a model or in a layer below it.
    RAISES (ValueError): If there is none."""
    for layer in model.walk():
        if "label_model" in layer.attrs:
            return layer.attrs["label_model"](layer)
    raise ValueError(
        f"The model {model.name!r} is none for this component: it wants one such as "
        f"spacy-entlm.EntLM.v1, or a layer around it"
    )


def init(model: Model, X: Any = None, Y: Any = None) -> None:
    """Load the backbone afresh, without classes."""
    get_label_model(model).load_backbone()


def forward(
    model: Model, docs: list[Doc], is_train: bool
) -> tuple[PieceFeatures, Callable[[PieceGradient], list[Doc]]]:
    """In prediction features of words, in training of pieces."""
    view = get_label_model(model)
    if is_train:
        return view.read_pieces(docs)
    return view.read_words(docs), lambda gradient: []


def as_label_scores(scores: WordScores, lengths: list[int]) -> LabelScores:
    """Scores as arrays, numpy's or cupy's (DLPack), that share the memory."""
    arrays: list[Any] = [None if each is None else torch2xp(each) for each in scores]
    best, confidence, probs, word_prob = arrays
    return LabelScores(best, confidence, probs, lengths, word_prob)


def _hide_special_pieces(windows: Windows, tokenizer: Any) -> None:
    # A unigram vocabulary (XLM-R) holds "<mask>" and its kind like any other word.
    if tokenizer.unk_token_id is not None:
        special = numpy.isin(windows.ids, tokenizer.all_special_ids)
        windows.ids[special & (windows.first_words >= 0)] = tokenizer.unk_token_id


def mean_loss(loss: torch.Tensor, gradient: PieceGradient) -> float:
    """The mean per piece of a loss that is summed."""
    return float(loss) / max(gradient.n_pieces, 1)
