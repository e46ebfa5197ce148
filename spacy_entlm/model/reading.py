"""Docs in, features of their word pieces out: what every model on a masked LM shares.

A model here is a Thinc model whose first shim is an `EntLMShim` and whose attribute
"settings" is a `Settings`. Nothing in this module knows of classes.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, cast

import numpy
import torch
from spacy.tokens import Doc
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d
from thinc.util import torch2xp, xp2torch

from .batches import Batch, iter_batches, whole_batch
from .shim import EntLMShim
from .types import PieceFeatures
from .windows import Layout, SpanGetter, Windows, get_windows

MIN_BATCH_PIECES = 16
# Pieces of a batch where the config leaves it open. On a CPU more than fits its caches
# is slower (docs/benchmarks.md); a GPU wants enough to be busy.
BATCH_PIECES = {"cpu": 1024, "cuda": 8192}
# Padding of a batch that costs less than beginning another one, in pieces.
BATCH_PADDING = {"cpu": 24, "cuda": 2048}


@dataclass
class Settings:
    """What the config says about the model; read when used, never saved.

    label_bias, need_probs, negligible: set by the component before it predicts.
    """

    name: str
    get_spans: SpanGetter
    window: Optional[int]
    stride: Optional[int]
    max_batch_pieces: Optional[int]
    transformer_config: Dict[str, Any]
    tokenizer_config: Dict[str, Any]
    multi_piece: str
    label_row_bias: str
    label_bias: float = 0.0
    need_probs: bool = False
    negligible: float = 0.0
    warned: bool = False


def get_shim(model: Model) -> EntLMShim:
    """The shim that holds the network."""
    return cast(EntLMShim, model.shims[0])


def get_network(model: Model) -> Any:
    """The network.

    RAISES (ValueError): If the model was neither initialised nor loaded.
    """
    network = get_shim(model).network
    if network is None:
        raise ValueError(
            "The EntLM model has no weights yet: call nlp.initialize() with examples, "
            "or load a trained pipeline"
        )
    return network


def iter_word_features(
    model: Model, windows: Windows
) -> Iterator[Tuple[numpy.ndarray, torch.Tensor]]:
    """Features of words in prediction, batch by batch, in no particular order.

    RETURNS: int64 (n), words; float32 (n, width), features of their first pieces.
    """
    settings: Settings = model.attrs["settings"]
    shim = get_shim(model)
    kind = shim.device.type
    limit = settings.max_batch_pieces or BATCH_PIECES[kind]
    for batch in iter_batches(windows, limit, BATCH_PADDING[kind]):
        features = shim.predict(_inputs(batch, batch.word_positions, shim.device))
        yield batch.words, features


def forward_pieces(
    model: Model, docs: List[Doc]
) -> Tuple[PieceFeatures, Callable[[Floats2d], List[Doc]]]:
    """Features of all pieces in training, and the callback for their gradient."""
    shim = get_shim(model)
    windows = get_doc_windows(model, docs)
    inputs, rows = training_inputs(model, windows)
    features, torch_backprop = shim.begin_update(inputs)

    def backprop(d_features: Floats2d) -> List[Doc]:
        torch_backprop(xp2torch(d_features, device=shim.device))
        return []

    pieces = PieceFeatures(
        features=to_xp(features.detach()),
        piece_ids=windows.ids[rows],
        first_words=windows.first_words[rows],
        last_words=windows.last_words[rows],
        lengths=windows.lengths,
    )
    return pieces, backprop


def training_inputs(model: Model, windows: Windows) -> Tuple[ArgsKwargs, numpy.ndarray]:
    """What the network reads, and the rows in `Windows` of the pieces that it gives
    features of: neither special pieces nor what is read from another window."""
    batch = whole_batch(windows)
    rows = batch.rows.ravel()
    positions = numpy.flatnonzero((rows >= 0) & windows.own[rows])
    return _inputs(batch, positions, get_shim(model).device), rows[positions]


def get_layout(settings: Settings, network: Any) -> Layout:
    prefix, suffix = network.masked_lm.special_pieces()
    return Layout.create(
        prefix,
        suffix,
        model_limit=network.masked_lm.max_pieces,
        window=settings.window,
        stride=settings.stride,
    )


def get_doc_windows(model: Model, docs: List[Doc]) -> Windows:
    """The windows in which Docs are read. Warns once of words that are cut."""
    settings: Settings = model.attrs["settings"]
    network = get_network(model)
    layout = get_layout(settings, network)
    backend = network.tokenizer.backend_tokenizer
    windows = get_windows(docs, settings.get_spans, backend, layout)
    _hide_special_pieces(windows, network.tokenizer)
    if windows.n_cut and not settings.warned:
        settings.warned = True
        warnings.warn(
            f"{windows.n_cut} word(s) of more than {layout.longest_word} word pieces: "
            f"the model reads their beginning only. This is said once.",
            UserWarning,
            stacklevel=2,
        )
    return windows


def _hide_special_pieces(windows: Windows, tokenizer: Any) -> None:
    # A unigram vocabulary (XLM-R) holds "<mask>" and its kind like any other word.
    if tokenizer.unk_token_id is not None:
        special = numpy.isin(windows.ids, tokenizer.all_special_ids)
        windows.ids[special & (windows.first_words >= 0)] = tokenizer.unk_token_id


def _inputs(batch: Batch, positions: numpy.ndarray, device: torch.device) -> ArgsKwargs:
    arrays = (batch.input_ids, batch.attention_mask, positions)
    return ArgsKwargs(tuple(to_device(array, device) for array in arrays), {})


def to_xp(tensor: torch.Tensor) -> Any:
    """As a numpy array, or a cupy array that shares the memory (DLPack)."""
    return torch2xp(tensor)


def to_device(array: numpy.ndarray, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(array).to(device, non_blocking=True)
