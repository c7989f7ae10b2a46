/* Files of a model that change while it is in use: told where it shows, harmless for copies. */
#include "run_model.h"

#include <fcntl.h>

enum { LARGE = 80000, SMALL = 2000 };

/* y = x + w, with so many elements in w; its data in another file if `external`. */
static void write_sum(const char *path, int n, bool external) {
    char *text = malloc((size_t)n * 8 + 500), *at = text;
    hone_save_options o;
    at += sprintf(at, RUN_HEAD "g (float[1] x) => (float[n] y) <float[%d] w = {", n);
    for (int i = 0; i < n; i++)
        at += sprintf(at, "%s%d", i ? "," : "", i % 1000);
    sprintf(at, "}> { y = Add (x, w) }");
    hone_model *m = model_from(text);
    hone_save_options_init(&o);
    o.external_data = external ? HONE_EXTERNAL_ALWAYS : HONE_EXTERNAL_NEVER;
    expect_ok(hone_model_save(m, path, &o, &error));
    hone_model_free(m);
    free(text);
}

static runner open_sum(const char *path, bool copies) {
    runner r;
    hone_load_options load;
    hone_session_options options;
    hone_load_options_init(&load);
    load.copy_files = copies;
    hone_session_options_init(&options);
    options.n_threads = 1;
    expect_ok(hone_model_load(path, &load, &r.model, &error));
    expect_ok(hone_session_create(r.model, &options, &r.session, &error));
    return r;
}

static hone_status run_sum(const runner *r, int n, hone_error *error) {
    const char *in = "x", *out = "y";
    hone_value *x = counting_floats(DIMS(1)), *y = NULL;
    hone_tensor_info info;
    hone_status status =
        hone_session_run(r->session, NULL, 1, &in, (const hone_value *[]){x}, 1, &out, &y, error);
    if (status == HONE_OK) {
        assert_true(hone_value_tensor(y, &info));
        for (int i = 0; i < n; i++)
            assert_true(((const float *)info.data)[i] == (float)(i % 1000));
    }
    hone_value_free(x);
    hone_value_free(y);
    return status;
}

static void change_byte(const char *path) {
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0 && pwrite(fd, "x", 1, 200000) == 1);
    close(fd);
}

/* Everything that would read the file says so first. */
static void expect_told(const char *path, const char *changed, bool truncates) {
    runner r = open_sum(path, false);
    hone_session *other;
    expect_ok(run_sum(&r, LARGE, &error));
    if (truncates)
        assert_int_equal(truncate(changed, 1000), 0);
    else
        change_byte(changed);
    const char *why = truncates ? "was truncated while" : "was modified while";
    expect_failure(run_sum(&r, LARGE, &error), HONE_E_IO, why);
    expect_failure(hone_session_create(r.model, NULL, &other, &error), HONE_E_IO, why);
    expect_failure(hone_model_save(r.model, scratch_path("other.onnx"), NULL, &error), HONE_E_IO,
                   why);
    runner_free(&r);
}

static void a_changed_file_is_told(void **state) {
    (void)state;
    char path[600], data[610];
    snprintf(path, sizeof path, "%s", scratch_path("sum.onnx"));
    snprintf(data, sizeof data, "%s.data", path);
    for (int truncates = 0; truncates < 2; truncates++) {
        write_sum(path, LARGE, false);
        expect_told(path, path, truncates);
        write_sum(path, LARGE, true);
        expect_told(path, data, truncates);
        unlink(data);
    }
}

static void a_file_that_is_replaced_or_gone_is_harmless(void **state) {
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s", scratch_path("gone.onnx"));
    write_sum(path, LARGE, false);
    runner r = open_sum(path, false);
    write_sum(path, SMALL, false);
    expect_ok(run_sum(&r, LARGE, &error));
    assert_int_equal(unlink(path), 0);
    expect_ok(run_sum(&r, LARGE, &error));
    runner_free(&r);
}

static void copies_and_small_files_may_change(void **state) {
    (void)state;
    char path[600], data[610];
    snprintf(path, sizeof path, "%s", scratch_path("copied.onnx"));
    snprintf(data, sizeof data, "%s.data", path);
    for (int external = 0; external < 2; external++)
        for (int copies = 0; copies < 2; copies++) {
            int n = copies ? LARGE : SMALL;
            write_sum(path, n, external);
            runner r = open_sum(path, copies);
            assert_int_equal(truncate(path, 0), 0);
            assert_true(!external || truncate(data, 0) == 0);
            expect_ok(run_sum(&r, n, &error));
            expect_ok(run_sum(&r, n, &error));
            expect_ok(hone_model_save(r.model, scratch_path("whole.onnx"), NULL, &error));
            runner_free(&r);
            unlink(path);
            unlink(data);
            r = open_sum(scratch_path("whole.onnx"), copies);
            expect_ok(run_sum(&r, n, &error));
            runner_free(&r);
            unlink(scratch_path("whole.onnx"));
            unlink(scratch_path("whole.onnx.data"));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_file_is_told),
        cmocka_unit_test(a_file_that_is_replaced_or_gone_is_harmless),
        cmocka_unit_test(copies_and_small_files_may_change),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
