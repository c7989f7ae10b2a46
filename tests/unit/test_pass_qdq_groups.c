/* The pass qdq-groups and what follows it: groups of DequantizeLinear, an operator and
 * QuantizeLinear become operators on bytes, which compute the same within a quantization step. */
#include "unit/pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"

static uint32_t count_of(const hn_model *m, const char *op) {
    uint32_t n = 0;
    for (hn_id i = 0; i < m->graph->nodes.n; i++) {
        const hn_node *node = hn_node_at(m->graph, i);
        n += node->block != HN_NONE && hn_str_is(node->op, op);
    }
    return n;
}

/* What a session makes of a model: operators that must be there so often, then those that must not
 * be there. Results may differ by `steps` quantization steps of 1/64. */
typedef struct group_case {
    const char *passes; /* NULL: all */
    const char *text;
    const char *has;
    uint32_t n;
    const char *lacks[3];
    int steps;
} group_case;

static hn_model *optimized_group(const group_case *g, pass_case *c) {
    *c = (pass_case){.passes = g->passes,
                     .level = HN_LEVEL_ALL,
                     .target = HN_TARGET_SESSION,
                     .text = g->text,
                     .bound = 1e-5 + g->steps / 64.0};
    return optimized_from(c, NULL);
}

static void expect_group(const group_case *g) {
    pass_case c;
    hn_model *m = optimized_group(g, &c);
    if (count_of(m, g->has) != g->n)
        fail_msg("%u nodes %s, not %u, in\n%s", count_of(m, g->has), g->has, g->n, g->text);
    for (size_t i = 0; i < HN_COUNT(g->lacks) && g->lacks[i]; i++)
        if (count_of(m, g->lacks[i]) > 0)
            fail_msg("%s is left in\n%s", g->lacks[i], g->text);
    expect_same_results(&c, m);
    hn_model_free(m);
}

static void expect_groups(const group_case *groups, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect_group(&groups[i]);
}

#define ONLY .passes = "qdq-groups"

/* x as bytes, and y as floats again. */
#define SCALES "float s = {0.015625}, uint8 z = {128}, int8 sz = {0}, float t = {0.03125}"
#define BYTES_OF_X " xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z)"
#define FLOATS_OF_Y " yq = QuantizeLinear (v, s, z) y = DequantizeLinear (yq, s, z) }"
#define FILTERS                                                                       \
  "int8[2,2,1,1] w = {100, -50, 7, 127}, float[2] ws = {0.0078125, 0.00390625},"      \
  " int8[2] wz = {0, 0}, int32[2] b = {1000, -3000}, float[2] bs = {0.0001220703125," \
  " 0.00006103515625}, "
#define FLOAT_FILTERS                             \
  " wd = DequantizeLinear <axis = 0> (w, ws, wz)" \
  " bd = DequantizeLinear <axis = 0> (b, bs)"
#define IMAGE "g (float[1,2,3,4] x) => (float[1,2,3,4] y) <"

