/* Lowered operators that move boxes of elements: the same bytes as the evaluation makes. */
#include "lowered_case.h"

#define G TEXT_HEAD "g "

static const lowered_case transposes[] = {
    {.text = G "(float[3,5] x) => (float[5,3] y) { y = Transpose (x) }"},
    {.text = G "(float[2,3,5,7] x) => (float[2,5,3,7] y) { y = Transpose <perm = [0,2,1,3]> (x) }"},
    {.text = G "(float[2,3,5,7] x) => (float[2,5,7,3] y) { y = Transpose <perm = [0,2,3,1]> (x) }"},
    {.text = G "(float16[67,131] x) => (float16[131,67] y) { y = Transpose (x) }"},
    {.text = G "(double[129,3,70] x) => (double[70,3,129] y) { y = Transpose (x) }"},
    {.text = G "(uint8[5,1,9] x) => (uint8[9,1,5] y) { y = Transpose (x) }"},
    {.text = G "(bool[4,6] x) => (bool[6,4] y) { y = Transpose (x) }"},
    {.text = G "(float[0,3] x) => (float[3,0] y) { y = Transpose (x) }"},
    {.text = G "(float x) => (float y) { y = Transpose (x) }"},
    {.text = G "(int64[1,1,1] x) => (int64[1,1,1] y) { y = Transpose <perm = [2,0,1]> (x) }"},
    {.text = G "(int4[3,5] x) => (int4[5,3] y) { y = Transpose (x) }", .lowered = "", .most = 8},
    {.text = G "(float[300,257] x) => (float[257,300] y) { y = Transpose (x) }"},
};

static const lowered_case joins[] = {
    {.text = G "(float[2,3] a, float[2,5] b) => (float[2,8] y) { y = Concat <axis = 1> (a, b) }"},
    {.text = G "(float[2,3] a, float[0,3] b) => (float[2,3] y) { y = Concat <axis = 0> (a, b) }"},
    {.text = G "(int8[1,3,2] a, int8[1,1,2] b, int8[1,4,2] c) => (int8[1,8,2] y) { y = Concat "
               "<axis = -2> (a, b, c) }"},
    {.text = G "(float[7,64] a, float[7,64] b) => (float[7,256] y) { s = Neg (a) t = Exp (b) "
               "y = Concat <axis = 1> (s, t, s, a) }",
     .lowered = "y s t",
     .tolerance = 1e-6},
    {.text = G "(float[4,6] x) => (float[4,k] y) { a = Neg (x) p, q = Split <axis = 1, num_outputs "
               "= 2> (a) r = Neg (q) c = Concat <axis = 1> (p, q, r) y = Abs (c) }",
     .lowered = "p c"},
    {.text = G "(float[5,70000] a, float[5,3] b) => (float[5,70003] y) { y = Concat <axis = 1> (a, "
               "b) }"},
    {.text = G "(int16[9,4] x) => (int16[2,4] a, int16[0,4] b, int16[7,4] c) <int64[3] s = {2, 0, "
               "7}> { a, b, c = Split <axis = 0> (x, s) }"},
    {.text = G "(float[3,7] x) => (float[3,3] a, float[3,1] c) { a, b, c = Split <axis = -1, "
               "num_outputs = 3> (x) }"},
    {.text = G "(float[3,7] x) => (float[3,3] a) { p, q, r = Split <axis = 1, num_outputs = 3> (x) "
               "s = Concat <axis = 1> (r, q, p) t = Transpose (s) a = Transpose (t) }"},
};

