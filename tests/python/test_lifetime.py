"""Sessions end where they are told to, and travel to other processes."""

import pickle
import subprocess
import sys

import hone
import numpy as np
import pytest

X = np.ones((3, 2), np.float32)


def test_a_session_ends_with_its_block(adder, tmp_path):
    options = hone.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    with hone.InferenceSession(adder, options) as session:
        binding = session.io_binding()
        assert repr(binding) == "IOBinding(inputs=[], outputs=[])"
        assert (session.run(None, {"x": X, "y": X})[0] == 2).all()
    assert len(list(tmp_path.iterdir())) == 1 and session.get_inputs()[0].name == "x"
    for use in (lambda: session.run(None, {"x": X, "y": X}), lambda: session.run_with_iobinding(binding)):
        with pytest.raises(hone.InvalidArgument, match="the session is closed"):
            use()
    session.close()  # may be called again


@pytest.mark.parametrize("source", ["path", "bytes", "model"])
def test_sessions_are_pickled_by_their_model(network, images, source, tmp_path):
    options = hone.SessionOptions()
    options.graph_optimization_level = "basic"
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.add_free_dimension_override_by_name("batch", 4)
    options.add_initializer("b2", hone.OrtValue.ortvalue_from_numpy(np.full(10, 3, np.float32)))
    model = {"path": network, "bytes": network.read_bytes(), "model": hone.load(network)}[source]
    session = hone.InferenceSession(model, options)
    (tmp_path / "optimized.onnx").unlink()
    data = pickle.dumps(session)
    assert (len(data) < 2000) == (source == "path")
    again = pickle.loads(data)
    assert again.get_inputs()[0].shape == [4, 3, 32, 32] and again.get_providers() == ["CPUExecutionProvider"]
    assert again.get_session_options().graph_optimization_level == 1 and not list(tmp_path.iterdir())
    for got, wanted in zip(again.run(None, {"input": images}), session.run(None, {"input": images})):
        np.testing.assert_array_equal(got, wanted)


def test_sessions_go_to_other_processes(adder):
    program = (
        "import pickle, sys, numpy\n"
        "session = pickle.load(sys.stdin.buffer)\n"
        "x = numpy.ones((3, 2), numpy.float32)\n"
        "print(session.run(None, {'x': x, 'y': x})[0].sum())\n"
    )
    data = pickle.dumps(hone.InferenceSession(adder))
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
    assert done.stdout == b"12.0\n"


def test_values_are_pickled():
    for array in (X, np.array(["a", "bc"], object), np.array([], np.int64)):
        again = pickle.loads(pickle.dumps(hone.OrtValue.ortvalue_from_numpy(array)))
        np.testing.assert_array_equal(again.numpy(), array)
