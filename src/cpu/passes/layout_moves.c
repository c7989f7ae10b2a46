/* Operators that move data: on turned data they move it otherwise, or not at all. */
#include "cpu/passes/layout.h"

/* ---- Transpose, Reshape ---------------------------------------------------------------------- */

/* One that undoes the turn goes. So does one that makes the order channels-last from what is in
 * that order as it is; with three axes either may be meant. */
static bool judge_transpose(const hn_rule *r, hn_id node, hn_layout_form *f) {
    hn_perm perm;
    hn_id x = hn_in(r, node, 0);
    if (!hn_perm_read(r, node, &perm) || perm.rank < 3 || perm.rank != hn_rank_of(r, x))
        return false;
    bool undoes = false;
    if (f->in.rank == perm.rank) {
        hn_perm whole = hn_perm_compose(&f->in, &perm);
        undoes = hn_perm_is_identity(&whole);
    }
    f->saved_bytes = hn_layout_cost(r, x, &perm);
    if (hn_layout_is_last(&perm) && !(undoes && f->is_likely)) {
        f->in.rank = 0;
        f->out = perm;
        return true;
    }
    if (undoes) {
        f->out.rank = 0;
        return true;
    }
    f->saved_bytes = 0;
    f->out = f->in;
    return f->in.rank == perm.rank;
}

static void write_transpose(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                            hn_id *outputs) {
    hn_perm perm;
    outputs[0] = inputs[0];
    if (f->in.rank == 0 || f->out.rank == 0 || !hn_perm_read(r, node, &perm))
        return;
    hn_perm there = hn_perm_compose(&f->in, &perm), back = hn_perm_inverse(&f->out);
    there = hn_perm_compose(&there, &back);
    outputs[0] = hn_make_transpose(r, inputs[0], &there);
}

static bool judge_reshape(const hn_rule *r, hn_id node, hn_layout_form *f) {
    hn_dim before[HN_MAX_RANK], after[HN_MAX_RANK];
    int64_t target[HN_MAX_RANK];
    hn_id x = hn_in(r, node, 0), y = hn_out(r, node, 0);
    if (f->in.rank == 0 || !hn_layout_reshape(r, x, y, &f->in, &f->out))
        return false;
    hn_layout_dims(hn_shape_of(r, x), &f->in, before);
    hn_layout_dims(hn_shape_of(r, y), &f->out, after);
    hn_shape from = {.rank = f->in.rank, .dims = before};
    return hn_reshape_target(r->pass->model->syms, &from, (uint32_t)f->out.rank, after, target);
}