static const lowered_case slices[] = {
    {.text = G "(float[5,7] x) => (float[2,7] y) <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = "
               "{0}> { y = Slice (x, s, e, a) }"},
    {.text = G "(float[5,7] x) => (float[5,4] y) <int64[1] s = {-1}, int64[1] e = {-100}, int64[1] "
               "a = {1}, int64[1] t = {-2}> { y = Slice (x, s, e, a, t) }"},
    {.text = G "(int64[5,7] x) => (int64[0,7] y) <int64[1] s = {3}, int64[1] e = {3}, int64[1] a = "
               "{0}> { y = Slice (x, s, e, a) }"},
    {.text = G "(double[2,9,3] x) => (double[2,3,1] y) <int64[2] s = {1, 2}, int64[2] e = {9, 99}, "
               "int64[2] a = {1, -1}, int64[2] t = {3, 1}> { y = Slice (x, s, e, a, t) }"},
    /* bounds that follow from a shape are known, those that a run computes are not */
    {.text = G "(float[5,7] x, float[2] z) => (float[2,7] y) <int64[1] b = {0}> { s = Shape (z) y "
               "= Slice (x, b, s, b) }",
     .lowered = "y"},
    {.text = G "(float[5,7] x, int64[1] e) => (float[k,7] y) <int64[1] b = {0}> { y = Slice (x, b, "
               "e, b) }",
     .lowered = "",
     .most = 5},
};

static const lowered_case boxes[] = {
    {.text = G "(float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2, 3, 4}> { y = Expand (x, s) }"},
    {.text = G "(float x) => (float[5,5] y) <int64[2] s = {5, 5}> { y = Expand (x, s) }"},
    {.text = G "(float[3,1] x) => (float[3,0] y) <int64[2] s = {3, 0}> { y = Expand (x, s) }"},
    {.text = G "(float16[1,300] x) => (float16[200,300] y) <int64[2] s = {200, 1}> { y = Expand "
               "(x, s) }"},
    {.text =
         G "(float[2,8,3,5] x) => (float[2,2,6,10] y) { y = DepthToSpace <blocksize = 2> (x) }"},
    {.text = G "(float[1,8,3,5] x) => (float[1,2,6,10] y) { y = DepthToSpace <blocksize = 2, mode "
               "= \"CRD\"> (x) }"},
    {.text = G "(int32[1,2,6,9] x) => (int32[1,18,2,3] y) { y = SpaceToDepth <blocksize = 3> (x) "
               "}"},
    {.text = G "(float[4,6] x) => (float[24] y) <int64[1] s = {-1}> { y = Reshape (x, s) }"},
    {.text = G "(float[0,6] x) => (float[6,0] y) <int64[2] s = {6, 0}> { y = Reshape <allowzero = "
               "1> (x, s) }"},
    {.text = G "(bool[3,4] x) => (bool[3,4] y) { y = Identity (x) }"},
    {.text = G "(float[3,4] x) => (float[3,4] y, float[12] z) <int64[1] f = {-1}> { a = Abs (x) y "
               "= Identity (a) b = Flatten <axis = 0> (a) z = Reshape (b, f) }"},
    {.text = G "(float[1,3] x) => (float[3] y, float[1,1,3] z) <int64[1] a = {0}> { y = Squeeze "
               "(x, a) z = Unsqueeze (x, a) }"},
};

