/* Equalization: channels of activations get similar ranges. Where all who write a group of values
 * and all who read it have constant weights, channel c of the values is divided by a factor: the
 * writers' weights are divided, the readers' multiplied, and the model computes the same. Between
 * convolutions this is cross-layer equalization, behind normalizations SmoothQuant. */
#include "quant/channel_groups.h"
#include "quant/smooth.h"

#include <math.h>

#define MOST_FACTOR 4096.0

/* ---- magnitudes of channels ------------------------------------------------------------------------ */

static bool watch_channels(void *ctx, hn_id value, const hn_array *x) {
    hn_equalizer *e = ctx;
    hn_observer *o = value < e->p->n_values ? e->p->values[value].observer : NULL;
    float *copy;
    if (!o || x->rank <= o->channel_axis || (uint64_t)x->dims[o->channel_axis] != o->n_channels)
        return true;
    const float *dense = hn_quant_dense(o->alloc, x, &copy);
    uint64_t n_inner = 1;
    for (int32_t k = o->channel_axis + 1; k < x->rank; k++)
        n_inner *= (uint64_t)x->dims[k];
    if (dense && n_inner)
        hn_observer_add_channels(o, dense, x->n_elems / o->n_channels / n_inner, n_inner);
    hn_free(o->alloc, copy, x->n_elems * sizeof *copy);
    return dense != NULL;
}

/* Observers for the quantized values of groups that factors may change. */
static hone_status open_observers(hn_equalizer *e, bool *is_any) {
    hn_quant_plan *p = e->p;
    *is_any = false;
    for (hn_id v = 0; v < p->n_values; v++) {
        if (!p->values[v].is_quantized || e->is_fixed[hn_channel_group(e, v)] || e->channels[v] < 2)
            continue;
        hn_observer *o = hn_observer_new(p->arena, false);
        HN_TRY_PTR(o);
        o->channel_max = HN_NEW_N(p->arena, float, e->channels[v]);
        o->channel_squares = HN_NEW_N(p->arena, double, e->channels[v]);
        if (!o->channel_max || !o->channel_squares)
            return HONE_E_NOMEM;
        o->n_channels = e->channels[v];
        o->channel_axis = e->axis[v];
        p->values[v].observer = o;
        *is_any = true;
    }
    return HONE_OK;
}

/* ---- factors ----------------------------------------------------------------------------------------- */

typedef void (*channel_fn)(void *ctx, uint64_t channel, float *weight);

/* Calls fn with every number of the weight. */
static void each_channel_weight(const hn_channel_weight *w, float *data, channel_fn fn, void *ctx) {
    for (uint64_t o = 0, i = 0; o < w->n_outer; o++)
        for (uint64_t m = 0; m < w->n_mid; m++)
            for (uint64_t k = 0; k < w->n_inner; k++, i++)
                fn(ctx,
                   (w->outer_per_group == UINT64_MAX ? 0 : o / w->outer_per_group * w->n_mid) + m,
                   &data[i]);
}

static void note_magnitude(void *ctx, uint64_t channel, float *weight) {
    double *most = ctx;
    most[channel] = fmax(most[channel], fabs((double)*weight));
}

/* Relative to the largest channel; the larger of what is there. */
static void merge_relative(uint64_t n, const double *from, double *into) {
    double most = 0;
    for (uint64_t c = 0; c < n; c++)
        most = fmax(most, from[c]);
    for (uint64_t c = 0; c < n && most > 0; c++)
        into[c] = fmax(into[c], from[c] / most);
}

static void merge_powers(const hn_observer *o, double *into) {
    double most = 0;
    for (uint64_t c = 0; c < o->n_channels; c++)
        most = fmax(most, (double)o->channel_max[c]);
    for (uint64_t c = 0; c < o->n_channels && most > 0; c++)
        into[c] = fmax(into[c], o->channel_squares[c] / (double)o->n_per_channel / (most * most));
}

static hone_status float_copy(hn_equalizer *e, hn_id value, float **out) {
    const hn_tensor *t = hn_value_at(e->p->g, value)->init;
    *out = hn_arena_alloc(e->p->arena, t->data_bytes + 4);
    HN_TRY_PTR(*out);
    memcpy(*out, t->data, t->data_bytes);
    return HONE_OK;
}

