"""Networks for speech, text and tables: one-dimensional convolutions, attention over time, decoding, embeddings, trees."""

import math

import numpy

from model_builder import gelu, leaky_relu, relu, silu


def feed_forward(g, x, size, act, bias=True):
    return g.linear(g.linear(x, size, bias, act=act), g.shape(x)[-1], bias)


def encoder_layer(g, x, heads, size=None):
    """Normalization first."""
    x = g.op("Add", x, g.self_attention(g.norm(x), heads))
    return g.op("Add", x, feed_forward(g, g.norm(x), size or 4 * g.shape(x)[-1], gelu))


# ---- speech --------------------------------------------------------------------------------------

def whisper_tiny_encoder(g, batch):
    x = g.conv(g.input("mel", [batch, 80, 3000]), 384, 3, act=gelu)
    x = g.transpose(g.conv(x, 384, 3, 2, act=gelu), 0, 2, 1)
    x = g.op("Add", x, g.weight(1500, 384, fan_in=100))
    for _ in range(4):
        x = encoder_layer(g, x, 6)
    g.output(g.norm(x), "states")


def cached(g, x, name, heads, batch):
    """Adds the heads of this step to those of the steps before; both are outputs' business."""
    size = g.shape(x)[-1] // heads
    x = g.op("Concat", g.input("past_" + name, [batch, heads, "past", size]), g.heads(x, heads), axis=2)
    g.output(x, "present_" + name)
    return x


def whisper_tiny_decoder(g, batch, c=384, heads=6):
    words = g.weight(51865, c, fan_in=100)
    x = g.op("Gather", words, g.input("tokens", [batch, 1], numpy.int64))
    x = g.op("Add", x, g.weight(1, 1, c, fan_in=100))
    for i in range(4):
        y = g.norm(x)
        q = g.heads(g.op("Mul", g.linear(y, c), 64 ** -0.5), heads)
        k, v = (cached(g, g.linear(y, c, bias), f"{i}_{name}", heads, batch) for name, bias in (("key", False), ("value", True)))
        x = g.op("Add", x, g.linear(g.unheads(g.attention(q, k, v)), c))
        q = g.heads(g.op("Mul", g.linear(g.norm(x), c), 64 ** -0.5), heads)
        k, v = (g.input(f"cross_{i}_{name}", [batch, heads, 1500, 64]) for name in ("key", "value"))
        x = g.op("Add", x, g.linear(g.unheads(g.attention(q, k, v)), c))
        x = g.op("Add", x, feed_forward(g, g.norm(x), 4 * c, gelu))
    g.output(g.op("MatMul", g.norm(x), g.transpose(words, 1, 0)), "logits")


def wav2vec2_base(g, batch, samples=32000):
    x = g.op("Unsqueeze", g.input("samples", [batch, samples]), [1])
    for i, (kernel, stride) in enumerate([(10, 5)] + [(3, 2)] * 4 + [(2, 2)] * 2):
        x = g.conv(x, 512, kernel, stride, 0, bias=False)
        x = gelu(g, g.group_norm(x, 512) if i == 0 else x)
    x = g.linear(g.norm(g.transpose(x, 0, 2, 1)), 768)
    y = g.conv(g.transpose(x, 0, 2, 1), 768, 128, pad=64, groups=16)
    y = g.transpose(gelu(g, g.slice(y, 2, 0, -1)), 0, 2, 1)
    x = g.norm(g.op("Add", x, y))
    for _ in range(6):
        x = g.norm(g.op("Add", x, g.self_attention(x, 12)))
        x = g.norm(g.op("Add", x, feed_forward(g, x, 3072, gelu)))
    g.output(x, "states")


