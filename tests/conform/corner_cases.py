"""Models of one node whose results are a matter of a detail: where windows end, which axes are counted, infinities,
classes that nobody voted for. Each case is a name, a model and its inputs."""
import random

import numpy
from onnx import TensorProto, helper


def model_of(node, inputs, outputs, opset, domain=None, constants=()):
    graph = helper.make_graph([node], "corner", inputs, outputs, list(constants))
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 3)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def info(name, elem=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, elem, shape)


def pool_attributes(rng, op, opset):
    kernel, stride = rng.randint(1, 4), rng.randint(1, 4)
    attributes = {"kernel_shape": [kernel], "strides": [stride], "ceil_mode": 1,
                  "pads": [rng.randint(0, kernel - 1), rng.randint(0, kernel - 1)]}
    if op == "AveragePool":
        attributes["count_include_pad"] = rng.randint(0, 1)
    if rng.random() < 0.2 and kernel >= stride:  # the oracle's SAME knows neither gaps nor dilations
        del attributes["pads"]
        attributes["auto_pad"] = rng.choice(["VALID", "SAME_UPPER", "SAME_LOWER"])
    elif rng.random() < 0.3 and (op != "AveragePool" or opset >= 19):
        attributes["dilations"] = [2]
    return attributes


def reaches_data(length, attributes):
    """A window that covers nothing but padding has no value that all agree on."""
    kernel, dilation = attributes["kernel_shape"][0], attributes.get("dilations", [1])[0]
    return (kernel - 1) * dilation + 1 <= length


def pool_cases():
    rng, numbers = random.Random(7), numpy.random.default_rng(7)
    for i in range(120):
        op = rng.choice(["MaxPool", "AveragePool", "LpPool"])
        opset = rng.choice([18, 19, 21, 22] if op == "LpPool" else [10, 11, 12, 19, 21, 22])
        attributes, length = pool_attributes(rng, op, opset), rng.randint(1, 9)
        if not reaches_data(length, attributes):
            continue
        node = helper.make_node(op, ["x"], ["y"], **attributes)
        shape = [1, 2, length]
        yield (f"{op} {i} in opset {opset}", model_of(node, [info("x", shape=shape)], [info("y", shape=[1, 2, None])], opset),
               {"x": numbers.standard_normal(shape).astype("f4")})


def reduction_cases():
    x = numpy.arange(1, 13, dtype="f4").reshape(3, 4)
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd", "ReduceL2", "ReduceLogSumExp"):
        for axes in ([0, 0], [1, -1], [0, 1], [1, 1, 1]):
            for keepdims in (0, 1):
                node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=keepdims)
                inputs = [info("x", shape=[3, 4]), info("axes", TensorProto.INT64, [len(axes)])]
                yield (f"{op} {axes} {keepdims}", model_of(node, inputs, [info("y")], 18),
                       {"x": x, "axes": numpy.array(axes, "i8")})
    for axes in ([0, 0], [-1, 2], [0, 0, 0]):
        inputs = [info("x", shape=[1, 4, 1]), info("axes", TensorProto.INT64, [len(axes)])]
        yield (f"Squeeze {axes}", model_of(helper.make_node("Squeeze", ["x", "axes"], ["y"]), inputs, [info("y")], 13),
               {"x": x[:1].reshape(1, 4, 1), "axes": numpy.array(axes, "i8")})


def infinity_cases():
    inf = numpy.inf
    rows = numpy.array([[1, inf, 2], [inf, inf, 0], [-inf, 1, 2], [-inf, -inf, -inf], [1, 2, 3]], "f4")
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis, x in ((1, rows), (0, rows.T.copy())):
            for dtype in ("f4", "f2"):
                elem = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
                node = helper.make_node(op, ["x"], ["y"], axis=axis)
                yield (f"{op} {axis} {dtype}", model_of(node, [info("x", elem, x.shape)], [info("y", elem, x.shape)], 13),
                       {"x": x.astype(dtype)})


