#!/usr/bin/env python3
"""Models that onnxruntime has optimized or quantized give the numbers that onnxruntime gives for them.

    run_optimized.py [NAME...]     parts of file names; all light models when none is given

onnxruntime writes every model at its level `extended` (operators of com.microsoft) and `all` (those
of com.microsoft.nchwc, laid out for the processor that it runs on), and dynamically quantized; hone
runs the files, whose IR version is raised: what onnxruntime adds to old files needs a newer one. The
inputs are those of run_models.py.

The command is found in HONE_BIN. Exits with 77 when onnxruntime or the models are missing.
"""
import logging
import sys
import tempfile
from pathlib import Path

import onnx

import models
import run_models
from run_contrib import hone_outputs
from run_models import onnxruntime

LIGHT = 16 << 20  # bytes of a file
LEVELS = {"extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL}
# Of the largest number of the output. One activation that is rounded the other way changes everything behind it, so dynamically
# quantized models tell gross faults only; single operators are held to one step in run_contrib.py.
TOLERANCE = {"extended": 1e-3, "all": 1e-3, "dynamic": 1e-1}
# TopK over the nearly equal scores of random weights picks other boxes; run_models.py compares this model in parts.
UNSTABLE = ("ssdlite320_mobilenet_v3",)


def optimized(path, level, to):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.optimized_model_filepath = str(to)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def quantized(path, to):
    from onnxruntime.quantization import quantize_dynamic  # loads much
    logging.disable(logging.WARNING)
    raw = to.with_name("raw.onnx")
    try:
        quantize_dynamic(path, raw)
    except ValueError:  # the tool gives up on some models
        return False
    optimized(raw, "extended", to)
    return True


def difference(ours, theirs, tolerance):
    """None, or a sentence."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"is {ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    largest = max(float(abs(theirs).max(initial=0)), 1e-30)
    gap = float(abs(ours.astype("f8") - theirs.astype("f8")).max(initial=0)) / largest
    return None if gap <= tolerance else f"differs by {gap:.1e} of the largest number"


def complaints(path, kind, folder):
    file = folder / f"{kind}.onnx"
    if kind != "dynamic":
        optimized(path, kind, file)
    elif not quantized(path, file):
        return
    model = onnx.load(file)
    model.ir_version = max(model.ir_version, 8)
    onnx.save(model, file)
    oracle = run_models.load_oracle(file)
    names = [output.name for output in oracle.get_outputs()]
    for feed in list(run_models.feeds(path.stem, oracle.get_inputs()))[:2]:
        theirs = dict(zip(names, oracle.run(names, feed)))
        ours = hone_outputs(file, feed, folder)
        for name in names:
            sentence = difference(ours[name], theirs[name], TOLERANCE[kind])
            if sentence:
                yield f"{path.stem} {kind}: output '{name}' {sentence}"


def main():
    paths = [p for p in models.find(run_models.GROUPS)
             if any(a in p.name for a in sys.argv[1:]) or (not sys.argv[1:] and p.stat().st_size < LIGHT and p.stem not in UNSTABLE)]
    if not paths:
        print(f"skipped: {models.missing() or 'no such model'}")
        sys.exit(77)
    n_wrong = 0
    for path in paths:
        for kind in TOLERANCE:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    wrong = list(complaints(path, kind, Path(folder)))
                except Exception as error:  # one model must not hide the others
                    wrong = [f"{path.stem} {kind}: {str(error)[:300]}"]
            n_wrong += len(wrong)
            print(*wrong or [f"{path.stem} {kind}: fine"], sep="\n", flush=True)
    print(f"{len(paths)} models, {n_wrong} differences")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
