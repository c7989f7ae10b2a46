/* How each operator works channels last: as one of the domain `hone`, as itself on other axes, or by
 * doing nothing. */
#include "pass/layout.h"

#define FREE_DIM 64.0        /* taken for a size that is not known */
#define NODE_BYTES 256.0     /* what a Transpose costs beside its data */
#define MACS_PER_BYTE 16.0   /* that a convolution is faster by in the time that a byte takes to move */

/* ---- orders ---------------------------------------------------------------------------------- */

hn_perm hn_layout_last(int32_t rank) {
    hn_perm p = {.rank = rank >= 3 && rank <= 8 ? rank : 0};
    for (int32_t i = 0; i < p.rank; i++)
        p.at[i] = (uint8_t)(i == 0 ? 0 : i == 1 ? rank - 1 : i - 1);
    return p;
}

bool hn_perm_same(const hn_perm *a, const hn_perm *b) {
    return a->rank == b->rank && memcmp(a->at, b->at, (size_t)a->rank) == 0;
}

static bool is_last(const hn_perm *p) {
    hn_perm last = hn_layout_last(p->rank);
    return p->rank > 0 && hn_perm_same(p, &last);
}

/* ---- costs ----------------------------------------------------------------------------------- */

static double count_elems(const hn_shape *s) {
    double n = 1;
    for (int32_t i = 0; s && i < s->rank; i++)
        n *= hn_dim_is_known(s->dims[i]) ? (double)s->dims[i] : FREE_DIM;
    return n;
}

static double count_bytes(const hn_rule *r, hn_id value) {
    return count_elems(hn_shape_of(r, value)) * HN_MAX(hn_dtype_bits(hn_elem_of(r, value)), 8) / 8;
}

double hn_layout_cost(const hn_rule *r, hn_id value, const hn_perm *perm) {
    hn_perm inverse = hn_perm_inverse(perm);
    bool is_free = hn_perm_is_free(&inverse, hn_shape_of(r, value));
    return is_free ? NODE_BYTES : NODE_BYTES + count_bytes(r, value);
}

/* ---- turning values -------------------------------------------------------------------------- */

/* The dimensions of a value that is turned by perm. */
static void turned_dims(const hn_shape *s, const hn_perm *perm, hn_dim *dims) {
    for (int32_t i = 0; i < s->rank; i++)
        dims[perm->at[i]] = s->dims[i];
}

/* x, of dimensions `from`, with the dimensions `to`; HN_NONE when no constant target says that. */
static hn_id reshape_between(hn_rule *r, hn_id x, int32_t from_rank, const hn_dim *from,
                             int32_t rank, const hn_dim *to) {
    int64_t target[HN_MAX_RANK];
    hn_shape before = {.rank = from_rank, .dims = from};
    return hn_reshape_target(r->pass->model->syms, &before, (uint32_t)rank, to, target)
               ? hn_make_reshape_to(r, x, (uint32_t)rank, target)
               : HN_NONE;
}

hn_id hn_layout_turn(hn_rule *r, hn_id x, hn_id like, const hn_perm *perm, bool is_back) {
    hn_perm inverse = hn_perm_inverse(perm);
    const hn_shape *s = hn_shape_of(r, like);
    hn_dim dims[HN_MAX_RANK];
    hn_id moved = HN_NONE;
    if (s && hn_perm_is_free(&inverse, s)) {
        turned_dims(s, perm, dims);
        moved = is_back ? reshape_between(r, x, s->rank, dims, s->rank, s->dims)
                        : reshape_between(r, x, s->rank, s->dims, s->rank, dims);
    }
    return moved != HN_NONE ? moved : hn_make_transpose(r, x, is_back ? perm : &inverse);
}

/* ---- operators of the domain `hone` ---------------------------------------------------------- */

static const struct {
    const char *op, *last;
} last_ops[] = {
    {"AveragePool", "AveragePool"},
    {"BatchNormalization", "BatchNormalization"},
    {"Conv", "Conv"},
    {"FusedConv", "Conv"},
    {"GlobalAveragePool", "GlobalAveragePool"},
    {"GlobalMaxPool", "GlobalMaxPool"},
    {"MaxPool", "MaxPool"},
};

