/* The pass float-weights: constants behind a DequantizeLinear become floats, or are widened behind
 * the Gather that reads them. */
#include "unit/pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"
#define SESSION .passes = "float-weights", .target = HN_TARGET_SESSION

static uint32_t count_ops(const hn_model *m, const char *op) {
    uint32_t n = 0;
    for (hn_id i = 0; i < m->graph->nodes.n; i++) {
        const hn_node *node = hn_node_at(m->graph, i);
        n += node->block != HN_NONE && hn_str_is(node->op, op);
    }
    return n;
}

static void expect_left(const char *text, uint32_t n_dequantize) {
    pass_case c = {SESSION, .text = text};
    hn_model *m = optimized_from(&c, NULL);
    assert_int_equal(count_ops(m, "DequantizeLinear"), n_dequantize);
    expect_same_results(&c, m);
    hn_model_free(m);
}

static void test_constants(void **state) {
    (void)state;
    expect_left(HEAD
                "g (float[2,3] x) => (float[2,4] y)"
                " <int8[3,4] w = {1, -2, 3, -4, 127, -128, 7, 8, 9, 10, 11, 0}, float s = {0.5}"
                "> { d = DequantizeLinear (w, s) y = MatMul (x, d) }",
                0);
    expect_left(HEAD "g (float[2,3] x) => (float[2,4] y)"
                     " <uint8[3,4] w = {1, 2, 3, 4, 127, 128, 7, 8, 255, 10, 11, 0},"
                     " float[4] s = {0.5, 1, 3, 0.1}, uint8[4] z = {1, 0, 128, 255}"
                     "> { d = DequantizeLinear <axis = -1> (w, s, z) y = MatMul (x, d) }",
                0);
    expect_left(HEAD "g (float[2,3] x) => (float[2,3] y)"
                     " <int32[3] b = {1000000, -7, 16777217}, float[3] s = {0.5, 1, 3}"
                     "> { d = DequantizeLinear <axis = 0> (b, s) y = Add (x, d) }",
                0);
}

/* Blocks of scales, and constants of fewer than 8 bits, stay. */
static void test_kept(void **state) {
    (void)state;
    expect_left(HEAD
                "g (float[1,4] x) => (float[1,2] y)"
                " <int8[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2,2] s = {1, 2, 3, 4}"
                "> { d = DequantizeLinear <axis = 0, block_size = 2> (w, s) y = MatMul (x, d) }",
                1);
    expect_left(HEAD "g (int8[4] x, float s) => (float[4] y) { y = DequantizeLinear (x, s) }", 1);
}

static void test_tables(void **state) {
    (void)state;
    expect_left(HEAD "g (float[2] x) => (float[2,2] y) <int8[4,2] t = {1, 2, 3, 4, 5, 6, 7, 8},"
                     " float s = {0.25}, int8 z = {3}, float l = {0}>"
                     " { d = DequantizeLinear (t, s, z) b = Greater (x, l) i = Cast <to = 7> (b)"
                     " y = Gather (d, i) }",
                1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
