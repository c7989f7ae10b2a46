/* How the inputs of layers go together on samples: see input_moments.h. */
#include "quant/input_moments.h"

#define MOST_BYTES ((uint64_t)1 << 30) /* of all moments; layers beyond are rounded plainly */
#define MOST_ROWS 8192u                /* of a layer: more change little */
#define MOST_ROWS_OF_SAMPLE 512u

enum { MOST_SPATIAL_AXES = 3 };

/* A convolution reads numbers in windows. */
typedef struct layer_window {
    int32_t n_axes; /* 0: a product */
    bool is_same, is_same_lower;
    int64_t kernel[MOST_SPATIAL_AXES], stride[MOST_SPATIAL_AXES], dilation[MOST_SPATIAL_AXES];
    int64_t pad_begin[MOST_SPATIAL_AXES], pad_end[MOST_SPATIAL_AXES];
} layer_window;

/* Layers that read the same value in the same way share one. */
typedef struct watched_input {
    layer_window window;
    hn_moments *moments;
    uint32_t next; /* of the same value, + 1 */
} watched_input;

typedef struct moments_pass {
    const hn_graph *g;
    hn_arena *arena;
    hn_pool *pool;
    hn_moments **by_node;
    uint32_t *by_value; /* place in `inputs` + 1; 0: nobody asks */
    HN_VEC(watched_input) inputs;
    uint64_t bytes;
} moments_pass;

/* ---- layers ---------------------------------------------------------------------------------- */

static bool has_flag(const hn_node *n, const char *name) {
    const hn_attr *a = hn_node_attr(n, name);
    return a && a->kind == HN_ATTR_INT && a->v.i != 0;
}

hn_inputs_axis hn_inputs_axis_of(const hn_graph *g, hn_id node) {
    const hn_node *n = hn_node_at(g, node);
    bool are_columns = hn_str_is(n->op, "Conv") || has_flag(n, "transB");
    return are_columns ? HN_INPUTS_ARE_COLUMNS : HN_INPUTS_ARE_ROWS;
}

static int64_t list_item(const hn_node *n, const char *name, int32_t i, int64_t otherwise) {
    const hn_attr *a = hn_node_attr(n, name);
    return a && a->kind == HN_ATTR_INTS && (uint32_t)i < a->n ? a->v.ints[i] : otherwise;
}

static bool window_of(const hn_node *n, const hn_tensor *w, layer_window *out) {
    const hn_attr *pad = hn_node_attr(n, "auto_pad");
    *out = (layer_window){.n_axes = w->rank - 2};
    if (out->n_axes < 1 || out->n_axes > MOST_SPATIAL_AXES)
        return false;
    bool is_text = pad && pad->kind == HN_ATTR_STRING;
    out->is_same_lower = is_text && pad->v.s.n == 10 && memcmp(pad->v.s.at, "SAME_LOWER", 10) == 0;
    out->is_same = out->is_same_lower ||
                   (is_text && pad->v.s.n == 10 && memcmp(pad->v.s.at, "SAME_UPPER", 10) == 0);
    for (int32_t i = 0; i < out->n_axes; i++) {
        out->kernel[i] = w->dims[i + 2];
        out->stride[i] = list_item(n, "strides", i, 1);
        out->dilation[i] = list_item(n, "dilations", i, 1);
        out->pad_begin[i] = list_item(n, "pads", i, 0);
        out->pad_end[i] = list_item(n, "pads", i + out->n_axes, 0);
    }
    return true;
}

/* How many inputs an output of the layer has; 0: it is no layer. */
static uint64_t inputs_of_layer(const hn_graph *g, hn_id node, layer_window *window,
                                uint64_t *n_groups) {
    const hn_node *n = hn_node_at(g, node);
    const hn_tensor *w = hn_quant_const_input(g, node, 1);
    *window = (layer_window){0};
    *n_groups = 1;
    if (!w || w->rank < 2 || w->dtype != HN_F32 || w->n_elems == 0 || has_flag(n, "transA"))
        return 0;
    if (hn_str_is(n->op, "Conv")) {
        const hn_attr *group = hn_node_attr(n, "group");
        *n_groups = group && group->v.i > 0 ? (uint64_t)group->v.i : 1;
        return window_of(n, w, window) ? w->n_elems / (uint64_t)w->dims[0] : 0;
    }
    bool is_product =
        hn_str_is(n->op, "MatMul") || hn_str_is(n->op, "Gemm") || hn_str_is(n->op, "Attention");
    return is_product && w->rank == 2 ? (uint64_t)w->dims[has_flag(n, "transB") ? 1 : 0] : 0;
}

