/* Equalization: channels of activations get similar ranges. Where all who write a group of values
 * and all who read it have constant weights, channel c of the values is divided by a factor: the
 * writers' weights are divided, the readers' multiplied, and the model computes the same. Between
 * convolutions this is cross-layer equalization, behind normalizations SmoothQuant. */
#include "quant/quant_int.h"
#include "quant/smooth.h"

#include <math.h>

#define MOST_FACTOR 4096.0

/* Elements of a weight that belong to channels: element (outer, channel, inner), channels of group
 * g of a convolution begin at g * n_mid where outer / outer_per_group is g. */
typedef struct channel_weight {
    hn_id value;
    uint64_t n_outer, n_mid, n_inner, outer_per_group, n_channels;
} channel_weight;

typedef struct equalizer {
    hn_quant_plan *p;
    hn_id *parent;      /* union-find over values */
    bool *is_fixed;     /* by root */
    uint64_t *channels; /* by value: how many; 0: unknown */
    int32_t *axis;      /* by value: of the channels */
    double *factors;    /* of the group at hand */
    double *powers;     /* of it: mean squares of its channels, relative to the largest number */
    uint32_t n_groups;
    double worst_before, worst_after;
} equalizer;

/* ---- groups --------------------------------------------------------------------------------------- */

static hn_id group_of(const equalizer *e, hn_id v) {
    while (e->parent[v] != v)
        v = e->parent[v];
    return v;
}

static void join_channel_groups(equalizer *e, hn_id a, hn_id b) {
    a = group_of(e, a);
    b = group_of(e, b);
    e->parent[HN_MAX(a, b)] = HN_MIN(a, b);
    e->is_fixed[HN_MIN(a, b)] |= e->is_fixed[HN_MAX(a, b)];
}

static void fix_group(equalizer *e, hn_id v) {
    if (v != HN_NONE)
        e->is_fixed[group_of(e, v)] = true;
}

/* A float constant that this node alone reads. */
static const hn_tensor *own_const(const hn_graph *g, hn_id node, uint32_t slot) {
    const hn_tensor *t = hn_quant_const_input(g, node, slot);
    bool is_own =
        t && t->dtype == HN_F32 && hn_value_at(g, hn_quant_input(g, node, slot))->uses.n == 1;
    return is_own ? t : NULL;
}

/* All of the channels of a value lie along this axis. */
static bool set_channels(equalizer *e, hn_id v, int32_t axis, uint64_t n) {
    if (e->channels[v] == 0) {
        e->channels[v] = n;
        e->axis[v] = axis;
    }
    return e->channels[v] == n && e->axis[v] == axis;
}

static int32_t rank_of(const hn_graph *g, hn_id v) {
    const hn_type *t = hn_value_at(g, v)->type;
    return t && t->kind == HN_TYPE_TENSOR ? t->shape.rank : -1;
}

static bool is_conv(const hn_node *n) {
    return hn_str_is(n->op, "Conv");
}

static int64_t attr_or(const hn_node *n, const char *name, int64_t otherwise) {
    const hn_attr *a = hn_node_attr(n, name);
    return a && a->kind == HN_ATTR_INT ? a->v.i : otherwise;
}

/* Where in a weight the channels of its layer's input or output are. */
static bool weight_channels(const hn_graph *g, hn_id node, bool is_output, channel_weight *out) {
    const hn_node *n = hn_node_at(g, node);
    const hn_tensor *w = own_const(g, node, 1);
    if (!w || w->rank < 2 || w->n_elems == 0)
        return false;
    uint64_t rows = (uint64_t)w->dims[0], columns = (uint64_t)w->dims[1];
    *out = (channel_weight){.value = n->inputs[1], .outer_per_group = UINT64_MAX};
    if (is_conv(n)) {
        uint64_t group = (uint64_t)HN_MAX(attr_or(n, "group", 1), 1);
        out->n_inner = w->n_elems / rows / (is_output ? 1 : columns);
        out->n_outer = is_output ? 1 : rows;
        out->n_mid = is_output ? rows : columns;
        out->outer_per_group = is_output ? UINT64_MAX : rows / group;
        out->n_channels = is_output ? rows : columns * group;
        return rows % group == 0;
    }
    bool is_transposed = hn_str_is(n->op, "Gemm") && attr_or(n, "transB", 0) != 0;
    bool along_rows = is_output == is_transposed; /* channels are rows of the stored matrix */
    out->n_outer = along_rows ? 1 : rows;
    out->n_mid = along_rows ? rows : columns;
    out->n_inner = along_rows ? columns : 1;
    out->n_channels = out->n_mid;
    return w->rank == 2;
}

