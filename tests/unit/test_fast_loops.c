/* Loops over float32 against those that serve every type: each model computes its outputs twice,
 * from floats and from doubles (or integers of another width), and both must be the same. */
#include "lowered_case.h"

#define G TEXT_HEAD "g "
/* y from x and z from wide, which is x as doubles; both are outputs of type float. */
#define TWINS(in, out, constants, op)                                             \
  G "(float[" in "] x) => (float[" out "] y, float[" out "] z) <" constants "> {" \
    " y = " op " wide = Cast <to = 11> (x) "

static void expect_twins(const lowered_case *c) {
    hn_model *m = model_from(c->text);
    hone_error err = {0};
    for (int n_threads = 1; n_threads <= 3; n_threads += 2)
        for (uint32_t seed = 1; seed <= 3; seed++) {
            hn_pool *pool = hn_pool_new(n_threads, NULL);
            lowered_inputs in = lowered_inputs_of(c, m, seed);
            lowered_side side = lowered_side_of(m, false, &in, pool);
            assert_non_null(pool);
            if (lowered_run(&side, &in, &err) != HONE_OK)
                fail_msg("%s: %s", c->text, err.message);
            const hn_call *call = hn_state_call(side.state);
            assert_int_equal(call->n_outputs, 2);
            lowered_compare(c, call->outputs[0], call->outputs[1]);
            lowered_drop_outputs(&side, &in);
            lowered_side_free(&side);
            lowered_inputs_free(&in);
            hn_pool_free(pool);
        }
    hn_model_free(m);
}

static void expect_all_twins(const lowered_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect_twins(&cases[i]);
}
#define EXPECT_TWINS(cases) expect_all_twins(cases, HN_COUNT(cases))

/* ---- indices --------------------------------------------------------------------------------- */

#define SCATTER(axis, x_dims, i_dims, how)                                                         \
  {                                                                                                \
    .text = G "(float[" x_dims "] x, float[" i_dims "] u, int64[" i_dims "] i) => (float[" x_dims  \
              "] y, float[" x_dims "] z) { y = ScatterElements <axis = " axis                      \
              ", reduction = \"" how "\"> (x, i, u) v = Cast <to = 11> (x) w = Cast <to = 11> (u)" \
              " d = ScatterElements <axis = " axis ", reduction = \"" how                          \
              "\"> (v, i, w) z = Cast <to = 1> (d) }",                                             \
    .most = 3, .is_tame = true, .tolerance = 1e-5                                                  \
  }
#define SCATTER_INTS(type, id, how)                                                                \
  {                                                                                                \
    .text =                                                                                        \
        G "(" type "[5,7] x, " type "[9,7] u, int64[9,7] i) => (" type "[5,7] y, " type            \
          "[5,7] z) { y = ScatterElements <reduction = \"" how "\"> (x, i, u)"                     \
          " v = Cast <to = 5> (x) w = Cast <to = 5> (u)"                                           \
          " d = ScatterElements <reduction = \"" how "\"> (v, i, w) z = Cast <to = " id "> (d) }", \
    .most = 3                                                                                      \
  }
#define SCATTER_ALL(X, ...)                                                                    \
  X(__VA_ARGS__, "none"), X(__VA_ARGS__, "add"), X(__VA_ARGS__, "mul"), X(__VA_ARGS__, "max"), \
      X(__VA_ARGS__, "min")

static const lowered_case scatters[] = {
    SCATTER_ALL(SCATTER, "0", "5,7", "9,7"), SCATTER_ALL(SCATTER, "1", "4,5", "4,300"),
    SCATTER_ALL(SCATTER, "-1", "3", "1"),    SCATTER_ALL(SCATTER, "1", "3,4,33", "2,5,33"),
    SCATTER_ALL(SCATTER_INTS, "int32", "6"), SCATTER_ALL(SCATTER_INTS, "int64", "7"),
};

