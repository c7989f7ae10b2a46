#!/usr/bin/env python3
"""hone bench --against onnxruntime: the installed library is found and run on the same inputs.

Times are not compared, which depend on the machine: versions, outputs, accuracy and the places where the
library is looked for are.

usage: bench_runtimes.py     HONE_BIN names the command under test
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
HONE = os.environ.get("HONE_BIN", str(ROOT / "build/dev/hone"))
PACKAGE = Path(onnxruntime.__file__).parent
DIGITS = ROOT / "examples/digits"


def bench(*arguments, **environment):
    done = subprocess.run([HONE, "bench", *map(str, arguments), "--against", "onnxruntime", "--json"],
                          capture_output=True, text=True, check=False, env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(f"hone bench {' '.join(map(str, arguments))}: {done.stderr}")
    return json.loads(done.stdout)["results"]


def expect_both(results, runs):
    names = [r["runtime"] for r in results]
    assert names == ["hone", "onnxruntime"], names
    assert results[1]["version"] == onnxruntime.__version__, results[1]["version"]
    for r in results:
        assert r["latency"]["runs"] == runs, r
        assert r["latency"]["min"] <= r["latency"]["p50"] <= r["latency"]["max"], r
        assert r["creation"]["total"] > 0 and r["memory"]["peak_bytes"] > 0, r
        assert r["difference"]["max_rel"] < 1e-3 and r["difference"]["sqnr_db"] != 0, r


def finds_the_library():
    libraries = sorted((PACKAGE / "capi").glob("libonnxruntime.so*"))
    if not libraries:
        sys.exit(77)  # a wheel without the C library
    digits = DIGITS / "digits.onnx"
    no_python = {"PATH": "/dev/null", "VIRTUAL_ENV": "", "HOME": "/dev/null", "PYTHONPATH": ""}
    for path in (libraries[-1], PACKAGE / "capi", PACKAGE):
        expect_both(bench(digits, "-r", 5, "--library", path), 5)
    expect_both(bench(digits, "-r", 5, **no_python, HONE_ONNXRUNTIME=str(PACKAGE)), 5)
    expect_both(bench(digits, "-r", 5, **{**no_python, "PYTHONPATH": str(PACKAGE.parent)}), 5)
    if sys.prefix != sys.base_prefix:
        expect_both(bench(digits, "-r", 5, **{**no_python, "VIRTUAL_ENV": sys.prefix}), 5)
        expect_both(bench(digits, "-r", 5, **{**no_python, "PATH": f"{sys.prefix}/bin"}), 5)


def counts_the_same_answers():
    results = bench(DIGITS / "digits.onnx", "-r", 5, "--data", DIGITS / "images.npy", "--targets",
                    DIGITS / "labels.npy", "--batch", 7, "--library", PACKAGE)
    expect_both(results, 5)
    assert [r["accuracy"]["samples"] for r in results] == [360, 360], results
    assert results[0]["accuracy"] == results[1]["accuracy"], results


def runs_other_types_and_sizes(folder):
    """Several inputs and outputs, integers, float16, dimensions fixed by name, shapes in turn."""
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["rows"]), helper.make_node("Cast", ["half"], ["wide"], to=1),
         helper.make_node("Add", ["rows", "wide"], ["sum"]), helper.make_node("Shape", ["ids"], ["size"])],
        "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"]),
              helper.make_tensor_value_info("half", TensorProto.FLOAT16, ["n", 4])],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["n", 4]),
         helper.make_tensor_value_info("size", TensorProto.INT64, [1])],
        [onnx.numpy_helper.from_array(numpy.arange(8, dtype=numpy.float32).reshape(2, 4), "table")])
    path = Path(folder) / "types.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    expect_both(bench(path, "-r", 5, "--library", PACKAGE), 5)
    expect_both(bench(path, "-r", 5, "--library", PACKAGE, "--dim", "n=3", "-x", 1), 5)
    expect_both(bench(path, "-r", 6, "--library", PACKAGE, "--data-shape", "n=3", "--data-shape", "n=5", "-c", 2), 6)
    text = Path(folder) / "types.onnxtxt"
    subprocess.run([HONE, "save", path, "-o", text], check=True)
    expect_both(bench(text, "-r", 5, "--library", PACKAGE), 5)


def names_what_onnxruntime_refuses(folder):
    path = Path(folder) / "unknown.onnxtxt"
    path.write_text('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }')
    binary = Path(folder) / "unknown.onnx"
    subprocess.run([HONE, "save", path, "-o", binary], check=True)
    model = onnx.load(binary)
    model.opset_import[0].version = 10000
    onnx.save(model, binary)
    done = subprocess.run([HONE, "bench", binary, "-r", "1", "--against", "onnxruntime", "--library", PACKAGE],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) >= 1, done


def main():
    finds_the_library()
    counts_the_same_answers()
    with tempfile.TemporaryDirectory() as folder:
        runs_other_types_and_sizes(folder)
        names_what_onnxruntime_refuses(folder)
    print("hone bench runs onnxruntime", onnxruntime.__version__)


if __name__ == "__main__":
    main()
