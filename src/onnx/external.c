/* Tensor data kept in other files: mapped once per file, checked against the file's size. */
#define _GNU_SOURCE /* realpath */
#include "onnx/load_int.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

hone_status hn_load_remember_path(const char *folder, const char *name, hn_arena *arena,
                                  hn_filemap *map) {
    char path[PATH_MAX], real[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
    if (map->is_copy || n < 0 || n >= (int)sizeof path || !realpath(path, real))
        return HONE_OK;
    map->path = hn_arena_printf(arena, "%s", real);
    HN_TRY_PTR(map->path);
    return HONE_OK;
}

static hone_status map_data_file(hn_loader *ld, const hn_tensor *t, hn_bytes *out) {
    hn_model *m = ld->model;
    hn_str location = t->external->location;
    uint32_t index = hn_map_get(&ld->data_files, location->id);
    if (index == HN_MAP_NONE) {
        if (strlen(location->s) != location->n)
            return hn_fail(ld->err, HONE_E_INVALID,
                           "the external data location of tensor '%s' contains a zero byte",
                           hn_s(t->name));
        hn_filemap map;
        if (!HN_VEC_RESERVE(m->arena, &m->maps, 1) ||
            !hn_map_put(&ld->data_files, location->id, m->maps.n))
            return HONE_E_NOMEM;
        hone_status status =
            hn_filemap_open_inside(ld->folder, location->s, ld->map_mode, &map, ld->err);
        if (status != HONE_OK) {
            hn_error_prefix(ld->err, "tensor '%s'", hn_s(t->name));
            return status;
        }
        index = m->maps.n;
        m->maps.at[m->maps.n++] = map;
        HN_TRY(hn_load_remember_path(ld->folder, location->s, m->arena, &m->maps.at[index]));
    }
    *out = m->maps.at[index].bytes;
    return HONE_OK;
}

/* Without a stated length, the shape determines it, up to the end of the file. */
static uint64_t stated_or_shape_bytes(const hn_tensor *t) {
    uint64_t bytes = 0;
    if (t->external->has_length)
        return t->external->length;
    return hn_dtype_bytes(t->dtype, t->n_elems, &bytes) ? bytes : UINT64_MAX;
}

static hone_status check_range(hn_loader *ld, const hn_tensor *t, uint64_t file_bytes) {
    const hn_external *e = t->external;
    if (e->offset <= file_bytes && (!e->has_length || e->length <= file_bytes - e->offset))
        return HONE_OK;
    return hn_fail(ld->err, HONE_E_FORMAT,
                   "tensor '%s' needs %llu bytes at offset %llu of '%s', which has %llu bytes: the "
                   "file is truncated or belongs to "
                   "another model",
                   hn_s(t->name), (unsigned long long)stated_or_shape_bytes(t),
                   (unsigned long long)e->offset, hn_s(e->location),
                   (unsigned long long)file_bytes);
}

hone_status hn_load_external(hn_loader *ld, hn_tensor *t) {
    if (!ld->model)
        return HONE_OK;
    uint64_t bytes = stated_or_shape_bytes(t);
    if (ld->skip_external) {
        if (ld->skipped)
            ld->skipped(ld->skipped_ctx, hn_s(t->external->location));
        if (!hn_add_u64(ld->model->external_bytes, bytes, &ld->model->external_bytes))
            ld->model->external_bytes = UINT64_MAX;
        return HONE_OK;
    }
    if (!ld->folder)
        return hn_fail(ld->err, HONE_E_ARGUMENT,
                       "tensor '%s' keeps its data in the file '%s', but a model read from memory "
                       "has no folder: say where the "
                       "data lies",
                       hn_s(t->name), hn_s(t->external->location));
    hn_bytes file = {0};
    HN_TRY(map_data_file(ld, t, &file));
    HN_TRY(check_range(ld, t, file.n));
    t->data = (const uint8_t *)file.at + t->external->offset;
    t->data_bytes = HN_MIN(bytes, file.n - t->external->offset);
    ld->model->external_bytes += t->data_bytes;
    return HONE_OK;
}
