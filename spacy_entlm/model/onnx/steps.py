"""Nodes and constants of a graph that is being made."""

from typing import Any, List, Set

import numpy

from .graph import onnx_package

# Names of constants begin with it.
OURS = "entlm"
# The newest that PyTorch's exporter without other packages writes completely.
OPSET = 18
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

    def is_new(self, name: str) -> bool:
        """Whether this was not asked before."""
        is_new = name not in self._known
        self._known.add(name)
        return is_new
