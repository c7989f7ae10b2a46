#!/usr/bin/env python3
"""Files that `hone quantize` writes are valid, and other runtimes compute the same with them.

    quantized_files.py [--markdown] [--format FORMAT] [NAME...]     parts of file names; all when none is given

Every architecture and every trained model is quantized statically, as QDQ and as QOperator, with three random
samples. The file satisfies onnx.checker and runs in hone, in onnxruntime (with and without its optimizations)
and in OpenVINO. OpenVINO reads scales of QLinearConv along the wrong axis and knows few operators of
com.microsoft, so it gets a QOperator file made with --per-tensor --standard-ops.

Layers are compared one by one: the file is cut after each node that writes integers, hone computes each part
from the integers that onnxruntime computed, and none may be more than one step away. A number between two
integers may be rounded to either; what follows magnifies that, with seeded weights without bound: onnxruntime's
own results with and without optimizations are up to 4 steps apart (of the output's scale, or 1/255 of its
range). So outputs of whole models are allowed WHOLE_STEPS.

The command is found in HONE_BIN. Without openvino its column stays empty. Exits with 77 when onnxruntime or
the models are missing.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper

import models
from run_models import CUT, HONE, cut_values, feeds, hone_outputs, in_parts, load_oracle, onnxruntime

FORMATS = ("qdq", "qoperator")
MAX_ROUNDED_OTHERWISE = 0.01  # of the integers of a layer
WHOLE_STEPS = 5
OPENVINO_STEPS = 12  # as far as it is from onnxruntime on files of onnxruntime's own tool
PORTABLE = ("--per-tensor", "--standard-ops")  # what OpenVINO reads
NOT_OPENVINO = ("bilstm", "gru_ctc")  # it wants floats as weights of recurrent layers
SORTED = ("ssdlite320_mobilenet_v3",)  # a detector: boxes with nearly equal scores change places
# OpenVINO dies of tile instructions on some machines, so it runs in a process of its own, without them.
OPENVINO = """
import sys, numpy, openvino
model, inputs, outputs = sys.argv[1:]
core = openvino.Core()
feed = dict(numpy.load(inputs))
read = core.read_model(model)
read.reshape({name: list(value.shape) for name, value in feed.items()})
compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
found = compiled(feed)
numpy.savez(outputs, **{port.get_any_name(): found[port] for port in compiled.outputs})
"""


def write_samples(inputs, folder):
    """Test data sets, which `--calib` reads."""
    for number, feed in enumerate(inputs):
        target = folder / f"test_data_set_{number}"
        target.mkdir(parents=True)
        for i, (name, value) in enumerate(feed.items()):
            (target / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())


def their_outputs(path, feed, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def openvino_outputs(path, feed, folder):
    """None where it is not installed; a sentence where it refuses the model."""
    numpy.savez(folder / "ov_in.npz", **feed)
    done = subprocess.run([sys.executable, "-c", OPENVINO, path, folder / "ov_in.npz", folder / "ov_out.npz"],
                          capture_output=True, text=True, check=False,
                          env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"})
    if "No module named 'openvino'" in done.stderr:
        return None
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:200]
    with numpy.load(folder / "ov_out.npz") as archive:
        return dict(archive)


# ---- steps ---------------------------------------------------------------------------------------------

def step_of(model, name, values):
    """The scale of the DequantizeLinear that writes the output, or a part of its range."""
    scales = {t.name: t for t in model.graph.initializer}
    for node in model.graph.node:
        if name in node.output and node.op_type == "DequantizeLinear" and node.input[1] in scales:
            return float(numpy_helper.to_array(scales[node.input[1]]).max())
    finite = values[numpy.isfinite(values)]
    return max(float(finite.max(initial=0)) - float(finite.min(initial=0)), 1e-30) / 255


def steps_apart(model, ours, theirs):
    """Of the worst float output; None where shapes differ: detectors keep as many boxes as are above a limit."""
    worst = 0.0
    for name, a in ours.items():
        b = theirs[name]
        if a.shape != b.shape:
            return None
        if a.dtype.kind == "f" and a.size:
            worst = max(worst, float(numpy.abs(a.astype("f8") - b).max()) / step_of(model, name, a))
    return worst


def layers_apart(path, feed, folder):
    """Layer by layer: the largest difference of integers, and the largest share of them that differ."""
    model = onnx.load(path)
    writers = {n.op_type for n in model.graph.node if n.op_type in ("QuantizeLinear", "QGemm") or "QLinear" in n.op_type}
    n_outputs, names = len(model.graph.output), cut_values(model.graph, "after", writers)
    names = [name for name in names if name not in {o.name for o in model.graph.output}]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    onnx.save(model, folder / "all.onnx")
    theirs = dict(zip(names, load_oracle(folder / "all.onnx").run(names, feed)))
    del model.graph.output[n_outputs:]
    in_parts(model, theirs)
    onnx.save(model, folder / "parts.onnx")
    ours = hone_outputs(folder / "parts.onnx", feed | {CUT + name: theirs[name] for name in names}, folder)
    gaps = [numpy.abs(ours[name].astype("i8") - theirs[name]) for name in names if theirs[name].dtype.kind in "iu"]
    return max(int(g.max(initial=0)) for g in gaps), max(numpy.count_nonzero(g) / max(g.size, 100) for g in gaps)


# ---- a file --------------------------------------------------------------------------------------------

def quantized(path, form, samples, folder, *options):
    to = folder / f"{form}{len(options)}.onnx"
    subprocess.run([HONE, "quantize", path, "-o", to, "--format", form, "--calib", samples, *options], check=True,
                   capture_output=True, text=True)
    onnx.checker.check_model(str(to), full_check=True)
    return to


def check_openvino(path, form, feed, samples, folder):
    """How many steps it is away; a sentence where it refuses the file; None where it is not installed."""
    to = quantized(path, form, samples, folder, *(PORTABLE if form == "qoperator" else ()))
    found = openvino_outputs(to, feed, folder)
    return steps_apart(onnx.load(to), hone_outputs(to, feed, folder), found) if isinstance(found, dict) else found


def check_file(path, form, feed, samples, folder):
    """The cells of a row, and what is wrong."""
    to = quantized(path, form, samples, folder)
    model, level = onnx.load(to), onnxruntime.GraphOptimizationLevel
    ours = hone_outputs(to, feed, folder)
    plain, best = their_outputs(to, feed, level.ORT_DISABLE_ALL), their_outputs(to, feed, level.ORT_ENABLE_ALL)
    cells = {"size": to.stat().st_size / path.stat().st_size, "onnxruntime": steps_apart(model, ours, best),
             "not optimized": steps_apart(model, ours, plain), "its own": steps_apart(model, best, plain),
             "openvino": check_openvino(path, form, feed, samples, folder)}
    cells["layers"], cells["share"] = layers_apart(to, feed, folder)
    limits = {"onnxruntime": WHOLE_STEPS, "not optimized": WHOLE_STEPS, "openvino": OPENVINO_STEPS}
    wrong = [f"outputs are {cells[k]:.1f} steps away: {k}" for k, most in limits.items()
             if isinstance(cells[k], float) and cells[k] > most and not (k == "openvino" and path.stem in SORTED)]
    if isinstance(cells["openvino"], str) and path.stem not in NOT_OPENVINO:
        wrong.append(f"OpenVINO: {cells['openvino']}")
    if cells["layers"] > 1 or cells["share"] > MAX_ROUNDED_OTHERWISE:
        wrong.append(f"integers of a layer differ by {cells['layers']}, {cells['share']:.2%} of them")
    return cells, wrong


COLUMNS = ("size", "layers", "share", "onnxruntime", "not optimized", "its own", "openvino")


def text_of(cell, column):
    if cell is None:
        return ""
    if isinstance(cell, str):
        return "no"
    return f"{cell:.3f}" if column == "size" else f"{cell:.3%}" if column == "share" else f"{cell:.2g}"


def print_row(name, form, texts, is_markdown):
    print(f"| {name} | {form} | " + " | ".join(texts) + " |" if is_markdown else
          f"{name:26} {form:10}" + "".join(f"{t:>14}" for t in texts), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--format", choices=FORMATS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    paths = [p for p in models.find(["architectures", "trained"]) if not options.names or any(n in p.name for n in options.names)]
    if not paths:
        print(f"skipped: {models.missing() or 'no such model'}")
        sys.exit(77)
    print_row("model", "format", COLUMNS, options.markdown)
    n_wrong = 0
    for path in paths:
        inputs = list(feeds(path.stem, load_oracle(path).get_inputs()))
        for form in [options.format] if options.format else FORMATS:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                write_samples(inputs, folder / "samples")
                try:
                    cells, wrong = check_file(path, form, inputs[1], folder / "samples", folder)
                except Exception as error:  # of the checker, a runtime, the command: its message is the finding
                    cells, wrong = {}, [str(getattr(error, "stderr", None) or error).strip()[:400]]
            print_row(path.stem, form, [text_of(cells.get(c), c) for c in COLUMNS], options.markdown)
            for text in wrong:
                print(f"    {text}")
            n_wrong += len(wrong)
    print(f"{len(paths)} models, {n_wrong} complaints")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
