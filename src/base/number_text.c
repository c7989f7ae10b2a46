/* Numbers as text, the same in every locale. */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* d[0].d[1]d[2]... x 10^exponent */
typedef struct short_decimal {
    char digits[24];
    int n_digits;
    int exponent;
} short_decimal;

typedef struct text_precision {
    int safe_digits; /* of normal numbers: every decimal with that many digits survives a round trip
                      */
    int max_digits;  /* digits that always distinguish two numbers */
    double min_normal;
} text_precision;

static const text_precision f32_precision = {FLT_DIG, FLT_DECIMAL_DIG, FLT_MIN};
static const text_precision f64_precision = {DBL_DIG, DBL_DECIMAL_DIG, DBL_MIN};

/* The nearest decimal of n_digits for a finite v >= 0. Only the digits of printf's output are used,
 * because the decimal point depends on the locale. */
static short_decimal nearest_decimal(double v, int n_digits) {
    char text[64];
    snprintf(text, sizeof(text), "%.*e", n_digits - 1, v);
    short_decimal d = {.n_digits = 0};
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9' && d.n_digits < n_digits)
            d.digits[d.n_digits++] = *at;
    d.exponent = *at ? (int)strtol(at + 1, NULL, 10) : 0;
    while (d.n_digits > 1 && d.digits[d.n_digits - 1] == '0')
        d.n_digits--;
    d.digits[d.n_digits] = '\0';
    return d;
}

static bool reads_back(const short_decimal *d, double v, bool is_f32) {
    char text[48];
    snprintf(text, sizeof(text), "%se%d", d->digits, d->exponent - d->n_digits + 1);
    return is_f32 ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v;
}

static short_decimal shortest_decimal(double v, bool is_f32) {
    const text_precision *precision = is_f32 ? &f32_precision : &f64_precision;
    /* A decimal shorter than safe_digits appears with trailing zeros, which are removed, so the
     * search can start there. Subnormal numbers have fewer bits and no such guarantee. */
    int n_digits = v < precision->min_normal ? 1 : precision->safe_digits;
    short_decimal d = nearest_decimal(v, n_digits);
    while (n_digits < precision->max_digits && !reads_back(&d, v, is_f32))
        d = nearest_decimal(v, ++n_digits);
    return d;
}

static int put_scientific(char *out, const short_decimal *d) {
    const char *point = d->n_digits > 1 ? "." : "";
    int exponent = abs(d->exponent);
    char sign = d->exponent < 0 ? '-' : '+';
    return snprintf(out, 31, "%c%s%se%c%02d", d->digits[0], point, d->digits + 1, sign, exponent);
}

static int put_fixed(char *out, const short_decimal *d) {
    int n = 0;
    int n_before = HN_MAX(d->exponent + 1, 1); /* digits before the point */
    int digit = HN_MIN(d->exponent, 0);        /* negative: a zero before the first digit */
    for (int i = 0; i < n_before || digit < d->n_digits; i++, digit++) {
        if (i == n_before)
            out[n++] = '.';
        out[n++] = digit < 0 || digit >= d->n_digits ? '0' : d->digits[digit];
    }
    out[n] = '\0';
    return n;
}

static int format_float(char out[32], double v, bool is_f32) {
    if (isnan(v))
        return snprintf(out, 32, "nan");
    int n_sign = 0;
    if (signbit(v))
        out[n_sign++] = '-';
    v = fabs(v);
    if (isinf(v))
        return n_sign + snprintf(out + n_sign, 31, "inf");
    short_decimal d = shortest_decimal(v, is_f32);
    int n_digits_shown = (is_f32 ? f32_precision : f64_precision).max_digits - 1;
    bool scientific = d.exponent < -4 || d.exponent >= n_digits_shown;
    return n_sign + (scientific ? put_scientific(out + n_sign, &d) : put_fixed(out + n_sign, &d));
}

int hn_format_f32(char out[32], float v) {
    return format_float(out, (double)v, true);
}

int hn_format_f64(char out[32], double v) {
    return format_float(out, v, false);
}
