"""Networks whose time goes into other operators than convolutions and products: suppression of boxes, sampling, graphs,
filters, spectra, loops, postprocessing, support vectors, forests."""

import math

import numpy
from onnx import TensorProto, helper

from model_builder import Builder, gelu, hard_swish, relu

LAST = 2 ** 63 - 1


def body(g, name, make, inputs):
    """A graph for Loop or Scan: `inputs` are (name, type, shape); `make` gets a builder and names, and gives the outputs."""
    inner = Builder(name, seed=1)
    inner.n_names = 10000 + g.n_names  # names of outer values stay visible inside
    names = [inner.input(*each) for each in ((n, shape, dtype) for n, dtype, shape in inputs)]
    for i, value in enumerate(make(inner, *names)):
        inner.output(value, f"{name}_out_{i}")
    return helper.make_graph(inner.nodes, name, inner.inputs, inner.outputs, list(inner.constants.values()))


# ---- boxes ---------------------------------------------------------------------------------------

def yolo_boxes(g, batch, n=3549, classes=80):
    """Decoding and suppression of the boxes of an anchor-free detector."""
    x = g.transpose(g.input("head", [batch, 5 + classes, n]), 0, 2, 1)
    places = g.constant(g.random.uniform(0, 52, (1, n, 2)).astype(numpy.float32))
    strides = g.constant(numpy.repeat([8.0, 16.0, 32.0], [2704, 676, 169])[None, :, None].astype(numpy.float32))
    centers = g.op("Mul", g.op("Add", g.slice(x, 2, 0, 2), places), strides)
    sizes = g.op("Mul", g.op("Exp", g.slice(x, 2, 2, 4)), strides)
    half = g.op("Mul", sizes, 0.5)
    boxes = g.op("Concat", g.op("Sub", centers, half), g.op("Add", centers, half), axis=2)
    chances = g.op("Sigmoid", g.op("Sub", g.slice(x, 2, 4, LAST), 1.0))
    chances = g.op("Mul", g.slice(chances, 2, 1, LAST), g.slice(chances, 2, 0, 1))
    kept = g.op("NonMaxSuppression", boxes, g.transpose(chances, 0, 2, 1), numpy.array([100]), numpy.array([0.65], numpy.float32),
                numpy.array([0.45], numpy.float32))
    g.output(kept, "kept")
    g.output(g.op("Gather", g.op("Squeeze", g.slice(boxes, 0, 0, 1), [0]), g.op("Squeeze", g.slice(kept, 1, 2, 3), [1])), "boxes")


def face_boxes(g, batch, n=4420):
    """UltraFace: scores, and boxes decoded by small steps over all of them."""
    head = g.input("head", [batch, n, 6])
    priors = g.constant(g.random.uniform(0.01, 1, (1, n, 4)).astype(numpy.float32))
    scores, places = g.slice(head, 2, 0, 2), g.slice(head, 2, 2, 6)
    centers = g.op("Add", g.op("Mul", g.op("Mul", g.slice(places, 2, 0, 2), 0.1), g.slice(priors, 2, 2, 4)), g.slice(priors, 2, 0, 2))
    sizes = g.op("Mul", g.op("Exp", g.op("Mul", g.slice(places, 2, 2, 4), 0.2)), g.slice(priors, 2, 2, 4))
    boxes = g.op("Concat", centers, sizes, axis=2)
    half = g.op("Div", g.slice(boxes, 2, 2, LAST), 2.0)
    low = g.op("Sub", g.slice(boxes, 2, 0, 2), half)
    high = g.op("Add", g.slice(boxes, 2, 0, 2), g.op("Div", g.slice(boxes, 2, 2, LAST), 2.0))
    g.output(g.op("Softmax", scores, axis=2), "scores")
    g.output(g.op("Concat", low, high, axis=2), "boxes")


def ssd_heads(g, batch):
    """Convolutions of several sizes whose results are transposed, reshaped and joined."""
    scores, places, c = [], [], 128
    x = g.conv(g.input("features", [batch, 64, 38, 38]), c, 3, act=relu)
    for size in 38, 19, 10, 5:
        if size < 38:
            x = g.conv(x, c, 3, 2, act=relu)
        scores.append(g.reshape(g.transpose(g.conv(x, 6 * 21, 3), 0, 2, 3, 1), batch, -1, 21))
        places.append(g.reshape(g.transpose(g.conv(x, 6 * 4, 3), 0, 2, 3, 1), batch, -1, 4))
    g.output(g.transpose(g.op("Softmax", g.op("Concat", *scores, axis=1), axis=2), 0, 2, 1), "scores")
    g.output(g.op("Concat", *places, axis=1), "boxes")


# ---- sampling, graphs ----------------------------------------------------------------------------

