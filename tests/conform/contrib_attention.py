"""Cases of the attention operators of com.microsoft."""
import numpy

from contrib_cases import F16, F32, I32, I64, I8, U8, Case, Maker, scalar


def mask_of(m, kind, batch, queries, keys):
    if kind == "lengths":
        return m.ints(batch, low=1, high=keys + 1, dtype=I32)
    if kind == "spans":
        return numpy.concatenate([m.ints(batch, low=keys // 2 + 1, high=keys + 1, dtype=I32), m.ints(batch, high=keys // 2, dtype=I32)])
    if kind == "keys":
        mask = m.ints(batch, keys, high=2, dtype=I32)
    elif kind == "pairs":
        mask = m.ints(batch, queries, keys, high=2, dtype=I32)
    else:
        return None
    mask[..., 0] = 1
    return mask


def packed_cases():
    m, out = Maker("packed"), []
    for kind in (None, "lengths", "spans", "keys", "pairs"):
        for causal in (0, 1):
            for past in (0, 3):
                mask = mask_of(m, kind, 2, 4, 4 + past)
                inputs = [m.real(2, 4, 8), m.real(8, 24), m.real(24), mask, m.real(2, 2, 2, past, 4) if past else None]
                out.append(Case(f"Attention {kind} {causal} {past}", "Attention", inputs, {"num_heads": 2, "unidirectional": causal}, outputs=(True, True)))
                inputs = [m.bytes_of(U8, 2, 4, 8), m.bytes_of(I8, 8, 24), m.real(24), scalar(0.01), scalar(0.02), mask, scalar(120, U8), scalar(2, I8),
                          m.real(2, 2, 2, past, 4) if past else None]
                out.append(Case(f"QAttention {kind} {causal} {past}", "QAttention", inputs, {"num_heads": 2, "unidirectional": causal}, outputs=(True, True), output_types=(F32, F32)))
    out.append(Case("Attention bias", "Attention", [m.real(2, 4, 8), m.real(8, 24), m.real(24), None, None, m.real(1, 2, 4, 4)], {"num_heads": 2, "scale": 0.3}))
    out.append(Case("Attention widths", "Attention", [m.real(2, 4, 8), m.real(8, 28), m.real(28)], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]}))
    return out


def attention(q, k, v):
    """[batch, rows, heads, size] each, for what the oracle lacks."""
    scores = numpy.einsum("bqhe,bkhe->bhqk", q, k) / q.shape[3] ** 0.5
    probs = numpy.exp(scores - scores.max(-1, keepdims=True))
    probs /= probs.sum(-1, keepdims=True)
    return numpy.einsum("bhqk,bkhe->bqhe", probs, v).reshape(q.shape[0], q.shape[1], -1)


def multi_head_cases():
    m, out = Maker("mha"), []
    for kind in (None, "lengths", "keys", "pairs"):
        for causal in (0, 1):
            out.append(Case(f"MultiHeadAttention {kind} {causal}", "MultiHeadAttention",
                            [m.real(2, 4, 8), m.real(2, 4, 8), m.real(2, 4, 8), m.real(24), mask_of(m, kind, 2, 4, 4)], {"num_heads": 2, "unidirectional": causal}))
    out.append(Case("MultiHeadAttention cross", "MultiHeadAttention", [m.real(2, 3, 8), m.real(2, 5, 8), m.real(2, 5, 12), m.real(28), None, m.real(2, 2, 3, 5)], {"num_heads": 2}))
    out.append(Case("MultiHeadAttention heads", "MultiHeadAttention", [m.real(2, 3, 8), m.real(2, 2, 5, 4), m.real(2, 2, 5, 4)], {"num_heads": 2}))
    out.append(Case("MultiHeadAttention past", "MultiHeadAttention", [m.real(2, 3, 8), m.real(2, 3, 8), m.real(2, 3, 8), m.real(24), None, m.real(1, 2, 3, 5), m.real(2, 2, 2, 4), m.real(2, 2, 2, 4)],
                    {"num_heads": 2}, outputs=(True, True, True)))
    qkv, kv, q = m.real(2, 4, 2, 3, 8), m.real(2, 4, 2, 2, 8), m.real(2, 3, 2, 8)
    out.append(Case("MultiHeadAttention packed", "MultiHeadAttention", [qkv], {"num_heads": 2}, expected=[attention(*numpy.moveaxis(qkv, 3, 0))]))
    out.append(Case("MultiHeadAttention packed kv", "MultiHeadAttention", [q.reshape(2, 3, 16), kv], {"num_heads": 2},
                    expected=[attention(q, *numpy.moveaxis(kv, 3, 0))]))
    keep = numpy.array([[1, 1, 1, 1, 0, 1], [1, 0, 1, 1, 1, 1]], I32)
    for beams in (False, True):
        out.append(Case(f"DecoderMaskedMultiHeadAttention {beams}", "DecoderMaskedMultiHeadAttention",
                        [m.real(2, 1, 8), m.real(2, 1, 8), m.real(2, 1, 8), keep, None, m.real(2, 2, 9, 4), m.real(2, 2, 9, 4), scalar([5], I32),
                         scalar([2], I32) if beams else None, m.ints(1, 2, 9, high=2, dtype=I32) if beams else None, m.real(24)],
                        {"num_heads": 2, "past_present_share_buffer": 1}, outputs=(True, True, True)))
    return out


def rotary_tables(m, n, half, dtype=F32):
    angles = m.rng.uniform(-3, 3, (n, half))
    return numpy.cos(angles).astype(dtype), numpy.sin(angles).astype(dtype)


def rotary_cases():
    m, out = Maker("rotary"), []
    for interleaved in (0, 1):
        cos, sin = rotary_tables(m, 10, 4)
        for positions in (numpy.array([3], I64), m.ints(2, 5, high=10, dtype=I64)):
            out.append(Case(f"RotaryEmbedding {interleaved} {positions.ndim}", "RotaryEmbedding", [m.real(2, 5, 24), positions, cos, sin], {"interleaved": interleaved}))
            out.append(Case(f"RotaryEmbedding heads {interleaved} {positions.ndim}", "RotaryEmbedding", [m.real(2, 3, 5, 8), positions, cos, sin], {"interleaved": interleaved}))
        out.append(Case(f"RotaryEmbedding part {interleaved}", "RotaryEmbedding", [m.real(2, 5, 36), positions, cos, sin], {"interleaved": interleaved, "num_heads": 3, "rotary_embedding_dim": 8}))
        for layout in (0, 1):
            out.append(Case(f"MRotaryEmbedding {interleaved} {layout}", "MRotaryEmbedding", [m.real(2, 5, 24), m.ints(3, 2, 5, high=10, dtype=I64), cos, sin],
                            {"interleaved": interleaved, "mrope_layout": layout, "mrope_section": [2, 1, 1], "num_heads": 3}))
    return out


def grouped(m, batch, n, past, total, dtype=F32, packed=False, heads=(4, 2), size=16):
    width = size * (heads[0] + 2 * heads[1]) if packed else size * heads[0]
    query = m.real(batch, n, width, dtype=dtype)
    kv = [None, None] if packed else [m.real(batch, n, size * heads[1], dtype=dtype) for _ in range(2)]
    cache = [m.real(batch, heads[1], past, size, dtype=dtype) for _ in range(2)] if past else [None, None]
    return [query, *kv, *cache, numpy.array(total, I32) - 1, scalar(max(total), I32)]


def group_cases():
    m, out = Maker("gqa"), []
    base = {"num_heads": 4, "kv_num_heads": 2}
    for dtype in (F32, F16):
        for packed in (False, True):
            for rotary in (0, 1):
                cos, sin = rotary_tables(m, 16, 8, dtype)
                for name, n, past, total in (("prompt", 5, 0, (5, 5)), ("token", 1, 6, (7, 7)), ("chunk", 3, 6, (9,)), ("ragged", 1, 6, (7, 4))):
                    inputs = grouped(m, len(total), n, past, total, dtype, packed) + ([cos, sin] if rotary else [])
                    out.append(Case(f"GroupQueryAttention {dtype} {packed} {rotary} {name}", "GroupQueryAttention", inputs, base | {"do_rotary": rotary, "rotary_interleaved": rotary * int(packed)},
                                    outputs=(True, True, True), tolerance=5e-5, n_compared=1 if name == "ragged" else 3))
    inputs = grouped(m, 1, 5, 6, (11,))
    out.append(Case("GroupQueryAttention window", "GroupQueryAttention", inputs, base | {"local_window_size": 3}, outputs=(True, True, True)))
    out.append(Case("GroupQueryAttention softcap", "GroupQueryAttention", inputs, base | {"softcap": 1.5, "scale": 0.7}, outputs=(True, True, True)))
    out.append(Case("GroupQueryAttention smooth", "GroupQueryAttention", inputs, base | {"smooth_softmax": 1}, outputs=(True, True, True)))
    out.append(Case("GroupQueryAttention sinks", "GroupQueryAttention", inputs + [None, None, None, None, m.real(4)], base, outputs=(True, True, True)))
    out.append(Case("GroupQueryAttention bias", "GroupQueryAttention", inputs + [None, None, None, m.real(1, 4, 5, 11)], base, outputs=(True, True, True)))
    out.append(Case("GroupQueryAttention both ways", "GroupQueryAttention", inputs, base | {"causal": 0}, outputs=(True, True, True)))
    for kind in (1, 2):
        out.append(Case(f"GroupQueryAttention scores {kind}", "GroupQueryAttention", inputs, base | {"qk_output": kind}, outputs=(True,) * 4))
    cos, sin = rotary_tables(m, 16, 8)
    out.append(Case("GroupQueryAttention positions", "GroupQueryAttention", inputs + [cos, sin, m.ints(1, 5, high=16, dtype=I64)], base | {"do_rotary": 1}, outputs=(True, True, True)))
    return out


def coded_cases():
    """Caches of bytes, or of two numbers in a byte."""
    m, out = Maker("codes"), []
    for bits, dtype, low in ((8, I8, -128), (4, U8, 0)):
        for kind, n_scales in (("PER_TENSOR", (1,)), ("PER_CHANNEL", (1, 2, 1, 32))):
            for name, n, past, total in (("token", 1, 6, (7, 7)), ("chunk", 3, 6, (9,))):
                inputs = grouped(m, len(total), n, past, total, size=32) + [None] * 5
                inputs[3:5] = [m.ints(len(total), 2, past, 32 * bits // 8, low=low, high=low + 256, dtype=dtype) for _ in range(2)]
                inputs += [numpy.abs(m.real(*n_scales, scale=0.5 / bits)) + 0.01 for _ in range(2)]
                out.append(Case(f"GroupQueryAttention {bits} bits {kind} {name}", "GroupQueryAttention", inputs,
                                {"num_heads": 4, "kv_num_heads": 2, "k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits},
                                outputs=(True, True, True), output_types=(F32, dtype, dtype)))
    return out


def window_cases():
    m, out = Maker("window cache"), []
    cos, sin = rotary_tables(m, 32, 8)
    for name, n, room, total in (("filling", 2, 8, 6), ("full", 1, 8, 9), ("dropped", 3, 8, 14), ("long", 10, 8, 25), ("tight", 1, 5, 12)):
        inputs = grouped(m, 1, n, room, (total,)) + [cos, sin]
        out.append(Case(f"GroupQueryAttention window cache {name}", "GroupQueryAttention", inputs,
                        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 5, "sliding_window_cache": 1}, outputs=(True, True, True),
                        shared={1: 3, 2: 4}, n_compared=3 if name == "tight" else 1))
    return out


def sparse_cases():
    m, out = Maker("sparse"), []
    rows = numpy.array([[0, 1, 2, 4, 6], [0, 1, 3, 5, 8]], I32)
    columns = numpy.array([[0, 1, 1, 2, 2, 3, 0, 0], [0, 0, 1, 1, 2, 0, 2, 3]], I32)
    for name, n, total in (("prompt", 16, 16), ("token", 1, 30)):
        inputs = [m.real(1, n, 32), m.real(1, n, 16), m.real(1, n, 16), m.real(1, 2, 64, 8), m.real(1, 2, 64, 8), rows, columns,
                  scalar([total], I32), numpy.array([total], I32)]
        out.append(Case(f"SparseAttention {name}", "SparseAttention", inputs, {"num_heads": 4, "kv_num_heads": 2, "sparse_block_size": 16}, outputs=(True, True, True),
                        shared={1: 3, 2: 4}))
    return out


def linear_cases():
    m, out = Maker("linear"), []
    for rule in ("linear", "gated", "delta", "gated_delta"):
        for past in (False, True):
            inputs = [m.real(2, 5, 16), m.real(2, 5, 8, scale=0.3), m.real(2, 5, 12), m.real(2, 2, 4, 6) if past else None,
                      -numpy.abs(m.real(2, 5, 2)) if "gated" in rule else None, numpy.abs(m.real(2, 5, 2, scale=0.3)) if "delta" in rule else None]
            out.append(Case(f"LinearAttention {rule} {past}", "LinearAttention", inputs, {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule}, outputs=(True, True), tolerance=1e-4))
    return out


def all_cases():
    return packed_cases() + multi_head_cases() + rotary_cases() + group_cases() + coded_cases() + window_cases() + sparse_cases() + linear_cases()
