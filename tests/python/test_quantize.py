"""hone.quantize: files that onnxruntime runs, with results within a quantization step of hone's."""

import json
import os
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType

import hone


def weights(name, *shape, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(values / np.sqrt(max(1, values[0].size)).astype(np.float32), name)


def network():
    """Two convolutions with a residual sum, pooling, a concatenation and a product."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="conv2", group=8, pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["c2", "zero", "six"], ["r2"], name="clip"),
        helper.make_node("Add", ["r1", "r2"], ["s"], name="sum"),
        helper.make_node("MaxPool", ["s"], ["m"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Sigmoid", ["m"], ["g"], name="gate"),
        helper.make_node("Mul", ["m", "g"], ["mg"], name="gated"),
        helper.make_node("Concat", ["m", "mg"], ["cat"], name="cat", axis=1),
        helper.make_node("Conv", ["cat", "w3"], ["c3"], name="conv3"),
        helper.make_node("GlobalAveragePool", ["c3"], ["gap"], name="gap"),
        helper.make_node("Flatten", ["gap"], ["flat"], name="flat"),
        helper.make_node("Gemm", ["flat", "w4", "b4"], ["y"], name="head", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])],
        [
            weights("w1", 8, 3, 3, 3),
            weights("b1", 8, seed=1),
            weights("w2", 8, 1, 3, 3, seed=2),
            weights("w3", 12, 16, 1, 1, seed=3),
            weights("w4", 10, 12, seed=4),
            weights("b4", 10, seed=5),
            numpy_helper.from_array(np.float32(0), "zero"),
            numpy_helper.from_array(np.float32(6), "six"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def samples(n=8, batch=2):
    random = np.random.default_rng(9)
    return [{"x": random.standard_normal((batch, 3, 16, 16)).astype(np.float32)} for _ in range(n)]


def onnxruntime_outputs(data, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(data, options).run(None, feed)[0]


FORMS = {
    "qdq": {},
    "qoperator": {"format": "qoperator"},
    "per tensor": {"per_channel": False},
    "int8": {"activation_type": "int8"},
    "symmetric": {"activation_type": "int8", "activation_symmetric": True},
    "uint8 weights": {"weight_type": "uint8"},
    "reduced": {"reduce_range": True},
    "int16": {"activation_type": "uint16"},
    "float bias": {"quantize_bias": False},
    "weights behind pairs": {"add_qdq_pair_to_weight": True},
    "equalized": {"equalize": True, "correct_bias": True},
    "standard operators": {"format": "qoperator", "standard_ops": True},
    "restricted": {"activation_restricted_asymmetric": True},
    "dedicated pairs": {"dedicated_qdq_pair": True},
    "contrib pairs": {"use_qdq_contrib_ops": True, "activation_type": "uint16"},
    "float outputs": {"float_output_op_types": ["Conv", "Add"]},
    "rounded": {"gptq": True, "keep_outliers": True},
    "half": {"choices": {"conv2": "float16", "*": "int8"}},
    "dynamic": {"mode": "dynamic", "op_types": ["Gemm", "MatMul"]},
}


@pytest.mark.parametrize("name", FORMS)
def test_onnxruntime_agrees(name):
    model = network()
    quantized = hone.quantize(model, samples=samples(), **FORMS[name])
    data = quantized.to_bytes()
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    feed = samples(1)[0]
    exact = onnxruntime_outputs(model.SerializeToString(), feed)
    theirs = onnxruntime_outputs(data, feed)
    ours = quantized.session().run(None, feed)[0]
    largest = np.abs(exact).max()
    assert np.abs(ours - theirs).max() <= 0.02 * largest
    assert np.abs(exact - theirs).max() <= 0.1 * largest


def test_onnxruntime_fuses_all(tmp_path):
    path, optimized = tmp_path / "q.onnx", tmp_path / "optimized.onnx"
    hone.quantize(network(), path, samples=samples())
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(optimized)
    onnxruntime.InferenceSession(path, options)
    ops = {node.op_type for node in onnx.load(optimized).graph.node}
    assert not ops & {"Conv", "FusedConv", "Add", "Mul", "Sigmoid", "Gemm", "GlobalAveragePool", "Concat"}, ops


@pytest.mark.parametrize("method", ["minmax", "moving-average", "percentile", "entropy", "mse", "auto"])
def test_methods(method):
    quantized = hone.quantize(network(), samples=samples(), calibration=method)
    used = {tensor["method"] for tensor in quantized.quantization.tensors} - {"shared"}
    assert used == {method} if method != "auto" else used <= {"minmax", "percentile", "entropy", "mse"}
    for tensor in quantized.quantization.tensors:
        assert tensor["min"] - 1e-6 <= tensor["low"] <= tensor["high"] or tensor["method"] == "shared"


def test_ragged_samples_and_generators():
    sizes = [1, 3, 2]
    quantized = hone.quantize(network(), samples=(samples(1, n)[0] for n in sizes))
    assert quantized.quantization.samples == 3


def test_report_and_explanation():
    report = hone.quantize(network(), samples=samples(), explain=True, excluded_nodes=["conv3"]).quantization
    nodes = {node.node: node for node in report.nodes}
    assert nodes["conv1"].quantized and nodes["conv1"].output_sqnr > 20 and nodes["conv1"].weight_sqnr > 30
    assert not nodes["conv3"].quantized and nodes["conv3"].reason == "it is excluded by name"
    assert report.quantized_bytes < report.float_bytes
    kept = hone.quantize(network(), samples=samples(), keep_sensitive=2).quantization
    assert sum(node.reason == "it is one of the most sensitive layers" for node in kept.nodes) == 2


def test_overrides_and_cache(tmp_path):
    cache = tmp_path / "ranges.json"
    overrides = {"x": {"scale": 0.05, "zero_point": 128}, "y": {"type": "float"}}
    first = hone.quantize(network(), samples=samples(), overrides=overrides, calibration_cache=cache)
    x = next(tensor for tensor in first.quantization.tensors if tensor["tensor"] == "x")
    assert (x["scale"], x["zero_point"]) == (pytest.approx(0.05), 128)
    ranges = json.loads(cache.read_text())
    name = next(name for name in ranges["tensors"])
    ranges["tensors"][name].update(low=-1.0, high=1.0)
    cache.write_text(json.dumps(ranges))
    second = hone.quantize(network(), calibration_cache=cache, overrides=overrides).quantization
    edited = next(tensor for tensor in second.tensors if tensor["tensor"] == name)
    assert (edited["low"], edited["high"], edited["method"]) == (-1, 1, "cache")


def test_errors():
    model = network()
    with pytest.raises(hone.InvalidArgument, match="needs calibration samples"):
        hone.quantize(model)
    with pytest.raises(hone.Error, match="no samples"):
        hone.quantize(model, samples=[])
    with pytest.raises(hone.Error, match="dimension 1 of input 'x' is 3"):
        hone.quantize(model, samples=[{"x": np.zeros((1, 4, 16, 16), np.float32)}])
    with pytest.raises(hone.Error, match="NaN"):
        hone.quantize(model, samples=[{"x": np.full((1, 3, 16, 16), np.nan, np.float32)}])
    with pytest.raises(TypeError, match="no option"):
        hone.quantize(model, samples=samples(), speed=9)
    with pytest.raises(ZeroDivisionError):
        hone.quantize(model, samples=({"x": 1 / 0} for _ in range(3)))
    quantized = hone.quantize(model, samples=samples())
    with pytest.raises(hone.Error, match="quantized already"):
        hone.quantize(quantized, samples=samples())


def accuracy(session, images, labels):
    outputs = session.run(None, {session.get_inputs()[0].name: images})[0]
    return 100 * float(np.mean(outputs.argmax(1) == labels))


def test_accuracy_of_digits():
    folder = pathlib.Path(__file__).parents[2] / "examples" / "digits"
    images, labels, calib = (np.load(folder / f"{name}.npy") for name in ("images", "labels", "calib"))
    exact = accuracy(hone.InferenceSession(str(folder / "digits.onnx")), images, labels)
    for options in ({}, {"format": "qoperator"}, {"mode": "dynamic"}, {"equalize": True, "correct_bias": True}):
        samples = [{"image": calib[i : i + 16]} for i in range(0, len(calib), 16)]
        quantized = hone.quantize(folder / "digits.onnx", samples=samples, **options)
        assert accuracy(quantized.session(), images, labels) >= exact - 0.3


def cifar_images(archive, split, per_class):
    image = pytest.importorskip("PIL.Image")
    pixels, labels = [], []
    with zipfile.ZipFile(archive) as files:
        names = sorted(name for name in files.namelist() if f"/{split}/" in name and name.endswith(".jpg"))
        classes = sorted({name.split("/")[-2] for name in names})
        for label, wanted in enumerate(classes):
            for name in [name for name in names if name.split("/")[-2] == wanted][:per_class]:
                pixels.append(np.asarray(image.open(files.open(name)).convert("RGB"), np.float32) / 255)
                labels.append(label)
    x = (np.stack(pixels) - [0.4914, 0.4822, 0.4465]) / [0.2470, 0.2435, 0.2616]
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2), np.float32), np.array(labels)


@pytest.mark.parametrize("is_unbalanced", [False, True])
def test_accuracy_of_cifar(tmp_path, is_unbalanced):
    """A part of the images: plain int8 loses nothing, and rescue what unbalanced channels cost."""
    shared = pathlib.Path(os.environ.get("HONE_SHARED", pathlib.Path(__file__).parents[3] / "shared"))
    path = shared / "models" / "trained" / "mobilenetv2_cifar10.onnx"
    if not path.exists():
        pytest.skip("the trained models are not here")
    if is_unbalanced:
        script = shared / "models" / "unbalance.py"
        subprocess.run([sys.executable, script, path, tmp_path / "model.onnx", "64", "1"], check=True)
        path = tmp_path / "model.onnx"
    calib, _ = cifar_images(shared / "data" / "cifar10.zip", "calib", 10)
    images, labels = cifar_images(shared / "data" / "cifar10.zip", "test", 50)
    exact = accuracy(hone.InferenceSession(str(path)), images, labels)
    samples = [{"input": calib[i : i + 10]} for i in range(0, len(calib), 10)]
    quantized = hone.quantize(path, samples=samples, equalize=is_unbalanced, correct_bias=is_unbalanced)
    session = onnxruntime.InferenceSession(quantized.to_bytes())
    assert accuracy(session, images, labels) >= exact - 1.0  # of 500 images, 5
    assert not is_unbalanced or "equalized 7 groups" in quantized.quantization.notes[0]


def test_options_of_onnxruntime():
    """extra_options as quantize_static takes them mean the members that docs/quantize.md names."""
    extra = {
        "ActivationRestrictedAsymmetric": True,
        "DedicatedQDQPair": True,
        "UseQDQContribOps": True,
        "QDQOpTypePerChannelSupportToAxis": {"Gemm": 0},
        "OpTypesToExcludeOutputQuantization": ["Conv"],
        "QDQDisableWeightAdjustForInt32Bias": True,
        "CalibMovingAverage": True,
        "CalibMaxIntermediateOutputs": 4,
        "MinimumRealRange": None,
        "TensorQuantOverrides": {"x": [{"quant_type": QuantType.QInt8, "rmin": -4, "rmax": 4}]},
    }
    quantized = hone.quantize(network(), samples=samples(), extra_options=extra)
    tensors = {tensor["tensor"]: tensor for tensor in quantized.quantization.tensors}
    assert tensors["x"]["type"] == "int8" and tensors["x"]["high"] == 4
    assert {tensor["zero_point"] for name, tensor in tensors.items() if name != "x"} <= {0, 128}
    assert {tensor["method"] for name, tensor in tensors.items() if name != "x"} <= {"moving-average", "shared"}
    nodes = onnx.load_from_string(quantized.to_bytes()).graph.node
    assert {node.domain for node in nodes if node.op_type.endswith("eLinear")} == {"com.microsoft"}
    with pytest.raises(hone.InvalidArgument, match="SmoothPeanut"):
        hone.quantize(network(), samples=samples(), extra_options={"SmoothPeanut": 1})


def test_rescue():
    exact = hone.InferenceSession(network().SerializeToString()).run(None, samples()[0])[0]
    errors = []
    for options in ({}, {"gptq": True}):
        quantized = hone.quantize(network(), samples=samples(), weight_type="int4", activation_type="uint16", **options)
        errors.append(np.square(quantized.session().run(None, samples()[0])[0] - exact).sum())
        assert bool(options) == any("error feedback" in note for note in quantized.quantization.notes)
    assert errors[1] < errors[0]
