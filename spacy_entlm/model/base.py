"""What every Thinc model of a component shares: Docs in, features of pieces out.

Such a model has one shim, which holds the network, and two attributes: "config", a
`ReadingConfig`, and "label_model", the class whose methods a component calls. A
component finds it with `get_label_model`, also below layers that wrap the model.

Nothing here needs PyTorch: an exported pipeline predicts without it.
"""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Protocol, Tuple

import numpy
from spacy.tokens import Doc
from thinc.api import Model

from ..decoding.types import Bias, LabelScores
from .batches import Batch, iter_batches
from .types import NONE, PieceFeatures, PieceGradient
from .windows import Layout, SpanGetter, Windows, doc_spans, get_windows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MIN_BATCH_PIECES = 16
# Pieces of a batch in prediction where the config leaves it open. On a CPU more than
# fits its caches is slower (docs/speed.md); another device wants enough to be busy.
CPU_BATCH_PIECES, BATCH_PIECES = 1024, 8192
# Padding of a batch that costs less than beginning another one, in pieces.
CPU_BATCH_PADDING, BATCH_PADDING = 80, 2048

PieceModel = Model[List[Doc], PieceFeatures]


@dataclass
class ReadingConfig:
    """What the config says about how Docs are read; read when used, never saved."""

    get_spans: SpanGetter
    window: Optional[int] = None
    stride: Optional[int] = None
    max_batch_pieces: Optional[int] = None

    def __post_init__(self) -> None:
        """RAISES (ValueError): If a setting has no such value."""
        pieces = self.max_batch_pieces
        if pieces is not None and pieces < MIN_BATCH_PIECES:
            raise ValueError(
                f"max_batch_pieces must be at least {MIN_BATCH_PIECES}, not {pieces}"
            )


@dataclass
class Alphabet:
    """What a network reads.

    tokenizer: Without padding or truncation.
    prefix, suffix: Special pieces before and after a text.
    max_pieces: Most pieces that are read at once, special ones counted.
    unknown: The piece that stands for what the vocabulary lacks, if there is one.
    special: All special pieces.
    """

    tokenizer: "Tokenizer"
    prefix: List[int]
    suffix: List[int]
    max_pieces: int
    unknown: Optional[int]
    special: List[int]


class LabelModel(Protocol):
    """What a component asks of its model."""

    is_initialized: bool
    labels: list[str]

    def score(
        self,
        pieces: PieceFeatures,
        *,
        label_bias: Bias = 0.0,
        need_probs: bool = False,
        probability_floor: float = 0.0,
    ) -> LabelScores:
        """Scores of the words that `model.predict` has read."""

    def loss(
        self, pieces: PieceFeatures, word_targets: numpy.ndarray
    ) -> tuple[float, PieceGradient]:
        """Mean loss of the pieces that `model.begin_update` has read, and the gradient
        of its sum."""


class ReadingModel(ABC):
    """A view of a Thinc model that reads Docs; it holds nothing of its own. A subclass
    is a `LabelModel`."""

    def __init__(self, model: Model):
        self.config: Any = model.attrs["config"]
        self.shim: Any = model.shims[0]

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
    @abstractmethod
    def backbone(self) -> str:
        """Name of what a training begins with."""

    @property
    @abstractmethod
    def alphabet(self) -> Alphabet:
        """What the network reads."""

    @property
    def batch_limits(self) -> Tuple[int, int]:
        """Most pieces of a batch in prediction, and most of them that are padding."""
        return CPU_BATCH_PIECES, CPU_BATCH_PADDING

    @abstractmethod
    def load_backbone(self) -> None:
        """Load the backbone afresh, without classes."""

    @abstractmethod
    def read_pieces(
        self, docs: List[Doc]
    ) -> Tuple[PieceFeatures, Callable[[PieceGradient], List[Doc]]]:
        """Features of all pieces in training, and the callback for their gradient."""

    @abstractmethod
    def read_batch(self, batch: Batch) -> Any:
        """(n, width), features of the words that are read from a batch."""

    @abstractmethod
    def joined(self, parts: List[Any]) -> Any:
        """(n, width), what `read_batch` gave, of none or of several batches."""

    def windows(self, docs: List[Doc], *, whole: bool = False) -> Windows:
        """The windows in which Docs are read. Warns of words that are cut."""
        alphabet = self.alphabet
        layout = self.layout(alphabet)
        get_spans = doc_spans if whole else self.config.get_spans
        windows = get_windows(docs, get_spans, alphabet.tokenizer, layout)
        _hide_special_pieces(windows, alphabet)
        if windows.n_cut:
            # The same text each time: said once, by Python's own filter of warnings.
            warnings.warn(
                f"Some words have more than {layout.longest_word} word pieces: the "
                f"model reads their beginning only",
                UserWarning,
                stacklevel=2,
            )
        return windows

    def layout(self, alphabet: Alphabet) -> Layout:
        """How windows are laid out.
        RAISES (ValueError): If the config's do not fit the network."""
        special = (alphabet.prefix, alphabet.suffix)
        config = self.config
        return Layout.create(
            *special, alphabet.max_pieces, config.window, config.stride
        )

    def read_words(
        self,
        docs: List[Doc],
        *,
        wanted: Optional[numpy.ndarray] = None,
        whole: bool = False,
    ) -> PieceFeatures:
        """Features of words, those of their first pieces, without gradients.

        wanted: bool (n_words), words that are read; None: all. Words without a piece
            are left out.
        whole (bool): Whether Docs are read as a whole, whatever the span getter says.
        """
        windows = self.windows(docs, whole=whole)
        if wanted is not None:
            windows.word_rows[~wanted] = NONE
        limit, padding = self.batch_limits
        limit = self.config.max_batch_pieces or limit
        words, features = [numpy.zeros(0, dtype="int64")], []
        for batch in iter_batches(windows, limit, padding):
            if len(batch.words):
                words.append(batch.words)
                features.append(self.read_batch(batch))
        index = numpy.concatenate(words)
        ids = windows.ids[windows.word_rows[index]]
        return PieceFeatures(self.joined(features), ids, index, index, windows.lengths)


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
    model: Model, docs: List[Doc], is_train: bool
) -> Tuple[PieceFeatures, Callable[[PieceGradient], List[Doc]]]:
    """In prediction features of words, in training of pieces."""
    view = get_label_model(model)
    if is_train:
        return view.read_pieces(docs)
    return view.read_words(docs), lambda gradient: []


def _hide_special_pieces(windows: Windows, alphabet: Alphabet) -> None:
    # A unigram vocabulary (XLM-R) holds "<mask>" and its kind like any other word.
    if alphabet.unknown is not None:
        special = numpy.isin(windows.ids, alphabet.special)
        windows.ids[special & (windows.first_words >= 0)] = alphabet.unknown
