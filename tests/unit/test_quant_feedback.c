/* Rounding with error feedback: products on correlated inputs are nearer than by plain rounding,
 * and weights without use of it stay as they are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ops/eval.h"
#include "quant/feedback.h"

enum { ROWS = 300, K = 100, N = 7 };

typedef struct feedback_case {
    hn_arena *arena;
    float x[ROWS * K], w[K * N];
} feedback_case;

/* Inputs are mixtures of a few signals. */
static int setup(void **state) {
    feedback_case *c = calloc(1, sizeof *c);
    float signals[ROWS][8], mix[8][K];
    hn_rng r;
    hn_rng_seed(&r, 1);
    for (int i = 0; i < ROWS * 8; i++)
        (&signals[0][0])[i] = hn_rng_normal(&r);
    for (int i = 0; i < 8 * K; i++)
        (&mix[0][0])[i] = hn_rng_normal(&r);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < K; k++) {
            c->x[i * K + k] = 0.1f * hn_rng_normal(&r);
            for (int s = 0; s < 8; s++)
                c->x[i * K + k] += signals[i][s] * mix[s][k];
        }
    for (int i = 0; i < K * N; i++)
        c->w[i] = hn_rng_normal(&r);
    c->arena = hn_arena_new(NULL);
    *state = c;
    return 0;
}

static int teardown(void **state) {
    hn_arena_free(((feedback_case *)*state)->arena);
    free(*state);
    return 0;
}

/* Squared error of the products; w and q are [K, N], or [N, K] where they are transposed. */
static double product_error(const feedback_case *c, const hn_tensor *w, const hn_quant_result *r,
                            int32_t axis, int64_t block, bool is_transposed) {
    hn_quant_groups groups;
    double *d = calloc(K * N, sizeof *d), sum = 0;
    hn_quant_groups_of(w, axis, block, &groups);
    hn_quant_cursor at = {.groups = &groups};
    hn_quant_rebase(&at);
    for (uint64_t i = 0; i < K * N; i++) {
        double q = 0, scale = 0, zero = 0, x = 0;
        uint64_t group = hn_quant_next(&at);
        hn_tensor_get_f64(r->q, i, &q);
        hn_tensor_get_f64(r->scale, group, &scale);
        hn_tensor_get_f64(r->zero, group, &zero);
        hn_tensor_get_f64(w, i, &x);
        d[is_transposed ? i % K * N + i / K : i] = (q - zero) * scale - x;
    }
    for (int i = 0; i < ROWS; i++)
        for (int n = 0; n < N; n++) {
            double y = 0;
            for (int k = 0; k < K; k++)
                y += (double)c->x[i * K + k] * d[k * N + n];
            sum += y * y;
        }
    free(d);
    return sum;
}

static void expect_gain(feedback_case *c, const hn_quant_type *type, int64_t block,
                        bool is_transposed, double least) {
    hn_moments *m = hn_moments_new(c->arena, K, 1);
    hn_moments_add(m, 0, c->x, ROWS / 2, K, 1, NULL);
    hn_moments_add(m, 0, c->x + ROWS / 2 * K, ROWS / 2, K, 1, NULL);
    assert_int_equal(m->n_rows, ROWS);
    const hn_tensor *w = hn_tensor_new(
        c->arena, HN_F32, 2, is_transposed ? (int64_t[]){N, K} : (int64_t[]){K, N}, c->w, true);
    int32_t k_axis = is_transposed, axis = block ? k_axis : 1 - k_axis;
    hn_quant_result r;
    assert_int_equal(hn_quant_tensor(w, type, axis, block, c->arena, &r, NULL), HONE_OK);
    double plain = product_error(c, w, &r, axis, block, is_transposed), gain;
    hn_feedback_job job = {.w = w,
                           .type = type,
                           .axis = axis,
                           .block = block,
                           .inputs = is_transposed ? HN_INPUTS_ARE_COLUMNS : HN_INPUTS_ARE_ROWS,
                           .moments = m};
    assert_int_equal(hn_quant_feedback(&job, c->arena, &r, &gain), HONE_OK);
    double better = product_error(c, w, &r, axis, block, is_transposed);
    assert_true(plain / better > least && gain > least);
    assert_true(gain < 1.5 * plain / better); /* damping makes it smaller */
}

static void test_gain(void **state) {
    static const hn_quant_type types[] = {{HN_I4, true, false, false},
                                          {HN_U4, false, false, false},
                                          {HN_I8, true, false, false},
                                          {HN_U8, false, false, false}};
    for (size_t i = 0; i < HN_COUNT(types); i++)
        for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
            expect_gain(*state, &types[i], 0, is_transposed, 2);
            expect_gain(*state, &types[i], 16, is_transposed, 2);
        }
}

static void expect_unchanged(feedback_case *c, hn_moments *m, const hn_quant_type *type) {
    const hn_tensor *w = hn_tensor_new(c->arena, HN_F32, 2, (int64_t[]){K, N}, c->w, true);
    hn_quant_result r;
    double gain = 0;
    assert_int_equal(hn_quant_tensor(w, type, 1, 0, c->arena, &r, NULL), HONE_OK);
    const hn_tensor *before = r.q;
    hn_feedback_job job = {
        .w = w, .type = type, .axis = 1, .inputs = HN_INPUTS_ARE_ROWS, .moments = m};
    assert_int_equal(hn_quant_feedback(&job, c->arena, &r, &gain), HONE_OK);
    assert_true(r.q == before && gain == 1);
}

/* No inputs, inputs of zeros, inputs that are not finite, types without integers. */
static void test_no_use(void **state) {
    feedback_case *c = *state;
    static const hn_quant_type int8 = {HN_I8, true, false, false},
                               float8 = {HN_F8E4M3FN, true, false, false};
    hn_moments *m = hn_moments_new(c->arena, K, 1);
    expect_unchanged(c, m, &int8);
    hn_moments_add(m, 0, c->x, ROWS, K, 1, NULL);
    expect_unchanged(c, m, &float8);
    m->sums[5 * K] = NAN;
    expect_unchanged(c, m, &int8);
    m->sums[0] = INFINITY;
    expect_unchanged(c, m, &int8);
    expect_unchanged(c, hn_moments_new(c->arena, K - 1, 1), &int8);
}

/* Channels of an image: rows one float apart. */
static void test_strides(void **state) {
    feedback_case *c = *state;
    float turned[ROWS * K];
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < K; k++)
            turned[k * ROWS + i] = c->x[i * K + k];
    hn_moments *a = hn_moments_new(c->arena, K, 1), *b = hn_moments_new(c->arena, K, 1);
    hn_moments_add(a, 0, c->x, ROWS / 2, 2 * K, 1, NULL);
    hn_moments_add(b, 0, turned, ROWS / 2, 2, ROWS, NULL);
    for (int i = 0; i < K * K; i++)
        assert_true(fabsf(a->sums[i] - b->sums[i]) <= 1e-3f * fabsf(a->sums[0]));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gain), cmocka_unit_test(test_no_use),
                                       cmocka_unit_test(test_strides)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
