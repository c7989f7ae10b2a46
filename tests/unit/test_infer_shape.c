/* Inference of operators that reshape, slice, concatenate and gather. */
#include "infer_case.h"

#define OPSET(version) \
  "<ir_version: 10, opset_import: [\"\" : " #version ", \"com.microsoft\" : 1]>\n"
/* One initializer s of int64 besides the input x. */
#define WITH_LIST(type, n, values, node) \
  OPSET(21) "g (" type " x) => (y) <int64[" #n "] s = {" values "}> { y = " node " }"

static const typed_case typed[] = {
    {OPSET(21) "g (float[n,3,4] x) => (y) { y = Transpose (x) }", "float[4,3,n]", "y"},
    {OPSET(21) "g (float[] x) => (y) { y = Transpose <perm = [1, 0]> (x) }", "float[?,?]", "y"},
    {OPSET(21) "g (float[1,n,1] x) => (y) { y = Squeeze (x) }", "float[]", "y"},
    {OPSET(21) "g (float[1,5,1] x) => (y) { y = Squeeze (x) }", "float[5]", "y"},
    {WITH_LIST("float[1,n,1]", 1, "-1", "Squeeze (x, s)"), "float[1,n]", "y"},
    {OPSET(21) "g (float[1,n,1] x, int64[1] a) => (y) { y = Squeeze (x, a) }", "float[?,?]", "y"},
    {OPSET(21) "g (float[1,n,1] x, int64[2] a) => (y) { y = Squeeze (x, a) }", "float[]", "y"},
    {WITH_LIST("float[n,3]", 2, "0, -1", "Unsqueeze (x, s)"), "float[1,n,3,1]", "y"},
    {OPSET(21) "g (float[n,3] x, int64[2] a) => (y) { y = Unsqueeze (x, a) }", "float[?,?,?,?]",
     "y"},
    {OPSET(21) "g (float[n,3] x) => (y) <int32 a = {1}> { y = com.microsoft.ExpandDims (x, a) }",
     "float[n,1,3]", "y"},
    {WITH_LIST("float[3,1]", 3, "2, 1, 6", "Expand (x, s)"), "float[2,3,6]", "y"},
    {OPSET(21) "g (float[n,3,4] x) => (y) { y = Flatten <axis = -1> (x) }", "float[3*n,4]", "y"},
    {OPSET(21) "g (float[n,3] x) => (y) { y = Flatten <axis = 0> (x) }", "float[1,3*n]", "y"},
    {WITH_LIST("float[n,3]", 2, "2, 0", "Tile (x, s)"), "float[2*n,0]", "y"},
    {OPSET(5) "g (float[n,3] x) => (y) <float t = {2.0}, float a = {1.0}> { y = Tile (x, t, a) }",
     "float[n,6]", "y"},
    {OPSET(21) "g (float[n,8,h,w] x) => (y) { y = DepthToSpace <blocksize = 2> (x) }",
     "float[n,2,2*h,2*w]", "y"},
    {OPSET(21) "g (float[n,2,h,4] x) => (y) { y = SpaceToDepth <blocksize = 2> (x) }",
     "float[n,8,floor(h/2),2]", "y"},

    /* Reshape */
    {WITH_LIST("float[b,s,768]", 4, "0, 0, 12, -1", "Reshape (x, s)"), "float[b,s,12,64]", "y"},
    {WITH_LIST("float[?,6]", 3, "0, -1, 2", "Reshape (x, s)"), "float[?,3,2]", "y"},
    {WITH_LIST("float[0,3]", 2, "0, 5", "Reshape (x, s)"), "float[0,5]", "y"},
    {WITH_LIST("float[0,3]", 2, "3, 0", "Reshape <allowzero = 1> (x, s)"), "float[3,0]", "y"},
    {OPSET(21) "g (float[4,3] x, int64[2] s) => (y) { y = Reshape (x, s) }", "float[?,?]", "y"},
    {OPSET(21) "g (float[4,3] x, int64[1] s) => (y) { y = Reshape (x, s) }", "float[12]", "y"},
    {OPSET(4) "g (float[4,3] x) => (y) { y = Reshape <shape = [2, -1]> (x) }", "float[2,6]", "y"},

    /* Slice and Split */
    {OPSET(9) "g (float[n,9] x) => (y) { y = Slice <axes = [1], starts = [-3], ends = "
              "[2147483647]> (x) }",
     "float[n,3]", "y"},
    {OPSET(21) "g (float[n,9] x) => (y) <int64[1] s = {8}, int64[1] e = {-100}, int64[1] a = {1}, "
               "int64[1] t = {-2}> {\n"
               "y = Slice (x, s, e, a, t) }",
     "float[n,5]", "y"},
    {OPSET(21) "g (float[n] x) => (y) <int64[1] s = {1}, int64[1] e = {9223372036854775807}> { y = "
               "Slice (x, s, e) }",
     "float[max(n - 1, 0)]", "y"},
    {OPSET(21) "g (float[n] x) => (y) <int64[1] s = {-2}, int64[1] e = {9223372036854775807}> { y "
               "= Slice (x, s, e) }",
     "float[min(n, 2)]", "y"},
    {OPSET(21) "g (float[n,4] x, int64[1] e) => (y) <int64[1] s = {0}, int64[1] a = {-1}> { y = "
               "Slice (x, s, e, a) }",
     "float[n,?]", "y"},
    {OPSET(21) "g (float[n,4] x, int64[1] a) => (y) <int64[1] s = {0}> { y = Slice (x, s, s, a) }",
     "float[?,?]", "y"},
    {OPSET(17) "g (float[n,6] x) => (z, y) { z, y = Split <axis = 1> (x) }", "float[n,3]", "y"},
    {OPSET(21) "g (float[7,n] x) => (z, w, y) { z, w, y = Split <num_outputs = 3> (x) }",
     "float[1,n]", "y"},
    {OPSET(21) "g (float[n] x) => (y, z) { y, z = Split <num_outputs = 2> (x) }",
     "float[floor((n + 1)/2)]", "y"},
    {OPSET(21) "g (float[?,n] x) => (z, y) <int64[2] s = {2, 0}> { z, y = Split (x, s) }",
     "float[0,n]", "y"},

    /* Concat and Pad */
    {OPSET(21) "g (float[n,2] a, float[m,?] b) => (y) { y = Concat <axis = 0> (a, b) }",
     "float[m + n,2]", "y"},
    {OPSET(21) "g (float[n,2] a, float[] b) => (y) { y = Concat <axis = 1> (a, b) }", "float[n,?]",
     "y"},
    {WITH_LIST("float[n,4]", 4, "0, -1, 2, 0", "Pad (x, s)"), "float[n + 2,3]", "y"},
    {OPSET(21) "g (float[n,4] x) => (y) <int64[2] s = {1, 1}, int64[1] a = {-1}> { y = Pad (x, s, "
               ", a) }",
     "float[n,6]", "y"},
    {OPSET(2) "g (float[n,4] x) => (y) { y = Pad <pads = [0, 1, 0, 1]> (x) }", "float[n,6]", "y"},
    {WITH_LIST("float[n,4,5]", 1, "3", "CenterCropPad <axes = [1]> (x, s)"), "float[n,3,5]", "y"},

    /* Gather and Scatter */
    {OPSET(21) "g (float[n,3] x, int64[2,m] i) => (y) { y = Gather <axis = 1> (x, i) }",
     "float[n,2,m]", "y"},
    {OPSET(21) "g (float[n,3] x, int64[m,2] i) => (y) { y = GatherElements (x, i) }", "float[m,2]",
     "y"},
    {OPSET(21) "g (float[n,3,4] x, int64[?,5,1] i) => (y) { y = GatherND <batch_dims = 1> (x, i) }",
     "float[n,5,4]", "y"},
    {OPSET(16) "g (float[n] x, int64[1] i, float[1] u) => (y) { y = ScatterElements <reduction = "
               "\"max\"> (x, i, u) }",
     "float[n]", "y"}, /* named by version 18, written by exporters before */
    {OPSET(21) "g (float[n,3] x, int64[5,1] i, float[5,3] u) => (y) { y = ScatterND (x, i, u) }",
     "float[n,3]", "y"},
    {OPSET(24) "g (float[b,h,64,d] x, float[b,h,s,d] u) => (y) { y = TensorScatter (x, u) }",
     "float[b,h,64,d]", "y"},

    /* selections */
    {OPSET(21) "g (float[n,9] x) => (y, z) <int64[1] s = {3}> { y, z = TopK (x, s) }", "float[n,3]",
     "y"},
    {OPSET(9) "g (float[n,9] x) => (z, y) { z, y = TopK <axis = 0, k = 2> (x) }", "int64[2,9]",
     "y"},
    {OPSET(21) "g (float[n,9] x) => (y) { y = NonZero (x) }", "int64[2,?]", "y"},
    {OPSET(21) "g (float[n,9] x) => (a, b, y) { a, b, y = Unique (x) }", "int64[9*n]", "y"},
    {OPSET(21) "g (float[n,9] x) => (y) { y = Unique <axis = 0> (x) }", "float[?,9]", "y"},
    {OPSET(21) "g (float[n,2] x) => (y) <bool[2] c = {1, 0}> { y = Compress <axis = 1> (x, c) }",
     "float[n,1]", "y"},
    {OPSET(21) "g (int64[n] x, float[2] v) => (y) <float d = {5.0}> { y = OneHot <axis = 0> (x, d, "
               "v) }",
     "float[5,n]", "y"},
};

