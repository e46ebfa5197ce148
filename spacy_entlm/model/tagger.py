"""`spacy-entlm.Tagger.v1`: the encoder of a masked LM with a new linear layer.

What the paper calls BERT-tagger. Windows, batches, training and files are those of
EntLM; the features are the encoder's, not those of the masked LM's head.
"""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

import numpy
import srsly
import torch
from spacy.tokens import Doc, Span
from thinc.api import Model
from thinc.types import Floats2d
from thinc.util import xp2torch

from .label_head import LabelHead, Rows
from .masked_lm import BackboneError, MaskedLM, load_masked_lm
from .objective import NO_LOSS, label_objective
from .precision import check_precision
from .reading import (
    Settings,
    forward_pieces,
    get_doc_windows,
    get_layout,
    get_network,
    get_shim,
    iter_word_features,
    to_device,
    to_xp,
)
from .shim import EntLMShim
from .tensor_files import load_tensors, save_tensors
from .types import NO_TARGET, LabelScores, PieceFeatures

TAGS_FILE = "tags.json"
ROWS_FILE = "tag_rows.safetensors"
# In that file: the row of "no entity" first, then those of the tags.
ROWS_KEY, BIASES_KEY = "rows", "biases"
# Settings of backbones for dropout before a linear layer and for initial values, as
# transformers' models for token classification take them.
DROPOUT_SETTINGS = ("classifier_dropout", "hidden_dropout_prob", "dropout")
RANGE_SETTING, DEFAULT_RANGE = "initializer_range", 0.02