static const lowered_case gathers[] = {
    {.text = G "(float[5,7] x, int64[3] i) => (float[3,7] y) { y = Gather (x, i) }", .most = 5},
    {.text = G "(float[5,7] x, int32[2,3] i) => (float[5,2,3] y) { y = Gather <axis = 1> (x, i) }",
     .most = 7},
    {.text = G "(double[5,7] x, int64 i) => (double[5] y) { y = Gather <axis = -1> (x, i) }",
     .most = 7},
    {.text = G "(int8[5,7] x, int64[1] i) => (int8[1,7] y) { y = Gather (x, i) }", .most = 5},
    {.text = G "(float[5,7] x) => (float[5,3] y) <int64[3] i = {6, -7, 6}> { y = Gather <axis = 1> "
               "(x, i) }"},
    {.text = G "(bool[2,7,3] x) => (bool[2,5,3] y) <int64[5] i = {1, 2, 3, 0, 0}> { y = Gather "
               "<axis = 1> (x, i) }"},
    {.text = G "(float[5,7] x) => (float[7] y) <int64 i = {4}> { y = Gather (x, i) }"},
    {.text = G "(float[50,700] x, int64[300] i) => (float[300,700] y) { y = Gather (x, i) }",
     .most = 50},
    {.text = G "(float[5,7] x, int64[0] i) => (float[0,7] y) { y = Gather (x, i) }", .lowered = ""},
    {.text = G "(float[2] x, int64[99] i) => (float[99] y) { y = Gather (x, i) }",
     .most = 1000,
     .fails = true},
    {.text = G "(float[0] x, int64 i) => (float y) { y = Gather (x, i) }", .fails = true},
    {.text = G "(float[2,3] x) => (float[2,1] y) <int64[1] i = {3}> { y = Gather <axis = 1> (x, i) "
               "}",
     .lowered = "",
     .fails = true},
    {.text = G "(float[2,3] x) => (float[2,2] y) <int64[2] i = {0, 3}> { y = Gather <axis = 1> (x, "
               "i) }",
     .lowered = "",
     .fails = true},
};

static const lowered_case picks[] = {
    {.text = G "(float[2,3] x) => (float[4,9] y) <int64[2] r = {2, 3}> { y = Tile (x, r) }"},
    {.text = G "(int8[2,3,1] x) => (int8[2,3,5] y) <int64[3] r = {1, 1, 5}> { y = Tile (x, r) }"},
    {.text = G "(float[2,3] x) => (float[2,0] y) <int64[2] r = {1, 0}> { y = Tile (x, r) }",
     .lowered = ""},
    {.text = G "(float[2,3] x) => (float[2,3] y) <int64[2] r = {1, 1}> { y = Tile (x, r) }"},
    {.text = G "(float[100,300] x) => (float[200,900] y) <int64[2] r = {2, 3}> { y = Tile (x, r) "
               "}"},
    {.text = G "(float[3,4] x) => (float[6,5] y) <int64[4] p = {1, 2, 2, -1}> { y = Pad (x, p) }"},
    {.text = G "(float[3,4] x, float v) => (float[5,6] y) <int64[4] p = {1, 1, 1, 1}> { y = Pad "
               "(x, p, v) }"},
    {.text = G "(float16[3,4] x) => (float16[5,8] y) <int64[4] p = {1, 2, 1, 2}> { y = Pad <mode = "
               "\"edge\"> (x, p) }"},
    {.text = G "(int64[3,4] x) => (int64[3,8] y) <int64[2] p = {2, 2}, int64[1] a = {-1}> { y = "
               "Pad <mode = \"reflect\"> (x, p, , a) }"},
    {.text = G "(float[3,4] x) => (float[9,4] y) <int64[4] p = {3, 0, 3, 0}> { y = Pad <mode = "
               "\"wrap\"> (x, p) }"},
    {.text = G "(float[1,3,40,50] x) => (float[1,3,42,52] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, "
               "1}> { y = Pad (x, p) }"},
    {.text = G "(float[3,9] x) => (float[6,4] y) <int64[2] s = {6, 4}> { y = CenterCropPad (x, s) "
               "}"},
    {.text = "<ir_version: 3, opset_import: [\"\" : 2]> g (float[3] x) => (float[6] y) { y = Pad "
             "<pads = [1, 2], value = 2.5> (x) }"},
};

