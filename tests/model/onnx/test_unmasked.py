"""Graphs read windows of one length, so most need no mask."""

import numpy
import pytest
import spacy

from spacy_entlm.model.onnx.network import ENCODER_FILE, MASK
from spacy_entlm.model.onnx.unmasked import without_mask

NAME = "entlm_ner"
onnx = pytest.importorskip("onnx")
helper = onnx.helper


def uses_mask(graph):
    return any(MASK in node.input for node in graph.node)


def test_only_local_attention_keeps_a_mask(family, exported_folder_of):
    path = exported_folder_of(family) / NAME / "model" / ENCODER_FILE
    assert uses_mask(onnx.load(path).graph) == (family == "modernbert")


def test_long_windows_are_read_as_by_pytorch(
    family, trained_folder_of, exported_folder_of
):
    text = "Anna left Rome for Globex . " * 9
    folders = trained_folder_of(family), exported_folder_of(family)
    docs = [spacy.load(folder)(text) for folder in folders]
    assert len(docs[0].ents) > 9
    ents = [[(e.start, e.end, e.label_) for e in doc.ents] for doc in docs]
    assert ents[0] == ents[1]
    scores = [doc.spans[NAME].attrs["scores"] for doc in docs]
    assert numpy.allclose(*scores, atol=1e-4)


def test_windows_of_other_lengths_are_read_apart(exported, texts):
    seen = []
    network = exported.get_pipe(NAME).network
    read = network.features

    def note(ids, mask, positions):
        seen.append(ids.shape)
        assert mask.all()
        return read(ids, mask, positions)

    network.features = note
    list(exported.pipe([*texts, *texts, "Anna", "Anna left Rome with Peter ."]))
    assert len(seen) == len({length for _, length in seen}) > 1


def graph_of(nodes):
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["row", "column"])
        for name in ("x", MASK, "out")
    ]
    bias = onnx.numpy_helper.from_array(numpy.ones((1, 4), dtype="f"), "bias")
    graph = helper.make_graph(nodes, "graph", ends[:2], ends[2:], [bias])
    return helper.make_model(graph).SerializeToString()


@pytest.mark.parametrize(
    "added, is_left_out",
    [
        ("negated", True),  # the mask's values alone
        ("bias", False),  # a weight, as of positions
        ("both", False),  # a weight and the mask
        ("x", False),
    ],
)
def test_only_what_depends_on_nothing_but_the_mask_is_left_out(added, is_left_out):
    nodes = [
        helper.make_node("Neg", [MASK], ["negated"]),
        helper.make_node("Add", ["negated", "bias"], ["both"]),
        helper.make_node("Add", ["x", added], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["out"]),
    ]
    graph = onnx.load_model_from_string(without_mask(graph_of(nodes), MASK)).graph
    softmax = graph.node[-1]
    assert softmax.input[0] == ("x" if is_left_out else "scores")
    assert [i.name for i in graph.input] == ["x", MASK]


def test_what_only_a_branch_reads_is_kept():
    value = onnx.TensorProto.FLOAT
    scalar = helper.make_tensor("scalar", value, [], [2.0])
    on = helper.make_tensor("on", onnx.TensorProto.BOOL, [], [True])
    out = helper.make_tensor_value_info("then", value, None)
    branch = helper.make_graph(
        [helper.make_node("Mul", ["x", "two"], ["then"])], "branch", [], [out]
    )
    nodes = [
        helper.make_node("Constant", [], ["two"], value=scalar),
        helper.make_node("Constant", [], ["is_on"], value=on),
        helper.make_node(
            "If", ["is_on"], ["out"], then_branch=branch, else_branch=branch
        ),
    ]
    graph = onnx.load_model_from_string(without_mask(graph_of(nodes), MASK)).graph
    assert [node.output[0] for node in graph.node] == ["two", "is_on", "out"]
