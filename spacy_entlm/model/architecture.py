"""`spacy-entlm.EntLM.v1`: windows, masked LM and label head put together."""

import warnings
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union, cast

import numpy
import torch
from spacy.tokens import Doc, Span
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d
from thinc.util import torch2xp, xp2torch

from ..label_words.words import LabelWords, word_pieces
from .label_head import NO_LOSS, label_objective, label_scores, rehearsal_objective
from .masked_lm import load_masked_lm
from .network import EntLMNetwork
from .precision import check_precision
from .shim import EntLMShim
from .types import NO_TARGET, LabelScores, PieceFeatures
from .windows import (
    Batch,
    Layout,
    SpanGetter,
    Windows,
    get_windows,
    iter_batches,
    whole_batch,
)

MIN_BATCH_PIECES = 16
# Pieces of a batch where the config leaves it open. On a CPU more than fits its caches
# is slower (docs/benchmarks.md); a GPU wants enough to be busy.
BATCH_PIECES = {"cpu": 1024, "cuda": 8192}


@dataclass
class Settings:
    """What the config says about the model; read when used, never saved.

    label_bias, need_probs: set by the component before it predicts.
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
    warned: bool = False


def build_entlm_v1(
    name: str,
    get_spans: Callable[[Iterable[Doc]], List[List[Span]]],
    window: Optional[int] = None,
    stride: Optional[int] = None,
    max_batch_pieces: Optional[int] = None,
    precision: str = "float32",
    mixed_precision: bool = False,
    multi_piece: str = "mean",
    label_row_bias: str = "mean",
    transformer_config: Dict[str, Any] = {},  # noqa: B006 (config values are copied)
    tokenizer_config: Dict[str, Any] = {},  # noqa: B006
) -> Model[List[Doc], LabelScores]:
    """A masked LM that scores the label words of classes against its vocabulary.

    name (str): The backbone: a folder or a name on the hub. It is loaded when the
        pipeline is initialised, and never again once that has been saved.
    get_spans (Callable): What is read together, for instance one of
        spacy-transformers' span getters.
    window (Optional[int]): Most word pieces read at once; None: what the model takes.
    stride (Optional[int]): Pieces by which a window moves on; None: 3/4 of it.
    max_batch_pieces (Optional[int]): Most pieces of a batch in prediction, padding
        counted; None: 1024 on a CPU, 8192 on a GPU.
    precision (str): Of prediction: "float32", "bfloat16", "float16" or "auto".
    mixed_precision (bool): Whether to train in half precision on a GPU.
    multi_piece (str): "mean": a label word of several pieces stands for the mean of
        their rows; "drop": it is left out.
    label_row_bias (str): Initial bias of a label row: "mean" of its words' or "zero".
    transformer_config, tokenizer_config (Dict[str, Any]): Replace settings of the
        model's and the tokenizer's own configuration.
    RAISES (ValueError): If a setting has no such value.
    """
    check_precision(precision)
    for setting, value, allowed in (
        ("multi_piece", multi_piece, ("mean", "drop")),
        ("label_row_bias", label_row_bias, ("mean", "zero")),
    ):
        if value not in allowed:
            raise ValueError(f"{setting} is one of {allowed}, not {value!r}")
    if max_batch_pieces is not None and max_batch_pieces < MIN_BATCH_PIECES:
        raise ValueError(
            f"max_batch_pieces must be at least {MIN_BATCH_PIECES}, "
            f"not {max_batch_pieces}"
        )
    settings = Settings(
        name=name,
        get_spans=get_spans,
        window=window,
        stride=stride,
        max_batch_pieces=max_batch_pieces,
        transformer_config=dict(transformer_config),
        tokenizer_config=dict(tokenizer_config),
        multi_piece=multi_piece,
        label_row_bias=label_row_bias,
    )
    shim = EntLMShim(
        precision=precision,
        mixed_precision=mixed_precision,
        transformer_config=settings.transformer_config,
        tokenizer_config=settings.tokenizer_config,
    )
    return Model(
        "entlm",
        forward,
        init=init,
        shims=[shim],
        attrs={
            "settings": settings,
            "is_initialized": is_initialized,
            "get_labels": get_labels,
            "add_labels": add_labels,
            "fold_word": fold_word,
            "word_pieces": get_word_pieces,
            "objective": objective,
            "rehearse": rehearse,
            "get_windows": get_doc_windows,
        },
    )


def get_shim(model: Model) -> EntLMShim:
    """The shim that holds the network."""
    return cast(EntLMShim, model.shims[0])


def is_initialized(model: Model) -> bool:
    """Whether there is a network."""
    return get_shim(model).network is not None


def get_labels(model: Model) -> Optional[List[str]]:
    """The classes in the order of their label rows; None without a network."""
    network = get_shim(model).network
    return None if network is None else list(network.label_words)


def get_network(model: Model) -> EntLMNetwork:
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


def init(model: Model, X: Optional[List[Doc]] = None, Y: Any = None) -> None:
    """Load the backbone afresh, without classes."""
    settings: Settings = model.attrs["settings"]
    masked_lm = load_masked_lm(
        settings.name,
        transformer_config=settings.transformer_config,
        tokenizer_config=settings.tokenizer_config,
    )
    network = EntLMNetwork(masked_lm)
    _layout(settings, network)  # a wrong window is an error now, not in training
    get_shim(model).set_network(network)


def add_labels(model: Model, label_words: LabelWords) -> None:
    """Add classes with label rows at their initial values; others stay as they are.

    label_words (Dict[str, List[str]]): Words of the new classes.
    """
    settings: Settings = model.attrs["settings"]
    get_network(model).add_labels(
        label_words,
        multi_piece=settings.multi_piece,
        mean_bias=settings.label_row_bias == "mean",
    )


def fold_word(model: Model, word: str) -> Tuple[str, bool]:
    """How the backbone's tokenizer normalises a word (an uncased one folds it), and
    whether the word is one piece of its vocabulary."""
    tokenizer = get_network(model).tokenizer
    normalizer = tokenizer.backend_tokenizer.normalizer
    folded = normalizer.normalize_str(word).strip() if normalizer else word
    return folded, len(word_pieces(word, tokenizer)) == 1


def get_word_pieces(model: Model, word: str) -> List[str]:
    """The pieces of a label word, as the vocabulary spells them."""
    tokenizer = get_network(model).tokenizer
    return list(tokenizer.convert_ids_to_tokens(word_pieces(word, tokenizer)))


def forward(
    model: Model, docs: List[Doc], is_train: bool
) -> Tuple[Union[LabelScores, PieceFeatures], Callable]:
    """In prediction: scores of all words. In training: features of all pieces and
    the callback that takes their gradient."""
    get_shim(model).spare_forked_threads()
    if is_train:
        return _forward_pieces(model, docs)
    return _score_words(model, docs), _no_backprop


def _no_backprop(_: Any) -> List[Doc]:
    return []


def _score_words(model: Model, docs: List[Doc]) -> LabelScores:
    settings: Settings = model.attrs["settings"]
    shim, network = get_shim(model), get_network(model)
    windows = get_doc_windows(model, docs)
    device = shim.device
    n_labels = len(network.head)
    best = torch.full((windows.n_words,), -1, dtype=torch.int64, device=device)
    confidence = torch.zeros(windows.n_words, device=device)
    probs = torch.zeros(windows.n_words, n_labels, device=device)
    if n_labels:
        decoder, labels = network.decoder_rows, network.head.stacked()
        limit = settings.max_batch_pieces or BATCH_PIECES[device.type]
        for batch in iter_batches(windows, limit):
            features = shim.predict(_inputs(batch, batch.word_positions, device))
            words = _to_device(batch.words, device)
            best[words], confidence[words], batch_probs = label_scores(
                features,
                _to_device(windows.ids[windows.word_rows[batch.words]], device),
                decoder,
                labels,
                label_bias=settings.label_bias,
                need_probs=settings.need_probs,
            )
            if batch_probs is not None:
                probs[words] = batch_probs
    return LabelScores(
        best=_to_xp(best),
        confidence=_to_xp(confidence),
        probs=_to_xp(probs) if settings.need_probs else None,
        lengths=windows.lengths,
    )


def _forward_pieces(
    model: Model, docs: List[Doc]
) -> Tuple[PieceFeatures, Callable[[Floats2d], List[Doc]]]:
    shim = get_shim(model)
    windows = get_doc_windows(model, docs)
    batch = whole_batch(windows)
    rows = batch.rows.ravel()
    # Special pieces, padding, and what is read from another window carry no loss.
    positions = numpy.flatnonzero((rows >= 0) & windows.own[rows])
    rows = rows[positions]
    features, torch_backprop = shim.begin_update(_inputs(batch, positions, shim.device))

    def backprop(d_features: Floats2d) -> List[Doc]:
        torch_backprop(xp2torch(d_features, device=shim.device))
        return []

    pieces = PieceFeatures(
        features=_to_xp(features.detach()),
        piece_ids=windows.ids[rows],
        first_words=windows.first_words[rows],
        last_words=windows.last_words[rows],
        lengths=windows.lengths,
    )
    return pieces, backprop


def objective(
    model: Model, pieces: PieceFeatures, word_targets: numpy.ndarray
) -> Tuple[float, Floats2d]:
    """The EntLM objective over the pieces of some Docs (paper, Eq. 3).

    pieces (PieceFeatures): From `model.begin_update(docs)`.
    word_targets: int64 (n_words), class index, NO_ENTITY, or NO_TARGET where the
        annotation is missing.
    RETURNS: mean loss per piece that carries one, and the gradient of the features.
        Gradients are those of the sum: `finish_update` divides them.
    """
    shim, network = get_shim(model), get_network(model)
    word_target = word_targets[pieces.first_words]
    targets = numpy.where(
        word_target >= 0, network.n_vocab + word_target, pieces.piece_ids
    )
    # A piece that reaches into a word with another target says nothing certain.
    unclear = word_target != word_targets[pieces.last_words]
    targets[unclear | (word_target == NO_TARGET)] = NO_LOSS
    n_pieces = int((targets != NO_LOSS).sum())
    loss, d_features = label_objective(
        xp2torch(pieces.features, device=shim.device),
        _to_device(targets, shim.device),
        network.decoder_rows,
        network.head,
        scale=shim.gradient_scale(),
    )
    shim.count_pieces(n_pieces)
    return float(loss) / max(n_pieces, 1), _to_xp(d_features)


def rehearse(
    model: Model, teacher: Model, docs: List[Doc], pieces: PieceFeatures
) -> Tuple[float, Floats2d]:
    """Cross-entropy against the softmax of an earlier model over the same pieces.

    model, teacher (Model): Now and earlier; with the same backbone.
    docs (List[Doc]): The texts. pieces (PieceFeatures): `model`'s for them.
    RETURNS: mean loss per piece, and the gradient of the features.
    """
    shim, network, earlier = get_shim(model), get_network(model), get_network(teacher)
    windows = get_doc_windows(teacher, docs)
    batch = whole_batch(windows)
    rows = batch.rows.ravel()
    positions = numpy.flatnonzero((rows >= 0) & windows.own[rows])
    loss, d_features = rehearsal_objective(
        xp2torch(pieces.features, device=shim.device),
        get_shim(teacher).predict(_inputs(batch, positions, shim.device)),
        network.decoder_rows,
        network.head,
        earlier.decoder_rows,
        earlier.head.stacked(),
        scale=shim.gradient_scale(),
    )
    n_pieces = len(positions)
    shim.count_pieces(n_pieces)
    return float(loss) / max(n_pieces, 1), _to_xp(d_features)


def _layout(settings: Settings, network: EntLMNetwork) -> Layout:
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
    layout = _layout(settings, network)
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
    return ArgsKwargs(tuple(_to_device(array, device) for array in arrays), {})


def _to_xp(tensor: torch.Tensor) -> Any:
    """As a numpy array, or a cupy array that shares the memory (DLPack)."""
    return torch2xp(tensor)


def _to_device(array: numpy.ndarray, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(array).to(device, non_blocking=True)