static const group_case conv_cases[] = {
    {.text = HEAD IMAGE FILTERS SCALES "> {" BYTES_OF_X FLOAT_FILTERS
                                       " v = Conv (xd, wd, bd)" FLOATS_OF_Y,
     .has = "QLinearConv",
     .n = 1,
     .lacks = {"Conv"},
     .steps = 1},
    /* A bias of floats, and one scale for all filters of uint8. */
    {.text = HEAD IMAGE "uint8[2,2,1,1] w = {100, 50, 7, 255}, float ws = {0.0078125},"
                        " uint8 wz = {90}, float[2] b = {0.3, -0.7}, " SCALES "> {" BYTES_OF_X
                        " wd = DequantizeLinear (w, ws, wz) v = Conv (xd, wd, b)" FLOATS_OF_Y,
     .has = "QLinearConv",
     .n = 1,
     .lacks = {"Conv"},
     .steps = 1},
    /* The result is read as floats. */
    {.text = HEAD IMAGE FILTERS SCALES "> {" BYTES_OF_X FLOAT_FILTERS " y = Conv (xd, wd, bd) }",
     .has = "QLinearConv",
     .n = 1,
     .lacks = {"Conv", "DequantizeLinear"}},
    /* Weights that are quantized in the graph. */
    {ONLY,
     .text = HEAD IMAGE "float[2,2,1,1] w = {0.5, -0.25, 0.75, 1}, float ws = {0.0078125},"
                        " int8 wz = {0}, " SCALES "> {" BYTES_OF_X
                        " wq = QuantizeLinear (w, ws, wz) wd = DequantizeLinear (wq, ws, wz)"
                        " v = Conv (xd, wd)" FLOATS_OF_Y,
     .has = "QLinearConv", .n = 1, .lacks = {"Conv"}, .steps = 1},
    /* Relu that the range of bytes does not imply. */
    {.text = HEAD IMAGE FILTERS SCALES "> {" BYTES_OF_X FLOAT_FILTERS
                                       " c = Conv (xd, wd, bd) v = Relu (c)" FLOATS_OF_Y,
     .has = "QLinearConv",
     .n = 1,
     .lacks = {"Conv", "Relu", "FusedConv"},
     .steps = 1},
    /* One DequantizeLinear for two convolutions, and their sum. */
    {.text = HEAD IMAGE FILTERS SCALES "> {" BYTES_OF_X FLOAT_FILTERS
                                       " c = Conv (xd, wd, bd) cq = QuantizeLinear (c, t, z)"
                                       " cd = DequantizeLinear (cq, t, z) d = Conv (xd, wd)"
                                       " dq = QuantizeLinear (d, s, z) dd = DequantizeLinear (dq, "
                                       "s, z) v = Add (cd, dd)" FLOATS_OF_Y,
     .has = "QLinearConv",
     .n = 2,
     .lacks = {"Conv", "QLinearAdd", "Add"},
     .steps = 1},
    {.text = HEAD "g (uint8[1,2,3,4] x) => (uint8[1,2,3,4] y) <" FILTERS SCALES
                  "> { y = QLinearConv (x, s, z, w, ws, wz, t, z, b) }",
     .has = "QLinearConv",
     .n = 1},
};

static void test_convolutions(void **state) {
    (void)state;
    expect_groups(conv_cases, HN_COUNT(conv_cases));
}

static void test_left_convolutions(void **state) {
    (void)state;
    static const char per_channel[] = HEAD IMAGE FILTERS SCALES
        ", float[2] xs = {0.5, 0.25}, uint8[2] xz = {3, 4}> {"
        " xq = QuantizeLinear (x, xs, xz)"
        " xd = DequantizeLinear (xq, xs, xz)" FLOAT_FILTERS " v = Conv (xd, wd, bd)" FLOATS_OF_Y;
    static const char wide[] = HEAD IMAGE FILTERS SCALES
        ", uint16 z16 = {3}> { xq = QuantizeLinear (x, s, z16)"
        " xd = DequantizeLinear (xq, s, z16)" FLOAT_FILTERS " v = Conv (xd, wd, bd)" FLOATS_OF_Y;
    static const char huge[] =
        HEAD IMAGE "int8[2,2,1,1] w = {100, -50, 7, 127}, float ws = {1e-10}, int8 wz = {0},"
                   " float[2] b = {1, 2}, " SCALES "> {" BYTES_OF_X
                   " wd = DequantizeLinear (w, ws, wz) v = Conv (xd, wd, b)" FLOATS_OF_Y;
    expect_miss(&(pass_case){ONLY, .target = HN_TARGET_SESSION, .text = per_channel}, "conv",
                "scale per channel");
    expect_miss(&(pass_case){ONLY, .target = HN_TARGET_SESSION, .text = wide}, "conv", "8-bit");
    expect_miss(&(pass_case){ONLY, .target = HN_TARGET_SESSION, .text = huge}, "conv", "bias");
}

#define MATRIX "g (float[3,4] x) => (float[3,2] y) <"
#define WEIGHTS                                                                           \
  "int8[4,2] w = {100, -50, 7, 127, 1, 2, -3, 4}, float[2] ws = {0.0078125, 0.00390625}," \
  " int8[2] wz = {0, 0}, "