#define SCATTER_ND(x_dims, i_dims, u_dims, how)                                                   \
  {                                                                                               \
    .text = G "(float[" x_dims "] x, int64[" i_dims "] i, float[" u_dims "] u) => (float[" x_dims \
              "] y, float[" x_dims "] z) { y = ScatterND <reduction = \"" how                     \
              "\"> (x, i, u) v = Cast <to = 11> (x) w = Cast <to = 11> (u)"                       \
              " d = ScatterND <reduction = \"" how "\"> (v, i, w) z = Cast <to = 1> (d) }",       \
    .most = 3, .is_tame = true, .tolerance = 1e-5                                                 \
  }
static const lowered_case scatters_of_tuples[] = {
    SCATTER_ALL(SCATTER_ND, "4,300", "6,1", "6,300"),
    SCATTER_ALL(SCATTER_ND, "4,3", "90,2", "90"),
    SCATTER_ALL(SCATTER_ND, "3,3,5", "2,7,2", "2,7,5"),
};

#define GATHER(axis, x_dims, i_dims, index)                                                       \
  {                                                                                               \
    .text =                                                                                       \
        G "(float[" x_dims "] x, " index "[" i_dims "] i) => (float[" i_dims "] y, float[" i_dims \
          "] z) { y = GatherElements <axis = " axis "> (x, i) v = Cast <to = 11> (x)"             \
          " d = GatherElements <axis = " axis "> (v, i) z = Cast <to = 1> (d) }",                 \
    .most = 3, .is_tame = true                                                                    \
  }
static const lowered_case gathers[] = {
    GATHER("0", "5,7", "9,7", "int64"),     GATHER("1", "4,5", "4,300", "int64"),
    GATHER("1", "4,5,6", "2,9,3", "int64"), GATHER("-1", "3", "70000", "int64"),
    GATHER("1", "4,5,6", "2,9,3", "int32"), GATHER("2", "1,1,3", "1,1,1", "int64"),
};

/* Indices that an Expand repeats along rows. */
#define EXPANDED(op, how)                                                                     \
  {                                                                                           \
    .text = G "(float[5,33] x, float[40,33] u, int64[40,1] i) => (float[" op "] y, float[" op \
              "] z) <int64[2] s = {40, 33}> { e = Expand (i, s) v = Cast <to = 11> (x)"       \
              " w = Cast <to = 11> (u) " how " z = Cast <to = 1> (d) }",                      \
    .most = 5, .is_tame = true, .tolerance = 1e-5                                             \
  }
static const lowered_case expanded[] = {
    EXPANDED("5,33", "y = ScatterElements <reduction = \"add\"> (x, e, u)"
                     " d = ScatterElements <reduction = \"add\"> (v, e, w)"),
    EXPANDED("5,33", "y = ScatterElements (x, e, u) d = ScatterElements (v, e, w)"),
    EXPANDED("5,33", "y = ScatterElements <reduction = \"max\"> (x, e, u)"
                     " d = ScatterElements <reduction = \"max\"> (v, e, w)"),
    EXPANDED("40,33", "y = GatherElements (x, e) d = GatherElements (v, e)"),
};

/* The same as tuples of one index. */
static const lowered_case rows_by_index[] = {
    {.text = G "(float[5,33] x, float[40,33] u, int64[40,1] i) => (float[5,33] y, float[5,33] z)"
               " <int64[2] s = {40, 33}> { e = Expand (i, s)"
               " y = ScatterElements <reduction = \"add\"> (x, e, u)"
               " z = ScatterND <reduction = \"add\"> (x, i, u) }",
     .most = 5,
     .is_tame = true},
    {.text = G "(float[5,33] x, int64[40,1] i) => (float[40,33] y, float[40,33] z)"
               " <int64[2] s = {40, 33}> { e = Expand (i, s) y = GatherElements (x, e)"
               " z = GatherND (x, i) }",
     .most = 5},
};

static void test_scatters(void **state) {
    (void)state;
    EXPECT_TWINS(scatters);
    EXPECT_TWINS(scatters_of_tuples);
    EXPECT_TWINS(expanded);
    EXPECT_TWINS(rows_by_index);
}

static void test_gathers(void **state) {
    (void)state;
    EXPECT_TWINS(gathers);
}

/* ---- channels, planes, rows ------------------------------------------------------------------ */

