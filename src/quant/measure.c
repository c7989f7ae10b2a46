/* Errors layer by layer. Beside every layer runs a second one on quantized numbers; the difference
 * of their outputs is the error that quantizing this layer alone makes. One pass over some samples
 * measures all layers; its mean per channel is what a bias can make up for. */
#include "quant/static_weights.h"

#include <math.h>

enum { MEASURED_SAMPLES = 32 };

typedef struct layer_error {
    hn_id node;
    hn_id output, difference; /* values of the graph that is measured */
    uint64_t n_channels, n_per_channel;
    int32_t axis;
    double signal, noise;
    double *sums; /* of the differences, per channel */
} layer_error;

typedef struct measurement {
    hn_quant_plan *p;
    hn_model *model; /* a copy with layers doubled */
    hn_patch *patch;
    HN_VEC(layer_error) layers;
    uint32_t *by_value; /* value of the copy -> its layer + 1 */
    uint32_t n_values;
} measurement;

/* ---- the doubled graph -------------------------------------------------------------------------- */

/* A weight as floats, rounded as its integers are. */
static hone_status rounded_weight(measurement *m, hn_id node, const hn_tensor **out,
                                  hone_error *err) {
    hn_static_weight w;
    hn_quant_groups groups;
    void *data;
    HN_TRY(hn_static_weight_of(m->p, node, &w, err));
    hn_tensor *t = hn_tensor_blank(m->model->arena, HN_F32, w.w->rank, w.w->dims, &data);
    HN_TRY_PTR(t);
    hn_quant_groups_of(w.w, w.axis, w.block, &groups);
    hn_quant_cursor cursor = {.groups = &groups};
    hn_quant_rebase(&cursor);
    for (uint64_t i = 0; i < t->n_elems; i++) {
        uint64_t group = hn_quant_next(&cursor);
        double q = 0, scale = 0, zero = 0;
        hn_tensor_get_f64(w.result.q, i, &q);
        hn_tensor_get_f64(w.result.scale, group, &scale);
        hn_tensor_get_f64(w.result.zero, group, &zero);
        ((float *)data)[i] = (float)((q - zero) * scale);
    }
    *out = t;
    m->p->nodes[node].weight_sqnr = w.sqnr;
    return HONE_OK;
}

hn_id hn_quant_next_node(const hn_graph *g, hn_id node) {
    const hn_block *b = hn_block_at(g, 0);
    for (uint32_t i = 0; i + 1 < b->nodes.n; i++)
        if (b->nodes.at[i] == node)
            return b->nodes.at[i + 1];
    return HN_NONE;
}

static const hn_tensor *scalar_of(hn_arena *a, hn_dtype dtype, double value) {
    void *data;
    hn_tensor *t = hn_tensor_blank(a, dtype, 0, NULL, &data);
    hn_array array = {.dtype = dtype, .n_elems = 1, .data = data};
    if (t)
        hn_store_f64(&array, 0, 1, &value);
    return t;
}

/* x as integers and back. */
static hn_id put_rounding(measurement *m, hn_id before, hn_id x) {
    const hn_quant_value *v = &m->p->values[x];
    hn_arena *a = m->model->arena;
    hn_strtab *names = m->model->names;
    const hn_tensor *s = scalar_of(a, HN_F32, v->params.scale);
    const hn_tensor *z = scalar_of(a, v->type.dtype, v->params.zero);
    hn_id inputs[3] = {x, hn_patch_const(m->patch, 0, "scale", s),
                       hn_patch_const(m->patch, 0, "zero", z)};
    hn_id q = hn_patch_node(m->patch, before, NULL, hn_intern_z(names, "QuantizeLinear"), NULL, 3,
                            inputs, 1, 0, NULL);
    inputs[0] = hn_patch_output(m->patch, q, 0);
    hn_id dq = hn_patch_node(m->patch, before, NULL, hn_intern_z(names, "DequantizeLinear"), NULL,
                             3, inputs, 1, 0, NULL);
    return hn_patch_output(m->patch, dq, 0);
}

