/* Runs small models through the public API. */
#ifndef TEST_RUN_MODEL_H
#define TEST_RUN_MODEL_H

#include "api_model.h"

#define RUN_HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]>\n"
enum { ELEM_FLOAT = 1, ELEM_INT64 = 7, ELEM_STRING = 8, ELEM_BOOL = 9 };

/* A model and one session of it. */
typedef struct runner {
    hone_model *model;
    hone_session *session;
} runner;

static inline runner runner_with(const char *text, const hone_load_options *load,
                                 const hone_session_options *options) {
    runner r;
    expect_ok(load_text(text, load, &r.model, &error));
    expect_ok(hone_session_create(r.model, options, &r.session, &error));
    return r;
}

static inline runner runner_of(const char *text) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 1;
    return runner_with(text, NULL, &options);
}

/* Runs the graph without optimization. */
static inline runner runner_as_written(const char *text) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.level = HONE_LEVEL_NONE;
    return runner_with(text, NULL, &options);
}

static inline void runner_free(runner *r) {
    hone_session_free(r->session);
    hone_model_free(r->model);
}

#define DIMS(...)                                                                    \
  (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { \
    __VA_ARGS__                                                                      \
  }
#define SCALAR 0, NULL

static inline hone_value *tensor_of(int32_t elem, const void *data, int32_t rank,
                                    const int64_t *dims) {
    hone_value *v;
    expect_ok(hone_value_create(elem, rank, dims, data, &v, &error));
    return v;
}

/* Floats 0, 1, 2 ... */
static inline hone_value *counting_floats(int32_t rank, const int64_t *dims) {
    hone_value *v = tensor_of(ELEM_FLOAT, NULL, rank, dims);
    hone_tensor_info info;
    hone_value_tensor(v, &info);
    for (uint64_t i = 0; i < info.n_elements; i++)
        ((float *)(uintptr_t)info.data)[i] = (float)i;
    return v;
}

/* One input, one output. */
static inline hone_status run_one(const runner *r, const char *in, const hone_value *x,
                                  const char *out, hone_value **y, hone_error *error) {
    return hone_session_run(r->session, NULL, in ? 1 : 0, &in, &x, 1, &out, y, error);
}

static inline hone_value *result_of(const runner *r, const char *in, const hone_value *x,
                                    const char *out) {
    hone_value *y = NULL;
    expect_ok(run_one(r, in, x, out, &y, &error));
    return y;
}

static inline void expect_floats(const hone_value *v, uint64_t n, const float *wanted) {
    hone_tensor_info info;
    assert_true(hone_value_tensor(v, &info));
    assert_int_equal(info.elem_type, ELEM_FLOAT);
    assert_int_equal(info.n_elements, n);
    for (uint64_t i = 0; i < n; i++)
        assert_float_equal(((const float *)info.data)[i], wanted[i], 1e-6);
}
#define EXPECT_FLOATS(v, ...) \
  expect_floats(v, sizeof((float[]){__VA_ARGS__}) / sizeof(float), (const float[]){__VA_ARGS__})

static inline void expect_dims(const hone_value *v, int32_t rank, const int64_t *dims) {
    hone_tensor_info info;
    assert_true(hone_value_tensor(v, &info));
    assert_int_equal(info.rank, rank);
    for (int32_t i = 0; i < rank; i++)
        assert_int_equal(info.dims[i], dims[i]);
}

#endif
