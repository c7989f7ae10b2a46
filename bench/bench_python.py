"""What a call from Python costs for a model with next to nothing to compute, beside onnxruntime.

usage: python bench/bench_python.py [--runs N] [--json FILE]

The engines take turns; the best of several rounds counts. `in C` is the same model and inputs in the
command, whose loop calls hone_session_run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_common

ROUNDS = 7


def write_model(path):
    """z = x + y over a few numbers."""
    from onnx import TensorProto, helper, save

    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2])

    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["z"])], "adder", [value("x"), value("y")], [value("z")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def microseconds(run, n_runs):
    start = time.perf_counter()
    for _ in range(n_runs):
        run()
    return 1e6 * (time.perf_counter() - start) / n_runs


def calls_of(engine, path, inputs):
    """The ways to run a session, by name."""
    import importlib

    module = importlib.import_module(engine)
    options = module.SessionOptions()
    options.intra_op_num_threads = 1
    session = module.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("z")
    values = {name: module.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
    return {
        "run": lambda: session.run(None, inputs),
        "run_with_ort_values": lambda: session.run_with_ort_values(["z"], values),
        "run_with_iobinding": lambda: session.run_with_iobinding(binding),
    }


def in_c(path, n_runs):
    command = [sys.executable, "-m", "hone", "run", path, "--random", "1", "--dim", "N=4", "--threads", "1",
               "--repeat", str(n_runs), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return 1e6 * json.loads(done.stdout)["seconds"]["median"]


def main():
    import numpy

    parser = argparse.ArgumentParser(description="Measures what a call from Python costs.")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    inputs = {name: numpy.ones((4, 2), numpy.float32) for name in ("x", "y")}
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adder.onnx"
        write_model(path)
        calls = {engine: calls_of(engine, path, inputs) for engine in ("hone", "onnxruntime")}
        for _ in range(ROUNDS):
            for engine, ways in calls.items():
                for way, call in ways.items():
                    cost = microseconds(call, options.runs)
                    best[way, engine] = min(cost, best.get((way, engine), cost))
        c_call = in_c(path, 4 * options.runs)
    print("| call | hone, µs | onnxruntime, µs |")
    print("|---|---:|---:|")
    for way in calls["hone"]:
        print(f"| {way} | {best[way, 'hone']:.2f} | {best[way, 'onnxruntime']:.2f} |")
    print(f"| in C | {c_call:.2f} | |")
    if options.json:
        rows = [{"call": way, "engine": engine, "microseconds": cost} for (way, engine), cost in best.items()]
        rows.append({"call": "in C", "engine": "hone", "microseconds": c_call})
        options.json.write_text(json.dumps({"machine": bench_common.machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
