"""Nodes and constants of a graph that is being made."""

from typing import Any, Dict, List, Set, Tuple

import numpy

from .graph import onnx_package
from .rows import BIASES, FEATURES, ROWS, TOP, TOTAL

# Names of constants begin with it.
OURS = "entlm"
# The newest that PyTorch's exporter without other packages writes completely.
OPSET, IR_VERSION = 18, 9
# Of ONNX Runtime's own operators.
DOMAIN, DOMAIN_VERSION = "com.microsoft", 1


class Steps:
    """The steps of a graph, in their order; what has been made already is made once.
    RAISES (ImportError): If the package onnx is not installed."""

    def __init__(self) -> None:
        self.onnx = onnx_package()
        self.nodes: List[Any] = []
        self.constants: List[Any] = []
        self._known: Set[str] = set()

    def constant(self, name: str, value: Any) -> str:
        """Its name."""
        array = numpy.ascontiguousarray(value) if numpy.ndim(value) else value
        array = numpy.asarray(array)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(
        self, operator: str, inputs: List[str], output: str, **settings: Any
    ) -> str:
        """What it gives."""
        make_node = self.onnx.helper.make_node
        self.nodes.append(make_node(operator, inputs, [output], output, **settings))
        return output

    def sizes(self, *sizes: int) -> str:
        """The name of a constant, int64 (n)."""
        name = "/".join([OURS, "sizes", *map(str, sizes)])
        if self.is_new(name):
            self.constant(name, numpy.array(sizes, dtype="int64"))
        return name

    def lowest(self) -> str:
        """The name of a constant, the lowest number of float32."""
        name = f"{OURS}/lowest"
        if self.is_new(name):
            self.constant(name, numpy.finfo("float32").min)
        return name

    def is_new(self, name: str) -> bool:
        """Whether this was not asked before."""
        is_new = name not in self._known
        self._known.add(name)
        return is_new

    def summarise(self, scores: str) -> Tuple[str, str]:
        """(n, n_rows) -> (n, 1), the highest; (n, 1), the sum of exp(score - it)."""
        highest = self.add("ReduceMax", [scores, self.sizes(-1)], f"{scores}/highest")
        # Of rows that are all impossible, infinity less infinity is no number.
        top = self.add("Max", [highest, self.lowest()], f"{scores}/top")
        less = self.add("Sub", [scores, top], f"{scores}/less")
        exp = self.add("Exp", [less], f"{scores}/exp")
        return top, self.add("ReduceSum", [exp, self.sizes(-1)], f"{scores}/total")

    def model(self, inputs: Dict[str, List[Any]], outputs: Dict[str, int]) -> bytes:
        """A model of ONNX. inputs: Their shapes, with a name where a size is open.
        outputs: Their widths."""
        helper = self.onnx.helper
        float32 = self.onnx.TensorProto.FLOAT
        shapes = {**inputs, **{name: ["word", n] for name, n in outputs.items()}}
        values = {
            name: helper.make_tensor_value_info(name, float32, shape)
            for name, shape in shapes.items()
        }
        ends = ([values[name] for name in each] for each in (inputs, outputs))
        graph = helper.make_graph(self.nodes, OURS, *ends, self.constants)
        opsets = [("", OPSET), (DOMAIN, DOMAIN_VERSION)]
        imports = [helper.make_opsetid(*each) for each in opsets]
        model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
        return model.SerializeToString()


def summing_graph(width: int) -> bytes:
    """The graph of `Vocabulary.exact`. width (int): Of the rows.
    RAISES (ImportError): If the package onnx is not installed."""
    steps = Steps()
    scores = steps.add("Gemm", [FEATURES, ROWS, BIASES], "scores", transB=1)
    for found, name in zip(steps.summarise(scores), (TOP, TOTAL)):
        steps.add("Identity", [found], name)
    shapes: List[List[Any]] = [["word", width], ["row", width], ["row"]]
    inputs = dict(zip((FEATURES, ROWS, BIASES), shapes))
    return steps.model(inputs, {TOP: 1, TOTAL: 1})
