/* Channels that stay float: where a few channels of the input of products have far larger numbers
 * than the others, their part of the product is computed in float and added, and the range of the
 * integers is that of the others (as in LLM.int8). */
#include "quant/quant_int.h"

#include <math.h>
#include <stdlib.h>

enum {
    OUTLIER_RATIO = 4,  /* times the median of the largest numbers of all channels */
    OUTLIER_SHARE = 16, /* at most one channel in so many */
    LEAST_CHANNELS = 32
};

/* ---- whose input may have outliers ---------------------------------------------------------------- */

static bool is_product_of_own_matrix(const hn_quant_plan *p, hn_id node) {
    const hn_node *n = hn_node_at(p->g, node);
    const hn_tensor *w = hn_quant_const_input(p->g, node, 1);
    return p->nodes[node].is_quantized && w && w->rank == 2 && w->dtype == HN_F32 &&
           hn_value_at(p->g, n->inputs[1])->uses.n == 1 &&
           (hn_str_is(n->op, "MatMul") || hn_str_is(n->op, "Gemm"));
}

static bool is_transposed_product(const hn_node *n) {
    const hn_attr *trans = hn_node_attr(n, "transB");
    return trans && trans->v.i != 0;
}

static uint64_t channels_of(const hn_quant_plan *p, hn_id node) {
    bool is_transposed = is_transposed_product(hn_node_at(p->g, node));
    return (uint64_t)hn_quant_const_input(p->g, node, 1)->dims[is_transposed ? 1 : 0];
}

/* How many channels a value has whose floats are there and whose integers only products read; 0:
 * it is none. */
static uint64_t product_channels(const hn_quant_plan *p, hn_id value) {
    const hn_value *v = hn_value_at(p->g, value);
    double low, high;
    uint64_t n_channels = 0;
    if (!p->values[value].is_quantized || p->values[value].has_range ||
        p->values[value].has_params ||
        (v->producer != HN_NONE &&
         (p->nodes[v->producer].is_quantized || hn_quant_clamp(p->g, v->producer, &low, &high))))
        return 0;
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_use use = v->uses.at[i];
        if (use.node == HN_NONE || !p->nodes[use.node].is_quantized)
            continue;
        if (!is_product_of_own_matrix(p, use.node) || use.slot != 0)
            return 0;
        n_channels = channels_of(p, use.node);
    }
    return n_channels >= LEAST_CHANNELS ? n_channels : 0;
}

/* ---- watching ------------------------------------------------------------------------------------- */

static bool watch_outliers(void *ctx, hn_id value, const hn_array *x) {
    hn_quant_plan *p = ctx;
    hn_observer *o = value < p->n_values ? p->values[value].observer : NULL;
    float *copy;
    if (!o || x->rank < 1 || (uint64_t)x->dims[x->rank - 1] != o->n_channels)
        return true;
    const float *dense = hn_quant_dense(o->alloc, x, &copy);
    if (dense)
        hn_observer_add_channels(o, dense, x->n_elems / o->n_channels, 1);
    hn_free(o->alloc, copy, x->n_elems * sizeof *copy);
    return dense != NULL;
}

