/* Inside pass/: arithmetic with numbers read as a polynomial, so that one rule knows a formula in
 * every order and spelling: 0.5*x*(1+t), x/2 + (x*t)*0.5, ... */
#ifndef HN_POLY_H
#define HN_POLY_H

#include "pass/engine/pass_int.h"

#define HN_POLY_X 3                               /* highest power of x */
#define HN_POLY_OPS "Add|Sub|Mul|Div|Neg|Pow|Sum" /* what polynomials are written with */

/* In two values: c[j][i] is the factor of x^i t^j. */
typedef struct hn_polynomial {
    double c[2][HN_POLY_X + 1];
    double tolerance; /* relative, of the factors of one that was read */
} hn_polynomial;

/* How `value` is computed from x, t (which may be HN_NONE) and numbers that leave the shape of x as
 * it is. False when anything else takes part. */
bool hn_poly_read(const hn_rule *r, hn_id value, hn_id x, hn_id t, hn_polynomial *out);
/* Equal factors, as far as the type of x can tell. */
bool hn_poly_is(const hn_polynomial *p, const hn_polynomial *want);

/* A constant of one element, which in an operation with x does not change x's shape. */
bool hn_scalar_beside(const hn_rule *r, hn_id constant, hn_id x, double *out);

#endif /* HN_POLY_H */
