/* Inference rules of operators that broadcast their inputs, and the integers that they
 * propagate. */
#include "ops/infer/follow.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* Variadic operators broadcast since version 8, the others since 7. */
static bool is_before_broadcast(const hn_infer *c) {
    static const char *const variadic[] = {"Max", "Mean", "Min", "Sum"};
    return hn_infer_version(c) < (is_one_of(hn_infer_op(c), variadic, HN_COUNT(variadic)) ? 8 : 7);
}

/* All inputs have one shape. */
static hone_status infer_equal_shapes(hn_infer *c) {
    hn_dim *dims = NULL;
    int32_t rank = -1;
    for (uint32_t k = 0; k < hn_n_inputs(c); k++) {
        const hn_shape *s = hn_in_shape(c, k);
        if (!s)
            continue;
        if (!dims) {
            rank = s->rank;
            dims = hn_infer_dims(c, rank);
            HN_TRY_PTR(dims);
        }
        if (s->rank != rank)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "input %u is %s, but all inputs must have rank %d", k,
                                 hn_in_text(c, k), rank);
        for (int32_t i = 0; i < rank; i++)
            HN_TRY(hn_merge_dim(c, "a dimension that all inputs share", dims[i], s->dims[i],
                                &dims[i]));
    }
    return hn_out_shape(c, 0, rank, dims);
}

/* Before version 7, B is aligned with a run of A's axes, from `axis` on or else at the end, and A
 * determines the shape. */
static hone_status infer_one_sided(hn_infer *c) {
    const hn_shape *a = hn_in_shape(c, 0), *b = hn_in_shape(c, 1);
    if (!a || !b)
        return hn_out_shape_of(c, 0, 0);
    int64_t shift = hn_attr_i(c, "axis", (int64_t)a->rank - b->rank);
    bool fits = shift >= 0 && shift <= (int64_t)a->rank - b->rank;
    for (int32_t i = 0; fits && i < b->rank; i++) {
        hn_dim of_a = a->dims[shift + i], of_b = b->dims[i];
        fits = of_b == 1 || !hn_dim_is_known(of_a) || !hn_dim_is_known(of_b) || of_a == of_b;
    }
    if (!fits)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "B is %s and does not fit A, which is %s, from axis %lld on",
                             hn_in_text(c, 1), hn_in_text(c, 0), (long long)shift);
    return hn_out_shape_of(c, 0, 0);
}

static hone_status infer_broadcast_shape(hn_infer *c) {
    uint32_t n = hn_n_inputs(c);
    int32_t rank;
    const hn_dim *dims;
    const hn_shape **shapes = HN_NEW_N(hn_infer_arena(c), const hn_shape *, (size_t)n + 1);
    HN_TRY_PTR(shapes);
    for (uint32_t i = 0; i < n; i++)
        shapes[i] = hn_in_shape(c, i);
    HN_TRY(hn_broadcast(c, n, shapes, &rank, &dims));
    return hn_out_shape(c, 0, rank, dims);
}

/* ---- followed integers ----------------------------------------------------------------------- */

typedef hn_sint (*combine_fn)(hn_syms *s, int how, hn_sint a, hn_sint b);

/* The elements of an input: one, or as many as the longest input has. */
typedef struct operand {
    uint32_t n;
    const hn_sint *elems;
    bool is_scalar;
} operand;

static bool read_operand(const hn_infer *c, uint32_t input, operand *o) {
    return hn_in_ints(c, input, &o->n, &o->elems, &o->is_scalar);
}

static hn_sint operand_at(const operand *o, uint32_t i) {
    return o->elems[o->n == 1 ? 0 : i];
}

/* False when neither count is 1 and they differ, which a wrong declaration can cause. */
static bool broadcast_count(uint32_t a, uint32_t b, uint32_t *out) {
    *out = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
}

static hone_status follow_pairs(hn_infer *c, hn_dtype elem, combine_fn combine, int how) {
    operand all, next;
    if (!read_operand(c, 0, &all))
        return HONE_OK;
    for (uint32_t k = 1; k < hn_n_inputs(c); k++) {
        uint32_t n;
        if (!read_operand(c, k, &next) || !broadcast_count(all.n, next.n, &n))
            return HONE_OK;
        hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)n + 1);
        HN_TRY_PTR(out);
        for (uint32_t i = 0; i < n; i++)
            out[i] = combine(hn_infer_syms(c), how, operand_at(&all, i), operand_at(&next, i));
        all = (operand){n, out, all.is_scalar && next.is_scalar};
    }
    return hn_out_followed(c, 0, elem, all.n, all.elems, all.is_scalar);
}

static hn_sint combine_arithmetic(hn_syms *s, int how, hn_sint a, hn_sint b) {
    return hn_sint_apply(s, (hn_sint_op)how, a, b);
}