def relative_attention(g, x, heads):
    """Transformer-XL's, with the scores over distances shifted into place."""
    b, length, c = g.shape(x)
    size = c // heads
    q, k, v = (g.reshape(g.linear(x, c), b, -1, heads, size) for _ in range(3))
    k, v = (g.transpose(y, 0, 2, 1, 3) for y in (k, v))
    distances = g.weight(1, 2 * length - 1, c, fan_in=1)
    p = g.transpose(g.reshape(g.linear(distances, c, bias=False), 1, -1, heads, size), 0, 2, 1, 3)
    with_u, with_v = (g.transpose(g.op("Add", q, g.weight(heads, size)), 0, 2, 1, 3) for _ in range(2))
    content = g.op("MatMul", with_u, g.transpose(k, 0, 1, 3, 2))
    place = g.op("MatMul", with_v, g.transpose(p, 0, 1, 3, 2))
    place = g.op("Pad", place, [0, 0, 0, 1, 0, 0, 0, 0], 0.0)
    place = g.slice(g.reshape(place, b, heads, 2 * length, length), 2, 1, 2 ** 63 - 1)
    place = g.slice(g.reshape(place, b, heads, length, 2 * length - 1), 3, 0, length)
    scores = g.op("Div", g.op("Add", content, place), math.sqrt(size))
    return g.linear(g.unheads(g.op("MatMul", g.op("Softmax", scores, axis=-1), v)), c)


def conformer(g, batch, c=256):
    x = g.op("Unsqueeze", g.input("mel", [batch, 512, 80]), [1])
    x = g.conv(g.conv(x, c, 3, 2, 0, act=relu), c, 3, 2, 0, act=relu)
    x = g.linear(g.reshape(g.transpose(x, 0, 2, 1, 3), batch, g.shape(x)[2], c * g.shape(x)[3]), c)
    for _ in range(4):
        x = g.op("Add", x, g.op("Mul", feed_forward(g, g.norm(x), 4 * c, silu), 0.5))
        x = g.op("Add", x, relative_attention(g, g.norm(x), 4))
        value, gate = g.split(g.conv(g.transpose(g.norm(x), 0, 2, 1), 2 * c, 1), [c, c], 1)
        y = g.conv(g.op("Mul", value, g.op("Sigmoid", gate)), c, 31, groups=c, act=silu)
        x = g.op("Add", x, g.transpose(g.conv(y, c, 1), 0, 2, 1))
        x = g.op("Add", x, g.op("Mul", feed_forward(g, g.norm(x), 4 * c, silu), 0.5))
        x = g.norm(x)
    g.output(g.op("LogSoftmax", g.linear(x, 500), axis=-1), "letters")


def wavenet(g, batch, time=4000, c=64):
    """Gated convolutions that look back; padded on the left."""
    x, skips = g.conv(g.input("samples", [batch, 1, time]), c, 1), None
    for dilation in [2 ** i for i in range(10)] * 2:
        y = g.op("Pad", x, [0, 0, dilation, 0, 0, 0], 0.0)
        value, gate = g.split(g.conv(y, 2 * c, 2, pad=0, dilation=dilation), [c, c], 1)
        y = g.op("Mul", g.op("Tanh", value), g.op("Sigmoid", gate))
        skip, y = g.conv(y, 128, 1), g.conv(y, c, 1, gain=0.5)
        skips = skip if skips is None else g.op("Add", skips, skip)
        x = g.op("Add", y, x)
    g.output(g.conv(g.conv(relu(g, skips), 128, 1, act=relu), 256, 1), "levels")


def conv_tasnet(g, batch, samples=16000):
    """Two voices apart: depthwise dilated convolutions with PRelu and normalization over everything."""
    def norm(x):
        c = g.shape(x)[1]
        mean = g.op("ReduceMean", x, axes=[1, 2], keepdims=1)
        x = g.op("Sub", x, mean)
        scale = g.op("Sqrt", g.op("Add", g.op("ReduceMean", g.op("Pow", x, 2.0), axes=[1, 2], keepdims=1), 1e-8))
        return g.op("Add", g.op("Mul", g.constant(g.random.uniform(0.9, 1.1, (c, 1)).astype(numpy.float32)), g.op("Div", x, scale)),
                    g.constant(g.random.uniform(-0.1, 0.1, (c, 1)).astype(numpy.float32)))

    def prelu(g, x):
        return g.op("PRelu", x, numpy.full((1, 1), 0.25, numpy.float32))

    sound = g.conv(g.op("Unsqueeze", g.input("samples", [batch, samples]), [1]), 256, 16, 8, 0, bias=False, act=relu)
    x, frames = g.conv(norm(sound), 128, 1), g.shape(sound)[2]
    for dilation in [2 ** i for i in range(8)]:
        y = norm(g.conv(x, 256, 1, act=prelu))
        y = norm(g.conv(y, 256, 3, dilation=dilation, groups=256, act=prelu))
        x = g.op("Add", x, g.conv(y, 128, 1, gain=0.5))
    masks = g.op("Sigmoid", g.conv(x, 512, 1))
    y = g.op("Mul", g.op("Unsqueeze", sound, [1]), g.reshape(masks, batch, 2, 256, frames))
    y = g.conv_transpose(g.reshape(y, 2 * batch, 256, frames), 1, 16, 8, bias=False)
    g.output(g.reshape(y, batch, 2, -1), "voices")


