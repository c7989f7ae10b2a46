/* Optimized graphs in a cache, as ONNX: weights of the model's own files are references to places
 * in them. Whoever reads one checks it like any other model; one that does not fit is left aside.
 */
#include "run/cache_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnx/onnx.h"

#define LEAST_REFERRED_BYTES 64u
#define MOST_INSIDE_BYTES \
  ((uint64_t)16 << 20) /* of other constants: there are weights among them */
#define N_LAYOUT 4     /* numbers before the factors of a scaled weight */

/* ---- writing --------------------------------------------------------------------------------- */

/* A copy of the graph, whose tensors become references one by one. */
typedef struct graph_writer {
    const hn_model *source; /* in whose files they lie */
    hn_model *copy;
    uint64_t inside_bytes;
} graph_writer;

/* The file that holds these bytes, by its place in the source's list. */
static bool find_source_map(const hn_model *m, const hn_tensor *t, uint32_t *map,
                            uint64_t *offset) {
    for (uint32_t i = 0; t->data && i < m->maps.n; i++) {
        uintptr_t first = (uintptr_t)m->maps.at[i].bytes.at, at = (uintptr_t)t->data;
        *map = i;
        *offset = (uint64_t)(at - first);
        if (at >= first && *offset <= m->maps.at[i].bytes.n &&
            t->data_bytes <= m->maps.at[i].bytes.n - *offset)
            return true;
    }
    return false;
}

/* `factors`: the name of the constant that holds them; NULL: there are none. */
static hone_status refer_to(graph_writer *w, hn_value *v, const hn_tensor *data, uint32_t map,
                            uint64_t offset, hn_str factors) {
    hn_tensor *t = HN_NEW(w->copy->arena, hn_tensor);
    hn_external *e = HN_NEW(w->copy->arena, hn_external);
    hn_str location = hn_internf(w->copy->names, "%u", map);
    if (!t || !e || !location)
        return HONE_E_NOMEM;
    *e = (hn_external){.location = location,
                       .offset = offset,
                       .length = data->data_bytes,
                       .has_offset = true,
                       .has_length = true,
                       .checksum = factors};
    *t = (hn_tensor){.dtype = data->dtype,
                     .rank = data->rank,
                     .dims = data->dims,
                     .n_elems = data->n_elems,
                     .external = e};
    v->init = t;
    return HONE_OK;
}

/* How a weight is scaled, as one more constant. */
static hone_status write_factors(graph_writer *w, const hn_scaling *s, hn_str *name) {
    hn_graph *g = w->copy->graph;
    const hn_channel_layout *l = &s->layout;
    const uint64_t layout[N_LAYOUT] = {l->n_outer, l->n_mid, l->n_inner, l->outer_per_group};
    int64_t dims[1] = {(int64_t)s->n_channels + N_LAYOUT};
    void *data;
    hn_tensor *t = hn_tensor_blank(w->copy->arena, HN_F64, 1, dims, &data);
    *name = hn_graph_fresh_name(g, "factors");
    hn_id value = *name ? hn_graph_add_value(g, 0, *name) : HN_NONE;
    if (!t || value == HN_NONE || !hn_graph_add_init(g, value, t))
        return HONE_E_NOMEM;
    for (int i = 0; i < N_LAYOUT; i++)
        ((double *)data)[i] = (double)layout[i];
    memcpy((double *)data + N_LAYOUT, s->scale, (size_t)s->n_channels * sizeof *s->scale);
    return HONE_OK;
}

static hone_status write_kept_const(graph_writer *w, hn_id value) {
    const hn_tensor *t = hn_value_at(w->copy->graph, value)->init;
    const hn_tensor *data = hn_tensor_stored(t);
    const hn_scaling *scaling = hn_tensor_scaling(t);
    hn_str factors = NULL;
    uint32_t map;
    uint64_t offset;
    bool is_referred =
        data->data_bytes >= LEAST_REFERRED_BYTES && find_source_map(w->source, data, &map, &offset);
    if (!is_referred && scaling)
        return HONE_E_UNSUPPORTED;
    if (scaling)
        HN_TRY(write_factors(w, scaling, &factors));
    if (is_referred)
        return refer_to(w, hn_value_at(w->copy->graph, value), data, map, offset, factors);
    w->inside_bytes += t->data_bytes;
    return w->inside_bytes <= MOST_INSIDE_BYTES ? HONE_OK : HONE_E_UNSUPPORTED;
}

/* What is known of values decides how weights are packed: the next process knows the same. */
static hone_status declare_types(hn_graph *g) {
    for (hn_id id = 0; id < g->values.n; id++) {
        hn_value *v = hn_value_at(g, id);
        if (v->producer == HN_NONE || !v->type || v->is_declared || hn_value_is_output(v, v->block))
            continue;
        if (!HN_VEC_PUSH(g->model->arena, &hn_block_at(g, v->block)->value_infos, id))
            return HONE_E_NOMEM;
        v->is_declared = true;
    }
    return HONE_OK;
}

static bool can_be_written(const hn_graph *g) {
    for (hn_id id = 0; id < g->nodes.n; id++)
        if (hn_node_at(g, id)->block != HN_NONE && hn_node_at(g, id)->opset_version)
            return false; /* of a function with other imports: files cannot say that */
    return true;
}

