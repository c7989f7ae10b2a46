"""Cases of com.microsoft operators that the oracle has no kernel for: what numpy makes of their definition."""
import ml_dtypes
import numpy
from onnx import TensorProto

from contrib_cases import F16, F32, I32, I64, I8, U8, Case, Maker, scalar


def softmax(scores):
    probs = numpy.exp(scores - scores.max(-1, keepdims=True))
    return probs / probs.sum(-1, keepdims=True)


def rotate(x, cos, sin):
    """The first pairs of the last axis; one of each pair stands in either half of what is turned."""
    half = cos.shape[-1]
    a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
    return numpy.concatenate([a * cos - b * sin, a * sin + b * cos, rest], -1)


# ---- Attention with what only GPUs do ----------------------------------------------------------

def packed_attention(x, w, bias, heads, mask=None, rotary=None):
    batch, n, _ = x.shape
    q, k, v = ((x @ w + bias).astype("f8").reshape(batch, n, 3, heads, -1).transpose(2, 0, 3, 1, 4))
    if rotary:
        angles = numpy.arange(n)[:, None] / 10000 ** (numpy.arange(0, rotary, 2) / rotary)
        q, k = (rotate(side, numpy.cos(angles), numpy.sin(angles)) for side in (q, k))
    scores = q @ k.swapaxes(2, 3) / q.shape[3] ** 0.5
    if mask is not None:
        scores = scores + numpy.where(mask[:, :, :n, :n] > 0, 0, -10000)
    return (softmax(scores) @ v).swapaxes(1, 2).reshape(batch, n, -1).astype(F32)


def attention_cases():
    m, out = Maker("gpu attention"), []
    x, w, bias = m.real(2, 4, 8), m.real(8, 24), m.real(24)
    mask = m.ints(2, 1, 6, 6, high=2, dtype=I32)
    mask[..., 0] = 1
    out.append(Case("Attention 4-D mask", "Attention", [x, w, bias, mask], {"num_heads": 2}, expected=[packed_attention(x, w, bias, 2, mask)]))
    for width in (0, 2):
        out.append(Case(f"Attention rotary {width}", "Attention", [x, w, bias], {"num_heads": 2, "do_rotary": 1, "rotary_embedding_dim": width},
                        expected=[packed_attention(x, w, bias, 2, rotary=width or 4)]))
    return out


# ---- sequences without padding -----------------------------------------------------------------

STARTS = [0, 1, 3, 7]  # of three sequences with room for 4 tokens each
OFFSETS = [0, 4, 5, 8, 9, 10, 11, 1, 2, 3, 6, 7]


def attend_tokens(q, k, v, bias=None):
    """[tokens, heads, size] each; bias [sequences, heads, 4, 4]."""
    out = []
    for s, (a, b) in enumerate(zip(STARTS, STARTS[1:])):
        scores = numpy.einsum("qhe,khe->hqk", q[a:b], k[a:b]) / q.shape[2] ** 0.5
        if bias is not None:
            scores = scores + bias[s if len(bias) > 1 else 0][:, :b - a, :b - a]
        out.append(numpy.einsum("hqk,khe->qhe", softmax(scores), v[a:b]).reshape(b - a, -1))
    return numpy.concatenate(out).astype(F32)