def hifigan(g, batch, frames=50):
    """A vocoder: transposed convolutions over time and dilated residual blocks."""
    x, c = g.conv(g.input("mel", [batch, 80, frames]), 256, 7), 256
    for rate, kernel in (8, 16), (8, 16), (2, 4), (2, 4):
        c //= 2
        x, parts = g.conv_transpose(leaky_relu(g, x), c, kernel, rate, (kernel - rate) // 2), []
        for k in 3, 7, 11:
            y = x
            for dilation in 1, 3, 5:
                z = g.conv(leaky_relu(g, y), c, k, dilation=dilation)
                y = g.op("Add", g.conv(leaky_relu(g, z), c, k, gain=0.5), y)
            parts.append(y)
        x = g.op("Div", g.op("Add", g.op("Add", parts[0], parts[1]), parts[2]), 3.0)
    g.output(g.op("Tanh", g.conv(leaky_relu(g, x), 1, 7, gain=0.3)), "samples")


# ---- text ----------------------------------------------------------------------------------------

def rotate(g, x, cosines, sines):
    half = g.shape(x)[-1] // 2
    turned = g.op("Concat", g.op("Neg", g.slice(x, 3, half, 2 ** 63 - 1)), g.slice(x, 3, 0, half), axis=-1)
    return g.op("Add", g.op("Mul", x, cosines), g.op("Mul", turned, sines))


def repeat_heads(g, x, times):
    """Of keys and values that several heads of queries share."""
    b, n, _, size = g.shape(x)
    x = g.op("Expand", g.op("Unsqueeze", x, [2]), [1, 1, times, 1, 1])
    return g.reshape(x, b, n * times, -1, size)


def llama_decode(g, batch, c=1024, heads=16, shared=4, vocabulary=16000):
    """One step, with the keys and values of the steps before as inputs."""
    size = c // heads
    x = g.op("Gather", g.weight(vocabulary, c, fan_in=1), g.input("tokens", [batch, 1], numpy.int64))
    place = g.input("position", [batch, 1], numpy.int64)
    angles = numpy.arange(2048)[:, None] * 10000.0 ** (-numpy.arange(0, size, 2) / size)
    angles = numpy.concatenate((angles, angles), 1)
    cosines, sines = (g.op("Unsqueeze", g.op("Gather", f(angles).astype(numpy.float32), place), [1])
                      for f in (numpy.cos, numpy.sin))
    for i in range(6):
        y = g.rms_norm(x)
        q = rotate(g, g.heads(g.linear(y, c, bias=False), heads), cosines, sines)
        k = rotate(g, g.heads(g.linear(y, c // shared, bias=False), heads // shared), cosines, sines)
        v = g.heads(g.linear(y, c // shared, bias=False), heads // shared)
        k, v = (g.op("Concat", g.input(f"past_{i}_{name}", [batch, heads // shared, "past", size]), new, axis=2)
                for name, new in (("key", k), ("value", v)))
        g.output(k, f"present_{i}_key")
        g.output(v, f"present_{i}_value")
        k, v = (repeat_heads(g, y, shared) for y in (k, v))
        scores = g.op("Div", g.op("MatMul", q, g.transpose(k, 0, 1, 3, 2)), math.sqrt(size))
        y = g.unheads(g.op("MatMul", g.op("Softmax", scores, axis=-1), v))
        x = g.op("Add", x, g.linear(y, c, bias=False))
        y = g.rms_norm(x)
        y = g.op("Mul", g.linear(y, 2816, bias=False, act=silu), g.linear(y, 2816, bias=False))
        x = g.op("Add", x, g.linear(y, c, bias=False))
    g.output(g.linear(g.rms_norm(x), vocabulary, bias=False), "logits")


def t5_small_encoder(g, batch, length=128):
    x = g.op("Gather", g.weight(32128, 512, fan_in=1), g.input("tokens", [batch, length], numpy.int64))
    places = g.weight(1, 8, length, length, fan_in=1)
    for _ in range(6):
        x = g.op("Add", x, g.self_attention(g.rms_norm(x), 8, bias=False, mask=places, scaled=False))
        x = g.op("Add", x, feed_forward(g, g.rms_norm(x), 2048, relu, bias=False))
    g.output(g.rms_norm(x), "states")


# ---- tables --------------------------------------------------------------------------------------

def dlrm(g, batch, rows=128):
    """Recommendation: embeddings of categories, products of all pairs."""
    n, size = 26, 64
    rows *= batch
    dense, categories = g.input("dense", [rows, 13]), g.input("categories", [rows, n], numpy.int64)
    for width in 512, 256, size:
        dense = g.linear(dense, width, act=relu)
    parts = [dense]
    for i in range(n):
        index = g.op("Gather", categories, numpy.int64(i), axis=1)
        parts.append(g.op("Gather", g.weight(1000, size), index))
    x = g.reshape(g.op("Concat", *parts, axis=1), rows, n + 1, size)
    pairs = g.reshape(g.op("MatMul", x, g.transpose(x, 0, 2, 1)), rows, -1)
    lower = [i * (n + 1) + j for i in range(n + 1) for j in range(i)]
    x = g.op("Concat", dense, g.op("Gather", pairs, lower, axis=1), axis=1)
    for width in 512, 256:
        x = g.linear(x, width, act=relu)
    g.output(g.op("Sigmoid", g.linear(x, 1)), "chance")


def boosted_trees(g, batch, rows=1000, trees=200, depth=6, features=30):
    """Full trees; node i has the children 2 i + 1 and 2 i + 2."""
    inner, all_nodes = 2 ** depth - 1, 2 ** (depth + 1) - 1
    node, leaf = numpy.arange(all_nodes), numpy.arange(inner, all_nodes)
    is_inner = numpy.tile(node < inner, trees)

    def at_inner(numbers):
        return numpy.where(is_inner, numbers, 0)

    x = g.op("TreeEnsembleRegressor", g.input("rows", [rows * batch, features]), domain="ai.onnx.ml", n_targets=1,
             nodes_treeids=numpy.repeat(numpy.arange(trees), all_nodes), nodes_nodeids=numpy.tile(node, trees),
             nodes_featureids=at_inner(g.random.integers(0, features, trees * all_nodes)),
             nodes_values=at_inner(g.random.standard_normal(trees * all_nodes)).astype(numpy.float32),
             nodes_modes=["BRANCH_LEQ" if each else "LEAF" for each in is_inner],
             nodes_truenodeids=at_inner(numpy.tile(2 * node + 1, trees)),
             nodes_falsenodeids=at_inner(numpy.tile(2 * node + 2, trees)),
             target_treeids=numpy.repeat(numpy.arange(trees), len(leaf)), target_nodeids=numpy.tile(leaf, trees),
             target_ids=numpy.zeros(trees * len(leaf), numpy.int64),
             target_weights=g.random.standard_normal(trees * len(leaf)).astype(numpy.float32))
    g.output(x, "predictions")


NETWORKS = [whisper_tiny_encoder, whisper_tiny_decoder, wav2vec2_base, conformer, wavenet, conv_tasnet, hifigan, llama_decode,
            t5_small_encoder, dlrm, boosted_trees]
