#!/usr/bin/env python3
"""Models in float16 compute nearly what they did.

    narrow_models.py [--precision bfloat16] [NAME...]     parts of file names; all light models when none is given

`hone optimize --precision` writes every model with and without --keep-io. The files satisfy onnx.checker, have the types
that were asked for at their inputs and outputs and nearly half the size, no Cast is followed by another, and onnxruntime
and hone give outputs for them that lie near those of the original. onnxruntime has no bfloat16 on CPUs.

The command is found in HONE_BIN. Exits with 77 when onnxruntime or the models are missing.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy
import onnx

import models
import run_models
from run_contrib import hone_outputs

LIGHT = 6 << 20  # bytes of a file
TOLERANCE = {"float16": 5e-3, "bfloat16": 8e-2}  # of the largest number of the output
LOOSE = {  # times as much, and why
    "basic_pitch_nmp": 40,  # logarithms of sums that nearly cancel
    "fastenhancer_t": 4,    # the states of a recurrent network
    "ultraface_version-RFB-320": 4,  # exponentials of boxes
}
QUANTIZED = "mobilenetv2_imagenet_qdq_int8"  # has few floats, and rounds
# A variance as the mean of squares less the square of the mean: 16 bits leave nothing of it.
UNSTABLE = ("magika_standard", QUANTIZED)
NUMPY = {onnx.TensorProto.FLOAT16: numpy.float16, onnx.TensorProto.BFLOAT16: ml_dtypes.bfloat16}


def narrow(path, to, precision, keep_io):
    opset = ["--opset", "22"] if precision == "bfloat16" else []
    subprocess.run([run_models.HONE, "optimize", path, "-o", to, "--precision", precision, *opset, *(["--keep-io"] if keep_io else [])],
                   check=True, capture_output=True, text=True)


def elem_of(value):
    return value.type.tensor_type.elem_type


def complaints_about_file(path, to, precision, keep_io):
    onnx.checker.check_model(str(to), full_check=True)
    model = onnx.load(to)
    small = onnx.TensorProto.FLOAT16 if precision == "float16" else onnx.TensorProto.BFLOAT16
    unwanted = small if keep_io else onnx.TensorProto.FLOAT
    weights = {tensor.name for tensor in model.graph.initializer}
    for value in [*model.graph.input, *model.graph.output]:
        if elem_of(value) == unwanted and value.name not in weights:
            yield f"'{value.name}' has the wrong type"
    casts = {output for node in model.graph.node if node.op_type == "Cast" for output in node.output}
    if any(node.op_type == "Cast" and node.input[0] in casts for node in model.graph.node):
        yield "a Cast follows another"
    if to.stat().st_size > 0.75 * path.stat().st_size and path.stem != QUANTIZED:
        yield f"it has {to.stat().st_size} bytes of {path.stat().st_size}"


def gap_between(ours, theirs):
    a, b = ours.astype("f8"), theirs.astype("f8")
    return float(abs(a - b).max(initial=0)) / max(float(abs(b).max(initial=0)), 1e-30)


def complaints(path, precision, keep_io, folder):
    to = folder / "narrow.onnx"
    narrow(path, to, precision, keep_io)
    yield from complaints_about_file(path, to, precision, keep_io)
    if path.stem in UNSTABLE:
        return
    types = {value.name: NUMPY.get(elem_of(value)) for value in onnx.load(to).graph.input}
    before = run_models.load_oracle(path)
    names = [output.name for output in before.get_outputs()]
    feed = next(iter(run_models.feeds(path.stem, before.get_inputs())))
    expected = dict(zip(names, before.run(names, feed)))
    given = {name: value.astype(types[name]) if types[name] else value for name, value in feed.items()}
    results = {}
    if precision == "float16":
        results["onnxruntime"] = dict(zip(names, run_models.load_oracle(to).run(names, given)))
    if precision == "float16" or keep_io:  # numpy files cannot hold bfloat16
        results["hone"] = hone_outputs(to, given, folder)
    for runtime, outputs in results.items():
        for name in names:
            gap = gap_between(outputs[name], expected[name])
            if gap > TOLERANCE[precision] * LOOSE.get(path.stem, 1):
                yield f"{runtime}: output '{name}' differs by {gap:.1e} of the largest number"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", default="float16", choices=TOLERANCE)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    paths = [p for p in models.find(run_models.GROUPS)
             if any(a in p.name for a in options.names) or (not options.names and p.stat().st_size < LIGHT)]
    if not paths:
        print(f"skipped: {models.missing() or 'no such model'}")
        sys.exit(77)
    n_wrong = 0
    for path in paths:
        for keep_io in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    wrong = list(complaints(path, options.precision, keep_io, Path(folder)))
                except Exception as error:  # one model must not hide the others
                    wrong = [str(getattr(error, "stderr", None) or error)[:300]]
            for sentence in wrong:
                print(f"{path.stem}{' --keep-io' if keep_io else ''}: {sentence}", flush=True)
            n_wrong += len(wrong)
    print(f"{len(paths)} models, {n_wrong} complaints")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
