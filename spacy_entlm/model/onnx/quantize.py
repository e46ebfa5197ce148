"""Matrix products in int8."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Collection

from .network import MISSING


def quantized(graph: bytes, kept: Collection[str] = ()) -> bytes:
    """Let products with weights run in int8: weights by a scale for each column, what
    enters by one for each batch.

    graph (bytes): A model of ONNX in float32.
    kept (Collection[str]): Names of the nodes that stay in float32.
    RAISES (ImportError): If ONNX Runtime or onnx is not installed.
    """
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise ImportError(MISSING) from error
    with TemporaryDirectory(prefix="entlm-") as folder:
        source, target = Path(folder, "float32.onnx"), Path(folder, "int8.onnx")
        source.write_bytes(graph)
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(kept),
        )
        return target.read_bytes()
