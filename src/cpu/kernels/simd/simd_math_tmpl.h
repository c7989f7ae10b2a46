/* Functions of vectors of floats. Coefficients are least maximum fits of our own; the errors are
 * measured by tests/kern and stand in docs/numerics.md. NaN gives NaN. */

/* 2^n * e^r with n whole and |r| <= ln(2)/2. Below -104 it is 0, above 88.73 infinity. */
static inline V_TARGET V V_NAME(vec_exp)(V x) {
    V c = V_MIN(V_SET1(89.0f), V_MAX(V_SET1(-104.0f), x)), whole = V_SET1(12582912.0f);
    V n = V_SUB(V_FMA(c, V_SET1(1.44269504f), whole), whole); /* such large numbers are whole */
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

/* x / (1 + 2^t) for t = -log2(e) * a * x. A power of two needs fewer steps than vec_exp; what it
 * loses by the rounding of t matters only where the result is far below x. */
static inline V_TARGET V V_NAME(vec_swish)(V x, V a) {
    V t = V_EXPONENT_WITHIN(V_MUL(x, V_MUL(a, V_SET1(-1.44269504f)))), r = V_FRACTION(t);
    V p = V_FMA(V_SET1(0.00186713005f), r, V_SET1(0.00901703071f));
    p = V_FMA(p, r, V_SET1(0.0557999127f));
    p = V_FMA(p, r, V_SET1(0.240164444f));
    p = V_FMA(p, r, V_SET1(0.693151295f));
    p = V_FMA(p, r, V_SET1(1.0f));
    return V_MUL(x, V_INVERSE(V_ADD(V_SET1(1.0f), V_SCALE_FLOOR(p, t))));
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

/* e^x - 1, without loss near 0: 2^n * (e^r - 1) + (2^n - 1). For arguments up to 88. */
static inline V_TARGET V V_NAME(vec_expm1)(V x) {
    V c = V_MAX(V_SET1(-104.0f), x), one = V_SET1(1.0f);
    V n = V_ROUND(V_MUL(c, V_SET1(1.44269504f)));
    V r = V_FNMA(n, V_SET1(0.693359375f), c);
    r = V_FNMA(n, V_SET1(-2.12194440e-4f), r);
    V p = V_FMA(V_SET1(0.00138368271f), r, V_SET1(0.00837482233f));
    p = V_FMA(p, r, V_SET1(0.0416682251f));
    p = V_FMA(p, r, V_SET1(0.166664198f));
    p = V_FMA(p, r, V_SET1(0.499999911f));
    V near = V_FMA(V_MUL(p, r), r, r), power = V_SCALE(one, n);
    return V_FMA(near, power, V_SUB(power, one));
}

/* e * ln(2) + ln(m), with m in [sqrt(1/2), sqrt(2)): an odd start f - f^2 / 2, and a polynomial for
 * the rest. */
static inline V_TARGET V V_NAME(vec_log)(V x) {
    V_TRUTH is_small = V_LESS(x, V_SET1(1.17549435e-38f)); /* not a normal number */
    V normal = V_CHOOSE(is_small, V_MUL(x, V_SET1(33554432.0f)), x);
    V e = V_SUB(V_EXPONENT(normal), V_CHOOSE(is_small, V_SET1(25.0f), V_ZERO()));
    V m = V_MANTISSA(normal);
    V_TRUTH is_large = V_LESS(V_SET1(1.41421356f), m);
    e = V_CHOOSE(is_large, V_ADD(e, V_SET1(1.0f)), e);
    V f = V_SUB(V_CHOOSE(is_large, V_MUL(m, V_SET1(0.5f)), m), V_SET1(1.0f)), z = V_MUL(f, f);
    V p = V_FMA(V_SET1(-0.0763442963f), f, V_SET1(0.127615497f));
    p = V_FMA(p, f, V_SET1(-0.131601945f));
    p = V_FMA(p, f, V_SET1(0.142017618f));
    p = V_FMA(p, f, V_SET1(-0.166233569f));
    p = V_FMA(p, f, V_SET1(0.200012267f));
    p = V_FMA(p, f, V_SET1(-0.250008225f));
    p = V_FMA(p, f, V_SET1(0.333333313f));
    V rest = V_FMA(V_MUL(p, f), z, V_MUL(e, V_SET1(-2.12194440e-4f)));
    rest = V_FNMA(V_SET1(0.5f), z, rest);
    V log = V_FMA(e, V_SET1(0.693359375f), V_ADD(f, rest));
    log = V_IF_LESS(V_SET1(3.40282347e38f), x, x, log);
    log = V_IF_LESS(x, V_ZERO(), V_SET1(NAN), log);
    log = V_CHOOSE(V_EQUAL(x, V_ZERO()), V_SET1(-INFINITY), log);
    return V_IF_NAN(x, x, log);
}

/* ln(1 + x) for x in [0, 1]: what is lost in 1 + x comes back as a factor. */
static inline V_TARGET V V_NAME(vec_log1p)(V x) {
    V one = V_SET1(1.0f), sum = V_ADD(one, x), kept = V_SUB(sum, one);
    V corrected = V_MUL(V_NAME(vec_log)(sum), V_DIV(x, kept));
    return V_CHOOSE(V_EQUAL(kept, V_ZERO()), x, corrected);
}

static inline V_TARGET V V_NAME(vec_softplus)(V x) {
    V positive = V_MAX(V_ZERO(), x), far = V_SUB(V_ZERO(), V_ABS(x));
    return V_IF_NAN(x, x, V_ADD(positive, V_NAME(vec_log1p)(V_NAME(vec_exp)(far))));
}

/* tanh(ln(1 + e)) is n / (n + 2) with n = e * (e + 2). From 20 on it is 1. */
static inline V_TARGET V V_NAME(vec_mish)(V x) {
    V e = V_NAME(vec_exp)(V_MIN(V_SET1(20.0f), x)), two = V_SET1(2.0f);
    V n = V_MUL(e, V_ADD(e, two));
    return V_IF_NAN(x, x, V_MUL(x, V_DIV(n, V_ADD(n, two))));
}

/* (-1)^n sin(x - n * pi) is sin(x), for whole n; pi in three parts. */
static inline V_TARGET V V_NAME(vec_sin_from)(V x, V n) {
    V r = V_FNMA(n, V_SET1(3.14159274f), x);
    r = V_FNMA(n, V_SET1(-8.74227766e-8f), r);
    r = V_FNMA(n, V_SET1(-3.43024902e-15f), r);
    V z = V_MUL(r, r);
    V p = V_FMA(V_SET1(2.60578031e-6f), z, V_SET1(-0.000198096022f));
    p = V_FMA(p, z, V_SET1(0.00833306648f));
    p = V_FMA(p, z, V_SET1(-0.166666597f));
    return V_FMA(V_MUL(p, z), r, r);
}

V_INLINE V_TRUTH V_NAME(vec_is_even)(V n) {
    V half = V_MUL(n, V_SET1(0.5f));
    return V_EQUAL(V_ROUND(half), half);
}

/* Arguments so large that the parts of pi do not suffice, infinities, and NaN, one by one. */
#define V_FAR_ANGLE 16384.0f
static V_TARGET V V_NAME(vec_far_angles)(V x, V near, float (*exact)(float)) {
    float xs[V_ELEMS], ys[V_ELEMS];
    V_STORE(xs, x);
    V_STORE(ys, near);
    for (int i = 0; i < V_ELEMS; i++)
        if (!(fabsf(xs[i]) < V_FAR_ANGLE))
            ys[i] = exact(xs[i]);
    return V_LOAD(ys);
}

static inline V_TARGET V V_NAME(vec_sin)(V x) {
    V n = V_ROUND(V_MUL(x, V_SET1(0.318309886f))), s = V_NAME(vec_sin_from)(x, n);
    V near = V_CHOOSE(V_NAME(vec_is_even)(n), s, V_SUB(V_ZERO(), s));
    bool is_near =
        !V_ANY(V_LESS_EQUAL(V_SET1(V_FAR_ANGLE), V_ABS(V_IF_NAN(x, V_SET1(INFINITY), x))));
    return is_near ? near : V_NAME(vec_far_angles)(x, near, sinf);
}

/* cos(x) is -(-1)^m sin(x - (m + 1/2) * pi). */
static inline V_TARGET V V_NAME(vec_cos)(V x) {
    V m = V_ROUND(V_FMA(x, V_SET1(0.318309886f), V_SET1(-0.5f)));
    V s = V_NAME(vec_sin_from)(x, V_ADD(m, V_SET1(0.5f)));
    V near = V_CHOOSE(V_NAME(vec_is_even)(m), V_SUB(V_ZERO(), s), s);
    bool is_near =
        !V_ANY(V_LESS_EQUAL(V_SET1(V_FAR_ANGLE), V_ABS(V_IF_NAN(x, V_SET1(INFINITY), x))));
    return is_near ? near : V_NAME(vec_far_angles)(x, near, cosf);
}
#undef V_FAR_ANGLE

/* Arguments beyond tan(pi/8) are turned by pi/4 or pi/2, which leaves an odd polynomial. */
static inline V_TARGET V V_NAME(vec_atan)(V x) {
    V a = V_ABS(x), one = V_SET1(1.0f), far = V_SET1(2.41421356f), middle = V_SET1(0.414213562f);
    V over = V_IF_LESS(middle, a, V_IF_LESS(far, a, V_SET1(-1.0f), V_SUB(a, one)), a);
    V under = V_IF_LESS(middle, a, V_IF_LESS(far, a, a, V_ADD(a, one)), one);
    V turn = V_IF_LESS(middle, a, V_IF_LESS(far, a, V_SET1(1.57079633f), V_SET1(0.785398163f)),
                       V_ZERO());
    V t = V_DIV(over, under), s = V_MUL(t, t);
    V p = V_FMA(V_SET1(-0.0607817285f), s, V_SET1(0.105937928f));
    p = V_FMA(p, s, V_SET1(-0.142435297f));
    p = V_FMA(p, s, V_SET1(0.199984714f));
    p = V_FMA(p, s, V_SET1(-0.333333164f));
    return V_OR(V_ADD(turn, V_FMA(V_MUL(p, s), t, t)), V_SIGN_OF(x));
}

/* t + t s p(s), the arcsine of t = sqrt(s) up to 1/2. */
static inline V_TARGET V V_NAME(vec_short_asin)(V t, V s) {
    V p = V_FMA(V_SET1(0.0375163145f), s, V_SET1(0.0144386981f));
    p = V_FMA(p, s, V_SET1(0.0318076946f));
    p = V_FMA(p, s, V_SET1(0.0445169583f));
    p = V_FMA(p, s, V_SET1(0.0750050396f));
    p = V_FMA(p, s, V_SET1(0.166666597f));
    return V_FMA(V_MUL(p, s), t, t);
}

/* asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)); the root of arguments beyond 1 is NaN. */
static inline V_TARGET V V_NAME(vec_asin)(V x) {
    V a = V_ABS(x), half = V_SET1(0.5f), z = V_MUL(V_SUB(V_SET1(1.0f), a), half);
    V near = V_NAME(vec_short_asin)(x, V_MUL(x, x));
    V part = V_NAME(vec_short_asin)(V_SQRT(z), z);
    V far = V_SUB(V_SET1(1.57079633f), V_ADD(part, part));
    return V_IF_LESS(a, half, near, V_OR(far, V_SIGN_OF(x)));
}

static inline V_TARGET V V_NAME(vec_acos)(V x) {
    V a = V_ABS(x), half = V_SET1(0.5f), z = V_MUL(V_SUB(V_SET1(1.0f), a), half);
    V near = V_SUB(V_SET1(1.57079633f), V_NAME(vec_short_asin)(x, V_MUL(x, x)));
    V part = V_NAME(vec_short_asin)(V_SQRT(z), z), far = V_ADD(part, part);
    far = V_IF_LESS(x, V_ZERO(), V_SUB(V_SET1(3.14159265f), far), far);
    return V_IF_LESS(a, half, near, far);
}