static bool is_layer(const equalizer *e, hn_id node) {
    const hn_node *n = hn_node_at(e->p->g, node);
    const hn_quant_op *op = e->p->nodes[node].op;
    return op && op->role == HN_ROLE_LAYER && !hn_str_is(n->op, "ConvTranspose") &&
           hn_quant_const_input(e->p->g, node, 1);
}

static bool join_layer(equalizer *e, hn_id node) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    channel_weight in, out;
    int32_t rank_in = rank_of(g, n->inputs[0]), rank_out = rank_of(g, n->outputs[0]);
    if (rank_in < 2 || rank_out < 2)
        return false;
    if (!weight_channels(g, node, false, &in) || !weight_channels(g, node, true, &out))
        return false;
    bool ok = set_channels(e, n->inputs[0], is_conv(n) ? 1 : rank_in - 1, in.n_channels);
    if (!ok)
        fix_group(e, n->inputs[0]);
    bool has_bias = hn_quant_input(g, node, 2) != HN_NONE;
    if (!set_channels(e, n->outputs[0], is_conv(n) ? 1 : rank_out - 1, out.n_channels) ||
        (has_bias && (!own_const(g, node, 2) || own_const(g, node, 2)->n_elems != out.n_channels)))
        fix_group(e, n->outputs[0]);
    return true;
}

static bool has_same_shape(const hn_graph *g, hn_id a, hn_id b) {
    const hn_type *s = hn_value_at(g, a)->type, *t = hn_value_at(g, b)->type;
    if (!s || !t || s->kind != HN_TYPE_TENSOR || t->kind != HN_TYPE_TENSOR || s->shape.rank < 2 ||
        s->shape.rank != t->shape.rank)
        return false;
    for (int32_t i = 0; i < s->shape.rank; i++)
        if (s->shape.dims[i] == HN_DIM_UNKNOWN || s->shape.dims[i] != t->shape.dims[i])
            return false;
    return true;
}

/* Does the operator take a vector of the last axis: bias of a product (Add), or scale of a
 * normalization (Mul)? */
static bool takes_vector(const equalizer *e, hn_id node, const char *op, uint32_t *slot) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    for (*slot = 0; hn_str_is(n->op, op) && *slot < 2; ++*slot) {
        const hn_tensor *c = own_const(g, node, *slot);
        if (c && c->rank == 1 && c->n_elems > 1 && n->inputs[1 - *slot] != HN_NONE &&
            rank_of(g, n->inputs[1 - *slot]) >= 2)
            return true;
    }
    return false;
}

static bool is_normalization(const equalizer *e, hn_id node) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    int32_t rank = rank_of(g, n->outputs[0]);
    int64_t axis = attr_or(n, "axis", -1);
    const hn_tensor *scale = own_const(g, node, 1);
    return hn_str_is(n->op, "LayerNormalization") && rank >= 2 &&
           (axis == -1 || axis == rank - 1) && scale && scale->rank == 1 &&
           (hn_quant_input(g, node, 2) == HN_NONE || own_const(g, node, 2));
}

/* Does a Transpose leave the last axis where it is? */
static bool transpose_keeps_last(const hn_node *n) {
    const hn_attr *perm = hn_node_attr(n, "perm");
    return hn_str_is(n->op, "Transpose") && perm && perm->kind == HN_ATTR_INTS && perm->n > 0 &&
           perm->v.ints[perm->n - 1] == (int64_t)perm->n - 1;
}