static const group_case product_cases[] = {
    {ONLY,
     .text =
         HEAD MATRIX WEIGHTS SCALES "> {" BYTES_OF_X " wd = DequantizeLinear <axis = 1> (w, ws, wz)"
                                    " v = MatMul (xd, wd)" FLOATS_OF_Y,
     .has = "QLinearMatMul", .n = 1, .lacks = {"MatMul"}, .steps = 1},
    {ONLY,
     .text = HEAD MATRIX WEIGHTS SCALES ", float[2] b = {1, -2}> {" BYTES_OF_X
                                        " wd = DequantizeLinear <axis = 1> (w, ws, wz)"
                                        " v = MatMul (xd, wd) y = Add (v, b) }",
     .has = "MatMulIntegerToFloat", .n = 1, .lacks = {"MatMul", "Add"}},
    {ONLY,
     .text = HEAD MATRIX "int8[2,4] w = {100, -50, 7, 127, 1, 2, -3, 4},"
                         " float[2] ws = {0.0078125, 0.00390625}, int8[2] wz = {0, 0},"
                         " float[2] b = {0.25, -0.5}, " SCALES "> {" BYTES_OF_X
                         " wd = DequantizeLinear <axis = 0> (w, ws, wz)"
                         " v = Gemm <transB = 1> (xd, wd, b)" FLOATS_OF_Y,
     .has = "QGemm", .n = 1, .lacks = {"Gemm"}, .steps = 1},
    /* Weights behind a Transpose. */
    {.text = HEAD MATRIX "int8[2,4] w = {100, -50, 7, 127, 1, 2, -3, 4},"
                         " float[2] ws = {0.0078125, 0.00390625}, int8[2] wz = {0, 0}, " SCALES
                         "> {" BYTES_OF_X " wd = DequantizeLinear <axis = 0> (w, ws, wz)"
                         " wt = Transpose <perm = [1, 0]> (wd) v = MatMul (xd, wt)" FLOATS_OF_Y,
     .has = "MatMul",
     .n = 0,
     .lacks = {"Transpose"},
     .steps = 1},
    /* Both sides are computed. */
    {ONLY,
     .text = HEAD "g (float[2,3,3] x) => (float[2,3,3] y) <" SCALES "> {" BYTES_OF_X
                  " v = MatMul (xd, xd)" FLOATS_OF_Y,
     .has = "QLinearMatMul", .n = 1, .lacks = {"MatMul"}, .steps = 1},
};

static void test_products(void **state) {
    (void)state;
    expect_groups(product_cases, HN_COUNT(product_cases));
}

#define SAME "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <"
#define SECOND " p = QuantizeLinear (x, t, z) pd = DequantizeLinear (p, t, z)"

static const group_case element_cases[] = {
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x, float[1,2,1,1] w) => (float[1,2,4,4] y) <" SCALES
                  "> {" BYTES_OF_X " p = QuantizeLinear (w, t, z)"
                  " pd = DequantizeLinear (p, t, z) v = Mul (xd, pd)" FLOATS_OF_Y,
     .has = "QLinearMul", .n = 1, .lacks = {"Mul"}, .steps = 1},
    {ONLY, .text = HEAD SAME SCALES "> {" BYTES_OF_X SECOND " v = Add (xd, pd)" FLOATS_OF_Y,
     .has = "QLinearAdd", .n = 1, .lacks = {"Add"}, .steps = 1},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,4,4,4] y) <" SCALES "> {" BYTES_OF_X SECOND
                  " v = Concat <axis = 1> (xd, pd)" FLOATS_OF_Y,
     .has = "QLinearConcat", .n = 1, .lacks = {"Concat"}, .steps = 1},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,4,4,4] y) <" SCALES "> {" BYTES_OF_X
                  " p = Neg (x) pq = QuantizeLinear (p, s, z) pd = DequantizeLinear (pq, s, "
                  "z) v = Concat <axis = 1> (xd, pd)" FLOATS_OF_Y,
     .has = "Concat", .n = 1, .lacks = {"QLinearConcat"}},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,2,2,2] y) <" SCALES "> {" BYTES_OF_X
                  " v = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> "
                  "(xd)" FLOATS_OF_Y,
     .has = "QLinearAveragePool", .n = 1, .lacks = {"AveragePool"}, .steps = 1},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,2,1,1] y) <" SCALES "> {" BYTES_OF_X
                  " v = GlobalAveragePool (xd)" FLOATS_OF_Y,
     .has = "QLinearGlobalAveragePool", .n = 1, .lacks = {"GlobalAveragePool"}, .steps = 1},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,2] y) <int64[2] axes = {2, 3}, " SCALES
                  "> {" BYTES_OF_X " v = ReduceMean <keepdims = 0> (xd, axes)" FLOATS_OF_Y,
     .has = "QLinearGlobalAveragePool", .n = 1, .lacks = {"ReduceMean"}, .steps = 1},
};

