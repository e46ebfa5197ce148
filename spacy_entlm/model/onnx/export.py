"""A trained network as one for ONNX Runtime."""

import copy
import warnings
from dataclasses import replace
from io import BytesIO
from typing import Any, Tuple

import torch

from ...backbones.errors import BackboneError
from ...files.errors import DataError
from ..network import OWN, EntLMNetwork
from .graph import EXTERNAL, Graph
from .network import INPUTS, MASK, OUTPUT, OnnxNetwork
from .quantize import quantized
from .steps import OPSET
from .unmasked import without_mask

FLOAT32, INT8 = FORMATS = ("float32", "int8")
AXES = {0: "window", 1: "piece"}
DYNAMIC = dict(zip((*INPUTS, OUTPUT), (AXES, AXES, {0: "word"}, {0: "word"})))
# Of features of the same pieces in float32, by PyTorch and by ONNX Runtime.
TOLERANCE = 1e-3
# Pieces of a long window.
LONG = 512


class _Features(torch.nn.Module):
    """What the graph computes, as the masked LM does from piece ids."""

    def __init__(self, body: Any):
        super().__init__()
        self.body = body

    def forward(
        self, embeddings: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """embeddings: float32 (n_windows, longest, width); the others and what is
        returned as of `EntLMNetwork`."""
        logits = self.body(inputs_embeds=embeddings, attention_mask=mask).logits
        return logits.flatten(0, 1)[positions]


def export_network(network: EntLMNetwork, format: str) -> OnnxNetwork:
    """Export a network, which stays as it is.

    format (str): "float32" or "int8".
    RAISES (DataError): If there is no such format, a package is missing, or labels have
        to outscore the whole vocabulary. (BackboneError): If the backbone computes
        something else without its own input embeddings, or has a part that ONNX does
        not have.
    """
    if format not in FORMATS:
        known = " or ".join(FORMATS)
        raise DataError(f"a pipeline is exported as {known}, not as {format!r}")
    if network.rival_kind != OWN:
        raise DataError(
            f'a pipeline is exported with rivals = "{OWN}", not "{network.rival_kind}"'
        )
    pieces = network.pieces
    network = copy.deepcopy(network).cpu().float().eval()
    network.masked_lm.unpack()
    embeddings = network.masked_lm.body.get_input_embeddings().weight.detach()
    vocabulary, labels = network.vocabulary, network.label_rows
    weight = vocabulary.weight.detach()
    is_tied = embeddings.data_ptr() == weight.data_ptr()
    traced = _encoder(network, embeddings)
    exported = OnnxNetwork(
        Graph(without_mask(traced, MASK)),
        pieces,
        dict(network.label_words),
        _array(labels.weight),
        _array(labels.bias),
        weight.numpy(),
        None if vocabulary.bias is None else _array(vocabulary.bias),
        weight.numpy() if is_tied else embeddings.numpy(),
    )
    if is_tied:
        exported.embeddings = exported.vocabulary
    try:
        _check(network, exported)
    except BackboneError:  # a mask for more than padding
        exported = replace(exported, encoder=Graph(traced))
        _check(network, exported)
    if format == INT8:
        encoder = Graph(quantized(exported.encoder.content))
        exported = replace(exported, encoder=encoder, format=format)
    if EXTERNAL in exported.encoder.content:
        raise BackboneError("The backbone has a part whose name ONNX keeps to itself")
    return exported


def _array(tensor: Any) -> Any:
    return tensor.detach().numpy()


def _encoder(network: EntLMNetwork, embeddings: torch.Tensor) -> bytes:
    ids, mask, positions = _some_windows(embeddings, n_windows=3, length=17)
    file_: Any = BytesIO()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            # Of tracing, and that another exporter, which needs more packages, is new.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _Features(network.masked_lm.body).eval(),
                (embeddings[ids], mask, positions),
                file_,
                input_names=list(INPUTS),
                output_names=[OUTPUT],
                opset_version=OPSET,
                dynamic_axes=DYNAMIC,
                dynamo=False,
            )
    except Exception as error:  # what a backbone cannot do is raised as anything
        raise _cannot(error) from error
    return file_.getvalue()


def _cannot(error: Exception) -> BackboneError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return BackboneError(f"The backbone cannot be exported: {reason}")


def _some_windows(
    embeddings: torch.Tensor, n_windows: int, length: int
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, mask and positions of windows of one length."""
    n_pieces = n_windows * length
    ids = (torch.arange(n_pieces) * 7919 % len(embeddings)).reshape(n_windows, length)
    return ids, torch.ones_like(ids), torch.arange(0, n_pieces, 2)


def _check(network: EntLMNetwork, exported: OnnxNetwork) -> None:
    """RAISES (BackboneError): If the graph gives other features, or none."""
    try:
        difference = _difference(network, exported)
    except ImportError:
        raise  # the extra is missing
    except Exception as error:  # ONNX Runtime's are of no common type
        raise _cannot(error) from error
    if not difference <= TOLERANCE:
        raise BackboneError(
            f"The backbone cannot be exported: it then computes something else "
            f"(features differ by {difference:.2g})"
        )


def _difference(network: EntLMNetwork, exported: OnnxNetwork) -> float:
    """The greatest of features, for windows of other shapes than those that the graph
    was made with, one of them long: some backbones look only so far around."""
    embeddings = torch.from_numpy(exported.embeddings)
    longest = min(LONG, exported.pieces.max_pieces)
    differences = []
    for n_windows, length in ((2, min(23, longest)), (1, longest)):
        ids, mask, positions = _some_windows(embeddings, n_windows, length)
        with torch.no_grad():
            expected = network(ids, mask, positions)
        found = exported.features(ids.numpy(), mask.numpy(), positions.numpy())
        differences.append((expected - torch.from_numpy(found)).abs().max())
    return max(differences, key=lambda each: each.nan_to_num(torch.inf)).item()
