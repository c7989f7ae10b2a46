/* Rewrites an Einsum of one or two tensors as Transpose, ReduceSum, Mul or one MatMul. */
#include "pass/rules/moves.h"

/* The letters of a term, one per axis. */
typedef struct ein_term {
    uint32_t n;
    char at[HN_MAX_RANK];
} ein_term;

/* A value whose axes are named by letters. */
typedef struct ein_value {
    hn_id id;
    ein_term axes;
} ein_value;

typedef struct ein_job {
    hn_rule *r;
    uint32_t n_inputs;
    ein_value in[2];
    ein_term out;
    hn_dim size[128]; /* by letter */
} ein_job;

/* ---- reading --------------------------------------------------------------------------------- */

static bool term_has(const ein_term *t, char letter) {
    return memchr(t->at, letter, t->n) != NULL;
}

static void term_add(ein_term *t, char letter) {
    t->at[t->n++] = letter;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads letters up to the next separator, each at most once; refuses ellipses and diagonals. */
static bool read_letters(const char **at, const char *end, ein_term *t) {
    t->n = 0;
    for (; *at < end && **at != ',' && **at != '-'; ++*at) {
        if (**at == ' ')
            continue;
        if (!is_letter(**at) || term_has(t, **at) || t->n == HN_MAX_RANK)
            return false;
        term_add(t, **at);
    }
    return true;
}

/* Without "->" the output has the letters that occur once, in alphabetical order. */
static bool imply_out_term(ein_job *j) {
    j->out.n = 0;
    for (int c = 'A'; c <= 'z'; c++) {
        bool in_first = term_has(&j->in[0].axes, (char)c);
        bool in_second = j->n_inputs == 2 && term_has(&j->in[1].axes, (char)c);
        if (in_first != in_second) {
            if (j->out.n == HN_MAX_RANK)
                return false;
            term_add(&j->out, (char)c);
        }
    }
    return true;
}

static bool read_equation(ein_job *j, hn_bytes text) {
    const char *at = (const char *)text.at, *end = at + text.n;
    for (uint32_t i = 0; i < j->n_inputs; i++) {
        if (i > 0 && (at == end || *at++ != ','))
            return false;
        if (!read_letters(&at, end, &j->in[i].axes))
            return false;
    }
    if (at == end)
        return imply_out_term(j);
    if (end - at < 2 || at[0] != '-' || at[1] != '>')
        return false;
    at += 2;
    return read_letters(&at, end, &j->out) && at == end;
}

/* Reads the size of each letter. Both inputs must provably have the same size for it, because
 * Einsum broadcasts an axis of size 1. */
static bool read_sizes(ein_job *j) {
    memset(j->size, 0, sizeof j->size);
    for (uint32_t i = 0; i < j->n_inputs; i++) {
        const ein_value *v = &j->in[i];
        const hn_shape *s = hn_shape_of(j->r, v->id);
        if (!s || s->rank != (int32_t)v->axes.n)
            return false;
        for (uint32_t k = 0; k < v->axes.n; k++) {
            hn_dim *size = &j->size[(unsigned char)v->axes.at[k]];
            bool is_second = i == 1 && term_has(&j->in[0].axes, v->axes.at[k]);
            if (is_second && (*size != s->dims[k] || *size == HN_DIM_UNKNOWN))
                return false;
            *size = s->dims[k];
        }
    }
    for (uint32_t k = 0; k < j->out.n; k++)
        if (!term_has(&j->in[0].axes, j->out.at[k]) &&
            (j->n_inputs == 1 || !term_has(&j->in[1].axes, j->out.at[k])))
            return false;
    return true;
}

static bool can_multiply(const hn_rule *r, hn_id value) {
    hn_dtype t = hn_elem_of(r, value);
    return t == HN_F32 || t == HN_F64 || t == HN_F16 || t == HN_I32 || t == HN_I64 || t == HN_U32 ||
           t == HN_U64 || (t == HN_BF16 && hn_rule_opset(r) >= 13);
}

static bool read_einsum(hn_rule *r, ein_job *j) {
    const hn_node *n = hn_at(r, r->root);
    const hn_attr *a = hn_node_attr(n, "equation");
    *j = (ein_job){.r = r, .n_inputs = n->n_inputs};
    if (!a || a->kind != HN_ATTR_STRING || n->n_inputs < 1 || n->n_inputs > 2)
        return false;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        j->in[i].id = n->inputs[i];
        if (!can_multiply(r, n->inputs[i]))
            return false;
    }
    return read_equation(j, a->v.s) && read_sizes(j);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Permutes the axes to `order`, which has the same letters. */
static void reorder(ein_job *j, ein_value *v, const ein_term *order) {
    hn_perm perm = {.rank = (int32_t)order->n};
    for (uint32_t i = 0; i < order->n; i++)
        perm.at[i] =
            (uint8_t)((const char *)memchr(v->axes.at, order->at[i], v->axes.n) - v->axes.at);
    if (!hn_perm_is_identity(&perm))
        v->id = hn_make_transpose(j->r, v->id, &perm);
    v->axes = *order;
}

static hn_id make_sum(ein_job *j, hn_id x, uint32_t n, const int64_t *axes) {
    hn_rule *r = j->r;
    hn_attr keep = hn_new_i(r, "keepdims", 0);
    if (hn_rule_opset(r) < 13)
        return hn_make1(r, "ReduceSum", HN_VALUES(x),
                        HN_ATTRS(hn_new_ints(r, "axes", n, axes), keep));
    return hn_make1(r, "ReduceSum", HN_VALUES(x, hn_new_const_i64s(r, "axes", n, axes)),
                    HN_ATTRS(keep));
}

/* Reduces the letters that neither the output nor the other input has. */
static void sum_alone(ein_job *j, ein_value *v, const ein_value *other) {
    ein_term left = {0};
    int64_t axes[HN_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->axes.n; i++) {
        char c = v->axes.at[i];
        if (term_has(&j->out, c) || (other && term_has(&other->axes, c)))
            term_add(&left, c);
        else
            axes[n++] = i;
    }
    if (n > 0)
        v->id = make_sum(j, v->id, n, axes);
    v->axes = left;
}

/* Brings the axes into the order of `over`, with axes of size 1 for missing letters. */
static hn_id spread(ein_job *j, ein_value *v, const ein_term *over) {
    ein_term order = {0};
    int64_t missing[HN_MAX_RANK];
    uint32_t n_missing = 0;
    for (uint32_t i = 0; i < over->n; i++) {
        if (term_has(&v->axes, over->at[i]))
            term_add(&order, over->at[i]);
        else if (order.n > 0) /* leading axes of size 1 come from broadcasting */
            missing[n_missing++] = i;
    }
    uint32_t n_front = over->n - order.n - n_missing;
    for (uint32_t i = 0; i < n_missing; i++)
        missing[i] -= n_front;
    reorder(j, v, &order);
    if (n_missing == 0)
        return v->id;
    return hn_make_with_list(j->r, "Unsqueeze", v->id, "axes", n_missing, missing);
}

/* ---- groups of letters ----------------------------------------------------------------------- */

/* Letters by where they occur: in both inputs and the output, in one input and the output, in both
 * inputs only. */
typedef struct ein_groups {
    ein_term batch, rows, columns, inner;
} ein_groups;

static void group_letters(const ein_job *j, const ein_value *a, const ein_value *b, ein_groups *g) {
    *g = (ein_groups){.batch = {0}};
    for (uint32_t i = 0; i < j->out.n; i++) {
        char c = j->out.at[i];
        bool in_a = term_has(&a->axes, c), in_b = term_has(&b->axes, c);
        term_add(in_a && in_b ? &g->batch : in_a ? &g->rows : &g->columns, c);
    }
    for (uint32_t i = 0; i < b->axes.n; i++)
        if (!term_has(&j->out, b->axes.at[i]))
            term_add(&g->inner, b->axes.at[i]);
}

static ein_term joined(const ein_term *a, const ein_term *b, const ein_term *c) {
    ein_term t = *a;
    for (uint32_t i = 0; i < b->n; i++)
        term_add(&t, b->at[i]);
    for (uint32_t i = 0; i < c->n; i++)
        term_add(&t, c->at[i]);
    return t;
}

/* Writes an elementwise product that is then reduced over the inner letters. */
static hn_id write_mul(ein_job *j, const ein_groups *g) {
    ein_term over = joined(&j->out, &g->inner, &(ein_term){0});
    int64_t axes[HN_MAX_RANK];
    hn_id a = spread(j, &j->in[0], &over), b = spread(j, &j->in[1], &over);
    hn_id product = hn_make1(j->r, "Mul", HN_VALUES(a, b), HN_NO_ATTRS);
    for (uint32_t i = 0; i < g->inner.n; i++)
        axes[i] = j->out.n + i;
    return g->inner.n ? make_sum(j, product, g->inner.n, axes) : product;
}

/* ---- one MatMul ------------------------------------------------------------------------------ */

static void list_sizes(const ein_job *j, const ein_term *t, hn_dim *dims, uint32_t *n) {
    for (uint32_t i = 0; i < t->n; i++)
        dims[(*n)++] = j->size[(unsigned char)t->at[i]];
}

static hn_dim product_of_sizes(const ein_job *j, const ein_term *t) {
    hn_dim all = 1;
    for (uint32_t i = 0; i < t->n; i++)
        all = hn_dim_mul(j->r->pass->model->syms, all, j->size[(unsigned char)t->at[i]]);
    return all;
}

static hn_id reshape_from(ein_job *j, hn_id x, uint32_t n_from, const hn_dim *from, uint32_t n,
                          const hn_dim *want) {
    hn_shape shape = {(int32_t)n_from, from};
    int64_t target[HN_MAX_RANK];
    return n <= HN_MAX_RANK && hn_reshape_target(j->r->pass->model->syms, &shape, n, want, target)
               ? hn_make_reshape_to(j->r, x, n, target)
               : HN_NONE;
}

/* Reshapes to batch axes and one axis for each of the two groups. */
static hn_id make_matrix(ein_job *j, ein_value *v, const ein_term *batch, const ein_term *first,
                         const ein_term *second) {
    ein_term order = joined(batch, first, second);
    hn_dim from[HN_MAX_RANK], to[HN_MAX_RANK + 2];
    uint32_t n_from = 0, n_to = 0;
    reorder(j, v, &order);
    if (first->n == 1 && second->n == 1)
        return v->id;
    list_sizes(j, &order, from, &n_from);
    list_sizes(j, batch, to, &n_to);
    to[n_to++] = product_of_sizes(j, first);
    to[n_to++] = product_of_sizes(j, second);
    return reshape_from(j, v->id, n_from, from, n_to, to);
}

/* Splits a product [batch, rows, columns] into the axes of its letters. */
static hn_id split_axes(ein_job *j, hn_id product, const ein_term *leading, const ein_groups *g,
                        const ein_term *all) {
    hn_dim from[HN_MAX_RANK + 2], to[HN_MAX_RANK];
    uint32_t n_from = 0, n_to = 0;
    list_sizes(j, leading, from, &n_from);
    from[n_from++] = product_of_sizes(j, &g->rows);
    from[n_from++] = product_of_sizes(j, &g->columns);
    list_sizes(j, all, to, &n_to);
    return reshape_from(j, product, n_from, from, n_to, to);
}

/* When the other operand has no batch, rows need not be merged: all but the last are leading
 * axes. */
static hn_id make_product(ein_job *j, ein_value *a, ein_value *b, ein_groups *g, ein_value *out) {
    bool has_vectors = g->batch.n == 0 && g->inner.n == 1; /* MatMul accepts vectors directly */
    bool is_left_vector = has_vectors && g->rows.n == 0 && g->columns.n == 1;
    bool is_right_vector = has_vectors && g->rows.n > 0 && g->columns.n == 0;
    ein_term leading = g->batch;
    out->axes = joined(&g->batch, &g->rows, &g->columns);
    if (g->batch.n == 0 && g->rows.n > 1) {
        leading = g->rows;
        g->rows = (ein_term){.n = 1, .at = {leading.at[--leading.n]}};
    }
    hn_id x = is_left_vector ? a->id : make_matrix(j, a, &leading, &g->rows, &g->inner);
    hn_id y = is_right_vector ? b->id : make_matrix(j, b, &g->batch, &g->inner, &g->columns);
    if (x == HN_NONE || y == HN_NONE)
        return HN_NONE;
    out->id = hn_make1(j->r, "MatMul", HN_VALUES(x, y), HN_NO_ATTRS);
    if (!is_left_vector && !is_right_vector && (g->rows.n != 1 || g->columns.n != 1))
        out->id = split_axes(j, out->id, &leading, g, &out->axes);
    return out->id;
}

static bool is_same_term(const ein_term *a, const ein_term *b) {
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

/* Counts the Transposes that a product of these two in this order needs. */
static uint32_t count_transposes(const ein_job *j, const ein_value *a, const ein_value *b,
                                 const ein_groups *g) {
    ein_term left = joined(&g->batch, &g->rows, &g->inner);
    ein_term right = joined(&g->batch, &g->inner, &g->columns);
    ein_term result = joined(&g->batch, &g->rows, &g->columns);
    return (uint32_t)!is_same_term(&left, &a->axes) + !is_same_term(&right, &b->axes) +
           !is_same_term(&result, &j->out);
}

static hn_id write_matmul(ein_job *j, ein_groups *g) {
    ein_groups swapped;
    ein_value out, *a = &j->in[0], *b = &j->in[1];
    group_letters(j, b, a, &swapped);
    if (count_transposes(j, b, a, &swapped) < count_transposes(j, a, b, g)) {
        a = &j->in[1];
        b = &j->in[0];
        *g = swapped;
    }
    if (make_product(j, a, b, g, &out) == HN_NONE)
        return HN_NONE;
    reorder(j, &out, &j->out);
    return out.id;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static hone_status rewrite_einsum(hn_rule *r) {
    ein_job j;
    if (!read_einsum(r, &j))
        return hn_miss(r,
                       "it does not have one or two inputs of known sizes, or has an ellipsis or a "
                       "diagonal");
    sum_alone(&j, &j.in[0], j.n_inputs == 2 ? &j.in[1] : NULL);
    if (j.n_inputs == 1) {
        reorder(&j, &j.in[0], &j.out);
        if (j.in[0].id != hn_in(r, r->root, 0))
            hn_rule_replace(r, j.in[0].id);
        return HONE_OK;
    }
    sum_alone(&j, &j.in[1], &j.in[0]);
    ein_groups g;
    group_letters(&j, &j.in[0], &j.in[1], &g);
    bool has_matrices = g.inner.n > 0 && g.rows.n + g.columns.n > 0;
    hn_id product = has_matrices ? write_matmul(&j, &g) : write_mul(&j, &g);
    if (product == HN_NONE)
        return hn_miss(r, "its symbolic sizes cannot be merged into the axes of matrices");
    hn_rule_replace(r, product);
    return HONE_OK;
}

hone_status hn_pass_einsum_matmul(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "einsum", .pattern = "Einsum", .fn = rewrite_einsum},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
