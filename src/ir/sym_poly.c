#include "ir/sym_int.h"

void hn_poly_set_const(hn_poly *p, int64_t value) {
    p->n = value != 0;
    p->terms[0] = (hn_term){value, HN_MONO_ONE};
}

bool hn_poly_set_atom(hn_syms *s, hn_poly *p, const hn_atom *atom) {
    uint32_t atom_id, mono;
    if (!hn_atom_intern(s, atom, &atom_id) || !hn_mono_intern(s, &atom_id, 1, &mono))
        return false;
    p->n = 1;
    p->terms[0] = (hn_term){1, mono};
    return true;
}

bool hn_poly_set_symbol(hn_syms *s, hn_poly *p, hn_str name) {
    return hn_poly_set_atom(s, p, &(hn_atom){.kind = HN_ATOM_SYMBOL, .name = name});
}

void hn_poly_set_expr(const hn_syms *s, hn_poly *p, uint32_t expr) {
    const hn_expr *e = &s->exprs.at[expr];
    p->n = e->n;
    if (e->n > 0)
        memcpy(p->terms, e->terms, e->n * sizeof(e->terms[0]));
}

bool hn_poly_is_const(const hn_poly *p, int64_t *value) {
    *value = p->n == 0 ? 0 : p->terms[0].coef;
    return p->n == 0 || (p->n == 1 && p->terms[0].mono == HN_MONO_ONE);
}

static void remove_term(hn_poly *p, uint32_t i) {
    p->n--;
    memmove(&p->terms[i], &p->terms[i + 1], (p->n - i) * sizeof(p->terms[0]));
}

bool hn_poly_add_term(const hn_syms *s, hn_poly *acc, int64_t coef, uint64_t mono) {
    if (coef == 0)
        return true;
    uint32_t i = 0;
    while (i < acc->n && hn_mono_compare(s, (uint32_t)acc->terms[i].mono, (uint32_t)mono) < 0)
        i++;
    if (i < acc->n && acc->terms[i].mono == mono) {
        if (!hn_add_i64(acc->terms[i].coef, coef, &acc->terms[i].coef))
            return false;
        if (acc->terms[i].coef == 0)
            remove_term(acc, i);
        return true;
    }
    if (acc->n == HN_SYM_MAX_TERMS)
        return false;
    memmove(&acc->terms[i + 1], &acc->terms[i], (acc->n - i) * sizeof(acc->terms[0]));
    acc->terms[i] = (hn_term){coef, mono};
    acc->n++;
    return true;
}

bool hn_poly_add_const(const hn_syms *s, hn_poly *acc, int64_t value) {
    return hn_poly_add_term(s, acc, value, HN_MONO_ONE);
}

bool hn_poly_add_scaled(const hn_syms *s, hn_poly *acc, const hn_poly *p, int64_t scale) {
    for (uint32_t i = 0; i < p->n; i++) {
        int64_t coef;
        if (!hn_mul_i64(p->terms[i].coef, scale, &coef) ||
            !hn_poly_add_term(s, acc, coef, p->terms[i].mono))
            return false;
    }
    return true;
}

bool hn_poly_scale(hn_poly *p, int64_t factor) {
    if (factor == 0)
        p->n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!hn_mul_i64(p->terms[i].coef, factor, &p->terms[i].coef))
            return false;
    }
    return true;
}

bool hn_poly_subtract(const hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    *out = *a;
    return hn_poly_add_scaled(s, out, b, -1);
}

bool hn_poly_multiply(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out) {
    out->n = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t k = 0; k < b->n; k++) {
            int64_t coef;
            uint32_t mono;
            if (!hn_mul_i64(a->terms[i].coef, b->terms[k].coef, &coef) ||
                !hn_mono_multiply(s, (uint32_t)a->terms[i].mono, (uint32_t)b->terms[k].mono,
                                  &mono) ||
                !hn_poly_add_term(s, out, coef, mono))
                return false;
        }
    }
    return true;
}
