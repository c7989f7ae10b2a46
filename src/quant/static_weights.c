#include "quant/static_weights.h"
#include "quant/error.h"
#include "quant/input_moments.h"

#include <math.h>

#define MOST_BIAS 1073741824.0 /* 2^30: leaves room for the sum of products */

static hn_quant_type type_of_weight(const hn_quant_plan *p, hn_id node, hn_id value) {
    hn_quant_type type = hn_quant_weight_type(p->options);
    hn_dtype chosen = hn_quant_choice_of(p->options, hn_s(hn_node_at(p->g, node)->name));
    if (chosen != HN_UNDEFINED)
        type.dtype = chosen;
    const hone_quantize_override *o =
        hn_quant_override(p->options, hn_s(hn_value_at(p->g, value)->name));
    if (o && o->type) {
        type.dtype = (hn_dtype)o->type;
        type.is_symmetric = o->symmetric < 0 ? type.is_symmetric : o->symmetric != 0;
    }
    if (o && o->reduce_range >= 0)
        type.is_reduced = o->reduce_range != 0;
    return type;
}

static const hn_tensor *bias_tensor(const hn_quant_plan *p, hn_id node) {
    int32_t slot = p->nodes[node].op->bias_slot;
    const hn_tensor *b = slot < 0 ? NULL : hn_quant_const_input(p->g, node, (uint32_t)slot);
    return b && b->dtype == HN_F32 && b->rank == 1 ? b : NULL;
}

static float input_scale(const hn_quant_plan *p, hn_id node) {
    hn_id x = hn_quant_input(p->g, node, 0);
    return p->values[x].params.scale;
}

/* A channel of tiny weights would make a huge integer of its bias. */
static void raise_scales(const hn_quant_plan *p, hn_id node, uint64_t n, hn_quant_params *params) {
    const hn_tensor *b = bias_tensor(p, node);
    if (!b || !p->options->quantize_bias || !p->options->weight_adjust_for_int32_bias ||
        p->nodes[node].op->role != HN_ROLE_LAYER)
        return;
    double x_scale = input_scale(p, node), value;
    for (uint64_t i = 0; i < b->n_elems; i++) {
        hn_quant_params *q = &params[n == b->n_elems ? i : 0];
        if (!hn_tensor_get_f64(b, i, &value) || (n != b->n_elems && n != 1))
            continue;
        double least = fabs(value) / (MOST_BIAS * x_scale);
        if (q->zero == 0 && q->scale < least)
            q->scale = (float)least;
    }
}

/* One scale, or one per output channel: those that sums of products can be multiplied by. */
static bool has_output_scales(const hn_quant_plan *p, hn_id node, const hn_static_weight *w) {
    return !w->block && (w->axis < 0 || w->axis == hn_quant_channel_axis(p->g, node, w->w));
}

/* Weights are asked for when errors are measured and when they are written; they are rounded once.
 */
static hone_status round_static_weight(hn_quant_plan *p, hn_id node, const hn_quant_type *type,
                                       hn_static_weight *out) {
    const hn_moments *moments = p->moments ? p->moments[node] : NULL;
    double gain;
    hn_id value = hn_quant_input(p->g, node, (uint32_t)p->nodes[node].op->weight_slot);
    if (!moments || moments->n_rows == 0 || hn_value_at(p->g, value)->uses.n > 1)
        return HONE_OK; /* layers that share a weight share its integers */
    hn_feedback_job job = {.w = out->w,
                           .type = type,
                           .axis = out->axis,
                           .block = out->block,
                           .inputs = hn_inputs_axis_of(p->g, node),
                           .moments = moments,
                           .pool = p->pool};
    HN_TRY(hn_quant_feedback(&job, p->model->arena, &out->result, &gain));
    p->n_rounded += gain > 1 && isfinite(gain);
    p->rounding_gain += gain > 1 && isfinite(gain) ? log(gain) : 0;
    return HONE_OK;
}