def tree_attributes(rng, n_classes):
    """Trees of one split and two leaves, which vote for some of the classes only."""
    n_trees, voted = rng.randint(1, 3), rng.sample(range(n_classes), rng.randint(1, n_classes))
    nodes = [(t, n) for t in range(n_trees) for n in range(3)]
    votes = [(t, leaf, k) for t in range(n_trees) for leaf in (1, 2)
             for k in rng.sample(voted, rng.randint(1, len(voted)))]
    sign = rng.choice([(1,), (-1,), (1, -1)])
    return {"nodes_treeids": [t for t, _ in nodes], "nodes_nodeids": [n for _, n in nodes],
            "nodes_modes": ["BRANCH_LEQ" if n == 0 else "LEAF" for _, n in nodes],
            "nodes_featureids": [t % 2 if n == 0 else 0 for t, n in nodes], "nodes_values": [0.0] * len(nodes),
            "nodes_truenodeids": [1 if n == 0 else 0 for _, n in nodes],
            "nodes_falsenodeids": [2 if n == 0 else 0 for _, n in nodes],
            "class_treeids": [t for t, _, _ in votes], "class_nodeids": [leaf for _, leaf, _ in votes],
            "class_ids": [k for _, _, k in votes],
            "class_weights": [rng.choice([0.25, 0.5, 1.0]) * rng.choice(sign) for _ in votes]}


def tree_cases():
    rng, numbers = random.Random(3), numpy.random.default_rng(3)
    for i in range(40):
        n_classes = rng.choice([3, 4])
        post = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")[i % 4]
        attributes = tree_attributes(rng, n_classes)
        if rng.random() < 0.3:
            attributes["base_values"] = [rng.choice([0.1, -0.3]) for _ in range(n_classes)]
        node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml",
                                post_transform=post, classlabels_int64s=[7, 3, 9, 5][:n_classes], **attributes)
        outputs = [info("label", TensorProto.INT64, [8]), info("scores", shape=[8, n_classes])]
        yield (f"TreeEnsembleClassifier {i} {post}", model_of(node, [info("x", shape=[8, 2])], outputs, 17, "ai.onnx.ml"),
               {"x": numbers.standard_normal((8, 2)).astype("f4")})


def linear_cases():
    numbers = numpy.random.default_rng(5)
    for n_labels, width, n_intercepts, n_coefficients in ((3, 4, 3, 12), (3, 2, 3, 12), (3, 2, 2, 6), (2, 4, 1, 8), (2, 2, 2, 8)):
        node = helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml",
                                classlabels_ints=list(range(5, 5 + n_labels)),
                                coefficients=numbers.standard_normal(n_coefficients).tolist(),
                                intercepts=numbers.standard_normal(n_intercepts).tolist())
        yield (f"LinearClassifier {n_labels} {width} {n_intercepts} {n_coefficients}",
               model_of(node, [info("x", shape=[5, width])], [info("label", TensorProto.INT64), info("scores")], 17,
                        "ai.onnx.ml"), {"x": numbers.standard_normal((5, width)).astype("f4")})
    for targets, n_coefficients, n_intercepts in ((1, 8, 1), (2, 12, 2), (2, 8, 1), (2, 8, 3)):
        node = helper.make_node("LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml", targets=targets,
                                coefficients=numbers.standard_normal(n_coefficients).tolist(),
                                intercepts=numbers.standard_normal(n_intercepts).tolist())
        yield (f"LinearRegressor {targets} {n_coefficients} {n_intercepts}",
               model_of(node, [info("x", shape=[5, 4])], [info("y")], 17, "ai.onnx.ml"),
               {"x": numbers.standard_normal((5, 4)).astype("f4")})


def all_cases():
    for makers in (pool_cases, reduction_cases, infinity_cases, tree_cases, linear_cases):
        yield from makers()
