/* Arithmetic on dimensions and on the integers of shape computations. */
#include "ir/sym_int.h"

/* ---- dimensions and polynomials ---- */

/* Expression e is the dimension -(e + 2): below HN_DIM_UNKNOWN. */
static hn_dim dim_of_expr(uint32_t expr) {
    return -(hn_dim)expr - 2;
}

bool hn_expr_of_dim(const hn_syms *s, hn_dim d, uint32_t *expr) {
    if (!hn_dim_is_symbolic(d) || d < dim_of_expr(UINT32_MAX))
        return false;
    *expr = (uint32_t)(-(d + 2));
    return *expr < s->exprs.n;
}

bool hn_dim_is_valid(const hn_syms *s, hn_dim d) {
    uint32_t expr;
    return d >= HN_DIM_UNKNOWN || hn_expr_of_dim(s, d, &expr);
}

bool hn_poly_from_dim(const hn_syms *s, hn_dim d, hn_poly *p) {
    uint32_t expr;
    if (hn_dim_is_known(d)) {
        hn_poly_set_const(p, d);
        return true;
    }
    if (!hn_expr_of_dim(s, d, &expr))
        return false;
    hn_poly_set_expr(s, p, expr);
    return true;
}

hn_sint hn_poly_to_sint(hn_syms *s, const hn_poly *p) {
    int64_t value;
    uint32_t expr;
    if (hn_poly_is_const(p, &value))
        return hn_sint_const(value);
    if (!hn_expr_intern(s, p, &expr))
        return (hn_sint){HN_SINT_UNKNOWN, 0};
    return (hn_sint){HN_SINT_DIM, dim_of_expr(expr)};
}

hn_sint hn_sint_from_dim(hn_dim d) {
    if (d == HN_DIM_UNKNOWN)
        return (hn_sint){HN_SINT_UNKNOWN, 0};
    return (hn_sint){hn_dim_is_known(d) ? HN_SINT_CONST : HN_SINT_DIM, d};
}

hn_dim hn_sint_to_dim(hn_sint s) {
    if (s.kind == HN_SINT_UNKNOWN || (s.kind == HN_SINT_CONST && s.v < 0))
        return HN_DIM_UNKNOWN;
    return s.v;
}

static bool poly_from_sint(const hn_syms *s, hn_sint v, hn_poly *p) {
    if (v.kind == HN_SINT_CONST) {
        hn_poly_set_const(p, v.v);
        return true;
    }
    return v.kind == HN_SINT_DIM && hn_poly_from_dim(s, v.v, p);
}

/* ---- operations ---- */

typedef bool (*poly_op)(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out);

static bool add_polys(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    *out = *a;
    return hn_poly_add_scaled(s, out, b, 1);
}

static bool subtract_polys(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    return hn_poly_subtract(s, a, b, out);
}

static bool max_polys(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    return hn_poly_extreme(s, HN_ATOM_MAX, a, b, out);
}

static bool min_polys(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    return hn_poly_extreme(s, HN_ATOM_MIN, a, b, out);
}

static bool ceil_div_polys(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    hn_poly raised;
    return add_polys(s, a, b, &raised) && hn_poly_add_const(s, &raised, -1) &&
           hn_poly_floor_div(s, &raised, b, out);
}

static bool is_nonpositive(const hn_syms *s, const hn_poly *p) {
    hn_poly negated = *p;
    return hn_poly_scale(&negated, -1) && hn_poly_is_nonneg(s, &negated);
}

/* Rounds toward zero: the floor of the magnitudes, with the sign restored. A dividend whose sign
 * depends on its symbols is usually a size minus a margin; it is assumed not to be negative. */
static bool truncating_div_polys(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    hn_poly num = *a, den = *b;
    bool negative_num = !hn_poly_is_nonneg(s, a) && is_nonpositive(s, a);
    bool negative_den = !hn_poly_is_nonneg(s, b) && is_nonpositive(s, b);
    if ((negative_num && !hn_poly_scale(&num, -1)) || (negative_den && !hn_poly_scale(&den, -1)))
        return false;
    return hn_poly_floor_div(s, &num, &den, out) &&
           (negative_num == negative_den || hn_poly_scale(out, -1));
}

/* Remainder of the floor division, with the sign of the divisor. */
static bool mod_polys(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    hn_poly quotient, product;
    return hn_poly_floor_div(s, a, b, &quotient) && hn_poly_multiply(s, &quotient, b, &product) &&
           hn_poly_subtract(s, a, &product, out);
}

static hn_sint apply_poly_op(hn_syms *s, poly_op op, hn_sint a, hn_sint b) {
    hn_poly x, y, result;
    if (!poly_from_sint(s, a, &x) || !poly_from_sint(s, b, &y) || !op(s, &x, &y, &result))
        return (hn_sint){HN_SINT_UNKNOWN, 0};
    return hn_poly_to_sint(s, &result);
}

hn_sint hn_sint_apply(hn_syms *s, hn_sint_op op, hn_sint a, hn_sint b) {
    static const poly_op ops[] = {
        [HN_SINT_ADD] = add_polys,        [HN_SINT_SUB] = subtract_polys,
        [HN_SINT_MUL] = hn_poly_multiply, [HN_SINT_DIV] = truncating_div_polys,
        [HN_SINT_MOD] = mod_polys,        [HN_SINT_MAX] = max_polys,
        [HN_SINT_MIN] = min_polys,
    };
    return apply_poly_op(s, ops[op], a, b);
}

static hn_dim apply_to_dims(hn_syms *s, poly_op op, hn_dim a, hn_dim b) {
    return hn_sint_to_dim(apply_poly_op(s, op, hn_sint_from_dim(a), hn_sint_from_dim(b)));
}