static hone_status make_static_weight(hn_quant_plan *p, hn_id node, hn_static_weight *out,
                                      hone_error *err) {
    const hn_quant_op *op = p->nodes[node].op;
    uint32_t slot = (uint32_t)op->weight_slot;
    hn_id value = hn_quant_input(p->g, node, slot);
    hn_quant_type type = type_of_weight(p, node, value);
    hn_quant_groups groups;
    *out = (hn_static_weight){.w = hn_quant_const_input(p->g, node, slot), .axis = -1};
    if (p->options->per_channel || p->options->block_size)
        out->axis = hn_quant_axis_of(p->options, p->g, node, out->w);
    if (p->options->block_size && op->role == HN_ROLE_LAYER && out->w->rank == 2) {
        out->block = p->options->block_size;
        out->axis = 1 - out->axis; /* along the inputs of a channel */
    }
    if (!hn_quant_groups_of(out->w, out->axis, out->block, &groups)) {
        out->axis = -1;
        out->block = 0;
        hn_quant_groups_of(out->w, -1, 0, &groups);
    }
    hn_arena_mark mark = hn_arena_save(p->arena);
    hn_quant_range *ranges = hn_arena_calloc(p->arena, groups.n + 1, sizeof *ranges);
    hn_quant_params *params = hn_arena_calloc(p->arena, groups.n + 1, sizeof *params);
    hone_status status = ranges && params ? HONE_OK : HONE_E_NOMEM;
    if (status == HONE_OK)
        status = hn_quant_ranges(out->w, &groups, ranges, err);
    for (uint64_t i = 0; status == HONE_OK && i < groups.n; i++)
        params[i] = hn_quant_params_of(&type, ranges[i].min, ranges[i].max);
    if (status == HONE_OK && has_output_scales(p, node, out))
        raise_scales(p, node, groups.n, params);
    if (status == HONE_OK)
        status = hn_quant_apply(out->w, &type, &groups, params, p->model->arena, &out->result);
    hn_arena_restore(p->arena, mark);
    if (status == HONE_OK)
        status = round_static_weight(p, node, &type, out);
    hn_quant_error error = {0};
    if (status == HONE_OK && p->options->explain)
        status = hn_quant_error_of(out->w, &out->result, out->axis, out->block, &error);
    out->sqnr = hn_quant_sqnr(&error);
    return status;
}

hone_status hn_static_weight_of(hn_quant_plan *p, hn_id node, hn_static_weight *out,
                                hone_error *err) {
    if (p->nodes[node].rounded) {
        *out = *p->nodes[node].rounded;
        return HONE_OK;
    }
    HN_TRY(make_static_weight(p, node, out, err));
    if (p->moments)
        HN_TRY_PTR(p->nodes[node].rounded = hn_arena_copy(p->arena, out, sizeof *out));
    return HONE_OK;
}

hone_status hn_static_bias_of(const hn_quant_plan *p, hn_id node, const hn_static_weight *w,
                              hn_static_bias *out, bool *is_float) {
    const hn_tensor *b = bias_tensor(p, node);
    uint64_t n_scales = w->result.scale->n_elems;
    *is_float = !b || !p->options->quantize_bias || !has_output_scales(p, node, w) ||
                (n_scales != 1 && n_scales != b->n_elems);
    if (*is_float)
        return HONE_OK;
    hn_arena *a = p->model->arena;
    void *q, *scales;
    int64_t dims[1] = {(int64_t)n_scales};
    out->is_per_channel = n_scales != 1;
    int32_t rank = out->is_per_channel ? 1 : 0;
    out->q = hn_tensor_blank(a, HN_I32, 1, b->dims, &q);
    out->scale = hn_tensor_blank(a, HN_F32, rank, dims, &scales);
    if (!out->q || !out->scale)
        return HONE_E_NOMEM;
    for (uint64_t i = 0; i < n_scales; i++) {
        double s = 0;
        hn_tensor_get_f64(w->result.scale, i, &s);
        ((float *)scales)[i] = input_scale(p, node) * (float)s;
    }
    for (uint64_t i = 0; i < b->n_elems; i++) {
        double x = 0, s = ((const float *)scales)[n_scales == 1 ? 0 : i];
        hn_tensor_get_f64(b, i, &x);
        ((int32_t *)q)[i] = (int32_t)fmin(fmax(nearbyint(x / s), -2147483648.0), 2147483647.0);
    }
    return HONE_OK;
}
