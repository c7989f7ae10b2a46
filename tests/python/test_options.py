"""Options do what they say, or say that they do nothing."""

import inspect
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import hone
import numpy as np
import onnx
import pytest
from conftest import HERE, loop_without_end

ROOT = HERE.parent.parent


@pytest.fixture
def log(caplog):
    """Lines of the logger, as if nothing had been said before."""
    hone._options._said.clear()
    return lambda: [record.getMessage() for record in caplog.records]


def test_what_has_no_effect_is_one_line_of_the_log(adder, log):
    options = hone.SessionOptions()
    options.execution_mode = hone.ExecutionMode.ORT_PARALLEL
    options.enable_mem_pattern = False
    options.inter_op_num_threads = 1  # which is what is done
    for _ in range(2):  # warnings are errors here
        hone.InferenceSession(adder, options)
    (line,) = log()
    assert line.startswith("SessionOptions.execution_mode, enable_mem_pattern has no effect in hone: nodes")


def test_levels_have_names():
    options = hone.SessionOptions()
    for name, level in (("all", 99), ("none", 0), ("Basic", 1), ("ORT_ENABLE_EXTENDED", 2), (99, 99)):
        options.graph_optimization_level = name
        assert options.graph_optimization_level is hone.GraphOptimizationLevel(level)
    for wrong in ("fast", 17, None):
        with pytest.raises(hone.InvalidArgument, match="there is none, basic"):
            options.graph_optimization_level = wrong


def test_threads_are_not_negative():
    options = hone.SessionOptions()
    for name in ("intra_op_num_threads", "inter_op_num_threads"):
        with pytest.raises(hone.InvalidArgument, match="negative: -1; 0 means"):
            setattr(options, name, -1)
        with pytest.raises(TypeError):
            setattr(options, name, 1.5)
        assert getattr(options, name) == 0


def test_options_describe_themselves():
    options = hone.SessionOptions()
    assert repr(options) == "SessionOptions()"
    options.intra_op_num_threads = 2
    options.add_session_config_entry("hone.max_plans", "3")
    assert repr(options) == "SessionOptions(intra_op_num_threads=2, 'hone.max_plans': '3')"
    run = hone.RunOptions()
    run.timeout = 0.5
    assert repr(run) == "RunOptions(timeout=0.5, terminate=False)"
    assert repr(hone.OrtDevice()) == "OrtDevice('cpu', 0)"
    for name in hone.SessionOptions._DEFAULTS:
        assert inspect.getdoc(getattr(hone.SessionOptions, name)), name


@pytest.mark.parametrize("cache", [False, True])
def test_profiles_name_the_nodes_of_the_model(network, images, tmp_path, cache):
    options = hone.SessionOptions()
    if cache:
        options.add_session_config_entry("hone.cache_dir", str(tmp_path / "cache"))
        hone.InferenceSession(network, options)
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    with hone.InferenceSession(network, options) as session:
        session.run(None, {"input": images})
    (path,) = tmp_path.glob("profile*")
    steps = [event["args"] for event in json.loads(path.read_text()) if event["cat"] == "Node"]
    nodes = [step["nodes"] for step in steps]
    assert all(step["kernel"] for step in steps) and any(int(step["macs"]) for step in steps)
    assert ["conv1", "norm1", "relu1"] in nodes and ["product", "add"] in nodes, nodes


