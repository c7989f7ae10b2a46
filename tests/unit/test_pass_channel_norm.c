/* The pass "channel-norm", and the fusion of InstanceNormalization. */
#include "pass_case.h"

#define HEAD(opset)                                       \
  "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n" \
  "g (float[B,4,2,3] x) => (float[B,4,2,3] y)"
#define GROUPED                                                          \
  "float[2] one = {1,1}, float[2] zero = {0,0}, int64[3] s = {0,2,-1}, " \
  "float[4,1,1] k = {1,2,3,4}, float[1,4,1,1] c = {4,3,2,1}"
#define GROUPING                                                                \
  "r = Reshape(x, s) n = InstanceNormalization<epsilon = 0.001>(r, one, zero) " \
  "z = Shape(x) "

static void expect_found(const char *passes, const char *text, const char *expected) {
    pass_case c = {.passes = passes, .text = text, .expected = expected, .bound = 1e-5};
    expect_pass(&c);
}

static void test_group_norm(void **state) {
    (void)state;
    expect_found("channel-norm", HEAD(21) "<" GROUPED ">{" GROUPING "y = Reshape(n, z) }",
                 HEAD(21) "<float[4] o = {1,1,1,1}, float[4] b = {0,0,0,0}>"
                          "{ y = GroupNormalization<epsilon = 0.001, num_groups = 2>(x, o, b) }");
    expect_found("channel-norm",
                 HEAD(21) "<" GROUPED ">{" GROUPING
                          "m = Reshape(n, z) q = Mul(m, k) y = Add(q, c) }",
                 HEAD(21) "<float[4] o = {1,2,3,4}, float[4] b = {4,3,2,1}>"
                          "{ y = GroupNormalization<epsilon = 0.001, num_groups = 2>(x, o, b) }");
}

static void test_fold_into_norm(void **state) {
    (void)state;
    expect_found("channel-norm",
                 HEAD(13) "<float[4] s = {1,2,1,2}, float[4] b = {1,1,2,2}, float[4,1,1] k = "
                          "{1,2,3,4}, float c = {5}>{ n = InstanceNormalization(x, s, b) "
                          "m = Mul(k, n) y = Add(m, c) }",
                 HEAD(13) "<float[4] s = {1,4,3,8}, float[4] b = {6,7,11,13}>"
                          "{ y = InstanceNormalization(x, s, b) }");
    expect_found("channel-norm",
                 HEAD(17) "<float[3] s = {1,2,1}, float[3] k = {1,2,3}, float[1,3] c = {4,5,6}>"
                          "{ n = LayerNormalization<axis = 3>(x, s) m = Mul(n, k) y = Add(m, c) }",
                 HEAD(17) "<float[3] s = {1,4,3}, float[3] c = {4,5,6}>"
                          "{ y = LayerNormalization<axis = 3>(x, s, c) }");
}

static void test_instance_norm(void **state) {
    (void)state;
    expect_found("layer-norm,channel-norm",
                 HEAD(13) "<float e = {0.001}, float[4,1,1] k = {1,2,3,4}, float[4,1,1] c = "
                          "{4,3,2,1}>{ m = ReduceMean<axes = [2, 3]>(x) d = Sub(x, m) "
                          "p = Mul(d, d) v = ReduceMean<axes = [2, 3]>(p) a = Add(v, e) "
                          "q = Sqrt(a) n = Div(d, q) t = Mul(n, k) y = Add(t, c) }",
                 HEAD(13) "<float[4] s = {1,2,3,4}, float[4] b = {4,3,2,1}>"
                          "{ y = InstanceNormalization<epsilon = 0.001>(x, s, b) }");
}

static void test_must_not_fire(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* the opset is too old; channels are mixed; back to another shape */
        HEAD(20) "<" GROUPED ">{" GROUPING "y = Reshape(n, z) }",
        "<ir_version: 10, opset_import: [\"\" : 21]>\n"
        "g (float[2,4,2,3] x) => (float[2,4,2,3] y) <float[8] one = {1,1,1,1,1,1,1,1}, "
        "float[8] zero = {0,0,0,0,0,0,0,0}, int64[3] s = {1,8,6}>{" GROUPING "y = Reshape(n, z) }",
        "<ir_version: 10, opset_import: [\"\" : 21]>\n"
        "g (float[B,4,2,3] x) => (float[B,2,12] y) <" GROUPED ", int64[3] z2 = {0,2,12}>{"
        "r = Reshape(x, s) n = InstanceNormalization(r, one, zero) y = Reshape(n, z2) }",
        /* constants of another shape; another reader of the result */
        HEAD(17) "<float[3] s = {1,2,1}, float[4,1,1] k = {1,2,3,4}>"
                 "{ n = LayerNormalization<axis = 3>(x, s) y = Mul(n, k) }",
        "<ir_version: 10, opset_import: [\"\" : 17]>\n"
        "g (float[B,4,2,3] x) => (float[B,4,2,3] y, float[B,4,2,3] n) <float[4] s = {1,2,1,2}, "
        "float k = {3}>{ n = InstanceNormalization(x, s, s) y = Mul(n, k) }",
        /* two axes are normalized */
        HEAD(17) "<float[2,3] s = {1,2,1,2,1,2}, float[3] k = {1,2,3}>"
                 "{ n = LayerNormalization<axis = 2>(x, s) y = Mul(n, k) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_found("channel-norm", texts[i], texts[i]);
    pass_case c = {.passes = "channel-norm",
                   .target = HN_TARGET_ONNXRUNTIME,
                   .text = HEAD(21) "<" GROUPED ">{" GROUPING "y = Reshape(n, z) }",
                   .expected = HEAD(21) "<" GROUPED ">{" GROUPING "y = Reshape(n, z) }"};
    expect_pass(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_norm),
        cmocka_unit_test(test_fold_into_norm),
        cmocka_unit_test(test_instance_norm),
        cmocka_unit_test(test_must_not_fire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
