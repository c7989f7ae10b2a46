#!/usr/bin/env python3
"""Operators of com.microsoft give the numbers that onnxruntime gives.

    run_contrib.py [NAME...]     parts of the names of cases; all when none is given

Every case is a model of one node with random inputs, made by the functions in contrib_*.py; where the
oracle has no kernel, numpy stands in. Floats agree within a tolerance relative to the largest number of the output;
quantized results may differ by one step, where a sum was nearly a tie.

The command is found in HONE_BIN. Exits with 77 when onnxruntime is missing.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import helper

import contrib_attention
import contrib_cases
import contrib_numpy

try:
    import onnxruntime
except ImportError:
    print("skipped: the onnxruntime package is not installed")
    sys.exit(77)

HONE = os.environ.get("HONE_BIN", "hone")


def model_of(case, theirs=None):
    """With the results of the oracle their ranks are declared, which hone wants of a model."""
    names = [f"in{i}" if value is not None else "" for i, value in enumerate(case.inputs)]
    outputs = [f"out{i}" if wanted else "" for i, wanted in enumerate(case.outputs)]
    node = helper.make_node(case.op, names, outputs, name="node", domain=case.domain, **case.attributes)
    declared = [helper.make_tensor_value_info(name, case.elem_of(i), value.shape)
                for i, (name, value) in enumerate(zip(names, case.inputs)) if name and i not in case.constants]
    constants = [helper.make_tensor(names[i], case.elem_of(i), case.dims_of(i), case.inputs[i].tobytes(), raw=True)
                 for i in case.constants]
    wanted = [(i, name) for i, name in enumerate(outputs) if name]
    shapes = [None] * len(wanted) if theirs is None else [[None] * array.ndim for array in theirs]
    results = [helper.make_tensor_value_info(name, case.elem_of_output(i), shape)
               for (i, name), shape in zip(wanted, shapes)]
    graph = helper.make_graph([node], "case", declared, results, constants)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    if case.domain not in ("", "com.microsoft"):
        imports.append(helper.make_opsetid(case.domain, 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def feed_of(case):
    return {f"in{i}": value for i, value in enumerate(case.inputs) if value is not None and i not in case.constants}


def oracle_outputs(case, path):
    if case.expected is not None:
        return case.expected
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # the ranges of dynamically quantized states are those of a thread's rows
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return run_shared(session, case) if case.shared else session.run(None, feed_of(case))


def run_shared(session, case):
    """Caches that the oracle wants to write in place."""
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value.copy()) for name, value in feed_of(case).items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for i, wanted in enumerate(case.outputs):
        if i in case.shared:
            binding.bind_ortvalue_output(f"out{i}", values[f"in{case.shared[i]}"])
        elif wanted:
            binding.bind_output(f"out{i}")
    session.run_with_iobinding(binding)
    return [value.numpy().copy() for value in binding.get_outputs()]


def hone_outputs(path, feed, folder):
    """Name to array."""
    command = [HONE, "run", str(path), "--output", str(folder / "out.npz")]
    for i, (name, value) in enumerate(feed.items()):
        numpy.save(folder / f"{i}.npy", value)
        command += ["--input", f"{name}={folder / str(i)}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"hone ended with status {done.returncode}")
    with numpy.load(folder / "out.npz") as archive:
        return dict(archive)


def difference(case, ours, theirs):
    """None, or a sentence."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    if theirs.dtype.kind != "f":
        gap = numpy.abs(ours.astype("i8") - theirs.astype("i8")).max(initial=0)
        return f"integers differ by {gap}" if gap > case.steps else None
    is_finite = numpy.isfinite(theirs)
    if not numpy.array_equal(ours[~is_finite], theirs[~is_finite], equal_nan=True):
        return "infinities and NaN stand elsewhere"
    ours, theirs = ours[is_finite], theirs[is_finite]
    largest = max(float(numpy.abs(theirs.astype("f8")).max(initial=0)), 1e-30)
    gap = float(numpy.abs(ours.astype("f8") - theirs.astype("f8")).max(initial=0)) / largest
    limit = case.tolerance if theirs.dtype != numpy.float16 else max(case.tolerance, 4e-3)
    return None if gap <= limit else f"differs by {gap:.1e} of the largest number"


def complaint(case):
    """None, or what is wrong with one case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "model.onnx"
        onnx.save(model_of(case), path)
        theirs = oracle_outputs(case, path)
        onnx.save(model_of(case, theirs), path)
        try:
            ours = list(hone_outputs(path, feed_of(case), folder).values())
        except RuntimeError as error:
            return str(error)
    for i, (a, b) in enumerate(zip(ours[:case.n_compared], theirs)):
        sentence = difference(case, a, b)
        if sentence:
            return f"output {i}: {sentence}"
    return None


def main():
    cases = [c for makers in (contrib_cases, contrib_attention, contrib_numpy) for c in makers.all_cases()
             if not sys.argv[1:] or any(a in c.name for a in sys.argv[1:])]
    n_wrong = 0
    for case in cases:
        try:
            sentence = complaint(case)
        except Exception as error:  # the oracle refuses what it does not know: a fault of the case
            sentence = f"onnxruntime: {str(error).splitlines()[0][:300]}"
        if sentence:
            n_wrong += 1
            print(f"{case.name}: {sentence}", flush=True)
    print(f"{len(cases)} cases, {n_wrong} wrong")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
