"""Cases of com.microsoft operators: one node, random inputs. Attention is in contrib_attention.py."""
import dataclasses
import zlib

import numpy
import onnx
from onnx import helper

MS, NCHWC = "com.microsoft", "com.microsoft.nchwc"
F32, F16, U8, I8, I32, I64 = "f4", "f2", "u1", "i1", "i4", "i8"


@dataclasses.dataclass
class Case:
    name: str
    op: str
    inputs: list                  # arrays; None: left out
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: tuple = (True,)      # which are wanted
    constants: tuple = ()         # inputs that stand in the model
    domain: str = MS
    output_types: tuple = ()      # numpy names, as far as they differ from input 0
    elems: dict = dataclasses.field(default_factory=dict)  # input number to ONNX type, where numpy has none
    dims: dict = dataclasses.field(default_factory=dict)   # and to its shape
    tolerance: float = 2e-5
    steps: int = 0                # integers may differ by
    expected: list = None         # instead of the oracle's outputs
    n_compared: int = 9           # outputs that have a meaning
    shared: dict = dataclasses.field(default_factory=dict)  # output number to the input whose memory it has in the oracle

    def elem_of(self, i):
        return self.elems.get(i) or helper.np_dtype_to_tensor_dtype(self.inputs[i].dtype)

    def dims_of(self, i):
        return self.dims.get(i) or self.inputs[i].shape

    def elem_of_output(self, i):
        name = self.output_types[i] if i < len(self.output_types) else None
        return helper.np_dtype_to_tensor_dtype(numpy.dtype(name) if name else self.inputs[0].dtype)


def generator(name):
    return numpy.random.default_rng(zlib.crc32(name.encode()))


class Maker:
    """Random arrays for one case."""

    def __init__(self, name):
        self.rng = generator(name)

    def real(self, *shape, dtype=F32, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(dtype)

    def ints(self, *shape, low=0, high=256, dtype=U8):
        return self.rng.integers(low, high, shape).astype(dtype)

    def bytes_of(self, dtype, *shape):
        info = numpy.iinfo(dtype)
        return self.ints(*shape, low=info.min, high=info.max + 1, dtype=dtype)


def scalar(value, dtype=F32):
    return numpy.array(value, dtype)


# ---- products and activations ------------------------------------------------------------------

def fused_cases():
    m, out = Maker("fused"), []
    for activation, params in ((None, None), ("Relu", None), ("Clip", [-0.5, 0.75]), ("LeakyRelu", [0.2]),
                               ("HardSigmoid", [0.3, 0.4]), ("Tanh", None), ("Sigmoid", None)):
        attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "group": 2}
        if activation:
            attributes["activation"] = activation
        if params:
            attributes["activation_params"] = params
        for has_sum in (False, True):
            inputs = [m.real(2, 4, 7, 6), m.real(6, 2, 3, 3), m.real(6)] + ([m.real(2, 6, 7, 6)] if has_sum else [])
            out.append(Case(f"FusedConv {activation} {has_sum}", "FusedConv", inputs, attributes))
    for trans_a in (0, 1):
        for trans_b in (0, 1):
            a, b = m.real(*((5, 4) if trans_a else (4, 5))), m.real(*((6, 5) if trans_b else (5, 6)))
            out.append(Case(f"FusedGemm {trans_a}{trans_b}", "FusedGemm", [a, b, m.real(6)],
                            {"activation": "LeakyRelu", "activation_alpha": 0.1, "transA": trans_a,
                             "transB": trans_b, "alpha": 0.5, "beta": 2.0}))
    for dtype in (F32, "f8"):
        for ta, tb, ba, bb in ((0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1),
                               (1, 0, 1, 0), (0, 1, 1, 1)):
            a, b = (2, 3, 4, 5), (2, 3, 5, 6)
            a = a[:2] + (a[3], a[2]) if ta else a
            b = b[:2] + (b[3], b[2]) if tb else b
            a = (a[2], a[0], a[1], a[3]) if ba else a
            b = (b[2], b[0], b[1], b[3]) if bb else b
            out.append(Case(f"FusedMatMul {dtype} {ta}{tb}{ba}{bb}", "FusedMatMul", [m.real(*a, dtype=dtype), m.real(*b, dtype=dtype)],
                            {"transA": ta, "transB": tb, "transBatchA": ba, "transBatchB": bb, "alpha": 0.25}))
    out.append(Case("TransposeMatMul", "TransposeMatMul", [m.real(3, 5, 4), m.real(5, 6)], {"transA": 1}))
    return out