static const lowered_case choices[] = {
    {.text = G "(bool[5] c, float[5] x, float[5] y) => (float[5] z) { z = Where (c, x, y) }"},
    {.text = G "(bool[3,1] c, float[4] x, float y) => (float[3,4] z) { z = Where (c, x, y) }"},
    {.text = G "(bool[2,1,3] c, int64[2,5,1] x, int64[1,1,3] y) => (int64[2,5,3] z) { z = Where "
               "(c, x, y) }"},
    {.text = G "(bool c, int8[7] x, int8[1] y) => (int8[7] z) { z = Where (c, x, y) }"},
    {.text = G "(bool[0] c, float[0] x, float y) => (float[0] z) { z = Where (c, x, y) }",
     .lowered = ""},
    {.text = G "(bool[30000] c, float16[30000] x, float16 y) => (float16[30000] z) { z = Where (c, "
               "x, y) }"},
    {.text = G "(bool[9] c, float[9] x) => (float[9] z) { a = Neg (x) b = Abs (x) d = Where (c, a, "
               "b) z = Neg (d) }"},
    {.text = G "(bool[9] c, bool[9] x, bool[1] y) => (bool[9] z) { z = Where (c, x, y) }"},
};

static const lowered_case casts[] = {
    {.text = G "(float[7] x) => (int64[7] y) { y = Cast <to = 7> (x) }", .is_tame = true},
    {.text = G "(int64[7] x) => (float[7] y) { y = Cast <to = 1> (x) }"},
    {.text = G "(int32[300] x) => (int64[300] y) { y = Cast <to = 7> (x) }"},
    {.text = G "(int64[300] x) => (int8[300] y) { y = Cast <to = 3> (x) }", .most = 1000},
    {.text = G "(float[20000] x) => (float16[20000] y) { y = Cast <to = 10> (x) }"},
    {.text = G "(float16[20000] x) => (float[20000] y) { y = Cast <to = 1> (x) }"},
    {.text = G "(float[33] x) => (bfloat16[33] y) { y = Cast <to = 16> (x) }"},
    {.text = G "(float[33] x) => (bool[33] y) { y = Cast <to = 9> (x) }"},
    {.text = G "(bool[33] x) => (float[33] y) { y = Cast <to = 1> (x) }"},
    {.text = G "(double[33] x) => (float[33] y) { y = Cast <to = 1> (x) }"},
    {.text = G "(float[33] x) => (float8e4m3fn[33] y) { y = Cast <to = 17, saturate = 0> (x) }"},
    {.text = G "(int8[5] x) => (int4[5] y) { y = Cast <to = 22> (x) }"},
    {.text = G "(int4[5] x) => (int4[5] y) { y = Cast <to = 22> (x) }", .most = 8},
    {.text = G "(float[5] x) => (float[5] y) { y = Cast <to = 1> (x) }"},
    {.text = G "(float[5] x, double z) => (double[5] y) { y = CastLike (x, z) }"},
    {.text = G "(float[0] x) => (double[0] y) { y = Cast <to = 11> (x) }", .lowered = ""},
};

static const lowered_case known_results[] = {
    {.text = G "(float[5,3,0] x) => (int64[3] y) { y = Shape (x) }"},
    {.text = G "(float[5,3,2] x) => (int64[1] y) { y = Shape <start = 1, end = -1> (x) }"},
    {.text = G "(float[5,3] x) => (int64 y) { y = Size (x) }"},
    {.text = G "(float[5,3] x) => (float[5,3] y) { s = Shape (x) y = ConstantOfShape (s) }"},
    {.text = G "(float[5,3] x) => (int8[5,3] y) { s = Shape (x) y = ConstantOfShape <value = "
               "int8[1] {7}> (s) }"},
    {.text = G "(float[300,300] x) => (float[300,300] y) { s = Shape (x) y = ConstantOfShape (s) }",
     .lowered = "s"},
    {.text = G "(float[3,5] x) => (float[3,5] y) { y = EyeLike <k = 1> (x) }"},
    {.text = G "(float[9] x) => (int64[9] y) <int64 a = {0}, int64 d = {1}> { n = Size (x) y = "
               "Range (a, n, d) }"},
};