static bool join_node(equalizer *e, hn_id node) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    static const char *const passing[] = {"Relu", "LeakyRelu", "MaxPool", "AveragePool",
                                          "GlobalAveragePool"};
    uint32_t slot;
    if (n->block != 0 || n->n_outputs != 1 || !hn_domain_is_onnx(n->domain))
        return false;
    if (is_layer(e, node))
        return join_layer(e, node);
    for (size_t i = 0; i < HN_COUNT(passing); i++)
        if (hn_str_is(n->op, passing[i])) {
            join_channel_groups(e, n->inputs[0], n->outputs[0]);
            return true;
        }
    if (hn_str_is(n->op, "Add") && has_same_shape(g, n->inputs[0], n->inputs[1])) {
        join_channel_groups(e, n->inputs[0], n->outputs[0]);
        join_channel_groups(e, n->inputs[1], n->outputs[0]);
        return true;
    }
    if (transpose_keeps_last(n)) {
        int32_t last = rank_of(g, n->outputs[0]) - 1;
        join_channel_groups(e, n->inputs[0], n->outputs[0]);
        return last >= 0 && (e->channels[n->inputs[0]] == 0 || e->axis[n->inputs[0]] == last);
    }
    if (takes_vector(e, node, "Add", &slot)) {
        join_channel_groups(e, n->inputs[1 - slot], n->outputs[0]);
        return set_channels(e, n->outputs[0], rank_of(g, n->outputs[0]) - 1,
                            own_const(g, node, slot)->n_elems);
    }
    if (takes_vector(e, node, "Mul", &slot)) {
        fix_group(e, n->inputs[1 - slot]);
        return set_channels(e, n->outputs[0], rank_of(g, n->outputs[0]) - 1,
                            own_const(g, node, slot)->n_elems);
    }
    if (!is_normalization(e, node))
        return false;
    fix_group(e, n->inputs[0]);
    return set_channels(e, n->outputs[0], rank_of(g, n->outputs[0]) - 1,
                        own_const(g, node, 1)->n_elems);
}

static void find_channel_groups(equalizer *e) {
    const hn_graph *g = e->p->g;
    for (hn_id v = 0; v < e->p->n_values; v++) {
        const hn_value *value = hn_value_at(g, v);
        e->parent[v] = v;
        e->is_fixed[v] = value->is_input || value->init || hn_value_is_output(value, HN_NONE);
    }
    for (hn_id node = 0; node < e->p->n_nodes; node++) {
        const hn_node *n = hn_node_at(g, node);
        if (n->block == HN_NONE || join_node(e, node))
            continue;
        for (uint32_t i = 0; i < n->n_inputs; i++)
            fix_group(e, n->inputs[i]);
        for (uint32_t i = 0; i < n->n_outputs; i++)
            fix_group(e, n->outputs[i]);
    }
}

/* ---- magnitudes of channels ------------------------------------------------------------------------ */

