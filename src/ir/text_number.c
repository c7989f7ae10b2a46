/* Numbers of the textual syntax, parsed independently of the locale. */
#include "ir/text_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_text_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *c, const char *end) {
    while (c < end && is_text_digit(*c))
        c++;
    return c;
}

static const char *skip_hex_digits(const char *c, const char *end) {
    while (c < end && (is_text_digit(*c) || ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'f')))
        c++;
    return c;
}

/* Digits with an optional point and exponent; NULL when an exponent has no digits. */
static const char *skip_decimal(const char *c, const char *end, bool *is_float) {
    c = skip_digits(c, end);
    if (c < end && *c == '.') {
        *is_float = true;
        c = skip_digits(c + 1, end);
    }
    if (c < end && (*c | 0x20) == 'e') {
        *is_float = true;
        c++;
        if (c < end && (*c == '+' || *c == '-'))
            c++;
        const char *digits = c;
        c = skip_digits(c, end);
        if (c == digits)
            return NULL;
    }
    return c;
}

static const char *text_word_end(const char *c, const char *end) {
    while (c < end &&
           (is_text_digit(*c) || *c == '_' || ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z')))
        c++;
    return c;
}

hone_status hn_text_literal(hn_text *t, const char *what, hn_literal *out) {
    if (hn_text_peek(t) < 0)
        return hn_text_expected(t, "%s", what);
    const char *begin = t->at, *c = begin + (*begin == '-'), *stop = c;
    bool is_float = false, is_hex = false;
    if (t->end - c > 2 && c[0] == '0' && c[1] == 'x') {
        is_hex = true;
        stop = skip_hex_digits(c + 2, t->end);
    } else if (c < t->end && is_text_digit(*c)) {
        stop = skip_decimal(c, t->end, &is_float);
        if (!stop)
            return hn_text_fail(t, begin, "the exponent of this number has no digits");
    } else if (hn_text_is_float_word(c, (size_t)(text_word_end(c, t->end) - c))) {
        is_float = true;
        stop = text_word_end(c, t->end);
    }
    if (stop == c)
        return hn_text_expected(t, "%s", what);
    out->kind = is_hex ? HN_LITERAL_HEX : is_float ? HN_LITERAL_FLOAT : HN_LITERAL_INT;
    out->at = begin;
    out->n = (size_t)(stop - begin);
    t->at = stop;
    return HONE_OK;
}

/* ---- integers -------------------------------------------------------------------------------- */

static bool add_digit(uint64_t *v, uint64_t base, uint64_t digit) {
    return hn_mul_u64(*v, base, v) && hn_add_u64(*v, digit, v);
}

static bool magnitude_of(const hn_literal *l, bool *negative, uint64_t *out) {
    const char *c = l->at, *end = l->at + l->n;
    *negative = *c == '-';
    c += *negative;
    uint64_t base = l->kind == HN_LITERAL_HEX ? 16 : 10;
    c += base == 16 ? 2 : 0;
    *out = 0;
    for (; c < end; c++) {
        int digit = is_text_digit(*c) ? *c - '0' : (*c | 0x20) - 'a' + 10;
        if (!add_digit(out, base, (uint64_t)digit))
            return false;
    }
    return true;
}

hone_status hn_text_integer(hn_text *t, const hn_literal *l, int64_t min, uint64_t max,
                            uint64_t *out) {
    int shown = (int)HN_MIN(l->n, (size_t)40);
    if (l->kind == HN_LITERAL_FLOAT)
        return hn_text_fail(t, l->at, "expected an integer, found %.*s", shown, l->at);
    bool negative;
    uint64_t magnitude;
    uint64_t most_negative = min < 0 ? (uint64_t) - (min + 1) + 1 : 0;
    if (!magnitude_of(l, &negative, &magnitude) || magnitude > (negative ? most_negative : max))
        return hn_text_fail(t, l->at, "%.*s is out of range: expected %lld to %llu", shown, l->at,
                            (long long)min, (unsigned long long)max);
    *out = negative ? 0 - magnitude : magnitude;
    return HONE_OK;
}

hone_status hn_text_i64(hn_text *t, const char *what, int64_t *out) {
    hn_literal l;
    uint64_t bits;
    HN_TRY(hn_text_literal(t, what, &l));
    HN_TRY(hn_text_integer(t, &l, INT64_MIN, INT64_MAX, &bits));
    *out = (int64_t)bits;
    return HONE_OK;
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* "-12.5e3" becomes "-125e2": without a decimal point strtod does not depend on the locale.
 * NUL-terminated, in the scratch arena when it is long. */
static char *without_point(hn_text *t, const hn_literal *l, char *room, size_t room_bytes) {
    char *text = l->n + 32 <= room_bytes ? room : hn_arena_alloc(t->scratch, l->n + 32);
    if (!text)
        return NULL;
    size_t n = 0;
    long long exponent = 0;
    bool after_point = false;
    for (size_t i = 0; i < l->n; i++) {
        char c = l->at[i];
        if (is_text_digit(c) || (c == '-' && i == 0)) {
            text[n++] = c;
            exponent -= after_point;
        } else if (c == '.') {
            after_point = true;
        } else { /* the exponent, clamped where the result no longer changes */
            bool negative = l->at[i + 1] == '-';
            long long written = 0;
            for (i++; i < l->n; i++) {
                if (is_text_digit(l->at[i]) && written < INT32_MAX)
                    written = written * 10 + (l->at[i] - '0');
            }
            exponent += negative ? -written : written;
        }
    }
    snprintf(text + n, 32, "e%lld", exponent);
    return text;
}

static bool is_word_literal(const hn_literal *l) {
    char first = l->at[l->at[0] == '-'];
    return !is_text_digit(first);
}

static double word_value(const hn_literal *l) {
    bool negative = l->at[0] == '-';
    double v = (l->at[negative] | 0x20) == 'n' ? (double)NAN : (double)INFINITY;
    return copysign(v, negative ? -1.0 : 1.0);
}

static hone_status fail_too_large(hn_text *t, const hn_literal *l, const char *type) {
    return hn_text_fail(t, l->at, "%.*s is too large for %s", (int)HN_MIN(l->n, (size_t)40), l->at,
                        type);
}

hone_status hn_text_f32(hn_text *t, const hn_literal *l, float *out) {
    if (l->kind == HN_LITERAL_HEX) {
        uint64_t bits;
        HN_TRY(hn_text_integer(t, l, 0, UINT32_MAX, &bits));
        uint32_t low = (uint32_t)bits;
        memcpy(out, &low, sizeof(low));
        return HONE_OK;
    }
    if (is_word_literal(l)) {
        *out = (float)word_value(l);
        return HONE_OK;
    }
    char room[96];
    char *text = without_point(t, l, room, sizeof(room));
    HN_TRY_PTR(text);
    *out = strtof(text, NULL);
    return isinf(*out) ? fail_too_large(t, l, "float") : HONE_OK;
}

hone_status hn_text_f64(hn_text *t, const hn_literal *l, double *out) {
    if (l->kind == HN_LITERAL_HEX) {
        uint64_t bits;
        HN_TRY(hn_text_integer(t, l, 0, UINT64_MAX, &bits));
        memcpy(out, &bits, sizeof(bits));
        return HONE_OK;
    }
    if (is_word_literal(l)) {
        *out = word_value(l);
        return HONE_OK;
    }
    char room[96];
    char *text = without_point(t, l, room, sizeof(room));
    HN_TRY_PTR(text);
    *out = strtod(text, NULL);
    return isinf(*out) ? fail_too_large(t, l, "double") : HONE_OK;
}
