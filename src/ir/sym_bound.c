/* Proofs about the sign of an expression, and max and min, which use them. */
#include "ir/sym_int.h"

/* ---- ranges ---- */

/* Both ends inclusive; INT64_MIN and INT64_MAX mean that nothing is known on that side, and so does
 * every overflow. */
typedef struct sym_range {
    int64_t lo, hi;
} sym_range;

static const sym_range unbounded = {INT64_MIN, INT64_MAX};

static bool range_is_nonneg(sym_range r) {
    return r.lo >= 0;
}

static sym_range add_ranges(sym_range a, sym_range b) {
    sym_range sum = unbounded;
    if (a.lo == INT64_MIN || b.lo == INT64_MIN || !hn_add_i64(a.lo, b.lo, &sum.lo))
        sum.lo = INT64_MIN;
    if (a.hi == INT64_MAX || b.hi == INT64_MAX || !hn_add_i64(a.hi, b.hi, &sum.hi))
        sum.hi = INT64_MAX;
    return sum;
}

static sym_range scale_range(sym_range r, int64_t factor) {
    sym_range scaled = unbounded;
    int64_t from_lo = factor > 0 ? INT64_MIN : INT64_MAX,
            from_hi = factor > 0 ? INT64_MAX : INT64_MIN;
    if (r.lo != INT64_MIN)
        (void)hn_mul_i64(r.lo, factor, &from_lo);
    if (r.hi != INT64_MAX)
        (void)hn_mul_i64(r.hi, factor, &from_hi);
    scaled.lo = factor > 0 ? from_lo : from_hi;
    scaled.hi = factor > 0 ? from_hi : from_lo;
    return scaled;
}

/* Sizes are not negative, so other signs are not handled. */
static sym_range multiply_ranges(sym_range a, sym_range b) {
    sym_range product = unbounded;
    if (!range_is_nonneg(a) || !range_is_nonneg(b))
        return product;
    if (!hn_mul_i64(a.lo, b.lo, &product.lo))
        product.lo = 0;
    if (a.hi != INT64_MAX && b.hi != INT64_MAX)
        (void)hn_mul_i64(a.hi, b.hi, &product.hi);
    return product;
}

static sym_range divide_range(sym_range num, sym_range den) {
    if (den.lo == den.hi && den.lo > 0) {
        sym_range quotient = unbounded;
        if (num.lo != INT64_MIN)
            quotient.lo = hn_floor_div(num.lo, den.lo);
        if (num.hi != INT64_MAX)
            quotient.hi = hn_floor_div(num.hi, den.lo);
        return quotient;
    }
    if (range_is_nonneg(num) && range_is_nonneg(den)) /* and the divisor is nonzero: at least 1 */
        return (sym_range){0, num.hi};
    return unbounded;
}

static sym_range range_of_terms(const hn_syms *s, const hn_term *terms, uint32_t n);

static sym_range range_of_expr(const hn_syms *s, uint32_t expr) {
    return range_of_terms(s, s->exprs.at[expr].terms, s->exprs.at[expr].n);
}

/* Recursion ends with the depth limit of atoms. */
static sym_range range_of_atom(const hn_syms *s, const hn_atom *atom) {
    if (atom->kind == HN_ATOM_SYMBOL)
        return (sym_range){0, INT64_MAX};
    sym_range first = range_of_expr(s, atom->args[0]);
    if (atom->kind == HN_ATOM_FLOOR)
        return divide_range(first, range_of_expr(s, atom->args[1]));
    for (uint32_t i = 1; i < atom->n_args; i++) {
        sym_range arg = range_of_expr(s, atom->args[i]);
        bool is_max = atom->kind == HN_ATOM_MAX;
        first.lo = is_max ? HN_MAX(first.lo, arg.lo) : HN_MIN(first.lo, arg.lo);
        first.hi = is_max ? HN_MAX(first.hi, arg.hi) : HN_MIN(first.hi, arg.hi);
    }
    return first;
}

static sym_range range_of_mono(const hn_syms *s, uint64_t mono) {
    const hn_mono *m = &s->monos.at[mono];
    if (m->n == 1) /* its sym_range may be negative */
        return range_of_atom(s, &s->atoms.at[m->atoms[0]]);
    sym_range product = {1, 1};
    for (uint32_t i = 0; i < m->n; i++)
        product = multiply_ranges(product, range_of_atom(s, &s->atoms.at[m->atoms[i]]));
    return product;
}

static sym_range range_of_terms(const hn_syms *s, const hn_term *terms, uint32_t n) {
    sym_range sum = {0, 0};
    for (uint32_t i = 0; i < n; i++)
        sum = add_ranges(sum, scale_range(range_of_mono(s, terms[i].mono), terms[i].coef));
    return sum;
}

/* ---- proof of p >= 0 ---- */

static bool prove_nonneg(const hn_syms *s, const hn_poly *p, int *budget);

/* p without term i, times `scale`, plus `coef` times the expression: what remains to be proved. */
static bool replace_term(const hn_syms *s, const hn_poly *p, uint32_t i, int64_t scale,
                         uint32_t expr, hn_poly *out) {
    hn_poly replacement;
    hn_poly_set_expr(s, &replacement, expr);
    out->n = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        int64_t coef;
        if (k == i)
            continue;
        if (!hn_mul_i64(p->terms[k].coef, scale, &coef) ||
            !hn_poly_add_term(s, out, coef, p->terms[k].mono))
            return false;
    }
    return hn_poly_add_scaled(s, out, &replacement, p->terms[i].coef);
}

