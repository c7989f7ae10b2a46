/* Edge cases of data-movement operators that no published test case covers: packed types, empty
 * tensors, hostile indices. */
#include "eval_text.h"

static void test_packed_elements_move(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int4[3,2] z) <int4[2,3] a = {1, -2, 3, -4, 5, -6}> { z = "
                           "Transpose (a) }",
                1, -4, -2, 5, 3, -6);
    EXPECT_INTS(HEAD("21") "g () => (uint4[5] z) <uint4[3] a = {1, 2, 15}, int64[2] p = {1, 1}> { "
                           "z = Pad (a, p) }",
                0, 1, 2, 15, 0);
    EXPECT_INTS(HEAD("25") "g () => (int2[2,2] z) <int2[4] a = {1, -2, 0, -1}, int64[2] s = {2, "
                           "2}> { z = Reshape (a, s) }",
                1, -2, 0, -1);
}

static void test_empty_tensors(void **state) {
    (void)state;
    EXPECT_EMPTY(
        HEAD("21") "g () => (int64[0,3] z) <int64[0,3] a = {}> { z = ScatterElements (a, a, a) }");
    EXPECT_EMPTY(HEAD("21") "g () => (int64[0] z) <int64[0] a = {}> { z = Unique (a) }");
    EXPECT_EMPTY(HEAD("21") "g () => (int64[1,0] z) <int64[3] a = {0, 0, 0}> { z = NonZero (a) }");
    EXPECT_INTS(
        HEAD("21") "g () => (int64[2] z) <int64[0] a = {}, int64[2] p = {1, 1}> { z = Pad (a, p) }",
        0, 0);
    expect_refused(HEAD("21") "g () => (int64[2] z) <int64[0] a = {}, int64[2] p = {1, 1}> { z = "
                              "Pad <mode = \"edge\"> (a, p) }",
                   "empty");
}

static void test_indices_out_of_range(void **state) {
    (void)state;
    expect_refused(HEAD("21") "g () => (int64[1] z) <int64[3] a = {1, 2, 3}, int64[1] i = {3}> { z "
                              "= Gather (a, i) }",
                   "index 3");
    expect_refused(HEAD("21") "g () => (int64[1] z) <int64[3] a = {1, 2, 3}, int64[1] i = "
                              "{-9223372036854775808}>"
                              "{ z = GatherElements (a, i) }",
                   "out of range");
    expect_refused(HEAD("21") "g () => (int64[1] z) <int64[3] a = {1, 2, 3}, int64[1,1] i = {-4}> "
                              "{ z = GatherND (a, i) }",
                   "index -4");
    expect_refused(HEAD("21") "g () => (int64[3] z) <int64[3] a = {1, 2, 3}, int64[1,1] i = {5}, "
                              "int64[1] u = {1}>"
                              "{ z = ScatterND (a, i, u) }",
                   "index 5");
    expect_refused(HEAD("21") "g () => (int64[1,2] z) <int64[1,2] a = {1, 2}, int64[1] n = {3}>"
                              "{ z = ReverseSequence <time_axis = 1, batch_axis = 0> (a, n) }",
                   "sequence_lens[0] is 3");
    expect_refused(HEAD("24") "g () => (int64[1,2,1] z) <int64[1,2,1] a = {1, 2}, int64[1,1,1] u = "
                              "{3}, int64[1] w = {2}>"
                              "{ z = TensorScatter (a, u, w) }",
                   "do not fit");
}