static hone_status watch_products(hn_quant_plan *p, bool *is_any, hone_error *err) {
    *is_any = false;
    for (hn_id v = 0; v < p->n_values; v++) {
        uint64_t n = product_channels(p, v);
        if (n == 0)
            continue;
        hn_observer *o = hn_observer_new(p->arena, false);
        HN_TRY_PTR(o);
        HN_TRY_PTR(o->channel_max = HN_NEW_N(p->arena, float, n));
        o->n_channels = n;
        p->values[v].observer = o;
        *is_any = true;
    }
    hn_quant_pass pass = hn_quant_pass_of(p, watch_outliers, p);
    return *is_any ? hn_quant_run_samples(&pass, err) : HONE_OK;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Marks channels; returns how many. */
static hone_status find_outliers(hn_quant_plan *p, const hn_observer *o, bool *is_outlier,
                                 int64_t *n_found) {
    uint64_t n = o->n_channels;
    float *sorted = hn_arena_copy(p->arena, o->channel_max, n * sizeof *sorted);
    HN_TRY_PTR(sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    float limit = OUTLIER_RATIO * sorted[n / 2];
    limit = fmaxf(limit, sorted[n - 1 - n / OUTLIER_SHARE]);
    *n_found = 0;
    for (uint64_t c = 0; c < n; c++) {
        is_outlier[c] = isfinite(o->channel_max[c]) && o->channel_max[c] > limit;
        *n_found += is_outlier[c];
    }
    return HONE_OK;
}

/* ---- the graph ------------------------------------------------------------------------------------ */

typedef struct outlier_job {
    hn_quant_plan *p;
    hn_patch *patch;
    HN_VEC(hn_id) products; /* outputs of products that stay float */
} outlier_job;

/* The rows of the outliers, [n, outputs], and the weight without them. */
static hone_status split_weight(hn_quant_plan *p, hn_id node, const hn_kept_channels *kept,
                                const hn_tensor **rows, const hn_tensor **rest) {
    const hn_tensor *w = hn_quant_const_input(p->g, node, 1);
    bool is_transposed = is_transposed_product(hn_node_at(p->g, node));
    uint64_t n_inputs = channels_of(p, node), n_outputs = w->n_elems / n_inputs;
    int64_t dims[2] = {kept->n_kept, (int64_t)n_outputs};
    void *to, *left;
    HN_TRY_PTR(*rows = hn_tensor_blank(p->model->arena, HN_F32, 2, dims, &to));
    hn_tensor *without = hn_tensor_blank(p->model->arena, HN_F32, 2, w->dims, &left);
    HN_TRY_PTR(without);
    memcpy(left, w->data, w->data_bytes);
    for (uint64_t c = 0, row = 0; c < n_inputs; c++) {
        if (!kept->is_kept[c])
            continue;
        for (uint64_t k = 0; k < n_outputs; k++) {
            float *at = (float *)left + (is_transposed ? k * n_inputs + c : c * n_outputs + k);
            ((float *)to)[row * n_outputs + k] = *at;
            *at = 0;
        }
        row++;
    }
    without->name = w->name;
    *rest = without;
    return HONE_OK;
}

static hn_id put_gather(outlier_job *job, hn_id value, hn_id before, const hn_kept_channels *kept) {
    hn_model *m = job->p->model;
    void *data;
    hn_tensor *indices = hn_tensor_blank(m->arena, HN_I64, 1, &kept->n_kept, &data);
    if (!indices)
        return HN_NONE;
    for (uint64_t c = 0, i = 0; c < kept->n_channels; c++)
        if (kept->is_kept[c])
            ((int64_t *)data)[i++] = (int64_t)c;
    hn_attr axis = {
        .name = hn_intern_z(m->names, "axis"), .kind = HN_ATTR_INT, .n = 1, .v = {.i = -1}};
    hn_id inputs[2] = {value, hn_patch_const(job->patch, 0, "outliers", indices)};
    hn_id node = hn_patch_node(job->patch, before, NULL, hn_intern_z(m->names, "Gather"), NULL, 2,
                               inputs, 1, 1, &axis);
    return hn_patch_output(job->patch, node, 0);
}

/* y = x w becomes y = x (w without the rows) + gathered rows. */
static hone_status split_product(outlier_job *job, hn_id node, hn_id gathered,
                                 const hn_kept_channels *kept) {
    hn_quant_plan *p = job->p;
    hn_strtab *names = p->model->names;
    const hn_tensor *rows, *rest;
    hn_id y = hn_node_at(p->g, node)->outputs[0];
    const char *stem = hn_s(hn_value_at(p->g, hn_quant_input(p->g, node, 1))->name);
    HN_TRY(split_weight(p, node, kept, &rows, &rest));
    hn_patch_set_input(job->patch, node, 1, hn_patch_const(job->patch, 0, stem, rest));
    hn_id after = hn_quant_next_node(p->g, node);
    hn_id inputs[2] = {gathered, hn_patch_const(job->patch, 0, stem, rows)};
    hn_id product = hn_patch_node(job->patch, after, NULL, hn_intern_z(names, "MatMul"), NULL, 2,
                                  inputs, 1, 0, NULL);
    hn_id operands[2] = {y, hn_patch_output(job->patch, product, 0)};
    hn_id sum = hn_patch_node(job->patch, after, NULL, hn_intern_z(names, "Add"), NULL, 2, operands,
                              1, 0, NULL);
    hn_patch_replace(job->patch, y, hn_patch_output(job->patch, sum, 0));
    return HN_VEC_PUSH(p->arena, &job->products, operands[1]) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status split_readers(outlier_job *job, const hn_kept_channels *kept) {
    hn_quant_plan *p = job->p;
    const hn_value *v = hn_value_at(p->g, kept->value);
    const hn_block *b = hn_block_at(p->g, 0);
    hn_id gathered = HN_NONE;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        hn_id node = b->nodes.at[i];
        bool reads = false;
        for (uint32_t k = 0; k < v->uses.n; k++)
            reads = reads || (v->uses.at[k].node == node && p->nodes[node].is_quantized);
        if (!reads)
            continue;
        if (gathered == HN_NONE)
            gathered = put_gather(job, kept->value, node, kept);
        if (gathered == HN_NONE)
            return HONE_E_NOMEM;
        HN_TRY(split_product(job, node, gathered, kept));
    }
    return HONE_OK;
}

/* ---- all ------------------------------------------------------------------------------------------ */

static hone_status split_all(outlier_job *job, uint64_t *n_channels) {
    hn_quant_plan *p = job->p;
    *n_channels = 0;
    for (hn_id v = 0; v < p->n_values; v++) {
        const hn_observer *o = p->values[v].observer;
        if (!o)
            continue;
        hn_kept_channels kept = {.value = v, .n_channels = o->n_channels};
        bool *is_kept = HN_NEW_N(p->arena, bool, o->n_channels);
        HN_TRY_PTR(is_kept);
        kept.is_kept = is_kept;
        HN_TRY(find_outliers(p, o, is_kept, &kept.n_kept));
        if (kept.n_kept == 0)
            continue;
        if (!HN_VEC_PUSH(p->arena, &p->kept_channels, kept))
            return HONE_E_NOMEM;
        HN_TRY(split_readers(job, &kept));
        *n_channels += (uint64_t)kept.n_kept;
    }
    return HONE_OK;
}

static hone_status keep_products_float(outlier_job *job) {
    hn_quant_plan *p = job->p;
    p->float_reasons = HN_NEW_N(p->arena, const char *, (size_t)p->g->nodes.n + 1);
    HN_TRY_PTR(p->float_reasons);
    for (uint32_t i = 0; i < job->products.n; i++)
        p->float_reasons[hn_value_at(p->g, job->products.at[i])->producer] =
            "it computes outlier channels";
    return hn_quant_select(p);
}

hone_status hn_quant_keep_outliers(hn_quant_plan *p, hone_error *err) {
    outlier_job job = {.p = p, .patch = hn_patch_new(p->arena, p->g)};
    bool is_any;
    uint64_t n_channels = 0;
    HN_TRY_PTR(job.patch);
    if (!p->source)
        return hn_fail(err, HONE_E_ARGUMENT, "outlier channels are found with samples");
    HN_TRY(watch_products(p, &is_any, err));
    HN_TRY(split_all(&job, &n_channels));
    for (hn_id v = 0; v < p->n_values; v++)
        p->values[v].observer = NULL;
    if (job.products.n > 0) {
        if (hn_arena_has_failed(p->model->arena))
            return HONE_E_NOMEM;
        HN_TRY(hn_patch_apply(job.patch, p->g, err));
        HN_TRY(hn_infer_model(p->model, &(hn_infer_options){0}, err));
        HN_TRY(keep_products_float(&job));
    }
    bool ok = hn_quant_report_note(
        p->report, "kept %llu outlier channels of %u activations in float, for %u products",
        (unsigned long long)n_channels, p->kept_channels.n, job.products.n);
    return ok ? HONE_OK : HONE_E_NOMEM;
}
