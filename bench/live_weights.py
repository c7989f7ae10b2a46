"""Weights that let results be compared, for architectures whose seeded ones do not.

ssdlite320_mobilenet_v3  No signal of the image reaches its heads, so thousands of boxes have the same score, and which
                         of them are picked is chance. Each convolution over a map gets what batch normalization would
                         give it for a random image: mean 0 for each channel, and deviation 1.
vit_b_16                 The weights of its head are all 0, and so is its output. They become random numbers.

The graph stays as it is. The files are made once, in build/data/live_weights.
"""

import numpy
import onnx
from onnx import helper, numpy_helper

import models_to_measure

FEWEST_PIXELS = 16  # of a map whose deviation says something


def value_info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def run_node(model, node, values):
    """Runs one node in onnxruntime and adds its outputs to the values."""
    import onnxruntime

    inputs = {name: values[name] for name in node.input if name}
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", [value_info(*pair) for pair in inputs.items()], outputs)
    one = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(one.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values.update(zip([output.name for output in outputs], session.run(None, inputs)))


def normalize(node, values, changeable):
    """Changes weights and bias of a convolution so that its output has deviation 1, and every channel mean 0 where the
    bias may change. Returns the names of what changed."""
    out = values[node.output[0]]
    axes = (0, *range(2, out.ndim))
    deviation = numpy.sqrt(out.var(axes).mean())
    if out[0, 0].size < FEWEST_PIXELS or len(node.input) < 3:
        return ()
    weight, bias = node.input[1:3]
    per_channel = (-1,) + (1,) * (out.ndim - 2)
    old_bias = values[bias]
    names = [name for name in (weight, bias) if name in changeable]
    values[weight] = (values[weight] / deviation).astype("f4")
    if bias in changeable:
        values[bias] = ((old_bias - out.mean(axes)) / deviation).astype("f4")
    scaled = (out - old_bias.reshape(per_channel)) / deviation
    values[node.output[0]] = (scaled + values[bias].reshape(per_channel)).astype("f4")
    return names


def calibrate(model, inputs):
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    values = inputs | {name: numpy_helper.to_array(tensor) for name, tensor in tensors.items()}
    last = max(i for i, node in enumerate(model.graph.node) if node.op_type == "Conv")
    for node in model.graph.node[:last + 1]:
        run_node(model, node, values)
        for name in normalize(node, values, tensors) if node.op_type == "Conv" else ():
            tensors[name].CopyFrom(numpy_helper.from_array(values[name], name))


def fill_zeros(model, _):
    generator = numpy.random.default_rng(0)
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.ndim == 2 and array.dtype == "f4" and not array.any():
            numbers = generator.standard_normal(array.shape) / numpy.sqrt(array.shape[0])
            tensor.CopyFrom(numpy_helper.from_array(numbers.astype("f4"), tensor.name))


CHANGES = {"ssdlite320_mobilenet_v3": calibrate, "vit_b_16": fill_zeros}


def path_of(path):
    """The file to measure in place of an architecture's; the same where nothing is wrong with it."""
    import models

    if path.stem not in CHANGES or path.parent.name != "architectures":
        return path

    def fill(folder):
        model = onnx.load(path)
        CHANGES[path.stem](model, models_to_measure.random_inputs(path))
        onnx.save(model, folder / path.name)

    return models.prepared(f"live_weights_{path.stem}", fill) / path.name
