/* Functions of one float and of rows, against the C library in double. */
#include "kern/kern.h"

#include "cpu/kernels/rows/row_loops.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* ---- functions of one number ---- */

#define KERN_A 0.25 /* parameters, and what they mean: see ops/eval/onnx/unary.def */
#define KERN_B 0.75

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double between(double least, double most, double x) {
    return x < least ? least : x > most ? most : x;
}

/* An error is counted in last places of the result, or of the argument where the result comes from
 * a difference and may be as small as it likes beside it, or of 1. */
typedef enum error_unit { OF_RESULT, OF_ARGUMENT, OF_ONE } error_unit;

/* Function, unit, the largest error ever seen rounded up, what it should be. */
#define KERN_UNARYS(X)                                                      \
  X(Abs, OF_RESULT, 0.0, fabs(x))                                           \
  X(Acos, OF_RESULT, 1.5, acos(x))                                          \
  X(Affine, OF_RESULT, 0.5, KERN_A *x + KERN_B)                             \
  X(Asin, OF_RESULT, 2.25, asin(x))                                         \
  X(Atan, OF_RESULT, 2.5, atan(x))                                          \
  X(Ceil, OF_RESULT, 0.0, ceil(x))                                          \
  X(Celu, OF_RESULT, 1.5, x < 0 ? KERN_A * expm1(x / KERN_A) : x)           \
  X(Clip, OF_RESULT, 0.0, between(KERN_A, KERN_B, x))                       \
  X(Cos, OF_ONE, 1.25, cos(x))                                              \
  X(Elu, OF_RESULT, 1.5, x < 0 ? KERN_A * expm1(x) : x)                     \
  X(Erf, OF_RESULT, 2.5, erf(x))                                            \
  X(Exp, OF_RESULT, 1.0, exp(x))                                            \
  X(Floor, OF_RESULT, 0.0, floor(x))                                        \
  X(Gelu, OF_ARGUMENT, 2.0, 0.5 * x * erfc(-x * 0.70710678118654752))       \
  X(Gelu_tanh, OF_ARGUMENT, 1.5,                                            \
    0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)))) \
  X(HardSigmoid, OF_ONE, 0.5, between(0, 1, KERN_A *x + KERN_B))            \
  X(HardSwish, OF_ARGUMENT, 1.0, x *between(0, 1, x / 6 + 0.5))             \
  X(LeakyRelu, OF_RESULT, 0.5, x < 0 ? KERN_A * x : x)                      \
  X(Log, OF_RESULT, 1.0, log(x))                                            \
  X(Mish, OF_ARGUMENT, 2.0, x *tanh(log1p(exp(x))))                         \
  X(Neg, OF_RESULT, 0.0, -x)                                                \
  X(Reciprocal, OF_RESULT, 0.5, 1 / x)                                      \
  X(Relu, OF_RESULT, 0.0, x < 0 ? 0 : x)                                    \
  X(Round, OF_RESULT, 0.0, nearbyint(x))                                    \
  X(Selu, OF_RESULT, 2.0, KERN_B *(x > 0 ? x : KERN_A * expm1(x)))          \
  X(Sigmoid, OF_RESULT, 2.25, sigmoid(x))                                   \
  X(Sign, OF_RESULT, 0.0, x > 0 ? 1 : x < 0 ? -1 : x)                       \
  X(Sin, OF_ONE, 1.0, sin(x))                                               \
  X(Softplus, OF_RESULT, 2.5, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))   \
  X(Softsign, OF_RESULT, 1.75, x / (1 + fabs(x)))                           \
  X(Sqrt, OF_RESULT, 0.5, sqrt(x))                                          \
  X(Swish, OF_ARGUMENT, 2.0, x *sigmoid(KERN_A *x))                         \
  X(Tanh, OF_RESULT, 1.5, tanh(x))                                          \
  X(ThresholdedRelu, OF_RESULT, 0.0, x > KERN_A ? x : 0)

#define DEFINE_EXACT(op, unit, most, expr) \
  static double exact_##op(double x) {     \
    return expr;                           \
  }
KERN_UNARYS(DEFINE_EXACT)
#undef DEFINE_EXACT

static const struct map_case {
    const char *op;
    error_unit unit;
    double most; /* last places */
    double (*exact)(double x);
} map_cases[] = {
#define MAP_ROW(op, unit, most, expr) {#op, unit, most, exact_##op},
    KERN_UNARYS(MAP_ROW)
#undef MAP_ROW
};

/* The distance of floats around a number. */
static double last_place(double x) {
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, x == 0 || exponent < -125 ? -149 : exponent - 24);
}

static double map_error(const struct map_case *t, float x, float y) {
    double exact = t->exact(x);
    if (isnan(exact))
        return isnan(y) ? 0 : HUGE_VAL;
    if ((double)y == exact || (isinf(y) && (float)exact == y))
        return 0;
    if (y == 0 && fabs(exact) < (double)FLT_MIN) /* such small ones may be zero */
        return 0;
    double unit = t->unit == OF_RESULT ? exact : t->unit == OF_ARGUMENT ? x : 1;
    return fabs(y - exact) / last_place(unit);
}