/* Indices that are the same along all other axes pick what Gather picks: 0 for each axis. */
static void test_elements_of_large_tensors(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int64[3] z) <int64 no = {0}, int64 one = {1}, int64 all = "
                           "{44850}, int64[3] s = "
                           "{13, 1150, 3}, int64[4] p = {12, 0, -5, 3}, int64[3] p0 = {4, 1, 1}, "
                           "int64[3] e0 = {4, "
                           "1100, 2}, int64[3] e1 = {13, 4, 2}, int64[3] p1 = {1, 4, 1}, int64[3] "
                           "e2 = {13, 1100, 4}, "
                           "int64[4] q = {2, 0, -3, 1}, int64[1] b = {0}, int64[1] n1 = {1100}, "
                           "int64[1] a1 = {1}, "
                           "int64[1] n2 = {2}, int64[1] a2 = {2}> {"
                           " r = Range (no, all, one) x = Reshape (r, s) wide = Slice (x, b, n1, "
                           "a1) thin = Slice (x, "
                           "b, n2, a2) both = Slice (wide, b, n2, a2)"
                           " r0 = Reshape (p, p0) i0 = Expand (r0, e0) g0 = GatherElements <axis = "
                           "0> (x, i0)"
                           " w0 = Gather <axis = 0> (both, p) d0 = Sub (g0, w0) z0 = "
                           "ReduceSumSquare <keepdims = 0> (d0)"
                           " r1 = Reshape (p, p1) i1 = Expand (r1, e1) g1 = GatherElements <axis = "
                           "1> (x, i1)"
                           " w1 = Gather <axis = 1> (thin, p) d1 = Sub (g1, w1) z1 = "
                           "ReduceSumSquare <keepdims = 0> (d1)"
                           " i2 = Expand (q, e2) g2 = GatherElements <axis = 2> (x, i2)"
                           " w2 = Gather <axis = 2> (wide, q) d2 = Sub (g2, w2) z2 = "
                           "ReduceSumSquare <keepdims = 0> (d2)"
                           " u0 = Unsqueeze (z0, b) u1 = Unsqueeze (z1, b) u2 = Unsqueeze (z2, b)"
                           " z = Concat <axis = 0> (u0, u1, u2) }",
                0, 0, 0);
}

/* What was scattered is gathered again: 0 differences for each axis, and for whole rows. */
static void test_scattered_elements(void **state) {
    (void)state;
    EXPECT_INTS(
        HEAD("21") "g () => (int64[3] z) <int64 no = {0}, int64 one = {1}, int64 all = {44850},"
                   " int64[3] s = {13, 1150, 3}, int64[4] p = {12, 0, -5, 3}, int64[3] p0 = {4, 1, "
                   "1}, "
                   "int64[3] e0 = {4, 1100, 2}, int64[3] p1 = {1, 4, 1}, int64[3] e1 = {13, 4, 2}, "
                   "int64[1] b "
                   "= {0}, int64[4,1] t = {12, 0, -5, 3}, int64[3] e2 = {4, 1150, 3}> {"
                   " r = Range (no, all, one) x = Reshape (r, s)"
                   " r0 = Reshape (p, p0) i0 = Expand (r0, e0) u0 = Neg (i0) s0 = ScatterElements "
                   "<axis = 0> "
                   "(x, i0, u0) g0 = GatherElements <axis = 0> (s0, i0) d0 = Sub (g0, u0)"
                   " z0 = ReduceSumSquare <keepdims = 0> (d0)"
                   " r1 = Reshape (p, p1) i1 = Expand (r1, e1) u1 = Neg (i1) s1 = ScatterElements "
                   "<axis = 1> "
                   "(x, i1, u1) g1 = GatherElements <axis = 1> (s1, i1) d1 = Sub (g1, u1)"
                   " z1 = ReduceSumSquare <keepdims = 0> (d1)"
                   " u2 = Expand (r0, e2) s2 = ScatterND (x, t, u2) g2 = GatherND (s2, t) d2 = Sub "
                   "(g2, u2)"
                   " z2 = ReduceSumSquare <keepdims = 0> (d2)"
                   " v0 = Unsqueeze (z0, b) v1 = Unsqueeze (z1, b) v2 = Unsqueeze (z2, b)"
                   " z = Concat <axis = 0> (v0, v1, v2) }",
        0, 0, 0);
}

