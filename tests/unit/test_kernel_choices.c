/* Kernel tuning: the table of choices, its file, and sessions that use it. */
#include "run_model.h"

#include "counting_allocator.h"
#include "cpu/kernel_choices.h"

/* Two convolutions of the same sizes, with filters that the optimizer computes. */
#define CONVOLUTIONS                                                                             \
  RUN_HEAD "g (float[1,16,24,24] x) => (float[1,16,24,24] y)"                                    \
           " <int64[4] sizes = {16, 16, 3, 3}, float from = {0}, float to = {2304}, float by = " \
           "{1}> {\n"                                                                            \
           " numbers = Range(from, to, by)\n waves = Sin(numbers)\n w = Reshape(waves, sizes)\n" \
           " a = Conv <pads: ints = [1, 1, 1, 1]> (x, w)\n b = Relu(a)\n"                        \
           " y = Conv <pads: ints = [1, 1, 1, 1]> (b, w)\n}"
enum { N_OUTPUTS = 16 * 24 * 24 };

static const hn_window square = {.n_axes = 2,
                                 .in = {24, 24},
                                 .out = {24, 24},
                                 .kernel = {3, 3},
                                 .stride = {1, 1},
                                 .dilation = {1, 1},
                                 .pad = {1, 1},
                                 .in_elems = 576,
                                 .out_elems = 576,
                                 .kernel_elems = 9};

static hn_conv_nhwc_job square_job(int64_t channels) {
    return (hn_conv_nhwc_job){
        .window = &square, .batch = 1, .channels = channels, .filters = 16, .groups = 1};
}

/* What the table makes of a convolution that is usually done by a product. */
static hone_status ask_for(hn_kernel_choices *c, int64_t channels, hn_conv_nhwc_method *method) {
    hn_conv_nhwc_job job = square_job(channels);
    hone_status status = hn_kernel_choices_ask(c, 7, "node", &job);
    *method = job.method;
    return status;
}

static hn_conv_nhwc_method method_for(hn_kernel_choices *c, int64_t channels) {
    hn_conv_nhwc_method method;
    assert_int_equal(ask_for(c, channels, &method), HONE_OK);
    return method;
}

static bool has_winograd(void) {
    hn_conv_nhwc_job job = square_job(16);
    return hn_conv_nhwc_fits(&job, HN_CONV_NHWC_WINOGRAD);
}

static hn_kernel_choices *choices_from(const char *path, int n_threads) {
    hn_kernel_choices *c = hn_kernel_choices_new(NULL, n_threads);
    assert_non_null(c);
    assert_int_equal(hn_kernel_choices_read(c, path, NULL), HONE_OK);
    return c;
}

static void write_choices(const char *path, int64_t channels, hn_conv_nhwc_method method) {
    hn_kernel_choices *c = hn_kernel_choices_new(NULL, 2);
    assert_non_null(c);
    method_for(c, channels);
    assert_int_equal(
        hn_kernel_choices_set(c, hn_kernel_choices_at(c, 0), (int)method, "winograd 1.0"), HONE_OK);
    assert_int_equal(hn_kernel_choices_write(c, path, NULL), HONE_OK);
    hn_kernel_choices_free(c);
}

static void choices_come_back(void **state) {
    (void)state;
    const char *path = scratch_path("back.txt");
    write_choices(path, 16, HN_CONV_NHWC_WINOGRAD);
    hn_kernel_choices *c = choices_from(path, 2);
    assert_int_equal(hn_kernel_choices_n(c), 1);
    assert_int_equal(hn_kernel_choices_n_skipped(c), 0);
    assert_string_equal(hn_kernel_choices_at(c, 0)->times, "winograd 1.0");
    assert_int_equal(method_for(c, 16),
                     has_winograd() ? HN_CONV_NHWC_WINOGRAD : HN_CONV_NHWC_PRODUCT);
    assert_int_equal(method_for(c, 17), HN_CONV_NHWC_PRODUCT);
    assert_int_equal(method_for(c, 17), HN_CONV_NHWC_PRODUCT);
    assert_int_equal(hn_kernel_choices_n(c), 2);
    assert_int_equal(hn_kernel_choices_at(c, 1)->n_nodes, 2);
    hn_kernel_choices *other_threads = choices_from(path, 1);
    assert_int_equal(method_for(other_threads, 16), HN_CONV_NHWC_PRODUCT);
    assert_true(hn_kernel_choices_hash(c) != hn_kernel_choices_hash(other_threads));
    hn_kernel_choices_free(other_threads);
    hn_kernel_choices_free(c);
}

