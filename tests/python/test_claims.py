"""Shapes that files declare wrongly: hone computes what onnxruntime computes, at every level."""

import logging

import hone
import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import make_model
from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
LEVELS = [
    hone.GraphOptimizationLevel.ORT_DISABLE_ALL,
    hone.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    hone.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    hone.GraphOptimizationLevel.ORT_ENABLE_ALL,
]


def run_theirs(model, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def run_ours(model, feed, level):
    options = hone.SessionOptions()
    options.graph_optimization_level = level
    return hone.InferenceSession(model.SerializeToString(), options).run(None, feed)


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def check_everywhere(model, feed):
    """All levels, and the optimized file in onnxruntime."""
    wanted = run_theirs(model, feed)
    for level in LEVELS:
        assert_same(run_ours(model, feed, level), wanted)
    for target in "onnx", "onnxruntime":
        fast = onnx.load_from_string(hone.optimize(model, level="all", target=target).to_bytes())
        assert_same(run_theirs(fast, feed), wanted)
    return wanted


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def ints(*values):
    return np.array(values, np.int64)


WRONG = {
    "reshape": ("Reshape", [2, 6], ints(3, 4), {}),
    "reshape to one axis": ("Reshape", [2, 6], ints(-1), {}),
    "expand": ("Expand", [1, 3], ints(2, 3), {}),
    "tile": ("Tile", [2, 3], ints(1, 2), {}),
    "squeeze": ("Squeeze", [1, 3], ints(0), {}),
    "unsqueeze": ("Unsqueeze", [2, 3], ints(0), {}),
    "sum": ("ReduceSum", [2, 3], ints(1), {"keepdims": 0}),
}


@pytest.mark.parametrize("inner", [False, True], ids=["output", "inner value"])
@pytest.mark.parametrize("is_free", [False, True], ids=["numbers", "names"])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_shapes_of_results(case, is_free, inner):
    op, shape, argument, attributes = WRONG[case]
    declared = ["a", "b"] if is_free else shape
    nodes = [node(op, "x,c", "z" if inner else "y", **attributes)]
    if inner:
        nodes += [node("Shape", "z", "s"), node("Cast", "s", "f", to=FLOAT), node("Reshape", "f,all", "y")]
    model = make_model(
        nodes,
        [("x", FLOAT, declared)],
        [("y", FLOAT, ["n"] if inner else declared)],
        [("c", argument), ("all", ints(-1))],
    )
    if inner:
        model.graph.value_info.append(helper.make_tensor_value_info("z", FLOAT, declared))
    check_everywhere(model, {"x": np.random.default_rng(0).standard_normal(shape, np.float32)})


def embedding(ids_shape, mask_shape):
    """The begin of an encoder: embeddings of tokens and their places, and a mask for scores."""
    rng = np.random.default_rng(1)
    nodes = [
        node("Gather", "table,ids", "e"),
        node("Shape", "ids", "s"),
        node("Gather", "s,one", "n"),
        node("Range", "zero,n,one", "r"),
        node("Gather", "places,r", "p"),
        node("Add", "e,p", "h"),
        node("Shape", "mask", "ms"),
        node("Gather", "ms,first", "mb"),
        node("Gather", "ms,second", "mn"),
        node("Concat", "mb,row,mn", "mt", axis=0),
        node("Reshape", "mask,mt", "m"),
        node("Transpose", "h", "ht", perm=[0, 2, 1]),
        node("MatMul", "h,ht", "scores"),
        node("ReduceSum", "scores,last", "total", keepdims=1),
        node("Mul", "total,m", "y"),
    ]
    return make_model(
        nodes,
        [("ids", INT64, ids_shape), ("mask", FLOAT, mask_shape)],
        [("y", FLOAT, ["batch", "seq", "seq"])],
        [
            ("table", rng.standard_normal((10, 4), np.float32)),
            ("places", rng.standard_normal((64, 4), np.float32)),
            ("zero", np.array(0, np.int64)),
            ("one", np.array(1, np.int64)),
            ("first", ints(0)),
            ("second", ints(1)),
            ("row", ints(1)),
            ("last", ints(-1)),
        ],
    )


SIZES = [((1, 8), (1, 8)), ((2, 8), (2, 8)), ((2, 8), (1, 5)), ((1, 3), (4, 7)), ((3, 3), (3, 3))]


@pytest.mark.parametrize("ids_shape", [["batch", "batch"], ["batch", "seq"]], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_names_of_dimensions(ids_shape, sizes):
    model = embedding(ids_shape, ["batch", "seq"])
    rng = np.random.default_rng(2)
    check_everywhere(
        model,
        {"ids": rng.integers(0, 10, sizes[0]), "mask": rng.standard_normal(sizes[1], np.float32)},
    )


def test_one_session_takes_all_sizes_and_says_so_once(caplog):
    model = embedding(["batch", "batch"], ["batch", "batch"])
    session = hone.InferenceSession(model.SerializeToString())
    rng = np.random.default_rng(3)
    with caplog.at_level(logging.WARNING, logger="hone"):
        for sizes in SIZES * 3:
            feed = {"ids": rng.integers(0, 10, sizes[0]), "mask": rng.standard_normal(sizes[1], np.float32)}
            assert_same(session.run(None, feed), run_theirs(model, feed))
    assert len(caplog.records) == 1
    assert "dimension 'batch' is 1 and 8 in one run" in caplog.text


# ---- random graphs ----------------------------------------------------------------------------------


class Chain:
    """Random operators on shapes over two inputs that share names."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.n = [], {}, 0

    def add(self, op, *inputs, **attributes):
        self.n += 1
        self.nodes.append(helper.make_node(op, inputs, [f"v{self.n}"], **attributes))
        return f"v{self.n}"

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def size(self, value):
        index = self.constant(ints(self.rng.integers(0, 2)))
        return self.add("Gather", self.add("Shape", value), index)

    def shape(self, values):
        parts = [self.size(self.rng.choice(values)) for _ in range(2)]
        return self.add("Concat", *parts, axis=0)

    def step(self, values):
        one = self.constant(np.ones((1, 1), np.float32))
        x = self.rng.choice(values)
        kind = self.rng.integers(0, 5)
        if kind == 0:
            return self.add("Expand", one, self.shape(values))
        if kind == 1:
            return self.add("Reshape", x, self.constant(ints(-1, 1)))
        if kind == 2:
            return self.add("Exp", self.add("Clip", x, "", self.constant(np.array(1, np.float32))))
        if kind == 3:
            rows = self.add("Range", "zero", self.add("Squeeze", self.size(x)), "step")
            return self.add("Unsqueeze", self.add("Cast", rows, to=FLOAT), self.constant(ints(1)))
        return self.add("Transpose", x, perm=[1, 0])

    def model(self):
        values = ["x", "z"]
        for _ in range(self.rng.integers(2, 7)):
            values.append(self.step(values))
        outputs = [f"o{i}" for i in range(len(values))]
        self.nodes += [node("Identity", a, b) for a, b in zip(values, outputs)]
        names = ["batch", "seq"]
        shapes = [[str(self.rng.choice(names)) for _ in range(2)] for _ in range(2)]
        return make_model(
            self.nodes,
            [("x", FLOAT, shapes[0]), ("z", FLOAT, shapes[1])],
            [(name, FLOAT, [str(self.rng.choice(names)), "any"]) for name in outputs],
            [*self.constants.items(), ("zero", np.array(0, np.int64)), ("step", np.array(1, np.int64))],
        )


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_over_names_that_lie(seed):
    chain = Chain(seed)
    model = chain.model()
    x, z = (chain.rng.standard_normal(chain.rng.integers(1, 5, 2), np.float32) for _ in range(2))
    check_everywhere(model, {"x": x, "z": z})
