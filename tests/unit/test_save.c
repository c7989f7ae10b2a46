/* The ONNX writer: unchanged bytes, and renamed values. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE 1 /* mkdtemp, symlink */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "counting_allocator.h"
#include "onnx/onnx.h"
#include "proto_builder.h"

/* ---- a folder of its own for each test ------------------------------------------------------- */

static char folder[256];
static char path_text[2][512];

static int enter_folder(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/hone-test-save-XXXXXX", temporary ? temporary : P_tmpdir);
    return mkdtemp(folder) ? 0 : -1;
}

static int leave_folder(void **state) {
    (void)state;
    char command[600];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static const char *in_folder(int slot, const char *name) {
    snprintf(path_text[slot], sizeof(path_text[slot]), "%s/%s", folder, name);
    return path_text[slot];
}

static void write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static int n_files(void) {
    char command[600], text[16] = "";
    snprintf(command, sizeof(command), "ls -A '%s' | wc -l", folder);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    pclose(f);
    return atoi(text);
}

static hn_model *load(const char *path, const hone_allocator *a) {
    hn_model *m = NULL;
    hone_error err;
    hn_error_clear(&err);
    hn_load_options o = {.alloc = a};
    if (hn_load_file(path, &o, &m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return m;
}

static hn_model *load_proto(const proto *p, const hone_allocator *a) {
    hn_model *m = NULL;
    hn_load_options o = {.alloc = a};
    assert_int_equal(hn_load_buffer(p->at, p->n, true, &o, &m, NULL), HONE_OK);
    return m;
}

static void save(const hn_model *m, const char *path, const hn_save_options *o) {
    hone_error err;
    hn_error_clear(&err);
    if (hn_save_file(m, path, o, &err) != HONE_OK)
        fail_msg("%s", err.message);
}

static const hn_tensor *weight(const hn_model *m) {
    return hn_value_at(m->graph, hn_block_at(m->graph, 0)->inits.at[0])->init;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_bytes_come_back(void **state) {
    (void)state;
    proto p = proto_small_model(5);
    put_text(&p, 4000, "a field of the future");
    put_varint(&p, 4001 << 3 | 3); /* a group */
    put_varint(&p, 4001 << 3 | 4);
    hn_model *m = load_proto(&p, NULL);
    void *data;
    size_t n;
    assert_int_equal(hn_save_buffer(m, NULL, &data, &n, NULL), HONE_OK);
    assert_int_equal(n, p.n);
    assert_memory_equal(data, p.at, n);
    hn_free(NULL, data, n);
    hn_model_free(m);
}

static void test_renamed_initializer(void **state) {
    (void)state;
    proto p = proto_small_model(5);
    hn_model *m = load_proto(&p, NULL);
    hn_id w = hn_block_at(m->graph, 0)->inits.at[0];
    assert_true(hn_graph_rename(m->graph, w, hn_intern_z(m->names, "weight")));
    void *data;
    size_t n;
    assert_int_equal(hn_save_buffer(m, NULL, &data, &n, NULL), HONE_OK);
    hn_model *back = NULL;
    assert_int_equal(hn_load_buffer(data, n, true, NULL, &back, NULL), HONE_OK);
    assert_string_equal(hn_s(weight(back)->name), "weight");
    assert_memory_equal(weight(back)->data, weight(m)->data, 20);
    hn_model_free(back);
    hn_free(NULL, data, n);
    hn_model_free(m);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_external_there_and_back(void **state) {
    (void)state;
    proto p = proto_small_model(500);
    hn_model *m = load_proto(&p, NULL);
    hn_save_options o = {.external = HN_EXTERNAL_ALWAYS};
    save(m, in_folder(0, "out.onnx"), &o);
    assert_int_equal(n_files(), 2);
    hn_model *out = load(in_folder(0, "out.onnx"), NULL);
    const hn_external *e = weight(out)->external;
    assert_string_equal(hn_s(e->location), "out.onnx.data");
    assert_true(e->has_offset && e->offset == 0 && e->has_length && e->length == 2000);
    assert_int_equal(out->external_bytes, 2000);
    assert_memory_equal(weight(out)->data, weight(m)->data, 2000);

    save(out, in_folder(0, "out.onnx"), NULL); /* over itself: the maps stay good */
    assert_memory_equal(weight(out)->data, weight(m)->data, 2000);
    o.external = HN_EXTERNAL_NEVER;
    save(out, in_folder(1, "in.onnx"), &o);
    hn_model *in = load(in_folder(1, "in.onnx"), NULL);
    assert_null(weight(in)->external);
    assert_memory_equal(weight(in)->data, weight(m)->data, 2000);
    hn_model_free(in);
    hn_model_free(out);
    hn_model_free(m);
}

static void test_alignment_and_threshold(void **state) {
    (void)state;
    proto graph = {.n = 0};
    put_weight(&graph, "a", 10);
    put_weight(&graph, "b", 3);
    put_weight(&graph, "c", 10);
    proto p = proto_model(&graph);
    hn_model *m = load_proto(&p, NULL);
    hn_save_options o = {.external = HN_EXTERNAL_ALWAYS,
                         .threshold_bytes = 40,
                         .alignment = 64,
                         .data_name = "weights.bin"};
    save(m, in_folder(0, "m.onnx"), &o);
    hn_model *back = load(in_folder(0, "m.onnx"), NULL);
    const hn_block *b = hn_block_at(back->graph, 0);
    const hn_tensor *second = hn_value_at(back->graph, b->inits.at[1])->init;
    const hn_tensor *third = hn_value_at(back->graph, b->inits.at[2])->init;
    assert_null(second->external);
    assert_string_equal(hn_s(third->external->location), "weights.bin");
    assert_int_equal(third->external->offset, 64);
    assert_memory_equal(third->data, weight(m)->data, 40);
    hn_model_free(back);
    o.data_name = "../weights.bin";
    assert_int_equal(hn_save_file(m, in_folder(0, "m.onnx"), &o, NULL), HONE_E_ARGUMENT);
    o.data_name = "m.onnx";
    assert_int_equal(hn_save_file(m, in_folder(0, "m.onnx"), &o, NULL), HONE_E_ARGUMENT);
    hn_model_free(m);
}

static proto external_model(const char *location, const char *offset, const char *length) {
    proto graph = {.n = 0}, tensor = {.n = 0};
    const char *const entries[][2] = {
        {"location", location}, {"offset", offset}, {"length", length}};
    put_int(&tensor, 1, 2);
    put_int(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    for (int i = 0; i < 3; i++) {
        proto entry = {.n = 0};
        if (!entries[i][1])
            continue;
        put_text(&entry, 1, entries[i][0]);
        put_text(&entry, 2, entries[i][1]);
        put_message(&tensor, 13, &entry);
    }
    put_int(&tensor, 14, 1);
    put_message(&graph, 5, &tensor);
    return proto_model(&graph);
}

static void test_external_locations(void **state) {
    (void)state;
    static const struct {
        const char *location, *offset, *length;
        hone_status expected;
    } cases[] = {
        {"data", NULL, NULL, HONE_OK},
        {"data", "4", "8", HONE_OK},
        {"data", "8", NULL, HONE_OK}, /* less than the shape asks for: the checker's business */
        {"data", "13", NULL, HONE_E_FORMAT},
        {"data", "8", "8", HONE_E_FORMAT},
        {"data", "18446744073709551615", "8", HONE_E_FORMAT},
        {"data", "8", "18446744073709551615", HONE_E_FORMAT},
        {"data", "18446744073709551616", NULL, HONE_E_FORMAT},
        {"data", "-1", NULL, HONE_E_FORMAT},
        {"data", "", NULL, HONE_E_FORMAT},
        {NULL, "0", "8", HONE_E_FORMAT},
        {"", NULL, NULL, HONE_E_INVALID},
        {"/etc/passwd", NULL, NULL, HONE_E_INVALID},
        {"../data", NULL, NULL, HONE_E_INVALID},
        {"a/../../data", NULL, NULL, HONE_E_INVALID},
        {"link", NULL, NULL, HONE_E_INVALID},
        {"nothing", NULL, NULL, HONE_E_IO},
    };
    write_file(in_folder(0, "data"), "0123456789ab", 12);
    assert_int_equal(symlink("/etc/passwd", in_folder(0, "link")), 0);
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        proto p = external_model(cases[i].location, cases[i].offset, cases[i].length);
        write_file(in_folder(0, "m.onnx"), p.at, p.n);
        hn_model *m = NULL;
        hone_error err;
        hn_error_clear(&err);
        hone_status status = hn_load_file(in_folder(0, "m.onnx"), NULL, &m, &err);
        if (status != cases[i].expected)
            fail_msg("case %zu: %d %s", i, status, err.message);
        if (m)
            assert_true(weight(m)->data_bytes <= 8);
        hn_model_free(m);
    }
}

static void test_skipped_data_stays_a_reference(void **state) {
    (void)state;
    proto p = external_model("nothing", "16", "8");
    hn_load_options o = {.skip_external = true};
    hn_model *m = NULL;
    assert_int_equal(hn_load_buffer(p.at, p.n, true, NULL, &m, NULL), HONE_E_ARGUMENT);
    assert_int_equal(hn_load_buffer(p.at, p.n, true, &o, &m, NULL), HONE_OK);
    assert_true(!weight(m)->data && weight(m)->external->offset == 16);
    save(m, in_folder(0, "m.onnx"), NULL);
    assert_int_equal(n_files(), 1);
    hn_model_free(m);
    o.alloc = NULL;
    assert_int_equal(hn_load_file(in_folder(0, "m.onnx"), &o, &m, NULL), HONE_OK);
    assert_string_equal(hn_s(weight(m)->external->location), "nothing");
    hn_model_free(m);
}

static bool stop_at_once(void *ctx, uint64_t done_bytes, uint64_t total_bytes) {
    (void)ctx;
    return done_bytes <= total_bytes;
}

static bool watch_progress(void *ctx, uint64_t done_bytes, uint64_t total_bytes) {
    uint64_t *last = ctx;
    assert_true(done_bytes > last[0] && done_bytes <= total_bytes);
    last[0] = done_bytes;
    last[1] = total_bytes;
    return false;
}

static void test_progress_and_cancel(void **state) {
    (void)state;
    proto p = proto_small_model(500);
    hn_model *m = load_proto(&p, NULL);
    uint64_t last[2] = {0, 0};
    hn_save_options o = {
        .external = HN_EXTERNAL_ALWAYS, .progress = watch_progress, .progress_ctx = last};
    save(m, in_folder(0, "m.onnx"), &o);
    assert_true(last[0] == last[1] && last[1] > 2000);
    o.progress = stop_at_once;
    assert_int_equal(hn_save_file(m, in_folder(1, "other.onnx"), &o, NULL), HONE_E_CANCELLED);
    assert_int_equal(n_files(), 2); /* the first model and its data */
    assert_int_equal(hn_save_file(m, in_folder(1, "no/such/folder.onnx"), NULL, NULL), HONE_E_IO);
    hn_model_free(m);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    proto p = proto_small_model(500);
    hn_save_options o = {.external = HN_EXTERNAL_ALWAYS};
    for (int to_file = 0; to_file < 2; to_file++) {
        hone_status status = HONE_E_NOMEM;
        for (size_t n = 1; status != HONE_OK; n++) {
            counting_allocator c;
            counting_init(&c, 0);
            hn_model *m = load_proto(&p, &c.hook);
            hone_error err;
            hn_error_clear(&err);
            c.fail_at = c.n_requests + n;
            void *data = NULL;
            size_t n_bytes = 0;
            if (to_file)
                status = hn_save_file(m, in_folder(0, "m.onnx"), &o, &err);
            else
                status = hn_save_buffer(m, &c.hook, &data, &n_bytes, &err);
            assert_true(status == HONE_OK || status == HONE_E_NOMEM);
            assert_true((status == HONE_OK) == (err.code == HONE_OK));
            hn_free(&c.hook, data, n_bytes);
            hn_model_free(m);
            assert_true(counting_is_clean(&c));
            assert_int_equal(n_files(), to_file && status == HONE_OK ? 2 : 0);
            assert_true(n < 1000);
        }
    }
}

static void test_every_allocation_may_fail_on_external_load(void **state) {
    (void)state;
    write_file(in_folder(0, "data"), "0123456789ab", 12);
    proto p = external_model("data", "4", "8");
    write_file(in_folder(1, "m.onnx"), p.at, p.n);
    hone_status status = HONE_E_NOMEM;
    for (size_t n = 1; status != HONE_OK; n++) {
        counting_allocator c;
        hn_model *m = NULL;
        counting_init(&c, n);
        hn_load_options o = {.alloc = &c.hook};
        status = hn_load_file(in_folder(1, "m.onnx"), &o, &m, NULL);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        hn_model_free(m);
        assert_true(counting_is_clean(&c));
        assert_true(n < 1000);
    }
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_come_back),
        cmocka_unit_test(test_renamed_initializer),
        IN_FOLDER(test_external_there_and_back),
        IN_FOLDER(test_alignment_and_threshold),
        IN_FOLDER(test_external_locations),
        IN_FOLDER(test_skipped_data_stays_a_reference),
        IN_FOLDER(test_progress_and_cancel),
        IN_FOLDER(test_every_allocation_may_fail),
        IN_FOLDER(test_every_allocation_may_fail_on_external_load),
    };
#undef IN_FOLDER
    return cmocka_run_group_tests(tests, NULL, NULL);
}
