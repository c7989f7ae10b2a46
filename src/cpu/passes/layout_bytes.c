/* Quantized operators in channels-last layout: convolutions and pools are told by an attribute,
 * elementwise operators do not mind, Concat has another axis. */
#include "cpu/passes/layout.h"

#define BYTE_MACS_PER_BYTE                                               \
  16.0 /* by which a convolution is faster in the time that moves a byte \
        */

/* ---- convolutions ---------------------------------------------------------------------------- */

static bool judge_byte_conv(const hn_rule *r, hn_id node, hn_layout_form *f) {
    bool is_static = hn_is_own(r, node, "QLinearConv");
    hn_id x = hn_in(r, node, 0), y = hn_out(r, node, 0);
    const hn_shape *filters = hn_shape_of(r, hn_in(r, node, is_static ? 3 : 1));
    if (!hn_layout_is_last(&f->in) || !filters || filters->rank != f->in.rank ||
        hn_node_i(r, node, "channels_first", 0) == 0)
        return false;
    double macs = hn_layout_elems(hn_shape_of(r, y)) * hn_layout_elems(filters) /
                  HN_MAX((double)filters->dims[0], 1);
    f->out = f->in;
    f->is_seed = true;
    f->saved_bytes =
        2 * (hn_layout_bytes(r, x) + hn_layout_bytes(r, y)) + macs / BYTE_MACS_PER_BYTE;
    return true;
}

static void write_byte_conv(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                            hn_id *outputs) {
    const hn_node *n = hn_at(r, node);
    (void)f;
    outputs[0] = hn_out(r,
                        hn_make_own(r, node, n->op->s, n->n_inputs, inputs,
                                    HN_ATTRS(hn_new_i(r, "channels_first", 0))),
                        0);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static bool judge_byte_pool(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->out = f->in;
    f->is_seed = true;
    f->saved_bytes = hn_layout_bytes(r, hn_in(r, node, 0)) / 2;
    return hn_layout_is_last(&f->in) && hn_node_i(r, node, "channels_last", 0) == 0;
}

static void write_byte_pool(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                            hn_id *outputs) {
    (void)f;
    outputs[0] = hn_out(r,
                        hn_make_like(r, node, hn_at(r, node)->n_inputs, inputs,
                                     HN_ATTRS(hn_new_i(r, "channels_last", 1))),
                        0);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static bool judge_table(const hn_rule *r, hn_id node, hn_layout_form *f) {
    (void)r;
    (void)node;
    f->out = f->in;
    return f->in.rank > 0;
}

/* Operands of lower rank are given all axes first. */
static bool judge_byte_pair(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->out = f->in;
    for (uint32_t i = 0; i <= 3; i += 3) {
        int32_t rank = hn_rank_of(r, hn_in(r, node, i));
        if (rank < 0 || rank > f->in.rank)
            return false;
        if (rank < f->in.rank)
            f->saved_bytes -= hn_layout_bytes(r, hn_in(r, node, i));
    }
    return f->in.rank > 0 && hn_rank_of(r, hn_out(r, node, 0)) == f->in.rank;
}

static void write_same_op(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                          hn_id *outputs) {
    (void)f;
    outputs[0] = hn_out(r, hn_make_like(r, node, hn_at(r, node)->n_inputs, inputs, HN_NO_ATTRS), 0);
}

/* ---- Concat ---------------------------------------------------------------------------------- */

static bool judge_byte_concat(const hn_rule *r, hn_id node, hn_layout_form *f) {
    int64_t axis = hn_node_i(r, node, "axis", 0);
    f->out = f->in;
    f->saved_bytes = -hn_layout_bytes(r, hn_out(r, node, 0)) / 8; /* pieces lie apart */
    for (uint32_t i = 2; i < hn_at(r, node)->n_inputs; i += 3)
        if (hn_rank_of(r, hn_in(r, node, i)) != f->in.rank)
            return false;
    return f->in.rank > 0 && hn_axis_normalize(&axis, f->in.rank);
}

static void write_byte_concat(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                              hn_id *outputs) {
    int64_t axis = hn_node_i(r, node, "axis", 0);
    hn_axis_normalize(&axis, f->in.rank);
    outputs[0] = hn_out(r,
                        hn_make_like(r, node, hn_at(r, node)->n_inputs, inputs,
                                     HN_ATTRS(hn_new_i(r, "axis", f->in.at[axis]))),
                        0);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static const hn_layout_row byte_rows[] = {
    {"ms.QLinearAveragePool|QLinearGlobalAveragePool", 1, 0, 0, judge_byte_pool, write_byte_pool},
    {"ms.QLinearAdd|QLinearMul", 1, 3, 0, judge_byte_pair, write_same_op},
    {"ms.QLinearConcat", 0, 2, 3, judge_byte_concat, write_byte_concat},
};

/* Operators of the domain `hone`. */
static const hn_layout_row own_byte_rows[] = {
    {"QLinearConv", 1, 9, 0, judge_byte_conv, write_byte_conv},
    {"DynamicConv", 1, 5, 0, judge_byte_conv, write_byte_conv},
    {"ByteTable", 1, 0, 0, judge_table, write_same_op},
};

const hn_layout_row *hn_layout_bytes_row(const hn_rule *r, hn_id node) {
    for (size_t i = 0; i < HN_COUNT(byte_rows); i++)
        if (hn_is_op(r, node, byte_rows[i].ops))
            return &byte_rows[i];
    for (size_t i = 0; i < HN_COUNT(own_byte_rows); i++)
        if (hn_is_own(r, node, own_byte_rows[i].ops))
            return &own_byte_rows[i];
    return NULL;
}