class TaggerNetwork(torch.nn.Module):
    """The encoder of a masked LM with one row for each tag and one for no entity.

    All rows are new. Each tag's is a parameter of its own, so that tags can be added.
    """

    def __init__(self, masked_lm: MaskedLM):
        """masked_lm (MaskedLM): Its head stays as it is, and is not used.
        RAISES (BackboneError): If it has no encoder of its own.
        """
        super().__init__()
        self.masked_lm = masked_lm
        config = masked_lm.body.config
        if masked_lm.body.base_model is masked_lm.body:
            raise BackboneError(
                f"{type(masked_lm.body).__name__}: the encoder cannot be told from the "
                f"head. Use another masked LM, for instance one of the BERT, RoBERTa, "
                f"DistilBERT, XLM-R or ModernBERT family"
            )
        rates = (getattr(config, name, None) for name in DROPOUT_SETTINGS)
        self.dropout = next((rate for rate in rates if rate is not None), 0.0)
        self.outside = torch.nn.Linear(config.hidden_size, 1)
        self.outside.weight.data, self.outside.bias.data = self._new_row()
        self.head = LabelHead()
        self.tags: List[str] = []

    def _new_row(self) -> Tuple[torch.Tensor, torch.Tensor]:
        """Random weight (1, width) and zero bias (1)."""
        config = self.masked_lm.body.config
        weight = self.outside.weight
        spread = getattr(config, RANGE_SETTING, None) or DEFAULT_RANGE
        return torch.randn_like(weight) * spread, weight.new_zeros(1)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        positions: torch.Tensor,
    ) -> torch.Tensor:
        """The encoder's features of chosen pieces.

        input_ids, attention_mask: int64 (n_windows, longest).
        positions: int64 (n), rows of the flattened windows.
        RETURNS: float32 (n, width).
        """
        if not len(positions):  # not every backbone takes an empty batch
            return self.outside.weight[:0].float()
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        features = self.masked_lm.body.base_model(**inputs).last_hidden_state
        features = features.flatten(0, 1)[positions].float()
        return torch.nn.functional.dropout(features, self.dropout, self.training)

    @property
    def tokenizer(self) -> Any:
        """The fast tokenizer."""
        return self.masked_lm.tokenizer

    @property
    def decoder_rows(self) -> Rows:
        """The row of "no entity", in the place of the vocabulary's."""
        return Rows(self.outside.weight, self.outside.bias)

    def add_tags(self, tags: Iterable[str]) -> None:
        """Add tags with rows at initial values."""
        for tag in tags:
            weight, bias = self._new_row()
            self.head.add(weight[0], bias)
            self.tags.append(tag)

    def tag_scores(self, features: torch.Tensor) -> torch.Tensor:
        """Scores that a softmax turns into probabilities.

        features: float32 (n, width).
        RETURNS: float32 (n, 1 + n_tags), of no entity and of the tags.
        """
        outside = self.decoder_rows.scores(features)
        if not self.tags:
            return outside
        return torch.cat([outside, self.head.stacked().scores(features)], dim=1)

    def save(self, folder: Path) -> None:
        """Write the masked LM's files, the tags and their rows."""
        self.masked_lm.save(folder)
        srsly.write_json(folder / TAGS_FILE, self.tags)
        rows = [self.outside.weight, *(row[None] for row in self.head.rows)]
        biases = [self.outside.bias, *self.head.biases]
        tensors = {ROWS_KEY: torch.cat(rows), BIASES_KEY: torch.cat(biases)}
        save_tensors(folder / ROWS_FILE, tensors)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        transformer_config: Optional[Dict[str, Any]] = None,
        tokenizer_config: Optional[Dict[str, Any]] = None,
    ) -> "TaggerNetwork":
        """Read what `save` wrote.

        folder (Path): The folder.
        transformer_config, tokenizer_config (Optional[Dict[str, Any]]): Replace
            settings of the saved configurations.
        RAISES (BackboneError): If a file is missing or broken, or they do not fit.
        """
        network = cls(
            load_masked_lm(
                folder,
                transformer_config=transformer_config,
                tokenizer_config=tokenizer_config,
                strict=True,
            )
        )
        network._load_rows(folder)
        return network

    def _load_rows(self, folder: Path) -> None:
        try:
            tags = srsly.read_json(folder / TAGS_FILE)
        except (OSError, ValueError) as err:
            path = folder / TAGS_FILE
            raise BackboneError(f"Cannot read the tags {path}: {err}") from err
        n_rows, width = 1 + len(tags), self.outside.weight.shape[1]
        shapes = {ROWS_KEY: (n_rows, width), BIASES_KEY: (n_rows,)}
        tensors = load_tensors(folder / ROWS_FILE, shapes)
        rows, biases = tensors[ROWS_KEY], tensors[BIASES_KEY]
        self.outside.weight.data, self.outside.bias.data = rows[:1], biases[:1]
        for row, bias in zip(rows[1:], biases[1:]):
            self.head.add(row.clone(), bias.reshape(1).clone())
        self.tags = list(tags)


def build_tagger_v1(
    name: str,
    get_spans: Callable[[Iterable[Doc]], List[List[Span]]],
    window: Optional[int] = None,
    stride: Optional[int] = None,
    max_batch_pieces: Optional[int] = None,
    precision: str = "float32",
    mixed_precision: bool = False,
    transformer_config: Dict[str, Any] = {},  # noqa: B006 (config values are copied)
    tokenizer_config: Dict[str, Any] = {},  # noqa: B006
) -> Model[List[Doc], LabelScores]:
    """The encoder of a masked LM with a new linear layer.

    The settings are those of `spacy-entlm.EntLM.v1`.
    RAISES (ValueError): If a setting has no such value.
    """
    return make_tagger(
        TaggerNetwork,
        precision=precision,
        mixed_precision=mixed_precision,
        name=name,
        get_spans=get_spans,
        window=window,
        stride=stride,
        max_batch_pieces=max_batch_pieces,
        transformer_config=dict(transformer_config),
        tokenizer_config=dict(tokenizer_config),
    )


