/* hone.h: loading, saving, printing. */
#include "api/api_int.h"
#include "onnx/onnx.h"
#include "ops/ops.h"

#include <stdio.h>

const char *hone_version(void) {
#define VERSION_TEXT2(x) #x
#define VERSION_TEXT(x) VERSION_TEXT2(x)
    return VERSION_TEXT(HONE_VERSION_MAJOR) "." VERSION_TEXT(HONE_VERSION_MINOR) "." VERSION_TEXT(
        HONE_VERSION_PATCH);
}

hone_status hn_api_require(bool is_there, const char *argument, hone_error *error) {
    return is_there ? HONE_OK
                    : hn_fail(error, HONE_E_ARGUMENT, "the argument '%s' is NULL", argument);
}

size_t hn_api_give_text(hn_strbuf *b, char *text, size_t text_size) {
    size_t n = b->failed ? 0 : b->n;
    if (text && text_size)
        snprintf(text, text_size, "%s", n ? b->at : "");
    hn_strbuf_free(b);
    return n;
}

/* Copies the members of the caller's struct that both sides know; the others keep their defaults.
 */
bool hn_api_read_options(void *ours, const void *theirs, size_t ours_bytes) {
    if (!theirs)
        return true;
    size_t theirs_bytes;
    memcpy(&theirs_bytes, theirs, sizeof theirs_bytes);
    if (theirs_bytes < sizeof(size_t))
        return false;
    memcpy(ours, theirs, HN_MIN(ours_bytes, theirs_bytes));
    return true;
}

hone_status hn_api_fail_options(hone_error *error, const char *name) {
    return hn_fail(error, HONE_E_ARGUMENT, "the options are not initialized: call %s_init first",
                   name);
}

void hone_load_options_init(hone_load_options *options) {
    *options = (hone_load_options){.size = sizeof *options, .max_depth = 64};
}

void hone_save_options_init(hone_save_options *options) {
    *options = (hone_save_options){.size = sizeof *options,
                                   .external_data = HONE_EXTERNAL_KEEP,
                                   .external_threshold_bytes = 1024,
                                   .external_alignment = 4096};
}

static hone_status read_load_options(const hone_load_options *options, hone_load_options *o,
                                     hn_load_options *out, hone_error *error) {
    hone_load_options_init(o);
    if (!hn_api_read_options(o, options, sizeof *o))
        return hn_api_fail_options(error, "hone_load_options");
    *out = (hn_load_options){.alloc = o->allocator,
                             .max_depth = o->max_depth,
                             .max_arena_bytes = o->max_memory_bytes,
                             .copies_files = o->copy_files,
                             .skip_external = o->skip_external_data,
                             .external_folder = o->external_data_folder};
    return HONE_OK;
}

static hone_model *give_loaded(hn_model *m, const hone_load_options *o) {
    if (m && o->ops)
        hn_registry_attach((hn_op_registry *)(void *)o->ops, m);
    return (hone_model *)m;
}

hone_status hone_model_load(const char *path, const hone_load_options *options, hone_model **model,
                            hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    *model = NULL;
    HN_REQUIRE(path, error);
    hone_load_options o;
    hn_load_options load;
    HN_TRY(read_load_options(options, &o, &load, error));
    hn_model *m = NULL;
    hone_status status = hn_load_file(path, &load, &m, error);
    *model = give_loaded(m, &o);
    return hn_error_complete(error, status);
}

hone_status hone_model_load_buffer(const void *data, size_t n_bytes,
                                   const hone_load_options *options, hone_model **model,
                                   hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    *model = NULL;
    if (n_bytes > 0)
        HN_REQUIRE(data, error);
    hone_load_options o;
    hn_load_options load;
    HN_TRY(read_load_options(options, &o, &load, error));
    hn_model *m = NULL;
    hone_status status = hn_load_buffer(data, n_bytes, o.borrow_buffer, &load, &m, error);
    *model = give_loaded(m, &o);
    return hn_error_complete(error, status);
}

