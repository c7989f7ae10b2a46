/* What the operators of all kinds need to work channels-last, and those that work as themselves on
 * other axes. */
#include "cpu/passes/layout.h"

#define FREE_DIM 64.0    /* taken for a size that is not known */
#define NODE_BYTES 256.0 /* what a Transpose costs beside its data */

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

bool hn_layout_is_last(const hn_perm *p) {
    hn_perm last = hn_layout_last(p->rank);
    return p->rank > 0 && hn_perm_same(p, &last);
}

/* ---- costs ----------------------------------------------------------------------------------- */

double hn_layout_elems(const hn_shape *s) {
    double n = 1;
    for (int32_t i = 0; s && i < s->rank; i++)
        n *= hn_dim_is_known(s->dims[i]) ? (double)s->dims[i] : FREE_DIM;
    return n;
}

double hn_layout_bytes(const hn_rule *r, hn_id value) {
    return hn_layout_elems(hn_shape_of(r, value)) * HN_MAX(hn_dtype_bits(hn_elem_of(r, value)), 8) /
           8;
}

double hn_layout_cost(const hn_rule *r, hn_id value, const hn_perm *perm) {
    hn_perm inverse = hn_perm_inverse(perm);
    bool is_free = hn_perm_is_free(&inverse, hn_shape_of(r, value));
    return is_free ? NODE_BYTES : NODE_BYTES + hn_layout_bytes(r, value);
}

/* ---- turning values -------------------------------------------------------------------------- */

void hn_layout_dims(const hn_shape *s, const hn_perm *perm, hn_dim *dims) {
    for (int32_t i = 0; i < s->rank; i++)
        dims[perm->at[i]] = s->dims[i];
}

hn_id hn_layout_between(hn_rule *r, hn_id x, const hn_shape *from, int32_t rank, const hn_dim *to) {
    int64_t target[HN_MAX_RANK];
    return hn_reshape_target(r->pass->model->syms, from, (uint32_t)rank, to, target)
               ? hn_make_reshape_to(r, x, (uint32_t)rank, target)
               : HN_NONE;
}

hn_id hn_layout_turn(hn_rule *r, hn_id x, hn_id like, const hn_perm *perm, bool is_back) {
    hn_perm inverse = hn_perm_inverse(perm);
    const hn_shape *s = hn_shape_of(r, like);
    hn_dim dims[HN_MAX_RANK];
    hn_id moved = HN_NONE;
    r->name = hn_intern_z(r->pass->model->names, is_back ? "channels_first" : "channels_last");
    if (s && hn_perm_is_free(&inverse, s)) {
        hn_layout_dims(s, perm, dims);
        hn_shape turned = {.rank = s->rank, .dims = dims};
        moved = hn_layout_between(r, x, is_back ? &turned : s, s->rank, is_back ? s->dims : dims);
    }
    moved = moved != HN_NONE ? moved : hn_make_transpose(r, x, is_back ? perm : &inverse);
    r->name = NULL;
    return moved;
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Pieces of a last axis lie apart from each other: some have to be copied. */
static double copied_bytes(const hn_rule *r, hn_id node) {
    if (hn_is_op(r, node, "Concat"))
        return hn_layout_bytes(r, hn_out(r, node, 0));
    return 0;
}

static bool judge_other(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->saved_bytes = -copied_bytes(r, node) / 8;
    return f->in.rank > 0 && f->how->turn(r, node, &f->in, &f->out);
}

static void write_other(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                        hn_id *outputs) {
    hn_id made = f->how->write(r, node, &f->in, inputs);
    for (uint32_t i = 0; i < hn_at(r, node)->n_outputs; i++)
        outputs[i] = hn_out(r, made, i);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hn_layout_row other_row = {"", 0, 0, 0, judge_other, write_other};

void hn_layout_find_rows(const hn_rule *r, hn_id node, hn_layout_rows *rows) {
    *rows = (hn_layout_rows){.how = hn_relayout_find(r, node)};
    const hn_layout_row *own = hn_layout_twin(r, node);
    own = own ? own : hn_layout_bytes_row(r, node);
    own = own ? own : hn_layout_move(r, node);
    if (own)
        rows->at[rows->n++] = own;
    if (rows->how)
        rows->at[rows->n++] = &other_row;
}

bool hn_layout_is_data(const hn_layout_form *f, uint32_t slot) {
    uint32_t n_data = f->row == &other_row ? f->how->n_data : f->row->n_data;
    uint32_t also = f->row->also_data, step = f->row->data_step;
    return slot < n_data || (also > 0 && slot == also) ||
           (step > 0 && slot >= also && (slot - also) % step == 0);
}