static void kernels_that_cannot_do_it_are_not_taken(void **state) {
    (void)state;
    const char *path = scratch_path("cannot.txt");
    write_choices(path, 16, HN_CONV_NHWC_DEPTHWISE);
    hn_kernel_choices *c = choices_from(path, 2);
    assert_int_equal(method_for(c, 16), HN_CONV_NHWC_PRODUCT);
    hn_kernel_choices_free(c);
}

static void append_text(const char *path, const char *mode, const char *text) {
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void lines_that_are_not_understood_are_skipped(void **state) {
    (void)state;
    static const char *const lines[] = {
        "nonsense\n",
        "conv-last 1x2\n",
        "conv-last 1x2: \n",
        "conv-last 1x2: magic (magic 1.0)\n",
        "conv-last 1x2: product\n",
        "conv-last 1x2: product (product 1.0\n",
        "conv-last 1x2: product (product 1.0) more\n",
        "conv-last 1x2\x01: product (product 1.0)\n",
        "other-family 1x2: product (product 1.0)\n",
    };
    const char *path = scratch_path("lines.txt");
    write_choices(path, 16, HN_CONV_NHWC_WINOGRAD);
    for (size_t i = 0; i < HN_COUNT(lines); i++)
        append_text(path, "a", lines[i]);
    append_text(path, "a", "\nconv-last 3: product (product 1.0)"); /* the last one stands */
    hn_kernel_choices *c = choices_from(path, 2);
    assert_int_equal(hn_kernel_choices_n_skipped(c), HN_COUNT(lines));
    assert_int_equal(hn_kernel_choices_n(c), 2);
    hn_kernel_choices_free(c);
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        hone_status status;
    } cases[] = {{"", HONE_E_FORMAT},
                 {"a\nb\n", HONE_E_FORMAT},
                 {"# hone kernels", HONE_E_FORMAT},
                 {"# hone kernels 1: another processor (sse2)\n", HONE_E_UNSUPPORTED},
                 {"# hone kernels 99: \n", HONE_E_UNSUPPORTED}};
    const char *path = scratch_path("other.txt");
    hone_model *model;
    expect_ok(load_text(CONVOLUTIONS, NULL, &model, &error));
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        append_text(path, "w", cases[i].text);
        hn_kernel_choices *c = hn_kernel_choices_new(NULL, 1);
        assert_int_equal(hn_kernel_choices_read(c, path, NULL), cases[i].status);
        hn_kernel_choices_free(c);
        assert_int_equal(hone_model_tune_kernels(model, NULL, path, NULL, NULL, NULL),
                         cases[i].status);
        hone_session_options options;
        hone_session *session;
        hone_session_options_init(&options);
        options.kernel_choices = path;
        expect_ok(hone_session_create(model, &options, &session, &error));
        assert_non_null(strstr(hone_session_kernels_note(session), "other.txt"));
        hone_session_free(session);
    }
    hone_model_free(model);
}

/* ---- models ---------------------------------------------------------------------------------- */

typedef struct seen_timings {
    uint32_t n, n_nodes;
    uint32_t stop_after; /* 0: never */
} seen_timings;

static bool see_timing(void *ctx, const hone_kernel_timing *t) {
    seen_timings *seen = ctx;
    seen->n++;
    seen->n_nodes += t->n_nodes;
    assert_int_equal(t->done, seen->n);
    assert_true(t->n_kernels > 1 && t->usual < t->n_kernels && t->chosen < t->n_kernels);
    for (uint32_t i = 0; i < t->n_kernels; i++)
        assert_true(t->seconds[i] > 0 && t->seconds[i] < 100);
    assert_true(t->seconds[t->chosen] <= t->seconds[t->usual]);
    return seen->n == seen->stop_after;
}

static hone_status tune(const char *path, int n_threads, seen_timings *seen) {
    hone_session_options options;
    hone_model *model;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    expect_ok(load_text(CONVOLUTIONS, NULL, &model, &error));
    hone_status status = hone_model_tune_kernels(model, &options, path, see_timing, seen, NULL);
    hone_model_free(model);
    return status;
}

