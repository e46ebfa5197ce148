"""`spacy-entlm.OnnxEntLM.v1`: an EntLM model that was exported; it only predicts."""

from typing import Callable, Iterable, List, Optional

from spacy.tokens import Doc, Span

from ..layer import LabelModel, build_layer
from ..reading import ReadingConfig
from .network import refuse
from .shim import OnnxShim

ARCHITECTURE = "spacy-entlm.OnnxEntLM.v1"


def build_onnx_entlm_v1(
    get_spans: Callable[[Iterable[Doc]], List[List[Span]]],
    window: Optional[int] = None,
    stride: Optional[int] = None,
    max_batch_pieces: Optional[int] = None,
) -> LabelModel:
    """An EntLM model on ONNX Runtime, as `spacy entlm export` writes it: on the CPU, or
    with onnxruntime-gpu on the GPU that spaCy uses. It cannot be trained. The settings
    are those of `spacy-entlm.EntLM.v1`.

    RAISES (ValueError): If a setting has no such value.
    """
    config = ReadingConfig(get_spans, window, stride, max_batch_pieces)
    layer = build_layer("onnx_entlm", OnnxShim(), config, refuse)
    layer.attrs["backbone"] = ""
    return layer
