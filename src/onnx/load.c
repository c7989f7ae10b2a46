/* ModelProto, and the entry points: files, buffers, single tensors. */
#include "onnx/file_kind.h"
#include "onnx/load_int.h"

#define DEFAULT_MAX_DEPTH 64u
#define ARENA_BASE_BYTES ((uint64_t)64 << 20)
#define ARENA_BYTES_PER_FILE_BYTE 32u

/* ---- the message ----------------------------------------------------------------------------- */

/* An explicit version of zero is kept as an unknown field: saving distinguishes absent and zero. */
hone_status hn_load_opset(hn_loader *ld, hn_bytes message, hn_opsets *opsets) {
    hn_wire w = hn_load_open(ld, message, "OperatorSetIdProto");
    hn_field f;
    hone_status status;
    hn_opset opset = {0};
    hn_keep unknown = {0};
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_OPSET_DOMAIN)
            HN_TRY(hn_load_str(ld, f.bytes, &opset.domain));
        else if (f.tag == HN_F_OPSET_VERSION && f.number)
            opset.version = (int64_t)f.number;
        else
            HN_TRY(hn_load_keep(ld, &unknown, f.whole));
    }
    HN_TRY(status);
    opset.unknown = hn_keep_bytes(&unknown);
    return HN_VEC_PUSH(ld->arena, opsets, opset) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status load_main_graph(hn_loader *ld, const hn_wire *w, hn_bytes message) {
    hn_model *m = ld->model;
    if (m->graph)
        return hn_wire_fail(w, message.at, "the model has two graphs");
    m->graph = hn_graph_new(m, &m->opsets);
    HN_TRY_PTR(m->graph);
    return hn_load_block(ld, m->graph, 0, message);
}

static hone_status load_model_field(hn_loader *ld, const hn_wire *w, const hn_field *f,
                                    hn_extra_draft *extra) {
    hn_model *m = ld->model;
    switch (f->tag) {
    case HN_F_MODEL_IR_VERSION:
        m->ir_version = (int64_t)f->number;
        m->has_ir_version = true;
        return HONE_OK;
    case HN_F_MODEL_MODEL_VERSION:
        m->model_version = (int64_t)f->number;
        m->has_model_version = true;
        return HONE_OK;
    case HN_F_MODEL_PRODUCER_NAME:
        return hn_load_str(ld, f->bytes, &m->producer_name);
    case HN_F_MODEL_PRODUCER_VERSION:
        return hn_load_str(ld, f->bytes, &m->producer_version);
    case HN_F_MODEL_DOMAIN:
        return hn_load_str(ld, f->bytes, &m->domain);
    case HN_F_MODEL_DOC_STRING:
        return hn_load_str(ld, f->bytes, &extra->doc);
    case HN_F_MODEL_METADATA_PROPS:
        return hn_load_prop(ld, f, &extra->props, &extra->unknown);
    case HN_F_MODEL_OPSET_IMPORT:
        return hn_load_opset(ld, f->bytes, &m->opsets);
    case HN_F_MODEL_FUNCTIONS:
        return hn_load_function(ld, f->bytes);
    case HN_F_MODEL_GRAPH:
        return load_main_graph(ld, w, f->bytes);
    default:
        return hn_load_keep(ld, &extra->unknown, f->whole);
    }
}