static void test_elements(void **state) {
    (void)state;
    expect_groups(element_cases, HN_COUNT(element_cases));
}

static const group_case table_cases[] = {
    {ONLY, .text = HEAD SAME SCALES "> {" BYTES_OF_X " v = Sigmoid (xd)" FLOATS_OF_Y,
     .has = "ByteTable", .n = 1, .lacks = {"Sigmoid"}},
    /* x * sigmoid(x) with quantization in between: one table. */
    {ONLY,
     .text = HEAD SAME SCALES "> {" BYTES_OF_X " g = Sigmoid (xd)"
                              " gq = QuantizeLinear (g, t, z) gd = DequantizeLinear (gq, t, z)"
                              " v = Mul (xd, gd)" FLOATS_OF_Y,
     .has = "ByteTable", .n = 1, .lacks = {"Sigmoid", "Mul", "QLinearMul"}},
    {ONLY,
     .text = HEAD SAME SCALES ", float three = {3}, float six = {6}, float low = {0}> {" BYTES_OF_X
                              " a = Add (xd, three) c = Clip (a, low, six)"
                              " m = Mul (xd, c) v = Div (m, six)" FLOATS_OF_Y,
     .has = "ByteTable", .n = 1, .lacks = {"Clip", "Mul", "Div"}},
    /* Tables that follow each other are one. */
    {ONLY,
     .text = HEAD SAME SCALES "> {" BYTES_OF_X " e = Tanh (xd) eq = QuantizeLinear (e, t, z)"
                              " ed = DequantizeLinear (eq, t, z) v = Exp (ed)" FLOATS_OF_Y,
     .has = "ByteTable", .n = 1, .lacks = {"Tanh", "Exp"}},
    /* Other scales. */
    {ONLY,
     .text = HEAD SAME SCALES "> {" BYTES_OF_X " p = QuantizeLinear (xd, t, sz)"
                              " y = DequantizeLinear (p, t, sz) }",
     .has = "ByteTable", .n = 1, .lacks = {NULL}},
    /* A constant per channel is no table. */
    {ONLY,
     .text = HEAD SAME "float[2,1,1] c = {1, 2}, " SCALES "> {" BYTES_OF_X
                       " v = Mul (xd, c)" FLOATS_OF_Y,
     .has = "ByteTable", .n = 0},
    {ONLY,
     .text = HEAD "g (uint8[5] x) => (uint8[5] y) <" SCALES "> { g ="
                  " com.microsoft.QLinearSigmoid (x, s, z, t, z)"
                  " y = com.microsoft.QLinearMul (x, s, z, g, t, z, s, z) }",
     .has = "ByteTable", .n = 1, .lacks = {"QLinearMul", "QLinearSigmoid"}, .steps = 1},
};

static void test_tables(void **state) {
    (void)state;
    expect_groups(table_cases, HN_COUNT(table_cases));
}

static const group_case move_cases[] = {
    {ONLY,
     .text = HEAD SAME "float no = {0}, " SCALES "> {" BYTES_OF_X
                       " n = IsNaN (xd) v = Where (n, no, xd)" FLOATS_OF_Y,
     .has = "QuantizeLinear", .n = 1, .lacks = {"IsNaN", "Where"}},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,2,2,2] y) <" SCALES "> {" BYTES_OF_X
                  " v = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (xd)" FLOATS_OF_Y,
     .has = "QuantizeLinear", .n = 1, .lacks = {NULL}},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,2,6,6] y) <int64[8] p = {0, 0, 1, 1, 0, "
                  "0, 1, 1}, " SCALES "> {" BYTES_OF_X " v = Pad (xd, p)" FLOATS_OF_Y,
     .has = "QuantizeLinear", .n = 1, .lacks = {NULL}},
    {ONLY,
     .text = HEAD "g (float[1,2,4,4] x) => (float[1,1,4,4] y) <" SCALES "> {" BYTES_OF_X
                  " v, w = Split <axis = 1, num_outputs = 2> (xd)" FLOATS_OF_Y,
     .has = "QuantizeLinear", .n = 1, .lacks = {NULL}},
    /* The product is quantized where it is made. */
    {ONLY,
     .text = HEAD "g (float[2,3,3] x) => (float[18] y) <int64[1] f = {-1}, " SCALES "> {" BYTES_OF_X
                  " m = MatMul (xd, xd) v = Reshape (m, f)" FLOATS_OF_Y,
     .has = "QLinearMatMul", .n = 1, .lacks = {"MatMul"}, .steps = 1},
};