def unwarp(g, batch, size=128):
    """A flow of small convolutions says where the pixels of the result come from."""
    x = g.input("input", [batch, 3, size, size])
    flow = g.op("Tanh", g.conv(g.conv(x, 8, 3, act=relu), 2, 3, gain=0.2))
    steps = numpy.linspace(-1, 1, size, dtype=numpy.float32)
    grid = numpy.stack(numpy.meshgrid(steps, steps), 2)[None]
    grid = g.op("Add", g.op("Mul", g.transpose(flow, 0, 2, 3, 1), 0.1), grid)
    g.output(g.op("GridSample", x, grid, mode="bilinear", padding_mode="zeros", align_corners=1), "image")
    features = g.conv(x, 32, 3)
    g.output(g.op("GridSample", features, grid, mode="bilinear", padding_mode="border", align_corners=0), "features")
    g.output(g.op("GridSample", x, grid, mode="bicubic", padding_mode="reflection"), "smooth")


def graph_network(g, batch, nodes=200, edges=600, c=128):
    """Messages along edges, summed and averaged at the nodes that they go to."""
    x = g.linear(g.input("nodes", [nodes * batch, 16]), c)
    pairs = g.input("edges", [2, edges * batch], numpy.int64)
    source, target = (g.op("Gather", pairs, numpy.int64(i), axis=0) for i in range(2))
    target = g.op("Expand", g.op("Unsqueeze", target, [1]), [edges * batch, c])
    for _ in range(4):
        message = relu(g, g.batch_norm(g.linear(g.op("Gather", x, source), c)))
        zeros = g.op("ConstantOfShape", [nodes * batch, c])
        total = g.op("ScatterElements", zeros, target, message, axis=0, reduction="add")
        x = relu(g, g.op("Add", x, g.batch_norm(g.linear(total, c))))
    g.output(g.op("LogSoftmax", g.linear(x, 7), axis=1), "kinds")


# ---- sound ---------------------------------------------------------------------------------------

def resampler(g, batch, samples=48000):
    """48 to 16 kHz by one filter, 44.1 to 16 kHz by a bank of them, and a long filter at the full rate."""
    x = g.input("samples", [batch, 1, samples])
    g.output(g.conv(x, 1, 43, 3, 20, bias=False), "third")
    bank = g.transpose(g.conv(x, 160, 475, 441, 17, bias=False), 0, 2, 1)
    g.output(g.reshape(bank, batch, -1), "fraction")
    g.output(g.conv(x, 1, 1025, 1, 512, bias=False), "filtered")
    g.output(g.conv(x, 1, 101, 2, 50, bias=False), "half")


def voice_detector(g, batch, samples=1536):
    """A spectrum by convolution over reflected samples, and a few small layers."""
    x = g.op("Pad", g.op("Unsqueeze", g.input("samples", [batch, samples]), [1]), [0, 0, 96, 0, 0, 96], mode="reflect")
    x = g.conv(x, 258, 256, 64, 0, bias=False)
    real, imaginary = g.split(x, [129, 129], 1)
    x = g.op("Sqrt", g.op("Add", g.op("Pow", real, 2.0), g.op("Pow", imaginary, 2.0)))
    for c in 16, 32, 32, 64:
        y = g.op("Pad", x, [0, 0, 2, 0, 0, 2], 0.0)
        x = g.conv(g.conv(y, g.shape(x)[1], 5, pad=0, groups=g.shape(x)[1], act=relu), c, 1, act=relu)
    g.output(g.op("Sigmoid", g.op("ReduceMean", g.conv(x, 2, 1), axes=[2])), "chance")


def padded_frames(g, batch, frames=1000):
    """Convolutions over time that are padded by nodes of their own."""
    x = g.input("mel", [batch, 80, frames])
    for i in range(3):
        y = g.op("Pad", x, [0, 0, 1, 0, 0, 1], 0.0)
        x = gelu(g, g.conv(y, 256, 3, 2 if i else 1, 0))
    g.output(x, "states")


def spectrogram(g, batch, samples=16000):
    """Mel frequencies of STFT, and of DFT over frames that are gathered."""
    sound = g.input("samples", [batch, samples])
    window = numpy.hanning(401)[:-1].astype(numpy.float32)
    mel = g.constant(numpy.abs(g.random.standard_normal((201, 80))).astype(numpy.float32))

    def energy(x):
        squares = g.op("ReduceSum", g.op("Mul", x, x), [-1], keepdims=0)
        return g.op("Log", g.op("Add", g.op("MatMul", squares, mel), 1e-6))

    g.output(energy(g.op("STFT", sound, numpy.int64(160), window, numpy.int64(400), onesided=1)), "mel")
    n = (samples - 400) // 160 + 1
    places = numpy.arange(n)[:, None] * 160 + numpy.arange(400)
    frames = g.op("Mul", g.op("Gather", sound, places, axis=1), window)
    g.output(energy(g.op("DFT", g.op("Unsqueeze", frames, [3]), axis=2, onesided=1)), "mel_of_frames")


