/* A Pad before a convolution or a pooling becomes part of its own padding, where both mean the
 * same: convolutions pad with zeros; AveragePool with zeros when it counts them; MaxPool with what
 * never wins. */
#include "ops/infer/spatial.h"
#include "pass/engine/pass_int.h"

#include <math.h>

#define MAX_SPATIAL 8

/* The padding that a Pad adds to the spatial axes. */
typedef struct padding {
    uint32_t n_spatial;
    int64_t pads[2 * MAX_SPATIAL]; /* begins, then ends */
    double value;
} padding;

/* Adds the pads of one axis. Those of batch and channels must be 0, and none may be negative. */
static bool add_axis_pads(padding *p, int64_t axis, int64_t rank, int64_t begin, int64_t end) {
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || begin < 0 || end < 0)
        return false;
    if (axis < 2)
        return begin == 0 && end == 0;
    int64_t *first = &p->pads[axis - 2], *last = first + p->n_spatial;
    return hn_add_i64(*first, begin, first) && hn_add_i64(*last, end, last);
}

static bool padded_with(const hn_rule *r, hn_id pad, double *out) {
    hn_id value = hn_in(r, pad, 2);
    *out = (double)hn_node_f(r, pad, "value", 0);
    return value == HN_NONE || hn_const_f64(r, value, out);
}

static bool read_padding(const hn_rule *r, hn_id pad, padding *out) {
    int32_t rank = hn_rank_of(r, hn_in(r, pad, 0));
    uint32_t n, n_axes = 0;
    const int64_t *pads, *axes = NULL;
    const char *list = hn_node_version(r, pad) == 1 ? "paddings" : "pads";
    bool has_axes = hn_in(r, pad, 3) != HN_NONE;
    if (rank < 3 || rank - 2 > MAX_SPATIAL || !hn_node_s_is(r, pad, "mode", "constant"))
        return false;
    *out = (padding){.n_spatial = (uint32_t)rank - 2};
    if (!hn_node_list(r, pad, list, 1, &n, &pads) || !padded_with(r, pad, &out->value))
        return false;
    if (has_axes && !hn_const_i64s(r, hn_in(r, pad, 3), &n_axes, &axes))
        return false;
    if (!has_axes)
        n_axes = (uint32_t)rank;
    if (n != 2 * n_axes)
        return false;
    for (uint32_t i = 0; i < n_axes; i++)
        if (!add_axis_pads(out, has_axes ? axes[i] : (int64_t)i, rank, pads[i], pads[n_axes + i]))
            return false;
    return true;
}

/* The window of the root; false when its padding depends on the size of its input. */
static bool read_own_window(const hn_rule *r, uint32_t n_spatial, hn_window_attrs *window) {
    hn_infer c;
    return hn_facts_view(r->pass->facts, r->root, &c) &&
           hn_window_attrs_get(&c, (int32_t)n_spatial, window) && !hn_pads_same(window);
}

/* The node's own pads, 0 by default. */
static bool read_own_pads(const hn_rule *r, uint32_t n_spatial, int64_t *pads, bool *any) {
    hn_window_attrs window;
    *any = false;
    if (!read_own_window(r, n_spatial, &window))
        return false;
    for (uint32_t i = 0; i < n_spatial; i++) {
        pads[i] = window.axes[i].pad_begin;
        pads[n_spatial + i] = window.axes[i].pad_end;
        *any = *any || pads[i] != 0 || pads[n_spatial + i] != 0;
    }
    return true;
}

static bool sum_pads(const padding *p, int64_t *pads) {
    for (uint32_t i = 0; i < 2 * p->n_spatial; i++)
        if (!hn_add_i64(p->pads[i], pads[i], &pads[i]))
            return false;
    return true;
}

static hone_status write_padded(hn_rule *r, const padding *p, const int64_t *pads,
                                const hn_attr *more) {
    const hn_node *n = hn_at(r, r->root);
    hn_attr attrs[3] = {hn_new_ints(r, "pads", 2 * p->n_spatial, pads),
                        hn_new_s(r, "auto_pad", "NOTSET")};
    hn_id inputs[3];
    for (uint32_t i = 0; i < n->n_inputs && i < HN_COUNT(inputs); i++)
        inputs[i] = n->inputs[i];
    inputs[0] = hn_in(r, hn_maker(r, n->inputs[0], "Pad"), 0);
    if (more)
        attrs[2] = *more;
    hn_rule_replace(
        r, hn_out(r, hn_make_like(r, r->root, HN_MIN(n->n_inputs, 3), inputs, more ? 3 : 2, attrs),
                  0));
    return HONE_OK;
}