static hone_status merge_readers(hn_equalizer *e, hn_id root, uint64_t n, double *scratch,
                                 double *weights, bool *has_reader) {
    for (hn_id node = 0; node < e->p->n_nodes; node++) {
        const hn_node *nd = hn_node_at(e->p->g, node);
        hn_channel_weight w;
        float *data;
        if (nd->block != 0 || !hn_channel_layer(e, node) ||
            hn_channel_group(e, nd->inputs[0]) != root ||
            !hn_channel_weight_of(e->p->g, node, false, &w))
            continue;
        hn_arena_mark mark = hn_arena_save(e->p->arena);
        HN_TRY(float_copy(e, w.value, &data));
        memset(scratch, 0, n * sizeof *scratch);
        each_channel_weight(&w, data, note_magnitude, scratch);
        merge_relative(n, scratch, weights);
        hn_arena_restore(e->p->arena, mark);
        *has_reader = true;
    }
    return HONE_OK;
}

static void choose_factors(hn_equalizer *e, uint64_t n, const double *activations,
                           const double *weights) {
    double alpha = e->p->options->smooth_alpha, mean = 0, least = 1, n_used = 0;
    if (alpha < 0)
        alpha = hn_smooth_alpha(n, activations, e->powers, weights);
    for (uint64_t c = 0; c < n; c++) {
        bool is_used = activations[c] > 0 && weights[c] > 0;
        double f = is_used ? pow(activations[c], alpha) / pow(weights[c], 1 - alpha) : 0;
        e->factors[c] = f;
        mean += is_used ? log(f) : 0;
        n_used += is_used;
        least = is_used ? fmin(least, activations[c]) : least;
    }
    mean = n_used > 0 ? exp(mean / n_used) : 1;
    double most_after = 0, least_after = INFINITY;
    for (uint64_t c = 0; c < n; c++) {
        double f = e->factors[c] > 0 ? e->factors[c] / mean : 1;
        e->factors[c] = fmin(fmax(f, 1 / MOST_FACTOR), MOST_FACTOR);
        if (activations[c] > 0) {
            most_after = fmax(most_after, activations[c] / e->factors[c]);
            least_after = fmin(least_after, activations[c] / e->factors[c]);
        }
    }
    e->worst_before = fmax(e->worst_before, 1 / least);
    if (least_after < INFINITY)
        e->worst_after = fmax(e->worst_after, most_after / least_after);
}

/* ---- changing weights -------------------------------------------------------------------------------- */

static void multiply_weight(void *ctx, uint64_t channel, float *weight) {
    *weight = (float)(*weight * ((const double *)ctx)[channel]);
}

static void divide_weight(void *ctx, uint64_t channel, float *weight) {
    *weight = (float)(*weight / ((const double *)ctx)[channel]);
}

static hone_status change_weight(hn_equalizer *e, const hn_channel_weight *w, channel_fn change) {
    hn_value *v = hn_value_at(e->p->g, w->value);
    void *data;
    hn_tensor *t = hn_tensor_blank(e->p->model->arena, HN_F32, v->init->rank, v->init->dims, &data);
    HN_TRY_PTR(t);
    memcpy(data, v->init->data, v->init->data_bytes);
    each_channel_weight(w, data, change, e->factors);
    t->name = v->init->name;
    v->init = t;
    return HONE_OK;
}

static hone_status change_vector(hn_equalizer *e, hn_id node, uint32_t slot) {
    const hn_tensor *t = hn_channel_own_const(e->p->g, node, slot);
    hn_channel_weight w = {.value = hn_quant_input(e->p->g, node, slot),
                           .n_outer = 1,
                           .n_mid = t ? t->n_elems : 0,
                           .n_inner = 1,
                           .outer_per_group = UINT64_MAX};
    return t ? change_weight(e, &w, divide_weight) : HONE_OK;
}

