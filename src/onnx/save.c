/* ModelProto, and the entry points: files, memory, sizes. */
#include "base/temp_files.h"
#include "onnx/save_int.h"

#include <inttypes.h>
#include <unistd.h>

#define DEFAULT_THRESHOLD_BYTES 1024u
#define DEFAULT_ALIGNMENT 4096u
#define REPORT_STEP_BYTES ((uint64_t)1 << 20)
#define PROTOBUF_MAX_BYTES ((uint64_t)INT32_MAX)

static void save_model(hn_saver *s) {
    const hn_model *m = s->model;
    hn_wire_out *w = &s->out;
    if (m->has_ir_version)
        hn_out_varint(w, HN_F_MODEL_IR_VERSION, (uint64_t)m->ir_version);
    hn_out_str(w, HN_F_MODEL_PRODUCER_NAME, m->producer_name);
    hn_out_str(w, HN_F_MODEL_PRODUCER_VERSION, m->producer_version);
    hn_out_str(w, HN_F_MODEL_DOMAIN, m->domain);
    if (m->has_model_version)
        hn_out_varint(w, HN_F_MODEL_MODEL_VERSION, (uint64_t)m->model_version);
    if (m->extra)
        hn_out_str(w, HN_F_MODEL_DOC_STRING, m->extra->doc);
    if (m->graph)
        hn_save_block(s, HN_F_MODEL_GRAPH, m->graph, 0);
    hn_save_opsets(s, HN_F_MODEL_OPSET_IMPORT, &m->opsets);
    if (m->extra)
        hn_save_props(s, HN_F_MODEL_METADATA_PROPS, &m->extra->props);
    for (uint32_t i = 0; i < m->functions.n; i++)
        hn_save_function(s, HN_F_MODEL_FUNCTIONS, m->functions.at[i]);
    hn_save_unknown(s, m->extra);
}

/* ---- one walk -------------------------------------------------------------------------------- */

static hn_saver saver_new(const hn_model *m, hn_external_mode external, hn_arena *scratch,
                          hone_error *err) {
    hn_saver s = {.model = m, .external = external, .out.arena = scratch, .out.err = err};
    hn_strbuf_init(&s.text, hn_arena_allocator(m->arena));
    return s;
}

static hone_status save_walk(hn_saver *s, hn_out_mode mode) {
    s->out.mode = mode;
    s->out.n_bytes = 0;
    s->out.next_size = 0;
    s->data_bytes = 0;
    if (mode == HN_OUT_MEASURE)
        s->out.sizes.n = 0;
    save_model(s);
    return s->out.status;
}

static hone_status save_to_memory(hn_saver *s, const hone_allocator *a, void **data, size_t *n) {
    HN_TRY(save_walk(s, HN_OUT_MEASURE));
    uint64_t bytes = s->out.n_bytes;
    if (bytes == 0)
        return HONE_OK;
    s->out.memory = bytes <= SIZE_MAX ? hn_alloc(a, (size_t)bytes) : NULL;
    HN_TRY_PTR(s->out.memory);
    s->out.memory_bytes = bytes;
    hone_status status = save_walk(s, HN_OUT_MEMORY);
    if (status != HONE_OK) {
        hn_free(a, s->out.memory, (size_t)bytes);
        return status;
    }
    *data = s->out.memory;
    *n = (size_t)bytes;
    return HONE_OK;
}

hone_status hn_save_buffer(const hn_model *m, const hone_allocator *a, void **data, size_t *n,
                           hone_error *err) {
    *data = NULL;
    *n = 0;
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(m->arena));
    if (!scratch)
        return hn_error_complete(err, HONE_E_NOMEM);
    hn_saver s = saver_new(m, HN_EXTERNAL_NEVER, scratch, err);
    hone_status status = save_to_memory(&s, a, data, n);
    hn_strbuf_free(&s.text);
    hn_arena_free(scratch);
    return hn_error_complete(err, status);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* State of writing one model to disk. */
typedef struct file_save {
    hn_saver saver;
    const hn_save_options *options;
    hn_arena *scratch;
    const char *path, *data_path;
    const char *step_path; /* of the data while the model changes to them */
    hn_data_fate fate;     /* of a file at data_path */
    const char *why_kept;
    uint64_t done_bytes, total_bytes, next_report_bytes;
    hone_error *err;
} file_save;

