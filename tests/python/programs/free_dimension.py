# A size for a free dimension.
import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.add_free_dimension_override_by_name("batch", 2)
session = ort.InferenceSession(MODEL, options)
assert session.get_inputs()[0].shape == [2, 3, 32, 32], session.get_inputs()[0].shape
assert session.get_outputs()[0].shape == [2, 10], session.get_outputs()[0].shape
x = np.random.default_rng(5).standard_normal((2, 3, 32, 32)).astype(np.float32)
RESULT = {"output": session.run(None, {"input": x})[0]}
try:
    session.run(None, {"input": x[:1]})
except Exception as problem:
    assert type(problem).__name__ == "InvalidArgument", problem
else:
    raise AssertionError("another size was taken")
