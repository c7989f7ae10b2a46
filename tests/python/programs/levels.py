# Time of creation and of inference at each level, with warm-up and percentiles.
import time

import numpy as np
import onnxruntime as ort

x = np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32)
levels = {
    "none": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
RESULT = {}
for name, level in levels.items():
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    start = time.perf_counter()
    session = ort.InferenceSession(MODEL, sess_options=options, providers=["CPUExecutionProvider"])
    creation_ms = 1e3 * (time.perf_counter() - start)
    input_name = session.get_inputs()[0].name
    for _ in range(5):
        session.run(None, {input_name: x})
    times = []
    for _ in range(20):
        start = time.perf_counter()
        outputs = session.run(None, {input_name: x})
        times.append(1e3 * (time.perf_counter() - start))
    p50, p95, p99 = np.percentile(times, [50, 95, 99])
    assert creation_ms > 0 and 0 < p50 <= p95 <= p99
    assert session.get_session_options().graph_optimization_level == level
    RESULT[name] = outputs[0]
