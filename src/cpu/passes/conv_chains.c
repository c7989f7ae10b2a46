/* Channels-last convolutions that follow each other become one chain (hone.ConvChain), whose rows
 * between stages never leave the cache. One of two neighbours is depthwise: its windows need few
 * rows, and what it reads or writes is large for the arithmetic that is done to it. */
#include "cpu/passes/passes_cpu.h"
#include "ops/infer/spatial.h"

enum {
    CHAIN_MOST = 3, /* stages */
    CHAIN_Z = 1 + 2 * CHAIN_MOST,
    CHAIN_INPUTS
};

/* Maps of an image that are so small stay near even between convolutions of several images. Whether
 * a chain pays for larger ones is known when it runs, by images and threads. */
#define CHAIN_LEAST_BYTES (128 * 1024)

/* A convolution as a stage. */
typedef struct chain_stage {
    int64_t group, strides[2], dilations[2], pads[4];
    hn_id filters, bias;
    const hn_attr *activation, *params; /* NULL: none */
} chain_stage;

/* ---- stages ---------------------------------------------------------------------------------- */

static bool has_known_attrs_only(const hn_node *n) {
    static const char *const known[] = {"activation", "activation_params", "auto_pad", "dilations",
                                        "group",      "kernel_shape",      "pads",     "strides"};
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        bool is_known = false;
        for (size_t k = 0; k < HN_COUNT(known); k++)
            is_known = is_known || strcmp(n->attrs[i].name->s, known[k]) == 0;
        if (!is_known)
            return false;
    }
    return true;
}

static void stage_list(const hn_rule *r, hn_id node, const char *name, uint32_t n, int64_t def,
                       int64_t *out) {
    const int64_t *list;
    uint32_t n_list;
    bool is_given = hn_node_ints(r, node, name, &n_list, &list) && n_list == n;
    for (uint32_t i = 0; i < n; i++)
        out[i] = is_given ? list[i] : def;
}

/* Does it read [N, C, H, W]? */
static bool reads_nchw(const hn_rule *r, hn_id node) {
    return strncmp(hn_at(r, node)->op->s, "Nchw", 4) == 0;
}

static bool stage_attrs(const hn_rule *r, hn_id node, hn_window_attrs *window) {
    hn_infer c;
    return hn_facts_view(r->pass->facts, node, &c) && hn_window_attrs_get(&c, 2, window);
}

/* The window of a convolution with its padding in numbers; SAME depends on the sizes. */
static bool read_stage_window(const hn_rule *r, hn_id node, chain_stage *s) {
    hn_window_attrs window;
    if (!stage_attrs(r, node, &window))
        return false;
    int first = reads_nchw(r, node) ? 2 : 1; /* spatial axis of x */
    const hn_shape *x = hn_shape_of(r, hn_in(r, node, 0)), *y = hn_shape_of(r, hn_out(r, node, 0)),
                   *w = hn_shape_of(r, s->filters);
    for (int a = 0; a < 2; a++) {
        const hn_window_attrs_axis *axis = &window.axes[a];
        s->strides[a] = axis->stride;
        s->dilations[a] = axis->dilation;
        s->pads[a] = axis->pad_begin;
        s->pads[2 + a] = axis->pad_end;
        if (!hn_pads_same(&window))
            continue;
        int64_t extent = (w->dims[2 + a] - 1) * axis->dilation + 1;
        int64_t total =
            HN_MAX((y->dims[1 + a] - 1) * axis->stride + extent - x->dims[first + a], 0);
        s->pads[a] = hn_auto_pad_begin(window.auto_pad, total);
        s->pads[2 + a] = total - s->pads[a];
    }
    return true;
}

static bool read_stage(const hn_rule *r, hn_id node, chain_stage *s) {
    const hn_node *n = hn_at(r, node);
    *s = (chain_stage){.group = hn_node_i(r, node, "group", 1),
                       .filters = hn_in(r, node, 1),
                       .bias = hn_in(r, node, 2),
                       .activation = hn_node_attr(n, "activation"),
                       .params = hn_node_attr(n, "activation_params")};
    return read_stage_window(r, node, s);
}

