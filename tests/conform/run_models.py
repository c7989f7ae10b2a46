#!/usr/bin/env python3
"""Real models give the numbers that onnxruntime gives with all its optimizations off.

    run_models.py [NAME...]     parts of file names; all models when none is given

Every architecture with its weights laid in, every published and every trained model computes at
least three random inputs, of several batch sizes and lengths where the model leaves them free (the
table SIZES). Floats agree within 1e-4 of the largest number of the output, integers are equal.

Rounding to integers and sorting magnify the last bit of a float without bound, so models that do it
are compared in parts (the table CUTS): each part gets the values that onnxruntime computed, and then
what is rounded may differ by one unit.

The command is found in HONE_BIN. Exits with 77 when onnxruntime or the models are missing.
"""
import os
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy
import onnx

import models

try:
    import onnxruntime
except ImportError:
    print("skipped: the onnxruntime package is not installed")
    sys.exit(77)

HONE = os.environ.get("HONE_BIN", "hone")
GROUPS = ("architectures", "trained", "real")
TOLERANCE = 1e-4  # of the largest number of the output
LOOSE_TOLERANCES = {
    # It takes the logarithm of sums that nearly cancel: of noise onnxruntime's own outputs are up to
    # 3e-4 away from what doubles give.
    "basic_pitch_nmp": 1e-3,
}
N_INPUTS = 3      # of a model without free dimensions

# One random input per row: the sizes of the free dimensions, in the order in which the inputs name
# them. Small ones, for the plain kernels too compute all of this in minutes.
BATCH = ((1,), (2,), (3,))
LARGE_BATCH = ((1,), (1,), (2,))
TOKENS = ((1, 1), (1, 19), (3, 8))
SIZES = {
    "bert_base": TOKENS,                            # batch, sequence
    "bilstm": ((1, 1), (2, 23), (5, 8)),            # batch, time
    "distilbert_sst2": TOKENS,
    "efficientnet_b0": LARGE_BATCH,
    "gru_ctc": ((1, 1), (2, 31), (5, 8)),
    "minilm_l6": ((1, 1), (1, 64), (3, 8)),
    "mobilenet_v2": BATCH,
    "mobilenet_v2_bn": BATCH,
    "mobilenet_v3_large": BATCH,
    "resnet18": LARGE_BATCH,
    "resnet50": LARGE_BATCH,
    "resnet50_bn": LARGE_BATCH,
    "squeezenet1_1": BATCH,
    "torch_encoder": ((1, 64), (2, 64), (3, 64)),   # the file reshapes to the length it was exported with
    "unet_superres": ((1, 32, 32), (2, 24, 40), (1, 56, 8)),  # batch, height, width
    "vit_b_16": LARGE_BATCH,
    "basic_pitch_nmp": LARGE_BATCH,
    "ch_ppocr_mobile_v2.0_cls_infer": ((1, 48, 192), (2, 48, 192), (1, 64, 96)),  # batch, height, width
    "embedding_model": BATCH,
    "magika_standard": BATCH,
    "melspectrogram": ((1, 1280), (2, 4000), (1, 12321)),     # batch, samples
    "mobilenetv2_imagenet_qdq_int8": LARGE_BATCH,
    "pytorch_super_resolution": LARGE_BATCH,
    "silero_vad_v5": ((1, 512, 1), (3, 512, 3), (2, 512, 2)), # batch, samples, batch of the state
    "mobilenetv2_cifar10": ((1,), (2,), (16,)),
    "mobilenetv2_imagenette": BATCH,
}

# Models that are cut into parts after the nodes or before the nodes of some operators, and why.
CUTS = {
    "mobilenetv2_imagenet_qdq_int8": ("after", {"QuantizeLinear"}),  # rounds
    "ssdlite320_mobilenet_v3": ("before", {"TopK"}),                 # sorts what is nearly equal
    "vit_b_16": ("before", {"LayerNormalization", "Gemm"}),          # its head has weights of 0 only
}
MAX_ROUNDED_OTHERWISE = 0.01  # of the integers of a part
CUT = "cut "  # begins the names of the inputs of parts

# Integers below a limit: indices and flags. All floats are normal numbers.
LIMITS = {"input_ids": 8000, "attention_mask": 2, "bytes": 256}
CONSTANTS = {"sr": 16000}  # the sample rate, which chooses a branch