def token_cases():
    m, out = Maker("tokens"), []
    starts, offsets = numpy.array(STARTS, I32), numpy.array(OFFSETS, I32).reshape(3, 4)
    x, w, bias = m.real(7, 6), m.real(6, 20), m.real(20)
    q, k, v = numpy.split((x @ w + bias).astype("f8"), [6, 12], 1)
    for name, scores in (("plain", None), ("bias", m.real(3, 2, 4, 4)), ("one bias", m.real(1, 2, 4, 4))):
        expected = attend_tokens(q.reshape(7, 2, 3), k.reshape(7, 2, 3), v.reshape(7, 2, 4), scores)
        out.append(Case(f"PackedAttention {name}", "PackedAttention", [x, w, bias, offsets, starts, scores], {"num_heads": 2, "qkv_hidden_sizes": [6, 6, 8]}, expected=[expected]))
    q, k, v, bias = m.real(7, 6), m.real(7, 6), m.real(7, 8), m.real(20)
    parts = [a + b for a, b in zip((q, k, v), numpy.split(bias, [6, 12]))]
    expected = attend_tokens(*(a.astype("f8").reshape(7, 2, -1) for a in parts))
    out.append(Case("PackedMultiHeadAttention", "PackedMultiHeadAttention", [q, k, v, bias, offsets, starts], {"num_heads": 2}, expected=[expected]))
    qkv = m.real(7, 2, 3, 4)
    out.append(Case("PackedMultiHeadAttention together", "PackedMultiHeadAttention", [qkv, None, None, None, offsets, starts], {"num_heads": 2},
                    expected=[attend_tokens(*qkv.astype("f8").transpose(2, 0, 1, 3))]))
    padded = m.real(3, 4, 5)
    tokens = padded.reshape(12, 5)[OFFSETS[:7]]
    out.append(Case("RemovePadding", "RemovePadding", [padded, numpy.array([1, 2, 4], I32)], outputs=(True,) * 4, output_types=(F32, I32, I32, I32),
                    expected=[tokens, offsets, starts, numpy.array([4], I32)]))
    restored = numpy.zeros((12, 5), F32)
    restored[OFFSETS[:7]] = tokens
    out.append(Case("RestorePadding", "RestorePadding", [tokens, offsets], expected=[restored.reshape(3, 4, 5)]))
    return out


def bucket(distance, n, most, both_ways):
    """Of T5: each small distance has its own, the others share by their logarithm."""
    first = 0
    if both_ways:
        n //= 2
        first, distance = (n if distance > 0 else 0), abs(distance)
    else:
        distance = max(-distance, 0)
    exact = n // 2
    if distance < exact:
        return first + distance
    return first + min(exact + int(numpy.log(distance / exact) / numpy.log(most / exact) * (n - exact)), n - 1)


def position_cases():
    m, out = Maker("positions"), []
    for both_ways in (0, 1):
        table = m.real(16, 3)
        buckets = numpy.array([[bucket(k - q, 16, 20, both_ways) for k in range(30)] for q in range(30)])
        out.append(Case(f"RelativePositionBias {both_ways}", "RelativePositionBias", [table, scalar(30, I64), scalar(30, I64)],
                        {"is_bidirectional": both_ways, "max_distance": 20}, constants=(1, 2), expected=[table.reshape(3, 16)[:, buckets][None]]))
    query, query_bias, positions = m.real(2, 4, 6), m.real(6), m.real(1, 2, 4, 4)
    weight, bias, eco = m.real(3, 8), m.real(8), m.real(1, 2, 1, 1)
    heads = (query + query_bias).astype("f8").reshape(2, 4, 2, 3).swapaxes(1, 2)
    u, r = numpy.split(1 / (1 + numpy.exp(-(heads @ weight + bias).reshape(2, 2, 4, 2, 4).sum(-1))), 2, -1)
    out.append(Case("GatedRelativePositionBias", "GatedRelativePositionBias", [query, query_bias, positions, weight, bias, eco], {"num_heads": 2},
                    expected=[((u * (r * eco - 1) + 2) * positions).astype(F32)]))
    return out


# ---- PagedAttention ----------------------------------------------------------------------------

