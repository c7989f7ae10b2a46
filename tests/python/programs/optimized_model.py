# The optimized model goes to a file, and is used in place of the original.
import os

import numpy as np
import onnxruntime as ort

x = np.random.default_rng(11).standard_normal((1, 3, 32, 32)).astype(np.float32)
RESULT = {}
for level in (ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED):
    path = os.path.join(FOLDER, f"optimized-{level.name}.onnx")
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = path
    ort.InferenceSession(MODEL, options)
    assert 0 < os.path.getsize(path)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    RESULT[level.name] = ort.InferenceSession(path, options).run(["output"], {"input": x})[0]
