/* Reads arithmetic as polynomials in two values. */
#include "pass/engine/poly.h"

#include <math.h>

#define MAX_POLY_VISITS 64 /* a node counts as often as it is reached */

/* Relative: exporters write few digits of roots, and small types hold few. */
static double tolerance_of(hn_dtype elem) {
    return elem == HN_F16 ? 1e-3 : elem == HN_BF16 ? 8e-3 : 1e-4;
}

typedef struct poly_reader {
    const hn_rule *r;
    hn_id x, t;
    uint32_t n_visits;
} poly_reader;

bool hn_scalar_beside(const hn_rule *r, hn_id constant, hn_id x, double *out) {
    const hn_tensor *c = hn_const(r, constant);
    return c && c->n_elems == 1 && (c->rank == 0 || c->rank <= hn_rank_of(r, x)) &&
           hn_const_f64(r, constant, out);
}

bool hn_poly_is(const hn_polynomial *p, const hn_polynomial *want) {
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= HN_POLY_X; i++)
            if (!(fabs(p->c[j][i] - want->c[j][i]) <= p->tolerance * fabs(want->c[j][i])))
                return false;
    return true;
}

static bool poly_is_number(const hn_polynomial *p) {
    hn_polynomial number = {.c = {{p->c[0][0]}}};
    return memcmp(p->c, number.c, sizeof(number.c)) == 0;
}

static hn_polynomial poly_plus(const hn_polynomial *a, const hn_polynomial *b, double b_factor) {
    hn_polynomial sum = *a;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= HN_POLY_X; i++)
            sum.c[j][i] += b_factor * b->c[j][i];
    return sum;
}

/* Adds factor * x^i t^j * a; false when a power grows too high. */
static bool poly_add_shifted(hn_polynomial *sum, const hn_polynomial *a, double factor, int j,
                             int i) {
    for (int ja = 0; ja < 2; ja++)
        for (int ia = 0; ia <= HN_POLY_X; ia++) {
            double term = factor * a->c[ja][ia];
            if (term == 0)
                continue;
            if (ja + j > 1 || ia + i > HN_POLY_X)
                return false;
            sum->c[ja + j][ia + i] += term;
        }
    return true;
}

static bool poly_times(const hn_polynomial *a, const hn_polynomial *b, hn_polynomial *out) {
    hn_polynomial product = {.c = {{0}}};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= HN_POLY_X; i++)
            if (!poly_add_shifted(&product, a, b->c[j][i], j, i))
                return false;
    *out = product;
    return true;
}

static bool poly_power(const hn_polynomial *a, const hn_polynomial *exponent, hn_polynomial *out) {
    double n = exponent->c[0][0];
    if (!poly_is_number(exponent) || (n != 1 && n != 2 && n != 3))
        return false;
    *out = *a;
    for (int i = 1; i < (int)n; i++)
        if (!poly_times(out, a, out))
            return false;
    return true;
}

static bool read_poly(poly_reader *p, hn_id value, hn_polynomial *out);

static bool read_poly_node(poly_reader *p, hn_id node, hn_polynomial *out) {
    const hn_rule *r = p->r;
    hn_polynomial a, b;
    if (!read_poly(p, hn_in(r, node, 0), &a))
        return false;
    if (hn_is_op(r, node, "Neg")) {
        *out = poly_plus(&(hn_polynomial){.c = {{0}}}, &a, -1);
        return true;
    }
    if (!read_poly(p, hn_in(r, node, 1), &b) || hn_at(r, node)->n_inputs != 2)
        return false;
    if (hn_is_op(r, node, "Mul"))
        return poly_times(&a, &b, out);
    if (hn_is_op(r, node, "Pow"))
        return poly_power(&a, &b, out);
    if (hn_is_op(r, node, "Div")) {
        hn_polynomial inverse = {.c = {{1 / b.c[0][0]}}};
        return poly_is_number(&b) && isfinite(inverse.c[0][0]) && poly_times(&a, &inverse, out);
    }
    *out = poly_plus(&a, &b, hn_is_op(r, node, "Sub") ? -1 : 1);
    return true;
}

static bool read_poly(poly_reader *p, hn_id value, hn_polynomial *out) {
    *out = (hn_polynomial){.c = {{0}}};
    if (value == HN_NONE || ++p->n_visits > MAX_POLY_VISITS)
        return false;
    if (value == p->x || value == p->t) {
        out->c[value == p->t][value == p->x] = 1;
        return true;
    }
    if (hn_const(p->r, value))
        return hn_scalar_beside(p->r, value, p->x, &out->c[0][0]);
    hn_id node = hn_maker(p->r, value, HN_POLY_OPS);
    return node != HN_NONE && read_poly_node(p, node, out);
}

bool hn_poly_read(const hn_rule *r, hn_id value, hn_id x, hn_id t, hn_polynomial *out) {
    poly_reader p = {r, x, t, 0};
    bool is_read = read_poly(&p, value, out);
    out->tolerance = tolerance_of(hn_elem_of(r, x));
    return is_read;
}