def load_oracle(path, n_threads=0):
    """As many threads as there are processors when the number is 0."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


# ---- inputs --------------------------------------------------------------------------------------------

def free_dims(inputs):
    """What stands for each free dimension, once: its name, or its place where it has none."""
    found = []
    for i in inputs:
        for axis, dim in enumerate(i.shape):
            key = dim if isinstance(dim, str) else (i.name, axis)
            if not isinstance(dim, int) and key not in found:
                found.append(key)
    return found


def shape_of(i, sizes):
    return [dim if isinstance(dim, int) else sizes[dim if isinstance(dim, str) else (i.name, axis)]
            for axis, dim in enumerate(i.shape)]


def random_input(i, shape, generator):
    dtype = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(int32)": "i4"}[i.type]
    if i.name in CONSTANTS:
        return numpy.full(shape, CONSTANTS[i.name], dtype)
    if dtype == "f4":
        return generator.standard_normal(shape, dtype)
    values = generator.integers(0, LIMITS[i.name], shape, dtype)
    if i.name == "attention_mask":
        values[:, 0] = 1  # a row that attends to nothing has no meaning
    return values


def feeds(name, inputs):
    """Dictionaries of inputs, the same in every run of the test."""
    free = free_dims(inputs)
    rows = SIZES.get(name, ((),) * N_INPUTS)
    if any(len(row) != len(free) for row in rows):
        raise ValueError(f"SIZES of {name} must give {free}")
    for number, row in enumerate(rows):
        generator = numpy.random.default_rng([zlib.crc32(name.encode()), number])
        sizes = dict(zip(free, row))
        yield {i.name: random_input(i, shape_of(i, sizes), generator) for i in inputs}


def shapes_text(feed):
    return " ".join("x".join(map(str, value.shape)) or "scalar" for value in feed.values())


# ---- outputs -------------------------------------------------------------------------------------------

def hone_outputs(path, feed, folder, options=()):
    """Name to array."""
    command = [HONE, "run", str(path), *options, "--output", str(folder / "out.npz")]
    for number, (name, value) in enumerate(feed.items()):
        file = folder / f"{number}.npy"
        numpy.save(file, value)
        command += ["--input", f"{name}={file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"hone ended with status {done.returncode}")
    with numpy.load(folder / "out.npz") as archive:
        return dict(archive)


def difference(ours, theirs):
    """Largest difference relative to the largest number, or a sentence where they cannot be compared."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    if theirs.dtype.kind != "f":
        n = int(numpy.count_nonzero(ours != theirs))
        return f"{n} of {theirs.size} integers differ" if n else 0.0
    finite = numpy.isfinite(theirs)
    if not numpy.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return "infinities or NaN differ"
    if not finite.any():
        return 0.0
    largest = max(float(numpy.abs(theirs[finite]).max()), numpy.finfo("f4").tiny)
    gap = numpy.abs(ours[finite].astype("f8") - theirs[finite])
    return float(gap.max()) / largest if numpy.isfinite(gap).all() else "infinities or NaN differ"


# ---- models in parts -----------------------------------------------------------------------------------

def cut_values(graph, where, operators):
    """Names of the values to cut at, in order."""
    constants = {tensor.name for tensor in graph.initializer}
    chosen = [node for node in graph.node if node.op_type in operators]
    names = [node.output[0] if where == "after" else node.input[0] for node in chosen]
    return [name for name in dict.fromkeys(names) if name not in constants]


def in_parts(model, examples):
    """Puts an input in place of each of the values, which become outputs, with free dimensions."""
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name in examples:
                node.input[i] = CUT + name
    for name, value in examples.items():
        elem_type = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        for prefix, declared in ((CUT, model.graph.input), ("", model.graph.output)):
            declared.append(onnx.helper.make_tensor_value_info(prefix + name, elem_type, [None] * value.ndim))


def prepare_parts(path, feed, folder):
    """A session that computes the values to cut at as well, the model in parts, and those values' names."""
    model = onnx.load(path)
    n_outputs, names = len(model.graph.output), cut_values(model.graph, *CUTS[path.stem])
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    onnx.save(model, folder / "all.onnx")
    oracle = load_oracle(folder / "all.onnx")
    del model.graph.output[n_outputs:]
    in_parts(model, dict(zip(names, oracle.run(names, feed))))
    onnx.save(model, folder / "parts.onnx")
    return oracle, folder / "parts.onnx", names


def forgive_rounding(ours, theirs):
    """Takes few integers that are one unit away for equal."""
    if theirs.dtype.kind in "iu" and ours.shape == theirs.shape:
        rounded = numpy.abs(ours.astype("i8") - theirs) == 1
        if numpy.count_nonzero(rounded) <= max(1, MAX_ROUNDED_OTHERWISE * rounded.size):
            ours[rounded] = theirs[rounded]


# ---- all -----------------------------------------------------------------------------------------------

def compare(path, folder):
    """Prints one line for each input; returns how many outputs differ."""
    oracle, tested, cuts, n_wrong = load_oracle(path), path, [], 0
    inputs = list(feeds(path.stem, oracle.get_inputs()))
    tolerance = LOOSE_TOLERANCES.get(path.stem, TOLERANCE)
    if path.stem in CUTS:
        oracle, tested, cuts = prepare_parts(path, inputs[0], folder)
    for feed in inputs:
        start = time.perf_counter()
        theirs = dict(zip([output.name for output in oracle.get_outputs()], oracle.run(None, feed)))
        middle = time.perf_counter()
        ours = hone_outputs(tested, feed | {CUT + name: theirs[name] for name in cuts}, folder)
        seconds = (middle - start, time.perf_counter() - middle)
        for name in cuts:
            forgive_rounding(ours[name], theirs[name])
        found = {n: difference(ours[n], theirs[n]) for n in theirs}
        wrong = [f"'{n}': {d}" for n, d in found.items() if isinstance(d, str) or d > tolerance]
        worst = "WRONG" if wrong else f"{max(found.values()):.1e}"
        line = f"{path.stem:32} {shapes_text(feed):36} {worst:>8} {seconds[1]:7.2f} s {seconds[0]:7.2f} s"
        print(line, *wrong, sep="\n    ", flush=True)
        n_wrong += len(wrong)
    return n_wrong


def main():
    paths = [p for p in models.find(GROUPS) if not sys.argv[1:] or any(a in p.name for a in sys.argv[1:])]
    if not paths:
        print(f"skipped: {models.missing() or 'no such model'}")
        sys.exit(77)
    print(f"{'model':32} {'inputs':36} {'differ':>8} {'hone':>9} {'oracle':>9}")
    n_wrong = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            n_wrong += compare(path, Path(folder))
    print(f"{len(paths)} models, {n_wrong} outputs differ")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