static const lowered_case resizes[] = {
    {.text = G "(float[1,2,3,4] x) => (float[1,2,6,8] y) <float[4] s = {1, 1, 2, 2}> { y = Resize "
               "(x, , s) }"},
    {.text = G "(uint8[1,2,3,4] x) => (uint8[1,2,5,7] y) <int64[4] s = {1, 2, 5, 7}> { y = Resize "
               "<nearest_mode = \"ceil\"> (x, , , s) }"},
    {.text = G "(float[1,2,3,4] x) => (float[1,2,6,8] y) <float[4] s = {1, 1, 2, 2}> { y = Resize "
               "<mode = \"linear\"> (x, , s) }"},
    {.text = G "(float[1,70,31,40] x) => (float[1,70,62,61] y) <int64[4] s = {1, 70, 62, 61}> { y "
               "= Resize <mode = \"linear\", coordinate_transformation_mode = "
               "\"align_corners\"> (x, , , s) }"},
    {.text = G "(float[1,2,9,4] x) => (float[1,2,3,8] y) <int64[4] s = {1, 2, 3, 8}> { y = Resize "
               "<mode = \"cubic\", antialias = 1> (x, , , s) }"},
    {.text = G "(float[3,4] x) => (float[3,4] y) <float[2] s = {1, 1}> { y = Resize <mode = "
               "\"linear\"> (x, , s) }"},
    {.text = G "(float16[3,4] x) => (float16[6,4] y) <float[2] s = {2, 1}> { y = Resize <mode = "
               "\"linear\"> (x, , s) }",
     .lowered = ""},
    {.text = G "(float[1,2,3,4] x) => (float[1,2,6,k] y) <float[4] s = {1, 1, 2, 1}> { e = Neg (x) "
               "a = Resize (e, , s) b = Resize <mode = \"linear\"> (e, , s) c = Concat <axis = 3> "
               "(a, b) y = Neg (c) }",
     .lowered = "c"},
    {.text = "<ir_version: 3, opset_import: [\"\" : 9]> g (float[1,1,2,3] x) => (float[1,1,4,6] y) "
             "<float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }"},
};

static const lowered_case indexed[] = {
    {.text = G "(float[5,7] x, int64[5,3] i) => (float[5,3] y) { y = GatherElements <axis = 1> (x, "
               "i) }",
     .most = 7},
    {.text = G "(uint8[5,7] x, int32[9,2] i) => (uint8[9,2] y) { y = GatherElements (x, i) }",
     .most = 5},
    {.text = G "(float[300,70] x, int64[300,70] i) => (float[300,70] y) { y = GatherElements <axis "
               "= -1> (x, i) }",
     .most = 70},
    {.text = G "(float[5,7] x, int64[5,3] i) => (float[5,3] y) { y = GatherElements <axis = 1> (x, "
               "i) }",
     .most = 100,
     .fails = true},
    {.text = G "(float[5,5,3] x, int64[4,2] i) => (float[4,3] y) { y = GatherND (x, i) }",
     .most = 5},
    {.text = G "(int16[2,5,3] x, int64[2,600,1] i) => (int16[2,600,3] y) { y = GatherND "
               "<batch_dims = 1> (x, i) }",
     .most = 5},
    {.text = G "(float[5,5] x, int64[4,2] i) => (float[4] y) { y = GatherND (x, i) }",
     .most = 50,
     .fails = true},
    {.text = G "(float[5,7] x, int64[2,7] i, float[2,7] u) => (float[5,7] y) { y = ScatterElements "
               "(x, i, u) }",
     .most = 5},
    {.text = G "(int32[5,7] x, int64[5,2] i, int32[5,2] u) => (int32[5,7] y) { y = ScatterElements "
               "<axis = 1, reduction = \"add\"> (x, i, u) }",
     .most = 7},
    {.text = G "(float[5,7] x, int64[2,7] i, float[2,7] u) => (float[5,7] y) { y = ScatterElements "
               "(x, i, u) }",
     .most = 1000,
     .fails = true},
    {.text = G "(float[5,7] x, int64[3,1] i, float[3,7] u) => (float[5,7] y) { y = ScatterND (x, "
               "i, u) }",
     .most = 5},
    {.text = G "(double[5,5] x, int64[30,2] i, double[30] u) => (double[5,5] y) { y = ScatterND "
               "<reduction = \"max\"> (x, i, u) }",
     .most = 5,
     .is_tame = true},
    {.text = G "(float[5,7] x, int64[0,1] i, float[0,7] u) => (float[5,7] y) { y = ScatterND (x, "
               "i, u) }"},
};

