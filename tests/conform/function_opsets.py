#!/usr/bin/env python3
"""Functions written for another version of ai.onnx than their model's keep their meaning.

    function_opsets.py

onnxruntime gives the nodes of such a function the meaning of the model's version, or refuses them. So it
is asked in two steps: the body as a model of the function's version, then the rest as one of the model's.

The command is found in HONE_BIN. Exits with 77 when onnxruntime is missing.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper

try:
    import onnxruntime
except ImportError:
    print("skipped: the onnxruntime package is not installed")
    sys.exit(77)

HONE = os.environ.get("HONE_BIN", "hone")

# Version of the function, its nodes from a to b, version of the model, its nodes from s to y.
CASES = {
    "softmax": (12, [("Softmax", ["a"], ["b"], {})], 17, [("Softmax", ["s"], ["y"], {})]),
    "softmax_newer": (17, [("Softmax", ["a"], ["b"], {})], 12, [("Softmax", ["s"], ["y"], {})]),
    "log_softmax_axis": (11, [("LogSoftmax", ["a"], ["b"], {"axis": 2})], 21, [("Hardmax", ["s"], ["y"], {})]),
    "axes_attribute": (11, [("ReduceSum", ["a"], ["t"], {"axes": [1]}), ("Squeeze", ["t"], ["b"], {"axes": [1]})],
                       17, [("Neg", ["s"], ["y"], {})]),
    "clip_attributes": (10, [("Clip", ["a"], ["b"], {"min": -0.5, "max": 0.25})], 20, [("Gelu", ["s"], ["y"], {})]),
    "dropout": (7, [("Dropout", ["a"], ["b"], {"ratio": 0.5})], 13, [("Relu", ["s"], ["y"], {})]),
    "op_of_later_versions": (20, [("Gelu", ["a"], ["b"], {"approximate": "tanh"})], 12, [("Softmax", ["s"], ["y"], {})]),
    "upsample": (9, [("Upsample", ["a", "scales"], ["b"], {"mode": "nearest"})], 13, [("Abs", ["s"], ["y"], {})]),
}
SCALES = helper.make_node("Constant", [], ["scales"], value=helper.make_tensor("", TensorProto.FLOAT, [3], [1, 2, 2]))


def nodes_of(rows):
    made = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in rows]
    return [SCALES] + made if any("scales" in row[1] for row in rows) else made


def model_of(nodes, names, shape, version, functions=()):
    ends = [helper.make_tensor_value_info(names[0], TensorProto.FLOAT, shape),
            helper.make_tensor_value_info(names[1], TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "case", ends[:1], ends[1:])
    imports = [helper.make_opsetid("", version)] + ([helper.make_opsetid("my", 1)] if functions else [])
    return helper.make_model(graph, functions=list(functions), opset_imports=imports, ir_version=8)


def ask_oracle(model, value):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: value})[0]


def ask_hone(model, value, folder):
    onnx.save(model, folder / "model.onnx")
    numpy.save(folder / "x.npy", value)
    done = subprocess.run([HONE, "run", "model.onnx", "-i", "x.npy", "-o", "y=y.npy"], cwd=folder,
                          capture_output=True, text=True, check=False)
    return numpy.load(folder / "y.npy") if done.returncode == 0 else done.stderr.strip()


def run_case(case, folder):
    """What is wrong, or None."""
    function_version, body, version, rest = case
    x = numpy.random.default_rng(1).standard_normal((2, 3, 4)).astype(numpy.float32)
    inner = ask_oracle(model_of(nodes_of(body), ["a", "b"], x.shape, function_version), x)
    theirs = ask_oracle(model_of(nodes_of(rest), ["s", "y"], inner.shape, version), inner)
    function = helper.make_function("my", "F", ["a"], ["b"], nodes_of(body), [helper.make_opsetid("", function_version)])
    call = helper.make_node("F", ["x"], ["s"], domain="my")
    ours = ask_hone(model_of([call] + nodes_of(rest), ["x", "y"], x.shape, version, [function]), x, folder)
    if isinstance(ours, str):
        return ours
    if ours.shape != theirs.shape:
        return f"shape {ours.shape} instead of {theirs.shape}"
    difference = float(abs(ours - theirs).max())
    return None if difference < 1e-5 else f"differs by {difference:g}"


def main():
    failures = 0
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            problem = run_case(case, Path(folder))
        failures += problem is not None
        print(f"{name}: {problem or 'ok'}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
