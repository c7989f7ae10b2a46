"""Models that onnxruntime's own tool quantized: within a quantization step of what onnxruntime computes.

It runs without its optimizations, some of which change results by more than that (QLinearSoftmax)."""

import hone
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from test_half import convolutions, encoder_layer, run

pytest.importorskip("onnxruntime")
quantization = pytest.importorskip("onnxruntime.quantization")
import onnxruntime as ort  # noqa: E402


def feeds_of(model, seed):
    random = np.random.default_rng(seed)
    return {
        value.name: random.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in model.graph.input
    }


class Samples(quantization.CalibrationDataReader):
    def __init__(self, model):
        self.left = iter([feeds_of(model, seed) for seed in range(4)])

    def get_next(self):
        return next(self.left, None)


def quantize(model, folder, how, per_channel, signed):
    before, after = str(folder / "float.onnx"), str(folder / "int8.onnx")
    onnx.save(model, before)
    if how == "dynamic":
        quantization.quantize_dynamic(before, after, per_channel=per_channel)
    else:
        form = quantization.QuantFormat.QDQ if how == "qdq" else quantization.QuantFormat.QOperator
        activations = quantization.QuantType.QInt8 if signed else quantization.QuantType.QUInt8
        quantization.quantize_static(before, after, Samples(model), quant_format=form, per_channel=per_channel,
                                     activation_type=activations, weight_type=quantization.QuantType.QInt8)
    return onnx.load(after)


def run_plain(model, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def step_of(model, output):
    """The scale of the DequantizeLinear that makes the first output, or a 255th of its range."""
    scales = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    last = {n.output[0]: float(scales[n.input[1]].max()) for n in model.graph.node
            if n.op_type == "DequantizeLinear" and n.input[1] in scales}
    return last.get(model.graph.output[0].name, float(np.ptp(output)) / 255)


CASES = [(how, per_channel, signed) for how in ("qdq", "qoperator") for per_channel in (False, True)
         for signed in (False, True)] + [("dynamic", False, False)]


@pytest.mark.parametrize("make", [convolutions, encoder_layer])
@pytest.mark.parametrize("how,per_channel,signed", CASES)
def test_same_as_onnxruntime(make, how, per_channel, signed, tmp_path):
    model = make(np.float32)
    quantized = quantize(model, tmp_path, how, per_channel, signed)
    feeds = feeds_of(model, 9)
    theirs, ours = run_plain(quantized, feeds)[0], run(hone, quantized, feeds)[0]
    assert np.max(np.abs(theirs - ours)) <= 1.01 * step_of(quantized, theirs)