static void run_chosen(const char *path, float out[N_OUTPUTS]) {
    hone_session_options options;
    hone_tensor_info info;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.kernel_choices = path;
    runner r = runner_with(CONVOLUTIONS, NULL, &options);
    assert_string_equal(hone_session_kernels_note(r.session), "");
    hone_value *x = counting_floats(DIMS(1, 16, 24, 24)), *y = result_of(&r, "x", x, "y");
    assert_true(hone_value_tensor(y, &info));
    memcpy(out, info.data, N_OUTPUTS * sizeof *out);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

static void choose_for_all(const char *path, int method) {
    hn_kernel_choices *c = choices_from(path, 1);
    for (uint32_t i = 0; i < hn_kernel_choices_n(c); i++)
        assert_int_equal(hn_kernel_choices_set(c, hn_kernel_choices_at(c, i), method, "by hand"),
                         HONE_OK);
    assert_int_equal(hn_kernel_choices_write(c, path, NULL), HONE_OK);
    hn_kernel_choices_free(c);
}

static void expect_close(const float *a, const float *b) {
    float largest = 0, apart = 0;
    for (int i = 0; i < N_OUTPUTS; i++) {
        float size = a[i] < 0 ? -a[i] : a[i], gap = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
        largest = HN_MAX(largest, size);
        apart = HN_MAX(apart, gap);
    }
    assert_true(largest > 0 && apart <= 1e-5F * largest);
}

static void sessions_take_what_was_chosen(void **state) {
    (void)state;
    static float usual[N_OUTPUTS], product[N_OUTPUTS], winograd[N_OUTPUTS];
    char path[400];
    snprintf(path, sizeof path, "%s", scratch_path("tuned.txt"));
    seen_timings seen = {0};
    if (!has_winograd())
        skip();
    assert_int_equal(tune(path, 1, &seen), HONE_OK);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.n_nodes, 2);
    run_chosen(NULL, usual);
    choose_for_all(path, HN_CONV_NHWC_PRODUCT);
    run_chosen(path, product);
    choose_for_all(path, HN_CONV_NHWC_WINOGRAD);
    run_chosen(path, winograd);
    expect_close(usual, product);
    expect_close(usual, winograd);
    assert_memory_not_equal(product, winograd, sizeof product); /* the choice was followed */
}

static void earlier_choices_stay(void **state) {
    (void)state;
    char path[400];
    snprintf(path, sizeof path, "%s", scratch_path("merged.txt"));
    seen_timings one = {0}, two = {0}, stopped = {.stop_after = 1};
    if (!has_winograd())
        skip();
    assert_int_equal(tune(path, 1, &stopped), HONE_E_CANCELLED);
    assert_false(scratch_has("merged.txt"));
    assert_int_equal(tune(path, 1, &one), HONE_OK);
    append_text(path, "a", "conv-last of another model: product (product 1.0)\nnonsense\n");
    assert_int_equal(tune(path, 2, &two), HONE_OK);
    hn_kernel_choices *c = choices_from(path, 1);
    assert_int_equal(hn_kernel_choices_n(c), 3);
    assert_int_equal(hn_kernel_choices_n_skipped(c), 0);
    hn_kernel_choices_free(c);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static hone_status use_table(const hone_allocator *a, const char *path) {
    hn_conv_nhwc_method method;
    hn_kernel_choices *c = hn_kernel_choices_new(a, 2);
    hone_status status = c ? hn_kernel_choices_read(c, path, NULL) : HONE_E_NOMEM;
    for (int64_t n = 1; status == HONE_OK && n < 40; n++)
        status = ask_for(c, n, &method);
    if (status == HONE_OK)
        status = hn_kernel_choices_write(c, path, NULL);
    hn_kernel_choices_free(c);
    return status;
}

static void nothing_is_lost_without_memory(void **state) {
    (void)state;
    const char *path = scratch_path("memory.txt");
    write_choices(path, 16, HN_CONV_NHWC_WINOGRAD);
    hone_status status = HONE_E_NOMEM;
    for (size_t n = 1; status != HONE_OK; n++) {
        counting_allocator a;
        counting_init(&a, n);
        status = use_table(&a.hook, path);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        assert_true(counting_is_clean(&a));
    }
}

static void tuning_fails_cleanly_without_memory(void **state) {
    (void)state;
    hone_load_options load;
    counting_allocator a = {.n_refused = 1};
    for (size_t n = 1; a.n_refused > 0; n++) {
        hone_error error;
        hone_model *model;
        counting_init(&a, n);
        hone_load_options_init(&load);
        load.allocator = &a.hook;
        hone_status status = load_text(CONVOLUTIONS, &load, &model, &error);
        if (status == HONE_OK)
            status = hone_model_tune_kernels(model, NULL, NULL, NULL, NULL, &error);
        hone_model_free(model);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        assert_true(counting_is_clean(&a));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_come_back),
        cmocka_unit_test(kernels_that_cannot_do_it_are_not_taken),
        cmocka_unit_test(lines_that_are_not_understood_are_skipped),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(sessions_take_what_was_chosen),
        cmocka_unit_test(earlier_choices_stay),
        cmocka_unit_test(nothing_is_lost_without_memory),
        cmocka_unit_test(tuning_fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
