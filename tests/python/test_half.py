"""Models in float16: as near to the same model in float as onnxruntime is, and near to onnxruntime."""

import hone
import numpy as np
import pytest
from conftest import make_model
from onnx import TensorProto, helper

ort = pytest.importorskip("onnxruntime")

ELEMS = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}


class Weights:
    """Random numbers that float16 has, in the type of the model."""

    def __init__(self, dtype):
        self.random, self.dtype, self.arrays = np.random.default_rng(5), dtype, []

    def __call__(self, *shape, scale=None, around=0.0):
        fan_in = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        numbers = around + self.random.standard_normal(shape) * (scale or 1 / np.sqrt(fan_in))
        return self.constant(numbers.astype(np.float16).astype(self.dtype))

    def constant(self, array):
        self.arrays.append((f"w{len(self.arrays)}", np.asarray(array)))
        return self.arrays[-1][0]


def convolutions(dtype):
    """Depthwise and dense convolutions, normalization, squeeze and excitation, Resize between Casts."""
    w, elem, node = Weights(dtype), ELEMS[dtype], helper.make_node
    sizes = w.constant(np.array([1, 16, 24, 24], np.int64))
    nodes = [
        node("Conv", ["x", w(16, 3, 3, 3)], ["a"], pads=[1] * 4, strides=[2, 2]),
        node("BatchNormalization", ["a", *(w(16, scale=0.1, around=1) for _ in range(4))], ["b"]),
        node("HardSwish", ["b"], ["c"]),
        node("Conv", ["c", w(16, 1, 5, 5), w(16)], ["d"], group=16, pads=[2] * 4, strides=[2, 2]),
        node("GlobalAveragePool", ["d"], ["e"]),
        node("Conv", ["e", w(16, 16, 1, 1), w(16)], ["f"]),
        node("Sigmoid", ["f"], ["g"]),
        node("Mul", ["d", "g"], ["h"]),
        node("MaxPool", ["h"], ["i"], kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4),
        node("Cast", ["i"], ["j"], to=TensorProto.FLOAT),
        node("Resize", ["j", "", "", sizes], ["k"], mode="linear"),
        node("Cast", ["k"], ["l"], to=elem),
        node("Concat", ["l", "c"], ["m"], axis=1),
        node("Conv", ["m", w(8, 32, 3, 3), w(8)], ["n"], pads=[1] * 4),
        node("Relu", ["n"], ["y"]),
    ]
    return make_model(nodes, [("x", elem, [1, 3, 48, 48])], [("y", elem, [1, 8, 24, 24])], w.arrays)


def encoder_layer(dtype):
    """Attention and LayerNormalization in the parts that exporters write, the latter in float."""
    w, elem, node = Weights(dtype), ELEMS[dtype], helper.make_node
    shape, back = w.constant(np.array([1, 9, 4, 16], np.int64)), w.constant(np.array([1, 9, 64], np.int64))
    epsilon, two, last = (w.constant(np.array(v, t)) for v, t in ((1e-5, np.float32), (2, np.float32), ([-1], np.int64)))
    nodes = []
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            node("MatMul", ["x", w(64, 64)], [f"{name}1"]),
            node("Add", [f"{name}1", w(64)], [f"{name}2"]),
            node("Reshape", [f"{name}2", shape], [f"{name}3"]),
            node("Transpose", [f"{name}3"], [name], perm=order),
        ]
    nodes += [
        node("MatMul", ["q", "k"], ["scores"]),
        node("Mul", ["scores", w.constant(np.array(0.25, dtype))], ["scaled"]),
        node("Softmax", ["scaled"], ["chances"], axis=-1),
        node("MatMul", ["chances", "v"], ["heads"]),
        node("Transpose", ["heads"], ["rows"], perm=[0, 2, 1, 3]),
        node("Reshape", ["rows", back], ["flat"]),
        node("MatMul", ["flat", w(64, 64)], ["projected"]),
        node("Add", ["projected", "x"], ["sum"]),
        node("Cast", ["sum"], ["wide"], to=TensorProto.FLOAT),
        node("ReduceMean", ["wide"], ["mean"], axes=[-1]),
        node("Sub", ["wide", "mean"], ["centered"]),
        node("Pow", ["centered", two], ["squares"]),
        node("ReduceMean", ["squares"], ["variance"], axes=[-1]),
        node("Add", ["variance", epsilon], ["safe"]),
        node("Sqrt", ["safe"], ["deviation"]),
        node("Div", ["centered", "deviation"], ["normal"]),
        node("Cast", ["normal"], ["narrow"], to=elem),
        node("Mul", ["narrow", w(64, scale=0.1, around=1)], ["weighted"]),
        node("Add", ["weighted", w(64)], ["y"]),
        node("ReduceSum", ["y", last], ["z"], keepdims=0),
    ]
    return make_model(nodes, [("x", elem, [1, 9, 64])], [("y", elem, [1, 9, 64]), ("z", elem, [1, 9])], w.arrays)


