"""What models on a masked LM of PyTorch share, with training."""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, List, Optional, Tuple

import numpy
import torch
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps
from thinc.util import torch2xp

from ..backbones.loading import load_masked_lm
from ..decoding.types import LabelScores
from ..label_words.rows import Rows
from .base import (
    BATCH_PADDING,
    BATCH_PIECES,
    Alphabet,
    PieceModel,
    ReadingConfig,
    ReadingModel,
    forward,
    init,
)
from .batches import Batch, iter_batches
from .label_scores import WordScores
from .objective import label_cross_entropy
from .precision import DTYPES
from .shim import Inputs, MaskedLMShim
from .types import PieceFeatures, PieceGradient
from .windows import Windows

# Most pieces whose inner values are kept for a backward pass, padding counted.
TRAINING_PIECES = 4096


@dataclass(kw_only=True)
class ModelConfig(ReadingConfig):
    """What the config says about the model; read when used, never saved. The settings
    are those of `spacy-entlm.EntLM.v1`."""

    name: str
    precision: str = "float32"
    mixed_precision: bool = False
    train_vocabulary: Optional[bool] = None
    transformer_config: dict[str, Any] = field(default_factory=dict)
    tokenizer_config: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """RAISES (ValueError): If a setting has no such value."""
        super().__post_init__()
        if self.precision not in DTYPES:
            names = ", ".join(DTYPES)
            raise ValueError(f"precision is one of {names}, not {self.precision!r}")
        # Config values are copied: a network's own settings replace none of theirs.
        self.transformer_config = dict(self.transformer_config)
        self.tokenizer_config = dict(self.tokenizer_config)

    @property
    def load_settings(self) -> dict[str, Any]:
        """What `load_masked_lm` takes, too."""
        transformer, tokenizer = self.transformer_config, self.tokenizer_config
        return {"transformer_config": transformer, "tokenizer_config": tokenizer}


class MaskedLMModel(ReadingModel):
    """A view of a Thinc model on a masked LM; it holds nothing of its own. A subclass
    is a `LabelModel`."""

    # Of the module in the shim.
    network_class: Any
    config: ModelConfig
    shim: MaskedLMShim

    @property
    def backbone(self) -> str:
        """The setting `name`."""
        return self.config.name

    @property
    def tokenizer(self) -> Any:
        """The fast tokenizer of the backbone."""
        return self.network.masked_lm.tokenizer

    @property
    def vocabulary(self) -> Rows:
        """The output matrix."""
        return self.network.vocabulary

    @property
    def has_fixed_vocabulary(self) -> bool:
        """Whether the output matrix does not learn."""
        return not self.vocabulary.weight.requires_grad

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.shim.device

    @property
    def alphabet(self) -> Alphabet:
        """What the masked LM reads."""
        return _alphabet(self.network)

    @property
    def batch_limits(self) -> Tuple[int, int]:
        """Most pieces of a batch in prediction, and most of them that are padding."""
        if self.device.type == "cpu":
            return super().batch_limits
        return BATCH_PIECES, BATCH_PADDING

    def load_backbone(self) -> None:
        """Load the backbone afresh, without classes.
        RAISES (BackboneError): If it cannot be loaded. (ValueError): If the windows do
        not fit it."""
        masked_lm = load_masked_lm(self.config.name, **self.config.load_settings)
        network = self.network_class(masked_lm)
        # A wrong window is an error now, not in training.
        self.layout(_alphabet(network))
        self.shim.set_network(network)

    def read_batch(self, batch: Batch) -> torch.Tensor:
        """float32 (n, width), features of the words that are read from a batch."""
        return self.shim.features(self._inputs(batch, batch.word_positions))

    def joined(self, parts: List[torch.Tensor]) -> torch.Tensor:
        """What `read_batch` gave, of none or of several batches."""
        return torch.cat([self._no_features(), *parts])

    def read_pieces(
        self, docs: List[Doc]
    ) -> Tuple[PieceFeatures, Callable[[PieceGradient], List[Doc]]]:
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

    def same_pieces(self, docs: List[Doc]) -> torch.Tensor:
        """Features of the pieces that `read_pieces` reads, as in prediction."""
        inputs, _ = self._training_inputs(self.windows(docs))
        return self.joined([self.shim.features(batch) for batch in inputs])

    def cross_entropy(
        self,
        pieces: PieceFeatures,
        rows: numpy.ndarray,
        targets: numpy.ndarray,
        vocabulary: Rows,
        *,
        dtype: torch.dtype = torch.float32,
        margin: float = 0.0,
    ) -> tuple[float, PieceGradient]:
        """`label_cross_entropy` where only some pieces carry a loss.

        rows: int64 (n), these pieces; targets: int64 (n), theirs.
        vocabulary (Rows): The output matrix, or a sample of it.
        margin (float): Taken off the score of every label.
        RETURNS: mean loss of these, and the gradient of its sum, of all pieces.
        """
        index = self.to_device(rows)
        labels: Rows = self.network.label_rows
        if margin and labels.bias is not None:
            labels = Rows(labels.weight, labels.bias - margin)
        loss, gradient = label_cross_entropy(
            pieces.features[index],
            self.to_device(targets),
            vocabulary,
            labels,
            dtype=dtype,
            fixed_vocabulary=self.has_fixed_vocabulary,
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
    load = partial(_load_network, view, config)
    shim = MaskedLMShim(load, config.precision, config.mixed_precision)
    attrs = {"label_model": view, "config": config}
    return Model("masked_lm", forward, init=init, shims=[shim], attrs=attrs)


def _load_network(view: type[MaskedLMModel], config: ModelConfig, path: Path) -> Any:
    network = view.network_class.load(path, **config.load_settings)
    if config.train_vocabulary is not None:  # it comes before what was saved
        network.train_vocabulary(config.train_vocabulary)
    return network


def as_label_scores(scores: WordScores, lengths: list[int]) -> LabelScores:
    """Scores as arrays, numpy's or cupy's (DLPack), that share the memory; numpy's
    where there is no word, and so no memory to share."""
    ops = None if sum(lengths) else NumpyOps()
    arrays: list[Any] = [
        None if each is None else torch2xp(each, ops=ops) for each in scores
    ]
    best, confidence, probs, word_prob = arrays
    return LabelScores(best, confidence, probs, lengths, word_prob)


def mean_loss(loss: torch.Tensor, gradient: PieceGradient) -> float:
    """The mean per piece of a loss that is summed."""
    return float(loss) / max(gradient.n_pieces, 1)


def _alphabet(network: Any) -> Alphabet:
    masked_lm, tokenizer = network.masked_lm, network.masked_lm.tokenizer
    prefix, suffix = masked_lm.special_pieces()
    return Alphabet(
        tokenizer.backend_tokenizer,
        prefix,
        suffix,
        max_pieces=masked_lm.max_pieces,
        unknown=tokenizer.unk_token_id,
        special=tokenizer.all_special_ids,
    )