#define BATCH_NORM(dims)                                                                          \
  {                                                                                               \
    .text = TWINS(dims, dims,                                                                     \
                  "float[3] s = {1, 2, -3}, float[3] b = {0.5, 0, 1}, float[3] m = {1, 0, -1},"   \
                  " float[3] v = {1, 4, 0.25}, double[3] t = {1, 2, -3}, double[3] c = {0.5, 0,"  \
                  " 1}, double[3] n = {1, 0, -1}, double[3] w = {1, 4, 0.25}",                    \
                  "BatchNormalization (x, s, b, m, v)") "d = BatchNormalization (wide, t, c, n, " \
                                                        "w) z = Cast <to = 1> (d) }",             \
    .is_tame = true, .tolerance = 1e-5                                                            \
  }
#define GLOBAL_MAX(in, out)                                                                        \
  {                                                                                                \
    .text =                                                                                        \
        TWINS(in, out, "", "GlobalMaxPool (x)") "d = GlobalMaxPool (wide) z = Cast <to = 1> (d) }" \
  }
#define REDUCE(op, in, out)                                                     \
  {                                                                             \
    .text = TWINS(in, out, "int64[1] a = {-1}",                                 \
                  op " (x, a)") "d = " op " (wide, a) z = Cast <to = 1> (d) }", \
    .tolerance = 1e-5                                                           \
  }
#define REDUCE_ALL(in, out)                                                                 \
  REDUCE("ReduceMax", in, out), REDUCE("ReduceMin", in, out), REDUCE("ReduceSum", in, out), \
      REDUCE("ReduceL1", in, out), REDUCE("ReduceSumSquare", in, out)

static const lowered_case channels[] = {
    BATCH_NORM("7,3"),
    BATCH_NORM("1,3"),
    BATCH_NORM("300,3"),
    BATCH_NORM("2,3,31"),
    BATCH_NORM("2,3,32"),
    BATCH_NORM("2,3,4,5"),
    GLOBAL_MAX("2,3,1", "2,3,1"),
    GLOBAL_MAX("1,5,7", "1,5,1"),
    GLOBAL_MAX("1,5,16", "1,5,1"),
    GLOBAL_MAX("1,9,7,7", "1,9,1,1"),
    GLOBAL_MAX("1,2,508", "1,2,1"),
    REDUCE_ALL("4,1", "4,1"),
    REDUCE_ALL("4,3", "4,1"),
    REDUCE_ALL("5,15", "5,1"),
    REDUCE_ALL("5,16", "5,1"),
    REDUCE_ALL("5,17", "5,1"),
    REDUCE_ALL("5,63", "5,1"),
    REDUCE_ALL("5,80", "5,1"),
    REDUCE_ALL("5,129", "5,1"),
    REDUCE_ALL("2,4099", "2,1"),
};

static void test_channels_and_rows(void **state) {
    (void)state;
    EXPECT_TWINS(channels);
}

/* ---- lines, samples -------------------------------------------------------------------------- */

/* A convolution whose lines are too long for a band, and the same in doubles. */
#define LINE_CONV(in, filters, groups, window, out, how)                                          \
  {                                                                                               \
    .text = G "(float[1," in "] x, float[" filters ",1," window "] w, float[" filters             \
              "] b) => (float[1," filters "," out "] y, float[1," filters "," out                 \
              "] z) { y = Conv <group = " groups ", " how "> (x, w, b) d = Cast <to = 11> (x)"    \
              " v = Cast <to = 11> (w) c = Cast <to = 11> (b) f = Conv <group = " groups ", " how \
              "> (d, v, c) z = Cast <to = 1> (f) }",                                              \
    .is_tame = true, .tolerance = 2e-4                                                            \
  }
static const lowered_case lines[] = {
    LINE_CONV("1,17000", "1", "1", "15", "17000", "pads = [7, 7]"),
    LINE_CONV("1,17001", "2", "1", "43", "5667", "pads = [20, 22], strides = [3]"),
    LINE_CONV("2,4103", "2", "2", "257", "4103", "pads = [128, 128]"),
    LINE_CONV("2,9000", "4", "2", "130", "1109", "strides = [8]"),
    LINE_CONV("1,9001", "1", "1", "200", "8404", "dilations = [3]"),
    LINE_CONV("1,300", "1", "1", "300", "1", "dilations = [1]"),
    LINE_CONV("1,300", "1", "1", "290", "601", "pads = [290, 300]"),
    LINE_CONV("1,20000", "1", "1", "9", "1249", "strides = [16], dilations = [4]"),
};

