/* Ranges of activations, from samples or a file, and the scales and zero points they give. */
#include "quant/quant_int.h"

#include <math.h>

/* Without the channels that are computed in float. */
static bool observe_other_channels(hn_quant_plan *p, hn_observer *o, const hn_kept_channels *kept,
                                   const hn_array *x) {
    const hone_allocator *a = hn_arena_allocator(p->arena);
    uint64_t n = x->n_elems;
    float *copy, *others = hn_alloc(a, n * sizeof *others + 1);
    const float *dense = others ? hn_quant_dense(a, x, &copy) : NULL;
    for (uint64_t i = 0; dense && i < n; i++)
        others[i] = kept->is_kept[i % kept->n_channels] ? 0 : dense[i];
    hn_observed_rows rows = {.at = others, .n_rows = 1, .row = n, .stride = n};
    bool ok = dense && hn_observer_add(o, &rows, p->options->moving_average_constant, p->pool);
    if (dense)
        hn_free(a, copy, n * sizeof *copy);
    hn_free(a, others, n * sizeof *others + 1);
    return ok;
}

static bool observe_value(void *ctx, hn_id value, const hn_array *x) {
    hn_quant_plan *p = ctx;
    hn_observer *o = value < p->n_values ? p->values[value].observer : NULL;
    if (!o)
        return true;
    if (p->values[value].kept)
        return observe_other_channels(p, o, p->values[value].kept, x);
    uint64_t row = x->row_stride ? (uint64_t)x->dims[x->rank - 1] : x->n_elems;
    hn_observed_rows rows = {.at = x->data,
                             .n_rows = row ? x->n_elems / row : 0,
                             .row = row,
                             .stride = x->row_stride ? (uint64_t)x->row_stride : row};
    return hn_observer_add(o, &rows, p->options->moving_average_constant, p->pool);
}

static bool needs_range(const hn_quant_plan *p, hn_id id) {
    const hn_quant_value *v = &p->values[id];
    return v->is_quantized && v->tied_to == id && !v->has_range && !v->has_params;
}

static bool needs_histogram(const hn_quant_plan *p) {
    return p->options->explain || p->options->calibration > HONE_CALIBRATION_MOVING_AVERAGE;
}

static hone_status check_observed(const hn_quant_plan *p, hone_error *err) {
    for (hn_id id = 0; id < p->n_values; id++) {
        const hn_observer *o = p->values[id].observer;
        if (!o || o->n_not_finite == 0)
            continue;
        const char *name = hn_s(hn_value_at(p->g, id)->name);
        hone_status status = hn_fail(
            err, HONE_E_INVALID,
            "activation '%s' has %llu NaN or infinite numbers in the calibration samples; keep "
            "its node in float, or check the model and the samples",
            name, (unsigned long long)o->n_not_finite);
        hn_id producer = hn_value_at(p->g, id)->producer;
        if (producer != HN_NONE)
            hn_error_at_node(err, p->g, producer);
        return status;
    }
    return HONE_OK;
}

static hone_status observe_samples(hn_quant_plan *p, hone_error *err) {
    bool is_any = false;
    for (hn_id id = 0; id < p->n_values; id++) {
        if (!needs_range(p, id))
            continue;
        is_any = true;
        HN_TRY_PTR(p->values[id].observer = hn_observer_new(p->arena, needs_histogram(p)));
    }
    if (!is_any)
        return HONE_OK;
    if (!p->source)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "static quantization needs calibration samples, or a calibration cache");
    hn_quant_pass pass = hn_quant_pass_of(p, observe_value, p);
    HN_TRY(hn_quant_run_samples(&pass, err));
    p->report->n_samples = pass.n_samples;
    return check_observed(p, err);
}

/* ---- ranges --------------------------------------------------------------------------------------- */

static void extend_range(const hone_quantize_options *o, hn_quant_value *v) {
    double shortest = o->minimum_real_range;
    v->low = fmin(v->low, 0);
    v->high = fmax(v->high, 0);
    if (o->range_symmetric) {
        v->high = fmax(v->high, -v->low);
        v->low = -v->high;
    }
    if (v->high - v->low < shortest)
        v->high = v->low + shortest;
}