def short_spectra(g, batch, samples=16000):
    """Transforms of a power of two."""
    sound = g.input("samples", [batch, samples])
    window = numpy.hanning(513)[:-1].astype(numpy.float32)
    x = g.op("STFT", sound, numpy.int64(128), window, numpy.int64(512), onesided=1)
    g.output(g.op("Sqrt", g.op("ReduceSumSquare", x, axes=[3], keepdims=0)), "size")


# ---- loops ---------------------------------------------------------------------------------------

def lstm_cell(g, x, h, c, weights, bias):
    """TensorFlow's: one product for the four gates of input and state together."""
    gates = g.op("Add", g.op("MatMul", g.op("Concat", x, h, axis=1), weights), bias)
    i, j, f, o = g.split(gates, [g.shape(h)[1]] * 4, 1)
    c = g.op("Add", g.op("Mul", c, g.op("Sigmoid", g.op("Add", f, 1.0))), g.op("Mul", g.op("Sigmoid", i), g.op("Tanh", j)))
    return g.op("Mul", g.op("Tanh", c), g.op("Sigmoid", o)), c


def loop_lstm(g, batch, time=64, size=128):
    """A recurrent layer that the exporter left a Loop."""
    x = g.transpose(g.input("steps", [batch, time, size]), 1, 0, 2)

    def step(b, number, _, h, c):
        b.types[x] = g.types[x]
        now = b.op("Gather", x, b.op("Squeeze", b.op("Unsqueeze", number, [0]), [0]), axis=0)
        h, c = lstm_cell(b, now, h, c, b.weight(2 * size, 4 * size, fan_in=2 * size), b.vector(4 * size))
        return b.op("Less", number, numpy.int64(2 ** 40)), h, c, h

    types = [("number", numpy.int64, []), ("go_on", numpy.bool_, []), ("h", numpy.float32, [batch, size]),
             ("c", numpy.float32, [batch, size])]
    zeros = numpy.zeros((batch, size), numpy.float32)
    h, c, all_h = loop(g, "Loop", [numpy.int64(time), numpy.bool_(True), zeros, zeros], body(g, "step", step, types),
                       [[batch, size], [batch, size], [time, batch, size]])
    g.output(g.linear(g.transpose(all_h, 1, 0, 2), 40), "letters")


def scan_cells(g, batch, time=100, size=64):
    """A gated recurrent cell as the body of a Scan."""
    def step(b, h, x):
        both = b.op("Add", b.op("MatMul", x, b.weight(size, 2 * size)), b.op("MatMul", h, b.weight(size, 2 * size)))
        z, r = b.split(b.op("Sigmoid", both), [size, size], 1)
        new = b.op("Tanh", b.op("Add", b.op("MatMul", x, b.weight(size, size)), b.op("MatMul", b.op("Mul", r, h), b.weight(size, size))))
        h = b.op("Add", b.op("Mul", z, h), b.op("Mul", b.op("Sub", 1.0, z), new))
        return h, h

    types = [("h", numpy.float32, [batch, size]), ("x", numpy.float32, [batch, size])]
    zeros = numpy.zeros((batch, size), numpy.float32)
    x = g.transpose(g.input("steps", [batch, time, size]), 1, 0, 2)
    _, all_h = loop(g, "Scan", [zeros, x], body(g, "cell", step, types), [[batch, size], [time, batch, size]],
                    num_scan_inputs=1)
    g.output(all_h, "states")


def loop(g, kind, inputs, graph, shapes, **attributes):
    outputs = [g.new_name(kind) for _ in shapes]
    g.nodes.append(helper.make_node(kind, [g.value(x) for x in inputs], outputs, body=graph, **attributes))
    for name, shape in zip(outputs, shapes):
        g.types[name] = helper.make_tensor_type_proto(TensorProto.FLOAT, shape)
    return outputs


# ---- text ----------------------------------------------------------------------------------------