/* The node's twin: attributes that the twin does not have are left out. */
static hn_id make_twin(hn_rule *r, hn_id node, const char *op, uint32_t n_in, const hn_id *in,
                       const hn_attr *more) {
    const hn_node *n = hn_at(r, node);
    hn_strtab *names = r->pass->model->names;
    hn_attr *attrs = HN_NEW_N(r->pass->rule_scratch, hn_attr, (size_t)n->n_attrs + 1);
    hn_str domain = hn_intern_z(names, "hone"), type = hn_intern_z(names, op);
    int since;
    bool deprecated;
    hn_attr_spec spec;
    const hn_op *row = hn_op_find(NULL, HN_DOMAIN_HONE, op, 1, &since, &deprecated);
    if (!attrs || !domain || !type || !row) {
        hn_patch_fail(r->patch, HONE_E_NOMEM);
        return HN_NONE;
    }
    uint32_t n_attrs = 0;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (hn_op_attr_find(row, since, n->attrs[i].name->s, n->attrs[i].name->n, &spec))
            attrs[n_attrs++] = n->attrs[i];
    if (more)
        attrs[n_attrs++] = *more;
    while (n_in > 0 && in[n_in - 1] == HN_NONE)
        n_in--;
    return hn_patch_node(r->patch, r->before, domain, type, n->name, n_in, in, 1, n_attrs, attrs);
}

static void write_twin(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                       hn_id *outputs) {
    const hn_node *n = hn_at(r, node);
    bool is_pool = hn_is_op(r, node, "MaxPool|AveragePool");
    int version = hn_node_version(r, node);
    bool keeps_last =
        is_pool && version >= 10 && version < 22 && hn_node_i(r, node, "ceil_mode", 0) != 0;
    hn_attr more = {0};
    (void)f;
    if (keeps_last)
        more = hn_new_i(r, "keeps_last", 1);
    for (size_t i = 0; i < HN_COUNT(last_ops); i++)
        if (hn_str_is(n->op, last_ops[i].op))
            outputs[0] = hn_out(r, make_twin(r, node, last_ops[i].last, n->n_inputs, inputs,
                                             keeps_last ? &more : NULL),
                                0);
}

/* Floats whose channels are to stand last, and a single result that is turned like them. */
static bool judge_seed(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->out = f->in;
    f->is_seed = true;
    return is_last(&f->in) && hn_elem_of(r, hn_in(r, node, 0)) == HN_F32;
}

static bool judge_conv(const hn_rule *r, hn_id node, hn_layout_form *f) {
    hn_id x = hn_in(r, node, 0), w = hn_in(r, node, 1), y = hn_out(r, node, 0);
    const hn_shape *filters = hn_shape_of(r, w);
    if (!filters || filters->rank != f->in.rank || !judge_seed(r, node, f))
        return false;
    double macs = count_elems(hn_shape_of(r, y)) * count_elems(filters) /
                  HN_MAX((double)filters->dims[0], 1);
    f->saved_bytes = 2 * (count_bytes(r, x) + count_bytes(r, y)) + macs / MACS_PER_BYTE;
    return true;
}

static bool reads_output(const hn_rule *r, hn_id node, uint32_t i) {
    hn_id value = hn_out(r, node, i);
    return value != HN_NONE && hn_n_readers(r, value) > 0;
}

static bool judge_pool(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->saved_bytes = count_bytes(r, hn_in(r, node, 0)) / 2;
    return !reads_output(r, node, 1) && judge_seed(r, node, f);
}

/* Results of training have other uses than to be read here. */
static bool judge_batch_norm(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->saved_bytes = count_bytes(r, hn_in(r, node, 0)) / 2;
    for (uint32_t i = 1; i < 5; i++)
        if (reads_output(r, node, i) || hn_elem_of(r, hn_in(r, node, i)) != HN_F32)
            return false;
    return hn_node_version(r, node) >= 7 && hn_at(r, node)->n_outputs == 1 &&
           hn_node_i(r, node, "training_mode", 0) == 0 && hn_node_i(r, node, "spatial", 1) == 1 &&
           judge_seed(r, node, f);
}

/* ---- means over all places ------------------------------------------------------------------- */

static bool judge_reduce(const hn_rule *r, hn_id node, hn_layout_form *f) {
    const int64_t *axes;
    uint32_t n, spatial = 0;
    if (!judge_pool(r, node, f) || !hn_axes_read(r, node, 1, f->in.rank, &n, &axes) ||
        n != (uint32_t)f->in.rank - 2)
        return false;
    for (uint32_t i = 0; i < n; i++)
        spatial += axes[i] >= 2;
    if (hn_node_i(r, node, "keepdims", 1) == 0)
        f->out.rank = 0;
    return spatial == n;
}