def make_tagger(
    network_class: Any, *, precision: str, mixed_precision: bool, **reading: Any
) -> Model[List[Doc], LabelScores]:
    """A Thinc model around a TaggerNetwork or one of its kind.

    network_class (Type): Of the network. The other settings are those of
        `spacy-entlm.EntLM.v1`; **reading: those of `Settings`.
    """
    check_precision(precision)
    settings = Settings(**reading, multi_piece="mean", label_row_bias="mean")
    shim = EntLMShim(
        precision=precision,
        mixed_precision=mixed_precision,
        transformer_config=settings.transformer_config,
        tokenizer_config=settings.tokenizer_config,
        network_class=network_class,
    )
    return Model(
        "tagger",
        forward,
        init=init,
        shims=[shim],
        attrs={
            "settings": settings,
            "network_class": network_class,
            "is_initialized": is_initialized,
            "get_tags": get_tags,
            "add_tags": add_tags,
            "objective": objective,
            "get_windows": get_doc_windows,
        },
    )


def is_initialized(model: Model) -> bool:
    """Whether there is a network."""
    return get_shim(model).network is not None


def get_tags(model: Model) -> Optional[List[str]]:
    """The tags in the order of their rows; None without a network."""
    return list(get_network(model).tags) if is_initialized(model) else None


def add_tags(model: Model, tags: List[str]) -> None:
    """Add tags with new rows; the others stay as they are."""
    get_network(model).add_tags(tags)


def init(model: Model, X: Optional[List[Doc]] = None, Y: Any = None) -> None:
    """Load the backbone afresh, without tags."""
    settings: Settings = model.attrs["settings"]
    masked_lm = load_masked_lm(
        settings.name,
        transformer_config=settings.transformer_config,
        tokenizer_config=settings.tokenizer_config,
    )
    network = model.attrs["network_class"](masked_lm)
    get_layout(settings, network)  # a wrong window is an error now, not in training
    get_shim(model).set_network(network)


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


@torch.no_grad()
def _score_words(model: Model, docs: List[Doc]) -> LabelScores:
    network, device = get_network(model), get_shim(model).device
    windows = get_doc_windows(model, docs)
    # A word that no piece stands for is no entity.
    probs = torch.zeros(windows.n_words, 1 + len(network.tags), device=device)
    probs[:, 0] = 1
    for words, features in iter_word_features(model, windows):
        scores = network.tag_scores(features)
        probs[to_device(words, device)] = torch.softmax(scores, dim=1)
    top, best = probs.max(dim=1)
    best = best - 1
    return LabelScores(
        best=to_xp(best),
        confidence=to_xp(torch.where(best >= 0, top, 0.0)),
        probs=to_xp(probs[:, 1:].contiguous()),
        lengths=windows.lengths,
        word_prob=to_xp(probs[:, 0].contiguous()),
    )


def objective(
    model: Model, pieces: PieceFeatures, word_targets: numpy.ndarray
) -> Tuple[float, Floats2d]:
    """Cross-entropy over "no entity" and the tags, on the first piece of each word,
    as the paper's authors train their tagger.

    pieces (PieceFeatures): From `model.begin_update(docs)`.
    word_targets: int64 (n_words), index of a tag, NO_ENTITY, or NO_TARGET where the
        annotation is missing.
    RETURNS: mean loss per first piece, and the gradient of the features. Gradients are
        those of the sum: `finish_update` divides them.
    """
    shim, network = get_shim(model), get_network(model)
    word_target = word_targets[pieces.first_words]
    targets = numpy.full(len(word_target), NO_LOSS)
    _, first = numpy.unique(pieces.first_words, return_index=True)
    # Row 0 is "no entity", and NO_ENTITY is -1.
    targets[first] = word_target[first] + 1
    # A piece that reaches into a word with another target says nothing certain.
    unclear = word_target != word_targets[pieces.last_words]
    targets[unclear | (word_target == NO_TARGET)] = NO_LOSS
    n_pieces = int((targets != NO_LOSS).sum())
    loss, d_features = label_objective(
        xp2torch(pieces.features, device=shim.device),
        to_device(targets, shim.device),
        network.decoder_rows,
        network.head,
        scale=shim.gradient_scale(),
    )
    shim.count_pieces(n_pieces)
    return float(loss) / max(n_pieces, 1), to_xp(d_features)