def activation_cases():
    m, out = Maker("activation"), []
    out.append(Case("Gelu", "Gelu", [m.real(3, 5, 7, scale=2)]))
    out.append(Case("FastGelu", "FastGelu", [m.real(3, 5, 8, scale=2), m.real(8)]))
    out.append(Case("FastGelu plain", "FastGelu", [m.real(3, 5, 8, scale=2)]))
    out.append(Case("FastGelu half", "FastGelu", [m.real(3, 5, 8, dtype=F16), m.real(8, dtype=F16)]))
    out.append(Case("BiasGelu", "BiasGelu", [m.real(3, 5, 8), m.real(8)]))
    out.append(Case("QuickGelu", "QuickGelu", [m.real(3, 5, 8)], {"alpha": 1.5}))
    x, bias = m.real(2, 3, 4, 5), m.real(2, 1, 4, 5)
    shifted = numpy.exp(x + bias - (x + bias).max(-1, keepdims=True))
    out.append(Case("BiasSoftmax", "BiasSoftmax", [x, bias], {"axis": 3, "is_inner_broadcast": 1},
                    expected=[shifted / shifted.sum(-1, keepdims=True)]))
    x, bias = m.real(2, 3, 8), m.real(8)
    gated = x + bias
    right = gated[..., 4:].astype("f8")
    gelu = 0.5 * right * (1 + numpy.vectorize(__import__("math").erf)(right / 2 ** 0.5))
    out.append(Case("BiasSplitGelu", "BiasSplitGelu", [x, bias], expected=[(gated[..., :4] * gelu).astype(F32)]))
    x, bias, skip = m.real(2, 3, 8), m.real(8), m.real(2, 3, 8)
    out.append(Case("BiasAdd", "BiasAdd", [x, bias, skip], expected=[x + bias + skip]))
    return out


# ---- normalizations ----------------------------------------------------------------------------

def norm_cases():
    m, out = Maker("norm"), []
    for dtype in (F32, F16):
        for skip in ((2, 3, 8), (1, 3, 8), (3, 8)):
            for beta, bias in ((True, True), (False, False), (True, False), (False, True)):
                inputs = [m.real(2, 3, 8, dtype=dtype), m.real(*skip, dtype=dtype), m.real(8, dtype=dtype),
                          m.real(8, dtype=dtype) if beta else None, m.real(8, dtype=dtype) if bias else None]
                out.append(Case(f"SkipLayerNormalization {dtype} {len(skip)}{skip[0]} {beta} {bias}", "SkipLayerNormalization",
                                inputs, {"epsilon": 1e-5}, outputs=(True, False, False, True)))
        inputs = [m.real(2, 3, 8, dtype=dtype), m.real(2, 3, 8, dtype=dtype), m.real(8, dtype=dtype), m.real(8, dtype=dtype)]
        out.append(Case(f"SkipSimplifiedLayerNormalization {dtype}", "SkipSimplifiedLayerNormalization", inputs,
                        {"epsilon": 1e-5}, outputs=(True, False, False, True)))
    out.append(Case("GatedRMSNorm", "GatedRMSNorm", [m.real(2, 3, 12), m.real(4), m.real(2, 3, 12)]))
    return out + embed_cases() + group_norm_cases()