static const wrong_case wrong[] = {
    {OPSET(21) "g (float[n,3] x) => (y) { y = Transpose <perm = [0]> (x) }", "it needs 2"},
    {OPSET(21) "g (float[n,3] x) => (y) { y = Transpose <perm = [0, 0]> (x) }", "twice"},
    {WITH_LIST("float[1,2]", 1, "1", "Squeeze (x, s)"), "only size 1 can be squeezed"},
    {WITH_LIST("float[1,2]", 2, "0, 0", "Unsqueeze (x, s)"), "twice"},
    {OPSET(9) "g (float[n,3] x) => (y) { y = Flatten <axis = -1> (x) }", "must lie in [0, 2]"},
    {WITH_LIST("float[1,2]", 1, "2", "Tile (x, s)"), "it needs 2"},
    {OPSET(21) "g (float[1,3,2,2] x) => (y) { y = DepthToSpace <blocksize = 2> (x) }",
     "multiple of 4"},
    {OPSET(21) "g (float[1,4,2,2] x) => (y) { y = DepthToSpace <blocksize = 0> (x) }", "1 or more"},
    {WITH_LIST("float[4,3]", 2, "5, -1", "Reshape (x, s)"), "the numbers of elements differ"},
    {WITH_LIST("float[4,3]", 2, "3, 3", "Reshape (x, s)"), "the numbers of elements differ"},
    {WITH_LIST("float[4,3]", 2, "-1, -1", "Reshape (x, s)"), "at most one"},
    {WITH_LIST("float[4,3]", 3, "4, 3, 0", "Reshape (x, s)"), "does not have"},
    {WITH_LIST("float[4,0]", 2, "0, -1", "Reshape <allowzero = 1> (x, s)"), "undefined"},
    {WITH_LIST("float[4,0]", 2, "-1, 0", "Reshape (x, s)"), "undefined"},
    {OPSET(9) "g (float[n,9] x) => (y) { y = Slice <axes = [2], starts = [0], ends = [1]> (x) }",
     "must lie in"},
    {OPSET(9) "g (float[n,9] x) => (y) { y = Slice <starts = [0], ends = [1, 1]> (x) }",
     "must agree"},
    {OPSET(21) "g (float[9] x) => (y) <int64[1] s = {0}> { y = Slice (x, s, s, s, s) }",
     "is 0, but must not be"},
    {OPSET(17) "g (float[5] x) => (y, z) { y, z = Split (x) }", "not a multiple of 2"},
    {OPSET(21) "g (float[5] x) => (y, z) <int64[2] s = {2, 2}> { y, z = Split (x, s) }",
     "add up to 4"},
    {OPSET(21) "g (float[5] x) => (y, z) { y, z = Split (x) }", "num_outputs is needed"},
    {OPSET(21) "g (float[2] a, float[2,2] b) => (y) { y = Concat <axis = 0> (a, b) }", "one rank"},
    {OPSET(21) "g (float[2,1] a, float[2,2] b) => (y) { y = Concat <axis = 0> (a, b) }",
     "size 1 at axis 1"},
    {WITH_LIST("float[n,4]", 3, "0, 1, 2", "Pad (x, s)"), "two each"},
    {WITH_LIST("float[n,4]", 4, "0, -5, 0, 0", "Pad (x, s)"), "cut more"},
    {WITH_LIST("float[n]", 2, "0, 1", "Pad <mode = \"mirror\"> (x, s)"), "mode must be"},
    {OPSET(21) "g (float[n,3] x, int64[2,3] i) => (y) { y = GatherND (x, i) }", "2 axes to index"},
    {OPSET(21) "g (float[n,3] x, int64[2] i) => (y) { y = GatherElements (x, i) }", "one rank"},
    {OPSET(21) "g (float[n,3] x, int64[5,1] i, float[5,2] u) => (y) { y = ScatterND (x, i, u) }",
     "needs the shape [5,3]"},
    {OPSET(16) "g (float[n] x, int64[1] i, float[1] u) => (y) { y = ScatterElements <reduction = "
               "\"mean\"> (x, i, u) }",
     "none, add, mul, max or min"},
    {OPSET(21) "g (float[n,2] x) => (y, z) <int64[1] s = {3}> { y, z = TopK (x, s) }",
     "fewer elements"},
    {OPSET(21) "g (int64[n] x, float[3] v) => (y) <int64 d = {5}> { y = OneHot (x, d, v) }",
     "off and on"},
};

RUN_TABLE_TESTS()
