# Several threads on one session.
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = ort.InferenceSession(MODEL, options)
inputs = [np.random.default_rng(i).standard_normal((1 + i % 3, 3, 32, 32)).astype(np.float32) for i in range(24)]
with ThreadPoolExecutor(4) as pool:
    results = list(pool.map(lambda x: session.run(["output"], {"input": x})[0], inputs))
RESULT = {str(i): result for i, result in enumerate(results)}