enum { MAP_PIECE = 1009, MAP_SAMPLES = 300 * MAP_PIECE };

/* The float with such bits; NaN, infinities and numbers below the normal ones come up, too. */
static float sample(uint32_t i) {
    uint32_t bits = i * 14171u; /* goes once around all floats */
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double largest_error(const struct map_case *t, float *at) {
    hn_unary_fn_f32 map = hn_unary_find_f32(t->op);
    static float xs[MAP_PIECE], ys[MAP_PIECE];
    double most = 0;
    *at = 0;
    for (uint32_t i = 0; map && i < MAP_SAMPLES; i += MAP_PIECE) {
        for (uint32_t j = 0; j < MAP_PIECE; j++)
            xs[j] = sample(i + j);
        map(xs, ys, MAP_PIECE, KERN_A, KERN_B);
        for (uint32_t j = 0; j < MAP_PIECE; j++) {
            double error = map_error(t, xs[j], ys[j]);
            if (error > most) {
                most = error;
                *at = xs[j];
            }
        }
    }
    return most;
}

void kern_print_errors(void) {
    static const char *const units[] = {"result", "argument", "1"};
    for (size_t i = 0; i < HN_COUNT(map_cases); i++) {
        float at;
        double most = largest_error(&map_cases[i], &at);
        printf("| %s | %.2f | %s | %g |\n", map_cases[i].op, most, units[map_cases[i].unit],
               (double)at);
    }
}

/* All lengths around a vector, in place and not: a result does not depend on where it stands. */
static void check_lengths(const struct map_case *t, hn_unary_fn_f32 map) {
    for (int64_t n = 0; n <= 67; n += n < 36 ? 1 : 31) {
        float *x = kern_floats(n), *y = kern_floats(n);
        map(x, y, (uint64_t)n, KERN_A, KERN_B);
        for (int64_t i = 0; i < n; i++) {
            float one;
            map(x + i, &one, 1, KERN_A, KERN_B);
            KERN_CHECK(memcmp(&one, y + i, sizeof one) == 0, "%s of %g depends on its place", t->op,
                       (double)x[i]);
        }
        map(x, x, (uint64_t)n, KERN_A, KERN_B);
        KERN_CHECK(memcmp(x, y, (size_t)n * sizeof *x) == 0, "%s in place differs", t->op);
        kern_release();
    }
}

void kern_test_unary(void) {
    for (size_t i = 0; i < HN_COUNT(map_cases); i++) {
        const struct map_case *t = &map_cases[i];
        hn_unary_fn_f32 map = hn_unary_find_f32(t->op);
        if (!map)
            continue;
        float at;
        double most = largest_error(t, &at);
        KERN_CHECK(most <= t->most, "%s is off by %g last places at %.9g", t->op, most, (double)at);
        check_lengths(t, map);
    }
}

/* ---- rows ---- */

static void check_softmax(int64_t n, const float *x, bool in_place) {
    float *y = kern_floats(n);
    double most = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    if (in_place)
        memcpy(y, x, (size_t)n * sizeof *x);
    bool ran = hn_softmax_row_f32(n, in_place ? y : x, y);
    for (int64_t i = 0; ran && i < n; i++) {
        double exact = exp(x[i] - most) / sum;
        double error = fabs(y[i] - exact), allowed = (6 + (double)n / 8) * KERN_EPS * exact + 1e-38;
        KERN_CHECK(isnan(exact) ? isnan(y[i]) : error <= allowed,
                   "softmax of %d: element %d is %g, not %g", (int)n, (int)i, (double)y[i], exact);
    }
}

static void check_log_softmax(int64_t n, const float *x, bool in_place) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    float *y = kern_floats(n);
    double most = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    if (in_place)
        memcpy(y, x, (size_t)n * sizeof *x);
    if (loops)
        loops->log_softmax(n, in_place ? y : x, y);
    for (int64_t i = 0; loops && i < n; i++) {
        double exact = x[i] - most - log(sum), error = fabs(y[i] - exact);
        double allowed = (4 + (double)n / 8) * KERN_EPS * (1 + fabs(exact));
        KERN_CHECK(isnan(exact)   ? isnan(y[i])
                   : isinf(exact) ? y[i] == exact
                                  : error <= allowed,
                   "log-softmax of %d: element %d is %g, not %g", (int)n, (int)i, (double)y[i],
                   exact);
    }
}

static void test_softmax(void) {
    static const float odd_ones[] = {-HUGE_VALF, HUGE_VALF, NAN, 100, -100};
    for (int64_t n = 0; n <= 70; n += n < 36 ? 1 : 17)
        for (int form = 0; form < 9; form++) {
            float *x = kern_floats(n);
            if (form >= 2 && form < 7 && n > 0)
                x[kern_between(0, n - 1)] = odd_ones[form - 2];
            for (int64_t i = 0; form >= 7 && i < n; i++)
                x[i] = form == 7 ? -HUGE_VALF : NAN;
            check_softmax(n, x, form == 1);
            check_log_softmax(n, x, form == 1);
            kern_release();
        }
    float *x = kern_floats(5000); /* several blocks */
    check_log_softmax(5000, x, false);
    kern_release();
}