static bool find_pad(const hn_rule *r, padding *p) {
    hn_id pad = hn_maker(r, hn_in(r, r->root, 0), "Pad");
    return pad != HN_NONE && read_padding(r, pad, p);
}

static hone_status pad_conv(hn_rule *r) {
    padding p;
    int64_t pads[2 * MAX_SPATIAL];
    bool any;
    if (!find_pad(r, &p))
        return HONE_OK;
    if (p.value != 0)
        return hn_miss(r, "the Pad fills with %g, a convolution pads with 0", p.value);
    if (!read_own_pads(r, p.n_spatial, pads, &any) || !sum_pads(&p, pads))
        return HONE_OK;
    return write_padded(r, &p, pads, NULL);
}

/* Runtimes refuse pools with a window that may lie entirely in the padding. */
static bool every_window_sees_data(const hn_rule *r, uint32_t n_spatial, const int64_t *pads) {
    hn_window_attrs window;
    if (!read_own_window(r, n_spatial, &window))
        return false;
    for (uint32_t i = 0; i < n_spatial; i++) {
        const hn_window_attrs_axis *axis = &window.axes[i];
        if (!hn_dim_is_known(axis->kernel) || axis->dilation != 1 || pads[i] >= axis->kernel ||
            pads[i + n_spatial] >= axis->kernel)
            return false;
    }
    return !window.ceil_mode;
}

static hone_status pad_average(hn_rule *r) {
    padding p;
    int64_t pads[2 * MAX_SPATIAL];
    bool any;
    if (!find_pad(r, &p) || p.value != 0 || !read_own_pads(r, p.n_spatial, pads, &any))
        return HONE_OK;
    if (hn_node_version(r, r->root) < 7)
        return HONE_OK; /* the average does not count padding */
    if (any && hn_node_i(r, r->root, "count_include_pad", 0) == 0)
        return hn_miss(r, "the pool does not count its own padding in the average");
    if (!sum_pads(&p, pads))
        return HONE_OK;
    if (!every_window_sees_data(r, p.n_spatial, pads))
        return hn_miss(r, "the padding is as wide as a window");
    hn_attr count = hn_new_i(r, "count_include_pad", 1);
    return write_padded(r, &p, pads, &count);
}

/* True when no element can be negative. */
static bool is_never_negative(const hn_rule *r, hn_id value) {
    double least, most = 0;
    if (hn_maker(r, value, "Relu|Sigmoid|HardSigmoid|Softmax|Abs|Exp|Softplus") != HN_NONE)
        return true;
    hn_id clip = hn_maker(r, value, "Clip");
    if (clip == HN_NONE)
        return false;
    if (hn_node_version(r, clip) < 11)
        return hn_node_f(r, clip, "min", -INFINITY) >= 0 &&
               hn_node_f(r, clip, "max", INFINITY) >= 0;
    hn_id max = hn_in(r, clip, 2); /* takes precedence over a larger min */
    return hn_const_f64(r, hn_in(r, clip, 1), &least) && least >= 0 &&
           (max == HN_NONE || (hn_const_f64(r, max, &most) && most >= 0));
}

static hone_status pad_max(hn_rule *r) {
    padding p;
    int64_t pads[2 * MAX_SPATIAL];
    bool any;
    if (!find_pad(r, &p) || hn_out(r, r->root, 1) != HN_NONE)
        return HONE_OK; /* indices refer to the padded image */
    hn_id data = hn_in(r, hn_maker(r, hn_in(r, r->root, 0), "Pad"), 0);
    bool is_float = hn_dtype_is_float(hn_elem_of(r, data));
    if (!is_float || !read_own_pads(r, p.n_spatial, pads, &any) || !sum_pads(&p, pads))
        return HONE_OK;
    if (p.value != -INFINITY && !(p.value == 0 && is_never_negative(r, data)))
        return hn_miss(r, "the Pad fills with %g, which could be the maximum of a window", p.value);
    if (!every_window_sees_data(r, p.n_spatial, pads))
        return hn_miss(r, "the padding is as wide as a window");
    return write_padded(r, &p, pads, NULL);
}

hone_status hn_pass_fold_pads(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"pad-conv", "Conv(Pad, ...)", pad_conv, false, NULL},
        {"pad-average-pool", "AveragePool(Pad)", pad_average, false, NULL},
        {"pad-max-pool", "MaxPool(Pad)", pad_max, false, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