#define SAMPLE(in, grid, out, how)                                                             \
  {                                                                                            \
    .text = G "(float[" in "] x, float[" grid "] g) => (float[" out "] y, float[" out "] z) {" \
              " y = GridSample <" how "> (x, g) v = Cast <to = 11> (x) w = Cast <to = 11> (g)" \
              " d = GridSample <" how "> (v, w) z = Cast <to = 1> (d) }",                      \
    .tolerance = 1e-4, .is_tame = IS_TAME                                                      \
  }
#define SAMPLE_MODES(mode)                                                                         \
  SAMPLE("1,3,5,7", "1,9,8,2", "1,3,9,8", "mode = \"" mode "\"")                                   \
  , SAMPLE("2,1,1,1", "2,3,3,2", "2,1,3,3", "mode = \"" mode "\", align_corners = 1"),             \
      SAMPLE("1,2,3,2", "1,5,30,2", "1,2,5,30", "mode = \"" mode "\", padding_mode = \"border\""), \
      SAMPLE("1,2,16,16", "1,5,30,2", "1,2,5,30",                                                  \
             "mode = \"" mode "\", padding_mode = \"border\", align_corners = 1"),                 \
      SAMPLE("1,2,4,3", "1,5,30,2", "1,2,5,30",                                                    \
             "mode = \"" mode "\", padding_mode = \"reflection\""),                                \
      SAMPLE("1,2,40,30", "1,7,19,2", "1,2,7,19",                                                  \
             "mode = \"" mode "\", padding_mode = \"reflection\", align_corners = 1")
#define IS_TAME true
static const lowered_case samples[] = {SAMPLE_MODES("linear"), SAMPLE_MODES("nearest"),
                                       SAMPLE_MODES("cubic")};
#undef IS_TAME
#define IS_TAME false /* also places that are no numbers, and images of infinities */
static const lowered_case hostile_samples[] = {
    SAMPLE("1,3,5,7", "1,9,8,2", "1,3,9,8", "mode = \"nearest\""),
    SAMPLE("1,3,5,7", "1,9,8,2", "1,3,9,8", "mode = \"nearest\", padding_mode = \"border\""),
    SAMPLE("1,3,5,7", "1,9,8,2", "1,3,9,8", "mode = \"nearest\", padding_mode = \"reflection\""),
};

/* Floats, and the same numbers as doubles. */
#define DFT(in, out, how)                                                                     \
  {                                                                                           \
    .text = G "(int8[" in "] i) => (float[" out "] y, float[" out "] z) <int64 axis = {1}> {" \
              " x = Cast <to = 1> (i) y = DFT <" how "> (x, , axis) w = Cast <to = 11> (x)"   \
              " d = DFT <" how "> (w, , axis) z = Cast <to = 1> (d) }",                       \
    .tolerance = 1e-6                                                                         \
  }
static const lowered_case transforms[] = {
    DFT("2,1,1", "2,1,2", "onesided = 0"),      DFT("2,2,1", "2,2,2", "onesided = 0"),
    DFT("2,6,1", "2,6,2", "onesided = 0"),      DFT("2,7,1", "2,7,2", "onesided = 0"),
    DFT("1,64,1", "1,33,2", "onesided = 1"),    DFT("3,50,1", "3,26,2", "onesided = 1"),
    DFT("2,30,2", "2,30,2", "inverse = 1"),     DFT("2,8,3,2", "2,8,3,2", "onesided = 0"),
    DFT("2,15,3,1", "2,8,3,2", "onesided = 1"),
};

/* A real line and the same with imaginary parts of 0, which takes no half of its length. */
#define REAL_DFT(n)                                                            \
  {                                                                            \
    .text = G "(float[2," n ",1] x) => (float[2," n ",2] y, float[2," n        \
              ",2] z) <int64 axis = {1}> { y = DFT (x, , axis) n = Sub (x, x)" \
              " c = Concat <axis = 2> (x, n) z = DFT (c, , axis) }",           \
    .tolerance = 1e-6, .is_tame = true                                         \
  }
