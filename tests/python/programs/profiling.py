# A profile, parsed as JSON and summed by operator.
import collections
import json
import os

import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = os.path.join(FOLDER, "profile")
session = ort.InferenceSession(MODEL, options)
x = np.ones((1, 3, 32, 32), np.float32)
for _ in range(3):
    outputs = session.run(None, {"input": x})
path = session.end_profiling()
assert os.path.basename(path).startswith("profile") and path.endswith(".json")
with open(path, encoding="utf-8") as file:
    events = json.load(file)
by_op = collections.Counter()
for event in events:
    assert {"cat", "pid", "tid", "dur", "ts", "ph", "name", "args"} <= set(event)
    if event["cat"] == "Node" and event["name"].endswith("_kernel_time"):
        args = event["args"]
        assert args["provider"] == "CPUExecutionProvider" and int(args["node_index"]) >= 0
        assert int(args["output_size"]) > 0 and args["input_type_shape"] and args["output_type_shape"]
        by_op[args["op_name"]] += event["dur"]
assert "Softmax" in by_op, by_op
names = collections.Counter(event["name"] for event in events if event["cat"] == "Session")
assert names["model_run"] == 3 and names["session_initialization"] == 1, names
assert names["model_loading_uri"] == 1 and names["SequentialExecutor::Execute"] == 3, names
RESULT = {"output": outputs[0]}