def test_versions(adder):
    assert hone.__version__ == hone._core.version() and hone.onnxruntime_version.startswith("1.")
    program = (
        "import sys, hone.onnxruntime; hone.onnxruntime.install(); import onnxruntime, hone\n"
        "from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument\n"
        "from onnxruntime.capi import _pybind_state\n"
        "assert onnxruntime.__version__ == onnxruntime.get_version_string() == hone.onnxruntime_version\n"
        "assert InvalidArgument is hone.InvalidArgument and onnxruntime.capi is hone.capi\n"
        "print(onnxruntime.InferenceSession(sys.stdin.buffer.read()).get_inputs()[0].name)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], input=adder, capture_output=True, check=True)
    assert done.stdout == b"x\n"


def test_what_would_mislead_is_refused():
    options = hone.SessionOptions()
    with pytest.raises(hone.Unsupported, match=".onnx file"):
        options.add_session_config_entry("session.load_model_format", "ORT")
    with pytest.raises(hone.Unsupported, match="by_name"):
        options.add_free_dimension_override_by_denotation("DATA_BATCH", 1)
    with pytest.raises(AttributeError):
        options.graph_optimisation_level = 1
    with pytest.raises(AttributeError):
        hone.RunOptions().time_out = 1
    with pytest.raises(ValueError, match="no library"):
        options.register_custom_ops_library("nowhere.so")


def test_levels_change_the_graph(network, tmp_path):
    counts = []
    for level in (0, 1, 2, 99):
        options = hone.SessionOptions()
        options.graph_optimization_level = hone.GraphOptimizationLevel(level)
        options.optimized_model_filepath = str(tmp_path / f"{level}.onnx")
        hone.InferenceSession(network, options)
        counts.append(len(onnx.load(options.optimized_model_filepath).graph.node))
    assert counts[0] == 8 and counts[0] >= counts[1] > counts[2] >= counts[3]


def test_optimized_models_may_keep_weights_in_another_file(network, tmp_path, images):
    options = hone.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "small.onnx")
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights.bin")
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "16")
    session = hone.InferenceSession(network, options)
    assert (tmp_path / "weights.bin").stat().st_size > 1000
    again = hone.InferenceSession(tmp_path / "small.onnx")
    np.testing.assert_allclose(
        again.run(None, {"input": images})[0], session.run(None, {"input": images})[0], rtol=1e-5, atol=1e-7
    )
    folder = hone.SessionOptions()
    folder.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    hone.InferenceSession((tmp_path / "small.onnx").read_bytes(), folder)


def test_initializers_are_replaced(network, images):
    options = hone.SessionOptions()
    options.add_initializer("b2", hone.OrtValue.ortvalue_from_numpy(np.full(10, 3, np.float32)))
    options.add_initializer("w2", hone.OrtValue.ortvalue_from_numpy(np.zeros((16, 10), np.float32)))
    (logits,) = hone.InferenceSession(network, options).run(["logits"], {"input": images})
    assert (logits == 3).all()
    options.add_initializer("w2", hone.OrtValue.ortvalue_from_numpy(np.zeros((2, 2), np.float32)))
    with pytest.raises(hone.Error, match="w2"):
        hone.InferenceSession(network, options)


def test_operators_of_a_library(tmp_path):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler")
    folder, library = ROOT / "examples" / "custom_op", tmp_path / "my_ops.so"
    include = f"-I{ROOT / 'include'}"
    subprocess.run([compiler, "-shared", "-fPIC", include, folder / "my_ops.c", "-lm", "-o", library], check=True)
    with pytest.raises(hone.Error, match="my.ops"):
        hone.InferenceSession(folder / "gate.onnxtxt")
    options = hone.SessionOptions()
    options.register_custom_ops_library(library)
    (y,) = hone.InferenceSession(folder / "gate.onnxtxt", options).run(None, {"x": [[-1, 0, 1, 2]]})
    np.testing.assert_allclose(y, [0.785598, 1.72302], rtol=1e-4)
    assert hone.load(folder / "gate.onnxtxt", custom_ops=[library]).check()


def test_denormals(adder):
    x = np.full((1, 2), 1e-39, np.float32)
    keep, flush = hone.SessionOptions(), hone.SessionOptions()
    keep.add_session_config_entry("session.set_denormal_as_zero", "0")
    flush.add_session_config_entry("session.set_denormal_as_zero", "1")
    assert hone.InferenceSession(adder, keep).run(None, {"x": x, "y": x})[0][0, 0] > 0
    assert hone.InferenceSession(adder, flush).run(None, {"x": x, "y": x})[0][0, 0] == 0


def test_cache_and_kernel_choices(tmp_path):
    model = ROOT / "examples" / "digits" / "digits.onnx"
    feed = {"image": np.zeros((1, 1, 8, 8), np.float32)}
    expected = hone.InferenceSession(model).run(None, feed)[0]
    options = hone.SessionOptions()
    options.add_session_config_entry("hone.cache_dir", str(tmp_path / "cache"))
    for _ in range(2):  # written, then read
        assert np.array_equal(hone.InferenceSession(model, options).run(None, feed)[0], expected)
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(b"not a cache")
    with pytest.warns(UserWarning, match="cache"):
        hone.InferenceSession(model, options)

    choices = hone.SessionOptions()
    choices.add_session_config_entry("hone.kernel_choices", str(tmp_path / "missing"))
    with pytest.warns(UserWarning, match="missing"):
        hone.InferenceSession(model, choices)


