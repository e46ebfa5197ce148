"""Matrix products in int8.

Each row that enters a product has a scale of its own, with which what comes out of the
product is multiplied. With one scale for a whole batch one large number would take the
digits of all others (figures: project/benchmarks/RESULTS.md).
"""

from typing import Tuple

import numpy

from ...files.errors import DataError
from .graph import onnx_package
from .steps import DOMAIN, DOMAIN_VERSION, OURS, Steps

# In place of the largest number of a row that holds only zeros.
LEAST = 1e-12
# What 1 becomes, and what stands for 0 where numbers have no sign.
STEPS, ZERO = 127, 128


def quantized(graph: bytes) -> bytes:
    """Let products with weights run in int8: weights have a scale for each column, what
    enters one for each row.

    graph (bytes): A model of ONNX in float32.
    RAISES (ImportError): If the package onnx is not installed. (DataError): If there is
        no such product.
    """
    onnx = onnx_package()
    model = onnx.load_model_from_string(graph)
    weights = {each.name: each for each in model.graph.initializer}
    steps = _Int8Steps()
    is_any = False
    for node in model.graph.node:
        weight = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is None or len(weight.dims) != 2:
            steps.nodes.append(node)
        else:
            is_any = True
            array = onnx.numpy_helper.to_array(weight)
            steps.multiply(node.input[0], array, weight.name, node.output[0])
    if not is_any:
        raise DataError("the backbone has no matrix product that can run in int8")
    needed = {name for node in steps.nodes for name in node.input}
    constants = [each for name, each in weights.items() if name in needed]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(steps.nodes)
    model.graph.initializer.extend(constants + steps.constants)
    model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, DOMAIN_VERSION))
    return model.SerializeToString()


class _Int8Steps(Steps):
    """Steps with products in int8."""

    def __init__(self) -> None:
        super().__init__()
        self.one = self.constant(f"{OURS}/one", numpy.float32(1))
        self.step = self.constant(f"{OURS}/step", numpy.float32(1 / STEPS))
        self.zero = self.constant(f"{OURS}/zero", numpy.uint8(ZERO))
        self.least = self.constant(f"{OURS}/least", numpy.float32(LEAST))

    def multiply(self, x: str, weight: numpy.ndarray, name: str, output: str) -> None:
        """x, float32 (..., n), times a weight, float32 (n, m), whose name it is."""
        n, m = weight.shape
        values, scales = f"{name}/int8", f"{name}/scales"
        if self.is_new(values):
            steps = numpy.maximum(_largest(weight), LEAST) / STEPS
            self.constant(values, numpy.rint(weight / steps).astype("int8"))
            self.constant(scales, steps.astype("float32"))
        rows, row_scales = self._quantized_rows(x, n)
        product = self.add(
            "MatMulIntegerToFloat",
            [rows, values, self.one, scales, self.zero],
            f"{output}/product",
            domain=DOMAIN,
        )
        scaled = self.add("Mul", [product, row_scales], f"{output}/scaled")
        shape = f"{x}/shape/{m}"
        if self.is_new(shape):
            self.add("Concat", [f"{x}/windows", self.sizes(m)], shape, axis=0)
        self.add("Reshape", [scaled, shape], output)

    def _quantized_rows(self, x: str, n: int) -> Tuple[str, str]:
        """x, float32 (..., n), as uint8 (n_rows, n), and float32 (n_rows, 1)."""
        make_tensor = self.onnx.helper.make_tensor
        uint8, last_axis = self.onnx.TensorProto.UINT8, self.sizes(-1)
        integers, scales = f"{x}/uint8", f"{x}/scales"
        if self.is_new(integers):
            self.add("Shape", [x], f"{x}/windows", end=-1)
            rows = self.add("Reshape", [x, self.sizes(-1, n)], f"{x}/rows")
            # Faster than the greatest absolute number, which wants another copy.
            high = self.add("ReduceMax", [rows, last_axis], f"{x}/high")
            low = self.add("ReduceMin", [rows, last_axis], f"{x}/low")
            less = self.add("Neg", [low], f"{x}/less")
            largest = self.add("Max", [high, less, self.least], f"{x}/largest")
            self.add("Mul", [largest, self.step], scales)
            flat = self.add("Reshape", [scales, last_axis], f"{x}/flat")
            number = self.add("Shape", [flat], f"{x}/number")
            zero = make_tensor("zero", uint8, [1], [ZERO])
            zeros = self.add("ConstantOfShape", [number], f"{x}/zeros", value=zero)
            self.add("QuantizeLinear", [rows, flat, zeros], integers, axis=0)
        return integers, scales


def _largest(weight: numpy.ndarray) -> numpy.ndarray:
    """(n, m) -> (m), the largest sum of two numbers of one sign that follow each other
    in a column. Processors without instructions for int8 add up two products in 16
    bits: 127 for such a pair, 128 when it is rounded, times 255 fits."""
    n, m = weight.shape
    pairs = numpy.pad(weight, ((0, n % 2), (0, 0))).reshape(-1, 2, m)
    up = numpy.maximum(pairs, 0).sum(axis=1)
    down = numpy.minimum(pairs, 0).sum(axis=1)
    return numpy.maximum(up, -down).max(axis=0)