/* bool elements are 0 and 1, so And is the smaller and Or the larger. */
static const struct {
    const char *op;
    hn_sint_op how;
} followed_arithmetic[] = {
    {"Add", HN_SINT_ADD}, {"Sub", HN_SINT_SUB}, {"Mul", HN_SINT_MUL},
    {"Div", HN_SINT_DIV}, {"Mod", HN_SINT_MOD}, {"Max", HN_SINT_MAX},
    {"Min", HN_SINT_MIN}, {"And", HN_SINT_MIN}, {"Or", HN_SINT_MAX},
};

static hone_status follow_arithmetic(hn_infer *c) {
    if (hn_attr_i(c, "fmod", 0)) /* its sign is that of the dividend */
        return HONE_OK;
    for (size_t i = 0; i < HN_COUNT(followed_arithmetic); i++)
        if (strcmp(hn_infer_op(c), followed_arithmetic[i].op) == 0)
            return follow_pairs(c, hn_in_elem(c, 0), combine_arithmetic,
                                (int)followed_arithmetic[i].how);
    return HONE_OK;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

enum { IS_LESS = 1, IS_EQUAL = 2, IS_GREATER = 4 };

/* The orders of a and b that cannot be excluded. */
static int possible_orders(hn_syms *s, hn_sint a, hn_sint b) {
    hn_sint more = hn_sint_apply(s, HN_SINT_SUB, a, b), less = hn_sint_apply(s, HN_SINT_SUB, b, a);
    int orders = IS_LESS | IS_EQUAL | IS_GREATER;
    if (hn_sint_at_least(s, more, 0))
        orders &= ~IS_LESS;
    if (hn_sint_at_least(s, less, 0))
        orders &= ~IS_GREATER;
    if (hn_sint_at_least(s, more, 1) || hn_sint_at_least(s, less, 1))
        orders &= ~IS_EQUAL;
    return orders;
}

static hn_sint combine_compare(hn_syms *s, int wanted, hn_sint a, hn_sint b) {
    int orders = possible_orders(s, a, b);
    if ((orders & wanted) == 0)
        return hn_sint_const(0);
    return (orders & ~wanted) == 0 ? hn_sint_const(1) : (hn_sint){HN_SINT_UNKNOWN, 0};
}

static const struct {
    const char *op;
    int wanted;
} followed_compare[] = {
    {"Equal", IS_EQUAL},
    {"Greater", IS_GREATER},
    {"GreaterOrEqual", IS_GREATER | IS_EQUAL},
    {"Less", IS_LESS},
    {"LessOrEqual", IS_LESS | IS_EQUAL},
};

/* ---- rules ----------------------------------------------------------------------------------- */

static hone_status infer_operands(hn_infer *c) {
    if (!is_before_broadcast(c))
        return infer_broadcast_shape(c);
    return hn_attr_i(c, "broadcast", 0) ? infer_one_sided(c) : infer_equal_shapes(c);
}

hone_status hn_infer_broadcast(hn_infer *c) {
    if (strcmp(hn_infer_op(c), "BitShift") == 0 && !hn_attr_is(c, "direction", "LEFT") &&
        !hn_attr_is(c, "direction", "RIGHT"))
        return hn_infer_fail(c, HONE_E_INVALID, "direction must be LEFT or RIGHT");
    HN_TRY(infer_operands(c));
    return follow_arithmetic(c);
}

hone_status hn_infer_compare(hn_infer *c) {
    HN_TRY(infer_operands(c));
    for (size_t i = 0; i < HN_COUNT(followed_compare); i++)
        if (strcmp(hn_infer_op(c), followed_compare[i].op) == 0)
            return follow_pairs(c, HN_BOOL, combine_compare, followed_compare[i].wanted);
    return HONE_OK;
}

static hn_sint choose(hn_sint condition, hn_sint a, hn_sint b) {
    if (condition.kind == HN_SINT_CONST)
        return condition.v ? a : b;
    return a.kind == b.kind && a.v == b.v ? a : (hn_sint){HN_SINT_UNKNOWN, 0};
}

hone_status hn_infer_where(hn_infer *c) {
    operand cond, a, b;
    HN_TRY(infer_broadcast_shape(c));
    uint32_t n;
    if (!read_operand(c, 0, &cond) || !read_operand(c, 1, &a) || !read_operand(c, 2, &b) ||
        !broadcast_count(cond.n, a.n, &n) || !broadcast_count(n, b.n, &n))
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)n + 1);
    HN_TRY_PTR(out);
    for (uint32_t i = 0; i < n; i++)
        out[i] = choose(operand_at(&cond, i), operand_at(&a, i), operand_at(&b, i));
    return hn_out_followed(c, 0, hn_in_elem(c, 1), n, out,
                           cond.is_scalar && a.is_scalar && b.is_scalar);
}
