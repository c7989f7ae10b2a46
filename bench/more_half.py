"""Networks in float16, as converters of published models write them: weights, inputs and outputs are float16, Resize stays float."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from model_builder import silu
from more_sequences import whisper_tiny_decoder
from more_vision import convnext_tiny, crnn, deeplab_r18, shufflenet_v2, unet, yolov8n


def group_query_decode(g, batch, c=512, heads=8, shared=2, vocabulary=16000, past=127):
    """One token of a small decoder in the fused operators of com.microsoft, which caches of keys and values go through."""
    size, kv = c // heads, heads // shared
    domain = "com.microsoft"
    mask = g.input("attention_mask", [batch, past + 1], numpy.int64)
    last = g.op("Cast", g.op("Sub", g.op("ReduceSum", mask, [1], keepdims=0), numpy.int64(1)), to=TensorProto.INT32)
    total = g.op("Cast", g.op("Gather", g.op("Shape", mask), numpy.int64(1)), to=TensorProto.INT32)
    angles = numpy.arange(2048)[:, None] * 10000.0 ** (-numpy.arange(0, size, 2) / size)
    tables = [f(angles).astype(numpy.float32) for f in (numpy.cos, numpy.sin)]
    x = g.op("Gather", g.weight(vocabulary, c, fan_in=1), g.input("tokens", [batch, 1], numpy.int64))
    for i in range(4):
        y = g.rms_norm(x)
        q, k, v = (g.linear(y, n * size, bias=False) for n in (heads, kv, kv))
        old = [g.input(f"past_{i}_{name}", [batch, kv, past, size]) for name in ("key", "value")]
        cache = [batch, kv, past + 1, size]
        y, *new = g.contrib("GroupQueryAttention", q, k, v, *old, last, total, *tables, domain=domain,
                            shapes=[g.shape(q), cache, cache], num_heads=heads, kv_num_heads=kv, do_rotary=1)
        for name, value in zip(("key", "value"), new):
            g.output(value, f"present_{i}_{name}")
        x = g.op("Add", x, g.linear(y, c, bias=False))
        y = g.rms_norm(x)
        y = g.op("Mul", g.linear(y, 1408, bias=False, act=silu), g.linear(y, 1408, bias=False))
        x = g.op("Add", x, g.linear(y, c, bias=False))
    g.output(g.linear(g.rms_norm(x), vocabulary, bias=False), "logits")


def narrow(tensor):
    array = numpy_helper.to_array(tensor)
    return numpy_helper.from_array(array.astype(numpy.float16), tensor.name)


def in_float(node):
    """Casts around a node that stays float: the node and what stands before and behind it."""
    before, after = [node.input[0]], [node.output[0]]
    node.input[0], node.output[0] = before[0] + "_float_" + node.name, after[0] + "_float"
    return [helper.make_node("Cast", before, [node.input[0]], to=TensorProto.FLOAT), node,
            helper.make_node("Cast", [node.output[0]], after, to=TensorProto.FLOAT16)]


def to_half(model):
    graph = model.graph
    kept = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:]}
    for i, tensor in enumerate(graph.initializer):
        if tensor.data_type == TensorProto.FLOAT and tensor.name not in kept:
            graph.initializer[i].CopyFrom(narrow(tensor))
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    nodes = [each for node in graph.node for each in (in_float(node) if node.op_type == "Resize" else [node])]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(model)
    return model


NETWORKS = [group_query_decode]  # in float
HALF = [convnext_tiny, crnn, deeplab_r18, group_query_decode, shufflenet_v2, unet, whisper_tiny_decoder, yolov8n]
