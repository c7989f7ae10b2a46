/* Runs that are stopped within one node: each would take seconds, and asks while it works whether
 * it should go on. */
#include "run_model.h"

static bool stop_the_second_time(void *ctx) {
    return ++*(int *)ctx > 1; /* the first one comes before the node */
}

static void expect_stopped(const char *text, int32_t rank, const int64_t *dims) {
    runner r = runner_as_written(text);
    hone_value *x = counting_floats(rank, dims), *y = NULL;
    const hone_value *xs = x;
    const char *in = "x", *out = "y";
    int n_questions = 0;
    hone_run_options options;
    hone_run_options_init(&options);
    options.should_stop = stop_the_second_time;
    options.should_stop_ctx = &n_questions;
    expect_failure(hone_session_run(r.session, &options, 1, &in, &xs, 1, &out, &y, &error),
                   HONE_E_CANCELLED, "the run was cancelled");
    assert_int_equal(n_questions, 2);
    hone_value_free(x);
    runner_free(&r);
}

static void texts_are_stopped(void **state) {
    (void)state;
    expect_stopped(RUN_HEAD "g (float[n] x) => (string[n] y) { y = Cast <to: int = 8> (x) }",
                   DIMS(2000000));
    expect_stopped(RUN_HEAD "g (float[n] x) => (string[m] y) <string[1] word = {\"a\"}> { s = "
                            "Shape (x) y = Expand (word, s) }",
                   DIMS(8000000));
}

static void sorting_is_stopped(void **state) {
    (void)state;
    expect_stopped(RUN_HEAD "g (float[n] x) => (float[m] y) { a = Sin (x) y = Unique (a) }",
                   DIMS(6000000));
    expect_stopped(RUN_HEAD "g (float[n] x) => (float[n] y) { k = Shape (x) a = Sin (x) y, i = "
                            "TopK (a, k) }",
                   DIMS(10000000));
}

static void matrices_are_stopped(void **state) {
    (void)state;
    expect_stopped(RUN_HEAD
                   "g (float[n,n] x) => (float y) { e = EyeLike (x) a = Add (x, e) y = Det (a) }",
                   DIMS(2500, 2500));
    expect_stopped("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
                   "g (float[n,n] x) => (float[n,n] y) { y = com.microsoft.Inverse (x) }",
                   DIMS(2000, 2000));
    expect_stopped("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
                   "g (float[n,m] x) => (float[n,n] y) { y = com.microsoft.CDist (x, x) }",
                   DIMS(4000, 500));
    expect_stopped(RUN_HEAD "g (float[n,m] x) => (float[m,n] y) { y = Einsum <equation: string = "
                            "\"ab->ba\"> (x) }",
                   DIMS(5000, 5000));
}

static void made_tensors_are_stopped(void **state) {
    (void)state;
    expect_stopped(RUN_HEAD "g (float[n] x) => (float[m] y) <int64[1] many = {1000}> { s = Shape "
                            "(x) t = Mul (s, many) y = ConstantOfShape (t) }",
                   DIMS(300000));
    expect_stopped(
        RUN_HEAD "g (float[n] x) => (int64[m] y) <int64 zero = {0}, int64 one = {1}, "
                 "int64 many = {1000}> { s = Size (x) t = Mul (s, many) y = Range (zero, t, one) }",
        DIMS(200000));
    expect_stopped(RUN_HEAD "g (float[1,n] x) => (int32[1,m] y) { y = Multinomial <sample_size: "
                            "int = 60000000> (x) }",
                   DIMS(1, 1000));
    expect_stopped(RUN_HEAD
                   "g (float[n] x) => (float[m] y) <int64 many = {100}> { s = Size (x) t = "
                   "Mul (s, many) y = HannWindow (t) }",
                   DIMS(300000));
    expect_stopped(RUN_HEAD "g (float[n] x) => (float[m,k] y) <int64 rate = {44100}, float low = "
                            "{10}, float high = {20000}> { s = Size (x) y = MelWeightMatrix (s, s, "
                            "rate, low, high) }",
                   DIMS(16000));
    expect_stopped(RUN_HEAD
                   "g (float[n] x) => (float[n,n] y) { s = Shape (x) t = Concat <axis: int "
                   "= 0> (s, s) z = Expand (x, t) y = EyeLike (z) }",
                   DIMS(12000));
}

static void moves_are_stopped(void **state) {
    (void)state;
    expect_stopped(RUN_HEAD "g (float[n] x) => (int64 y) { s = SplitToSequence (x) y = "
                            "SequenceLength (s) }",
                   DIMS(4000000));
    expect_stopped(
        RUN_HEAD "g (float[n,n] x) => (float[n,n] y) <int64[2] last = {-1, -1}, int64[2] before = "
                 "{-100000, -100000}, int64[2] axes = {0, 1}, int64[2] back = {-1, -1}> { y = "
                 "Slice (x, last, before, axes, back) }",
        DIMS(10000, 10000));
    expect_stopped(RUN_HEAD "g (float[n,n] x) => (int64[n,n] y) { k = Shape <end: int = 1> (x) "
                            "a = Cast <to: int = 7> (x) y, i = TopK <axis: int = 0> (a, k) }",
                   DIMS(4000, 4000));
}

static void regions_and_samples_are_stopped(void **state) {
    (void)state;
    expect_stopped(RUN_HEAD
                   "g (float[n,5] x) => (float[n,k,h,w] y) <int64[4] s = {1, 64, 100, "
                   "100}, float[5] box = {0, 0, 0, 99, 99}> { im = ConstantOfShape (s) e = "
                   "Shape (x) b = Expand (box, e) y = MaxRoiPool <pooled_shape: ints = "
                   "[7, 7]> (im, b) }",
                   DIMS(5000, 5));
    expect_stopped("<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n"
                   "g (float[n,m] x) => (float[n,m] y) { y = ai.onnx.ml.Normalizer <norm: string = "
                   "\"L2\"> (x) }",
                   DIMS(2000000, 40));
    expect_stopped(RUN_HEAD
                   "g (float[n] x) => (uint8[n] y) { y, s, z = DynamicQuantizeLinear (x) }",
                   DIMS(80000000));
    expect_stopped(RUN_HEAD "g (float[1,n,1] x) => (float[1,n,2] y) { y = DFT (x) }",
                   DIMS(1, 9999991, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_stopped),    cmocka_unit_test(sorting_is_stopped),
        cmocka_unit_test(matrices_are_stopped), cmocka_unit_test(made_tensors_are_stopped),
        cmocka_unit_test(moves_are_stopped),    cmocka_unit_test(regions_and_samples_are_stopped),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