hn_dim hn_dim_add(hn_syms *s, hn_dim a, hn_dim b) {
    return apply_to_dims(s, add_polys, a, b);
}

hn_dim hn_dim_sub(hn_syms *s, hn_dim a, hn_dim b) {
    return apply_to_dims(s, subtract_polys, a, b);
}

hn_dim hn_dim_mul(hn_syms *s, hn_dim a, hn_dim b) {
    return apply_to_dims(s, hn_poly_multiply, a, b);
}

hn_dim hn_dim_floor_div(hn_syms *s, hn_dim a, hn_dim b) {
    return apply_to_dims(s, hn_poly_floor_div, a, b);
}

hn_dim hn_dim_ceil_div(hn_syms *s, hn_dim a, hn_dim b) {
    return apply_to_dims(s, ceil_div_polys, a, b);
}

hn_dim hn_dim_max(hn_syms *s, hn_dim a, hn_dim b) {
    return apply_to_dims(s, max_polys, a, b);
}

hn_dim hn_dim_min(hn_syms *s, hn_dim a, hn_dim b) {
    return apply_to_dims(s, min_polys, a, b);
}

hn_dim hn_dim_add_i(hn_syms *s, hn_dim a, int64_t b) {
    return hn_sint_to_dim(apply_poly_op(s, add_polys, hn_sint_from_dim(a), hn_sint_const(b)));
}

hn_dim hn_dim_mul_i(hn_syms *s, hn_dim a, int64_t b) {
    return hn_sint_to_dim(
        apply_poly_op(s, hn_poly_multiply, hn_sint_from_dim(a), hn_sint_const(b)));
}

/* ---- symbols ---- */

hn_dim hn_dim_symbol(hn_syms *s, hn_str name) {
    hn_poly p;
    if (!name || !hn_poly_set_symbol(s, &p, name))
        return HN_DIM_UNKNOWN;
    return hn_sint_to_dim(hn_poly_to_sint(s, &p));
}

bool hn_dim_is_symbol(const hn_syms *s, hn_dim d, hn_str *name) {
    uint32_t expr;
    if (!hn_expr_of_dim(s, d, &expr))
        return false;
    const hn_expr *e = &s->exprs.at[expr];
    if (e->n != 1 || e->terms[0].coef != 1)
        return false;
    const hn_atom *atom = hn_mono_single_atom(s, e->terms[0].mono);
    if (!atom || atom->kind != HN_ATOM_SYMBOL)
        return false;
    *name = atom->name;
    return true;
}

bool hn_dim_at_least(const hn_syms *s, hn_dim d, int64_t least) {
    hn_poly p;
    if (hn_dim_is_known(d))
        return d >= least;
    int64_t shift;
    return hn_poly_from_dim(s, d, &p) && hn_mul_i64(least, -1, &shift) &&
           hn_poly_add_const(s, &p, shift) && hn_poly_is_nonneg(s, &p);
}

/* ---- substitution ---- */

typedef struct substitution {
    hn_str symbol;
    const hn_poly *with; /* NULL: the value is unknown */
} substitution;

static bool subst_expr(hn_syms *s, const substitution *sub, uint32_t expr, hn_poly *out);

static bool subst_atom(hn_syms *s, const substitution *sub, const hn_atom *atom, hn_poly *out) {
    if (atom->kind == HN_ATOM_SYMBOL) {
        if (atom->name != sub->symbol)
            return hn_poly_set_symbol(s, out, atom->name);
        if (sub->with)
            *out = *sub->with;
        return sub->with != NULL;
    }
    if (!subst_expr(s, sub, atom->args[0], out))
        return false;
    for (uint32_t i = 1; i < atom->n_args; i++) {
        hn_poly left = *out, right;
        if (!subst_expr(s, sub, atom->args[i], &right))
            return false;
        if (!(atom->kind == HN_ATOM_FLOOR ? hn_poly_floor_div(s, &left, &right, out)
                                          : hn_poly_extreme(s, atom->kind, &left, &right, out)))
            return false;
    }
    return true;
}

/* Recursion ends with the depth limit of atoms. Pointers into the tables stay readable while those
 * grow: the arena keeps the old blocks and stored items never change. */
static bool subst_expr(hn_syms *s, const substitution *sub, uint32_t expr, hn_poly *out) {
    const hn_expr *e = &s->exprs.at[expr];
    out->n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const hn_mono *m = &s->monos.at[e->terms[i].mono];
        hn_poly term;
        hn_poly_set_const(&term, e->terms[i].coef);
        for (uint32_t k = 0; k < m->n; k++) {
            hn_poly left = term, factor;
            if (!subst_atom(s, sub, &s->atoms.at[m->atoms[k]], &factor) ||
                !hn_poly_multiply(s, &left, &factor, &term))
                return false;
        }
        if (!hn_poly_add_scaled(s, out, &term, 1))
            return false;
    }
    return true;
}

hn_dim hn_dim_subst(hn_syms *s, hn_dim d, hn_str symbol, hn_dim with) {
    hn_poly replacement, result;
    uint32_t expr;
    if (!hn_expr_of_dim(s, d, &expr))
        return hn_dim_is_known(d) ? d : HN_DIM_UNKNOWN;
    substitution sub = {symbol, hn_poly_from_dim(s, with, &replacement) ? &replacement : NULL};
    if (!subst_expr(s, &sub, expr, &result))
        return HN_DIM_UNKNOWN;
    return hn_sint_to_dim(hn_poly_to_sint(s, &result));
}