/* Reports progress in steps that a terminal can show, and at the end. */
static hone_status count_written(void *ctx, uint64_t n) {
    file_save *f = ctx;
    f->done_bytes += n;
    bool is_due = f->done_bytes >= f->next_report_bytes || f->done_bytes == f->total_bytes;
    if (!f->options->progress || !is_due)
        return HONE_OK;
    f->next_report_bytes = f->done_bytes + REPORT_STEP_BYTES;
    if (f->options->progress(f->options->progress_ctx, f->done_bytes, f->total_bytes))
        return hn_fail(f->err, HONE_E_CANCELLED, "saving '%s' was cancelled", f->path);
    return HONE_OK;
}

static hone_status pad_data_file(hn_saver *s, uint64_t n) {
    HN_TRY(hn_outfile_pad_to(s->data, s->alignment, s->out.err));
    return n ? s->out.written(s->out.written_ctx, n) : HONE_OK;
}

/* Padding depends on the offset alone, so measuring and writing agree on it. */
uint64_t hn_save_data(hn_saver *s, const void *data, uint64_t n) {
    uint64_t past = s->data_bytes % s->alignment;
    uint64_t padding = past ? s->alignment - past : 0;
    uint64_t offset = s->data_bytes + padding;
    s->data_bytes = offset + n;
    if (s->data && s->out.mode == HN_OUT_FILE && s->out.status == HONE_OK) {
        hn_wire_out data_out = s->out; /* the same sink, into the other file */
        data_out.file = s->data;
        data_out.status = pad_data_file(s, padding);
        hn_out_raw(&data_out, data, n);
        s->out.status = data_out.status;
    }
    return offset;
}

static hone_status name_data_file(file_save *f) {
    const char *slash = strrchr(f->path, '/');
    const char *base = slash ? slash + 1 : f->path;
    const char *name = f->options->data_name;
    if (!name)
        name = hn_arena_printf(f->scratch, "%s.data", base);
    HN_TRY_PTR(name);
    if (!*name || strchr(name, '/') || strcmp(name, "..") == 0 || strcmp(name, base) == 0)
        return hn_fail(
            f->err, HONE_E_ARGUMENT,
            "'%s' cannot be the name of the data file: it must be a name without folders, "
            "different from the model's",
            name);
    f->saver.data_name = name;
    f->data_path = hn_arena_printf(f->scratch, "%.*s%s", (int)(base - f->path), f->path, name);
    HN_TRY_PTR(f->data_path);
    return HONE_OK;
}

/* Decides which tensors become external, and computes all sizes. */
static hone_status measure_file(file_save *f) {
    hn_saver *s = &f->saver;
    HN_TRY(save_walk(s, HN_OUT_MEASURE));
    if (s->out.n_bytes > PROTOBUF_MAX_BYTES && s->external == HN_EXTERNAL_KEEP) {
        s->external = HN_EXTERNAL_ALWAYS;
        HN_TRY(save_walk(s, HN_OUT_MEASURE));
    }
    if (s->out.n_bytes > PROTOBUF_MAX_BYTES)
        return hn_fail(f->err, HONE_E_LIMIT,
                       "'%s' would have %" PRIu64 " bytes; ONNX files end at 2 GiB: save with "
                       "external data",
                       f->path, s->out.n_bytes);
    f->total_bytes = s->out.n_bytes + s->data_bytes;
    return HONE_OK;
}

/* ---- data and model change together ----------------------------------------------------------- */

static hone_status fail_data_file(const file_save *f) {
    return hn_fail(f->err, HONE_E_ARGUMENT,
                   "'%s' cannot be the data file of '%s': %s; another name can be given",
                   f->data_path, f->path, f->why_kept);
}

/* Before anything is written, and again when everything is. */
static hone_status look_at_data_file(file_save *f) {
    if (f->saver.keeps_data_name)
        return hn_fail(f->err, HONE_E_ARGUMENT,
                       "'%s' cannot be the data file of '%s': it has data of the model that were "
                       "not loaded",
                       f->data_path, f->path);
    return hn_data_file_fate(f->saver.model, f->path, f->data_path, f->scratch, &f->fate,
                             &f->why_kept, f->err);
}

static hone_status open_files(file_save *f) {
    hn_saver *s = &f->saver;
    const hone_allocator *a = hn_arena_allocator(f->scratch);
    if (s->data_bytes) {
        hn_file_stamp old;
        HN_TRY(look_at_data_file(f));
        if (f->fate == HN_DATA_KEEP && hn_file_stamp_read(f->data_path, &old) &&
            old.bytes != s->data_bytes)
            return fail_data_file(f);
        f->step_path = hn_data_step_name(f->scratch, f->data_path);
        HN_TRY_PTR(f->step_path);
        HN_TRY(hn_outfile_open(f->data_path, a, &s->data, f->err));
    }
    return hn_outfile_open(f->path, a, &s->out.file, f->err);
}