static hone_status change_node(hn_equalizer *e, hn_id node, hn_id root) {
    const hn_node *n = hn_node_at(e->p->g, node);
    hn_channel_weight w;
    uint32_t slot;
    if (hn_channel_layer(e, node)) {
        bool reads = hn_channel_group(e, n->inputs[0]) == root,
             writes = hn_channel_group(e, n->outputs[0]) == root;
        if (reads && hn_channel_weight_of(e->p->g, node, false, &w))
            HN_TRY(change_weight(e, &w, multiply_weight));
        if (writes && hn_channel_weight_of(e->p->g, node, true, &w))
            HN_TRY(change_weight(e, &w, divide_weight));
        return writes ? change_vector(e, node, 2) : HONE_OK;
    }
    if (hn_channel_group(e, n->outputs[0]) != root)
        return HONE_OK;
    if (hn_channel_vector(e, node, "Add", &slot) || hn_channel_vector(e, node, "Mul", &slot))
        return change_vector(e, node, slot);
    if (!hn_channel_normalization(e, node))
        return HONE_OK;
    HN_TRY(change_vector(e, node, 1));
    return change_vector(e, node, 2);
}

static hone_status equalize_group(hn_equalizer *e, hn_id root) {
    hn_quant_plan *p = e->p;
    uint64_t n = e->channels[root];
    bool has_reader = false, is_observed = false;
    hn_arena_mark mark = hn_arena_save(p->arena);
    double *activations = HN_NEW_N(p->arena, double, n), *weights = HN_NEW_N(p->arena, double, n);
    double *scratch = HN_NEW_N(p->arena, double, n);
    e->factors = HN_NEW_N(p->arena, double, n);
    e->powers = HN_NEW_N(p->arena, double, n);
    if (!activations || !weights || !scratch || !e->factors || !e->powers)
        return HONE_E_NOMEM;
    for (hn_id v = 0; v < p->n_values; v++) {
        const hn_observer *o = p->values[v].observer;
        if (!o || hn_channel_group(e, v) != root)
            continue;
        for (uint64_t c = 0; c < n; c++)
            scratch[c] = o->channel_max[c];
        merge_relative(n, scratch, activations);
        merge_powers(o, e->powers);
        is_observed = true;
    }
    HN_TRY(merge_readers(e, root, n, scratch, weights, &has_reader));
    if (is_observed && has_reader) {
        choose_factors(e, n, activations, weights);
        for (hn_id node = 0; node < p->n_nodes; node++)
            if (hn_node_at(p->g, node)->block == 0)
                HN_TRY(change_node(e, node, root));
        e->n_groups++;
    }
    hn_arena_restore(p->arena, mark);
    return HONE_OK;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

static hone_status equalize_groups(hn_equalizer *e, hone_error *err) {
    hn_quant_plan *p = e->p;
    bool is_any;
    hn_channel_groups_find(e);
    HN_TRY(open_observers(e, &is_any));
    hn_quant_pass pass = hn_quant_pass_of(p, watch_channels, e);
    if (is_any)
        HN_TRY(hn_quant_run_samples(&pass, err));
    for (hn_id v = 0; is_any && v < p->n_values; v++)
        if (hn_channel_group(e, v) == v && !e->is_fixed[v] && e->channels[v] >= 2)
            HN_TRY(equalize_group(e, v));
    for (hn_id v = 0; v < p->n_values; v++)
        p->values[v].observer = NULL;
    return HONE_OK;
}

hone_status hn_quant_equalize(hn_quant_plan *p, hone_error *err) {
    size_t n = (size_t)p->n_values + 1;
    hn_equalizer e = {.p = p,
                      .parent = HN_NEW_N(p->arena, hn_id, n),
                      .is_fixed = HN_NEW_N(p->arena, bool, n),
                      .channels = HN_NEW_N(p->arena, uint64_t, n),
                      .axis = HN_NEW_N(p->arena, int32_t, n)};
    if (!e.parent || !e.is_fixed || !e.channels || !e.axis)
        return HONE_E_NOMEM;
    if (!p->source)
        return hn_fail(err, HONE_E_ARGUMENT, "equalization needs calibration samples");
    HN_TRY(equalize_groups(&e, err));
    bool ok = e.n_groups
                  ? hn_quant_report_note(p->report,
                                         "equalized %u groups of channels: ranges differed by a "
                                         "factor of up to %.3g, now %.3g",
                                         e.n_groups, e.worst_before, e.worst_after)
                  : hn_quant_report_note(p->report, "found no channels to equalize: a factor "
                                                    "would change what the model computes");
    return ok ? HONE_OK : HONE_E_NOMEM;
}
