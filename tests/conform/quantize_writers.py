#!/usr/bin/env python3
"""Dynamic and weight-only models by `hone quantize` are valid, and near the float models.

    quantize_writers.py [NAME...]     parts of names of cases; all when none is given

Small models of all operators that these modes quantize. Each file satisfies onnx.checker, is smaller, and onnxruntime and
hone give outputs for it that lie near those of the float model; dynamic models are no further from it than those of
onnxruntime's quantize_dynamic.

The command is found in HONE_BIN. Exits with 77 when onnxruntime is missing.
"""
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from run_contrib import hone_outputs
from run_models import HONE

try:
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic
except ImportError:
    print("onnxruntime is missing")
    sys.exit(77)

FLOAT, IDS = TensorProto.FLOAT, TensorProto.INT64
HIDDEN = 40
# Options, and the least signal to noise in decibels.
MODES = [
    (["--mode", "dynamic"], 28),
    (["--mode", "dynamic", "--per-tensor"], 24),
    (["--mode", "dynamic", "--weights", "uint8", "--format", "qoperator"], 28),
    (["--mode", "weight-only", "--weights", "int8"], 34),
    (["--mode", "weight-only", "--weights", "uint8", "--block", "16", "--format", "qoperator"], 34),
    (["--mode", "weight-only", "--weights", "int4", "--block", "16", "--search-scales"], 12),
    (["--mode", "weight-only", "--weights", "uint4", "--block", "16", "--format", "qoperator"], 12),
    (["--mode", "weight-only", "--weights", "float8e4m3fn"], 22),
    (["--mode", "weight-only", "--weights", "int16"], 60),
]
NOT_DYNAMIC = ("gru", "rnn", "conv_transpose")  # of quantize_dynamic: it leaves them float


def weight(rng, name, *shape):
    return numpy_helper.from_array((rng.standard_normal(shape) * 0.3).astype("f4"), name)


def model(nodes, inputs, outputs, weights):
    def values(items):
        return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in items]

    nodes = [helper.make_node(op, reads, writes, name=f"{op}_{i}", **attrs) for i, (op, reads, writes, attrs) in enumerate(nodes)]
    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def recurrent(rng, op, gates):
    return model([(op, ["x", "W", "R", "B"], ["y"], {"hidden_size": HIDDEN, "direction": "bidirectional"})],
                 [("x", FLOAT, ["s", "n", 48])], [("y", FLOAT, ["s", 2, "n", HIDDEN])],
                 [weight(rng, "W", 2, gates * HIDDEN, 48), weight(rng, "R", 2, gates * HIDDEN, HIDDEN),
                  weight(rng, "B", 2, 2 * gates * HIDDEN)])