/* The sum of squares of the difference is an output, so that the run needs it. */
static hone_status double_layer(measurement *m, hn_id id, hone_error *err) {
    const hn_node *n = hn_node_at(m->p->g, id);
    hn_strtab *names = m->model->names;
    hn_id inputs[8], before = hn_quant_next_node(m->p->g, id);
    const hn_tensor *w;
    if (n->n_inputs > HN_COUNT(inputs))
        return HONE_OK;
    HN_TRY(rounded_weight(m, id, &w, err));
    memcpy(inputs, n->inputs, n->n_inputs * sizeof *inputs);
    inputs[0] = put_rounding(m, before, n->inputs[0]);
    inputs[1] = hn_patch_const(m->patch, 0, "rounded", w);
    hn_id twin = hn_patch_node(m->patch, before, NULL, n->op, NULL, n->n_inputs, inputs, 1,
                               n->n_attrs, n->attrs);
    hn_id pair[2] = {n->outputs[0], hn_patch_output(m->patch, twin, 0)};
    hn_id difference =
        hn_patch_node(m->patch, before, NULL, hn_intern_z(names, "Sub"), NULL, 2, pair, 1, 0, NULL);
    hn_id d = hn_patch_output(m->patch, difference, 0);
    hn_attr keep = {
        .name = hn_intern_z(names, "keepdims"), .kind = HN_ATTR_INT, .n = 1, .v = {.i = 0}};
    hn_patch_node(m->patch, before, NULL, hn_intern_z(names, "ReduceSumSquare"), NULL, 1, &d, 1, 1,
                  &keep);
    layer_error layer = {.node = id, .output = n->outputs[0], .difference = d};
    return HN_VEC_PUSH(m->p->arena, &m->layers, layer) ? HONE_OK : HONE_E_NOMEM;
}

static bool is_measured(const hn_quant_plan *p, hn_id id) {
    const hn_quant_node *q = &p->nodes[id];
    hn_id x = hn_quant_input(p->g, id, 0);
    return q->is_quantized && q->op->role == HN_ROLE_LAYER && hn_quant_const_input(p->g, id, 1) &&
           x != HN_NONE && p->values[x].is_quantized;
}

