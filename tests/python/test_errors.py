"""Bad calls raise what users of onnxruntime catch, with a message that says what to do."""

import hone
import numpy as np
import pytest
from conftest import make_model
from hone.capi import onnxruntime_pybind11_state as state
from onnx import TensorProto, helper

X = np.ones((3, 2), np.float32)


@pytest.fixture
def session(adder):
    return hone.InferenceSession(adder)


@pytest.mark.parametrize(
    ("feed", "message"),
    [
        ({"x": X}, "'y' is missing"),
        ({"x": X, "y": X, "q": X}, "no input 'q'; it has 'x', 'y'"),
        ({"x": X, "y": X, 3: X}, "no input 3"),
        ({"x": X.astype(np.float64), "y": X}, r"double\[3,2\], but the model takes float\[N,2\]"),
        ({"x": X[0], "y": X}, r"float\[2\], but the model takes"),
        ({"x": X[:, :1].copy(), "y": X}, r"float\[3,1\], but the model takes"),
        ({"x": X, "y": np.ones((2, 2), np.float32)}, "Add"),
        ({"x": X.astype(object), "y": X}, "must hold strings.*astype"),
        ({"x": None, "y": X}, "None is no tensor"),
        ({"x": "text", "y": X}, "'x'"),
        ({"x": [[1, 2], [3]], "y": X}, "'x'"),
        ({"x": {}, "y": X}, "dict"),
        ({"x": np.zeros((3, 2), "M8[s]"), "y": X}, "no type for NumPy's datetime64"),
    ],
)
def test_bad_inputs(session, feed, message):
    with pytest.raises(state.InvalidArgument, match=message) as caught:
        session.run(None, feed)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, RuntimeError)


def test_bad_outputs(session):
    with pytest.raises(state.InvalidArgument, match="no output 'nothing'; it has 'z'"):
        session.run(["nothing"], {"x": X, "y": X})
    with pytest.raises(state.InvalidArgument, match="twice"):
        session.run(["z", "z"], {"x": X, "y": X})


def test_a_feed_is_a_mapping(session):
    with pytest.raises((TypeError, ValueError)):
        session.run(None, [X, X])


def test_the_error_tells_its_code(session):
    with pytest.raises(hone.InvalidArgument) as caught:
        session.run(None, {"x": X, "y": np.ones((2, 2), np.float32)})
    assert caught.value.code == "HONE_E_SHAPE" and caught.value.offset is None


def test_a_session_survives_errors(session):
    for _ in range(3):
        with pytest.raises(hone.InvalidArgument):
            session.run(None, {"x": X})
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)


def test_files_that_are_no_models(tmp_path):
    text = tmp_path / "text.onnx"
    text.write_bytes(b"this is not a model" * 20)
    for kind, source in [
        (state.NoSuchFile, tmp_path / "nowhere.onnx"),
        (FileNotFoundError, str(tmp_path / "nowhere.onnx")),
        (state.InvalidProtobuf, text),
        (state.InvalidProtobuf, b"this is not a model"),
        (state.InvalidProtobuf, b""),
        (state.Fail, tmp_path),
        (TypeError, 12),
        (TypeError, None),
    ]:
        with pytest.raises(kind):
            hone.InferenceSession(source)


def test_models_that_break_rules():
    good = make_model(
        [helper.make_node("Add", ["x", "x"], ["y"])], [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, [2])]
    )
    unknown, undefined, mixed = (type(good)() for _ in range(3))
    for model in (unknown, undefined, mixed):
        model.CopyFrom(good)
    unknown.graph.node[0].op_type = "Nonsense"
    undefined.graph.node[0].input[0] = "nowhere"
    mixed.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    for model, message in ((unknown, "Nonsense"), (undefined, "nowhere"), (mixed, "int64")):
        with pytest.raises(hone.Error, match=message) as caught:
            hone.InferenceSession(model)
        assert isinstance(caught.value, (state.InvalidGraph, state.Fail, state.InvalidArgument, state.Unsupported))


def test_providers(adder):
    with pytest.raises(state.InvalidArgument, match="no provider 'FooExecutionProvider'; available: CPU"):
        hone.InferenceSession(adder, providers=["FooExecutionProvider", "CPUExecutionProvider"])
    strict = hone.SessionOptions()
    strict.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    for wanted in (["CUDAExecutionProvider"], [("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"]):
        with pytest.warns(UserWarning, match="CUDAExecutionProvider is not in this build"):
            session = hone.InferenceSession(adder, providers=wanted)
        assert session.get_providers() == ["CPUExecutionProvider"]
        with pytest.raises(state.InvalidArgument, match="disable_cpu_ep_fallback is set; available: CPU"):
            hone.InferenceSession(adder, strict, providers=wanted)
    with pytest.raises(ValueError, match="a provider is a name"):
        hone.InferenceSession(adder, providers=[1])
    assert hone.get_available_providers() == ["CPUExecutionProvider"] and hone.get_device() == "CPU"


def test_bindings(session, adder):
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="no input 'q'"):
        binding.bind_cpu_input("q", X)
    with pytest.raises(RuntimeError, match="no output 'q'"):
        binding.bind_output("q")
    with pytest.raises(ValueError, match="missing"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", X)
    binding.bind_ortvalue_output("z", hone.OrtValue.ortvalue_from_shape_and_type([3, 3], np.float32))
    with pytest.raises(hone.InvalidArgument, match="z"):
        session.run_with_iobinding(binding)
    with pytest.raises(ValueError, match="another session"):
        hone.InferenceSession(adder).run_with_iobinding(binding)
    with pytest.raises(hone.Unsupported, match="cuda"):
        binding.bind_output("z", "cuda")


def test_invalid_models_of_a_clear_meaning_run(tmp_path, caplog):
    path = tmp_path / "unsorted.onnxtxt"
    head = '<ir_version: 10, opset_import: ["" : 17]>\ng (float[2] x) => '
    path.write_text(head + "(y) { y = Neg (x) }")
    assert hone.InferenceSession(path).get_outputs()[0].type == "tensor(float)"
    assert not caplog.text
    path.write_text(head + "(float[2] y) { y = Neg (a) a = Abs (x) }")
    session = hone.InferenceSession(path)
    assert "not in topological order" in caplog.text
    (y,) = session.run(None, {"x": np.array([1, -2], np.float32)})
    assert y.tolist() == [-1, -2]
    assert not hone.check(hone.load(path))
