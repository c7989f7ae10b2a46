/* The number that an expression stands for when its symbols have sizes. */
#include "ir/sym_int.h"

typedef struct valuation {
    const hn_syms *syms;
    hn_symbol_size_fn size_of;
    void *ctx;
} valuation;

static bool value_of_expr(const valuation *v, uint32_t expr, int64_t *out);

static bool join_values(hn_atom_kind kind, int64_t a, int64_t b, int64_t *out) {
    if (kind == HN_ATOM_FLOOR && b <= 0)
        return false;
    if (kind == HN_ATOM_FLOOR)
        *out = hn_floor_div(a, b);
    else
        *out = kind == HN_ATOM_MAX ? HN_MAX(a, b) : HN_MIN(a, b);
    return true;
}

static bool value_of_atom(const valuation *v, const hn_atom *atom, int64_t *out) {
    if (atom->kind == HN_ATOM_SYMBOL)
        return v->size_of(v->ctx, atom->name, out);
    if (!value_of_expr(v, atom->args[0], out))
        return false;
    for (uint32_t i = 1; i < atom->n_args; i++) {
        int64_t next;
        if (!value_of_expr(v, atom->args[i], &next) || !join_values(atom->kind, *out, next, out))
            return false;
    }
    return true;
}

/* Recursion ends with the depth limit of atoms. */
static bool value_of_expr(const valuation *v, uint32_t expr, int64_t *out) {
    const hn_expr *e = &v->syms->exprs.at[expr];
    *out = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const hn_mono *m = &v->syms->monos.at[e->terms[i].mono];
        int64_t term = e->terms[i].coef, factor;
        for (uint32_t k = 0; k < m->n; k++)
            if (!value_of_atom(v, &v->syms->atoms.at[m->atoms[k]], &factor) ||
                !hn_mul_i64(term, factor, &term))
                return false;
        if (!hn_add_i64(*out, term, out))
            return false;
    }
    return true;
}

bool hn_dim_value(const hn_syms *s, hn_dim d, hn_symbol_size_fn size_of, void *ctx, int64_t *out) {
    valuation v = {s, size_of, ctx};
    uint32_t expr;
    *out = d;
    return hn_dim_is_known(d) || (hn_expr_of_dim(s, d, &expr) && value_of_expr(&v, expr, out));
}