def byte_classifier(g, batch, length=2048, kinds=214):
    """Magika: bytes of a file, one wide convolution, the largest of all places."""
    tokens = g.op("Clip", g.input("tokens", [batch, length], numpy.int64), numpy.int64(0), numpy.int64(256))
    x = g.op("Gather", g.weight(257, 64, fan_in=1), tokens)
    x = g.reshape(x, batch, length // 4, 256)
    x = g.transpose(g.norm(x), 0, 2, 1)
    x = gelu(g, g.conv(x, 512, 5, pad=0))
    x = g.op("Squeeze", g.op("GlobalMaxPool", x), [2])
    g.output(g.op("Softmax", g.linear(g.norm(x), kinds), axis=1), "kinds")


def line_reader(g, batch):
    """PP-OCR's recognizer: depthwise convolutions, hard swishes, attention along the line."""
    x = g.conv(g.input("input", [batch, 3, 48, 320]), 16, 3, 2, act=hard_swish)
    for c, stride in (32, 1), (64, (2, 1)), (64, 1), (128, (2, 1)), (128, 1), (256, (2, 1)):
        k = 3 if c < 256 else 5
        x = g.conv(x, g.shape(x)[1], k, stride, k // 2, groups=g.shape(x)[1], act=hard_swish)
        x = g.conv(x, c, 1, act=hard_swish)
    x = g.op("AveragePool", x, kernel_shape=[g.shape(x)[2], 2], strides=[1, 2])
    y = g.conv(g.conv(x, 32, (1, 3), act=lambda g, v: g.op("Mul", v, g.op("Sigmoid", v))), 120, 1)
    y = g.transpose(g.op("Squeeze", y, [2]), 0, 2, 1)
    for _ in range(2):
        y = g.op("Add", y, g.self_attention(g.norm(y), 8))
        y = g.op("Add", y, g.linear(g.linear(g.norm(y), 240, act=gelu), 120))
    g.output(g.op("Softmax", g.linear(g.norm(y), 6625), axis=2), "letters")


# ---- tables --------------------------------------------------------------------------------------

def support_vectors(g, batch, rows=64, features=40, classes=5, per_class=60):
    """Radial kernels: which of several classes with probabilities, and a number."""
    x, n, pairs = g.input("rows", [rows * batch, features]), classes * per_class, classes * (classes - 1) // 2

    def numbers(*shape):
        return g.random.standard_normal(math.prod(shape)).astype(numpy.float32)

    label, chances = g.op("SVMClassifier", x, n_outputs=2, domain="ai.onnx.ml", kernel_type="RBF", kernel_params=[0.02, 0.0, 3.0],
                          vectors_per_class=[per_class] * classes, support_vectors=numbers(n, features),
                          coefficients=numbers(classes - 1, n), rho=numbers(pairs), prob_a=-numpy.abs(numbers(pairs)),
                          prob_b=numbers(pairs), classlabels_ints=list(range(classes)), post_transform="NONE")
    g.output(label, "label")
    g.output(chances, "chances")
    g.output(g.op("SVMRegressor", x, domain="ai.onnx.ml", kernel_type="RBF", kernel_params=[0.02, 0.0, 3.0], n_supports=n,
                  support_vectors=numbers(n, features), coefficients=numbers(n), rho=[0.5]), "number")


def random_forest(g, batch, rows=1, trees=100, depth=8, features=20, classes=3):
    """A few samples at a time, as programs that classify one thing after another have them."""
    inner, every = 2 ** depth - 1, 2 ** (depth + 1) - 1
    node, leaf = numpy.arange(every), numpy.arange(inner, every)
    is_inner = numpy.tile(node < inner, trees)

    def at_inner(values):
        return numpy.where(is_inner, values, 0)

    x = g.input("rows", [rows * batch, features])
    weights = g.random.dirichlet([0.5] * classes, trees * len(leaf)).astype(numpy.float32) / trees
    label, chances = g.op(
        "TreeEnsembleClassifier", x, n_outputs=2, domain="ai.onnx.ml", classlabels_int64s=list(range(classes)), post_transform="NONE",
        nodes_treeids=numpy.repeat(numpy.arange(trees), every), nodes_nodeids=numpy.tile(node, trees),
        nodes_featureids=at_inner(g.random.integers(0, features, trees * every)),
        nodes_values=at_inner(g.random.standard_normal(trees * every)).astype(numpy.float32),
        nodes_modes=["BRANCH_LEQ" if each else "LEAF" for each in is_inner],
        nodes_truenodeids=at_inner(numpy.tile(2 * node + 1, trees)), nodes_falsenodeids=at_inner(numpy.tile(2 * node + 2, trees)),
        class_treeids=numpy.repeat(numpy.arange(trees), len(leaf) * classes),
        class_nodeids=numpy.tile(numpy.repeat(leaf, classes), trees),
        class_ids=numpy.tile(numpy.arange(classes), trees * len(leaf)), class_weights=weights.ravel())
    g.output(label, "label")
    g.output(chances, "chances")


def forest_of_many_rows(g, batch):
    random_forest(g, batch, rows=500)


NETWORKS = [yolo_boxes, face_boxes, ssd_heads, unwarp, graph_network, resampler, voice_detector, padded_frames, spectrogram,
            short_spectra, loop_lstm, scan_cells, byte_classifier, line_reader, support_vectors, random_forest, forest_of_many_rows]
