"""Models that the tests run, made here with the onnx package, and what is common to the tests."""

import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent


def make_model(nodes, inputs, outputs, initializers=(), opset=17, domains=()):
    """A model of nodes; inputs and outputs are (name, element type, shape) or ready-made."""

    def info(entry):
        return entry if isinstance(entry, onnx.ValueInfoProto) else helper.make_tensor_value_info(*entry)

    graph = helper.make_graph(
        nodes,
        "test",
        [info(entry) for entry in inputs],
        [info(entry) for entry in outputs],
        [numpy_helper.from_array(array, name) for name, array in initializers],
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, version) for name, version in domains)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tests")
    onnx.checker.check_model(model)
    return model


def identity(elem_type, shape, opset=17):
    return make_model(
        [helper.make_node("Identity", ["x"], ["y"])], [("x", elem_type, shape)], [("y", elem_type, shape)], opset=opset
    )


def loop_without_end():
    """A loop that counts to a number far away."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Add", ["v", "one"], ["v2"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("c2", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v2", TensorProto.FLOAT, [1]),
        ],
    )
    return make_model(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        [("n", TensorProto.INT64, []), ("x", TensorProto.FLOAT, [1])],
        [("y", TensorProto.FLOAT, [1])],
        [("one", np.ones(1, np.float32))],
    )


def small_network():
    """A convolution, a normalization, a pool and a product, over a free batch."""
    random = np.random.default_rng(7)

    def weights(*shape):
        return random.standard_normal(shape).astype(np.float32) * 0.3

    nodes = [
        helper.make_node("Conv", ["input", "w1", "b1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c1", "scale", "bias", "mean", "var"], ["n1"], name="norm1"),
        helper.make_node("Relu", ["n1"], ["r1"], name="relu1"),
        helper.make_node("GlobalAveragePool", ["r1"], ["p1"], name="pool"),
        helper.make_node("Flatten", ["p1"], ["f1"], name="flatten"),
        helper.make_node("MatMul", ["f1", "w2"], ["m1"], name="product"),
        helper.make_node("Add", ["m1", "b2"], ["logits"], name="add"),
        helper.make_node("Softmax", ["logits"], ["output"], name="softmax"),
    ]
    initializers = [
        ("w1", weights(16, 3, 3, 3)),
        ("b1", weights(16)),
        ("scale", weights(16) + 1),
        ("bias", weights(16)),
        ("mean", weights(16)),
        ("var", np.abs(weights(16)) + 0.5),
        ("w2", weights(16, 10)),
        ("b2", weights(10)),
    ]
    model = make_model(
        nodes,
        [("input", TensorProto.FLOAT, ["batch", 3, 32, 32])],
        [("output", TensorProto.FLOAT, ["batch", 10]), ("logits", TensorProto.FLOAT, ["batch", 10])],
        initializers,
    )
    entry = model.metadata_props.add()
    entry.key, entry.value = "classes", "ten"
    return model


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """Path of the small network."""
    path = tmp_path_factory.mktemp("models") / "network.onnx"
    onnx.save(small_network(), path)
    return path


@pytest.fixture(scope="session")
def adder():
    """Bytes of the smallest of models: z = x + y."""
    return make_model(
        [helper.make_node("Add", ["x", "y"], ["z"])],
        [("x", TensorProto.FLOAT, ["N", 2]), ("y", TensorProto.FLOAT, ["N", 2])],
        [("z", TensorProto.FLOAT, ["N", 2])],
    ).SerializeToString()


@pytest.fixture
def images():
    return np.random.default_rng(3).standard_normal((4, 3, 32, 32)).astype(np.float32)
