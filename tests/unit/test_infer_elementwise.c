/* Shapes of elementwise operators, broadcasts, reductions, casts, constants and random numbers. */
#include "infer_case.h"

#define OPSET(version) \
  "<ir_version: 10, opset_import: [\"\" : " #version ", \"com.microsoft\" : 1]>\n"

static const typed_case typed[] = {
    {OPSET(21) "g (float[n,3] x) => (y) { y = Relu (x) }", "float[n,3]", "y"},
    {OPSET(21) "g (seq(float[n]) x) => (y) { y = Identity (x) }", "seq(float[n])", "y"},
    {OPSET(21) "g (float[n,3] x) => (y) { y = IsNaN (x) }", "bool[n,3]", "y"},
    {OPSET(1) "g (float[3] x) => (y) { y = Softmax (x) }", "float[3]",
     "y"}, /* axis 1: behind the last */
    {OPSET(21) "g (float[n,3] x, float[3] s) => (y) { y = PRelu (x, s) }", "float[n,3]", "y"},
    {OPSET(6) "g (float[n,3,5] x, float[3] s) => (y) { y = PRelu (x, s) }", "float[n,3,5]", "y"},
    {OPSET(28) "g (float[n,?] a, float[?,4] b) => (y) { y = SwiGLU (a, b) }", "float[n,4]", "y"},

    /* broadcasts */
    {OPSET(21) "g (float[n,1] a, float[3] b) => (y) { y = Add (a, b) }", "float[n,3]", "y"},
    {OPSET(21) "g (float[n] a, float[m] b) => (y) { y = Add (a, b) }", "float[?]", "y"},
    {OPSET(21) "g (float[n] a, float[0] b) => (y) { y = Add (a, b) }", "float[0]", "y"},
    {OPSET(21) "g (float[2] a, float[] b) => (y) { y = Add (a, b) }", "float[]", "y"},
    {OPSET(21) "g (float[n,s] x, float[1,512] t) => (y) <int64[1] o = {0}, int64[1] a = {1}, int64 "
               "i = {1}> {\n"
               "d = Shape (x) k = Gather (d, i) e = Unsqueeze (k, o) p = Slice (t, o, e, a) y = "
               "Add (x, p) }",
     "float[n,s]", "y"},
    {OPSET(6) "g (float[2,3,4] a, float[3] b) => (y) { y = Add <broadcast = 1, axis = 1> (a, b) }",
     "float[2,3,4]", "y"},
    {OPSET(6) "g (float[2,?] a, float[?,4] b) => (y) { y = Add (a, b) }", "float[2,4]", "y"},
    {OPSET(13) "g (float[n] a, float[3,1] b, float c) => (y) { y = Max (a, b, c) }", "float[3,n]",
     "y"},
    {OPSET(21) "g (bool[3] c, float[n,1] a, float b) => (y) { y = Where (c, a, b) }", "float[n,3]",
     "y"},
    {OPSET(21) "g (int64[2] a, int64[3,1] b) => (y) { y = Equal (a, b) }", "bool[3,2]", "y"},

    /* reductions */
    {OPSET(13) "g (float[n,3,5] x) => (y) { y = ReduceMax <axes = [-1, 0], keepdims = 0> (x) }",
     "float[3]", "y"},
    {OPSET(18) "g (float[n,3] x) => (y) <int64[1] a = {1}> { y = ReduceMax (x, a) }", "float[n,1]",
     "y"},
    {OPSET(18) "g (float[n,3] x, int64[1] a) => (y) { y = ReduceMax (x, a) }", "float[?,?]", "y"},
    {OPSET(18) "g (float[n,3] x, int64[1] a) => (y) { y = ReduceMax <keepdims = 0> (x, a) }",
     "float[?]", "y"},
    {OPSET(18) "g (float[n,3] x, int64[2] a) => (y) { y = ReduceMax <keepdims = 0> (x, a) }",
     "float[]", "y"}, /* two axes may be the same */
    {OPSET(18) "g (float[] x) => (y) { y = ReduceMax <keepdims = 0> (x) }", "float", "y"},
    {OPSET(18) "g (float[n,3] x) => (y) { y = ReduceMax <noop_with_empty_axes = 1> (x) }",
     "float[n,3]", "y"},
    {OPSET(13) "g (float[n,3] x) => (y) { y = ArgMax <axis = -1, keepdims = 0> (x) }", "int64[n]",
     "y"},

    /* casts */
    {OPSET(21) "g (float[n] x) => (y) { y = Cast <to = 7> (x) }", "int64[n]", "y"},
    {OPSET(5) "g (float[n] x) => (y) { y = Cast <to = \"INT64\"> (x) }", "int64[n]", "y"},
    {OPSET(21) "g (float[n] x, bool t) => (y) { y = CastLike (x, t) }", "bool[n]", "y"},
    {OPSET(26) "g (float[n] x) => (y) { y = BitCast <to = 6> (x) }", "int32[n]", "y"},

    /* constants and random numbers */
    {OPSET(21) "g () => (y) { y = Constant <value_ints = [1, 2]> () }", "int64[2]", "y"},
    {OPSET(21) "g () => (y) { y = Constant <value_strings = [\"a\"]> () }", "string[1]", "y"},
    {OPSET(21) "g () => (y) { y = Constant <value = float[1,2] {1.0, 2.0}> () }", "float[1,2]",
     "y"},
    {OPSET(21) "g (int64[3] s) => (y) { y = ConstantOfShape (s) }", "float[?,?,?]", "y"},
    {OPSET(21) "g () => (y) <int64[0] s = {}> { y = ConstantOfShape <value = int32[1] {1}> (s) }",
     "int32", "y"},
    {OPSET(21) "g () => (y) <float a = {0.5}, float b = {3.0}, float d = {0.5}> { y = Range (a, b, "
               "d) }",
     "float[5]", "y"},
    {OPSET(
         21) "g () => (y) <int64 a = {10}, int64 b = {4}, int64 d = {-4}> { y = Range (a, b, d) }",
     "int64[2]", "y"},
    {OPSET(21) "g () => (y) <int64 a = {5}, int64 b = {2}> { y = com.microsoft.Range (a, b) }",
     "int64[0]", "y"},
    {OPSET(21) "g (int64 a) => (y) <int64 b = {2}> { y = com.microsoft.Range (b, a) }", "int64[?]",
     "y"},
    {OPSET(22) "g (float[n,m] x) => (y) { y = EyeLike <dtype = 7> (x) }", "int64[n,m]", "y"},
    {OPSET(22) "g () => (y) { y = RandomNormal <shape = [2, 0], dtype = 11> () }", "double[2,0]",
     "y"},
    {OPSET(22) "g (float[n,3] x) => (y) { y = Bernoulli (x) }", "float[n,3]", "y"},
    {OPSET(22) "g (float[n,3] x) => (y) { y = Multinomial <sample_size = 4> (x) }", "int32[n,4]",
     "y"},
};

