# A program that knows which exceptions to expect.
import os

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidProtobuf, NoSuchFile

session = ort.InferenceSession(MODEL)
x = np.ones((1, 3, 32, 32), np.float32)
caught = []
for kind, call in [
    (InvalidArgument, lambda: session.run(None, {"input": x, "other": x})),
    (InvalidArgument, lambda: session.run(["nothing"], {"input": x})),
    (InvalidArgument, lambda: session.run(None, {"input": x.astype(np.float64)})),
    (InvalidArgument, lambda: session.run(None, {"input": x[0]})),
    (InvalidArgument, lambda: session.run(None, {"input": x[:, :1]})),
    (InvalidArgument, lambda: session.run(None, {"input": x.astype(object).astype(str)})),
    (ValueError, lambda: session.run(None, {})),
    (NoSuchFile, lambda: ort.InferenceSession(os.path.join(FOLDER, "nowhere.onnx"))),
    (InvalidProtobuf, lambda: ort.InferenceSession(b"this is not a model")),
    (TypeError, lambda: ort.InferenceSession(3)),
]:
    try:
        call()
    except kind as problem:
        caught.append(kind.__name__)
        assert len(str(problem)) > 10
options = ort.RunOptions()
options.terminate = True
try:
    session.run(None, {"input": x}, options)
except Fail:
    caught.append("Fail")
assert len(caught) == 11, caught
options.terminate = False
RESULT = {"output": session.run(["output"], {"input": x}, options)[0]}
