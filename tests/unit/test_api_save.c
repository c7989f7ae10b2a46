/* The public API: saving, printing, the allocator. */
#include "api_model.h"

#include <sys/stat.h>

static uint64_t file_bytes(const char *name) {
    struct stat st;
    assert_int_equal(stat(scratch_path(name), &st), 0);
    return (uint64_t)st.st_size;
}

static void expect_saved(const hone_model *model, const char *name) {
    hone_model *back = model_at(scratch_path(name));
    hone_model_info info;
    hone_model_get_info(back, &info);
    assert_int_equal(info.file_bytes, file_bytes(name));
    hone_stats *ours, *theirs;
    hone_stats_totals a, b;
    expect_ok(hone_model_get_stats(model, &ours, &error));
    expect_ok(hone_model_get_stats(back, &theirs, &error));
    hone_stats_get_totals(ours, &a);
    hone_stats_get_totals(theirs, &b);
    assert_memory_equal(&a, &b, sizeof(a));
    hone_stats_free(ours);
    hone_stats_free(theirs);
    assert_int_equal(count_problems(back), 0);
    hone_model_free(back);
}

static void equal_models_give_equal_bytes(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS), *again;
    void *bytes, *bytes_again;
    size_t n, n_again;
    expect_ok(hone_model_save(model, scratch_path("plain.onnx"), NULL, &error));
    expect_ok(hone_model_save_buffer(model, &bytes, &n, &error));
    assert_int_equal(n, file_bytes("plain.onnx"));
    expect_ok(hone_model_load_buffer(bytes, n, NULL, &again, &error));
    expect_ok(hone_model_save_buffer(again, &bytes_again, &n_again, &error));
    assert_int_equal(n, n_again);
    assert_memory_equal(bytes, bytes_again, n);
    expect_same_model(model, again);
    hone_buffer_free(model, bytes, n);
    hone_buffer_free(again, bytes_again, n_again);
    hone_model_free(again);
    hone_model_free(model);
}

static void tensors_go_out_and_come_back(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS);
    hone_save_options options;
    hone_save_options_init(&options);
    options.external_data = HONE_EXTERNAL_ALWAYS;
    options.external_threshold_bytes = 4096;
    options.external_alignment = 64;
    options.external_file_name = "weights.bin";
    expect_ok(hone_model_save(model, scratch_path("out.onnx"), &options, &error));
    expect_saved(model, "out.onnx");
    hone_model *outside = model_at(scratch_path("out.onnx"));
    hone_model_info info;
    hone_tensor_info tensor;
    hone_model_get_info(outside, &info);
    assert_true(info.external_bytes > 100000 && info.file_bytes < 50000);
    assert_true(file_bytes("weights.bin") >= info.external_bytes);
    assert_true(hone_value_get_tensor(hone_model_graph(outside),
                                      value_named(outside, "head.conv.weight"), &tensor));
    assert_string_equal(tensor.external_location, "weights.bin");
    assert_non_null(tensor.data);

    hone_save_options_init(&options); /* kept outside: in a file of the new model's own */
    expect_ok(hone_model_save(outside, scratch_path("kept.onnx"), &options, &error));
    assert_true(scratch_has("kept.onnx.data"));
    expect_saved(model, "kept.onnx");
    options.external_data = HONE_EXTERNAL_NEVER;
    expect_ok(hone_model_save(outside, scratch_path("inside.onnx"), &options, &error));
    assert_false(scratch_has("inside.onnx.data"));
    expect_saved(model, "inside.onnx");
    hone_model_free(outside);
    hone_model_free(model);
}

static void data_may_be_left_where_they_are(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS), *bare;
    hone_save_options save;
    hone_load_options load;
    hone_tensor_info tensor;
    hone_save_options_init(&save);
    save.external_data = HONE_EXTERNAL_ALWAYS;
    expect_ok(hone_model_save(model, scratch_path("far.onnx"), &save, &error));
    assert_int_equal(unlink(scratch_path("far.onnx.data")), 0);
    expect_failure(hone_model_load(scratch_path("far.onnx"), NULL, &bare, &error), HONE_E_IO,
                   "far.onnx.data");
    hone_load_options_init(&load);
    load.skip_external_data = true;
    expect_ok(hone_model_load(scratch_path("far.onnx"), &load, &bare, &error));
    assert_true(hone_value_get_tensor(hone_model_graph(bare), value_named(bare, "head.conv.weight"),
                                      &tensor));
    assert_null(tensor.data);
    assert_int_equal(count_problems(bare), 0);
    hone_model_free(bare);
    hone_model_free(model);
}

static void data_files_stay_beside_the_model(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS);
    static const char *const names[] = {"../weights.bin", "/tmp/weights.bin", "sub/weights.bin",
                                        ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        hone_save_options options;
        hone_save_options_init(&options);
        options.external_data = HONE_EXTERNAL_ALWAYS;
        options.external_file_name = names[i];
        assert_int_not_equal(hone_model_save(model, scratch_path("leak.onnx"), &options, NULL),
                             HONE_OK);
        assert_false(scratch_has("leak.onnx"));
        assert_false(scratch_has("../weights.bin"));
    }
    hone_model_free(model);
}

/* ---- progress -------------------------------------------------------------------------------- */

typedef struct watch {
    uint64_t last, total;
    unsigned n_calls, cancel_at; /* 0: never */
    bool is_wrong;
} watch;

static bool watch_progress(void *ctx, uint64_t done, uint64_t total) {
    watch *w = ctx;
    w->is_wrong |= done < w->last || done > total;
    w->last = done;
    w->total = total;
    return ++w->n_calls == w->cancel_at;
}

