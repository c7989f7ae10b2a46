/* Nodes that return their input, and nodes that only seem to. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define CASE(opset, io, before, after)                          \
  {                                                             \
    .passes = "no-ops", .text = HEAD(opset) io " {" before "}", \
    .expected = HEAD(opset) io " {" after "}"                   \
  }
#define STAYS(opset, io, nodes) CASE(opset, io, nodes, nodes)
#define TO_RELU(opset, io, nodes) CASE(opset, io, nodes " y = Relu (a)", "y = Relu (x)")

#define SAME "g (float[2,3] x) => (float[2,3] y)"
#define ANY "g (float[n,m] x) => (float[n,m] y)"
#define FREE "g (float[b,3] x) => (float[b,3] y)"
#define UNKNOWN "g (float[2,3] x) => (int64[2,c] y)"
#define IMAGE "g (float[1,2,4,4] x) => (float[1,2,4,4] y)"

static const pass_case gone[] = {
    TO_RELU(17, ANY, "a = Identity (x)"),
    TO_RELU(7, ANY, "a = Dropout (x)"),
    TO_RELU(6, ANY, "a = Dropout <is_test = 1> (x)"),
    TO_RELU(17, ANY, "a, mask = Dropout (x)"), /* the mask has no reader */
    TO_RELU(17, ANY " <float r = {0.5}, bool t = {0}>", "a = Dropout (x, r, t)"),
    TO_RELU(17, ANY, "a = Cast <to = 1> (x)"),
    TO_RELU(17, ANY, "a = CastLike (x, x)"),
    TO_RELU(17, SAME, "a = Concat <axis = 0> (x)"),
    TO_RELU(17, ANY, "a = Sum (x)"),
    TO_RELU(17, SAME, "a = Split <axis = 1> (x)"),
    TO_RELU(13, IMAGE, "a = DepthToSpace <blocksize = 1> (x)"),
    TO_RELU(17, SAME, "a = Einsum <equation = \"i j -> ij\"> (x)"),
    TO_RELU(17, SAME, "a = Transpose <perm = [0, 1]> (x)"),
    TO_RELU(17, "g (float[n] x) => (float[n] y)", "a = Transpose (x)"),
    TO_RELU(10, SAME, "a = Pad <pads = [0, 0, 0, 0]> (x)"),
    TO_RELU(17, SAME " <int64[4] p = {0, 0, 0, 0}>", "a = Pad (x, p)"),
    TO_RELU(9, SAME, "a = Slice <starts = [0, 0], ends = [2, 9]> (x)"),
    TO_RELU(17, FREE " <int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] k = {0}>",
            "a = Slice (x, s, e, k)"),
    TO_RELU(17, IMAGE, "a = AveragePool <kernel_shape = [1, 1]> (x)"),
    TO_RELU(17, IMAGE, "a = MaxPool <kernel_shape = [1, 1], strides = [1, 1]> (x)"),
    TO_RELU(7, IMAGE, "a = Upsample <scales = [1.0, 1.0, 1.0, 1.0]> (x)"),
    TO_RELU(10, IMAGE " <float[4] s = {1, 1, 1, 1}>", "a = Resize (x, s)"),
    TO_RELU(17, IMAGE " <float[4] s = {1, 1, 1, 1}>", "a = Resize <mode = \"linear\"> (x, , s)"),
    TO_RELU(18, IMAGE " <int64[4] s = {1, 2, 4, 4}>", "a = Resize (x, , , s)"),
    TO_RELU(17, SAME " <int64[2] s = {-1, 3}>", "a = Reshape (x, s)"),
    TO_RELU(17, FREE " <int64[2] s = {0, 3}>", "a = Reshape (x, s)"),
    TO_RELU(17, FREE, "a = Flatten (x)"),
    TO_RELU(17, FREE, "s = Shape (x) a = Expand (x, s)"),
    TO_RELU(17, FREE " <int64[2] s = {1, 1}>", "a = Tile (x, s)"),
    TO_RELU(12, SAME, "a = Squeeze <axes: ints = []> (x)"),
    TO_RELU(17, "g (float[b,1,3] x) => (float[b,1,3] y)", "a = ReduceMean <axes = [1]> (x)"),
    TO_RELU(18, "g (float[b,1] x) => (float[b,1] y) <int64[1] k = {-1}>", "a = ReduceMax (x, k)"),
    TO_RELU(17, "g (float[1,8,1,1] x) => (float[1,8,1,1] y)", "a = GlobalAveragePool (x)"),
    /* Unknown sizes do not change. */
    CASE(17, UNKNOWN " <int64[2] s = {0, -1}>", "a = NonZero (x) b = Reshape (a, s) y = Neg (b)",
         "a = NonZero (x) y = Neg (a)"),
    CASE(17, UNKNOWN " <int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] k = {1}>",
         "a = NonZero (x) b = Slice (a, s, e, k) y = Neg (b)", "a = NonZero (x) y = Neg (a)"),
    CASE(17, UNKNOWN " <int64[2] s = {1, 1}>", "a = NonZero (x) b = Tile (a, s) y = Neg (b)",
         "a = NonZero (x) y = Neg (a)"),
    /* A chain is removed in one run; outputs keep their names. */
    CASE(17, SAME, "a = Relu (x) b = Identity (a) c = Cast <to = 1> (b) y = Identity (c)",
         "y = Relu (x)"),
    CASE(17, "g (float[2] x) => (float[2] y)", "y = Cast <to = 1> (x)", "y = Identity (x)"),
    CASE(17, "g (bool c, float[2] x) => (float[2] y)",
         "y = If (c) <then_branch = t () => (float[2] r) { q = Exp (x) r = Identity (q) },"
         " else_branch = e () => (float[2] s) { s = Neg (x) }>",
         "y = If (c) <then_branch = t () => (float[2] r) { r = Exp (x) },"
         " else_branch = e () => (float[2] s) { s = Neg (x) }>"),
};