/* With d = divisor: x - d + 1 <= d*floor(x/d) <= x. Multiplying p by d and putting the worse side
 * in gives no more than d*p. */
static bool prove_with_floor(const hn_syms *s, const hn_poly *p, uint32_t i, const hn_atom *atom,
                             int *budget) {
    hn_poly den, weaker;
    int64_t d, slack;
    hn_poly_set_expr(s, &den, atom->args[1]);
    if (!hn_poly_is_const(&den, &d) || !replace_term(s, p, i, d, atom->args[0], &weaker))
        return false;
    if (p->terms[i].coef > 0 &&
        (!hn_mul_i64(p->terms[i].coef, 1 - d, &slack) || !hn_poly_add_const(s, &weaker, slack)))
        return false;
    return prove_nonneg(s, &weaker, budget);
}

/* A maximum is at least each argument, and equals one of them: one proof is enough when it counts
 * positively, all are needed when it counts negatively. A minimum is the mirror image. */
static bool prove_with_extreme(const hn_syms *s, const hn_poly *p, uint32_t i, const hn_atom *atom,
                               int *budget) {
    bool any_is_enough = (atom->kind == HN_ATOM_MAX) == (p->terms[i].coef > 0);
    for (uint32_t k = 0; k < atom->n_args; k++) {
        hn_poly weaker;
        bool proved =
            replace_term(s, p, i, 1, atom->args[k], &weaker) && prove_nonneg(s, &weaker, budget);
        if (proved == any_is_enough)
            return proved;
    }
    return !any_is_enough;
}

/* Each step removes one atom; the budget bounds the search. */
static bool prove_nonneg(const hn_syms *s, const hn_poly *p, int *budget) {
    if (range_is_nonneg(range_of_terms(s, p->terms, p->n)))
        return true;
    if (--*budget < 0)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        const hn_atom *atom = hn_mono_single_atom(s, p->terms[i].mono);
        if (!atom || atom->kind == HN_ATOM_SYMBOL)
            continue;
        if (atom->kind == HN_ATOM_FLOOR ? prove_with_floor(s, p, i, atom, budget)
                                        : prove_with_extreme(s, p, i, atom, budget))
            return true;
    }
    return false;
}

bool hn_poly_is_nonneg(const hn_syms *s, const hn_poly *p) {
    int budget = 32;
    return prove_nonneg(s, p, &budget);
}

/* ---- max and min ---- */

/* True when the kind would pick `a` over `b` whatever the symbols are. */
static bool dominates(const hn_syms *s, hn_atom_kind kind, uint32_t a, uint32_t b) {
    hn_poly x, y, difference;
    hn_poly_set_expr(s, &x, kind == HN_ATOM_MAX ? a : b);
    hn_poly_set_expr(s, &y, kind == HN_ATOM_MAX ? b : a);
    return hn_poly_subtract(s, &x, &y, &difference) && hn_poly_is_nonneg(s, &difference);
}

/* Inserts an argument into the sorted list unless another one dominates it; removes those that it
 * dominates. */
static bool add_argument(const hn_syms *s, hn_atom *atom, uint32_t expr) {
    for (uint32_t i = 0; i < atom->n_args; i++) {
        if (dominates(s, atom->kind, atom->args[i], expr))
            return true;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < atom->n_args; i++) {
        if (!dominates(s, atom->kind, expr, atom->args[i]))
            atom->args[kept++] = atom->args[i];
    }
    atom->n_args = kept;
    if (kept == HN_SYM_MAX_ARGS)
        return false;
    uint32_t at = kept;
    for (; at > 0 && hn_expr_compare(s, atom->args[at - 1], expr) > 0; at--)
        atom->args[at] = atom->args[at - 1];
    atom->args[at] = expr;
    atom->n_args++;
    return true;
}

/* max(max(a, b), c) is one maximum of three. */
static bool add_operand(hn_syms *s, hn_atom *atom, const hn_poly *p) {
    const hn_atom *inner =
        p->n == 1 && p->terms[0].coef == 1 ? hn_mono_single_atom(s, p->terms[0].mono) : NULL;
    if (!inner || inner->kind != atom->kind) {
        uint32_t expr;
        return hn_expr_intern(s, p, &expr) && add_argument(s, atom, expr);
    }
    for (uint32_t i = 0; i < inner->n_args; i++) {
        if (!add_argument(s, atom, inner->args[i]))
            return false;
    }
    return true;
}

bool hn_poly_extreme(hn_syms *s, hn_atom_kind kind, const hn_poly *a, const hn_poly *b,
                     hn_poly *out) {
    hn_atom atom = {.kind = kind};
    int64_t x, y;
    if (hn_poly_is_const(a, &x) && hn_poly_is_const(b, &y)) {
        hn_poly_set_const(out, kind == HN_ATOM_MAX ? HN_MAX(x, y) : HN_MIN(x, y));
        return true;
    }
    if (!add_operand(s, &atom, a) || !add_operand(s, &atom, b))
        return false;
    if (atom.n_args > 1)
        return hn_poly_set_atom(s, out, &atom);
    hn_poly_set_expr(s, out, atom.args[0]);
    return true;
}
