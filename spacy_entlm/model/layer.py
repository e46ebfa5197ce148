"""The Thinc layer of a component: Docs in, scores of their words out; in training
scores of their pieces, and back.

The layer has one shim, which holds the network, and three attributes: "reading", how
Docs are read; "bias", a `ScoreBias`; and "new_network", which makes a network without
classes. Nothing here needs PyTorch in prediction: an exported pipeline does without it.
"""

from typing import Any, Callable, List, Optional, Tuple

import numpy
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps, Shim, get_array_module
from thinc.util import is_torch_array, torch2xp

from ..decoding.types import LabelScores
from .batches import iter_batches
from .bias import ScoreBias
from .reading import ReadingConfig, read_windows
from .types import NONE, Pieces, PieceScores, WordFeatures

# Pieces whose inner values are kept for a backward pass, padding counted.
TRAINING_PIECES = 4096

# Ids and mask, int64 (n_windows, longest), and positions of wanted pieces in the
# flattened windows, int64 (n).
Inputs = Tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]
LabelModel = Model[List[Doc], Any]


def build_layer(
    name: str, shim: Shim, reading: ReadingConfig, new_network: Callable[[], Any]
) -> LabelModel:
    """Create the layer.

    shim (Shim): Has `network`, `set_network`, `features`, `batch_limits`,
        `spare_threads_of_fork`, and `begin_scores` if it can be trained.
    new_network (Callable): Makes a network of the backbone, without classes.
    """
    attrs = {"reading": reading, "bias": ScoreBias(), "new_network": new_network}
    return Model(name, forward, init=init, shims=[shim], attrs=attrs)


def find_layer(model: Model) -> Model:
    """The layer, in a model or below layers that wrap it.
    RAISES (ValueError): If there is none."""
    for layer in model.walk():
        if "new_network" in layer.attrs:
            return layer
    raise ValueError(
        f"The model {model.name!r} is none for this component: it wants one such as "
        f"spacy-entlm.EntLM.v1, or a layer around it"
    )


def init(model: Model, X: Any = None, Y: Any = None) -> None:
    """Load the backbone afresh, without classes."""
    shim_of(model).spare_threads_of_fork()  # the backbone is tried when it is loaded
    shim_of(model).set_network(model.attrs["new_network"]())


def forward(
    model: Model, docs: List[Doc], is_train: bool
) -> Tuple[Any, Callable[[Any], List[Doc]]]:
    """In prediction `LabelScores`, in training `PieceScores`, and the callback that
    takes the gradient of these."""
    if is_train:
        return _begin_update(model, docs)
    return score_words(model, docs, read_words(model, docs)), lambda gradient: []


def shim_of(layer: Model) -> Any:
    """What holds the network of a layer."""
    return layer.shims[0]


def network_of(model: Model) -> Any:
    """The network of a layer.
    RAISES (ValueError): If the model was neither initialised nor loaded."""
    network = shim_of(model).network
    if network is None:
        raise ValueError(
            "The model has no weights yet: call nlp.initialize() with examples, or "
            "load a trained pipeline"
        )
    return network


def read_words(
    model: Model,
    docs: List[Doc],
    *,
    wanted: Optional[numpy.ndarray] = None,
    whole: bool = False,
) -> WordFeatures:
    """Features of words, without gradients.

    wanted: bool (n_words), words that are read; None: all. Words without a piece are
        left out.
    whole (bool): Whether Docs are read as a whole, whatever the span getter says.
    """
    network, shim, reading = network_of(model), shim_of(model), model.attrs["reading"]
    windows = read_windows(
        docs, network.pieces, reading, whole=whole, in_parallel=shim.is_apart
    )
    if wanted is not None:
        windows.word_rows[~wanted] = NONE
    limit, padding = shim.batch_limits
    words, features = [numpy.zeros(0, dtype="int64")], []
    for batch in iter_batches(windows, reading.max_batch_pieces or limit, padding):
        if len(batch.words):
            words.append(batch.words)
            inputs = (batch.input_ids, batch.attention_mask, batch.word_positions)
            features.append(shim.features(inputs))
    index = numpy.concatenate(words)
    ids = windows.ids[windows.word_rows[index]]
    return WordFeatures(network.joined(features), ids, index, windows.lengths)


def score_words(model: Model, docs: List[Doc], found: WordFeatures) -> LabelScores:
    """Probabilities of the classes at each word, and of none (paper, Eq. 4): a softmax
    over the scores of the labels and of the best that they have to outscore."""
    network = network_of(model)
    scores, rivals = map(
        _as_array, network.word_scores(found.features, found.piece_ids)
    )
    xp = get_array_module(scores)
    bias = model.attrs["bias"].of_words(docs, network.labels)
    if isinstance(bias, numpy.ndarray):
        bias = xp.asarray(bias[found.words])
    scores = scores + bias
    n_words, n_labels = sum(found.lengths), scores.shape[1]
    # A word that no piece stands for is no entity.
    probs = xp.zeros((n_words, n_labels), dtype="float32")
    outside = xp.ones(n_words, dtype="float32")
    if len(found.words) and n_labels:
        words = xp.asarray(found.words)
        top = xp.maximum(scores.max(axis=1), rivals)
        scores, rivals = xp.exp(scores - top[:, None]), xp.exp(rivals - top)
        total = scores.sum(axis=1) + rivals
        probs[words] = scores / total[:, None]
        outside[words] = rivals / total
    return LabelScores(probs, outside, found.lengths)


def read_pieces(model: Model, docs: List[Doc]) -> Tuple[List[Inputs], Pieces]:
    """What is read in training: inputs of batches, and the pieces that they give
    features of: neither special ones nor what is read from another window."""
    windows = read_windows(docs, network_of(model).pieces, model.attrs["reading"])
    inputs = []
    rows = [numpy.zeros(0, dtype="int64")]
    for batch in iter_batches(windows, TRAINING_PIECES):
        flat = batch.rows.ravel()
        positions = numpy.flatnonzero((flat >= 0) & windows.read_here[flat])
        inputs.append((batch.input_ids, batch.attention_mask, positions))
        rows.append(flat[positions])
    index = numpy.concatenate(rows)
    words = (windows.first_words[index], windows.last_words[index])
    return inputs, Pieces(windows.ids[index], *words)


def _begin_update(
    model: Model, docs: List[Doc]
) -> Tuple[PieceScores, Callable[[PieceScores], List[Doc]]]:
    scores, shim_backprop = shim_of(model).begin_scores(*read_pieces(model, docs))

    def backprop(gradient: PieceScores) -> List[Doc]:
        shim_backprop(gradient)
        return []

    return scores, backprop


def _as_array(values: Any) -> Any:
    """A tensor as an array, numpy's or cupy's (DLPack), that shares the memory; numpy's
    where there is none to share."""
    if not is_torch_array(values):
        return values
    return torch2xp(values, ops=None if values.numel() else NumpyOps())