def test_products_of_bfloat16():
    """Within the rounding of both sides to 8 bits, or refused where the processor has no instructions for it."""
    weights = np.random.default_rng(0).standard_normal((64, 48), dtype=np.float32)
    x = np.random.default_rng(1).standard_normal((20, 64), dtype=np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [20, 64])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [20, 48])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    options = hone.SessionOptions()
    options.add_session_config_entry("hone.compute", "bfloat16")
    try:
        (y,) = hone.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    except Exception as error:
        assert "no instructions for bfloat16" in str(error)
        return
    assert np.all(np.abs(y - x @ weights) <= (np.abs(x) @ np.abs(weights)) * 2.0**-6.9)
    assert not np.array_equal(y, x @ weights)
    options.add_session_config_entry("hone.compute", "int3")
    with pytest.raises(Exception, match="float32, float16 or bfloat16"):
        hone.InferenceSession(model.SerializeToString(), options)


@pytest.mark.parametrize("weights, bits", [("float", 24), ("float16", 11), ("bfloat16", 8)])
def test_weights_in_halves(weights, bits):
    model = ROOT / "examples" / "digits" / "digits.onnx"
    feed = {"image": np.random.default_rng(3).random((4, 1, 8, 8), np.float32)}
    expected = hone.InferenceSession(model).run(None, feed)[0]
    options = hone.SessionOptions()
    options.add_session_config_entry("hone.weights", weights)
    got = hone.InferenceSession(model, options).run(None, feed)[0]
    assert np.abs(got - expected).max() <= np.abs(expected).max() * 2.0 ** (4 - bits)
    options.add_session_config_entry("hone.weights", "int3")
    with pytest.raises(hone.InvalidArgument, match="bfloat16"):
        hone.InferenceSession(model, options)


@pytest.mark.parametrize("how", ["terminate", "timeout"])
def test_runs_are_stopped(how):
    session = hone.InferenceSession(loop_without_end())
    options = hone.RunOptions()
    feed = {"n": np.array(10**15), "x": np.zeros(1, np.float32)}
    if how == "timeout":
        options.timeout = 0.05
        assert options.timeout == 0.05
    else:
        threading.Timer(0.05, setattr, (options, "terminate", True)).start()
    start = time.process_time()
    with pytest.raises(hone.capi.onnxruntime_pybind11_state.Fail) as caught:
        session.run(None, feed, options)
    assert isinstance(caught.value, hone.Cancelled) and time.process_time() - start < 5
    options.terminate, options.timeout = False, None
    feed["n"] = np.array(3)
    assert session.run(None, feed, options)[0] == 3


def test_a_dimension_that_is_not_there_is_said(adder, log):
    options = hone.SessionOptions()
    options.add_free_dimension_override_by_name("nowhere", 3)
    hone.InferenceSession(adder, options)
    assert "nowhere" in log()[0]
    options.add_free_dimension_override_by_name("N", -3)
    with pytest.raises(hone.InvalidArgument, match="-3"):
        hone.InferenceSession(adder, options)


def test_asynchronous_runs_tell_errors(adder):
    told, done = [], threading.Event()

    def finished(results, user_data, error):
        told.extend((results, user_data, error))
        done.set()

    hone.InferenceSession(adder).run_async(None, {}, finished, 7)
    assert done.wait(10) and told[:2] == [[], 7] and "missing" in told[2]


@pytest.mark.parametrize(("value", "is_known"), [("avx3", False), ("scalar", True), ("", True)])
def test_an_unknown_instruction_set_is_said_once(value, is_known):
    program = "import hone, sys; hone.load(sys.argv[1])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program, ROOT / "examples/digits/digits.onnx"],
                          env={**os.environ, "HONE_CPU": value}, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert lines == [] if is_known else len(lines) == 1 and lines[0].startswith("HONE_CPU=avx3: there is no")