def cases():
    rng = numpy.random.default_rng(1)
    yield "products", model(
        [("MatMul", ["x", "w1"], ["a"], {}), ("Add", ["a", "b1"], ["b"], {}), ("Relu", ["b"], ["c"], {}),
         ("Gemm", ["c", "w2", "b2"], ["y"], {"transB": 1, "alpha": 0.5}), ("Gemm", ["c", "w3"], ["z"], {})],
        [("x", FLOAT, ["n", 100])], [("y", FLOAT, ["n", 32]), ("z", FLOAT, ["n", 32])],
        [weight(rng, "w1", 100, 64), weight(rng, "b1", 64), weight(rng, "w2", 32, 64), weight(rng, "b2", 32), weight(rng, "w3", 64, 32)])
    yield "convolutions", model(
        [("Conv", ["x", "w1", "b1"], ["a"], {"pads": [1, 1, 1, 1]}), ("Relu", ["a"], ["b"], {}),
         ("Conv", ["b", "w2"], ["c"], {"group": 32, "pads": [1, 1, 1, 1], "strides": [2, 2]}), ("Conv", ["c", "w3", "b3"], ["y"], {})],
        [("x", FLOAT, ["n", 3, 16, 16])], [("y", FLOAT, ["n", 64, 8, 8])],
        [weight(rng, "w1", 32, 3, 3, 3), weight(rng, "b1", 32), weight(rng, "w2", 32, 1, 3, 3), weight(rng, "w3", 64, 32, 1, 1),
         weight(rng, "b3", 64)])
    yield "conv_transpose", model([("ConvTranspose", ["x", "w"], ["y"], {})], [("x", FLOAT, ["n", 16, 9, 9])],
                                  [("y", FLOAT, ["n", 32, 11, 11])], [weight(rng, "w", 16, 32, 3, 3)])
    yield "lstm", recurrent(rng, "LSTM", 4)
    yield "gru", recurrent(rng, "GRU", 3)
    yield "rnn", recurrent(rng, "RNN", 1)
    yield "embedding", model(
        [("Gather", ["table", "ids"], ["e"], {}), ("MatMul", ["e", "w"], ["q"], {}), ("MatMul", ["e", "w"], ["k"], {}),
         ("Transpose", ["k"], ["t"], {"perm": [0, 2, 1]}), ("MatMul", ["q", "t"], ["s"], {}), ("Softmax", ["s"], ["p"], {}),
         ("MatMul", ["p", "e"], ["y"], {})],
        [("ids", IDS, ["n", "s"])], [("y", FLOAT, ["n", "s", 64])], [weight(rng, "table", 50, 64), weight(rng, "w", 64, 64)])


def feed_of(m):
    rng = numpy.random.default_rng(2)
    feed = {}
    for value in m.graph.input:
        kind = value.type.tensor_type
        shape = [d.dim_value or 5 for d in kind.shape.dim]
        feed[value.name] = rng.integers(0, 50, shape) if kind.elem_type == IDS else rng.standard_normal(shape).astype("f4")
    return feed


def their_outputs(path, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def decibels(exact, got):
    """Of the worst output."""
    ratios = [(numpy.square(exact[n], dtype="f8").sum(), numpy.square(exact[n].astype("f8") - got[n]).sum()) for n in exact]
    return min(10 * numpy.log10(signal / max(noise, 1e-30)) for signal, noise in ratios)


def complaints(name, path, options, least, exact, feed, folder):
    to = folder / "quantized.onnx"
    subprocess.run([HONE, "quantize", path, "-o", to, *options], check=True, capture_output=True, text=True)
    onnx.checker.check_model(str(to), full_check=True)
    if to.stat().st_size > 0.8 * path.stat().st_size:
        yield f"{to.stat().st_size} bytes of {path.stat().st_size}"
    theirs, ours = decibels(exact, their_outputs(to, feed)), decibels(exact, hone_outputs(to, feed, folder))
    if min(theirs, ours) < least:
        yield f"onnxruntime {theirs:.1f} dB, hone {ours:.1f} dB; at least {least}"
    if options == ["--mode", "dynamic"] and name not in NOT_DYNAMIC:
        quantize_dynamic(path, folder / "peer.onnx", per_channel=True, weight_type=QuantType.QInt8)
        peer = decibels(exact, their_outputs(folder / "peer.onnx", feed))
        if theirs < peer - 2:
            yield f"{theirs:.1f} dB; quantize_dynamic has {peer:.1f}"


def main():
    logging.disable(logging.WARNING)
    n_failed = n_cases = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, m in cases():
            if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
                continue
            path = folder / f"{name}.onnx"
            onnx.save(m, path)
            feed = feed_of(m)
            exact = their_outputs(path, feed)
            for options, least in MODES:
                if name == "conv_transpose" and "dynamic" in options:
                    continue  # stays float
                n_cases += 1
                found = list(complaints(name, path, options, least, exact, feed, folder))
                n_failed += bool(found)
                for text in found:
                    print(f"{name} {' '.join(options)}: {text}")
    print(f"{n_cases} quantized models, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
