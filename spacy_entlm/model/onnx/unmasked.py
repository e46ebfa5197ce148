"""Attention without a mask, for windows of one length, which have no padding.

Adding a mask to the scores of all pairs of pieces is a fifth of the time of a long
window, though it adds zeros where nothing is padded.
"""

from typing import Any, Dict, List, Set

from .graph import onnx_package


def without_mask(graph: bytes, mask: str) -> bytes:
    """Leave out what is added to what enters a softmax, if that depends on the mask and
    on no other value. The input stays, whether it is used or not.

    graph (bytes): A model of ONNX. mask (str): Name of this input.
    RAISES (ImportError): If the package onnx is not installed.
    """
    model = onnx_package().load_model_from_string(graph)
    nodes = list(model.graph.node)
    makers = {output: node for node in nodes for output in node.output}
    for node in nodes:
        added = makers.get(node.input[0]) if node.op_type == "Softmax" else None
        if added is None or added.op_type != "Add":
            continue
        on_mask = [_values_behind(name, makers) == {mask} for name in added.input]
        if sum(on_mask) == 1:
            node.input[0] = added.input[1 - on_mask.index(True)]
    kept = _needed(nodes, makers, [output.name for output in model.graph.output])
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model.SerializeToString()


def _values_behind(name: str, makers: Dict[str, Any]) -> Set[str]:
    """Inputs and weights on whose values something depends; shapes are no values, and
    small constants are made by nodes."""
    found: Set[str] = set()
    seen: Set[str] = set()
    left = [name]
    while left:
        name = left.pop()
        if name in seen or not name:
            continue
        seen.add(name)
        maker = makers.get(name)
        if maker is None:
            found.add(name)
        elif maker.op_type != "Shape":
            left.extend(_read_by(maker))
    return found


def _needed(nodes: List[Any], makers: Dict[str, Any], outputs: List[str]) -> List[Any]:
    """Nodes that outputs depend on, in their order."""
    needed: Set[str] = set()
    left = list(outputs)
    while left:
        name = left.pop()
        if name in needed:
            continue
        needed.add(name)
        if name in makers:
            left.extend(_read_by(makers[name]))
    return [node for node in nodes if needed.intersection(node.output)]


def _read_by(node: Any) -> List[str]:
    """What a node reads, also in the graphs of its branches (If, Loop)."""
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    inner = [name for graph in graphs for each in graph.node for name in _read_by(each)]
    outputs = [output.name for graph in graphs for output in graph.output]
    return [*node.input, *inner, *outputs]
