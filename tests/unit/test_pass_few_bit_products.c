/* The pass few-bit-products: products with constants that a DequantizeLinear widens in blocks
 * become MatMulNBits and compute the same. */
#include <stdio.h>

#include "unit/pass_case.h"

#include "cpu/kernels/gemm_nbits/gemm_nbits.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
#define SESSION .passes = "few-bit-products", .target = HN_TARGET_SESSION

enum { K = 40, N = 5, BLOCK = 16, BLOCKS = 3, TEXT_BYTES = 16384 };

static uint32_t count_few_bit_products(const hn_model *m) {
    uint32_t n = 0;
    for (hn_id i = 0; i < m->graph->nodes.n; i++) {
        const hn_node *node = hn_node_at(m->graph, i);
        n += node->block != HN_NONE && hn_str_is(node->op, "MatMulNBits");
    }
    return n;
}

static int add_numbers(char *text, int at, const char *type, const char *dims, const char *name,
                       int n, int least, int most, const char *suffix) {
    at += snprintf(text + at, (size_t)(TEXT_BYTES - at), "%s[%s] %s = {", type, dims, name);
    for (int i = 0; i < n; i++)
        at += snprintf(text + at, (size_t)(TEXT_BYTES - at), "%s%d%s", i ? ", " : "",
                       least + i * 7 % (most - least + 1), suffix);
    return at + snprintf(text + at, (size_t)(TEXT_BYTES - at), "}");
}

typedef struct few_bit_case {
    const char *type;
    int least, most;
    bool has_zeros, is_transposed;
    const char *body;
    uint32_t n_products;
} few_bit_case;

static void expect_few_bits(const few_bit_case *t) {
    char text[TEXT_BYTES];
    const char *dims = t->is_transposed ? "5,40" : "40,5";
    const char *small = t->is_transposed ? "5,3" : "3,5";
    int at = snprintf(text, sizeof text,
                      HEAD "g (float[2,3,40] x, float[2,40] f, float[5] c) => (float[] y) <");
    at = add_numbers(text, at, t->type, dims, "q", K * N, t->least, t->most, "");
    at += snprintf(text + at, sizeof text - (size_t)at, ", ");
    at = add_numbers(text, at, "float", small, "s", N * BLOCKS, 1, 9, ".25");
    if (t->has_zeros) {
        at += snprintf(text + at, sizeof text - (size_t)at, ", ");
        at = add_numbers(text, at, t->type, small, "z", N * BLOCKS, t->least, t->most, "");
    }
    snprintf(text + at, sizeof text - (size_t)at,
             "> { w = DequantizeLinear <axis = %d, block_size = 16> (q, s%s) %s }",
             t->is_transposed, t->has_zeros ? ", z" : "", t->body);
    pass_case c = {SESSION, .text = text};
    hn_model *m = optimized_from(&c, NULL);
    assert_int_equal(count_few_bit_products(m), t->n_products);
    expect_same_results(&c, m);
    hn_model_free(m);
}

static void test_types(void **state) {
    (void)state;
    static const few_bit_case types[] = {{.type = "int4", .least = -8, .most = 7},
                                         {.type = "uint4", .least = 0, .most = 15},
                                         {.type = "int8", .least = -128, .most = 127},
                                         {.type = "uint8", .least = 0, .most = 255}};
    for (size_t i = 0; i < HN_COUNT(types); i++)
        for (int form = 0; form < 6; form++) {
            static const char *const bodies[] = {"y = MatMul (x, w)", "y = Gemm (f, w, c)",
                                                 "t = Transpose (w) y = MatMul (x, t)",
                                                 "y = Gemm <transB = 1> (f, w)"};
            few_bit_case t = types[i];
            int body = form % 2 + (form >= 4 ? 2 : 0);
            t.has_zeros = form / 2 % 2;
            t.is_transposed = body >= 2;
            t.body = bodies[body];
            t.n_products = hn_gemm_nbits_can(
                &(hn_nbits_form){.bits = 4, .n = N, .k = K, .block = BLOCK}); /* not in plain C */
            expect_few_bits(&t);
        }
}

static void test_other_products(void **state) {
    (void)state;
    static const few_bit_case kept[] = {
        {.type = "int4", .least = -8, .most = 7, .body = "y = Gemm <alpha = 2.0> (f, w)"},
        {.type = "int4", .least = -8, .most = 7, .body = "r = Relu (w) y = MatMul (x, r)"},
    };
    for (size_t i = 0; i < HN_COUNT(kept); i++)
        expect_few_bits(&kept[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types),
                                       cmocka_unit_test(test_other_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
