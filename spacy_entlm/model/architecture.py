"""`spacy-entlm.EntLM.v1`: windows, masked LM and label head put together."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

import numpy
import torch
from spacy.tokens import Doc, Span
from thinc.api import Model
from thinc.types import Floats2d
from thinc.util import xp2torch

from ..label_words.words import LabelWords, word_pieces
from .masked_lm import load_masked_lm
from .network import EntLMNetwork
from .objective import NO_LOSS, label_objective, rehearsal_objective
from .precision import check_precision
from .prototypes import read_label_rows
from .reading import (
    MIN_BATCH_PIECES,
    Settings,
    forward_pieces,
    get_doc_windows,
    get_layout,
    get_network,
    get_shim,
    iter_word_features,
    to_device,
    to_xp,
    training_inputs,
)
from .shim import EntLMShim
from .types import NO_TARGET, LabelScores, PieceFeatures
from .word_scores import WordScorer


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
    mixed_precision (bool): Whether to train with products in half precision: float16
        on a GPU, bfloat16 on a CPU that measures faster with it.
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


def is_initialized(model: Model) -> bool:
    """Whether there is a network."""
    return get_shim(model).network is not None


def get_labels(model: Model) -> Optional[List[str]]:
    """The classes in the order of their label rows; None without a network."""
    network = get_shim(model).network
    return None if network is None else list(network.label_words)


def init(model: Model, X: Optional[List[Doc]] = None, Y: Any = None) -> None:
    """Load the backbone afresh, without classes."""
    settings: Settings = model.attrs["settings"]
    masked_lm = load_masked_lm(
        settings.name,
        transformer_config=settings.transformer_config,
        tokenizer_config=settings.tokenizer_config,
    )
    network = EntLMNetwork(masked_lm)
    get_layout(settings, network)  # a wrong window is an error now, not in training
    get_shim(model).set_network(network)


def add_labels(
    model: Model, label_words: LabelWords, label_rows: Optional[Path] = None
) -> None:
    """Add classes with label rows at their initial values; others stay as they are.

    label_words (Dict[str, List[str]]): Words of the new classes.
    label_rows (Optional[Path]): File of rows that start from elsewhere.
    """
    settings: Settings = model.attrs["settings"]
    network = get_network(model)
    rows = None
    if label_rows is not None:
        rows = read_label_rows(label_rows, network.masked_lm.width)
    network.add_labels(
        label_words,
        rows=rows,
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
        return forward_pieces(model, docs)
    return _score_words(model, docs), _no_backprop


def _no_backprop(_: Any) -> List[Doc]:
    return []


def _score_words(model: Model, docs: List[Doc]) -> LabelScores:
    settings: Settings = model.attrs["settings"]
    network = get_network(model)
    windows = get_doc_windows(model, docs)
    get_shim(model).get_ready()  # before its rows are taken
    scorer = WordScorer(
        windows.n_words,
        network.decoder_rows,
        network.head.stacked() if len(network.head) else network.no_rows,
        label_bias=settings.label_bias,
        need_probs=settings.need_probs,
        negligible=settings.negligible,
    )
    device = get_shim(model).device
    for words, features in iter_word_features(model, windows):
        piece_ids = windows.ids[windows.word_rows[words]]
        scorer.add(to_device(words, device), features, to_device(piece_ids, device))
    best, confidence, probs, word_prob = scorer.finish()
    return LabelScores(
        best=to_xp(best),
        confidence=to_xp(confidence),
        probs=None if probs is None else to_xp(probs),
        lengths=windows.lengths,
        word_prob=None if word_prob is None else to_xp(word_prob),
    )


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
    features = xp2torch(pieces.features, device=shim.device)
    # Only rows that carry a loss are scored against the vocabulary.
    rows = to_device(numpy.flatnonzero(targets != NO_LOSS), shim.device)
    loss, d_rows = label_objective(
        features[rows],
        to_device(targets, shim.device)[rows],
        network.decoder_rows,
        network.head,
        scale=shim.gradient_scale(),
        dtype=objective_dtype(shim),
    )
    d_features = torch.zeros_like(features).index_copy_(0, rows, d_rows)
    shim.count_pieces(len(rows))
    return float(loss) / max(len(rows), 1), to_xp(d_features)


def objective_dtype(shim: EntLMShim) -> torch.dtype:
    """Of products with the vocabulary. Scaled gradients would not fit float16."""
    return torch.float32 if shim.scales_gradients else shim.training_dtype


def rehearse(
    model: Model, teacher: Model, docs: List[Doc], pieces: PieceFeatures
) -> Tuple[float, Floats2d]:
    """Cross-entropy against the softmax of an earlier model over the same pieces.

    model, teacher (Model): Now and earlier; with the same backbone.
    docs (List[Doc]): The texts. pieces (PieceFeatures): `model`'s for them.
    RETURNS: mean loss per piece, and the gradient of the features.
    """
    shim, network, earlier = get_shim(model), get_network(model), get_network(teacher)
    inputs, rows = training_inputs(teacher, get_doc_windows(teacher, docs))
    loss, d_features = rehearsal_objective(
        xp2torch(pieces.features, device=shim.device),
        get_shim(teacher).predict(inputs),
        network.decoder_rows,
        network.head,
        earlier.decoder_rows,
        earlier.head.stacked(),
        scale=shim.gradient_scale(),
        dtype=objective_dtype(shim),
    )
    n_pieces = len(rows)
    shim.count_pieces(n_pieces)
    return float(loss) / max(n_pieces, 1), to_xp(d_features)
