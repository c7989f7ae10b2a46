"""Nodes whose inputs, attributes or declared outputs contradict their operator: ranks, sizes, axes, types."""
from onnx import parser

from broken import add

DEFAULT_OPSET = 21

# One line each: "inputs => outputs | node | what else the message mentions". An input may be given a
# constant value after "=". Names of nodes are all `bad`; "opset N" in front changes the version, a
# line that begins with "gap REASON:" is accepted by onnx.checker.
FAMILIES = {
    "elementwise": """
        float[2,3] a, float[4] b => float[2,3] y | y = Add (a, b)
        float[2,3] a, float[2,4] b => float[2,3] y | y = Mul (a, b)
        float[2,3] a, int64[2,3] b => float[2,3] y | y = Add (a, b) | int64
        string[2] a, string[2] b => string[2] y | y = Add (a, b) | string
        bool[2] a => bool[2] y | y = Neg (a) | bool
        int64[2] a => int64[2] y | y = Sqrt (a) | int64
        float[2] a => float[3] y | y = Sqrt (a) | [3]
        float[2] a => double[2] y | y = Sqrt (a) | double
        float[2] a, float[2] b => float[2] y | y = And (a, b) | float
        float[2] a, float[2] b => float[2] y | y = Equal (a, b) | bool
        float[2] c, float[2] a, float[2] b => float[2] y | y = Where (c, a, b) | float
        bool[2] c, float[2] a, double[2] b => float[2] y | y = Where (c, a, b) | double
        bool[2] c, float[3] a, float[2] b => float[3] y | y = Where (c, a, b)
        float[2] a, float[3] b => float[3] y | y = Max (a, b)
        float[2] a, int32[2] b => float[2] y | y = Sum (a, b)
        float[2] a, float[2] b => float[2] y | y = BitwiseAnd (a, b) | float
        gap the slopes fit no axis: float[2,3] x, float[4] s => float[2,3] y | y = PRelu (x, s)
        float[2] x => float[2] y | y = Cast <to: int = 99> (x) | 99
        float[2] x => float[2] y | y = Cast <to: int = 0> (x)
        float[2] x => int64[2] y | y = Cast <to: int = 1> (x)
        gap this version broadcasts only when asked to: opset 6: float[2,3] a, float[3] b => float[2,3] y | y = Add (a, b)
    """,
    "matrix products": """
        float[2,3] a, float[4,5] b => float[2,5] y | y = MatMul (a, b) | 3 | 4
        float[3] a, float[4] b => float y | y = MatMul (a, b)
        float a, float[4] b => float[4] y | y = MatMul (a, b)
        float[2,2,3] a, float[3,3,4] b => float[2,2,4] y | y = MatMul (a, b)
        float[2,3] a, float[3,4] b => float[2,5] y | y = MatMul (a, b) | [2,5]
        float[2,3] a, double[3,4] b => float[2,4] y | y = MatMul (a, b) | double
        float[2,3] a, float[4,5] b => float[2,5] y | y = Gemm (a, b)
        float[2,3] a, float[3,5] b => float[3,5] y | y = Gemm <transA: int = 1> (a, b)
        float[2,3,1] a, float[3,5] b => float[2,5] y | y = Gemm (a, b) | rank
        float[3] a, float[3,5] b => float[5] y | y = Gemm (a, b) | rank
        gap the bias can never be added: float[2,3] a, float[3,5] b, float[4] c => float[2,5] y | y = Gemm (a, b, c)
        float[2,3] a, float[3,5] b => float[5,2] y | y = Gemm (a, b)
        float[2,3] a, int8[3,4] b => int32[2,4] y | y = MatMulInteger (a, b) | float
        uint8[2,3] a, int8[4,4] b => int32[2,4] y | y = MatMulInteger (a, b)
        gap j has two sizes: float[2,3] a, float[4,5] b => float[2,5] y | y = Einsum <equation: string = "ij,jk->ik"> (a, b)
        float[2,3] a => float[2] y | y = Einsum <equation: string = "ijk->i"> (a)
        float[2,3] a, float[3,4] b => float[2,4] y | y = Einsum <equation: string = "ij,jk,kl->il"> (a, b)
    """,
    "convolution and pooling": """
        float[1,3,8,8] x, float[4,3,3] w => float[1,4,6,6] y | y = Conv (x, w) | rank
        gap the channels do not fit: float[1,3,8,8] x, float[4,2,3,3] w => float[1,4,6,6] y | y = Conv (x, w) | 3 | 2
        float[1,3,8,8] x, float[4,3,3,3] w => float[1,4,8,8] y | y = Conv (x, w) | [1,4,6,6]
        float[1,3,8,8] x, float[4,3,3,3] w => float[1,4,6,6] y | y = Conv <strides: ints = [1]> (x, w) | strides
        float[1,3,8,8] x, float[4,3,3,3] w => float[1,4,6,6] y | y = Conv <pads: ints = [1,1]> (x, w) | pads
        float[1,3,8,8] x, float[4,3,3,3] w => float[1,4,6,6] y | y = Conv <dilations: ints = [1]> (x, w) | dilations
        float[1,3,8,8] x, float[4,3,3,3] w => float[1,4,6,6] y | y = Conv <kernel_shape: ints = [3]> (x, w) | kernel_shape
        float[1,3] x, float[4,3] w => float[1,4] y | y = Conv (x, w) | rank
        float x, float[4,3,3,3] w => float[1,4,6,6] y | y = Conv (x, w) | rank
        int64[1,3,8,8] x, int64[4,3,3,3] w => int64[1,4,6,6] y | y = Conv (x, w) | int64
        float[1,3,8,8] x, double[4,3,3,3] w => float[1,4,6,6] y | y = Conv (x, w) | double
        float[1,3,8] x, float[3,4,3,3] w => float[1,4,10] y | y = ConvTranspose (x, w) | rank
        float[1,3,8,8] x, float[3,4,3,3] w => float[1,4,8,8] y | y = ConvTranspose (x, w) | [1,4,10,10]
        float[1,3,8,8] x, float[3,4,3,3] w => float[1,4,10,10] y | y = ConvTranspose <output_padding: ints = [1]> (x, w)
        float[1,3,8,8] x => float[1,3,4,4] y | y = MaxPool (x) | kernel_shape
        float[1,3,8,8] x => float[1,3,4,4] y | y = MaxPool <kernel_shape: ints = [2]> (x) | kernel_shape
        float[1,3,8,8] x => float[1,3,8,8] y | y = MaxPool <kernel_shape: ints = [2,2]> (x) | [1,3,7,7]
        float[3] x => float[3] y | y = MaxPool <kernel_shape: ints = [2]> (x) | rank
        float[1,3,8,8] x => float[1,3,7,7] y | y = AveragePool <kernel_shape: ints = [2,2], pads: ints = [1]> (x)
        float[1,3,8,8] x => float[1,3,7,7] y | y = AveragePool <kernel_shape: ints = [2,2], strides: ints = [1]> (x)
        float[1,3,8,8] x => float[1,3] y | y = GlobalAveragePool (x) | [1,3,1,1]
        float[1,3,8,8] x => float[1,3,4,4] y | y = LpPool <kernel_shape: ints = [2]> (x)
        string[1,3,8,8] x => string[1,3,1,1] y | y = GlobalMaxPool (x) | string
    """,
    "shapes": """
        gap 6 elements never fill 8: float[2,3] x, int64[2] s = {4, 2} => float[4,2] y | y = Reshape (x, s) | [4,2]
        float[2,3] x, int64[2] s = {-1, -1} => float[2,3] y | y = Reshape (x, s)
        float[2,3] x, int64[2] s = {-2, 3} => float[2,3] y | y = Reshape (x, s) | -2
        float[2,3] x, int64[2] s = {-1, 4} => float[2,4] y | y = Reshape (x, s)
        float[2,3] x, int64[3] s = {2, 3, 0} => float[2,3,1] y | y = Reshape (x, s)
        float[2,3] x, int64[2] s = {3, 2} => float[2,3] y | y = Reshape (x, s) | [3,2]
        float[2,3] x, float[2] s => float[3,2] y | y = Reshape (x, s) | float
        float[2,3] x, int32[2] s => float[3,2] y | y = Reshape (x, s) | int32
        float[2,3] x => float[3,2] y | y = Transpose <perm: ints = [0]> (x) | perm
        float[2,3] x => float[3,2] y | y = Transpose <perm: ints = [0,0]> (x) | perm
        float[2,3] x => float[3,2] y | y = Transpose <perm: ints = [0,2]> (x) | 2
        float[2,3] x => float[2,3] y | y = Transpose (x) | [3,2]
        float[2,3] x => float[6] y | y = Flatten (x)
        float[2,3] x => float[2,3] y | y = Flatten <axis: int = 3> (x) | 3
        float[2,3] x, int64[1] a = {0} => float[3] y | y = Squeeze (x, a) | 2
        float[1,3] x, int64[1] a = {5} => float[3] y | y = Squeeze (x, a) | 5
        float[1,3] x, int64[1] a = {0} => float[1,3] y | y = Squeeze (x, a)
        float[3] x, int64[1] a = {4} => float[1,3] y | y = Unsqueeze (x, a) | 4
        float[3] x, int64[2] a = {0, 0} => float[1,1,3] y | y = Unsqueeze (x, a)
        float[3] x, int64[1] a = {0} => float[3,1] y | y = Unsqueeze (x, a)
        float[3] x => float[1,3] y | y = Unsqueeze (x)
        float[2,3] x, int64[1] s = {4} => float[2,4] y | y = Expand (x, s)
        float[2,3] x, int64[2] r = {2, 2} => float[2,3] y | y = Tile (x, r)
        float[2,3] x, int64[3] r = {2, 2, 2} => float[4,6,2] y | y = Tile (x, r)
        float[2,8,3,3] x => float[2,2,6,6] y | y = DepthToSpace <blocksize: int = 3> (x)
        float[2,8,3] x => float[2,2,6] y | y = DepthToSpace <blocksize: int = 2> (x) | rank
        float[2,8,3,3] x => float[2,8,3,3] y | y = DepthToSpace <blocksize: int = 2> (x) | [2,2,6,6]
        float[2,2,5,6] x => float[2,8,3,3] y | y = SpaceToDepth <blocksize: int = 0> (x)
        float[2,3] x => int64[3] y | y = Shape (x)
        float[2,3] x => int32[2] y | y = Shape (x)
        float[2,3] x => int64[1] y | y = Size (x)
    """,
    "joining and cutting": """
        float[2,3] a, float[3,3] b => float[2,6] y | y = Concat <axis: int = 1> (a, b) | 2 | 3
        float[2,3] a, float[2] b => float[2,4] y | y = Concat <axis: int = 1> (a, b)
        float[2,3] a, float[2,3] b => float[2,6] y | y = Concat <axis: int = 2> (a, b) | axis
        float[2,3] a, float[2,3] b => float[2,7] y | y = Concat <axis: int = 1> (a, b) | [2,6]
        float[2,3] a, int64[2,3] b => float[2,6] y | y = Concat <axis: int = 1> (a, b)
        float a, float b => float[2] y | y = Concat <axis: int = 0> (a, b)
        float[2,7] x => float[2,3] y, float[2,4] z | y, z = Split <axis: int = 2, num_outputs: int = 2> (x) | axis
        float[2,7] x, int64[2] s = {3, 3} => float[2,3] y, float[2,3] z | y, z = Split <axis: int = 1> (x, s)
        float[2,7] x, int64[3] s = {3, 3, 1} => float[2,3] y, float[2,3] z | y, z = Split <axis: int = 1> (x, s)
        float[2,7] x, int64[2] s = {3, 4} => float[2,3] y, float[2,3] z | y, z = Split <axis: int = 1> (x, s)
        float[2,7] x => float[2,3] y, float[2,4] z | y, z = Split <axis: int = 1> (x)
        float[2,7] x => float[2,3] y | y = Slice (x)
        float[2,7] x, int64[1] s = {0}, int64[2] e = {1, 2} => float[1,2] y | y = Slice (x, s, e)
        float[2,7] x, int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {4} => float[1,7] y | y = Slice (x, s, e, a) | 4
        float[2,7] x, int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {1}, int64[1] t = {0} => float[2,1] y | y = Slice (x, s, e, a, t)
        float[2,7] x, int64[1] s = {0}, int64[1] e = {1} => float[2,7] y | y = Slice (x, s, e) | [1,7]
        float[2,7] x, float[1] s, float[1] e => float[1,7] y | y = Slice (x, s, e) | float
        float[2,7] x, int64[1] s = {0}, int32[1] e = {1} => float[1,7] y | y = Slice (x, s, e) | int32
        float[2,3] x, int64[4] p = {0, 1, 0, 1} => float[2,3] y | y = Pad (x, p)
        float[2,3] x, int64[3] p = {0, 1, 0} => float[2,4] y | y = Pad (x, p) | 3
    """,
    "gathering": """
        float[5,3] x, int64[2] i => float[2,3] y | y = Gather <axis: int = 2> (x, i) | axis
        float[5,3] x, float[2] i => float[2,3] y | y = Gather (x, i) | float
        float[5,3] x, int64[2] i => float[5,2] y | y = Gather (x, i) | [2,3]
        float x, int64[2] i => float[2] y | y = Gather (x, i)
        float[5,3] x, int64[2,3] i => float[2,2] y | y = GatherElements (x, i)
        gap neither rank nor axis fits: float[5,3] x, int64[2] i => float[2] y | y = GatherElements <axis: int = 7> (x, i)
        float[5,3] x, int64[2,3] i => float[2] y | y = GatherND (x, i)
        float[5,3] x, int64[2,2] i => float[3] y | y = GatherND (x, i)
        float[5,3] x, int64[2,2] i => float[2] y | y = GatherND <batch_dims: int = 2> (x, i)
        float x, int64[2,2] i => float[2] y | y = GatherND (x, i)
        float[5,3] x, int64[2,3] i, float[2,3] u => float[5,4] y | y = ScatterElements (x, i, u)
        float[5,3] x, int64[2,3] i, double[2,3] u => float[5,3] y | y = ScatterElements (x, i, u) | double
        float[5,3] x, int64[2,1] i, float[2,3] u => float[5] y | y = ScatterND (x, i, u)
        float[5] x => float[5] y | y = OneHot (x)
        int64[5] i, int64 d, float[2] v => float[5] y | y = OneHot (i, d, v)
        int64[5] i, int64[2] d, float[2] v => float[5,3] y | y = OneHot (i, d, v)
        int64[5] i, int64 d, float[3] v => float[5,3] y | y = OneHot (i, d, v)
        float[5,3] x, int64[1] k = {9} => float[9,3] y, int64[9,3] i | y, i = TopK <axis: int = 0> (x, k)
        float[5,3] x, int64[2] k = {1, 2} => float[5,1] y, int64[5,1] i | y, i = TopK (x, k)
        float[5,3] x, int64[1] k = {2} => float[5,2] y, int64[5,2] i | y, i = TopK <axis: int = 4> (x, k) | axis
        float[5,3] x, int64[1] k = {2} => float[5,3] y, int64[5,2] i | y, i = TopK (x, k)
        float[5,3] x, int64[1] k = {2} => float[5,2] y, int32[5,2] i | y, i = TopK (x, k)
        float[5,3] x => float[5,3] y, int64[5] i | y, i = Unique <axis: int = 4> (x) | axis
        float[5,3] x => int64[3,15] y | y = NonZero (x)
        float[5] x, bool[5] c => float[5] y | y = Compress <axis: int = 3> (x, c) | axis
    """,
    "reductions": """
        float[2,3] x, int64[1] a = {2} => float[2,1] y | y = ReduceSum (x, a) | 2
        float[2,3] x, int64[1] a = {1} => float[2,3] y | y = ReduceSum (x, a)
        float[2,3] x, int64[1] a = {1} => float[2,1] y | y = ReduceMean <keepdims: int = 0> (x, a)
        float[2,3] x, int64[1] a = {-3} => float[2] y | y = ReduceMax (x, a) | -3
        string[2,3] x => string y | y = ReduceMax <keepdims: int = 0> (x) | string
        float[2,3] x => int64[1,3] y | y = ArgMax <axis: int = 2> (x) | axis
        float[2,3] x => float[1,3] y | y = ArgMax (x) | int64
        float[2,3] x => int64[2,1] y | y = ArgMin (x) | [1,3]
        float[2,3] x => float[2,4] y | y = Softmax (x)
        float[2,3] x => float[2,3] y | y = LogSoftmax <axis: int = 2> (x) | axis
        float[2,3] x => float[2,3] y | y = Hardmax <axis: int = -3> (x) | axis
        float[2,3] x, int64 a => float[3] y | y = CumSum (x, a)
        opset 11: float[2,3] x => float[2,1] y | y = ReduceSum <axes: ints = [5]> (x) | 5
    """,
    "normalization and recurrence": """
        float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v => float[2,3] y | y = BatchNormalization (x, s, b, m, v)
        float[2,3,4] x, float[4] s, float[3] b, float[3] m, float[3] v => float[2,3,4] y | y = BatchNormalization (x, s, b, m, v)
        float[2,3,4] x, float[3,1] s, float[3] b, float[3] m, float[3] v => float[2,3,4] y | y = BatchNormalization (x, s, b, m, v)
        float[2,3,4] x, float[3] s, float[3] b => float[2,3,5] y | y = InstanceNormalization (x, s, b)
        float[2,3] x, float[3] s => float[2,4] y | y = LayerNormalization (x, s)
        gap there is no such axis: float[2,3] x, float[3] s => float[2,3] y | y = LayerNormalization <axis: int = 2> (x, s) | axis
        float[2,3] x, int64[3] s => float[2,3] y | y = LayerNormalization (x, s) | int64
        float[2,4,3] x => float[2,4] y | y = LRN <size: int = 3> (x)
        gap there is no such axis: float[2,3] x => float[2,3] y | y = LpNormalization <axis: int = 7> (x)
        float[5,2,3] x, float[1,16,3] w, float[1,16,4] r => float[5,1,2,5] y | y = LSTM <hidden_size: int = 4> (x, w, r)
        float[5,2] x, float[1,16,3] w, float[1,16,4] r => float[5,1,2,4] y | y = LSTM <hidden_size: int = 4> (x, w, r) | rank
        float[5,2,3] x, float[1,12,3] w, float[1,12,4] r => float[5,2,2,4] y | y = GRU <hidden_size: int = 4> (x, w, r)
        float[5,2,3] x, float[1,4,3] w, float[1,4,4] r => float[5,1,2,4] y | y = RNN <hidden_size: int = 5> (x, w, r)
        int64[5,2,3] x, float[1,4,3] w, float[1,4,4] r => float[5,1,2,4] y | y = RNN <hidden_size: int = 4> (x, w, r) | int64
        float[2,3] x, float r => float[2,4] y | y = Dropout (x, r)
    """,
    "images": """
        float[1,3,4,4] x, float[4] s = {1, 1, 2, 2} => float[1,3,4,4] y | y = Resize (x, "", s) | [1,3,8,8]
        float[1,3,4,4] x, float[3] s = {1, 2, 2} => float[1,3,8,8] y | y = Resize (x, "", s)
        float[1,3,4,4] x, int64[2] s = {8, 8} => float[1,3,8,8] y | y = Resize (x, "", "", s)
        float[1,3,4,4] x, float[4] s = {1, 1, 2, 2}, int64[4] z = {1, 3, 8, 8} => float[1,3,8,8] y | y = Resize (x, "", s, z)
        float[1,3,4,4] x => float[1,3,8,8] y | y = Resize (x)
        float[1,3,4,4] x, float[1,2,2,3] g => float[1,3,2,2] y | y = GridSample (x, g)
        float[1,3,4] x, float[1,2,2,2] g => float[1,3,2,2] y | y = GridSample (x, g)
        gap a region has four numbers: float[1,3,4,4] x, float[5,3] r, int64[5] b => float[5,3,1,1] y | y = RoiAlign (x, r, b)
        float[1,3,4,4] x, float[5,4] r, int64[6] b => float[5,3,1,1] y | y = RoiAlign (x, r, b)
        gap a box without a score: float[1,6,4] b, float[1,1,7] s => int64[n,3] y | y = NonMaxSuppression (b, s)
        gap boxes have four numbers: float[1,6] b, float[1,1,6] s => int64[n,3] y | y = NonMaxSuppression (b, s) | rank
    """,
    "quantization": """
        float[2,3] x, float s, int32 z => int32[2,3] y | y = QuantizeLinear (x, s, z) | int32
        float[2,3] x, float s, uint8 z => int8[2,3] y | y = QuantizeLinear (x, s, z)
        float[2,3] x, float s => uint8[2,4] y | y = QuantizeLinear (x, s)
        uint8[2,3] x, float s, int8 z => float[2,3] y | y = DequantizeLinear (x, s, z)
        uint8[2,3] x, double s => double[2,3] y | y = DequantizeLinear (x, s) | double
        float[2,3] x => int8[2,3] y, float s, int8 z | y, s, z = DynamicQuantizeLinear (x)
        uint8[2,3] a, float s, uint8 z, uint8[4,5] b => uint8[2,5] y | y = QLinearMatMul (a, s, z, b, s, z, s, z)
        uint8[1,3,8,8] x, float s, uint8 z, uint8[4,3,3] w => uint8[1,4,6,6] y | y = QLinearConv (x, s, z, w, s, z, s, z)
    """,
    "constants and sequences": """
        => float[3] y | y = Constant <value_ints: ints = [1,2,3]> ()
        => float[2] y | y = Constant <value_floats: floats = [1.0,2.0,3.0]> ()
        => float y | y = Constant <value_float: float = 1.0, value_int: int = 1> ()
        int64[2] s = {2, 3} => float[3,2] y | y = ConstantOfShape (s) | [2,3]
        int64[2,2] s => float[3,2] y | y = ConstantOfShape (s) | rank
        int64[2] s = {-2, 3} => float[2,3] y | y = ConstantOfShape (s) | -2
        float[3] x => float[3] y | y = EyeLike (x) | rank
        float a, int64 b, float c => float[n] y | y = Range (a, b, c)
        => float[2,3] y | y = RandomNormal <shape: ints = [2,4]> ()
        => float[2,3] y | y = RandomUniform () | shape
        => int64[2,3] y | y = RandomUniform <shape: ints = [2,3], dtype: int = 7> ()
        float[2] a, int64[2] b => seq(float[2]) y | y = SequenceConstruct (a, b)
        float[2] a, int64 i => float[2] y | y = SequenceAt (a, i)
        seq(float[2]) a, float i => float[2] y | y = SequenceAt (a, i)
        seq(float[2]) a, int64 i => int64[2] y | y = SequenceAt (a, i)
        seq(float[2]) a, int64[2] b => seq(float[2]) y | y = SequenceInsert (a, b)
        float[2] a => float[2] y | y = ConcatFromSequence <axis: int = 0> (a)
        seq(float[2]) a => float[n] y | y = ConcatFromSequence (a) | axis
        seq(float[2]) a => float y | y = SequenceLength (a)
        optional(float[2]) a => int64[2] y | y = OptionalGetElement (a)
        float[2] a => optional(float[3]) y | y = Optional (a)
        float[2] a => float[2] y | y = StringNormalizer (a) | float
    """,
}


def split_inputs(text):
    """Commas within braces and brackets do not separate."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[{(") - (char in "]})")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def add_line(family, line):
    gap, opset, rest = None, DEFAULT_OPSET, line
    if rest.startswith("gap "):
        gap, rest = rest[len("gap "):].split(": ", 1)
    if rest.startswith("opset "):
        opset, rest = rest[len("opset "):].split(": ", 1)
    types, node, *mentioned = [part.strip() for part in rest.split("|")]
    inputs, outputs = types.split("=>")
    inputs = split_inputs(inputs)
    parameters = ", ".join(part for part in inputs if "=" not in part)
    constants = ", ".join(part for part in inputs if "=" in part)
    text = (f'<ir_version: 10, opset_import: ["" : {opset}]> main ({parameters}) => ({outputs}) '
            f"<{constants}> {{ [bad] {node} }}")
    add(f"{family}: {rest}", parser.parse_model(text), "bad", *mentioned, gap=gap)


for name, lines in FAMILIES.items():
    for one in lines.strip().splitlines():
        add_line(name, one.strip())