def decoder_step(dtype):
    """GroupQueryAttention of one token with a cache and rotary positions."""
    w, elem, node = Weights(dtype), ELEMS[dtype], helper.make_node
    angles = np.arange(32)[:, None] * 100.0 ** (-np.arange(0, 16, 2) / 16)
    tables = [w.constant(f(angles).astype(np.float16).astype(dtype)) for f in (np.cos, np.sin)]
    lengths = [w.constant(np.array(v, np.int32)) for v in ([11], 12)]
    parts = [node("MatMul", ["x", w(64, n)], [name]) for name, n in (("q", 64), ("k", 32), ("v", 32))]
    attend = node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", *lengths, *tables], ["h", "nk", "nv"],
                  domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1)
    nodes = [*parts, attend, node("MatMul", ["h", w(64, 64)], ["o"]), node("Add", ["o", "x"], ["y"])]
    inputs = [("x", elem, [1, 1, 64]), ("pk", elem, [1, 2, 11, 16]), ("pv", elem, [1, 2, 11, 16])]
    outputs = [("y", elem, [1, 1, 64]), ("nk", elem, [1, 2, 12, 16]), ("nv", elem, [1, 2, 12, 16])]
    return make_model(nodes, inputs, outputs, w.arrays, domains=[("com.microsoft", 1)])


def run(module, model, feeds):
    session = module.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def error(outputs, truth):
    """The largest difference, in parts of the largest element of its tensor."""
    return max(
        float(np.max(np.abs(got.astype(np.float64) - wanted)) / np.max(np.abs(wanted)))
        for got, wanted in zip(outputs, truth)
    )


@pytest.mark.parametrize("make", [convolutions, encoder_layer, decoder_step])
def test_float16_is_near_float(make):
    half, full = make(np.float16), make(np.float32)
    random = np.random.default_rng(1)
    feeds = {
        value.name: random.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float16)
        for value in half.graph.input
    }
    truth = run(ort, full, {name: array.astype(np.float32) for name, array in feeds.items()})
    ours, theirs = run(hone, half, feeds), run(ort, half, feeds)
    assert all(array.dtype == np.float16 for array in ours)
    assert error(ours, truth) <= 1.5 * error(theirs, truth) + 2**-11
    assert error(ours, theirs) <= 2**-9


def test_bfloat16_is_near_float():
    model = encoder_layer(np.float32)
    x = np.random.default_rng(1).standard_normal((1, 9, 64)).astype(np.float32)
    narrow = hone.optimize(model, level="none", precision="bfloat16", keep_io_types=True)
    got = hone.InferenceSession(narrow.to_bytes()).run(None, {"x": x})
    assert error(got, run(ort, model, {"x": x})) <= 2**-5


def test_casts_of_the_model_round():
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.FLOAT16),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
    ]
    model = make_model(nodes, [("x", TensorProto.FLOAT, [50])], [("y", TensorProto.FLOAT, [50])])
    x = np.random.default_rng(1).standard_normal(50).astype(np.float32)
    np.testing.assert_array_equal(run(hone, model, {"x": x})[0], np.maximum(x, 0).astype(np.float16).astype(np.float32))
