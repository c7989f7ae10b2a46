/* Functions of vectors of floats. Coefficients are least maximum fits of our own; the errors are
 * measured by tests/kern and stand in docs/numerics.md. NaN gives NaN. */

/* 2^n * e^r with n whole and |r| <= ln(2)/2. Below -104 it is 0, above 88.73 infinity. */
static inline V_TARGET V V_NAME(vec_exp)(V x) {
    V c = V_MIN(V_SET1(89.0f), V_MAX(V_SET1(-104.0f), x));
    V n = V_ROUND(V_MUL(c, V_SET1(1.44269504f)));
    V r = V_FNMA(n, V_SET1(0.693359375f), c);
    r = V_FNMA(n, V_SET1(-2.12194440e-4f), r);
    V p = V_FMA(V_SET1(0.00138368271f), r, V_SET1(0.00837482233f));
    p = V_FMA(p, r, V_SET1(0.0416682251f));
    p = V_FMA(p, r, V_SET1(0.166664198f));
    p = V_FMA(p, r, V_SET1(0.499999911f));
    p = V_FMA(p, r, V_SET1(1.0f));
    p = V_FMA(p, r, V_SET1(1.0f));
    return V_SCALE(p, n);
}

static inline V_TARGET V V_NAME(vec_sigmoid)(V x) {
    V one = V_SET1(1.0f);
    return V_DIV(one, V_ADD(one, V_NAME(vec_exp)(V_SUB(V_ZERO(), x))));
}

/* Near zero an odd polynomial, farther away from the exponential function. */
static inline V_TARGET V V_NAME(vec_tanh)(V x) {
    V a = V_ABS(x), s = V_MUL(x, x), one = V_SET1(1.0f);
    V p = V_FMA(V_SET1(-0.00567241432f), s, V_SET1(0.0206031408f));
    p = V_FMA(p, s, V_SET1(-0.0537252277f));
    p = V_FMA(p, s, V_SET1(0.133311853f));
    p = V_FMA(p, s, V_SET1(-0.333332628f));
    V near = V_FMA(V_MUL(p, s), x, x);
    V e = V_NAME(vec_exp)(V_ADD(a, a));
    V far = V_SUB(one, V_DIV(V_SET1(2.0f), V_ADD(e, one)));
    return V_IF_LESS(a, V_SET1(0.625f), near, V_OR(far, V_SIGN_OF(x)));
}

/* Up to 1 an odd polynomial, then 1 - e^(-q(|x|)). */
static inline V_TARGET V V_NAME(vec_erf)(V x) {
    V a = V_ABS(x), s = V_MUL(x, x);
    V p = V_FMA(V_SET1(7.85385128e-5f), s, V_SET1(-0.00080101908f));
    p = V_FMA(p, s, V_SET1(0.00518832728f));
    p = V_FMA(p, s, V_SET1(-0.026853811f));
    p = V_FMA(p, s, V_SET1(0.112835854f));
    p = V_FMA(p, s, V_SET1(-0.37612626f));
    p = V_FMA(p, s, V_SET1(1.12837911f));
    V near = V_MUL(p, x);
    V t = V_MIN(V_SET1(4.0f), a);
    V q = V_FMA(V_SET1(2.16977733e-5f), t, V_SET1(-0.000441474549f));
    q = V_FMA(q, t, V_SET1(0.00420529442f));
    q = V_FMA(q, t, V_SET1(-0.0252103657f));
    q = V_FMA(q, t, V_SET1(0.108422138f));
    q = V_FMA(q, t, V_SET1(0.633216381f));
    q = V_FMA(q, t, V_SET1(1.12958038f));
    q = V_FMA(q, t, V_SET1(-0.00018847188f));
    V far = V_SUB(V_SET1(1.0f), V_NAME(vec_exp)(V_SUB(V_ZERO(), q)));
    return V_IF_LESS(a, V_SET1(1.0f), near, V_OR(far, V_SIGN_OF(x)));
}
