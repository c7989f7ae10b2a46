/* Floor division of polynomials: common factors are cancelled, so that equal quotients have the
 * same canonical form. */
#include "ir/sym_int.h"

/* The value is always quot + sign * floor(num / den). Each step keeps it and brings the fraction
 * closer to its canonical form. */
typedef struct division {
    hn_poly quot, num, den;
    int64_t sign;
    bool changed; /* a step changed something: run another round */
} division;

/* Maximum number of rounds; a result without fixpoint is correct, only not in its simplest form. */
enum { MAX_DIVISION_ROUNDS = 16 };

static uint64_t coef_magnitude(int64_t v) {
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static uint64_t gcd_u64(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t content_of(const hn_poly *p, bool with_constant, uint64_t gcd) {
    for (uint32_t i = 0; i < p->n; i++) {
        if (with_constant || p->terms[i].mono != HN_MONO_ONE)
            gcd = gcd_u64(gcd, coef_magnitude(p->terms[i].coef));
    }
    return gcd;
}

static bool common_mono(hn_syms *s, const hn_poly *p, uint32_t *common) {
    for (uint32_t i = 0; i < p->n && *common != HN_MONO_ONE; i++) {
        if (!hn_mono_common(s, *common, (uint32_t)p->terms[i].mono, common))
            return false;
    }
    return true;
}

static bool divide_by_mono(hn_syms *s, hn_poly *p, uint32_t mono) {
    for (uint32_t i = 0; i < p->n; i++) { /* the order of the terms stays */
        uint32_t quotient;
        if (!hn_mono_divide(s, (uint32_t)p->terms[i].mono, mono, &quotient))
            return false;
        p->terms[i].mono = quotient;
    }
    return true;
}

/* Rounds the constant down; the others are multiples of g. Dropping a zero constant keeps the terms
 * in order: it is last. */
static void divide_by_content(hn_poly *p, int64_t g) {
    for (uint32_t i = 0; i < p->n; i++)
        p->terms[i].coef = hn_floor_div(p->terms[i].coef, g);
    if (p->n > 0 && p->terms[p->n - 1].coef == 0)
        p->n--;
}

/* Negates both sides when the leading coefficient of the divisor is negative. */
static bool make_den_lead_positive(division *d) {
    if (d->den.terms[0].coef > 0)
        return true;
    return hn_poly_scale(&d->num, -1) && hn_poly_scale(&d->den, -1);
}

/* (12*a*b)/(4*a*c) = (3*b)/c. For a divisor known to be positive the constant of the dividend need
 * not be a multiple: floor((g*x + r)/(g*y)) = floor((x + floor(r/g))/y). */
static bool cancel_common_factors(hn_syms *s, division *d) {
    uint32_t mono = (uint32_t)d->den.terms[0].mono;
    if (!common_mono(s, &d->den, &mono) || !common_mono(s, &d->num, &mono))
        return false;
    if (mono != HN_MONO_ONE) {
        d->changed = true;
        if (!divide_by_mono(s, &d->num, mono) || !divide_by_mono(s, &d->den, mono))
            return false;
    }
    bool den_is_positive = hn_poly_is_nonneg(s, &d->den);
    uint64_t g = content_of(&d->num, !den_is_positive, content_of(&d->den, true, 0));
    if (g > 1 && g <= INT64_MAX) {
        d->changed = true;
        divide_by_content(&d->num, (int64_t)g);
        divide_by_content(&d->den, (int64_t)g);
    }
    return true;
}

/* num / den without remainder; false when there is one. */
static bool divide_exactly(hn_syms *s, const hn_poly *num, const hn_poly *den, hn_poly *quot) {
    hn_poly rest = *num;
    quot->n = 0;
    for (int step = 0; rest.n > 0 && step < 2 * HN_SYM_MAX_TERMS; step++) {
        hn_poly factor = {.n = 1}, product;
        uint32_t mono;
        if (rest.terms[0].coef % den->terms[0].coef != 0 ||
            !hn_mono_divide(s, (uint32_t)rest.terms[0].mono, (uint32_t)den->terms[0].mono, &mono))
            return false;
        factor.terms[0] = (hn_term){rest.terms[0].coef / den->terms[0].coef, mono};
        if (!hn_poly_multiply(s, &factor, den, &product) ||
            !hn_poly_add_scaled(s, &rest, &product, -1) || !hn_poly_add_scaled(s, quot, &factor, 1))
            return false;
    }
    return rest.n == 0;
}

/* With den = c * m * p (number, monomial, and a sum without common factors): cancels p if it
 * divides the dividend. */
static bool cancel_sum(hn_syms *s, division *d) {
    if (d->den.n < 2)
        return true;
    hn_poly sum = d->den, quotient;
    uint32_t mono = (uint32_t)sum.terms[0].mono;
    uint64_t content = content_of(&sum, true, 0);
    if (content > INT64_MAX || !common_mono(s, &sum, &mono) || !divide_by_mono(s, &sum, mono))
        return false;
    divide_by_content(&sum, (int64_t)content);
    if (divide_exactly(s, &d->num, &sum, &quotient)) {
        d->changed = true;
        d->num = quotient;
        d->den.n = 1;
        d->den.terms[0] = (hn_term){(int64_t)content, mono};
    }
    return true;
}

/* Splits one term of the dividend into q * den + rest. Multiples of the divisor's own monomial
 * leave a rest that is not negative; others keep their sign, because h - w is easier to read than h
 * + w less w. */
static bool pull_term(hn_syms *s, division *d, hn_term term, hn_poly *rest) {
    hn_term den = d->den.terms[0];
    uint32_t mono;
    if (!hn_mono_divide(s, (uint32_t)term.mono, (uint32_t)den.mono, &mono))
        return !s->failed && hn_poly_add_term(s, rest, term.coef, term.mono);
    int64_t q = mono == HN_MONO_ONE ? hn_floor_div(term.coef, den.coef) : term.coef / den.coef;
    d->changed = d->changed || q != 0;
    int64_t pulled;
    return hn_mul_i64(q, d->sign, &pulled) && hn_poly_add_term(s, &d->quot, pulled, mono) &&
           hn_poly_add_term(s, rest, term.coef - q * den.coef, term.mono);
}

/* floor((4*h + 3)/2) = 2*h + 1 + floor(1/2); also by a symbol: floor((768*b*s + 1)/b) = 768*s +
 * floor(1/b). */
static bool pull_multiples(hn_syms *s, division *d) {
    if (d->den.n != 1)
        return true;
    hn_poly rest = {0};
    for (uint32_t i = 0; i < d->num.n; i++) {
        if (!pull_term(s, d, d->num.terms[i], &rest))
            return false;
    }
    d->num = rest;
    return true;
}

/* 0 <= num < den: the floor is zero. */
static void drop_proper_fraction(const hn_syms *s, division *d) {
    hn_poly room;
    if (hn_poly_is_nonneg(s, &d->num) && hn_poly_subtract(s, &d->den, &d->num, &room) &&
        hn_poly_add_const(s, &room, -1) && hn_poly_is_nonneg(s, &room))
        d->num.n = 0;
}

/* floor(-x/d) = -floor((x + d - 1)/d): the rounded-up quotient in one form, however it was spelled.
 */
static bool make_num_lead_positive(const hn_syms *s, division *d) {
    int64_t den;
    if (d->num.n == 0 || d->num.terms[0].coef > 0 || !hn_poly_is_const(&d->den, &den))
        return true;
    d->changed = true;
    d->sign = -d->sign;
    return hn_poly_scale(&d->num, -1) && hn_poly_add_const(s, &d->num, den - 1);
}

/* The only term of the dividend that is a bare floor quotient; NULL when there is none or more than
 * one. */
static const hn_atom *nested_floor(const hn_syms *s, const hn_poly *num, uint32_t *i_term) {
    const hn_atom *found = NULL;
    for (uint32_t i = 0; i < num->n; i++) {
        const hn_atom *atom = hn_mono_single_atom(s, num->terms[i].mono);
        if (!atom || atom->kind != HN_ATOM_FLOOR)
            continue;
        if (found || num->terms[i].coef != 1)
            return NULL;
        found = atom;
        *i_term = i;
    }
    return found;
}

/* floor((floor(x/a) + r)/b) = floor((x + a*r)/(a*b)) for b > 0: chains of strided layers collapse.
 */
static bool merge_nested_floor(hn_syms *s, division *d) {
    uint32_t i_term = 0;
    const hn_atom *inner = nested_floor(s, &d->num, &i_term);
    if (!inner || !hn_poly_is_nonneg(s, &d->den))
        return true;
    hn_poly x, a, num, den, rest = d->num;
    hn_poly_set_expr(s, &x, inner->args[0]);
    hn_poly_set_expr(s, &a, inner->args[1]);
    if (!hn_poly_add_term(s, &rest, -1, d->num.terms[i_term].mono) ||
        !hn_poly_multiply(s, &a, &rest, &num) || !hn_poly_add_scaled(s, &num, &x, 1) ||
        !hn_poly_multiply(s, &a, &d->den, &den))
        return !s->failed; /* too large to merge: stays nested */
    d->changed = true;
    d->num = num;
    d->den = den;
    return true;
}

static bool simplify_division(hn_syms *s, division *d) {
    d->changed = true;
    for (int round = 0; d->changed && d->num.n > 0 && round < MAX_DIVISION_ROUNDS; round++) {
        d->changed = false;
        if (!make_den_lead_positive(d) || !cancel_common_factors(s, d) || !cancel_sum(s, d) ||
            !pull_multiples(s, d))
            return false;
        drop_proper_fraction(s, d);
        if (!make_num_lead_positive(s, d) || !merge_nested_floor(s, d))
            return false;
    }
    return true;
}

bool hn_poly_floor_div(hn_syms *s, const hn_poly *num, const hn_poly *den, hn_poly *out) {
    if (den->n == 0)
        return false;
    division d = {.num = *num, .den = *den, .sign = 1};
    if (!simplify_division(s, &d))
        return false;
    *out = d.quot;
    if (d.num.n == 0)
        return true;
    hn_atom atom = {.kind = HN_ATOM_FLOOR, .n_args = 2};
    hn_poly fraction;
    return hn_expr_intern(s, &d.num, &atom.args[0]) && hn_expr_intern(s, &d.den, &atom.args[1]) &&
           hn_poly_set_atom(s, &fraction, &atom) && hn_poly_add_scaled(s, out, &fraction, d.sign);
}
