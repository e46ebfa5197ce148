"""Matrix products in int8.

ONNX Runtime quantises what enters a product by one scale for the whole batch, so that
one large number takes the digits of all others. Here each row is divided by its largest
number before the product, and what comes out is multiplied by that: the same product,
with a scale for each piece (figures: project/benchmarks/RESULTS.md).
"""

from typing import Any, List

import numpy

from ...files.errors import DataError
from ...files.temporary import temporary_folder
from .network import MISSING

# In place of the largest number of a row that holds only zeros.
LEAST = 1e-12
# What ONNX Runtime says of a prepared model, and wants to see.
PREPARED = {"onnx.quant.pre_process": "onnxruntime.quant"}


def quantized(graph: bytes) -> bytes:
    """Let products with weights run in int8: weights have a scale for each column, what
    enters one for each row.

    graph (bytes): A model of ONNX in float32.
    RAISES (ImportError): If ONNX Runtime or onnx is not installed. (DataError): If
        there is no such product.
    """
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise ImportError(MISSING) from error
    model = onnx.load_model_from_string(graph)
    _scale_rows(model.graph)
    with temporary_folder() as folder:
        source, target = folder / "source.onnx", folder / "int8.onnx"
        # In place of ONNX Runtime's preparation, which makes a folder of its own in the
        # system's temporary one: the shapes that it infers, `quantize_dynamic` infers.
        onnx.helper.set_model_props(model, PREPARED)
        onnx.save(model, source)
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
        )
        return target.read_bytes()


def _scale_rows(graph: Any) -> None:
    """Change a graph: x W becomes m ((x / m) W), m the largest number of each row."""
    from onnx import numpy_helper

    weights = {each.name for each in graph.initializer}
    nodes: List[Any] = []
    n_scaled = 0
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            nodes += _scaled(node)
            n_scaled += 1
        else:
            nodes.append(node)
    if not n_scaled:
        raise DataError("the backbone has no matrix product that can run in int8")
    del graph.node[:]
    graph.node.extend(nodes)
    constants = {
        "entlm_last_axis": numpy.array([-1], dtype="int64"),
        "entlm_least": numpy.array(LEAST, dtype="float32"),
    }
    for name, value in constants.items():
        graph.initializer.append(numpy_helper.from_array(value, name))


def _scaled(node: Any) -> List[Any]:
    from onnx import helper

    x, y = node.input[0], node.output[0]
    part = f"{node.name or y}/rows"
    node.input[0], node.output[0] = f"{part}/x", f"{part}/y"
    steps = [
        ("Abs", [x], "abs"),
        ("ReduceMax", [f"{part}/abs", "entlm_last_axis"], "top"),
        ("Max", [f"{part}/top", "entlm_least"], "m"),
        ("Div", [x, f"{part}/m"], "x"),
    ]
    before = [
        helper.make_node(op, inputs, [f"{part}/{out}"], name=f"{part}/{op}")
        for op, inputs, out in steps
    ]
    after = helper.make_node("Mul", [f"{part}/y", f"{part}/m"], [y], name=f"{part}/Mul")
    return [*before, node, after]