/* [N, H, W, C] or [N, C, H, W] of floats with numbers for all but N. */
static bool is_known_map(const hn_rule *r, hn_id value) {
    const hn_shape *s = hn_shape_of(r, value);
    if (!s || s->rank != 4 || hn_elem_of(r, value) != HN_F32)
        return false;
    for (int32_t i = 1; i < 4; i++)
        if (!hn_dim_is_known(s->dims[i]) || s->dims[i] < 1)
            return false;
    return true;
}

static double image_bytes(const hn_rule *r, hn_id value) {
    const hn_shape *s = hn_shape_of(r, value);
    return (double)s->dims[1] * (double)s->dims[2] * (double)s->dims[3] * sizeof(float);
}

static bool is_depthwise(const hn_tensor *filters, int64_t group) {
    return filters->dims[1] == 1 && group > 1;
}

/* Filters that can be packed ahead. Dense windows that move by one have a method of their own. */
static bool has_stage_filters(const hn_rule *r, hn_id node) {
    hn_id bias = hn_in(r, node, 2);
    const hn_tensor *filters = hn_const(r, hn_in(r, node, 1));
    hn_window_attrs window;
    if (!filters || filters->rank != 4 || (bias != HN_NONE && !hn_const(r, bias)) ||
        !has_known_attrs_only(hn_at(r, node)) || !stage_attrs(r, node, &window))
        return false;
    return is_depthwise(filters, hn_node_i(r, node, "group", 1)) ||
           filters->dims[2] * filters->dims[3] == 1 ||
           window.axes[0].stride * window.axes[1].stride > 1;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* A chain that is being written. */
typedef struct chain_draft {
    hn_id inputs[CHAIN_INPUTS];
    int64_t groups[CHAIN_MOST], strides[2 * CHAIN_MOST], dilations[2 * CHAIN_MOST],
        pads[4 * CHAIN_MOST], n_params[CHAIN_MOST];
    hn_bytes activations[CHAIN_MOST];
    float params[2 * CHAIN_MOST];
    uint32_t n, n_all_params;
    bool reads_nchw;
} chain_draft;

static bool add_stage(const hn_rule *r, hn_id node, chain_draft *d) {
    uint32_t i = d->n++;
    chain_stage s;
    if (!read_stage(r, node, &s))
        return false;
    d->inputs[1 + 2 * i] = s.filters;
    d->inputs[2 + 2 * i] = s.bias;
    d->inputs[CHAIN_Z] = hn_in(r, node, 3);
    d->groups[i] = s.group;
    memcpy(d->strides + 2 * i, s.strides, sizeof s.strides);
    memcpy(d->dilations + 2 * i, s.dilations, sizeof s.dilations);
    memcpy(d->pads + 4 * i, s.pads, sizeof s.pads);
    d->activations[i] = s.activation ? s.activation->v.s : (hn_bytes){0};
    d->n_params[i] = s.params ? HN_MIN(s.params->n, 2) : 0;
    for (int64_t p = 0; p < d->n_params[i]; p++)
        d->params[d->n_all_params++] = s.params->v.floats[p];
    return true;
}

static void open_draft(const hn_rule *r, hn_id node, chain_draft *d) {
    *d = (chain_draft){.reads_nchw = reads_nchw(r, node)};
    for (uint32_t i = 0; i < CHAIN_INPUTS; i++)
        d->inputs[i] = HN_NONE;
    d->inputs[0] = hn_in(r, node, 0);
}

/* The stages of a chain that was written before. */
static void read_chain_node(const hn_rule *r, hn_id node, chain_draft *d) {
    const hn_node *n = hn_at(r, node);
    const hn_attr *activations = hn_node_attr(n, "activations"),
                  *params = hn_node_attr(n, "activation_params");
    open_draft(r, node, d);
    d->n = activations->n;
    for (uint32_t i = 1; i <= 2 * d->n; i++)
        d->inputs[i] = hn_in(r, node, i);
    stage_list(r, node, "groups", d->n, 1, d->groups);
    stage_list(r, node, "strides", 2 * d->n, 1, d->strides);
    stage_list(r, node, "dilations", 2 * d->n, 1, d->dilations);
    stage_list(r, node, "pads", 4 * d->n, 0, d->pads);
    stage_list(r, node, "n_activation_params", d->n, 0, d->n_params);
    memcpy(d->activations, activations->v.strings, d->n * sizeof *d->activations);
    d->n_all_params = params ? params->n : 0;
    if (params)
        memcpy(d->params, params->v.floats, params->n * sizeof *d->params);
}

static void write_chain(hn_rule *r, const chain_draft *d) {
    hn_id chain = hn_make1(
        r, d->reads_nchw ? "hone.NchwConvChain" : "hone.ConvChain", CHAIN_INPUTS, d->inputs,
        HN_ATTRS(hn_new_floats(r, "activation_params", d->n_all_params, d->params),
                 hn_new_strings(r, "activations", d->n, d->activations),
                 hn_new_ints(r, "dilations", 2 * d->n, d->dilations),
                 hn_new_ints(r, "groups", d->n, d->groups),
                 hn_new_ints(r, "n_activation_params", d->n, d->n_params),
                 hn_new_ints(r, "pads", 4 * d->n, d->pads),
                 hn_new_ints(r, "strides", 2 * d->n, d->strides)));
    hn_detail(r, "%u convolutions", d->n);
    hn_rule_replace(r, chain);
}

/* Whether the root may stand behind such filters: one of both is depthwise, and what lies between
 * is read as the root's first input alone. */
static bool can_follow(const hn_rule *r, hn_id filters, int64_t group) {
    bool is_next =
        is_depthwise(hn_const(r, hn_in(r, r->root, 1)), hn_node_i(r, r->root, "group", 1));
    return is_depthwise(hn_const(r, filters), group) != is_next &&
           hn_only_reader(r, hn_cap(r, "x")) == r->root;
}

/* The root becomes the last stage. */
static hone_status end_chain(hn_rule *r, chain_draft *d) {
    if (image_bytes(r, hn_cap(r, "x")) < CHAIN_LEAST_BYTES || !add_stage(r, r->root, d))
        return HONE_OK;
    write_chain(r, d);
    return HONE_OK;
}

static hone_status start_chain(hn_rule *r) {
    hn_id first = hn_cap_node(r, "x");
    chain_draft d;
    if (!has_stage_filters(r, first) || !has_stage_filters(r, r->root) ||
        hn_in(r, first, 3) != HN_NONE ||
        !can_follow(r, hn_in(r, first, 1), hn_node_i(r, first, "group", 1)))
        return HONE_OK;
    if (!is_known_map(r, hn_in(r, first, 0)) || !is_known_map(r, hn_out(r, r->root, 0)))
        return hn_miss(r, "the sizes of the maps are not known");
    open_draft(r, first, &d);
    return add_stage(r, first, &d) ? end_chain(r, &d) : HONE_OK;
}

static hone_status extend_chain(hn_rule *r) {
    hn_id chain = hn_cap_node(r, "x");
    chain_draft d;
    if (!has_stage_filters(r, r->root) || hn_in(r, chain, CHAIN_Z) != HN_NONE)
        return HONE_OK;
    read_chain_node(r, chain, &d);
    if (d.n == CHAIN_MOST || !can_follow(r, d.inputs[2 * d.n - 1], d.groups[d.n - 1]))
        return HONE_OK;
    return end_chain(r, &d);
}

hone_status hn_pass_conv_chains(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"start", "hone.Conv({hone.Conv:x | hone.NchwConv:x}, ...)", start_chain, false, NULL},
        {"extend", "hone.Conv({hone.ConvChain:x | hone.NchwConvChain:x}, ...)", extend_chain, false,
         NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