static hone_status write_graph(graph_writer *w, const hone_allocator *a, void **data, size_t *n) {
    hn_graph *g = w->copy->graph;
    if (!can_be_written(g))
        return HONE_E_UNSUPPORTED;
    HN_TRY(declare_types(g));
    for (hn_id b = 0; b < g->blocks.n; b++) {
        uint32_t n_inits = hn_block_at(g, b)->inits.n; /* factors are added behind them */
        for (uint32_t i = 0; i < n_inits; i++)
            HN_TRY(write_kept_const(w, hn_block_at(g, b)->inits.at[i]));
    }
    w->copy->extra = NULL;
    return hn_save_buffer(w->copy, a, data, n, NULL);
}

hone_status hn_cached_graph_write(const hn_model *source, const hn_model *optimized,
                                  const hone_allocator *a, void **data, size_t *n) {
    graph_writer w = {.source = source, .copy = hn_model_clone(optimized)};
    *data = NULL;
    *n = 0;
    HN_TRY_PTR(w.copy);
    hone_status status = write_graph(&w, a, data, n);
    hn_model_free(w.copy);
    return status == HONE_E_NOMEM ? status : HONE_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_whole_size(double v) {
    return v >= 1 && v <= 9007199254740992.0 && v == floor(v);
}

/* The factors of a weight of so many elements; false when they are none. */
static bool read_factors(const hn_model *m, hn_str name, uint64_t n_elems, hn_channel_layout *l,
                         uint64_t *n_channels, const double **scale) {
    hn_id value = hn_graph_find_local(m->graph, 0, name);
    const hn_tensor *t = value == HN_NONE ? NULL : hn_value_at(m->graph, value)->init;
    uint64_t size, groups;
    if (!t || !t->data || t->dtype != HN_F64 || t->n_elems <= N_LAYOUT ||
        t->data_bytes != t->n_elems * sizeof **scale)
        return false;
    double *numbers = hn_arena_copy(m->arena, t->data, (size_t)t->data_bytes);
    for (int i = 0; numbers && i < N_LAYOUT; i++)
        if (!is_whole_size(numbers[i]))
            return false;
    if (!numbers)
        return false;
    *l = (hn_channel_layout){(uint64_t)numbers[0], (uint64_t)numbers[1], (uint64_t)numbers[2],
                             (uint64_t)numbers[3]};
    *n_channels = t->n_elems - N_LAYOUT;
    *scale = numbers + N_LAYOUT;
    groups = (l->n_outer - 1) / l->outer_per_group + 1;
    return hn_mul_u64(l->n_outer, l->n_mid, &size) && hn_mul_u64(size, l->n_inner, &size) &&
           size == n_elems && hn_mul_u64(groups, l->n_mid, &size) && size == *n_channels;
}

/* The bytes that a reference means; false when there are none. */
static bool follow_reference(const hn_model *source, hn_tensor *t) {
    const hn_external *e = t->external;
    char *end;
    unsigned long map = strtoul(hn_s(e->location), &end, 10);
    uint64_t n_bytes;
    if (*end || map >= source->maps.n || !hn_dtype_bytes(t->dtype, t->n_elems, &n_bytes) ||
        n_bytes != e->length || e->offset > source->maps.at[map].bytes.n ||
        n_bytes > source->maps.at[map].bytes.n - e->offset)
        return false;
    t->data = (const uint8_t *)source->maps.at[map].bytes.at + e->offset;
    t->data_bytes = n_bytes;
    t->external = NULL;
    return true;
}

static hone_status read_kept_const(hn_model *m, const hn_model *source, hn_value *v) {
    if (!v->init->external || v->init->data)
        return HONE_OK;
    hn_tensor *t = hn_arena_copy(m->arena, v->init, sizeof *t);
    HN_TRY_PTR(t);
    hn_str factors = t->external->checksum;
    t->wire = (hn_bytes){NULL, 0};
    if (!follow_reference(source, t))
        return HONE_E_INVALID;
    v->init = t;
    if (!factors)
        return HONE_OK;
    hn_channel_layout layout;
    uint64_t n_channels;
    const double *scale;
    bool is_weight = t->dtype == HN_F32 || t->dtype == HN_F16 || t->dtype == HN_BF16;
    if (!is_weight || !read_factors(m, factors, t->n_elems, &layout, &n_channels, &scale))
        return HONE_E_INVALID;
    v->init = hn_tensor_scaled(m->arena, t, &layout, n_channels, scale);
    return v->init ? HONE_OK : HONE_E_NOMEM;
}

static hone_status read_kept_consts(hn_model *m, const hn_model *source) {
    const hn_graph *g = m->graph;
    for (hn_id b = 0; b < g->blocks.n; b++)
        for (uint32_t i = 0; i < hn_block_at(g, b)->inits.n; i++)
            HN_TRY(read_kept_const(m, source, hn_value_at(g, hn_block_at(g, b)->inits.at[i])));
    return HONE_OK;
}

hone_status hn_cached_graph_read(const hn_model *source, hn_bytes bytes, hn_model **out) {
    hn_load_options o = {.alloc = hn_arena_allocator(source->arena), .skip_external = true};
    hn_model *m;
    *out = NULL;
    hone_status status = hn_load_buffer(bytes.at, (size_t)bytes.n, false, &o, &m, NULL);
    if (status == HONE_OK)
        status = read_kept_consts(m, source);
    if (status != HONE_OK) {
        hn_model_free(m);
        return status == HONE_E_NOMEM ? status : HONE_OK;
    }
    m->origin = source;
    m->path = source->path;
    m->file_bytes = source->file_bytes;
    m->external_bytes = source->external_bytes;
    *out = m;
    return HONE_OK;
}
