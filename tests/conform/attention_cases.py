"""How exporters spell attention: each function returns a graph. Used by attention_spellings.py."""
import collections

import numpy

from attention_builder import LOWEST

B, S, H, D = 2, 6, 4, 8  # batch, positions, heads, size of a head
E = H * D
FREE = ["batch", "seq", E]
Case = collections.namedtuple("Case", "name build opset n n_rotary needs_23")
CASES = []


def case(opset=17, n=1, n_rotary=0, needs_23=False):
    """n, n_rotary: how many attentions and rotary embeddings are to be found; needs_23: not all of them by what
    onnxruntime adds to older opsets."""
    def add(build):
        CASES.append(Case(build.__name__, build, opset, n, n_rotary, needs_23))
        return build
    return add


def padding(g, kind=numpy.int64):
    """An attention mask of 0 and 1 as the input of a model, with the sizes of its first input; every sequence keeps
    some position."""
    mask = numpy.ones((B, S), kind)
    mask[1, S // 2:] = 0
    dims = [dim.dim_param or dim.dim_value for dim in g.inputs[0].type.tensor_type.shape.dim[:2]]
    return g.input("attention_mask", mask, dims)


def additive(g, fill=LOWEST):
    """(1 - mask) * fill, of shape (batch, 1, 1, seq)."""
    wide = g.unsqueeze(g.unsqueeze(padding(g), 1), 2)
    return g.Mul(g.Sub(g.f(1.0), g.Cast(wide, to=1)), g.f(fill))


def core(g, q, kt, v, mask=None, scale=None, rank=4):
    scores = g.MatMul(q, kt)
    if scale:
        scores = scale(scores)
    if mask is not None:
        scores = g.Add(scores, mask)
    return g.MatMul(g.softmax(scores, rank), v)


def qkv(g, x, k_perm=(0, 2, 3, 1)):
    return (g.heads(g.linear(x, E, E), H, D), g.heads(g.linear(x, E, E), H, D, k_perm), g.heads(g.linear(x, E, E), H, D))


@case()
def bert_eager(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    y = core(g, q, k, v, additive(g), lambda s: g.Div(s, g.f(D ** 0.5)))
    g.output(g.merge(y, E))


@case(opset=11)
def bert_opset_11_computed_shapes(g):
    x = g.x("x", B, S, E, dims=FREE)

    def heads(y, perm):
        shape = g.computed_shape(g.size(y, 0), g.size(y, 1), H, D)
        return g.transpose(g.Reshape(y, shape), *perm)
    q, k, v = (heads(g.linear(x, E, E), p) for p in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
    y = g.transpose(core(g, q, k, v, additive(g, -10000.0), lambda s: g.Div(s, g.f(D ** 0.5))), 0, 2, 1, 3)
    g.output(g.Reshape(y, g.computed_shape(g.size(y, 0), g.size(y, 1), E)))


@case()
def bert_computed_scale(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    scale = g.Sqrt(g.Cast(g.slice(g.Shape(q), 0, 3, 4), to=1))
    y = core(g, q, k, v, None, lambda s: g.Div(s, scale))
    g.output(g.merge(y, E))


@case()
def sdpa_split_scale(g):
    """Scales both sides by the root of the root, guards against rows without keys."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    root = g.f(D ** -0.25)
    wide = g.Cast(g.unsqueeze(padding(g), 1, 2), to=9)
    bias = g.Where(wide, g.f(0.0), g.f(-numpy.inf))
    p = g.softmax(g.Add(g.MatMul(g.Mul(q, root), g.Mul(k, root)), bias))
    y = g.MatMul(g.Where(g.IsNaN(p), g.f(0.0), p), v)
    g.output(g.merge(y, E))


@case()
def sdpa_guarded_row_without_keys(g):
    """One sequence is hidden altogether: its result is 0, not NaN."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    mask = numpy.ones((B, S), bool)
    mask[1] = False
    wide = g.unsqueeze(g.input("mask", mask, ["batch", "seq"]), 1, 2)
    bias = g.Where(wide, g.f(0.0), g.f(-numpy.inf))
    p = g.softmax(g.Add(g.Mul(g.MatMul(q, k), g.f(D ** -0.5)), bias))
    y = g.MatMul(g.Where(g.IsNaN(p), g.f(0.0), p), v)
    g.output(g.merge(y, E))


@case()
def unguarded_row_without_keys(g):
    """The same without a guard: its result is NaN and stays so."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    mask = numpy.ones((B, S), bool)
    mask[1] = False
    wide = g.unsqueeze(g.input("mask", mask, ["batch", "seq"]), 1, 2)
    scores = g.Where(wide, g.Mul(g.MatMul(q, k), g.f(D ** -0.5)), g.f(-numpy.inf))
    g.output(g.merge(g.MatMul(g.softmax(scores), v), E))


@case()
def distilbert_masked_fill(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    hidden = g.Equal(g.unsqueeze(padding(g), 1, 2), g.scalar(0))
    scores = g.MatMul(g.Div(q, g.f(D ** 0.5)), k)
    hidden = g.Expand(hidden, g.Shape(scores))
    p = g.softmax(g.Where(hidden, g.f(LOWEST), scores))
    g.output(g.merge(g.MatMul(p, v), E))


@case()
def gpt2_packed_split(g):
    x = g.x("x", B, S, E, dims=FREE)
    packed = g.linear(x, E, 3 * E)
    q, k, v = g.split(packed, 2, [E, E, E])
    q, k, v = g.heads(q, H, D), g.heads(k, H, D, (0, 2, 3, 1)), g.heads(v, H, D)
    bias = numpy.tril(numpy.ones((1, 1, 16, 16), bool))
    n = g.unsqueeze(g.size(x, 1), 0)
    causal = g.Slice(g.Slice(g.constant(bias), g.i(0), n, g.i(2)), g.i(0), n, g.i(3))
    scores = g.Where(causal, g.Div(g.MatMul(q, k), g.f(D ** 0.5)), g.f(-10000.0))
    g.output(g.merge(g.MatMul(g.softmax(scores), v), E))


@case(opset=18)
def gpt2_static_causal_gemm(g):
    x = g.x("x", 1, S, E)
    packed = g.Gemm(g.reshape(x, -1, E), g.weight(E, 3 * E), g.weight(3 * E))
    q, k, v = g.split(g.reshape(packed, 1, S, 3 * E), 2, [E, E, E])
    q, k, v = g.heads(q, H, D), g.transpose(g.heads(k, H, D), 0, 1, 3, 2), g.heads(v, H, D)
    causal = numpy.triu(numpy.full((1, 1, S, S), LOWEST, numpy.float32), 1)
    y = core(g, q, k, v, g.constant(causal), lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.reshape(g.transpose(y, 0, 2, 1, 3), S, E))


@case()
def causal_from_ranges(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    n = g.size(x, 1)
    count = g.Range(g.scalar(0), n, g.scalar(1))
    allowed = g.LessOrEqual(count, g.unsqueeze(count, 1))
    bias = g.Where(allowed, g.f(0.0), g.f(-numpy.inf))
    y = core(g, q, k, v, g.unsqueeze(bias, 0, 1), lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def causal_from_triangle(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    n = g.size(x, 1)
    full = g.Expand(g.f(-numpy.inf), g.computed_shape(n, n))
    y = core(g, q, k, v, g.Trilu(full, g.constant(numpy.array(1, numpy.int64)), upper=1),
             lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def vit_packed_gather(g):
    """One projection, reshaped to (batch, seq, 3, heads, size), turned, and taken apart by Gather."""
    x = g.x("x", B, S, E, dims=FREE)
    five = g.reshape(g.linear(x, E, 3 * E), 0, 0, 3, H, D)
    turned = g.transpose(five, 2, 0, 3, 1, 4)
    q, k, v = (g.Gather(turned, g.scalar(i), axis=0) for i in range(3))
    y = core(g, g.Mul(q, g.f(D ** -0.5)), g.transpose(k, 0, 1, 3, 2), v)
    g.output(g.merge(y, E))


@case()
def vit_packed_split_squeeze(g):
    x = g.x("x", B, S, E, dims=FREE)
    five = g.transpose(g.reshape(g.linear(x, E, 3 * E), 0, 0, 3, H, D), 2, 0, 3, 1, 4)
    q, k, v = (g.squeeze(part, 0) for part in g.split(five, 0, [1, 1, 1]))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


def torch_mha(g, x, packed, mask=None):
    """nn.MultiheadAttention: sequence first, (batch * heads, seq, size)."""
    first = g.transpose(x, 1, 0, 2)
    if packed:
        four = g.unsqueeze(g.reshape(g.linear(first, E, 3 * E), 0, 0, 3, E), 0)
        parts = g.squeeze(g.transpose(four, 3, 1, 2, 0, 4), 3)
        q, k, v = (g.Gather(parts, g.scalar(i), axis=0) for i in range(3))
    else:
        q, k, v = (g.linear(first, E, E) for _ in range(3))
    n, batch = g.size(first, 0), g.size(first, 1)
    rows = g.computed_shape(n, g.Mul(batch, g.scalar(H)), D)
    q, k, v = (g.transpose(g.Reshape(part, rows), 1, 0, 2) for part in (q, k, v))
    scores = g.MatMul(g.Mul(q, g.f(D ** -0.5)), g.transpose(k, 0, 2, 1))
    if mask is not None:
        scores = g.Add(scores, mask)
    y = g.transpose(g.MatMul(g.softmax(scores, 3), v), 1, 0, 2)
    y = g.Reshape(y, g.computed_shape(g.Mul(n, batch), E))
    y = g.Gemm(y, g.weight(E, E), g.weight(E), transB=1)
    return g.transpose(g.Reshape(y, g.computed_shape(n, batch, E)), 1, 0, 2)


@case()
def torch_mha_packed(g):
    g.output(torch_mha(g, g.x("x", B, S, E, dims=FREE), True))


@case(opset=13)
def torch_mha_separate(g):
    g.output(torch_mha(g, g.x("x", B, S, E, dims=FREE), False))


@case()
def torch_mha_key_padding(g):
    """The mask is repeated for all heads and folded into the batch."""
    x = g.x("x", B, S, E, dims=FREE)
    hidden = numpy.zeros((B, S), bool)
    hidden[1, S // 2:] = True
    hidden = g.input("hidden", hidden, ["batch", "seq"])
    n, batch = g.size(x, 1), g.size(x, 0)
    wide = g.Expand(g.unsqueeze(hidden, 1, 2), g.computed_shape(batch, H, 1, n))
    rows = g.Reshape(wide, g.computed_shape(g.Mul(batch, g.scalar(H)), 1, n))
    bias = g.Where(rows, g.f(-numpy.inf), g.f(0.0))
    g.output(torch_mha(g, x, False, bias))


@case(opset=14)
def bart_three_dimensions(g):
    """(batch * heads, seq, size), the mask added in four dimensions in between."""
    x = g.x("x", B, S, E)

    def rows(y):
        return g.reshape(g.transpose(g.reshape(y, B, -1, H, D), 0, 2, 1, 3), B * H, -1, D)
    q, k, v = (rows(g.linear(x, E, E)) for _ in range(3))
    scores = g.MatMul(g.Mul(q, g.f(D ** -0.5)), g.transpose(k, 0, 2, 1))
    mask = additive(g)
    scores = g.reshape(g.Add(g.reshape(scores, B, H, S, S), mask), B * H, S, S)
    y = g.reshape(g.MatMul(g.softmax(scores, 3), v), B, H, S, D)
    g.output(g.reshape(g.transpose(y, 0, 2, 1, 3), B, S, E))


@case()
def t5_relative_bias(g):
    """No scale, no biases, a position bias that differs by head."""
    x = g.x("x", B, S, E, dims=["batch", S, E])
    q, k, v = (g.linear(x, E, E, bias=False) for _ in range(3))
    bucket = g.random.integers(0, 8, (S, S))
    bias = g.unsqueeze(g.transpose(g.Gather(g.weight(8, H), g.constant(bucket)), 2, 0, 1), 0)
    y = core(g, g.heads(q, H, D), g.heads(k, H, D, (0, 2, 3, 1)), g.heads(v, H, D), g.Add(bias, additive(g)))
    g.output(g.merge(y, E))


@case()
def swin_windows(g):
    n_windows, n = 3, 4
    x = g.x("x", B * n_windows, n, E)
    five = g.transpose(g.reshape(g.linear(x, E, 3 * E), B * n_windows, n, 3, H, D), 2, 0, 3, 1, 4)
    q, k, v = (g.Gather(five, g.scalar(i), axis=0) for i in range(3))
    scores = g.MatMul(g.Mul(q, g.f(D ** -0.5)), g.transpose(k, 0, 1, 3, 2))
    scores = g.Add(scores, g.unsqueeze(g.weight(H, n, n), 0))
    y = g.MatMul(g.softmax(scores), v)
    g.output(g.reshape(g.transpose(y, 0, 2, 1, 3), B * n_windows, n, E))


@case()
def swin_shifted_windows(g):
    """A mask by window is added while windows have an axis of their own."""
    n_windows, n = 3, 4
    x = g.x("x", B * n_windows, n, E)
    five = g.transpose(g.reshape(g.linear(x, E, 3 * E), B * n_windows, n, 3, H, D), 2, 0, 3, 1, 4)
    q, k, v = (g.Gather(five, g.scalar(i), axis=0) for i in range(3))
    scores = g.MatMul(g.Mul(q, g.f(D ** -0.5)), g.transpose(k, 0, 1, 3, 2))
    scores = g.Add(scores, g.unsqueeze(g.weight(H, n, n), 0))
    mask = numpy.where(g.random.random((1, n_windows, 1, n, n)) < 0.3, -100.0, 0.0).astype(numpy.float32)
    scores = g.Add(g.reshape(scores, B, n_windows, H, n, n), g.constant(mask))
    y = g.MatMul(g.softmax(g.reshape(scores, -1, H, n, n)), v)
    g.output(g.reshape(g.transpose(y, 0, 2, 1, 3), B * n_windows, n, E))


@case()
def clip_text_causal(g):
    x = g.x("x", B, S, E, dims=["batch", S, E])
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    causal = numpy.triu(numpy.full((S, S), -numpy.inf, numpy.float32), 1)
    y = core(g, g.Mul(q, g.f(D ** -0.5)), g.transpose(k, 0, 1, 3, 2), v, g.constant(causal))
    g.output(g.merge(y, E))


@case()
def whisper_cross(g):
    """Queries of one sequence, keys and values of another; the keys have no bias."""
    x = g.x("x", B, S, E, dims=FREE)
    memory = g.x("memory", B, 9, E, dims=["batch", "frames", E])
    q = g.heads(g.Mul(g.linear(x, E, E), g.f(D ** -0.5)), H, D)
    k = g.heads(g.linear(memory, E, E, bias=False), H, D, (0, 2, 3, 1))
    v = g.heads(g.linear(memory, E, E), H, D)
    g.output(g.merge(core(g, q, k, v), E))


@case()
def keras_einsum(g):
    """Projections and products as Einsum."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = (g.Add(g.Einsum(x, g.weight(E, H, D), equation="abc,cde->abde"), g.weight(H, D)) for _ in range(3))
    scores = g.Einsum(k, g.Mul(q, g.f(D ** -0.5)), equation="aecd,abcd->acbe")
    y = g.Einsum(g.softmax(scores), v, equation="acbe,aecd->abcd")
    g.output(g.Einsum(y, g.weight(H, D, E), equation="abcd,cde->abe"))


@case()
def tf_batch_matmul(g):
    """Heads split by a computed shape, keys turned on their own, masks subtracted."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = (g.transpose(g.Reshape(g.linear(x, E, E), g.computed_shape(g.size(x, 0), -1, H, D)), 0, 2, 1, 3)
               for _ in range(3))
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.f(D ** -0.5))
    mask = g.Cast(g.unsqueeze(padding(g, numpy.int32), 1, 2), to=1)
    hidden = g.Mul(g.Sub(g.f(1.0), mask), g.f(10000.0))
    y = g.transpose(g.MatMul(g.softmax(g.Sub(scores, hidden)), v), 0, 2, 1, 3)
    g.output(g.Reshape(y, g.computed_shape(g.size(x, 0), -1, E)))


def past_feed(g, heads=H, length=3):
    dims = ["batch", heads, "past", D]
    return g.x("past_k", B, heads, length, D, dims=dims), g.x("past_v", B, heads, length, D, dims=dims)


@case()
def past_and_present(g):
    x = g.x("x", B, S, E, dims=FREE)
    past_k, past_v = past_feed(g)
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    k, v = g.Concat(past_k, k, axis=2), g.Concat(past_v, v, axis=2)
    g.output(k, "present_k")
    g.output(v, "present_v")
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Div(s, g.f(D ** 0.5)))
    g.output(g.merge(y, E))


@case()
def past_grouped(g):
    """Keys and values of two heads, repeated after the past was joined on."""
    x = g.x("x", B, S, E, dims=FREE)
    past_k, past_v = past_feed(g, 2)
    q = g.heads(g.linear(x, E, E), H, D)
    k, v = (g.Concat(past, g.heads(g.linear(x, E, 2 * D), 2, D), axis=2) for past in (past_k, past_v))
    g.output(k, "present_k")
    g.output(v, "present_v")
    k, v = (repeat_heads(g, part, 2) for part in (k, v))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


def repeat_heads(g, x, n_kv):
    """repeat_kv: (batch, n_kv, seq, size) -> (batch, H, seq, size) by a computed Expand."""
    batch, n = g.size(x, 0), g.size(x, 2)
    wide = g.Expand(g.unsqueeze(x, 2), g.computed_shape(batch, n_kv, H // n_kv, n, D))
    return g.Reshape(wide, g.computed_shape(batch, H, n, D))


@case()
def grouped_expand(g):
    x = g.x("x", B, S, E, dims=FREE)
    q = g.heads(g.linear(x, E, E), H, D)
    k, v = (repeat_heads(g, g.heads(g.linear(x, E, 2 * D), 2, D), 2) for _ in range(2))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, additive(g), lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def grouped_static_causal(g):
    x = g.x("x", 1, S, E)
    q = g.heads(g.linear(x, E, E), H, D)
    k, v = (g.reshape(g.Expand(g.unsqueeze(g.heads(g.linear(x, E, 2 * D), 2, D), 2), g.i(1, 2, 2, S, D)), 1, H, S, D)
            for _ in range(2))
    causal = numpy.triu(numpy.full((1, 1, S, S), LOWEST, numpy.float32), 1)
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, g.constant(causal), lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def grouped_tile(g):
    x = g.x("x", B, S, E, dims=FREE)
    q = g.heads(g.linear(x, E, E), H, D)
    k, v = (g.reshape(g.Tile(g.unsqueeze(g.heads(g.linear(x, E, 2 * D), 2, D), 2), g.i(1, 1, 2, 1, 1)), 0, H, -1, D)
            for _ in range(2))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def repeated_in_another_order(g):
    """Heads 0, 1, 0, 1: no groups of queries share a head side by side."""
    x = g.x("x", B, S, E, dims=FREE)
    q = g.heads(g.linear(x, E, E), H, D)
    k, v = (g.Tile(g.heads(g.linear(x, E, 2 * D), 2, D), g.i(1, 2, 1, 1)) for _ in range(2))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def keys_of_one_sequence(g):
    """Keys and values are the same for the whole batch, repeated by Expand."""
    x = g.x("x", B, S, E)
    memory = g.x("memory", 1, 5, E)
    q = g.heads(g.linear(x, E, E), H, D)
    k, v = (g.heads(g.Expand(g.linear(memory, E, E), g.i(B, 1, 1)), H, D) for _ in range(2))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def one_key_head(g):
    """Multi-query: the product repeats keys and values by broadcasting."""
    x = g.x("x", B, S, E, dims=FREE)
    q = g.heads(g.linear(x, E, E), H, D)
    k, v = (g.unsqueeze(g.linear(x, E, D), 1) for _ in range(2))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case()
def gpt_neox_interleaved_packed(g):
    """Queries, keys and values lie side by side within each head."""
    x = g.x("x", B, S, E, dims=FREE)
    four = g.reshape(g.linear(x, E, 3 * E), 0, 0, H, 3 * D)
    q, k, v = (g.transpose(g.slice(four, 3, i * D, (i + 1) * D), 0, 2, 1, 3) for i in range(3))
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, additive(g), lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case(opset=21)
def qwen_norm_of_queries(g):
    """A normalization of every head's queries and keys in between."""
    x = g.x("x", B, S, E, dims=FREE)

    def normed(y):
        four = g.reshape(y, 0, 0, H, D)
        scale = g.Div(g.f(1.0), g.Sqrt(g.Add(g.ReduceMean(g.Mul(four, four), g.i(-1), keepdims=1), g.f(1e-6))))
        return g.transpose(g.Mul(g.weight(D), g.Mul(four, scale)), 0, 2, 1, 3)
    q, k = normed(g.linear(x, E, E)), normed(g.linear(x, E, E))
    v = g.heads(g.linear(x, E, E), H, D)
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case(opset=21, needs_23=True)
def gemma_softcap(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    scores = g.Mul(g.MatMul(q, k), g.f(D ** -0.5))
    scores = g.Mul(g.Tanh(g.Div(scores, g.f(30.0))), g.f(30.0))
    y = g.MatMul(g.softmax(g.Add(scores, additive(g))), v)
    g.output(g.merge(y, E))


@case()
def opt_max_with_lowest(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    scores = g.Add(g.MatMul(g.Mul(q, g.f(D ** -0.5)), k), additive(g))
    y = g.MatMul(g.softmax(g.Max(scores, g.f(LOWEST))), v)
    g.output(g.merge(y, E))


@case()
def single_head(g):
    """Of image autoencoders: (batch, pixels, channels), no heads."""
    x = g.x("x", B, E, 3, 3)
    flat = g.transpose(g.reshape(x, B, E, 9), 0, 2, 1)
    q, k, v = (g.linear(flat, E, E) for _ in range(3))
    y = g.MatMul(g.softmax(g.Mul(g.MatMul(q, g.transpose(k, 0, 2, 1)), g.f(E ** -0.5)), 3), v)
    g.output(y)


@case(n=2)
def two_layers_share_a_mask(g):
    x = g.x("x", B, S, E, dims=FREE)
    mask = additive(g)
    for _ in range(2):
        q, k, v = qkv(g, x)
        y = core(g, q, k, v, mask, lambda s: g.Div(s, g.f(D ** 0.5)))
        x = g.Add(x, g.linear(g.merge(y, E), E, E))
    g.output(x)


@case()
def other_size_of_values(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, _ = qkv(g, x)
    v = g.heads(g.linear(x, E, 2 * E), H, 2 * D)
    y = core(g, q, k, v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, 2 * E))


@case()
def mask_without_known_length(g):
    """An additive mask from outside whose sizes have names of their own."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    mask = g.input("mask", numpy.zeros((B, 1, 1, S), numpy.float32), ["batch", 1, 1, "total"])
    y = core(g, q, k, v, mask, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


# ---- rotary embeddings ---------------------------------------------------------------------------------------------


def angles(n, size, base=100.0):
    return numpy.outer(numpy.arange(n), base ** (-numpy.arange(0, size, 2) / size)).astype(numpy.float32)


def rotate_half(g, x, size):
    return g.Concat(g.Neg(g.slice(x, 3, size // 2, 1 << 62)), g.slice(x, 3, 0, size // 2), axis=-1)


def rotated(g, x, cos, sin, size=D):
    return g.Add(g.Mul(x, cos), g.Mul(rotate_half(g, x, size), sin))


def finish_rotary(g, q, k, v):
    y = core(g, q, g.transpose(k, 0, 1, 3, 2), v, additive(g), lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case(n_rotary=2)
def llama_rotary_constants(g):
    x = g.x("x", B, S, E, dims=["batch", S, E])
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    table = numpy.concatenate([angles(S, D)] * 2, -1)[None, None]
    cos, sin = g.constant(numpy.cos(table)), g.constant(numpy.sin(table))
    finish_rotary(g, rotated(g, q, cos, sin), rotated(g, k, cos, sin), v)


@case(opset=18, n_rotary=2, needs_23=True)
def llama_rotary_from_positions(g):
    """Cosines and sines of positions that are an input."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    positions = g.input("position_ids", numpy.tile(numpy.arange(S), (B, 1)), ["batch", "seq"])
    steps = g.constant((100.0 ** (-numpy.arange(0, D, 2) / D)).astype(numpy.float32)[None, :, None])
    steps = g.Expand(steps, g.computed_shape(g.size(positions, 0), D // 2, 1))
    turns = g.transpose(g.MatMul(steps, g.Cast(g.unsqueeze(positions, 1), to=1)), 0, 2, 1)
    both = g.Concat(turns, turns, axis=-1)
    cos, sin = (g.unsqueeze(g.Mul(part, g.f(1.0)), 1) for part in (g.Cos(both), g.Sin(both)))
    finish_rotary(g, rotated(g, q, cos, sin), rotated(g, k, cos, sin), v)


@case(n_rotary=2, needs_23=True)
def gpt_neox_rotary_table(g):
    """Rows of a table, taken by position; a quarter of each head is turned."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    size = D // 2
    table = numpy.concatenate([angles(16, size)] * 2, -1)
    positions = g.input("position_ids", numpy.tile(numpy.arange(S), (B, 1)), ["batch", "seq"])
    cos, sin = (g.unsqueeze(g.Gather(g.constant(part), positions), 1) for part in (numpy.cos(table), numpy.sin(table)))

    def partly(y):
        turned, rest = g.slice(y, 3, 0, size), g.slice(y, 3, size, 1 << 62)
        return g.Concat(rotated(g, turned, cos, sin, size), rest, axis=-1)
    finish_rotary(g, partly(q), partly(k), v)


@case(n_rotary=2)
def phi_partial_split(g):
    x = g.x("x", B, S, E, dims=["batch", S, E])
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    table = numpy.concatenate([angles(S, 4)] * 2, -1)
    cos, sin = g.constant(numpy.cos(table)), g.constant(numpy.sin(table))

    def partly(y):
        turned, rest = g.split(y, 3, [4, D - 4])
        return g.Concat(rotated(g, turned, cos, sin, 4), rest, axis=-1)
    finish_rotary(g, partly(q), partly(k), v)


@case(n_rotary=2)
def gptj_interleaved(g):
    """Neighbours are pairs; turned before heads and positions change places."""
    x = g.x("x", B, S, E, dims=["batch", S, E])
    table = numpy.repeat(angles(S, D), 2, -1)[None, :, None]
    cos, sin = g.constant(numpy.cos(table)), g.constant(numpy.sin(table))

    def turned(y):
        even, odd = (g.Slice(y, g.i(i), g.i(1 << 62), g.i(3), g.i(2)) for i in (0, 1))
        pairs = g.Concat(g.unsqueeze(g.Neg(odd), 4), g.unsqueeze(even, 4), axis=-1)
        return g.Add(g.Mul(y, cos), g.Mul(g.reshape(pairs, 0, 0, 0, D), sin))
    q, k = (g.transpose(turned(g.reshape(g.linear(x, E, E), 0, 0, H, D)), 0, 2, 1, 3) for _ in range(2))
    finish_rotary(g, q, k, g.heads(g.linear(x, E, E), H, D))


@case(n_rotary=2)
def complex_pairs(g):
    """Real and imaginary parts, one cosine for each pair."""
    x = g.x("x", B, S, E, dims=["batch", S, E])
    table = angles(S, D)[None, :, None]
    cos, sin = g.constant(numpy.cos(table)), g.constant(numpy.sin(table))

    def turned(y):
        five = g.reshape(y, 0, 0, H, D // 2, 2)
        real, imag = (g.Gather(five, g.scalar(i), axis=4) for i in (0, 1))
        a = g.Sub(g.Mul(real, cos), g.Mul(imag, sin))
        b = g.Add(g.Mul(real, sin), g.Mul(imag, cos))
        return g.reshape(g.Concat(g.unsqueeze(a, 4), g.unsqueeze(b, 4), axis=-1), 0, 0, H, D)
    q, k = (g.transpose(turned(g.reshape(g.linear(x, E, E), 0, 0, H, D)), 0, 2, 1, 3) for _ in range(2))
    finish_rotary(g, q, k, g.heads(g.linear(x, E, E), H, D))


@case(n_rotary=2)
def halves_with_past(g):
    """Halves turned one by one; the past is joined on after that."""
    x = g.x("x", 1, S, E)
    past_k, past_v = g.x("past_k", 1, H, 3, D), g.x("past_v", 1, H, 3, D)
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    cos, sin = g.constant(numpy.cos(angles(S, D))), g.constant(numpy.sin(angles(S, D)))

    def turned(y):
        a, b = g.split(y, 3, [D // 2, D // 2])
        return g.Concat(g.Sub(g.Mul(a, cos), g.Mul(b, sin)), g.Add(g.Mul(b, cos), g.Mul(a, sin)), axis=-1)
    k, v = g.Concat(past_k, turned(k), axis=2), g.Concat(past_v, v, axis=2)
    g.output(k, "present_k")
    g.output(v, "present_v")
    y = core(g, turned(q), g.transpose(k, 0, 1, 3, 2), v, None, lambda s: g.Mul(s, g.f(D ** -0.5)))
    g.output(g.merge(y, E))


@case(n_rotary=2)
def cosines_joined_last(g):
    """One number for each pair, put side by side with itself after the cosine was taken."""
    x = g.x("x", B, S, E, dims=["batch", S, E])
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    turns = g.input("turns", angles(S, D))
    cos, sin = (g.Concat(part, part, axis=-1) for part in (g.Cos(turns), g.Sin(turns)))
    finish_rotary(g, rotated(g, q, cos, sin), rotated(g, k, cos, sin), v)


@case(n_rotary=0)
def cosines_that_differ_in_a_pair(g):
    x = g.x("x", B, S, E, dims=["batch", S, E])
    q, k, v = qkv(g, x, (0, 2, 1, 3))
    cos, sin = g.weight(1, 1, S, D), g.weight(1, 1, S, D)
    finish_rotary(g, rotated(g, q, cos, sin), rotated(g, k, cos, sin), v)


# ---- what is no attention that one operator computes ---------------------------------------------------------------


@case(n=0)
def weights_are_an_output(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    p = g.softmax(g.Mul(g.MatMul(q, k), g.f(D ** -0.5)))
    g.output(p, "weights")
    g.output(g.merge(g.MatMul(p, v), E))


@case(n=0)
def softmax_over_queries(g):
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    p = g.Softmax(g.Mul(g.MatMul(q, k), g.f(D ** -0.5)), axis=2)
    g.output(g.merge(g.MatMul(p, v), E))


@case(n=0)
def scale_by_head(g):
    """Of cosine attention: a learned scale for every head."""
    x = g.x("x", B, S, E, dims=FREE)
    q, k, v = qkv(g, x)
    p = g.softmax(g.Mul(g.MatMul(q, k), g.weight(H, 1, 1)))
    g.output(g.merge(g.MatMul(p, v), E))