static const wrong_case wrong[] = {
    {OPSET(13) "g (float[2,3] x) => (y) { y = Softmax <axis = 2> (x) }", "must lie in [-2, 1]"},
    {OPSET(21) "g (float[n,3] x, float[2] s) => (y) { y = PRelu (x, s) }",
     "does not broadcast to the shape of X"},
    {OPSET(21) "g (float[3] x) => (y) { y = Trilu (x) }", "rank 2 or more"},
    {OPSET(21) "g (float[3,4] x, int64[4] l) => (y) { y = ReverseSequence <batch_axis = 0, "
               "time_axis = 1> (x, l) }",
     "both 3 and 4"},
    {OPSET(21) "g (float[3,4] x, int64[4] l) => (y) { y = ReverseSequence <batch_axis = "
               "9223372036854775807> (x, l) }",
     "one must be 0 and the other 1"},
    {OPSET(28) "g (float[2] a, float[3] b) => (y) { y = SwiGLU (a, b) }", "both 2 and 3"},
    {OPSET(21) "g (float[2,3] a, float[2,4] b) => (y) { y = Add (a, b) }", "do not broadcast"},
    {OPSET(6) "g (float[2,3] a, float[2] b) => (y) { y = Add <broadcast = 1> (a, b) }",
     "does not fit A"},
    {OPSET(6) "g (float[2,3] a, float[2] b) => (y) { y = Add <broadcast = 1, axis = "
              "-9223372036854775807> (a, b) }",
     "does not fit A"},
    {OPSET(6) "g (float[2,3] a, float[2] b) => (y) { y = Sum (a, b) }", "must have rank 2"},
    {OPSET(21) "g (uint8[2] a, uint8[2] b) => (y) { y = BitShift <direction = \"UP\"> (a, b) }",
     "LEFT or RIGHT"},
    {OPSET(18) "g (float[n,3] x) => (y) <int64[1] a = {2}> { y = ReduceMax (x, a) }",
     "must lie in [-2, 1]"},
    {OPSET(13) "g (float x) => (y) { y = ArgMax (x) }", "axis is 0"},
    {OPSET(21) "g (float[n] x) => (y) { y = Cast <to = 99> (x) }", "not an element type"},
    {OPSET(5) "g (float[n] x) => (y) { y = Cast <to = \"REAL\"> (x) }", "not an element type"},
    {OPSET(26) "g (float[n] x) => (y) { y = BitCast <to = 7> (x) }", "32 bits"},
    {OPSET(21) "g () => (y) { y = Constant <value_int = 1, value_float = 1.0> () }", "exactly one"},
    {OPSET(21) "g (int64[1] s) => (y) { y = ConstantOfShape <value = int64[2] {1, 2}> (s) }",
     "must have one"},
    {OPSET(21) "g () => (y) <int64[1] s = {-1}> { y = ConstantOfShape (s) }", "cannot be negative"},
    {OPSET(21) "g () => (y) <int64 a = {0}, int64 b = {4}, int64 d = {0}> { y = Range (a, b, d) }",
     "is 0, but must not be"},
    {OPSET(22) "g (float[n] x) => (y) { y = EyeLike (x) }", "must have rank 2"},
    {OPSET(22) "g () => (y) { y = RandomNormal <shape = [-2]> () }", "cannot be negative"},
    {OPSET(22) "g () => (y) { y = RandomNormal <shape = [2], dtype = 7> () }", "int64"},
    {OPSET(22) "g (float[n] x) => (y) { y = Multinomial (x) }", "must have rank 2"},
};

RUN_TABLE_TESTS()
