/* Runs a float model on samples and sums up how the inputs of its layers go together, for rounding
 * with feedback. */
#include "quant/quant_int.h"
#include "quant/writer.h"

#define MOST_BYTES                                                                \
  ((uint64_t)1 << 30)   /* of all moments; layers beyond that are rounded plainly \
                         */
#define MOST_ROWS 8192u /* of a layer: more change little */
#define MOST_ROWS_OF_SAMPLE 512u

typedef struct moments_pass {
    hn_writer *w;
    hn_moments **by_value; /* NULL: nobody asks */
    bool *is_image;        /* by value: channels are axis 1 */
    uint32_t n_values;
    uint64_t bytes;
} moments_pass;

/* Products, and convolutions that are products of channels. */
static uint64_t inputs_of_layer(const hn_graph *g, hn_id node, bool *is_image) {
    const hn_node *n = hn_node_at(g, node);
    const hn_tensor *w = hn_quant_const_input(g, node, 1);
    const hn_attr *trans_a = hn_node_attr(n, "transA"), *trans_b = hn_node_attr(n, "transB");
    *is_image = hn_str_is(n->op, "Conv");
    if (!w || w->rank < 2 || w->dtype != HN_F32 || (trans_a && trans_a->v.i))
        return 0;
    if (*is_image) {
        const hn_attr *group = hn_node_attr(n, "group");
        bool is_plain = w->n_elems == (uint64_t)(w->dims[0] * w->dims[1]);
        return is_plain && (!group || group->v.i == 1) ? (uint64_t)w->dims[1] : 0;
    }
    bool is_product =
        hn_str_is(n->op, "MatMul") || hn_str_is(n->op, "Gemm") || hn_str_is(n->op, "Attention");
    return is_product && w->rank == 2 ? (uint64_t)w->dims[trans_b && trans_b->v.i ? 1 : 0] : 0;
}

static hone_status ask_for_moments(moments_pass *p, hn_id node) {
    const hn_graph *g = p->w->g;
    bool is_image;
    uint64_t k = inputs_of_layer(g, node, &is_image), bytes = k * k * sizeof(float);
    hn_id value = k ? hn_node_at(g, node)->inputs[0] : HN_NONE;
    if (value == HN_NONE || k > UINT16_MAX)
        return HONE_OK;
    hn_moments *known = p->by_value[value];
    if (!known && p->bytes + bytes <= MOST_BYTES) {
        p->by_value[value] = known = hn_moments_new(p->w->scratch, k);
        HN_TRY_PTR(known);
        p->is_image[value] = is_image;
        p->bytes += bytes;
    }
    if (known && known->k == k && p->is_image[value] == is_image)
        p->w->moments[node] = known;
    return HONE_OK;
}

static void add_image(hn_moments *m, const float *x, uint64_t n_images, uint64_t n_pixels,
                      hn_pool *pool) {
    uint64_t step = HN_MAX(n_pixels * n_images / MOST_ROWS_OF_SAMPLE, 1u);
    step = HN_MIN(step, n_pixels);
    for (uint64_t i = 0; i < n_images; i++)
        hn_moments_add(m, x + i * m->k * n_pixels, n_pixels / step, (int64_t)step,
                       (int64_t)n_pixels, pool);
}

static bool watch_inputs(void *ctx, hn_id value, const hn_array *x) {
    moments_pass *p = ctx;
    hn_moments *m = value < p->n_values ? p->by_value[value] : NULL;
    if (!m || m->n_rows >= MOST_ROWS)
        return true;
    int32_t axis = p->is_image[value] ? 1 : x->rank - 1;
    if (axis < 0 || axis >= x->rank || (uint64_t)x->dims[axis] != m->k)
        return true;
    const hone_allocator *alloc = hn_arena_allocator(p->w->m->arena);
    float *copy;
    const float *dense = hn_quant_dense(alloc, x, &copy);
    uint64_t n_rows = x->n_elems / m->k;
    uint64_t step = HN_MAX(n_rows / MOST_ROWS_OF_SAMPLE, 1u);
    if (dense && p->is_image[value])
        add_image(m, dense, (uint64_t)x->dims[0], n_rows / (uint64_t)x->dims[0], p->w->o->pool);
    else if (dense)
        hn_moments_add(m, dense, n_rows / step, (int64_t)(step * m->k), 1, p->w->o->pool);
    hn_free(alloc, copy, x->n_elems * sizeof *copy);
    return dense != NULL;
}

hone_status hn_write_moments(hn_writer *w) {
    size_t n = (size_t)w->g->values.n + 1;
    moments_pass p = {.w = w,
                      .by_value = HN_NEW_N(w->scratch, hn_moments *, n),
                      .is_image = HN_NEW_N(w->scratch, bool, n),
                      .n_values = w->g->values.n};
    w->n_moments = w->g->nodes.n;
    w->moments = HN_NEW_N(w->scratch, hn_moments *, (size_t)w->n_moments + 1);
    if (!p.by_value || !p.is_image || !w->moments)
        return HONE_E_NOMEM;
    for (hn_id node = 0; node < w->g->nodes.n; node++)
        if (hn_node_at(w->g, node)->block != HN_NONE)
            HN_TRY(ask_for_moments(&p, node));
    hn_quant_pass pass = {.model = w->m,
                          .source = w->o->samples,
                          .max_samples = w->o->max_samples,
                          .pool = w->o->pool,
                          .progress = w->o->progress,
                          .progress_ctx = w->o->progress_ctx,
                          .watch = watch_inputs,
                          .ctx = &p};
    return p.bytes ? hn_quant_run_samples(&pass, w->err) : HONE_OK;
}