static const lowered_case fills[] = {
    {.text = G "(float[3,5] x) => (float[3,5] y) { y = Trilu (x) }"},
    {.text = G "(int64[2,5,3] x) => (int64[2,5,3] y) <int64 k = {-1}> { y = Trilu <upper = 0> (x, "
               "k) }"},
    {.text = G "(float[3,0] x) => (float[3,0] y) { y = Trilu (x) }", .lowered = ""},
    {.text = G "(int64[4] i, float[2] v) => (float[4,7] y) <int64 d = {7}> { y = OneHot (i, d, v) "
               "}",
     .most = 9},
    {.text = G "(int32[2,3] i, bool[2] v) => (bool[2,5,3] y) <int64[1] d = {5}> { y = OneHot <axis "
               "= 1> (i, d, v) }",
     .most = 6},
    {.text = G "(float[4] i, int8[2] v) => (int8[0,4] y) <int64 d = {0}> { y = OneHot <axis = 0> "
               "(i, d, v) }",
     .lowered = "",
     .is_tame = true},
};

static const lowered_case best[] = {
    {.text = G "(float[3,50] x) => (float[3,5] v, int64[3,5] i) <int64[1] k = {5}> { v, i = TopK "
               "(x, k) }"},
    {.text = G "(int32[40,3] x) => (int64[2,3] i) <int64[1] k = {2}> { v, i = TopK <axis = 0, "
               "largest = 0> (x, k) }"},
    {.text = G "(double[7] x) => (double[7] v, int64[7] i) <int64[1] k = {7}> { v, i = TopK (x, k) "
               "}"},
    {.text = G "(float[7] x) => (float[0] v, int64[0] i) <int64[1] k = {0}> { v, i = TopK (x, k) "
               "}"},
    {.text = G "(float[70,90] x) => (float[70,9] v, int64[70,9] i) <int64[1] k = {9}> { v, i = "
               "TopK (x, k) }",
     .lowered = ""},
};

static void transposes_move_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(transposes);
}

static void parts_are_joined_and_cut_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(joins);
}

static void slices_take_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(slices);
}

static void other_boxes_move_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(boxes);
}

static void gathers_take_and_refuse_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(gathers);
}

static void picks_take_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(picks);
}

static void choices_are_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(choices);
}

static void casts_give_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(casts);
}

static void known_results_are_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(known_results);
}

static void resizes_are_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(resizes);
}

static void indexed_elements_are_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(indexed);
}

static void fills_are_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(fills);
}

static void the_best_are_the_same(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(best);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposes_move_the_same),
        cmocka_unit_test(parts_are_joined_and_cut_the_same),
        cmocka_unit_test(slices_take_the_same),
        cmocka_unit_test(other_boxes_move_the_same),
        cmocka_unit_test(gathers_take_and_refuse_the_same),
        cmocka_unit_test(picks_take_the_same),
        cmocka_unit_test(choices_are_the_same),
        cmocka_unit_test(casts_give_the_same),
        cmocka_unit_test(known_results_are_the_same),
        cmocka_unit_test(resizes_are_the_same),
        cmocka_unit_test(indexed_elements_are_the_same),
        cmocka_unit_test(fills_are_the_same),
        cmocka_unit_test(the_best_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