class Pages:
    """Two sequences, one with a past, over a cache of blocks."""
    heads, kv_heads, size, block = 4, 2, 8, 4
    starts, past, table = [0, 3, 5], [6, 0], [[4, 1, 2], [0, 3, 5]]

    def __init__(self, m, kv_heads=2):
        self.kv_heads = kv_heads
        tokens = self.starts[-1]
        self.q = m.real(tokens, self.heads, self.size, dtype=F16)
        self.k, self.v = (m.real(tokens, kv_heads, self.size, dtype=F16) for _ in range(2))
        self.caches = [m.real(6, self.block, kv_heads, self.size, dtype=F16) for _ in range(2)]

    def inputs(self, packed=False):
        flat = [a.reshape(len(a), -1) for a in (self.q, self.k, self.v)]
        qkv = [numpy.concatenate(flat, 1), None, None] if packed else flat
        return qkv + self.caches + [numpy.array(a, I32) for a in (self.starts, self.past, self.table)]

    def positions(self):
        return numpy.concatenate([past + numpy.arange(b - a) for past, a, b in zip(self.past, self.starts, self.starts[1:])])

    def slot(self, sequence, position):
        return self.table[sequence][position // self.block] * self.block + position % self.block

    def slots(self):
        return [self.slot(s, self.past[s] + i) for s in range(2) for i in range(self.starts[s + 1] - self.starts[s])]

    def attend(self, q, caches, value_size=None, window=None):
        """Over caches that have the new rows already."""
        out = []
        rows = [cache.reshape(-1, self.kv_heads, self.size).astype("f8") for cache in caches]
        for s, t in ((s, t) for s in range(2) for t in range(self.starts[s], self.starts[s + 1])):
            n = self.past[s] + t - self.starts[s] + 1
            seen = [self.slot(s, i) for i in range(max(0, n - window) if window else 0, n)]
            k, v = (numpy.repeat(side[seen], self.heads // self.kv_heads, 1) for side in rows)
            probs = softmax(numpy.einsum("he,khe->hk", q[t].astype("f8"), k) / self.size ** 0.5)
            out.append(numpy.einsum("hk,khe->he", probs, v[..., :value_size]).reshape(-1))
        return numpy.array(out).astype(F16)


def written(cache, slots, rows):
    copy = cache.copy()
    flat = copy.reshape(-1, *cache.shape[2:])
    for slot, row in zip(slots, rows):
        if slot >= 0:
            flat[slot] = row
    return copy


def paged_cases():
    m, out = Maker("pages"), []
    p = Pages(m)
    base, all_outputs = {"num_heads": 4, "kv_num_heads": 2}, (True, True, True)
    caches = [written(c, p.slots(), rows) for c, rows in zip(p.caches, (p.k, p.v))]
    for packed in (False, True):
        out.append(Case(f"PagedAttention {packed}", "PagedAttention", p.inputs(packed), base, outputs=all_outputs, expected=[p.attend(p.q, caches), *caches]))
    out.append(Case("PagedAttention window", "PagedAttention", p.inputs(), base | {"local_window_size": 3}, expected=[p.attend(p.q, caches, window=3)]))
    cos, sin = (f(numpy.arange(16)[:, None] * numpy.array([1, 0.3, 0.1])).astype(F16) for f in (numpy.cos, numpy.sin))
    turn = [rotate(x.astype("f8"), cos[p.positions()][:, None], sin[p.positions()][:, None]).astype(F16) for x in (p.q, p.k)]
    turned = [written(p.caches[0], p.slots(), turn[1]), caches[1]]
    out.append(Case("PagedAttention rotary", "PagedAttention", p.inputs() + [cos, sin], base | {"do_rotary": 1}, outputs=all_outputs,
                    expected=[p.attend(turn[0], turned), *turned]))
    slots = numpy.array(p.slots(), I32)
    slots[1] = -1
    skipped = [written(c, slots, rows) for c, rows in zip(p.caches, (p.k, p.v))]
    out.append(Case("PagedAttention slots", "PagedAttention", p.inputs() + [None, None, slots], base, outputs=all_outputs, expected=[p.attend(p.q, skipped), *skipped]))
    return out + latent_cases(m) + coded_page_cases(m)


def latent_cases(m):
    p = Pages(m, kv_heads=1)
    inputs = p.inputs()
    inputs[2] = inputs[4] = None
    cache = written(p.caches[0], p.slots(), p.k)
    return [Case("PagedAttention latent", "PagedAttention", inputs,
                 {"num_heads": 4, "kv_num_heads": 1, "kv_cache_layout": "LATENT", "v_head_size": 6, "scale": p.size ** -0.5},
                 outputs=(True, True), expected=[p.attend(p.q, [cache, cache], value_size=6), cache])]


def coded_page_cases(m):
    p, out = Pages(m), []
    for kind, shape in (("PER_TENSOR", (1,)), ("PER_CHANNEL", (2, 1, 8))):
        scales = [(numpy.abs(m.real(*shape)) / 50 + 0.02).astype(F32) for _ in range(2)]
        codes = [m.bytes_of(I8, *p.caches[0].shape) for _ in range(2)]
        by = [s.reshape(-1) if kind == "PER_TENSOR" else s.reshape(2, 8) for s in scales]
        fresh = [numpy.clip(numpy.round(rows.astype(F32) / scale), -128, 127).astype(I8) for rows, scale in zip((p.k, p.v), by)]
        codes_out = [written(c, p.slots(), rows) for c, rows in zip(codes, fresh)]
        inputs = p.inputs() + [None] * 6 + scales
        inputs[3:5] = codes
        out.append(Case(f"PagedAttention {kind}", "PagedAttention", inputs,
                        {"num_heads": 4, "kv_num_heads": 2, "k_quant_type": kind, "v_quant_type": kind}, outputs=(True, True, True), output_types=(F16, I8, I8),
                        expected=[p.attend(p.q, [c * scale for c, scale in zip(codes_out, by)]), *codes_out]))
    return out


# ---- products ----------------------------------------------------------------------------------

def blob_cases():
    """Weights of 4 bits in a blob: columns in blocks of 32, each with its scale and zero point."""
    m, out = Maker("blob"), []
    for kind in (0, 1):
        k, n = 70, 5
        blocks = -(-k // 32)
        scales, zeros = numpy.abs(m.real(n, blocks)), m.ints(n, blocks, high=16) if kind else numpy.full((n, blocks), 8, U8)
        codes = m.ints(n, blocks, 32, high=16)
        weights = ((codes.astype(F32) - zeros[..., None]) * scales[..., None]).reshape(n, -1)[:, :k].T
        parts = [scales.astype(F32)[..., None].view(U8)] + ([zeros[..., None]] if kind else []) + [codes[..., :16] | codes[..., 16:] << 4]
        blob = numpy.concatenate(parts, -1).reshape(-1)
        x = m.real(2, 3, k)
        out.append(Case(f"MatMulFpQ4 {kind}", "MatMulFpQ4", [x, blob, numpy.array([k, n], I64)], {"blk_quant_type": kind}, constants=(1, 2), expected=[x @ weights]))
    return out


def float_block_cases():
    """Weights of 4 and 8 bit floats, a scale for every block of a row."""
    m, out = Maker("float blocks"), []
    k, n, block = 40, 5, 16
    x = m.real(3, k, dtype=F16)
    by_block = numpy.arange(k) // block
    codes, scales, whole = m.ints(n, k, high=16), m.ints(n, 3, low=32, high=64), numpy.array(0.3, F32)
    values = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], F32)[codes & 7] * numpy.where(codes & 8, -1, 1)
    weights = (values * scales.view(ml_dtypes.float8_e4m3fn).astype(F32)[:, by_block] * whole).astype(F16)
    bias = m.real(n, dtype=F16)
    out.append(Case("MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp4Weight", [x, codes[:, ::2] | codes[:, 1::2] << 4, scales, whole, None, bias],
                    {"block_size": block}, constants=(1, 2, 3), expected=[(x.astype(F32) @ weights.astype(F32).T + bias).astype(F16)]))
    small = m.real(n, k, scale=3).astype(ml_dtypes.float8_e4m3fn)
    scales = numpy.abs(m.real(n, 3))
    weights = (small.astype(F32) * scales[:, by_block]).astype(F16).astype(F32)
    for a_scale in (None, numpy.array(0.05, F32)):
        rows = x.astype(F32) if a_scale is None else (x.astype(F32) / a_scale).astype(ml_dtypes.float8_e4m3fn).astype(F32) * a_scale
        out.append(Case(f"MatMulBlockQuantizedFp8Weight {a_scale}", "MatMulBlockQuantizedFp8Weight", [x, small.view(U8), scales, a_scale], {"block_size": block},
                        constants=(1, 2) + ((3,) if a_scale is not None else ()), elems={1: TensorProto.FLOAT8E4M3FN}, expected=[(rows @ weights.T).astype(F16)]))
    return out


def float_expert_cases():
    """Experts whose weights are small floats with a scale for every block and one for every expert."""
    m, out = Maker("float experts"), []
    x, scores, whole = m.real(5, 32), m.real(5, 4), [numpy.abs(m.real(4)) + 0.1 for _ in range(2)]
    four = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], F32)
    for kind, block, elem, scale_type in (("fp4", 32, TensorProto.FLOAT8E8M0, ml_dtypes.float8_e8m0fnu), ("nvfp4", 16, TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn), ("fp8", 0, None, None)):
        weights, values, scales = [], [], []
        for rows in (64, 32):
            columns = 32 if rows == 64 else 64
            if block:
                codes = m.ints(4, rows, columns, high=16)
                scales.append(m.ints(4, rows, columns // block, low=120, high=130) if kind == "fp4" else m.ints(4, rows, columns // block, low=32, high=64))
                by = numpy.repeat(scales[-1].view(scale_type).astype(F32), block, 2)
                values.append(four[codes & 7] * numpy.where(codes & 8, -1, 1) * by)
                weights.append(codes[..., ::2] | codes[..., 1::2] << 4)
            else:
                small = m.real(4, rows, columns).astype(ml_dtypes.float8_e4m3fn)
                values.append(small.astype(F32))
                weights.append(small.view(U8))
                scales.append(None)
        up, down = (v * w[:, None, None] for v, w in zip(values, whole))
        best = numpy.argsort(scores, 1)[:, -2:]
        shares = softmax(numpy.take_along_axis(scores, best, 1).astype("f8"))
        expected = numpy.array([sum(s * (down[e] @ numpy.maximum(up[e] @ row, 0)) for e, s in zip(chosen, share)) for row, chosen, share in zip(x, best, shares)])
        inputs = [x, scores, weights[0], scales[0], None, weights[1], scales[1], *[None] * 8, *whole]
        elems = {3: elem, 6: elem} if block else {2: TensorProto.FLOAT8E4M3FN, 5: TensorProto.FLOAT8E4M3FN}
        out.append(Case(f"QMoE {kind}", "QMoE", inputs, {"k": 2, "quant_type": kind}, constants=(2, 5) + ((3, 6) if block else ()), elems=elems, expected=[expected.astype(F32)]))
    return out


def sparse_mixer_cases():
    """Two experts for each token, each with its share among those that come close to it."""
    m = Maker("sparse mixer")
    x, scores = m.real(6, 4), m.real(6, 8)
    scores[0, 3:5] = scores[0].max() * numpy.array([1.001, 1.002], F32) + 0.5
    up, down = m.real(8, 5, 4), m.real(8, 4, 5)
    out = numpy.zeros_like(x)
    for t, row in enumerate(scores):
        first = int(row.argmax())
        for best in (first, int(numpy.where(numpy.arange(8) == first, -numpy.inf, row).argmax())):
            close = ~(row[best] - row > 0.02 * numpy.maximum(numpy.abs(row), row[best]))
            close[first] &= best == first
            share = 1 / numpy.exp(row[close] - row[best]).sum()
            out[t] += share * (down[best] @ numpy.maximum(up[best] @ x[t], 0))
    return [Case("MoE sparse mixer", "MoE", [x, scores, up, None, down], {"k": 2, "use_sparse_mixer": 1}, expected=[out])]


def state_cases():
    """A causal convolution that keeps its states after the last positions."""
    m = Maker("states")
    x, taps, past = m.real(2, 5, 2), m.real(5, 1, 4), m.real(3, 2, 5, 3)
    line = numpy.concatenate([past[-1], x], 2)
    out = numpy.stack([(line[..., i:i + 4] * taps[:, 0]).sum(-1) for i in range(2)], -1)
    states = numpy.stack([numpy.zeros_like(past[0]), line[..., 1:4], line[..., 2:5]])
    return [Case("CausalConvWithState states", "CausalConvWithState", [x, taps, None, past], {"state_window": 3}, outputs=(True, True), expected=[out, states])]


def all_cases():
    return attention_cases() + token_cases() + position_cases() + paged_cases() + blob_cases() + float_block_cases() + float_expert_cases() + sparse_mixer_cases() + state_cases()
