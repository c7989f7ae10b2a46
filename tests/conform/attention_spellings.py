#!/usr/bin/env python3
"""Attention is recognized however it is spelled, and still computes the same.

    attention_spellings.py [NAME...]     parts of the names of cases; all when none is given

Every case of attention_cases.py is optimized with the operators of onnxruntime, with those of opset 23 alone, and with
those of onnxruntime while the opset stays as it is. The result must hold the expected numbers of attentions and rotary embeddings and pass the checker; onnxruntime and hone must give what
onnxruntime gives for the original, NaNs included.

The command is found in HONE_BIN. Exits with 77 when onnxruntime is missing.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx

from attention_builder import Graph
from attention_cases import CASES

try:
    import onnxruntime
except ImportError:
    print("skipped: the onnxruntime package is not installed")
    sys.exit(77)

HONE = os.environ.get("HONE_BIN", "hone")
OPERATORS = {"Attention", "MultiHeadAttention", "GroupQueryAttention"}
BOUND = 2e-6  # relative to the largest number of an output


def run_onnxruntime(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feed)


def run_hone(path, feed, folder):
    arguments = []
    for name, array in feed.items():
        numpy.save(folder / f"{name}.npy", array)
        arguments += ["-i", f"{name}={folder / name}.npy"]
    done = subprocess.run([HONE, "run", path, *arguments, "-o", folder / "out.npz"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise RuntimeError("hone run: " + done.stderr.strip()[-300:])
    with numpy.load(folder / "out.npz") as found:
        return [found[output.name] for output in onnx.load(path).graph.output]


def difference(theirs, ours):
    worst = 0.0
    for a, b in zip(theirs, ours):
        if a.shape != b.shape:
            return f"shape {b.shape} instead of {a.shape}"
        if not numpy.array_equal(numpy.isnan(a), numpy.isnan(b)):
            return "NaNs elsewhere"
        gap = numpy.abs(numpy.nan_to_num(a) - numpy.nan_to_num(b)).max()
        worst = max(worst, gap / max(numpy.abs(numpy.nan_to_num(a)).max(), 1e-9))
    return "" if worst <= BOUND else f"difference {worst:.1e}"


def near_misses(report):
    lines = report.split("Near misses")[-1].splitlines()
    return " | ".join(line.strip() for line in lines if line.strip().startswith(("attention.", "rotary.")))


def problem_of(path, out, arguments, case, feed, theirs, folder):
    """What is wrong with one way of optimizing; nothing: ""."""
    done = subprocess.run([HONE, "optimize", path, "-o", out, "--explain", "--trust-names", *arguments], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        return "hone optimize: " + done.stderr.strip()[-300:]
    operators = [node.op_type for node in onnx.load(out).graph.node]
    n, n_rotary = sum(op in OPERATORS for op in operators), operators.count("RotaryEmbedding")
    may_lack = case.needs_23 and "--target" in arguments and "--opset" in arguments
    if (n, n_rotary) != (case.n, case.n_rotary) and not may_lack:
        return f"{n} attentions, {n_rotary} rotary embeddings; {near_misses(done.stdout)}"
    try:
        onnx.checker.check_model(str(out), full_check=True)
        return difference(theirs, run_onnxruntime(out, feed)) or difference(theirs, run_hone(out, feed, folder))
    except Exception as error:  # pylint: disable=broad-except; whatever a runtime throws is a finding
        return str(error)[-300:]


def check(case, folder):
    graph = Graph(case.opset)
    case.build(graph)
    path, out = folder / f"{case.name}.onnx", folder / f"{case.name}.out.onnx"
    onnx.save(graph.model(), path)
    theirs = run_onnxruntime(path, graph.feed)
    own = difference(theirs, run_hone(path, graph.feed, folder))
    ways = {"onnxruntime": ["--target", "onnxruntime"], "opset 23": ["--opset", "23"],
            "onnxruntime, old opset": ["--target", "onnxruntime", "--opset", str(case.opset)]}
    problems = [f"original: {own}"] if own else []
    for way, arguments in ways.items():
        problem = problem_of(path, out, arguments, case, graph.feed, theirs, folder)
        if problem:
            problems.append(f"{way}: {problem}")
    return problems


def main():
    wanted = sys.argv[1:]
    n_bad = n_done = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if wanted and not any(part in case.name for part in wanted):
                continue
            n_done += 1
            problems = check(case, Path(folder))
            n_bad += bool(problems)
            for problem in problems:
                print(f"{case.name}: {problem}")
    print(f"{n_done - n_bad} of {n_done} spellings")
    return 1 if n_bad or not n_done else 0


if __name__ == "__main__":
    sys.exit(main())
