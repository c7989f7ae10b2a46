# A session from the bytes of a file; metadata; asynchronous runs.
import threading

import numpy as np
import onnxruntime as ort

with open(MODEL, "rb") as file:
    session = ort.InferenceSession(file.read(), providers=["CPUExecutionProvider"])
meta = session.get_modelmeta()
assert meta.producer_name == "tests" and meta.graph_name == "test"
assert meta.custom_metadata_map == {"classes": "ten"}
assert ort.get_device() in ("CPU", "CPU-AZURE") and isinstance(ort.__version__, str)
x = np.random.default_rng(9).standard_normal((1, 3, 32, 32)).astype(np.float32)
RESULT = {}
done = threading.Event()


def finished(results, user_data, error):
    assert error == "" and user_data == "mine", error
    RESULT["asynchronous"] = results[0]
    done.set()


session.run_async(["output"], {"input": x}, finished, "mine")
assert done.wait(10)
RESULT["direct"] = session.run(["output"], {"input": x})[0]
RESULT["not contiguous"] = session.run(["output"], {"input": x.transpose(0, 1, 3, 2)})[0]
RESULT["list"] = session.run(["output"], {"input": x.tolist()})[0]
