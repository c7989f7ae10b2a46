/* Models without inputs, written as text, whose output z is checked. */
#ifndef TEST_EVAL_TEXT_H
#define TEST_EVAL_TEXT_H

#include "run_model.h"

#define HEAD(opset)                                                                            \
  "<ir_version: 13, opset_import: [\"\" : " opset ", \"ai.onnx.ml\" : 3, \"com.microsoft\" : " \
  "1]>\n"

static inline hone_status run_text(const char *text, hone_value **z, hone_error *why) {
    runner r = runner_of(text);
    *z = NULL;
    hone_status status = run_one(&r, NULL, NULL, "z", z, why);
    runner_free(&r);
    return status;
}

static inline void expect_ints(const char *text, uint64_t n, const int64_t *wanted) {
    hone_value *z;
    hone_tensor_info info;
    int64_t got[64];
    expect_ok(run_text(text, &z, &error));
    assert_true(hone_value_tensor(z, &info));
    assert_int_equal(info.n_elements, n);
    assert_true(hone_value_get_i64(z, 0, n, got));
    for (uint64_t i = 0; i < n; i++)
        if (got[i] != wanted[i])
            fail_msg("%s: element %u is %lld, not %lld", text, (unsigned)i, (long long)got[i],
                     (long long)wanted[i]);
    hone_value_free(z);
}
#define EXPECT_INTS(text, ...) \
  expect_ints(text, sizeof((int64_t[]){__VA_ARGS__}) / 8, (const int64_t[]){__VA_ARGS__})
#define EXPECT_EMPTY(text) expect_ints(text, 0, NULL)

static inline void expect_refused(const char *text, const char *why) {
    hone_value *z;
    hone_error problem;
    assert_int_not_equal(run_text(text, &z, &problem), HONE_OK);
    assert_null(z);
    if (!strstr(problem.message, why))
        fail_msg("'%s' does not say '%s'", problem.message, why);
}

#endif
