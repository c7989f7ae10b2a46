"""Builds ONNX models with random weights, layer by layer, in the operators that PyTorch's exporter writes (opset 17)."""

import math

import numpy
import onnx
from onnx import helper, numpy_helper

OPSETS = {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}


class Builder:
    """A graph that grows. Values are names; an array, a number or a list in their place becomes a constant."""

    def __init__(self, name, seed=0):
        self.name, self.random = name, numpy.random.default_rng(seed)
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], {}
        self.types, self.n_names = {}, 0

    # ---- values ----------------------------------------------------------------------------------

    def new_name(self, kind):
        self.n_names += 1
        return f"{kind}_{self.n_names}"

    def input(self, name, shape, dtype=numpy.float32):
        value = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)), shape)
        self.inputs.append(value)
        self.types[name] = value.type
        return name

    def output(self, value, name):
        """Makes `value` an output under another name."""
        value = self.op("Identity", value)
        self.nodes[-1].output[0] = name
        self.outputs.append(onnx.ValueInfoProto(name=name, type=self.types[value]))

    def constant(self, array, name="constant"):
        array = numpy.asarray(array)
        name = self.new_name(name)
        tensor = numpy_helper.from_array(array, name)
        self.constants[name] = tensor
        self.types[name] = helper.make_tensor_type_proto(tensor.data_type, array.shape)
        return name

    def value(self, thing):
        if isinstance(thing, str):
            return thing
        if isinstance(thing, float):
            thing = numpy.float32(thing)
        return self.constant(numpy.asarray(thing, None if isinstance(thing, (numpy.ndarray, numpy.generic)) else numpy.int64))

    def weight(self, *shape, fan_in=None, gain=1.0):
        fan_in = fan_in or shape[-1]
        numbers = self.random.standard_normal(shape, numpy.float32)
        return self.constant(numbers * numpy.float32(gain / math.sqrt(fan_in)), "weight")

    def vector(self, size, around=0.0):
        return self.constant(numpy.float32(around) + self.random.uniform(-0.1, 0.1, size).astype(numpy.float32), "bias")

    def shape(self, name):
        return [d.dim_param or d.dim_value for d in self.types[name].tensor_type.shape.dim]

    # ---- nodes -----------------------------------------------------------------------------------

    def op(self, kind, *inputs, n_outputs=1, domain="", **attributes):
        """Adds a node; gives its output, or a list of several."""
        inputs = ["" if x is None else self.value(x) for x in inputs]
        outputs = [self.new_name(kind) for _ in range(n_outputs)]
        node = helper.make_node(kind, inputs, outputs, name=self.new_name("node_" + kind), domain=domain, **attributes)
        self.nodes.append(node)
        types = {name: self.types[name] for name in inputs if name}
        data = {name: self.constants[name] for name in inputs if name in self.constants}
        schema = onnx.defs.get_schema(kind, OPSETS[domain], domain)
        self.types.update(onnx.shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=[helper.make_opsetid(*each) for each in OPSETS.items()]))
        return outputs[0] if n_outputs == 1 else outputs

    def contrib(self, kind, *inputs, domain, shapes, **attributes):
        """Adds a node that the package onnx does not know; outputs have the type of the first input, and these shapes."""
        inputs = ["" if x is None else self.value(x) for x in inputs]
        outputs = [self.new_name(kind) for _ in shapes]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=self.new_name("node_" + kind), domain=domain, **attributes))
        for name, shape in zip(outputs, shapes):
            self.types[name] = helper.make_tensor_type_proto(self.types[inputs[0]].tensor_type.elem_type, shape)
        return outputs

    def reshape(self, x, *shape):
        return self.op("Reshape", x, list(shape))

    def transpose(self, x, *axes):
        return self.op("Transpose", x, perm=axes)

    def slice(self, x, axis, start, end, step=1):
        return self.op("Slice", x, [start], [end], [axis], [step])

    def split(self, x, sizes, axis):
        return self.op("Split", x, sizes, n_outputs=len(sizes), axis=axis)

    def conv(self, x, channels, kernel, stride=1, pad=None, groups=1, dilation=1, bias=True, gain=1.4, act=None):
        """Of any number of dimensions; `kernel`, `stride` and `pad` are a number or one per dimension. Same size without `pad`."""
        c_in, n = self.shape(x)[1], len(self.shape(x)) - 2
        kernel, stride, dilation = ([v] * n if isinstance(v, int) else list(v) for v in (kernel, stride, dilation))
        pad = [d * (k - 1) // 2 for k, d in zip(kernel, dilation)] if pad is None else pad
        pad = [pad] * n if isinstance(pad, int) else list(pad)
        fan_in = c_in // groups * math.prod(kernel)
        x = self.op("Conv", x, self.weight(channels, c_in // groups, *kernel, fan_in=fan_in, gain=gain),
                    self.vector(channels) if bias else None, kernel_shape=kernel, strides=stride, dilations=dilation,
                    group=groups, pads=pad * 2 if len(pad) == n else pad)
        return act(self, x) if act else x

    def conv_transpose(self, x, channels, kernel, stride, pad=0, bias=True):
        c_in, n = self.shape(x)[1], len(self.shape(x)) - 2
        fan_in = c_in * max(1, kernel // stride) ** n
        return self.op("ConvTranspose", x, self.weight(c_in, channels, *[kernel] * n, fan_in=fan_in, gain=1.4),
                       self.vector(channels) if bias else None, kernel_shape=[kernel] * n, strides=[stride] * n,
                       pads=[pad] * 2 * n, dilations=[1] * n, group=1)

    def linear(self, x, size, bias=True, act=None):
        """Gemm of two dimensions, MatMul and Add of more, as torch.nn.Linear is exported."""
        shape = self.shape(x)
        if len(shape) == 2 and bias:
            x = self.op("Gemm", x, self.weight(size, shape[-1]), self.vector(size), transB=1)
        else:
            x = self.op("MatMul", x, self.weight(shape[-1], size, fan_in=shape[-1]))
            x = self.op("Add", self.vector(size), x) if bias else x
        return act(self, x) if act else x

    def norm(self, x, epsilon=1e-5):
        c = self.shape(x)[-1]
        return self.op("LayerNormalization", x, self.vector(c, 1.0), self.vector(c), axis=-1, epsilon=epsilon)

    def rms_norm(self, x):
        square = self.op("ReduceMean", self.op("Pow", x, 2.0), axes=[-1], keepdims=1)
        scale = self.op("Div", 1.0, self.op("Sqrt", self.op("Add", square, 1e-6)))
        return self.op("Mul", self.vector(self.shape(x)[-1], 1.0), self.op("Mul", x, scale))

    def batch_norm(self, x):
        c = self.shape(x)[1]
        return self.op("BatchNormalization", x, self.vector(c, 1.0), self.vector(c), self.vector(c), self.vector(c, 1.0))

    def group_norm(self, x, groups):
        """As torch.nn.GroupNorm is exported at opset 17."""
        shape = self.shape(x)
        y = self.op("InstanceNormalization", self.reshape(x, 0, groups, -1), numpy.ones(groups, numpy.float32),
                    numpy.zeros(groups, numpy.float32), epsilon=1e-5)
        each = [shape[1]] + [1] * (len(shape) - 2)
        scale, shift = (self.op("Reshape", self.vector(shape[1], around), each) for around in (1.0, 0.0))
        return self.op("Add", self.op("Mul", self.reshape(y, *shape), scale), shift)

    def attention(self, q, k, v, mask=None):
        """Of [batch, heads, length, size]."""
        scores = self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2))
        scores = scores if mask is None else self.op("Add", scores, mask)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)

    def heads(self, x, n):
        b, length, c = self.shape(x)
        return self.transpose(self.reshape(x, b, -1, n, c // n), 0, 2, 1, 3)

    def unheads(self, x):
        b, n, length, size = self.shape(x)
        return self.reshape(self.transpose(x, 0, 2, 1, 3), b, -1, n * size)

    def self_attention(self, x, n, bias=True, mask=None, scaled=True):
        """With a projection each for queries, keys and values, and one of the result."""
        c = self.shape(x)[-1]
        q, k, v = (self.linear(x, c, bias) for _ in range(3))
        q = self.op("Mul", q, 1 / math.sqrt(c // n)) if scaled else q
        return self.linear(self.unheads(self.attention(self.heads(q, n), self.heads(k, n), self.heads(v, n), mask)), c, bias)

    def resize(self, x, factor=None, size=None, mode="nearest"):
        """torch.nn.functional.interpolate."""
        b, c = self.shape(x)[:2]
        how = dict(mode=mode, nearest_mode="floor", cubic_coeff_a=-0.75,
                   coordinate_transformation_mode="asymmetric" if mode == "nearest" else "half_pixel")
        if size:
            return self.op("Resize", x, None, None, [b, c, *size], **how)
        return self.op("Resize", x, None, numpy.array([1, 1, factor, factor], numpy.float32), **how)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, list(self.constants.values()))
        domains = {node.domain for node in self.nodes} | {""}
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid(d, OPSETS[d]) for d in sorted(domains)])


# ---- activations ---------------------------------------------------------------------------------

def relu(g, x):
    return g.op("Relu", x)


def silu(g, x):
    return g.op("Mul", x, g.op("Sigmoid", x))


def gelu(g, x):
    half = g.op("Mul", x, g.op("Add", g.op("Erf", g.op("Div", x, math.sqrt(2))), 1.0))
    return g.op("Mul", half, 0.5)


def hard_swish(g, x):
    return g.op("HardSwish", x)


def leaky_relu(g, x):
    return g.op("LeakyRelu", x, alpha=0.1)