/* A clamp behind which nothing exceeds its bounds needs no integers beyond them. */
static void choose_ranges(hn_quant_plan *p) {
    for (hn_id id = 0; id < p->n_values; id++) {
        hn_quant_value *v = &p->values[id];
        if (!v->is_quantized || v->tied_to != id || v->has_params)
            continue;
        hn_range_options options = {.method = p->options->calibration,
                                    .percentile = p->options->percentile,
                                    .type = &v->type};
        if (v->observer && !v->has_range)
            v->method = hn_observer_range(v->observer, &options, &v->low, &v->high);
        extend_range(p->options, v);
    }
}

/* Inputs of a Concat that have about the range of its output get its parameters: then it moves
 * bytes. */
static void tie_concat(hn_quant_plan *p, const hn_node *n) {
    hn_id out = hn_quant_root(p, n->outputs[0]);
    hn_quant_value *o = &p->values[out];
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id in = n->inputs[i] == HN_NONE ? HN_NONE : hn_quant_root(p, n->inputs[i]);
        if (in == HN_NONE || !p->values[in].is_quantized || in == out)
            continue;
        const hn_quant_value *v = &p->values[in];
        double low = fmin(v->low, o->low), high = fmax(v->high, o->high);
        bool is_close = v->high - v->low >= 0.5 * (high - low) && v->type.dtype == o->type.dtype &&
                        (v->low < 0) == (low < 0);
        if (!is_close || v->has_params || o->has_params)
            continue;
        hn_quant_tie(p, out, in);
        o->low = low;
        o->high = high;
    }
}

static void settle_params(hn_quant_plan *p) {
    for (hn_id id = 0; id < p->n_values; id++) {
        hn_quant_value *v = &p->values[id];
        if (v->is_quantized && v->tied_to == id && !v->has_params)
            v->params = hn_quant_params_of(&v->type, v->low, v->high);
    }
    for (hn_id id = 0; id < p->n_values; id++) {
        hn_quant_value *v = &p->values[id];
        if (!v->is_quantized || v->tied_to == id)
            continue;
        const hn_quant_value *root = &p->values[hn_quant_root(p, id)];
        v->params = root->params;
        v->type = root->type;
        v->low = root->low;
        v->high = root->high;
    }
}

static bool report_ranges(hn_quant_plan *p) {
    for (hn_id id = 0; id < p->n_values; id++) {
        const hn_quant_value *v = &p->values[id];
        if (!v->is_quantized)
            continue;
        const char *name = hn_s(hn_value_at(p->g, id)->name);
        double power = v->observer ? hn_observer_power(v->observer) : 0;
        double error = power > 0 ? hn_observer_error(v->observer, &v->type, v->low, v->high) : 0;
        hn_quant_tensor_info info = {
            .name = hn_arena_copy(p->report->arena, name, strlen(name) + 1),
            .method = v->tied_to == id ? (v->method ? v->method : "fixed") : "shared",
            .low = v->low,
            .high = v->high,
            .min = v->observer ? v->observer->min : 0,
            .max = v->observer ? v->observer->max : 0,
            .dtype = v->type.dtype,
            .params = v->params,
            .sqnr = error > 0 ? 10 * log10(power / error) : NAN};
        if (!info.name || !HN_VEC_PUSH(p->report->arena, &p->report->tensors, info))
            return false;
    }
    return true;
}

/* A value that was not observed for itself is one of those that another was tied to. */
hone_status hn_quant_settle(hn_quant_plan *p, hone_error *err) {
    for (hn_id id = 0; id < p->n_values; id++)
        if (needs_range(p, id) && !p->values[id].observer)
            return hn_fail(err, HONE_E_INTERNAL, "activation '%s' was not observed",
                           hn_s(hn_value_at(p->g, id)->name));
    choose_ranges(p);
    for (hn_id id = 0; id < p->n_nodes; id++)
        if (p->nodes[id].is_quantized && strcmp(p->nodes[id].op->name, "Concat") == 0)
            tie_concat(p, hn_node_at(p->g, id));
    settle_params(p);
    return report_ranges(p) ? HONE_OK : HONE_E_NOMEM;
}

/* Ranges of a file that exists win; it is written where it does not. */
hone_status hn_quant_calibrate(hn_quant_plan *p, hone_error *err) {
    const char *cache = p->options->calibration_cache;
    bool is_read = false;
    if (cache)
        HN_TRY(hn_quant_read_cache(p, cache, &is_read, err));
    HN_TRY(observe_samples(p, err));
    if (cache && !is_read) {
        choose_ranges(p);
        HN_TRY(hn_quant_write_cache(p, cache, err));
    }
    return hn_quant_settle(p, err);
}