static void test_sums(void) {
    for (int64_t n = 0; n <= 300; n += n < 70 ? 1 : 23) {
        float *x = kern_floats(n), got;
        double sum = 0, size = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += x[i];
            size += fabs((double)x[i]);
        }
        KERN_CHECK(!hn_sum_row_f32(n, x, &got) ||
                       fabs(got - sum) <= (8 + (double)n / 4) * KERN_EPS * size,
                   "sum of %d: %g, not %g", (int)n, (double)got, sum);
        kern_release();
    }
}

static void check_normalize(const hn_norm_row_f32 *norm, int64_t n, float *x, float *y) {
    double mean = 0, squares = 0, largest = 0;
    float got_mean, got_inverse;
    for (int64_t i = 0; !norm->simplified && i < n; i++)
        mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        squares += (x[i] - mean) * (x[i] - mean) / (double)n;
        largest = fmax(largest, fabs((double)x[i]));
    }
    double inverse = 1 / sqrt(squares + (double)norm->epsilon);
    float *before = kern_floats(n);
    memcpy(before, x, (size_t)n * sizeof *x);
    if (!hn_normalize_row_f32(norm, n, x, y, &got_mean, &got_inverse))
        return;
    KERN_CHECK(fabs(got_inverse - inverse) <= (8 + (double)n / 8) * KERN_EPS * inverse,
               "inverse of %d: %g, not %g", (int)n, (double)got_inverse, inverse);
    for (int64_t i = 0; i < n; i++) {
        double gamma = norm->gamma ? norm->gamma[i] : 1, beta = norm->beta ? norm->beta[i] : 0;
        double exact = (before[i] - mean) * inverse * gamma + beta;
        double size = largest * inverse * fabs(gamma) + fabs(beta);
        KERN_CHECK(fabs(y[i] - exact) <= (16 + (double)n / 4) * KERN_EPS * size,
                   "normalize %d: element %d is %g, not %g", (int)n, (int)i, (double)y[i], exact);
    }
}

static void check_normalize_nan(int64_t n) {
    float *x = kern_floats(n), *y = kern_floats(n), mean, inverse;
    x[n / 2] = NAN;
    bool ran = hn_normalize_row_f32(&(hn_norm_row_f32){.epsilon = 1e-5f}, n, x, y, &mean, &inverse);
    for (int64_t i = 0; ran && i < n; i++)
        KERN_CHECK(isnan(y[i]), "NaN is lost in a row of %d", (int)n);
    kern_release();
}

static void test_normalize(void) {
    for (int64_t n = 0; n <= 200; n += n < 36 ? 1 : 41)
        for (int form = 0; form < 16; form++) {
            hn_norm_row_f32 norm = {.epsilon = 1e-5f,
                                    .simplified = form & 1,
                                    .gamma = form & 2 ? kern_floats(n) : NULL,
                                    .beta = form & 4 ? kern_floats(n) : NULL};
            float *x = kern_floats(n);
            check_normalize(&norm, n, x, form & 8 ? x : kern_floats(n));
            kern_release();
        }
    for (int64_t n = 1; n < 40; n++)
        check_normalize_nan(n);
}

static void test_added_rows(void) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    for (int64_t n = 0; n <= 70; n += n < 36 ? 1 : 17)
        for (int form = 0; form < 4; form++) {
            float *x = kern_floats(n), *z = kern_floats(n), *b = form & 1 ? kern_floats(n) : NULL;
            float *y = form & 2 ? z : kern_floats(n), *want = kern_floats(n);
            for (int64_t i = 0; i < n; i++)
                want[i] = b ? x[i] + z[i] + b[i] : x[i] + z[i];
            if (loops)
                loops->add_rows(n, x, z, b, y);
            KERN_CHECK(!loops || memcmp(y, want, (size_t)n * sizeof *y) == 0,
                       "rows of %d are not added right", (int)n);
            kern_release();
        }
}

static void test_rotated_rows(void) {
    for (int64_t half = 0; half <= 40; half++)
        for (int in_place = 0; in_place < 2; in_place++) {
            float *c = kern_floats(half), *s = kern_floats(half), *x = kern_floats(2 * half);
            float *y = in_place ? x : kern_floats(2 * half), *before = kern_floats(2 * half);
            memcpy(before, x, (size_t)(2 * half) * sizeof *x);
            bool ran = hn_rotate_row_f32(half, c, s, x, y);
            for (int64_t i = 0; ran && i < half; i++) {
                double a = before[i], b = before[half + i];
                double gap =
                    fabs(y[i] - (c[i] * a - s[i] * b)) + fabs(y[half + i] - (s[i] * a + c[i] * b));
                KERN_CHECK(gap <= 6 * KERN_EPS, "pair %d of %d is turned wrong", (int)i, (int)half);
            }
            kern_release();
        }
}

void kern_test_rows(void) {
    test_rotated_rows();
    test_softmax();
    test_added_rows();
    test_sums();
    test_normalize();
}