def embed_cases():
    m, out = Maker("embed"), []
    for segment in (False, True):
        for mask in (False, True):
            for positions in (False, True):
                inputs = [m.ints(2, 4, high=9, dtype=I32), m.ints(2, 4, high=2, dtype=I32) if segment else None,
                          m.real(9, 8), m.real(6, 8), m.real(2, 8) if segment else None, m.real(8), m.real(8),
                          m.ints(2, 4, high=2, dtype=I32) if mask else None,
                          m.ints(2, 4, high=6, dtype=I32) if positions else None]
                out.append(Case(f"EmbedLayerNormalization {segment} {mask} {positions}", "EmbedLayerNormalization", inputs,
                                {"epsilon": 1e-5}, outputs=(True, True, True), output_types=(F32, I32, F32)))
    quantized = [m.bytes_of(U8, 9, 8), m.bytes_of(U8, 6, 8), m.bytes_of(U8, 2, 8), m.bytes_of(U8, 8), m.bytes_of(U8, 8)]
    scales = [scalar(v) for v in (0.02, 0.03, 0.01, 0.02, 0.01)]
    zeros = [scalar(v, U8) for v in (120, 130, 128, 5, 100)]
    inputs = [m.ints(2, 4, high=9, dtype=I32), m.ints(2, 4, high=2, dtype=I32), *quantized, m.ints(2, 4, high=2, dtype=I32),
              *scales, *zeros]
    out.append(Case("QEmbedLayerNormalization", "QEmbedLayerNormalization", inputs, {"epsilon": 1e-5},
                    outputs=(True, True), output_types=(F32, I32)))
    return out


