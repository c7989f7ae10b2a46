#!/usr/bin/env python3
"""Models that onnxruntime has optimized or quantized give the numbers that onnxruntime gives for them.

    run_optimized.py [NAME...]     parts of file names; all light models when none is given

onnxruntime writes every model at its level `extended` (operators of com.microsoft) and `all` (those
of com.microsoft.nchwc, laid out for the processor that it runs on), and dynamically quantized; hone
runs the files, whose IR version is raised: what onnxruntime adds to old files needs a newer one. The
inputs are those of run_models.py.

How much the outputs may differ is asked of onnxruntime itself: as much as its own do when the last
bits of the inputs change. A quantized activation that is nearly a tie moves everything behind it, and
so does the logarithm of a number that is all rounding; most models move by the last bits only.

The command is found in HONE_BIN. Exits with 77 when onnxruntime or the models are missing.
"""
import logging
import sys
import tempfile
from pathlib import Path

import numpy
import onnx

import models
import run_models
from run_contrib import hone_outputs
from run_models import onnxruntime

LIGHT = 16 << 20  # bytes of a file
LEVELS = {"extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL}
KINDS = (*LEVELS, "dynamic")
TOLERANCE = 2e-5     # of the largest number of the output, when it hardly moves
SHAKE = 1e-6         # of an input, up or down
N_SHAKES = 6
TIMES_AS_MUCH = 4    # as the largest move that was seen
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


def gap_between(a, b):
    """Of the largest number."""
    return float(abs(a.astype("f8") - b.astype("f8")).max(initial=0)) / max(float(abs(b).max(initial=0)), 1e-30)


def difference(ours, theirs, tolerance):
    """None, or a sentence."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"is {ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    gap = gap_between(ours, theirs)
    return None if gap <= tolerance else f"differs by {gap:.1e} of the largest number, {tolerance:.1e} is explained"


def tolerance_of(oracle, feed, theirs):
    """The same for all outputs: they hang together."""
    rng = numpy.random.default_rng(0)
    moves = [0.0]
    for _ in range(N_SHAKES):
        shaken = {name: (value * (1 + rng.uniform(-SHAKE, SHAKE, value.shape))).astype(value.dtype) if value.dtype.kind == "f" else value
                  for name, value in feed.items()}
        moves += [gap_between(a, b) for a, b in zip(oracle.run(list(theirs), shaken), theirs.values()) if a.shape == b.shape]
    return max(TOLERANCE, TIMES_AS_MUCH * max(moves))


def complaints(path, kind, folder):
    file = folder / f"{kind}.onnx"
    if kind != "dynamic":
        optimized(path, kind, file)
    elif not quantized(path, file):
        return
    model = onnx.load(file)
    model.ir_version = max(model.ir_version, 8)
    onnx.save(model, file)
    oracle = run_models.load_oracle(file, n_threads=1)  # states are quantized by the rows of a thread
    names = [output.name for output in oracle.get_outputs()]
    for feed in list(run_models.feeds(path.stem, oracle.get_inputs()))[:2]:
        theirs = dict(zip(names, oracle.run(names, feed)))
        tolerance = tolerance_of(oracle, feed, theirs)
        ours = hone_outputs(file, feed, folder)
        for name in names:
            sentence = difference(ours[name], theirs[name], tolerance)
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
        for kind in KINDS:
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
