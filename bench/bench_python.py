"""What a call from Python costs for a model with next to nothing to compute, beside onnxruntime.

usage: bench/run python, or python bench/bench_python.py [--runs N] [--rounds N] [--json FILE]

The engines take turns; medians over the rounds. `in C` is the same model and inputs in the command, whose loop
calls hone_session_run. Results of all calls are compared.
"""

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import engines
import meta
import results

ENGINES = (engines.HONE, engines.ONNXRUNTIME)


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
    """The ways to run a session, by name: the call, and what gets its result as an array."""
    module = importlib.import_module(engine)
    session = engines.Ort(engine, path, 1).session
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("z")
    values = {name: module.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
    return {
        "run": (lambda: session.run(None, inputs), lambda found: found[0]),
        "run_with_ort_values": (lambda: session.run_with_ort_values(["z"], values), lambda found: found[0].numpy()),
        "run_with_iobinding": (lambda: session.run_with_iobinding(binding), lambda _: binding.copy_outputs_to_cpu()[0]),
    }


def in_c(path, n_runs):
    command = [meta.BUILD / "hone", "run", path, "--random", "1", "--dim", "N=4", "--threads", "1",
               "--repeat", str(n_runs), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return 1e6 * json.loads(done.stdout)["seconds"]["median"]


def measure(way, calls, expected, options):
    for engine in ENGINES:
        call, array_of = calls[engine][way]
        if not (array_of(call()) == expected).all():
            raise ValueError(f"{engine} gives another result")
    found = {engine: [] for engine in ENGINES}
    for _ in range(options.rounds):
        for engine in ENGINES:
            found[engine].append(microseconds(calls[engine][way][0], options.runs))
    return {"microseconds": {engine: statistics.median(costs) for engine, costs in found.items()}}


def table(result):
    lines = ["| call | hone, µs | onnxruntime, µs |", "|---|---:|---:|"]
    for row in result["rows"]:
        costs = row.get("microseconds", {})
        cells = [f"{costs[engine]:.2f}" if engine in costs else "" for engine in ENGINES]
        lines.append(f"| {row['call']} | " + (f"FAILED: {row['failure']} |" if "failure" in row else " | ".join(cells)) + " |")
    return "\n".join(lines)


def main():
    import numpy

    parser = argparse.ArgumentParser(description="Measures what a call from Python costs.")
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=9)
    results.add_options(parser)
    options = parser.parse_args()
    engines.installed(ENGINES)
    recorder = results.Recorder("python", options)
    inputs = {name: numpy.arange(8, dtype="f4").reshape(4, 2) + number for number, name in enumerate("xy")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adder.onnx"
        write_model(path)
        calls = {engine: calls_of(engine, path, inputs) for engine in ENGINES}
        for way in calls[engines.HONE]:
            recorder.measure({"call": way}, measure, way, calls, inputs["x"] + inputs["y"], options)
        recorder.measure({"call": "in C"}, lambda: {"microseconds": {engines.HONE: in_c(path, 4 * options.runs)}})
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())