static hone_status commit_model(file_save *f) {
    hn_outfile *file = f->saver.out.file;
    f->saver.out.file = NULL;
    return hn_outfile_commit(file, f->err);
}

static hone_status commit_data(file_save *f, const char *path) {
    hn_outfile *file = f->saver.data;
    f->saver.data = NULL;
    return hn_outfile_commit_as(file, path, f->err);
}

/* The model once more, with another name of its data. */
static hone_status save_step_model(file_save *f) {
    hn_saver step = f->saver;
    const char *slash = strrchr(f->step_path, '/');
    step.data_name = slash ? slash + 1 : f->step_path;
    step.out.written = NULL;
    HN_TRY(hn_outfile_open(f->path, hn_arena_allocator(f->scratch), &step.out.file, f->err));
    hone_status status = save_walk(&step, HN_OUT_MEASURE);
    if (status == HONE_OK)
        status = save_walk(&step, HN_OUT_FILE);
    if (status == HONE_OK)
        return hn_outfile_commit(step.out.file, f->err);
    hn_outfile_abort(step.out.file);
    return status;
}

/* Two files cannot be renamed at once. So the model first changes to the new data under a name of
 * their own, then these get the name of the old data, and the model changes to that: at each moment
 * the data that it names are its own. Where a file cannot have two names, the first change is all.
 */
static hone_status replace_together(file_save *f) {
    HN_TRY(commit_data(f, f->step_path));
    hone_status status = save_step_model(f);
    if (status != HONE_OK) {
        unlink(f->step_path);
        return status;
    }
    if (hn_file_link(f->step_path, f->data_path, hn_arena_allocator(f->scratch)) &&
        commit_model(f) == HONE_OK)
        hn_data_steps_remove(f->data_path);
    hn_error_clear(f->err);
    return HONE_OK;
}

static hone_status commit_files_locked(file_save *f) {
    hn_saver *s = &f->saver;
    HN_TRY(look_at_data_file(f));
    if (f->fate != HN_DATA_NEW && hn_outfile_equals(s->data, f->data_path)) {
        hn_outfile_abort(s->data);
        s->data = NULL;
        return commit_model(f);
    }
    if (f->fate == HN_DATA_KEEP)
        return fail_data_file(f);
    if (f->fate == HN_DATA_REPLACE)
        return replace_together(f);
    HN_TRY(commit_data(f, f->data_path));
    hone_status status = commit_model(f);
    if (status != HONE_OK)
        unlink(f->data_path);
    return status;
}

static hone_status commit_files(file_save *f) {
    int lock;
    if (!f->saver.data)
        return commit_model(f);
    HN_TRY(hn_folder_lock(f->data_path, &lock, f->err));
    hone_status status = commit_files_locked(f);
    hn_folder_unlock(lock);
    return status;
}

/* All that needs room on the disk is there before the first name changes. */
static hone_status write_files(file_save *f) {
    hn_saver *s = &f->saver;
    HN_TRY(hn_model_check_files(s->model, f->err));
    HN_TRY(hn_check_save_path(s->model, f->path, f->err));
    HN_TRY(measure_file(f));
    hone_status status = open_files(f);
    if (status == HONE_OK)
        status = save_walk(s, HN_OUT_FILE);
    if (status == HONE_OK && s->data)
        status = hn_outfile_finish(s->data, f->err);
    if (status == HONE_OK)
        status = hn_outfile_finish(s->out.file, f->err);
    if (status == HONE_OK)
        status = commit_files(f);
    hn_outfile_abort(s->data);
    hn_outfile_abort(s->out.file);
    return status;
}

hone_status hn_save_file(const hn_model *m, const char *path, const hn_save_options *o,
                         hone_error *err) {
    static const hn_save_options defaults = {.external = HN_EXTERNAL_KEEP};
    file_save f = {.options = o ? o : &defaults, .path = path, .err = err};
    f.scratch = hn_arena_new(hn_arena_allocator(m->arena));
    if (!f.scratch)
        return hn_error_complete(err, HONE_E_NOMEM);
    f.saver = saver_new(m, f.options->external, f.scratch, err);
    f.saver.threshold_bytes =
        f.options->threshold_bytes ? f.options->threshold_bytes : DEFAULT_THRESHOLD_BYTES;
    f.saver.alignment = f.options->alignment ? f.options->alignment : DEFAULT_ALIGNMENT;
    f.saver.out.written = count_written;
    f.saver.out.written_ctx = &f;
    hone_status status = name_data_file(&f);
    if (status == HONE_OK)
        status = write_files(&f);
    hn_strbuf_free(&f.saver.text);
    hn_arena_free(f.scratch);
    return hn_error_complete(err, status);
}