static hone_status double_layers(measurement *m, hone_error *err) {
    hn_graph *g = m->model->graph;
    m->patch = hn_patch_new(m->p->arena, g);
    HN_TRY_PTR(m->patch);
    for (hn_id id = 0; id < m->p->n_nodes; id++)
        if (is_measured(m->p, id))
            HN_TRY(double_layer(m, id, err));
    if (hn_arena_has_failed(m->model->arena))
        return HONE_E_NOMEM;
    HN_TRY(hn_patch_apply(m->patch, g, err));
    m->n_values = g->values.n;
    m->by_value = HN_NEW_N(m->p->arena, uint32_t, (size_t)m->n_values + 1);
    HN_TRY_PTR(m->by_value);
    for (uint32_t i = 0; i < m->layers.n; i++) {
        layer_error *layer = &m->layers.at[i];
        m->by_value[layer->output] = m->by_value[layer->difference] = i + 1;
        hn_id sink = hn_value_at(g, layer->difference)->uses.at[0].node;
        if (!hn_graph_add_output(g, 0, hn_node_at(g, sink)->outputs[0]))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

/* ---- the pass --------------------------------------------------------------------------------------- */

/* Channels of convolutions are their second axis, of products the last. */
static bool open_channels(const measurement *m, layer_error *layer, const hn_array *x) {
    bool is_conv = hn_str_is(hn_node_at(m->p->g, layer->node)->op, "Conv");
    layer->axis = is_conv ? 1 : x->rank - 1;
    if (layer->sums || x->rank < 2)
        return true;
    layer->n_channels = (uint64_t)x->dims[layer->axis];
    layer->sums = HN_NEW_N(m->p->arena, double, layer->n_channels + 1);
    return layer->sums != NULL;
}

static void add_differences(layer_error *layer, const float *d, const hn_array *x) {
    uint64_t n_inner = 1;
    for (int32_t k = layer->axis + 1; k < x->rank; k++)
        n_inner *= (uint64_t)x->dims[k];
    bool has_channels = layer->sums && (uint64_t)x->dims[layer->axis] == layer->n_channels;
    for (uint64_t i = 0; i < x->n_elems; i += n_inner) {
        double sum = 0, squares = 0;
        for (uint64_t k = i; k < i + n_inner; k++) {
            sum += d[k];
            squares += (double)d[k] * d[k];
        }
        layer->noise += squares;
        if (has_channels)
            layer->sums[i / n_inner % layer->n_channels] += sum;
    }
    layer->n_per_channel += has_channels ? x->n_elems / layer->n_channels : 0;
}

static bool watch_layers(void *ctx, hn_id value, const hn_array *x) {
    measurement *m = ctx;
    uint32_t i = value < m->n_values ? m->by_value[value] : 0;
    const hone_allocator *a = hn_arena_allocator(m->p->arena);
    float *copy;
    if (i == 0)
        return true;
    layer_error *layer = &m->layers.at[i - 1];
    const float *numbers = hn_quant_dense(a, x, &copy);
    bool ok = numbers && open_channels(m, layer, x);
    if (ok && value == layer->difference)
        add_differences(layer, numbers, x);
    else
        for (uint64_t k = 0; ok && k < x->n_elems; k++)
            layer->signal += (double)numbers[k] * numbers[k];
    hn_free(a, copy, x->n_elems * sizeof *copy);
    return ok;
}

/* ---- what follows -------------------------------------------------------------------------------------- */

/* The vector that is added to the channels of a layer's output, which nobody else reads. */
static hn_id bias_value(const hn_quant_plan *p, const layer_error *layer) {
    const hn_graph *g = p->g;
    hn_id node = layer->node;
    uint32_t slot = 2;
    const hn_value *out = hn_value_at(g, layer->output);
    if (hn_str_is(hn_node_at(g, node)->op, "MatMul")) {
        if (out->uses.n != 1 || out->uses.at[0].node == HN_NONE)
            return HN_NONE;
        node = out->uses.at[0].node;
        slot = 1 - out->uses.at[0].slot;
        if (!hn_str_is(hn_node_at(g, node)->op, "Add"))
            return HN_NONE;
    }
    const hn_tensor *b = hn_quant_const_input(g, node, slot);
    hn_id value = hn_quant_input(g, node, slot);
    bool fits = b && b->dtype == HN_F32 && b->rank == 1 && b->n_elems == layer->n_channels &&
                hn_value_at(g, value)->uses.n == 1;
    return fits ? value : HN_NONE;
}

static hone_status correct_biases(measurement *m) {
    hn_quant_plan *p = m->p;
    uint32_t n_corrected = 0;
    for (uint32_t i = 0; i < m->layers.n; i++) {
        const layer_error *layer = &m->layers.at[i];
        hn_id value = layer->sums && layer->n_per_channel ? bias_value(p, layer) : HN_NONE;
        void *data;
        if (value == HN_NONE)
            continue;
        const hn_tensor *b = hn_value_at(p->g, value)->init;
        hn_tensor *t = hn_tensor_blank(p->model->arena, HN_F32, 1, b->dims, &data);
        HN_TRY_PTR(t);
        for (uint64_t c = 0; c < layer->n_channels; c++) {
            double x = 0;
            hn_tensor_get_f64(b, c, &x);
            ((float *)data)[c] = (float)(x + layer->sums[c] / (double)layer->n_per_channel);
        }
        t->name = b->name;
        hn_value_at(p->g, value)->init = t;
        n_corrected++;
    }
    bool ok = hn_quant_report_note(p->report, "corrected the biases of %u of %u layers",
                                   n_corrected, m->layers.n);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

static void keep_errors(const measurement *m) {
    for (uint32_t i = 0; i < m->layers.n; i++) {
        const layer_error *layer = &m->layers.at[i];
        hn_quant_node *q = &m->p->nodes[layer->node];
        hn_id x = hn_quant_root(m->p, hn_quant_input(m->p->g, layer->node, 0));
        const hn_quant_value *v = &m->p->values[x];
        double power = v->observer ? hn_observer_power(v->observer) : 0;
        double error = power > 0 ? hn_observer_error(v->observer, &v->type, v->low, v->high) : 0;
        q->output_sqnr = layer->noise > 0 ? 10 * log10(layer->signal / layer->noise) : INFINITY;
        q->input_sqnr = error > 0 ? 10 * log10(power / error) : NAN;
    }
}

static hone_status measure_layers(measurement *m, hone_error *err) {
    const hone_quantize_options *o = m->p->options;
    uint64_t most = o->max_samples ? HN_MIN(o->max_samples, MEASURED_SAMPLES) : MEASURED_SAMPLES;
    HN_TRY(double_layers(m, err));
    hn_quant_pass pass = hn_quant_pass_of(m->p, watch_layers, m);
    pass.model = m->model;
    pass.max_samples = most;
    if (m->layers.n == 0)
        return HONE_OK;
    HN_TRY(hn_quant_run_samples(&pass, err));
    keep_errors(m);
    return o->correct_bias ? correct_biases(m) : HONE_OK;
}

hone_status hn_quant_measure(hn_quant_plan *p, hone_error *err) {
    measurement m = {.p = p, .model = hn_model_clone(p->model)};
    HN_TRY_PTR(m.model);
    if (!p->source) {
        hn_model_free(m.model);
        return hn_fail(err, HONE_E_ARGUMENT, "errors of layers are measured with samples");
    }
    hone_status status = measure_layers(&m, err);
    hn_model_free(m.model);
    return status;
}