static const lowered_case real_transforms[] = {REAL_DFT("1"),  REAL_DFT("2"),   REAL_DFT("3"),
                                               REAL_DFT("4"),  REAL_DFT("10"),  REAL_DFT("16"),
                                               REAL_DFT("49"), REAL_DFT("400"), REAL_DFT("512")};

/* Frames, and the transform of each. */
static const lowered_case frames[] = {
    {.text = G "(float[2,100] x, float[16] w) => (float[2,5,9,2] y, float[2,5,9,2] z)"
               " <int64 step = {20}, int64 n = {16}> { y = STFT (x, step, w, n) d = Cast <to = 11>"
               " (x) v = Cast <to = 11> (w) f = STFT (d, step, v, n) z = Cast <to = 1> (f) }",
     .tolerance = 1e-6,
     .is_tame = true},
    {.text = G "(float[1,100,1] x) => (float[1,4,25,2] y, float[1,4,25,2] z)"
               " <int64 step = {25}, int64 n = {25}, int64[4] four = {1, 4, 25, 1}, int64 axis ="
               " {2}> { y = STFT <onesided = 0> (x, step, , n) f = Reshape (x, four)"
               " z = DFT (f, , axis) }",
     .tolerance = 1e-6,
     .is_tame = true},
};

/* Support vectors, and what they compute by operators of its own: more than a tile of them. */
#define NINE "0.5, -1.0, 2.0, 0.25, -0.75, 1.5, 0.0, -2.0, 1.0"
#define THIRTY_SIX NINE ", " NINE ", " NINE ", " NINE
#define SVM(kernel, formula)                                                                     \
  {                                                                                              \
    .text =                                                                                      \
        "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n"                      \
        "g (float[5,2] x) => (float[5,1] y, float[5,1] z) <float[36,2] v = {" THIRTY_SIX         \
        ", " THIRTY_SIX "}, float[36,1] c = {" THIRTY_SIX                                        \
        "}, float rho = {0.25}, float gamma = {0.5}, float coef = {0.125}, float three = {3},"   \
        " int64[1] one = {1}, int64[1] two = {2}> { y = ai.onnx.ml.SVMRegressor <kernel_type "   \
        "= \"" kernel "\", kernel_params = [0.5, 0.125, 3.0], n_supports = 36, support_vectors " \
        "= [" THIRTY_SIX ", " THIRTY_SIX "], coefficients = [" THIRTY_SIX                        \
        "], rho = [0.25]> (x) t = Transpose (v) p = MatMul (x, t) " formula                      \
        " m = MatMul (k, c) z = Add (m, rho) }",                                                 \
    .tolerance = 1e-4, .is_tame = true                                                           \
  }
static const lowered_case support_vectors[] = {
    SVM("LINEAR", "k = Identity (p)"),
    SVM("RBF", "w = Unsqueeze (x, one) d = Sub (w, v) q = ReduceSumSquare <keepdims = 0> (d, two)"
               " g = Mul (q, gamma) n = Neg (g) k = Exp (n)"),
    SVM("POLY", "g = Mul (p, gamma) a = Add (g, coef) k = Pow (a, three)"),
    SVM("SIGMOID", "g = Mul (p, gamma) a = Add (g, coef) k = Tanh (a)"),
};

static void test_support_vectors(void **state) {
    (void)state;
    EXPECT_TWINS(support_vectors);
}

static void test_transforms(void **state) {
    (void)state;
    EXPECT_TWINS(transforms);
    EXPECT_TWINS(real_transforms);
    EXPECT_TWINS(frames);
    EXPECT_LOWERED_CASES(transforms);
    EXPECT_LOWERED_CASES(frames);
}

static void test_lines(void **state) {
    (void)state;
    EXPECT_TWINS(lines);
}

static void test_samples(void **state) {
    (void)state;
    EXPECT_TWINS(samples);
    EXPECT_TWINS(hostile_samples);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scatters),          cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_channels_and_rows), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_samples),           cmocka_unit_test(test_transforms),
        cmocka_unit_test(test_support_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
