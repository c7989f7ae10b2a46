"""Models as objects."""

import gc
import os

import hone
import ml_dtypes
import numpy as np
import onnx
import pytest
from conftest import make_model
from onnx import TensorProto, helper


def test_what_a_model_holds(network):
    model = hone.load(network)
    assert [arg.name for arg in model.inputs] == ["input"] and model.inputs[0].shape == ["batch", 3, 32, 32]
    assert [arg.name for arg in model.outputs] == ["output", "logits"]
    assert model.opsets == {"": 17} and model.metadata == {"classes": "ten"}
    conv = model.nodes[0]
    assert (conv.name, conv.op, conv.inputs, conv.outputs) == ("conv1", "Conv", ["input", "w1", "b1"], ["c1"])
    assert conv.attributes == {"pads": [1, 1, 1, 1]}
    assert model.op_counts["MatMul"] == 1 and sum(model.op_counts.values()) == len(model.nodes) == 8
    assert "Conv" in str(model) and "8 nodes" in repr(model) and "<table>" in model._repr_html_()


def test_initializers_are_views(network):
    proto = onnx.load(network)
    initializers = hone.load(network).initializers
    gc.collect()
    assert list(initializers) == [tensor.name for tensor in proto.graph.initializer]
    for tensor in proto.graph.initializer:
        array = initializers[tensor.name]
        np.testing.assert_array_equal(array, onnx.numpy_helper.to_array(tensor))
        assert not array.flags.owndata and not array.flags.writeable
    assert initializers.shape("w2") == (16, 10) and initializers.type("w2") == "float"
    with pytest.raises(KeyError):
        initializers["nowhere"]


def test_attributes_of_all_kinds():
    nodes = [
        helper.make_node("Constant", [], ["a"], value=helper.make_tensor("t", TensorProto.INT64, [2], [3, 4])),
        helper.make_node("Constant", [], ["b"], value_strings=["x", "y"]),
        helper.make_node("Constant", [], ["c"], value_floats=[0.5, 2.0]),
        helper.make_node("Cast", ["a"], ["d"], to=TensorProto.FLOAT),
    ]
    outputs = [("b", TensorProto.STRING, [2]), ("c", TensorProto.FLOAT, [2]), ("d", TensorProto.FLOAT, [2])]
    a, b, c, d = hone.load(make_model(nodes, [], outputs)).nodes
    assert a.attributes["value"].tolist() == [3, 4] and b.attributes == {"value_strings": ["x", "y"]}
    assert c.attributes == {"value_floats": [0.5, 2.0]} and d.attributes == {"to": 1}


def test_packed_and_small_constants():
    int4 = helper.make_tensor("p", TensorProto.INT4, [3], [-8, 7, -1])
    small = helper.make_tensor("q", TensorProto.BFLOAT16, [1], [1.5])
    graph = helper.make_graph(
        [helper.make_node("Identity", ["p"], ["y"]), helper.make_node("Identity", ["q"], ["z"])],
        "g",
        [],
        [
            helper.make_tensor_value_info("y", TensorProto.INT4, [3]),
            helper.make_tensor_value_info("z", TensorProto.BFLOAT16, [1]),
        ],
        [int4, small],
    )
    model = hone.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    assert model.initializers["p"].astype(int).tolist() == [-8, 7, -1]
    assert model.initializers["q"].dtype == ml_dtypes.bfloat16 and model.initializers["q"][0] == 1.5


def test_info(network):
    info = hone.info(network)
    assert info.n_nodes == 8 and info.op_counts["Softmax"] == 1 and info.opsets == {"ai.onnx": 17}
    assert info.n_parameters == sum(int(np.prod(t.dims)) for t in onnx.load(network).graph.initializer)
    assert info.inputs[0]["shape"] == ["batch", 3, 32, 32] and "MatMul" in info._repr_html_()
    fixed = hone.load(network).fix_dim("batch", 2).infer().info()
    assert fixed.macs > 2 * 16 * 3 * 9 * 1024 and fixed.nodes_of_unknown_shape == 0


def test_check(network):
    assert hone.check(network) and hone.check(network).problems == []
    broken = onnx.load(network)
    broken.graph.node[0].input[0] = "nowhere"
    report = hone.check(broken)
    assert not report and report.errors >= 1
    assert any(problem.node == "conv1" and "nowhere" in problem.message for problem in report.problems)
    assert "nowhere" in report._repr_html_()


