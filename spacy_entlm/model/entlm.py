"""`spacy-entlm.EntLM.v1`: a masked LM scores label words against its vocabulary."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Optional, Type

from spacy.tokens import Doc, Span

from ..backbones.suitable import learn_rate_for_width, suitable_learn_rate
from .layer import LabelModel, build_layer
from .network import OWN, RIVALS, VOCABULARY, EntLMNetwork, LabelNetwork
from .precision import PRECISIONS
from .reading import ReadingConfig
from .shim import MaskedLMShim

# Gets a network, and whether it is new or loaded; gives it back.
Settle = Callable[[Any, bool], Any]


@dataclass(kw_only=True)
class NetworkConfig(ReadingConfig):
    """What the config says about a model on a masked LM; read when used, never saved.
    The settings are those of `spacy-entlm.EntLM.v1`."""

    name: str
    layers: Optional[int] = None
    precision: str = "float32"
    mixed_precision: bool = False
    transformer_config: Dict[str, Any] = field(default_factory=dict)
    tokenizer_config: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """RAISES (ValueError): If a setting has no such value."""
        super().__post_init__()
        if self.precision not in PRECISIONS:
            names = ", ".join(PRECISIONS)
            raise ValueError(f"precision is one of {names}, not {self.precision!r}")
        if self.layers is not None and self.layers < 1:
            raise ValueError(f"layers is at least 1, not {self.layers}")

    @property
    def load_settings(self) -> Dict[str, Any]:
        """What `load_masked_lm` takes, too."""
        return {
            "transformer_config": dict(self.transformer_config),
            "tokenizer_config": dict(self.tokenizer_config),
            "layers": self.layers,
        }


def build_entlm_v1(
    name: str,
    get_spans: Callable[[Iterable[Doc]], List[List[Span]]],
    window: Optional[int] = None,
    stride: Optional[int] = None,
    max_batch_pieces: Optional[int] = None,
    layers: Optional[int] = None,
    precision: str = "float32",
    mixed_precision: bool = False,
    train_vocabulary: Optional[bool] = None,
    rivals: str = OWN,
    transformer_config: Dict[str, Any] = {},  # noqa: B006 (config values are copied)
    tokenizer_config: Dict[str, Any] = {},  # noqa: B006
) -> LabelModel:
    """A masked LM that scores the labels of classes against its vocabulary.

    name (str): The backbone: a folder or a name on the hub. It is loaded when the
        pipeline is initialised, and never again once that has been saved.
    get_spans (Callable): What is read together, for instance one of
        spacy-transformers' span getters.
    window (Optional[int]): Most word pieces read at once; None: what the model takes,
        at most 128 with special pieces.
    stride (Optional[int]): Pieces by which a window moves on; None: 7/8 of it.
    max_batch_pieces (Optional[int]): Most pieces of a batch in prediction, padding
        counted; None: 1024 on a CPU, 8192 on a GPU.
    layers (Optional[int]): How many layers of the backbone are used, the first ones;
        None: all. Fewer are faster; the package's own backbone was trained to be used
        with half of them, too.
    precision (str): Of prediction: "float32", "bfloat16", "float16", or "auto": what
        this processor does fastest.
    mixed_precision (bool): Whether to train with products in half precision: float16
        on a GPU, bfloat16 on a CPU.
    train_vocabulary (Optional[bool]): Whether word embeddings and output matrix learn,
        too, as in the paper; None: not where classes start from their names. Label rows
        always learn. In a step of training, what does not learn is sampled.
    rivals (str): What a label has to outscore at a word: "own", the word's own piece,
        or "vocabulary", all pieces, as in the paper, which is slower.
    transformer_config, tokenizer_config (Dict[str, Any]): Replace settings of the
        model's and the tokenizer's own configuration.
    RAISES (ValueError): If a setting has no such value.
    """
    if rivals not in RIVALS:
        raise ValueError(f"rivals is one of {', '.join(RIVALS)}, not {rivals!r}")
    config = NetworkConfig(
        get_spans,
        window,
        stride,
        max_batch_pieces,
        name=name,
        layers=layers,
        precision=precision,
        mixed_precision=mixed_precision,
        transformer_config=transformer_config,
        tokenizer_config=tokenizer_config,
    )
    settle = partial(_settle, train_vocabulary=train_vocabulary, rivals=rivals)
    return build_network_layer(EntLMNetwork, config, settle)


def _as_it_is(network: Any, is_new: bool) -> Any:
    return network


def build_network_layer(
    kind: Type[LabelNetwork], config: NetworkConfig, settle: Settle = _as_it_is
) -> LabelModel:
    """A layer on a masked LM, which can be pickled.

    kind (Type[LabelNetwork]): Of the network. config (NetworkConfig): Its settings.
    settle (Callable): Gives a network, new or loaded, what the config says of it.
    """
    load = partial(_load_network, kind, config, settle)
    shim = MaskedLMShim(load, config.precision, config.mixed_precision)
    new_network = partial(_new_network, kind, config, settle)
    layer = build_layer("masked_lm", shim, config, new_network)
    layer.attrs["backbone"] = config.name
    return layer


def _load_network(
    kind: Type[LabelNetwork], config: NetworkConfig, settle: Settle, folder: Any
) -> Any:
    network = kind.load(folder, **config.load_settings)
    if network.learn_rate is None:
        network.learn_rate = _rate_of_earlier(config.name, network.width)
    return settle(network, False)


def _rate_of_earlier(backbone: str, width: int) -> float:
    """The learning rate for a model that an earlier version saved, whose backbone may
    be gone, or broken."""
    try:
        return suitable_learn_rate(backbone, width)
    except ValueError:
        return learn_rate_for_width(width)


def _new_network(
    kind: Type[LabelNetwork], config: NetworkConfig, settle: Settle
) -> Any:
    network = kind.of_backbone(config.name, **config.load_settings)
    network.pieces.layout(config)  # a wrong window is an error now
    return settle(network, True)


def _settle(
    network: EntLMNetwork, is_new: bool, train_vocabulary: Optional[bool], rivals: str
) -> EntLMNetwork:
    network.rival_kind = rivals
    if rivals == VOCABULARY:  # all rows are wanted again and again
        network.masked_lm.unpack()
    if train_vocabulary is not None:  # it comes before what was saved
        network.train_vocabulary(train_vocabulary)
    elif is_new:
        # Rows of label words would not get away from fixed ones.
        network.train_vocabulary(network.name_map is None)
    return network