static void test_bounds_that_overflow(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int64[1] z) <int64[3] a = {1, 2, 3}, int64[1] s = "
                           "{9223372036854775807}, "
                           "int64[1] e = {-9223372036854775808}, int64[1] x = {0}, int64[1] p = "
                           "{-9223372036854775807}>"
                           "{ z = Slice (a, s, e, x, p) }",
                3);
    expect_refused(HEAD("21") "g () => (int64[n] z) <int64[3] a = {1, 2, 3}, int64[2] p = "
                              "{-9223372036854775808, 9223372036854775807}>"
                              "{ z = Pad (a, p) }",
                   "pads cut more");
    EXPECT_INTS(HEAD("21") "g () => (int64[2,2] z) <int64[2,2] a = {1, 2, 3, 4}, int64 k = "
                           "{9223372036854775807}> { z = Trilu (a, k) }",
                0, 0, 0, 0);
}

/* Ties go to the first; NaN is the largest number. */
static void test_order_of_the_best(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int64[3] z) <float[5] a = {1, nan, 2, 2, -inf}, int64[1] k = "
                           "{3}> { v, z = TopK (a, k) }",
                1, 2, 3);
    EXPECT_INTS(HEAD("21") "g () => (int64[2] z) <float[4] a = {0, nan, -0, 1}, int64[1] k = {2}> "
                           "{ v, z = TopK <largest = 0> (a, k) }",
                0, 2);
    EXPECT_INTS(HEAD("21") "g () => (int64[2] z) <uint64[3] a = {1, 18446744073709551615, 2}, "
                           "int64[1] k = {2}> { v, z = TopK (a, k) }",
                1, 2);
}

/* Boxes without numbers keep to themselves; those far apart are never compared. */
static void test_boxes_anywhere(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int64[3,3] z) <float[1,4,4] b = {0, 0, 1, 1, 0, 0.1, 1, 1, "
                           "nan, 0, inf, 1, 1e30, 0, 2e30, 1}, float[1,1,4] s = {4, 3, 2, 1}, "
                           "int64 m = {9}, float iou = {0.5}> { z = NonMaxSuppression (b, s, m, "
                           "iou) }",
                0, 0, 0, 0, 0, 2, 0, 0, 3);
    EXPECT_INTS(HEAD("21") "g () => (int64[2,3] z) <float[1,3,4] b = {0, 0, 1, 1, 900, 0, 901, 1, "
                           "900.1, 0, 901, 1}, float[1,1,3] s = {1, 3, 2}, int64 m = {9}, float "
                           "iou = {0.5}> { z = NonMaxSuppression (b, s, m, iou) }",
                0, 0, 1, 0, 0, 0);
}

/* Elements that repeat, that lie together, and those that come from nowhere. */
static void test_pieces(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int64[2,6] z) <int64[1,3] a = {1, 2, 3}, int64[4] p = {1, 2, "
                           "0, 1}, int64 v = {7}> { z = Pad (a, p, v) }",
                7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 3, 7);
    EXPECT_INTS(HEAD("21") "g () => (int64[2,4] z) <int64[1,2] a = {1, 2}, float[2] s = {2, 2}> { "
                           "z = Resize <mode = \"nearest\", nearest_mode = \"floor\", "
                           "coordinate_transformation_mode = \"asymmetric\"> (a, , s) }",
                1, 1, 2, 2, 1, 1, 2, 2);
    EXPECT_INTS(HEAD("21") "g () => (int64[2,4] z) <bool[2,3] a = {1, 0, 1, 0, 1, 1}> { z = "
                           "NonZero (a) }",
                0, 0, 1, 1, 0, 2, 1, 2);
    EXPECT_INTS(HEAD("21") "g () => (int64[2,2] z) <int64[2,2,2] a = {1, 2, 3, 4, 5, 6, 7, 8}, "
                           "int64[2,1] i = {1, -2}> { z = GatherND <batch_dims = 1> (a, i) }",
                3, 4, 5, 6);
    EXPECT_INTS(HEAD("21") "g () => (int64[2,3] z) <int64[2,3] a = {1, 2, 3, 4, 5, 6}, int64 x = "
                           "{1}> { z = CumSum <exclusive = 1, reverse = 1> (a, x) }",
                5, 3, 0, 11, 6, 0);
}