static void write_reduce(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                         hn_id *outputs) {
    bool is_mean = hn_is_op(r, node, "ReduceMean");
    hn_id twin =
        make_twin(r, node, is_mean ? "GlobalAveragePool" : "GlobalMaxPool", 1, inputs, NULL);
    outputs[0] = hn_out(r, twin, 0);
    if (f->out.rank == 0)
        outputs[0] = hn_make1(r, "Flatten", HN_VALUES(outputs[0]), HN_NO_ATTRS);
}

/* ---- moved data ------------------------------------------------------------------------------ */

/* One that undoes the turn goes. So does one that makes the order channels last from what is in
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
    if (is_last(&perm) && !(undoes && f->is_likely)) {
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
    turned_dims(hn_shape_of(r, x), &f->in, before);
    turned_dims(hn_shape_of(r, y), &f->out, after);
    hn_shape from = {.rank = f->in.rank, .dims = before};
    return hn_reshape_target(r->pass->model->syms, &from, (uint32_t)f->out.rank, after, target);
}

static void write_reshape(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                          hn_id *outputs) {
    hn_dim before[HN_MAX_RANK], after[HN_MAX_RANK];
    const hn_shape *x = hn_shape_of(r, hn_in(r, node, 0)), *y = hn_shape_of(r, hn_out(r, node, 0));
    turned_dims(x, &f->in, before);
    turned_dims(y, &f->out, after);
    outputs[0] = reshape_between(r, inputs[0], x->rank, before, y->rank, after);
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
        r, "Gather",
        HN_VALUES(sizes, hn_new_const_i64s(r, "axes", (uint32_t)f->in.rank, axes)), HN_NO_ATTRS);
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
    *list = (resize_list){.input = is_old ? 1 : sizes != HN_NONE ? 3 : 2,
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

static void write_resize(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
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
        outputs[0] = hn_out(r, hn_make_like(r, node, n->n_inputs, inputs,
                                            HN_ATTRS(hn_new_ints(r, "axes", n_axes, axes))),
                            0);
    }
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Pieces of a last axis lie apart from each other: they have to be copied. */
static double copied_bytes(const hn_rule *r, hn_id node) {
    if (hn_is_op(r, node, "Concat"))
        return count_bytes(r, hn_out(r, node, 0));
    return 0;
}

static bool judge_other(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->saved_bytes = -copied_bytes(r, node) / 2;
    return f->in.rank > 0 && f->how->turn(r, node, &f->in, &f->out);
}

static void write_other(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                        hn_id *outputs) {
    hn_id made = f->how->write(r, node, &f->in, inputs);
    for (uint32_t i = 0; i < hn_at(r, node)->n_outputs; i++)
        outputs[i] = hn_out(r, made, i);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hn_layout_row layout_rows[] = {
    {"Conv", 1, 0, judge_conv, write_twin},
    {"ms.FusedConv", 1, 3, judge_conv, write_twin},
    {"MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool", 1, 0, judge_pool, write_twin},
    {"BatchNormalization", 1, 0, judge_batch_norm, write_twin},
    {"ReduceMean|ReduceMax", 1, 0, judge_reduce, write_reduce},
    {"Transpose", 1, 0, judge_transpose, write_transpose},
    {"Reshape|Flatten|Squeeze|Unsqueeze", 1, 0, judge_reshape, write_reshape},
    {"Shape", 1, 0, judge_shape, write_shape},
    {"Resize|Upsample", 1, 0, judge_resize, write_resize},
};
static const hn_layout_row other_row = {"", 0, 0, judge_other, write_other};

void hn_layout_find_rows(const hn_rule *r, hn_id node, hn_layout_rows *rows) {
    *rows = (hn_layout_rows){.how = hn_relayout_find(r, node)};
    for (size_t i = 0; i < HN_COUNT(layout_rows); i++)
        if (hn_is_op(r, node, layout_rows[i].ops))
            rows->at[rows->n++] = &layout_rows[i];
    if (rows->how)
        rows->at[rows->n++] = &other_row;
}

bool hn_layout_is_data(const hn_layout_form *f, uint32_t slot) {
    uint32_t n_data = f->row == &other_row ? f->how->n_data : f->row->n_data;
    return slot < n_data || (f->row->also_data > 0 && slot == f->row->also_data);
}
