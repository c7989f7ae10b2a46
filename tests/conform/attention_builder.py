"""Small graphs that compute attention, spelled as exporters do. Used by attention_spellings.py."""
import numpy
import onnx
from onnx import TensorProto, helper

LOWEST = float(numpy.finfo(numpy.float32).min)
FLOATS = {TensorProto.FLOAT: numpy.float32, TensorProto.FLOAT16: numpy.float16}


class Graph:
    """Writes nodes one after the other: g.Add(a, b) is a node and returns its output."""

    def __init__(self, opset, seed=0):
        self.opset = opset
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.feed = {}
        self.random = numpy.random.default_rng(seed)
        self.n_names = 0

    def name(self, stem):
        self.n_names += 1
        return f"{stem}_{self.n_names}"

    def constant(self, array, stem="c"):
        name = self.name(stem)
        self.constants.append(onnx.numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def f(self, *numbers):
        return self.constant(numpy.array(numbers if len(numbers) > 1 else numbers[0], numpy.float32))

    def i(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64))

    def scalar(self, number):
        return self.constant(numpy.array(number, numpy.int64))

    def input(self, name, array, dims=None):
        array = numpy.asarray(array)
        elem = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, elem, dims or array.shape))
        self.feed[name] = array
        return name

    def x(self, name, *shape, dims=None):
        return self.input(name, self.random.standard_normal(shape).astype(numpy.float32), dims)

    def weight(self, *shape):
        return self.constant((self.random.standard_normal(shape) * 0.2).astype(numpy.float32), "w")

    def output(self, value, name="y"):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))

    def node(self, op, inputs, n_outputs=1, **attributes):
        outputs = [self.name(op.lower()) for _ in range(n_outputs)]
        self.nodes.append(helper.make_node(op, inputs, outputs, name=self.name(op), **attributes))
        return outputs[0] if n_outputs == 1 else outputs

    def __getattr__(self, op):
        if not op[0].isupper():
            raise AttributeError(op)
        return lambda *inputs, n_outputs=1, **attributes: self.node(op, list(inputs), n_outputs, **attributes)

    # ---- operators whose lists moved from attributes to inputs -------------------------------------------------

    def unsqueeze(self, x, *axes):
        return self.Unsqueeze(x, self.i(*axes)) if self.opset >= 13 else self.Unsqueeze(x, axes=list(axes))

    def squeeze(self, x, *axes):
        return self.Squeeze(x, self.i(*axes)) if self.opset >= 13 else self.Squeeze(x, axes=list(axes))

    def split(self, x, axis, sizes):
        if self.opset >= 13:
            return self.Split(x, self.i(*sizes), n_outputs=len(sizes), axis=axis)
        return self.Split(x, n_outputs=len(sizes), axis=axis, split=list(sizes))

    def slice(self, x, axis, start, end):
        return self.Slice(x, self.i(start), self.i(end), self.i(axis))

    def reshape(self, x, *shape):
        return self.Reshape(x, self.i(*shape))

    def transpose(self, x, *perm):
        return self.Transpose(x, perm=list(perm))

    def softmax(self, x, rank=4):
        return self.Softmax(x, axis=rank - 1 if self.opset < 13 else -1)

    # ---- parts -------------------------------------------------------------------------------------------------

    def size(self, x, axis):
        """The size of an axis as exporters compute it, rank 0."""
        return self.Gather(self.Shape(x), self.scalar(axis), axis=0)

    def computed_shape(self, *parts):
        """A shape of numbers and computed sizes, as exporters put it together."""
        rows = [self.i(p) if isinstance(p, int) else self.unsqueeze(p, 0) for p in parts]
        return self.Concat(*rows, axis=0)

    def linear(self, x, n_in, n_out, bias=True):
        y = self.MatMul(x, self.weight(n_in, n_out))
        return self.Add(self.weight(n_out), y) if bias else y

    def heads(self, x, n, size, perm=(0, 2, 1, 3)):
        """(batch, seq, n * size) cut into heads by a constant shape."""
        return self.transpose(self.reshape(x, 0, 0, n, size), *perm)

    def merge(self, x, width):
        return self.reshape(self.transpose(x, 0, 2, 1, 3), 0, 0, width)

    def model(self):
        graph = helper.make_graph(self.nodes, "attention", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