/* How many of n numbers come before number i: larger ones, and equal ones that stand before it. */
static int64_t place_of_number(const float *x, int64_t n, int64_t i) {
    int64_t n_better = 0;
    for (int64_t k = 0; k < n; k++)
        n_better += x[k] > x[i] || (x[k] == x[i] && k < i);
    return n_better;
}

static void expect_best(const runner *r, int64_t n, int64_t k) {
    static float x[3 * 400];
    uint32_t seed = (uint32_t)(n * 31 + k);
    for (int64_t i = 0; i < 3 * n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = i < n ? (float)i : (float)(seed >> 16) - (i < 2 * n ? 1 << 15 : 65500);
        x[i] = i >= 2 * n && x[i] > 0 ? 0 : x[i]; /* the last row has many equals */
    }
    const char *names[] = {"x", "k"}, *out = "z";
    hone_value *in[] = {tensor_of(ELEM_FLOAT, x, DIMS(3, n)), tensor_of(ELEM_INT64, &k, DIMS(1))};
    hone_value *z = NULL;
    hone_tensor_info info;
    expect_ok(hone_session_run(r->session, NULL, 2, names, (const hone_value *const *)in, 1, &out,
                               &z, &error));
    assert_true(hone_value_tensor(z, &info));
    assert_int_equal(info.n_elements, 3 * k);
    for (int64_t i = 0; i < 3 * k; i++)
        assert_int_equal(place_of_number(x + i / k * n, n, ((const int64_t *)info.data)[i]), i % k);
    hone_value_free(in[0]);
    hone_value_free(in[1]);
    hone_value_free(z);
}

static void test_the_best_of_many(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 16, 17, 18, 100, 400};
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 2;
    runner r =
        runner_with(HEAD("21") "g (float[3,n] x, int64[1] k) => (float[3,m] v, int64[3,m] z) "
                               "{ v, z = TopK (x, k) }",
                    NULL, &options);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int64_t k = 1; k <= sizes[s]; k += 1 + sizes[s] / 8)
            expect_best(&r, sizes[s], k);
    runner_free(&r);
}

/* Every element of a row several times, for each size of an element. */
static void test_rows_that_repeat_elements(void **state) {
    (void)state;
#define GROWN(type, times)                                                                        \
  HEAD("21")                                                                                      \
  "g () => (" type "[1,1,n,m] z) <" type "[1,1,1,3] x = {1, 2, 3}, float[4] s = {1, 1, 1, " times \
  "}> { z = Resize <mode = \"nearest\", nearest_mode = \"floor\", "                               \
  "coordinate_transformation_mode = \"asymmetric\"> (x, , s) }"
    EXPECT_INTS(GROWN("uint8", "2"), 1, 1, 2, 2, 3, 3);
    EXPECT_INTS(GROWN("int16", "2"), 1, 1, 2, 2, 3, 3);
    EXPECT_INTS(GROWN("int32", "3"), 1, 1, 1, 2, 2, 2, 3, 3, 3);
    EXPECT_INTS(GROWN("int64", "2"), 1, 1, 2, 2, 3, 3);
    EXPECT_INTS(GROWN("int32", "2.34"), 1, 1, 1, 2, 2, 3, 3);
#undef GROWN
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_that_repeat_elements),
        cmocka_unit_test(test_packed_elements_move),
        cmocka_unit_test(test_empty_tensors),
        cmocka_unit_test(test_indices_out_of_range),
        cmocka_unit_test(test_elements_of_large_tensors),
        cmocka_unit_test(test_scattered_elements),
        cmocka_unit_test(test_bounds_that_overflow),
        cmocka_unit_test(test_order_of_the_best),
        cmocka_unit_test(test_the_best_of_many),
        cmocka_unit_test(test_boxes_anywhere),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