static void test_moves(void **state) {
    (void)state;
    expect_groups(move_cases, HN_COUNT(move_cases));
}

#define DYNAMIC                                                             \
  " xq, xs, xz = DynamicQuantizeLinear (x) c = ConvInteger (xq, w, xz, wz)" \
  " cf = Cast <to = 1> (c) k = Mul (xs, ws) m = Mul (cf, k)"
#define DYNAMIC_FILTERS                                                                           \
  "uint8[2,2,1,1] w = {100, 50, 7, 255}, float ws = {0.0078125}, uint8 wz = {90}, float[1,2,1,1]" \
  " b = {0.5, -1}"

static const group_case dynamic_cases[] = {
    {.text = HEAD IMAGE DYNAMIC_FILTERS "> {" DYNAMIC " a = Add (m, b) y = Relu (a) }",
     .has = "DynamicConv",
     .n = 1,
     .lacks = {"ConvInteger", "Add", "Relu"}},
    {.text = HEAD IMAGE DYNAMIC_FILTERS "> {" DYNAMIC " y = Add (m, x) }",
     .has = "DynamicConv",
     .n = 1,
     .lacks = {"ConvInteger", "Add", "Mul"}},
};

static void test_dynamic(void **state) {
    (void)state;
    expect_groups(dynamic_cases, HN_COUNT(dynamic_cases));
}

/* Convolutions, pools, sums and tables in one channels-last region: bytes between them. */
static void test_region(void **state) {
    (void)state;
    static const group_case whole = {
        .text = HEAD
        "g (float[1,2,8,8] x) => (float[1,2] y) <" FILTERS SCALES "> {" BYTES_OF_X FLOAT_FILTERS
        " c = Conv (xd, wd, bd) cq = QuantizeLinear (c, t, z) cd = DequantizeLinear (cq, t, z)"
        " h = HardSwish (cd) hq = QuantizeLinear (h, t, z) hd = DequantizeLinear (hq, t, z)"
        " m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (hd)"
        " mq = QuantizeLinear (m, t, z) md = DequantizeLinear (mq, t, z)"
        " e = Conv (md, wd, bd) eq = QuantizeLinear (e, t, z) ed = DequantizeLinear (eq, t, z)"
        " r = Add (ed, md) rq = QuantizeLinear (r, t, z) rd = DequantizeLinear (rq, t, z)"
        " p = GlobalAveragePool (rd) pq = QuantizeLinear (p, s, z) pd = DequantizeLinear (pq, s, z)"
        " v = Flatten (pd)" FLOATS_OF_Y,
        .has = "QLinearConv",
        .n = 2,
        .lacks = {"Conv", "QLinearAdd", "HardSwish"},
        .steps = 1};
    pass_case c;
    expect_group(&whole);
    hn_model *m = optimized_group(&whole, &c);
    assert_int_equal(count_of(m, "QuantizeLinear"), 1);
    assert_int_equal(count_of(m, "DequantizeLinear"), 1);
    assert_int_equal(count_of(m, "Transpose"), 1);
    assert_int_equal(count_of(m, "ByteTable"), 1);
    hn_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions), cmocka_unit_test(test_left_convolutions),
        cmocka_unit_test(test_products),     cmocka_unit_test(test_elements),
        cmocka_unit_test(test_tables),       cmocka_unit_test(test_moves),
        cmocka_unit_test(test_dynamic),      cmocka_unit_test(test_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
