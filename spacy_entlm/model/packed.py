"""Weights in the layout that the processor multiplies fastest, for prediction.

A product with a plain matrix arranges that matrix anew each time. oneDNN, which comes
with PyTorch, can keep the arrangement: prediction is a tenth faster on CoNLL
(docs/benchmarks.md). The price is a second copy of the weights.
"""

import functools
import platform
from typing import Any, Iterator, List, Optional, cast

import torch

from .memory import limit_ready_products

# Rows of an output matrix that a processor multiplies at once: a product with more
# takes a quarter to a third longer (docs/benchmarks.md).
CHUNK_ROWS = 1024


def can_pack(weight: torch.Tensor, dtype: torch.dtype = torch.float32) -> bool:
    """Whether this build of PyTorch packs weights, for products in a number format, on
    the processor on which they lie, and may: not with `torch.backends.mkldnn.enabled`
    off."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return False
    return bool(torch.backends.mkldnn.enabled) and _has_packed_products(dtype)


@functools.cache
def _has_packed_products(dtype: torch.dtype) -> bool:
    if (
        platform.machine() not in ("x86_64", "AMD64")
        or not torch.backends.mkldnn.is_available()
        or not hasattr(torch.ops.mkldnn, "_linear_pointwise")
    ):
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return dtype == torch.float32


class PackedWeight:
    """A weight matrix and a bias, packed; good until the matrix changes."""

    def __init__(
        self,
        weight: torch.Tensor,
        bias: Optional[torch.Tensor],
        dtype: torch.dtype = torch.float32,
        rows: slice = slice(None),
    ):
        """weight: float32 (n_out, n_in), on the CPU. bias: float32 (n_out) or None.
        dtype (torch.dtype): Of the products, one that `can_pack` says.
        rows (slice): Of the matrix: the part that is packed."""
        self._stamp = _stamp(weight)
        self._dtype = dtype
        self._bias = None if bias is None else bias.detach()[rows].to(dtype)
        self._packed = torch.ops.mkldnn._reorder_linear_weight(
            weight.detach()[rows].to(dtype), None
        )

    def fits(self, weight: torch.Tensor, inputs: torch.Tensor) -> bool:
        """Whether the product of inputs and this weight may be taken here: nobody
        wants gradients, and it is the number format of the context."""
        return (
            not torch.is_grad_enabled()
            and inputs.device.type == "cpu"
            and torch.is_autocast_enabled("cpu") == (self._dtype != torch.float32)
            and self._stamp == _stamp(weight)
        )

    def product(self, inputs: torch.Tensor) -> torch.Tensor:
        """inputs: (..., n_in) -> (..., n_out), of the packed format."""
        return torch.ops.mkldnn._linear_pointwise(
            inputs.to(self._dtype), self._packed, self._bias, "none", [], ""
        )

    def __reduce__(self) -> Any:
        """A copy is None: these tensors cannot be copied, and are packed anew."""
        return type(None), ()


class PackedLinear(torch.nn.Linear):
    """A linear layer that multiplies with packed weights where that is possible."""

    packed: Optional[PackedWeight]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """(..., n_in) -> (..., n_out)."""
        if self.packed is not None and self.packed.fits(self.weight, inputs):
            return self.packed.product(inputs)
        return super().forward(inputs)


class Packing:
    """Packed weights of a masked LM: linear layers, and rows of the output matrix."""

    def __init__(
        self, body: torch.nn.Module, decoder: torch.nn.Linear, dtype: torch.dtype
    ):
        """body (Module): Its layers multiply with packed weights from now on.
        decoder (Linear): The output matrix.
        dtype (torch.dtype): Of the layers' products.
        """
        limit_ready_products()
        self.dtype = dtype
        self._decoder = decoder
        for layer in body.modules():
            if isinstance(layer, torch.nn.Linear):
                _pack_layer(layer, dtype)

    @functools.cached_property
    def rows(self) -> List[PackedWeight]:
        """Each of the `row_chunks` of the output matrix, for products in float32
        whatever the format of the layers."""
        weight, bias = self._decoder.weight, self._decoder.bias
        return [PackedWeight(weight, bias, rows=rows) for rows in row_chunks(weight)]

    def __reduce__(self) -> Any:
        """A copy is None, as that of a PackedWeight."""
        return type(None), ()


def row_chunks(weight: torch.Tensor) -> Iterator[slice]:
    """The rows of an output matrix, (n_rows, width), in parts of the size that suits
    the device."""
    n_rows = len(weight)
    size = CHUNK_ROWS if weight.device.type == "cpu" else n_rows
    for start in range(0, n_rows, max(size, 1)):
        yield slice(start, start + size)


def unpack_layers(body: torch.nn.Module) -> None:
    """Forget the packed weights of linear layers."""
    for layer in body.modules():
        if type(layer) is PackedLinear:
            layer.__class__ = torch.nn.Linear  # type: ignore[assignment]
            del layer.packed


def _pack_layer(layer: torch.nn.Linear, dtype: torch.dtype) -> None:
    # A layer of another kind may do more than multiply.
    if type(layer) in (torch.nn.Linear, PackedLinear) and can_pack(layer.weight, dtype):
        packed = PackedWeight(layer.weight, layer.bias, dtype)
        # In this order: another thread may be predicting.
        cast(PackedLinear, layer).packed = packed
        layer.__class__ = PackedLinear


def _stamp(weight: torch.Tensor) -> Any:
    # What is made in inference mode does not count its versions, nor may it change.
    return weight.data_ptr(), 0 if weight.is_inference() else weight._version