static bool is_same_window(const layer_window *a, const layer_window *b) {
    bool is_same =
        a->n_axes == b->n_axes && a->is_same == b->is_same && a->is_same_lower == b->is_same_lower;
    for (int32_t i = 0; is_same && i < a->n_axes; i++)
        is_same = a->kernel[i] == b->kernel[i] && a->stride[i] == b->stride[i] &&
                  a->dilation[i] == b->dilation[i] && a->pad_begin[i] == b->pad_begin[i] &&
                  a->pad_end[i] == b->pad_end[i];
    return is_same;
}

static hone_status ask_for_moments(moments_pass *p, hn_id node) {
    watched_input in = {.next = 0};
    uint64_t n_groups, k = inputs_of_layer(p->g, node, &in.window, &n_groups);
    uint64_t bytes = k * k * n_groups * sizeof(float);
    hn_id value = k ? hn_node_at(p->g, node)->inputs[0] : HN_NONE;
    if (value == HN_NONE || k > UINT16_MAX || n_groups > UINT16_MAX)
        return HONE_OK;
    for (uint32_t i = p->by_value[value]; i; i = p->inputs.at[i - 1].next) {
        const watched_input *known = &p->inputs.at[i - 1];
        if (known->moments->k == k && known->moments->n_groups == n_groups &&
            is_same_window(&known->window, &in.window)) {
            p->by_node[node] = known->moments;
            return HONE_OK;
        }
    }
    if (p->bytes + bytes > MOST_BYTES)
        return HONE_OK;
    in.moments = hn_moments_new(p->arena, k, n_groups);
    in.next = p->by_value[value];
    if (!in.moments || !HN_VEC_PUSH(p->arena, &p->inputs, in))
        return HONE_E_NOMEM;
    p->by_value[value] = p->inputs.n;
    p->by_node[node] = in.moments;
    p->bytes += bytes;
    return HONE_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* An image and the positions of the window in it. */
typedef struct window_grid {
    const layer_window *window;
    const float *x; /* of the image */
    uint64_t n_channels, n_pixels;
    int64_t size[MOST_SPATIAL_AXES], n_at[MOST_SPATIAL_AXES], begin[MOST_SPATIAL_AXES];
    uint64_t n_positions;
} window_grid;

static void open_grid(window_grid *grid, const hn_array *x) {
    const layer_window *w = grid->window;
    grid->n_channels = (uint64_t)x->dims[1];
    grid->n_pixels = grid->n_positions = 1;
    for (int32_t i = 0; i < w->n_axes; i++) {
        int64_t size = x->dims[i + 2], reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        int64_t total = w->pad_begin[i] + w->pad_end[i];
        grid->begin[i] = w->pad_begin[i];
        if (w->is_same) {
            int64_t n = (size + w->stride[i] - 1) / w->stride[i];
            total = HN_MAX((n - 1) * w->stride[i] + reach - size, 0);
            grid->begin[i] = w->is_same_lower ? total - total / 2 : total / 2;
        }
        grid->size[i] = size;
        grid->n_at[i] = HN_MAX((size + total - reach) / w->stride[i] + 1, 0);
        grid->n_pixels *= (uint64_t)size;
        grid->n_positions *= (uint64_t)grid->n_at[i];
    }
}

/* Pixel of each element of the window at a position; -1: padding. */
static void find_pixels(const window_grid *grid, uint64_t position, int64_t *pixels) {
    const layer_window *w = grid->window;
    int64_t at[MOST_SPATIAL_AXES], n = 1;
    for (int32_t i = w->n_axes; i-- > 0; position /= (uint64_t)grid->n_at[i]) {
        at[i] = (int64_t)(position % (uint64_t)grid->n_at[i]) * w->stride[i] - grid->begin[i];
        n *= w->kernel[i];
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k, step = 1, pixel = 0;
        for (int32_t i = w->n_axes; i-- > 0; rest /= w->kernel[i], step *= grid->size[i]) {
            int64_t place = at[i] + rest % w->kernel[i] * w->dilation[i];
            bool is_inside = pixel >= 0 && place >= 0 && place < grid->size[i];
            pixel = is_inside ? pixel + place * step : -1;
        }
        pixels[k] = pixel;
    }
}

/* Row r of a group has the numbers of its channels in one window. */
static void copy_windows(const window_grid *grid, uint64_t step, uint64_t n_rows,
                         uint64_t n_elements, int64_t *pixels, float *rows) {
    for (uint64_t r = 0; r < n_rows; r++) {
        find_pixels(grid, r * step, pixels);
        float *row = rows + r * grid->n_channels * n_elements;
        for (uint64_t c = 0; c < grid->n_channels; c++)
            for (uint64_t i = 0; i < n_elements; i++)
                row[c * n_elements + i] =
                    pixels[i] < 0 ? 0 : grid->x[c * grid->n_pixels + (uint64_t)pixels[i]];
    }
}

static hone_status add_windows(moments_pass *p, const watched_input *in, const float *x,
                               const hn_array *shape) {
    hn_moments *m = in->moments;
    window_grid grid = {.window = &in->window, .x = x};
    open_grid(&grid, shape);
    uint64_t n_images = (uint64_t)shape->dims[0], row = m->k * m->n_groups;
    if (row % grid.n_channels || grid.n_positions == 0 || n_images == 0)
        return HONE_OK;
    uint64_t n_elements = row / grid.n_channels;
    uint64_t step = HN_MAX(grid.n_positions * n_images / MOST_ROWS_OF_SAMPLE, 1u);
    step = HN_MIN(step, grid.n_positions);
    uint64_t n_rows = (grid.n_positions + step - 1) / step;
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(p->arena));
    HN_TRY_PTR(scratch);
    int64_t *pixels = HN_NEW_N(scratch, int64_t, n_elements);
    float *rows = HN_NEW_N(scratch, float, n_rows *row);
    for (uint64_t i = 0; rows && pixels && i < n_images && m->n_rows < MOST_ROWS; i++) {
        copy_windows(&grid, step, n_rows, n_elements, pixels, rows);
        grid.x += grid.n_channels * grid.n_pixels;
        for (uint64_t g = 0; g < m->n_groups; g++)
            hn_moments_add(m, g, rows + g * m->k, n_rows, (int64_t)row, 1, p->pool);
    }
    hone_status status = rows && pixels ? HONE_OK : HONE_E_NOMEM;
    hn_arena_free(scratch);
    return status;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void add_rows(moments_pass *p, hn_moments *m, const float *x, uint64_t n_rows) {
    uint64_t step = HN_MAX(n_rows / MOST_ROWS_OF_SAMPLE, 1u);
    hn_moments_add(m, 0, x, n_rows / step, (int64_t)(step * m->k), 1, p->pool);
}

static bool watch_inputs(void *ctx, hn_id value, const hn_array *x) {
    moments_pass *p = ctx;
    const hone_allocator *alloc = hn_arena_allocator(p->arena);
    float *copy = NULL;
    if (value >= p->g->values.n || !p->by_value[value] || x->rank < 1 || x->n_elems == 0)
        return true;
    const float *dense = hn_quant_dense(alloc, x, &copy);
    bool ok = dense != NULL;
    for (uint32_t i = p->by_value[value]; ok && i; i = p->inputs.at[i - 1].next) {
        const watched_input *in = &p->inputs.at[i - 1];
        hn_moments *m = in->moments;
        if (m->n_rows >= MOST_ROWS)
            continue;
        if (in->window.n_axes && x->rank == in->window.n_axes + 2)
            ok = add_windows(p, in, dense, x) == HONE_OK;
        else if (!in->window.n_axes && (uint64_t)x->dims[x->rank - 1] == m->k)
            add_rows(p, m, dense, x->n_elems / m->k);
    }
    hn_free(alloc, copy, x->n_elems * sizeof *copy);
    return ok;
}

hone_status hn_input_moments(const hn_quant_pass *of, hn_arena *arena, hn_moments ***by_node,
                             hone_error *err) {
    hn_quant_pass pass = *of;
    const hn_graph *g = pass.model->graph;
    moments_pass p = {.g = g,
                      .arena = arena,
                      .pool = pass.pool,
                      .by_node = HN_NEW_N(arena, hn_moments *, (size_t)g->nodes.n + 1),
                      .by_value = HN_NEW_N(arena, uint32_t, (size_t)g->values.n + 1)};
    if (!p.by_node || !p.by_value)
        return HONE_E_NOMEM;
    *by_node = p.by_node;
    for (hn_id node = 0; node < g->nodes.n; node++)
        if (hn_node_at(g, node)->block != HN_NONE)
            HN_TRY(ask_for_moments(&p, node));
    pass.watch = watch_inputs;
    pass.ctx = &p;
    return p.inputs.n ? hn_quant_run_samples(&pass, err) : HONE_OK;
}