static hone_status load_model(hn_loader *ld, hn_bytes message) {
    hn_wire w = hn_load_open(ld, message, "ModelProto");
    hn_field f;
    hone_status status;
    hn_extra_draft extra = {0};
    while (hn_wire_next(&w, &f, &status))
        HN_TRY(load_model_field(ld, &w, &f, &extra));
    HN_TRY(status);
    if (!ld->model->graph)
        return hn_fail(ld->err, HONE_E_FORMAT, "this is not an ONNX model: it has no graph");
    return hn_load_extra(ld, &extra, &ld->model->extra);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void limit_arena(hn_arena *arena, const hn_load_options *o, uint64_t file_bytes) {
    uint64_t limit = o->max_arena_bytes;
    if (limit == 0 && (!hn_mul_u64(file_bytes, ARENA_BYTES_PER_FILE_BYTE, &limit) ||
                       !hn_add_u64(limit, ARENA_BASE_BYTES, &limit)))
        return;
    hn_arena_set_limit(arena, (size_t)HN_MIN(limit, SIZE_MAX));
}

static hone_status explain_no_memory(const hn_arena *arena, hone_status status, hone_error *err) {
    if (status == HONE_E_NOMEM && hn_arena_hit_limit(arena))
        return hn_fail(err, HONE_E_LIMIT,
                       "the graph of this model exceeds the memory limit (%llu bytes were "
                       "allocated): the file is hostile, or "
                       "the limit must be raised",
                       (unsigned long long)hn_arena_bytes(arena));
    return hn_error_complete(err, status);
}

static hn_map_mode map_mode_of(const hn_load_options *o) {
    return o->copies_files ? HN_MAP_COPY : HN_MAP_FILE;
}

/* Reads the bytes into the model, which owns the memory behind them. */
static hone_status load_into(hn_model *m, hn_bytes bytes, const hn_load_options *o,
                             const char *folder, hone_error *err) {
    hn_loader ld = {
        .arena = m->arena,
        .names = m->names,
        .model = m,
        .file = bytes.at,
        .max_depth = o->max_depth ? o->max_depth : DEFAULT_MAX_DEPTH,
        .folder = o->external_folder ? o->external_folder : folder,
        .map_mode = map_mode_of(o),
        .skip_external = o->skip_external,
        .skipped = o->skipped,
        .skipped_ctx = o->skipped_ctx,
        .err = err,
    };
    ld.max_depth = HN_MIN(ld.max_depth, HN_MAX_BLOCK_DEPTH);
    hn_map_init(&ld.data_files, m->arena);
    limit_arena(m->arena, o, bytes.n);
    m->file_bytes = bytes.n;
    return explain_no_memory(m->arena, load_model(&ld, bytes), err);
}

/* ---- doors ----------------------------------------------------------------------------------- */

static hone_status new_loaded_model(const hn_load_options *o, hn_model **out) {
    *out = hn_model_new(o->alloc);
    HN_TRY_PTR(*out);
    return HONE_OK;
}

hone_status hn_load_buffer(const void *data, size_t n, bool borrow, const hn_load_options *o,
                           hn_model **out, hone_error *err) {
    const hn_load_options defaults = {0};
    hn_model *m = NULL;
    *out = NULL;
    if (!o)
        o = &defaults;
    hn_bytes bytes = {data, n};
    hone_status status = hn_file_kind_check(bytes, "the buffer", err);
    if (status != HONE_OK)
        return status;
    status = hn_error_complete(err, new_loaded_model(o, &m));
    if (status == HONE_OK && !borrow) {
        bytes.at = hn_arena_copy(m->arena, data, n);
        status = bytes.at ? HONE_OK : hn_error_complete(err, HONE_E_NOMEM);
    }
    if (status == HONE_OK)
        status = load_into(m, bytes, o, NULL, err);
    if (status != HONE_OK) {
        hn_model_free(m);
        return status;
    }
    *out = m;
    return HONE_OK;
}

/* The folder part of a path, in the arena: "" when there is none. */
static const char *folder_of(hn_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    return hn_arena_printf(arena, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
}

/* Takes ownership of the map. */
static hone_status load_mapped(const char *path, hn_filemap map, const hn_load_options *o,
                               hn_model **out, hone_error *err) {
    hn_model *m;
    hone_status status = new_loaded_model(o, &m);
    if (status != HONE_OK || !HN_VEC_PUSH(m->arena, &m->maps, map)) {
        hn_filemap_close(&map);
        hn_model_free(m);
        return hn_error_complete(err, HONE_E_NOMEM);
    }
    const char *folder = folder_of(m->arena, path);
    m->path = hn_arena_printf(m->arena, "%s", path);
    status = folder && m->path ? hn_load_remember_path("", path, m->arena, &m->maps.at[0])
                               : HONE_E_NOMEM;
    if (status != HONE_OK)
        status = hn_error_complete(err, status);
    else
        status = load_into(m, map.bytes, o, folder, err);
    if (status != HONE_OK) {
        hn_error_prefix(err, "'%s'", path);
        hn_model_free(m);
        return status;
    }
    *out = m;
    return HONE_OK;
}

static bool path_ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), k = strlen(ending);
    return n >= k && strcmp(path + n - k, ending) == 0;
}

/* Parsed text keeps no views of the file. */
static hone_status load_text(const char *path, hn_bytes text, const hn_load_options *o,
                             hn_model **out, hone_error *err) {
    hone_status status = hn_model_parse(text.at, (size_t)text.n, o->alloc, out, err);
    if (status != HONE_OK) {
        hn_error_prefix(err, "'%s'", path);
        return hn_error_complete(err, status);
    }
    (*out)->file_bytes = text.n;
    (*out)->path = hn_arena_printf((*out)->arena, "%s", path);
    if ((*out)->path)
        return HONE_OK;
    hn_model_free(*out);
    *out = NULL;
    return hn_error_complete(err, HONE_E_NOMEM);
}

hone_status hn_load_file(const char *path, const hn_load_options *o, hn_model **out,
                         hone_error *err) {
    const hn_load_options defaults = {0};
    hn_filemap map;
    *out = NULL;
    if (!o)
        o = &defaults;
    HN_TRY(hn_filemap_open_as(path, map_mode_of(o), &map, err));
    hone_status status;
    if (path_ends_with(path, ".onnxtxt") || path_ends_with(path, ".txt")) {
        status = load_text(path, map.bytes, o, out, err);
    } else if (hn_file_is_text(map.bytes) && load_text(path, map.bytes, o, out, NULL) == HONE_OK) {
        status = HONE_OK;
    } else {
        status = hn_file_kind_check(map.bytes, path, err);
        if (status == HONE_OK)
            return load_mapped(path, map, o, out, err);
    }
    hn_filemap_close(&map);
    return status;
}

hone_status hn_load_tensor(hn_arena *a, hn_strtab *names, hn_bytes bytes, hn_tensor *out,
                           hone_error *err) {
    hn_loader ld = {.arena = a,
                    .names = names,
                    .file = bytes.at,
                    .max_depth = DEFAULT_MAX_DEPTH,
                    .skip_external = true,
                    .err = err};
    return hn_error_complete(err, hn_load_tensor_proto(&ld, bytes, out));
}