static void test_no_ops_go(void **state) {
    (void)state;
    expect_passes(gone, HN_COUNT(gone));
}

static const pass_case kept[] = {
    STAYS(17, "g (float[2] x) => (float[2] y)", "y = Identity (x)"),
    STAYS(17, "g (float[2] x) => (float[2] y, float[2] z)", "y = Relu (x) z = Identity (y)"),
    STAYS(17, "g (bool c, float[2] x) => (float[2] y)",
          "y = If (c) <then_branch = t () => (float[2] r) { r = Identity (x) },"
          " else_branch = e () => (float[2] s) { s = Neg (x) }>"),
    STAYS(17, "g (float[2] x) => (float[2] y, bool[2] m)", "a, m = Dropout (x) y = Relu (a)"),
    STAYS(17, ANY, "a = Cast <to = 10> (x) y = Cast <to = 1> (a)"),
    STAYS(17, "g (float[2,2] x) => (float[2,2] y)", "a = Transpose (x) y = Relu (a)"),
    STAYS(17, "g (float[2,2] x) => (float[2,2] y)",
          "a = Einsum <equation = \"ij->ji\"> (x) y = Relu (a)"),
    /* One side is padded, the other cropped. */
    STAYS(17, "g (float[3] x) => (float[3] y) <int64[2] p = {-1, 1}>",
          "a = Pad (x, p) y = Relu (a)"),
    STAYS(17,
          "g (float[3] x) => (float[3] y)"
          " <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] k = {0}, int64[1] t = {-1}>",
          "a = Slice (x, s, e, k, t) y = Relu (a)"),
    STAYS(17, IMAGE, "a = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x) y = Relu (a)"),
    STAYS(17, "g (float[1,1,10,1] x) => (float[1,1,10,1] y) <float[4] s = {1, 1, 1.05, 1}>",
          "a = Resize <mode = \"linear\"> (x, , s) y = Relu (a)"),
    STAYS(17, "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3, 2}>",
          "a = Reshape (x, s) y = Relu (a)"),
    STAYS(17, "g (float[2,3] x) => (int64[1,c] y)",
          "a = NonZero (x) b = Flatten <axis = 0> (a) y = Neg (b)"),
    STAYS(17, UNKNOWN " <int64[1] s = {1}, int64[1] e = {9223372036854775807}, int64[1] k = {1}>",
          "a = NonZero (x) b = Slice (a, s, e, k) y = Neg (b)"),
    STAYS(17,
          UNKNOWN " <int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] k = {1},"
                  " int64[1] t = {2}>",
          "a = NonZero (x) b = Slice (a, s, e, k, t) y = Neg (b)"),
    STAYS(17, UNKNOWN " <int64[2] s = {1, 2}>", "a = NonZero (x) b = Tile (a, s) y = Neg (b)"),
    /* The shape is unknown. */
    STAYS(17, "g (float[n] x, int64[k] t) => (float[m] y) <int64[1] s = {-1}>",
          "a = Reshape (x, t) b = Reshape (a, s) y = Relu (b)"),
    STAYS(17, "g (float[b] x, float[c] z) => (float[d] y)", "s = Shape (z) y = Expand (x, s)"),
};

static void test_others_stay(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(kept); i++) {
        hn_model *m = optimized_from(&kept[i], NULL), *expected = model_from(kept[i].expected);
        tidy(m);
        tidy(expected);
        expect_same_text(m, expected);
        hn_model_free(m);
        hn_model_free(expected);
    }
}

static void test_near_misses(void **state) {
    (void)state;
    pass_case mask =
        STAYS(17, "g (float[2] x) => (float[2] y, bool[2] m)", "a, m = Dropout (x) y = Relu (a)");
    expect_miss(&mask, "dropout", "mask has readers");
    pass_case crop =
        STAYS(17, IMAGE " <float[8] r = {0, 0, 0, 0, 1, 1, 1, 1}, float[4] s = {1, 1, 1, 1}>",
              "a = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\">"
              " (x, r, s) y = Relu (a)");
    expect_miss(&crop, "resize", "moves the samples");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_ops_go),
        cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_near_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