static hone_status save_watched(const hone_model *model, const char *name,
                                hone_external_data external, watch *w, hone_error *error) {
    hone_save_options options;
    hone_save_options_init(&options);
    options.external_data = external;
    options.progress = watch_progress;
    options.progress_ctx = w;
    return hone_model_save(model, scratch_path(name), &options, error);
}

static void progress_runs_to_the_end(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS);
    watch w = {0};
    expect_ok(save_watched(model, "watched.onnx", HONE_EXTERNAL_ALWAYS, &w, &error));
    assert_true(w.n_calls > 0 && !w.is_wrong);
    assert_int_equal(w.last, w.total);
    hone_model_free(model);
}

/* Cancelled at each step in turn: what stood there stays, and nothing new appears. */
static void cancelling_leaves_nothing(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS);
    for (unsigned step = 1;; step++) {
        watch w = {.cancel_at = step};
        hone_error error;
        hone_status status = save_watched(model, "gone.onnx", HONE_EXTERNAL_ALWAYS, &w, &error);
        if (status == HONE_OK) {
            assert_true(step > 1);
            break;
        }
        assert_int_equal(status, HONE_E_CANCELLED);
        assert_int_equal(error.code, HONE_E_CANCELLED);
        char command[400];
        snprintf(command, sizeof(command), "ls -A '%s' | grep -q gone", scratch_folder);
        assert_int_not_equal(system(command), 0);
    }
    hone_model_free(model);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_parses_back(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    char *text = printed(model);
    hone_model *back = model_from(text);
    expect_same_model(model, back);
    expect_ok(hone_model_save(model, scratch_path("as.onnxtxt"), NULL, &error));
    assert_int_equal(file_bytes("as.onnxtxt"), strlen(text));
    free(text);

    text_sink brief = {NULL, 0};
    expect_ok(hone_model_print(model, 2, collect_text, &brief, &error));
    assert_non_null(strstr(brief.at, "..."));
    free(brief.at);
    expect_failure(hone_model_print(model, 0, refuse_text, NULL, &error), HONE_E_IO, "written");
    expect_failure(hone_model_print(model, 0, NULL, NULL, &error), HONE_E_ARGUMENT, "'write'");
    hone_model_free(back);
    hone_model_free(model);
}

static void bad_targets_are_refused(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS);
    void *data = &data;
    size_t n;
    expect_failure(hone_model_save(model, NULL, NULL, &error), HONE_E_ARGUMENT, "'path'");
    expect_failure(hone_model_save(NULL, "x", NULL, &error), HONE_E_ARGUMENT, "'model'");
    expect_failure(hone_model_save(model, scratch_folder, NULL, &error), HONE_E_IO, "folder");
    expect_failure(hone_model_save(model, scratch_path("no/x.onnx"), NULL, &error), HONE_E_IO,
                   "no");
    expect_failure(hone_model_save_buffer(NULL, &data, &n, &error), HONE_E_ARGUMENT, "'model'");
    expect_failure(hone_model_save_buffer(model, NULL, &n, &error), HONE_E_ARGUMENT, "'data'");
    hone_model_free(model);
}

/* ---- allocator ------------------------------------------------------------------------------- */

typedef struct ledger {
    size_t held;
    unsigned n_left; /* requests that still succeed */
} ledger;

static void *ledger_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes) {
    ledger *l = ctx;
    void *moved = NULL;
    if (new_bytes == 0) {
        free(ptr);
    } else {
        moved = l->n_left > 0 ? realloc(ptr, new_bytes) : NULL;
        if (!moved)
            return NULL;
        l->n_left--;
    }
    l->held = l->held - old_bytes + new_bytes;
    return moved;
}

/* Everything, with an allocator that gives out after some requests. */
static hone_status live_a_life(ledger *l, hone_error *error) {
    hone_allocator allocator = {.resize = ledger_resize, .ctx = l};
    hone_load_options options;
    hone_model *model;
    hone_stats *stats = NULL;
    void *bytes = NULL;
    size_t n = 0;
    hone_load_options_init(&options);
    options.allocator = &allocator;
    hone_status status = load_text(BRANCHES, &options, &model, error);
    if (status == HONE_OK)
        status = hone_model_inline_functions(model, error);
    if (status == HONE_OK)
        status = hone_model_store_shapes(model, error);
    if (status == HONE_OK)
        status = hone_model_strip(model, ~0u, error);
    if (status == HONE_OK)
        status = hone_model_get_stats(model, &stats, error);
    if (status == HONE_OK)
        status = hone_model_save_buffer(model, &bytes, &n, error);
    hone_stats_free(stats);
    if (bytes)
        hone_buffer_free(model, bytes, n);
    hone_model_free(model);
    return status;
}

static void all_memory_comes_back(void **state) {
    (void)state;
    for (unsigned n_good = 0;; n_good++) {
        ledger l = {.n_left = n_good};
        hone_error error;
        hone_status status = live_a_life(&l, &error);
        assert_int_equal(l.held, 0);
        if (status == HONE_OK)
            break;
        assert_int_equal(status, HONE_E_NOMEM);
        assert_int_equal(error.code, HONE_E_NOMEM);
        assert_true(n_good < 100000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_models_give_equal_bytes),
        cmocka_unit_test(tensors_go_out_and_come_back),
        cmocka_unit_test(data_may_be_left_where_they_are),
        cmocka_unit_test(data_files_stay_beside_the_model),
        cmocka_unit_test(progress_runs_to_the_end),
        cmocka_unit_test(cancelling_leaves_nothing),
        cmocka_unit_test(text_parses_back),
        cmocka_unit_test(bad_targets_are_refused),
        cmocka_unit_test(all_memory_comes_back),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