def test_save(network, tmp_path):
    model = hone.load(network)
    model.save(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == model.to_bytes()
    onnx.checker.check_model(tmp_path / "again.onnx")
    hone.save(model, tmp_path / "apart.onnx", external_data="always", external_threshold=16, external_file="w.bin")
    assert (tmp_path / "w.bin").exists()
    without = hone.load(tmp_path / "apart.onnx", load_external_data=False)
    with pytest.raises(hone.InvalidArgument, match="w.bin"):
        without.initializers["w2"]
    np.testing.assert_array_equal(hone.load(tmp_path / "apart.onnx").initializers["w2"], model.initializers["w2"])
    with pytest.raises(hone.InvalidArgument, match="keep, never, always"):
        model.save(tmp_path / "x.onnx", external_data="sometimes")
    with pytest.raises(hone.Error, match="nowhere"):
        model.save(tmp_path / "nowhere" / "x.onnx")


def test_optimize_and_diff(network, tmp_path, images):
    optimized = hone.optimize(network, tmp_path / "optimized.onnx", verify=True)
    report = optimized.optimization
    assert len(optimized.nodes) < 8 and (tmp_path / "optimized.onnx").exists()
    assert any(rewrite.rule == "batch-norm" and rewrite.node == "norm1" for rewrite in report.rewrites)
    assert report.verification["max_relative"] < 1e-5 and report.opset_after == 17
    assert {stats.name for stats in report.passes} > {"dead-code"} and "batch-norm" in report._repr_html_()
    difference = hone.diff(network, optimized, inputs={"input": images})
    assert difference and difference.operators["BatchNormalization"] == (1, 0)
    assert [value.name for value in difference.values] == ["output", "logits"] and difference.values[0].sqnr_db > 80
    assert len(hone.load(network).nodes) == 8
    fewer = hone.optimize(network, disable=["fold-affine"])
    assert fewer.op_counts["BatchNormalization"] == 1
    assert "BatchNormalization" not in hone.optimize(network, level="basic").op_counts
    with pytest.raises(hone.InvalidArgument, match="none, basic, extended, all"):
        hone.optimize(network, level="most")
    with pytest.raises(hone.Error, match="no-such-pass"):
        hone.optimize(network, passes=["no-such-pass"])


def test_differences_are_told(network):
    changed = hone.load(network)
    changed.set_initializer("b2", changed.initializers["b2"] + np.float32(0.5) * np.arange(10, dtype=np.float32))
    difference = hone.diff(network, changed)
    assert not difference and not difference.values[0].equal and difference.values[0].max_rel > 0.01
    assert "differs" in difference._repr_html_()
    renamed = hone.load(network).rename("logits", "scores")
    difference = hone.diff(network, renamed)
    assert difference.only_in_first == ["logits"] and difference.only_in_second == ["scores"] and not difference


def test_half_precision(network, images):
    half = hone.optimize(network, precision="float16", keep_io_types=True)
    difference = hone.diff(network, half, inputs={"input": images}, limit=2e-2)
    assert difference and difference.values[0].max_abs > 0


def test_a_model_in_use_cannot_be_changed(network, images):
    model = hone.load(network)
    session = model.session()
    with pytest.raises(RuntimeError, match="in use"):
        model.fix_dim("batch", 3)
    assert session.run(None, {"input": images})[0].shape == (4, 10)
    del session
    model.fix_dim("batch", 4)
    assert model.inputs[0].shape[0] == 4
    optimized = model.optimize()
    del model
    gc.collect()
    assert optimized.session().run(None, {"input": images})[0].shape == (4, 10)


def test_sessions_of_a_model_may_have_other_sizes(network, images):
    model = hone.load(network)
    options = hone.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 4)
    assert model.session(options).get_inputs()[0].shape[0] == 4
    assert model.inputs[0].shape[0] == "batch"


def test_shapes_that_the_file_does_not_tell():
    model = make_model(
        [helper.make_node("Flatten", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, ["n", 3, 4])],
        [("y", TensorProto.FLOAT, ["n", 12])],
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert hone.InferenceSession(model).get_outputs()[0].shape == ["n", 12]


def _write_large(path):
    weights = np.arange(100_000, dtype=np.float32)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    x, y = ("x", TensorProto.FLOAT, [1]), ("y", TensorProto.FLOAT, [100_000])
    path.write_bytes(make_model(nodes, [x], [y], [("w", weights)]).SerializeToString())
    return {"x": np.ones(1, np.float32)}, weights + 1


def test_copied_files_may_change(tmp_path):
    path = tmp_path / "large.onnx"
    inputs, expected = _write_large(path)
    options = hone.SessionOptions()
    options.add_session_config_entry("hone.copy_files", "1")
    sessions = [hone.InferenceSession(str(path), options), hone.load(path, copy_files=True).session()]
    os.truncate(path, 100)
    for session in sessions:
        np.testing.assert_array_equal(session.run(None, inputs)[0], expected)
    options.add_session_config_entry("hone.copy_files", "yes")
    with pytest.raises(ValueError, match="hone.copy_files"):
        hone.InferenceSession(str(path), options)


def test_a_truncated_file_is_an_error(tmp_path):
    path = tmp_path / "large.onnx"
    inputs, expected = _write_large(path)
    session = hone.InferenceSession(str(path))
    np.testing.assert_array_equal(session.run(None, inputs)[0], expected)
    os.truncate(path, 100)
    with pytest.raises(hone.Error, match="was truncated while the model is in use"):
        session.run(None, inputs)
