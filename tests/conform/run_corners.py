#!/usr/bin/env python3
"""Results that hang on a detail, and those of models that are not quite valid, are those of onnxruntime, with and
without optimization. The checker refuses the latter.

    run_corners.py [NAME...]     parts of the names of cases; all when none is given

The cases are in corner_cases.py, lenient_cases.py and generation_cases.py. The command is found in HONE_BIN. Exits with 77 when onnxruntime is missing.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

import corner_cases
import generation_cases
import lenient_cases

try:
    import onnxruntime
except ImportError:
    print("skipped: the onnxruntime package is not installed")
    sys.exit(77)

HONE = os.environ.get("HONE_BIN", "hone")


def oracle_outputs(model, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def hone_outputs(path, feed, level, folder):
    command = [HONE, "run", str(path), "--level", level, "--output", str(folder / "out.npz")]
    for i, (name, value) in enumerate(feed.items()):
        source = folder / f"{i}.{'json' if value.dtype == object else 'npy'}"
        if value.dtype == object:
            source.write_text(json.dumps(value.tolist()))
        else:
            numpy.save(source, value)
        command += ["--input", f"{name}={source}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"hone ended with status {done.returncode}")
    with numpy.load(folder / "out.npz") as archive:
        return list(archive.values())


def difference(ours, theirs):
    """None, or a sentence."""
    is_text = theirs.dtype.kind == "O"
    if (ours.dtype != theirs.dtype and not is_text) or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    if theirs.dtype.kind != "f":
        ours = ours.astype(theirs.dtype)  # texts
        return None if numpy.array_equal(ours, theirs) else f"{ours.tolist()} instead of {theirs.tolist()}"
    limit = 2e-3 if theirs.dtype == numpy.float16 else 2e-5
    is_near = numpy.allclose(ours.astype("f8"), theirs.astype("f8"), rtol=limit, atol=limit, equal_nan=True)
    return None if is_near else f"{ours.tolist()} instead of {theirs.tolist()}"


def complaint(name, model, feed):
    """None, or what is wrong with one case."""
    theirs = oracle_outputs(model, feed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        for level in ("none", "all"):
            try:
                ours = hone_outputs(path, feed, level, folder)
            except RuntimeError as error:
                return str(error)
            for i, (a, b) in enumerate(zip(ours, generation_cases.comparable(name, ours, theirs))):
                sentence = difference(a, b)
                if sentence:
                    return f"output {i} at level {level}: {sentence}"
    return None


def is_accepted(model):
    """By the checker."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return subprocess.run([HONE, "check", "--quiet", str(path)], capture_output=True, check=False).returncode == 0


def main():
    n_cases = n_wrong = 0
    cases = [(*case, maker is lenient_cases) for maker in (corner_cases, lenient_cases, generation_cases)
             for case in maker.all_cases()]
    for name, model, feed, is_invalid in cases:
        if sys.argv[1:] and not any(a in name for a in sys.argv[1:]):
            continue
        n_cases += 1
        sentence = complaint(name, model, feed)
        if not sentence and is_invalid and is_accepted(model):
            sentence = "hone check accepts it"
        if sentence:
            n_wrong += 1
            print(f"{name}: {sentence}", flush=True)
    print(f"{n_cases} cases, {n_wrong} wrong")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
