"""Matrix products in int8.

Each row that enters a product has a scale of its own, with which what comes out of the
product is multiplied. With one scale for a whole batch one large number would take the
digits of all others (figures: project/benchmarks/RESULTS.md).
"""

from typing import Any, Dict, List, Set, Tuple

import numpy

from ...files.errors import DataError
from .graph import onnx_package
from .int8_rows import FEATURES, PART_ROWS, TOP, TOTAL
from .scores import ArrayRows

# In place of the largest number of a row that holds only zeros.
LEAST = 1e-12
# What 1 becomes, and what stands for 0 where numbers have no sign.
STEPS, ZERO = 127, 128
# Names of constants begin with it.
OURS = "entlm"
# Whose operator the product is.
DOMAIN, DOMAIN_VERSION = "com.microsoft", 1
OPSET, IR_VERSION = 18, 9


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
    steps = _Steps()
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


def quantized_rows(rows: ArrayRows) -> bytes:
    """The graph of `Int8Rows`.
    RAISES (ImportError): If the package onnx is not installed."""
    helper = onnx_package().helper
    steps = _Steps()
    parts: Dict[str, List[str]] = {TOP: [], TOTAL: []}
    for start in range(0, len(rows), PART_ROWS):
        part = rows[start : start + PART_ROWS]
        key = f"rows{start}"
        scores = f"{key}/scores"
        steps.multiply(FEATURES, part.weight.T, f"{key}/weight", scores)
        if part.bias is not None:
            bias = steps.constant(f"{key}/bias", part.bias)
            scores = steps.add("Add", [scores, bias], f"{key}/biased")
        top = steps.add("ReduceMax", [scores, steps.last_axis], f"{key}/top")
        less = steps.add("Sub", [scores, top], f"{key}/less")
        exp = steps.add("Exp", [less], f"{key}/exp")
        parts[TOP].append(top)
        total = steps.add("ReduceSum", [exp, steps.last_axis], f"{key}/total")
        parts[TOTAL].append(total)
    for name, of_parts in parts.items():
        steps.add("Concat", of_parts, name, axis=-1)

    def value(name: str, width: int) -> Any:
        float32 = onnx_package().TensorProto.FLOAT
        return helper.make_tensor_value_info(name, float32, ["word", width])

    graph = helper.make_graph(
        steps.nodes,
        "rows",
        [value(FEATURES, rows.weight.shape[1])],
        [value(name, len(of_parts)) for name, of_parts in parts.items()],
        steps.constants,
    )
    opsets = [("", OPSET), (DOMAIN, DOMAIN_VERSION)]
    imports = [helper.make_opsetid(*each) for each in opsets]
    model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
    return model.SerializeToString()


class _Steps:
    """Nodes and constants of a graph that is being made."""

    def __init__(self) -> None:
        self.nodes: List[Any] = []
        self.constants: List[Any] = []
        # What was made already: each is written once.
        self._known: Set[str] = set()
        self.one = self.constant(f"{OURS}/one", numpy.float32(1))
        self.step = self.constant(f"{OURS}/step", numpy.float32(1 / STEPS))
        self.zero = self.constant(f"{OURS}/zero", numpy.uint8(ZERO))
        self.least = self.constant(f"{OURS}/least", numpy.float32(LEAST))
        self.last_axis = self.sizes(-1)

    def constant(self, name: str, value: Any) -> str:
        """Its name."""
        from onnx import numpy_helper

        array = numpy.ascontiguousarray(value) if numpy.ndim(value) else value
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def add(
        self, operator: str, inputs: List[str], output: str, **settings: Any
    ) -> str:
        """What it gives."""
        from onnx import helper

        node = helper.make_node(operator, inputs, [output], output, **settings)
        self.nodes.append(node)
        return output

    def sizes(self, *sizes: int) -> str:
        """The name of a constant, int64 (n)."""
        name = "/".join([OURS, "sizes", *map(str, sizes)])
        if self._is_new(name):
            self.constant(name, numpy.array(sizes, dtype="int64"))
        return name

    def multiply(self, x: str, weight: numpy.ndarray, name: str, output: str) -> None:
        """x, float32 (..., n), times a weight, float32 (n, m), whose name it is."""
        n, m = weight.shape
        values, scales = f"{name}/int8", f"{name}/scales"
        if self._is_new(values):
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
        if self._is_new(shape):
            self.add("Concat", [f"{x}/windows", self.sizes(m)], shape, axis=0)
        self.add("Reshape", [scaled, shape], output)

    def _quantized_rows(self, x: str, n: int) -> Tuple[str, str]:
        """x, float32 (..., n), as uint8 (n_rows, n), and float32 (n_rows, 1)."""
        from onnx import TensorProto, helper

        integers, scales = f"{x}/uint8", f"{x}/scales"
        if self._is_new(integers):
            self.add("Shape", [x], f"{x}/windows", end=-1)
            rows = self.add("Reshape", [x, self.sizes(-1, n)], f"{x}/rows")
            # Faster than the greatest absolute number, which wants another copy.
            high = self.add("ReduceMax", [rows, self.last_axis], f"{x}/high")
            low = self.add("ReduceMin", [rows, self.last_axis], f"{x}/low")
            less = self.add("Neg", [low], f"{x}/less")
            largest = self.add("Max", [high, less, self.least], f"{x}/largest")
            self.add("Mul", [largest, self.step], scales)
            flat = self.add("Reshape", [scales, self.sizes(-1)], f"{x}/flat")
            number = self.add("Shape", [flat], f"{x}/number")
            zero = helper.make_tensor("zero", TensorProto.UINT8, [1], [ZERO])
            zeros = self.add("ConstantOfShape", [number], f"{x}/zeros", value=zero)
            self.add("QuantizeLinear", [rows, flat, zeros], integers, axis=0)
        return integers, scales

    def _is_new(self, name: str) -> bool:
        is_new = name not in self._known
        self._known.add(name)
        return is_new


def _largest(weight: numpy.ndarray) -> numpy.ndarray:
    """(n, m) -> (m), the largest sum of two numbers of one sign that follow each other
    in a column. Processors without instructions for int8 add up two products in 16
    bits: 127 for such a pair, 128 when it is rounded, times 255 fits."""
    n, m = weight.shape
    pairs = numpy.pad(weight, ((0, n % 2), (0, 0))).reshape(-1, 2, m)
    up = numpy.maximum(pairs, 0).sum(axis=1)
    down = numpy.minimum(pairs, 0).sum(axis=1)
    return numpy.maximum(up, -down).max(axis=0)