def group_norm(x, gamma, beta, groups, silu):
    n, h, w, c = x.shape
    g = x.reshape(n, h * w, groups, c // groups).astype("f8")
    g = (g - g.mean((1, 3), keepdims=True)) / numpy.sqrt(g.var((1, 3), keepdims=True) + 1e-5)
    y = g.reshape(x.shape) * gamma + beta
    return (y / (1 + numpy.exp(-y)) if silu else y).astype(x.dtype)


def group_norm_cases():
    m, out = Maker("group"), []
    x, gamma, beta = m.real(2, 3, 4, 8), m.real(8), m.real(8)
    for silu in (0, 1):
        out.append(Case(f"GroupNorm {silu}", "GroupNorm", [x, gamma, beta], {"groups": 4, "activation": silu},
                        expected=[group_norm(x, gamma, beta, 4, silu)]))
    skip, bias = m.real(2, 1, 1, 8), m.real(8)
    total = x + skip + bias
    out.append(Case("SkipGroupNorm", "SkipGroupNorm", [x, gamma, beta, skip, bias], {"groups": 4, "activation": 1},
                    outputs=(True, True), expected=[group_norm(total, gamma, beta, 4, 1), total]))
    return out


# ---- weights of few bits -----------------------------------------------------------------------

def nbits_cases():
    m, out = Maker("nbits"), []
    for bits in (2, 4, 8):
        for block in (16, 32):
            for k, n in ((32, 5), (80, 7), (33, 4)):
                for zeros in (None, U8, F32):
                    for bias in (False, True):
                        blocks = -(-k // block)
                        zero = None if zeros is None else m.ints(n, -(-blocks * bits // 8)) if zeros == U8 else m.real(n, blocks) + 2 ** (bits - 1)
                        inputs = [m.real(2, 3, k), m.ints(n, blocks, block * bits // 8), m.real(n, blocks),
                                  zero.astype(zeros) if zero is not None else None, None, m.real(n) if bias else None]
                        if bits != 4 and zeros == F32:
                            continue
                        out.append(Case(f"MatMulNBits {bits} {block} {k} {n} {zeros} {bias}", "MatMulNBits", inputs,
                                        {"K": k, "N": n, "bits": bits, "block_size": block, "accuracy_level": 1},
                                        constants=tuple(i for i in (1, 2, 3, 5) if inputs[i] is not None)))
    groups = m.rng.permutation(numpy.arange(64) // 16).astype(I32)
    out.append(Case("MatMulNBits g_idx", "MatMulNBits", [m.real(2, 64), m.ints(5, 4, 8), m.real(5, 4), None, groups],
                    {"K": 64, "N": 5, "bits": 4, "block_size": 16}, constants=(1, 2, 4)))
    for kind in (0, 1):
        for k, n in ((64, 5), (48, 3)):
            out.append(Case(f"MatMulBnb4 {kind} {k} {n}", "MatMulBnb4",
                            [m.real(2, 3, k), m.ints((k * n + 1) // 2), numpy.abs(m.real(-(-k * n // 16)))],
                            {"K": k, "N": n, "block_size": 16, "quant_type": kind}, constants=(1, 2)))
    return out + gather_block_cases() + moe_cases()


def gather_block_cases():
    m, out = Maker("gather"), []
    indices = numpy.array([[0, 3, -1], [2, 2, 4]], I64)
    for zeros in (False, True):
        for elem in (onnx.TensorProto.UINT4, onnx.TensorProto.INT4):
            inputs = [m.ints(6, 40 // 2), indices, m.real(6, 3)] + ([m.ints(6 * 3 // 2)] if zeros else [])
            out.append(Case(f"GatherBlockQuantized int4 {elem} {zeros}", "GatherBlockQuantized", inputs,
                            {"block_size": 16, "gather_axis": 0, "quantize_axis": 1}, constants=(0, 2, 3)[:2 + zeros],
                            elems={0: elem, 3: elem}, dims={0: (6, 40), 3: (6, 3)}, output_types=(F32,)))
        for bits in (2, 4, 8):
            width = 40 * bits // 8
            inputs = [m.ints(6, width), indices, m.real(6, 3)] + ([m.ints(6, -(-3 * bits // 8))] if zeros else [])
            out.append(Case(f"GatherBlockQuantized bytes {bits} {zeros}", "GatherBlockQuantized", inputs,
                            {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
                            constants=(0, 2, 3)[:2 + zeros], output_types=(F32,)))
    return out


def moe_cases():
    m, out = Maker("moe"), []
    for activation in ("relu", "gelu", "silu", "identity", "swiglu"):
        for normalize in (0, 1):
            wide = 12 if activation == "swiglu" else 6
            inputs = [m.real(5, 8), m.real(5, 4), m.real(4, wide, 8), m.real(4, wide), m.real(4, 8, 6), m.real(4, 8)]
            attributes = {"activation_type": activation, "k": 2, "normalize_routing_weights": normalize}
            if activation == "swiglu":
                attributes |= {"swiglu_fusion": 1, "activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 0.5}
            out.append(Case(f"MoE {activation} {normalize}", "MoE", inputs, attributes))
    for bits in (4, 8):
        for block in (0, 16):
            for activation in ("silu", "swiglu"):
                wide, per = 64 if activation == "swiglu" else 32, 8 // bits
                scales = lambda n: m.real(4, n, *((32 // block,) if block else ()), scale=0.02)
                inputs = [m.real(5, 32), m.real(5, 4), m.ints(4, wide, 32 // per), scales(wide), m.real(4, wide),
                          m.ints(4, 32, 32 // per), scales(32), m.real(4, 32)]
                attributes = {"activation_type": activation, "k": 2, "expert_weight_bits": bits}
                attributes |= {"block_size": block} if block else {}
                attributes |= {"swiglu_fusion": 1} if activation == "swiglu" else {}
                if activation == "silu":
                    zeros = [m.ints(4, n, -(-(32 // block) * bits // 8)) if block else m.ints(4, n * bits // 8) for n in (wide, 32)]
                    inputs += [None, None, None, *zeros, None, numpy.abs(m.real(5, 4))]
                rounds = bits == 8 and block  # the oracle rounds the activations, too
                out.append(Case(f"QMoE {bits} {block} {activation}", "QMoE", inputs, attributes, constants=(2, 3, 4, 5, 6, 7) + ((11, 12) if activation == "silu" else ()),
                                tolerance=2e-2 if rounds else 2e-5))
    return out


# ---- quantized ---------------------------------------------------------------------------------

def qlinear_cases():
    m, out = Maker("qlinear"), []
    for t in (U8, I8):
        zero = lambda v: scalar(v if t == U8 else v - 128, t)
        for op in ("QLinearAdd", "QLinearMul"):
            for shapes in (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1))):
                inputs = [m.bytes_of(t, *shapes[0]), scalar(0.02), zero(120), m.bytes_of(t, *shapes[1]), scalar(0.03), zero(140),
                          scalar(0.04), zero(110)]
                out.append(Case(f"{op} {t} {shapes}", op, inputs, steps=1))
        unary = [m.bytes_of(t, 2, 3, 8), scalar(0.03), zero(130), scalar(0.02), zero(100)]
        out.append(Case(f"QLinearSigmoid {t}", "QLinearSigmoid", unary[:3] + [scalar(1 / 256), zero(0)], steps=1))
        out.append(Case(f"QLinearLeakyRelu {t}", "QLinearLeakyRelu", unary, {"alpha": 0.1}, steps=1))
        for opset, axis in ((12, 1), (13, -1), (13, 1)):
            out.append(Case(f"QLinearSoftmax {t} {opset} {axis}", "QLinearSoftmax", unary[:3] + [scalar(1 / 256), zero(0)],
                            {"axis": axis, "opset": opset}, steps=1))
        mean = ((unary[0].astype("f8") - unary[2]) * 0.03).mean((1, 2), keepdims=True) / 0.02 + unary[4]
        info = numpy.iinfo(t)
        out.append(Case(f"QLinearReduceMean {t}", "QLinearReduceMean", unary, {"axes": [1, 2], "keepdims": 1}, steps=1,
                        expected=[numpy.clip(numpy.rint(mean), info.min, info.max).astype(t)]))
        inputs = [scalar(0.04), zero(110)]
        for i, n in enumerate((2, 3, 1)):
            inputs += [m.bytes_of(t, 2, n, 3), scalar(0.02 + 0.01 * i), zero(100 + 10 * i)]
        out.append(Case(f"QLinearConcat {t}", "QLinearConcat", inputs, {"axis": 1}, output_types=(t,), steps=1,
                        constants=tuple(i for i in range(len(inputs)) if i < 2 or (i - 2) % 3)))
        for last in (0, 1):
            x = m.bytes_of(t, *((2, 7, 6, 3) if last else (2, 3, 7, 6)))
            for pad in (0, 1):
                out.append(Case(f"QLinearAveragePool {t} {last} {pad}", "QLinearAveragePool", [x] + unary[1:],
                                {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1], "channels_last": last,
                                 "count_include_pad": pad}, steps=1))
            out.append(Case(f"QLinearGlobalAveragePool {t} {last}", "QLinearGlobalAveragePool", [x] + unary[1:],
                            {"channels_last": last}, steps=1))
            for groups in (1, 3):
                inputs = [m.bytes_of(t, *((2, 6, 5, 3) if last else (2, 3, 6, 5))), scalar(0.02), zero(120), m.bytes_of(I8, 6, 3 // groups, 3, 3),
                          numpy.abs(m.real(6, scale=0.01)), numpy.zeros(6, I8), scalar(0.1), zero(100), m.ints(6, low=-500, high=500, dtype=I32)]
                if t == U8:
                    out.append(Case(f"QLinearConv {t} {last} {groups}", "QLinearConv", inputs, {"channels_last": last, "pads": [1, 1, 1, 1], "group": groups},
                                    constants=(1, 2, 3, 4, 5, 6, 7, 8), steps=1))
            out.append(Case(f"NhwcMaxPool {t}", "NhwcMaxPool", [m.bytes_of(t, 2, 7, 6, 3)], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}))
        inputs = [m.ints(2, 1, 4, high=2, dtype="?"), m.bytes_of(t, 2, 3, 4), scalar(0.02), zero(120), m.bytes_of(t, 4), scalar(0.03), zero(110), scalar(0.025), zero(115)]
        out.append(Case(f"QLinearWhere {t}", "QLinearWhere", inputs, output_types=(t,), constants=(2, 3, 5, 6, 7, 8), steps=1))
    return out


def qmatmul_cases():
    m, out = Maker("qmatmul"), []
    for t in (U8, I8):
        for per_column in (False, True):
            b_scale = numpy.abs(m.real(6)) if per_column else scalar(0.03)
            b_zero = m.bytes_of(t, 6) if per_column else scalar(3, t)
            for bias in (None, m.real(6)):
                inputs = [m.real(2, 4, 5), m.bytes_of(t, 5, 6), b_scale, b_zero, bias]
                out.append(Case(f"DynamicQuantizeMatMul {t} {per_column} {bias is None}", "DynamicQuantizeMatMul", inputs, constants=(1,)))
                inputs = [m.bytes_of(U8, 2, 4, 5), m.bytes_of(t, 5, 6), scalar(0.02), b_scale, scalar(120, U8), b_zero, bias]
                out.append(Case(f"MatMulIntegerToFloat {t} {per_column} {bias is None}", "MatMulIntegerToFloat", inputs, output_types=(F32,), constants=(1,)))
            for trans_a, trans_b in ((0, 0), (0, 1), (1, 0)):
                inputs = [m.bytes_of(U8, *((5, 4) if trans_a else (4, 5))), scalar(0.02), scalar(120, U8), m.bytes_of(t, *((6, 5) if trans_b else (5, 6))),
                          b_scale, b_zero if per_column else scalar(3, t), m.ints(6, low=-300, high=300, dtype=I32)]
                attributes = {"transA": trans_a, "transB": trans_b}
                out.append(Case(f"QGemm {t} {per_column} {trans_a}{trans_b}", "QGemm", inputs, attributes, output_types=(F32,)))
                out.append(Case(f"QGemm {t} {per_column} {trans_a}{trans_b} bytes", "QGemm", inputs + [scalar(0.5), scalar(100, U8)], attributes, steps=1))
        large = m.bytes_of(t, 40, 70)  # of a size that is packed
        inputs = [m.real(2, 9, 40), large, scalar(0.03), scalar(3, t), m.real(70)]
        out.append(Case(f"DynamicQuantizeMatMul {t} packed", "DynamicQuantizeMatMul", inputs, constants=(1,)))
        inputs = [m.bytes_of(U8, 9, 40), scalar(0.02), scalar(120, U8), large, scalar(0.03), scalar(3, t), m.ints(70, low=-300, high=300, dtype=I32)]
        out.append(Case(f"QGemm {t} packed", "QGemm", inputs + [scalar(0.5), scalar(100, U8)], constants=(3,), steps=1))
    out.append(Case("MatMulInteger16", "MatMulInteger16", [m.bytes_of("i2", 3, 4), m.bytes_of("i2", 4, 5)], output_types=(I32,)))
    a, b = m.bytes_of(U8, 3, 4), m.bytes_of(U8, 4)
    out.append(Case("MulInteger", "MulInteger", [a, scalar(10, U8), b, scalar(7, U8)], output_types=(I32,),
                    expected=[(a.astype(I32) - 10) * (b.astype(I32) - 7)]))
    x = m.bytes_of(I8, 3, 4, 5)
    out.append(Case("ReduceSumInteger", "ReduceSumInteger", [x], {"axes": [1], "keepdims": 0}, output_types=(I32,), expected=[x.astype(I32).sum(1, dtype=I32)]))
    for direction, n in (("forward", 1), ("bidirectional", 2)):
        inputs = [m.real(5, 2, 6), m.bytes_of(I8, n, 6, 32), m.bytes_of(I8, n, 8, 32), m.real(n, 64), None, None, None, None,
                  numpy.full(n, 0.004, F32), numpy.zeros(n, I8), numpy.full(n, 0.004, F32), numpy.zeros(n, I8)]
        out.append(Case(f"DynamicQuantizeLSTM {direction}", "DynamicQuantizeLSTM", inputs, {"direction": direction, "hidden_size": 8},
                        outputs=(True, True, True), constants=(1, 2, 8, 9, 10, 11)))
    for t in ("u2", "i2"):
        out.append(Case(f"QuantizeLinear {t}", "QuantizeLinear", [m.real(3, 4), numpy.abs(m.real(4)), m.bytes_of(t, 4)], {"axis": 1}, output_types=(t,)))
        out.append(Case(f"DequantizeLinear {t}", "DequantizeLinear", [m.bytes_of(t, 3, 4), numpy.abs(m.real(4)), m.bytes_of(t, 4)], {"axis": 1}, output_types=(F32,)))
    return out


# ---- layouts, odds and ends --------------------------------------------------------------------

def misc_cases():
    m, out = Maker("misc"), []
    out.append(Case("Inverse", "Inverse", [m.real(3, 4, 4)], tolerance=1e-4))
    out.append(Case("Inverse double", "Inverse", [m.real(4, 4, dtype="f8")]))
    for mode in ("bilinear", "nearest"):
        out.append(Case(f"CropAndResize {mode}", "CropAndResize", [m.real(2, 3, 7, 6), numpy.abs(m.real(4, 4, scale=0.5)), numpy.array([0, 1, 1, 0], I32), numpy.array([3, 4], I32)],
                        {"mode": mode, "extrapolation_value": 0.5}))
    for metric in ("euclidean", "sqeuclidean"):
        out.append(Case(f"CDist {metric}", "CDist", [m.real(4, 5), m.real(3, 5)], {"metric": metric}, tolerance=1e-4))
    out.append(Case("UnfoldTensor", "UnfoldTensor", [m.real(2, 9, 3)], {"dim": 1, "size": 4, "step": 2}))
    out.append(Case("ExpandDims", "ExpandDims", [m.real(2, 3), scalar(1, I32)], constants=(1,)))
    out.append(Case("Trilu", "Trilu", [m.real(2, 4, 5)], {"upper": 0}))
    for mode in ("bilinear", "nearest", "bicubic"):
        out.append(Case(f"GridSample {mode}", "GridSample", [m.real(2, 3, 5, 6), m.real(2, 4, 3, 2, scale=0.7)], {"mode": mode, "padding_mode": "border"}))
    out.append(Case("GatedAdd", "GatedAdd", [m.real(2, 3, 8), m.real(2, 3, 8), m.real(2, 3, 1)]))
    out.append(Case("LinearAttentionGate", "LinearAttentionGate", [m.real(2, 3, 4), m.real(4), m.real(4), m.real(2, 3, 4)], outputs=(True, True)))
    for past in (False, True):
        for n in (1, 6):
            for activation in ("none", "silu"):
                out.append(Case(f"CausalConvWithState {past} {n} {activation}", "CausalConvWithState", [m.real(2, 5, n), m.real(5, 1, 4), m.real(5), m.real(2, 5, 3) if past else None],
                                {"activation": activation}, outputs=(True, True)))
    out.append(Case("CausalConvWithState dilated", "CausalConvWithState", [m.real(2, 5, 6), m.real(5, 1, 3), m.real(5), m.real(2, 5, 4)], {"dilation": 2}, outputs=(True, True)))
    out.append(Case("CausalConvWithState channels last", "CausalConvWithState", [m.real(2, 6, 5), m.real(5, 1, 3), m.real(5), m.real(2, 2, 5)], {"channels_last": 1}, outputs=(True, True)))
    ids = numpy.array([[1, 2, 3, 1, 2, 4, 1, 2], [5, 5, 5, 5, 5, 5, 5, 5], [0, 1, 2, 3, 4, 5, 6, 7]], I64)
    for n in (1, 2, 3):
        out.append(Case(f"NGramRepeatBlock {n}", "NGramRepeatBlock", [ids, m.real(3, 9)], {"ngram_size": n}, output_types=(F32,)))
    out.append(Case("Range", "Range", [scalar(1.0), scalar(5.0), scalar(0.5)]))
    x, w, b = m.real(2, 7, 6, 4), m.real(6, 2, 3, 3), m.real(6)
    z, padded = m.real(2, 7, 6, 6), numpy.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).reshape(2, 7, 6, 2, 2, 3, 3)
    conv = numpy.einsum("nhwgikl,goikl->nhwgo", windows, w.reshape(2, 3, 2, 3, 3)).reshape(2, 7, 6, 6) + b + z
    out.append(Case("NhwcFusedConv", "NhwcFusedConv", [x, w, b, z], {"group": 2, "pads": [1, 1, 1, 1], "activation": "Relu"},
                    expected=[numpy.maximum(conv, 0)]))
    return out


def all_cases():
    return fused_cases() + activation_cases() + norm_cases() + nbits_cases() + qlinear_cases() + qmatmul_cases() + misc_cases()