void hone_model_free(hone_model *model) {
    hn_model_free(model_of(model));
}

static bool names_text_file(const char *path) {
    static const char suffix[] = ".onnxtxt";
    size_t n = strlen(path), n_suffix = sizeof suffix - 1;
    return n >= n_suffix && strcmp(path + n - n_suffix, suffix) == 0;
}

static bool write_to_file(void *file, const char *text, size_t n_bytes) {
    return hn_outfile_write(file, text, n_bytes, NULL) == HONE_OK;
}

static hone_status save_text(const hone_model *model, const char *path, hone_error *error) {
    hn_outfile *file;
    HN_TRY(hn_outfile_open(path, hn_arena_allocator(model_of(model)->arena), &file, error));
    hone_status status = hone_model_print(model, UINT64_MAX, write_to_file, file, error);
    if (status == HONE_OK)
        return hn_outfile_commit(file, error);
    hn_outfile_abort(file);
    return status;
}

hone_status hone_model_save(const hone_model *model, const char *path,
                            const hone_save_options *options, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(path, error);
    hone_save_options o;
    hone_save_options_init(&o);
    if (!hn_api_read_options(&o, options, sizeof o))
        return hn_api_fail_options(error, "hone_save_options");
    if (names_text_file(path))
        return hn_error_complete(error, save_text(model, path, error));
    hn_save_options so = {.external = o.external_data == HONE_EXTERNAL_ALWAYS  ? HN_EXTERNAL_ALWAYS
                                      : o.external_data == HONE_EXTERNAL_NEVER ? HN_EXTERNAL_NEVER
                                                                               : HN_EXTERNAL_KEEP,
                          .threshold_bytes = o.external_threshold_bytes,
                          .alignment = o.external_alignment,
                          .data_name = o.external_file_name,
                          .progress = o.progress,
                          .progress_ctx = o.progress_ctx};
    return hn_error_complete(error, hn_save_file(model_of(model), path, &so, error));
}

hone_status hone_write_file(const char *path, const void *data, size_t n_bytes, hone_error *error) {
    hn_outfile *file;
    hn_error_clear(error);
    HN_REQUIRE(path, error);
    if (n_bytes > 0)
        HN_REQUIRE(data, error);
    hone_status status = hn_outfile_open(path, NULL, &file, error);
    if (status == HONE_OK) {
        status = hn_outfile_write(file, data, n_bytes, error);
        if (status == HONE_OK)
            status = hn_outfile_commit(file, error);
        else
            hn_outfile_abort(file);
    }
    return hn_error_complete(error, status);
}

hone_status hone_model_save_buffer(const hone_model *model, void **data, size_t *n_bytes,
                                   hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(data, error);
    HN_REQUIRE(n_bytes, error);
    *data = NULL;
    *n_bytes = 0;
    const hn_model *m = model_of(model);
    return hn_error_complete(error,
                             hn_save_buffer(m, hn_arena_allocator(m->arena), data, n_bytes, error));
}

void hone_buffer_free(const hone_model *model, void *data, size_t n_bytes) {
    hn_free(hn_arena_allocator(model_of(model)->arena), data, n_bytes);
}

hone_status hone_model_print(const hone_model *model, uint64_t max_elements, hone_write_fn write,
                             void *ctx, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(write, error);
    const hn_model *m = model_of(model);
    hn_strbuf text;
    hn_strbuf_init(&text, hn_arena_allocator(m->arena));
    hn_print_options o = {.max_elems = max_elements};
    hn_model_print(m, &o, &text);
    hone_status status = HONE_OK;
    if (text.failed)
        status = HONE_E_NOMEM;
    else if (!write(ctx, text.at ? text.at : "", text.n))
        status = hn_fail(error, HONE_E_IO, "the text of the model could not be written");
    hn_strbuf_free(&text);
    return hn_error_complete(error, status);
}