static void write_reshape(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                          hn_id *outputs) {
    hn_dim before[HN_MAX_RANK], after[HN_MAX_RANK];
    const hn_shape *x = hn_shape_of(r, hn_in(r, node, 0)), *y = hn_shape_of(r, hn_out(r, node, 0));
    hn_shape from = {.rank = x->rank, .dims = before};
    hn_layout_dims(x, &f->in, before);
    hn_layout_dims(y, &f->out, after);
    outputs[0] = hn_layout_between(r, inputs[0], &from, y->rank, after);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool judge_shape(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->out.rank = 0;
    return f->in.rank > 0 && !hn_node_attr(hn_at(r, node), "start") &&
           !hn_node_attr(hn_at(r, node), "end");
}

static void write_shape(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                        hn_id *outputs) {
    int64_t axes[HN_MAX_RANK];
    for (int32_t i = 0; i < f->in.rank; i++)
        axes[i] = f->in.at[i];
    hn_id sizes = hn_out(r, hn_make_like(r, node, 1, inputs, HN_NO_ATTRS), 0);
    outputs[0] = hn_make1(
        r, "Gather", HN_VALUES(sizes, hn_new_const_i64s(r, "axes", (uint32_t)f->in.rank, axes)),
        HN_NO_ATTRS);
}

/* ---- Resize ---------------------------------------------------------------------------------- */

/* Where a Resize has a number for each axis of its data. */
typedef struct resize_list {
    uint32_t input; /* that is replaced; 0: the attribute axes is */
    hn_dtype elem;
} resize_list;

static bool find_resize_list(const hn_rule *r, hn_id node, const hn_perm *in, resize_list *list) {
    bool is_old = hn_is_op(r, node, "Upsample") || hn_node_version(r, node) < 11;
    hn_id sizes = is_old ? HN_NONE : hn_in(r, node, 3);
    const hn_tensor *t;
    *list = (resize_list){.input = is_old             ? 1
                                   : sizes != HN_NONE ? 3
                                                      : 2,
                          .elem = sizes != HN_NONE ? HN_I64 : HN_F32};
    if (hn_node_attr(hn_at(r, node), "axes")) {
        const int64_t *axes;
        uint32_t n;
        list->input = 0;
        return hn_axes_read(r, node, UINT32_MAX, in->rank, &n, &axes);
    }
    t = hn_const(r, hn_in(r, node, list->input));
    return t && t->dtype == list->elem && t->n_elems == (uint64_t)in->rank;
}

static bool judge_resize(const hn_rule *r, hn_id node, hn_layout_form *f) {
    resize_list list;
    f->out = f->in;
    return f->in.rank > 0 &&
           !hn_node_s_is(r, node, "coordinate_transformation_mode", "tf_crop_and_resize") &&
           find_resize_list(r, node, &f->in, &list);
}

static hn_id turned_list(hn_rule *r, hn_id value, const hn_perm *in, hn_dtype elem) {
    const hn_tensor *t = hn_const(r, value);
    void *data;
    hn_tensor *turned = hn_new_tensor(r, elem, 1, (int64_t[]){in->rank}, &data);
    double v = 0;
    for (int32_t i = 0; turned && i < in->rank; i++) {
        hn_tensor_get_f64(t, (uint64_t)i, &v);
        if (elem == HN_F32)
            ((float *)data)[in->at[i]] = (float)v;
        else
            ((int64_t *)data)[in->at[i]] = (int64_t)v;
    }
    return hn_new_const(r, elem == HN_F32 ? "scales" : "sizes", turned);
}

static void resize_last(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                        hn_id *outputs) {
    const hn_node *n = hn_at(r, node);
    int64_t axes[HN_MAX_RANK];
    const int64_t *given;
    uint32_t n_axes;
    resize_list list;
    find_resize_list(r, node, &f->in, &list);
    if (list.input > 0) {
        inputs[list.input] = turned_list(r, hn_in(r, node, list.input), &f->in, list.elem);
        outputs[0] = hn_out(r, hn_make_like(r, node, n->n_inputs, inputs, HN_NO_ATTRS), 0);
    } else if (hn_axes_read(r, node, UINT32_MAX, f->in.rank, &n_axes, &given)) {
        for (uint32_t i = 0; i < n_axes; i++)
            axes[i] = f->in.at[given[i]];
        outputs[0] = hn_out(r,
                            hn_make_like(r, node, n->n_inputs, inputs,
                                         HN_ATTRS(hn_new_ints(r, "axes", n_axes, axes))),
                            0);
    }
}

/* ---- operands of lower rank ------------------------------------------------------------------ */

/* They are given all axes first, which costs little: they are small beside the others. */
static bool judge_broadcast(const hn_rule *r, hn_id node, hn_layout_form *f) {
    const hn_node *n = hn_at(r, node);
    f->out = f->in;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        int32_t rank = n->inputs[i] == HN_NONE ? -1 : hn_rank_of(r, n->inputs[i]);
        if (rank < 0 || rank > f->in.rank)
            return false;
        if (rank < f->in.rank)
            f->saved_bytes -= hn_layout_bytes(r, n->inputs[i]);
    }
    return hn_node_version(r, node) >= 7 && hn_rank_of(r, hn_out(r, node, 0)) == f->in.rank;
}

static void write_broadcast(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                            hn_id *outputs) {
    (void)f;
    outputs[0] = hn_out(r, hn_make_like(r, node, hn_at(r, node)->n_inputs, inputs, HN_NO_ATTRS), 0);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hn_layout_row move_rows[] = {
    {"Transpose", 1, 0, 0, judge_transpose, write_transpose},
    {"Reshape|Flatten|Squeeze|Unsqueeze", 1, 0, 0, judge_reshape, write_reshape},
    {"Shape", 1, 0, 0, judge_shape, write_shape},
    {"Resize|Upsample", 1, 0, 0, judge_resize, resize_last},
    {"Add|And|Div|Equal|Greater|GreaterOrEqual|Less|LessOrEqual|Max|Mean|Min|Mod|Mul|Or|PRelu|Pow|"
     "Sub|Sum|Where|Xor",
     UINT32_MAX, 0, 0, judge_broadcast, write_broadcast},
};

const hn_layout_row *hn_layout_move(const hn_rule *r, hn_id node) {
    for (size_t i = 0; i < HN_COUNT(move_rows); i++)
        if (hn_is_op(r, node, move_rows[i].ops))
            return &move_rows[i];
    return NULL;
}