static bool watch_channels(void *ctx, hn_id value, const hn_array *x) {
    equalizer *e = ctx;
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
static hone_status open_observers(equalizer *e, bool *is_any) {
    hn_quant_plan *p = e->p;
    *is_any = false;
    for (hn_id v = 0; v < p->n_values; v++) {
        if (!p->values[v].is_quantized || e->is_fixed[group_of(e, v)] || e->channels[v] < 2)
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

/* Channels of values that an operator passes on are those of the values beside them. */
static void spread_channels(equalizer *e) {
    for (hn_id v = 0; v < e->p->n_values; v++) {
        hn_id root = group_of(e, v);
        if (e->channels[v] && !e->channels[root]) {
            e->channels[root] = e->channels[v];
            e->axis[root] = e->axis[v];
        }
        if (e->channels[v] && (e->channels[v] != e->channels[root] || e->axis[v] != e->axis[root]))
            e->is_fixed[root] = true;
    }
    for (hn_id v = 0; v < e->p->n_values; v++) {
        hn_id root = group_of(e, v);
        e->channels[v] = e->channels[root];
        e->axis[v] = e->axis[root];
    }
}

/* ---- factors ----------------------------------------------------------------------------------------- */

typedef void (*channel_fn)(void *ctx, uint64_t channel, float *weight);

/* Calls fn with every number of the weight. */
static void each_channel_weight(const channel_weight *w, float *data, channel_fn fn, void *ctx) {
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

static hone_status float_copy(equalizer *e, hn_id value, float **out) {
    const hn_tensor *t = hn_value_at(e->p->g, value)->init;
    *out = hn_arena_alloc(e->p->arena, t->data_bytes + 4);
    HN_TRY_PTR(*out);
    memcpy(*out, t->data, t->data_bytes);
    return HONE_OK;
}

static hone_status merge_readers(equalizer *e, hn_id root, uint64_t n, double *scratch,
                                 double *weights, bool *has_reader) {
    for (hn_id node = 0; node < e->p->n_nodes; node++) {
        const hn_node *nd = hn_node_at(e->p->g, node);
        channel_weight w;
        float *data;
        if (nd->block != 0 || !is_layer(e, node) || group_of(e, nd->inputs[0]) != root ||
            !weight_channels(e->p->g, node, false, &w))
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

static void choose_factors(equalizer *e, uint64_t n, const double *activations,
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

static hone_status change_weight(equalizer *e, const channel_weight *w, channel_fn change) {
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

static hone_status change_vector(equalizer *e, hn_id node, uint32_t slot) {
    const hn_tensor *t = own_const(e->p->g, node, slot);
    channel_weight w = {.value = hn_quant_input(e->p->g, node, slot),
                        .n_outer = 1,
                        .n_mid = t ? t->n_elems : 0,
                        .n_inner = 1,
                        .outer_per_group = UINT64_MAX};
    return t ? change_weight(e, &w, divide_weight) : HONE_OK;
}

static hone_status change_node(equalizer *e, hn_id node, hn_id root) {
    const hn_node *n = hn_node_at(e->p->g, node);
    channel_weight w;
    uint32_t slot;
    if (is_layer(e, node)) {
        bool reads = group_of(e, n->inputs[0]) == root, writes = group_of(e, n->outputs[0]) == root;
        if (reads && weight_channels(e->p->g, node, false, &w))
            HN_TRY(change_weight(e, &w, multiply_weight));
        if (writes && weight_channels(e->p->g, node, true, &w))
            HN_TRY(change_weight(e, &w, divide_weight));
        return writes ? change_vector(e, node, 2) : HONE_OK;
    }
    if (group_of(e, n->outputs[0]) != root)
        return HONE_OK;
    if (takes_vector(e, node, "Add", &slot) || takes_vector(e, node, "Mul", &slot))
        return change_vector(e, node, slot);
    if (!is_normalization(e, node))
        return HONE_OK;
    HN_TRY(change_vector(e, node, 1));
    return change_vector(e, node, 2);
}

static hone_status equalize_group(equalizer *e, hn_id root) {
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
        if (!o || group_of(e, v) != root)
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

static hone_status equalize_groups(equalizer *e, hone_error *err) {
    hn_quant_plan *p = e->p;
    bool is_any;
    find_channel_groups(e);
    spread_channels(e);
    HN_TRY(open_observers(e, &is_any));
    hn_quant_pass pass = {.model = p->model,
                          .source = p->source,
                          .max_samples = p->options->max_samples,
                          .pool = p->pool,
                          .progress = p->options->progress,
                          .progress_ctx = p->options->progress_ctx,
                          .watch = watch_channels,
                          .ctx = e};
    if (is_any)
        HN_TRY(hn_quant_run_samples(&pass, err));
    for (hn_id v = 0; is_any && v < p->n_values; v++)
        if (group_of(e, v) == v && !e->is_fixed[v] && e->channels[v] >= 2)
            HN_TRY(equalize_group(e, v));
    for (hn_id v = 0; v < p->n_values; v++)
        p->values[v].observer = NULL;
    return HONE_OK;
}

hone_status hn_quant_equalize(hn_quant_plan *p, hone_error *err) {
    size_t n = (size_t)p->n_values + 1;
    equalizer e = {.p = p,
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
