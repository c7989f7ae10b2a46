/* Evaluation of conversions between element types. */
#include "ops/eval/eval_broadcast.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- numbers to numbers ---------------------------------------------------------------------- */

static bool is_integer_like(hn_dtype t) {
    return hn_dtype_is_int(t) || t == HN_BOOL;
}

/* The formats that an attribute of Cast has a say in. */
static bool encode_by_attributes(const hn_cast_job *j, uint64_t at, uint64_t n, const float *in) {
    static const struct {
        hn_dtype dtype;
        hn_f8_kind kind;
    } kinds[] = {{HN_F8E4M3FN, HN_F8_E4M3FN},
                 {HN_F8E4M3FNUZ, HN_F8_E4M3FNUZ},
                 {HN_F8E5M2, HN_F8_E5M2},
                 {HN_F8E5M2FNUZ, HN_F8_E5M2FNUZ}};
    uint8_t *out = (uint8_t *)j->y->data + at;
    if (j->y->dtype == HN_F8E8M0) {
        for (uint64_t i = 0; i < n; i++)
            out[i] = hn_f32_to_e8m0(in[i], j->round, j->is_saturated);
        return true;
    }
    for (size_t k = 0; k < HN_COUNT(kinds); k++) {
        if (kinds[k].dtype != j->y->dtype)
            continue;
        for (uint64_t i = 0; i < n; i++)
            out[i] = hn_f32_to_f8(in[i], kinds[k].kind, j->is_saturated);
        return true;
    }
    return false;
}

/* Straight from one size to another. What is cut off does not depend on the sign. */
#define RESIZE_LOOP(name, From, To)                        \
  static void name(const void *px, void *py, uint64_t n) { \
    const From *x = px;                                    \
    To *y = py;                                            \
    HN_LANES_APART                                         \
    for (uint64_t i = 0; i < n; i++)                       \
      y[i] = (To)x[i];                                     \
  }
#define TRUTH_LOOP(name, From)                             \
  static void name(const void *px, void *py, uint64_t n) { \
    const From *x = px;                                    \
    uint8_t *y = py;                                       \
    HN_LANES_APART                                         \
    for (uint64_t i = 0; i < n; i++)                       \
      y[i] = x[i] != 0;                                    \
  }
RESIZE_LOOP(cut_16_8, uint16_t, uint8_t)
RESIZE_LOOP(cut_32_8, uint32_t, uint8_t)
RESIZE_LOOP(cut_32_16, uint32_t, uint16_t)
RESIZE_LOOP(cut_64_8, uint64_t, uint8_t)
RESIZE_LOOP(cut_64_16, uint64_t, uint16_t)
RESIZE_LOOP(cut_64_32, uint64_t, uint32_t)
RESIZE_LOOP(grow_i8_16, int8_t, int16_t)
RESIZE_LOOP(grow_u8_16, uint8_t, uint16_t)
RESIZE_LOOP(grow_i8_32, int8_t, int32_t)
RESIZE_LOOP(grow_u8_32, uint8_t, uint32_t)
RESIZE_LOOP(grow_i16_32, int16_t, int32_t)
RESIZE_LOOP(grow_u16_32, uint16_t, uint32_t)
TRUTH_LOOP(truth_8, uint8_t)
TRUTH_LOOP(truth_16, uint16_t)
TRUTH_LOOP(truth_32, uint32_t)
TRUTH_LOOP(truth_64, uint64_t)
TRUTH_LOOP(truth_float, float)
TRUTH_LOOP(truth_double, double)

/* By the logarithms of sizes in bytes: of what is read, and of what is written. NULL: other ways.
 */
static hn_unary_int_fn resize_loop(hn_dtype from, hn_dtype to) {
    static const hn_unary_int_fn cuts[4][4] = {
        [1] = {cut_16_8}, [2] = {cut_32_8, cut_32_16}, [3] = {cut_64_8, cut_64_16, cut_64_32}};
    static const hn_unary_int_fn grows[2][2][4] = {
        {{NULL, grow_u8_16, grow_u8_32}, {NULL, NULL, grow_u16_32}},
        {{NULL, grow_i8_16, grow_i8_32}, {NULL, NULL, grow_i16_32}}};
    static const hn_unary_int_fn truths[] = {truth_8, truth_16, truth_32, truth_64};
    static const uint8_t log_of[] = {0, 0, 1, 0, 2, 0, 0, 0, 3};
    bool is_signed = from == HN_I8 || from == HN_I16;
    size_t from_log = log_of[hn_elem_bytes(from)], to_log = log_of[hn_elem_bytes(to)];
    if (to == HN_BOOL)
        return from == HN_F32 ? truth_float : from == HN_F64 ? truth_double : truths[from_log];
    return to_log < from_log                   ? cuts[from_log][to_log]
           : to_log > from_log && from_log < 2 ? grows[is_signed][from_log][to_log]
                                               : NULL;
}

static bool is_c_integer(hn_dtype t) {
    return is_integer_like(t) && hn_elem_bytes(t) > 0;
}

/* Elements whose conversion needs no thought. */
static bool cast_directly(const hn_cast_job *j, uint64_t at, uint64_t n) {
    hn_dtype from = j->x->dtype, to = j->y->dtype;
    bool from_integer = is_c_integer(from);
    bool is_truth = to == HN_BOOL && (from_integer || from == HN_F32 || from == HN_F64);
    if (!is_truth && (!from_integer || !is_c_integer(to)))
        return false;
    size_t from_bytes = hn_elem_bytes(from), to_bytes = hn_elem_bytes(to);
    const uint8_t *x = (const uint8_t *)j->x->data + at * from_bytes;
    uint8_t *y = (uint8_t *)j->y->data + at * to_bytes;
    hn_unary_int_fn fn = resize_loop(from, to);
    if (fn)
        fn(x, y, n);
    else if (from_bytes == to_bytes)
        memcpy(y, x, (size_t)n * to_bytes);
    return fn || from_bytes == to_bytes;
}

static void cast_integers(const hn_cast_job *j, uint64_t at, uint64_t n) {
    int64_t tile[HN_TILE];
    if (j->y->dtype == HN_I64) {
        hn_load_i64(j->x, at, n, (int64_t *)j->y->data + at);
    } else if (j->x->dtype == HN_I64) {
        hn_store_i64(j->y, at, n, (const int64_t *)j->x->data + at);
    } else {
        hn_load_i64(j->x, at, n, tile);
        hn_store_i64(j->y, at, n, tile);
    }
}

static void cast_doubles(const hn_cast_job *j, uint64_t at, uint64_t n) {
    double tile[HN_TILE];
    float narrow[HN_TILE];
    const double *in = tile;
    if (j->y->dtype == HN_F64) {
        hn_load_f64(j->x, at, n, (double *)j->y->data + at);
        return;
    }
    if (j->x->dtype == HN_F64)
        in = (const double *)j->x->data + at;
    else
        hn_load_f64(j->x, at, n, tile);
    if (hn_dtype_bits(j->y->dtype) == 8)
        for (uint64_t i = 0; i < n; i++)
            narrow[i] = (float)in[i];
    if (hn_dtype_bits(j->y->dtype) != 8 || !encode_by_attributes(j, at, n, narrow))
        hn_store_f64(j->y, at, n, in);
}

static void cast_floats(const hn_cast_job *j, uint64_t at, uint64_t n) {
    float tile[HN_TILE];
    const float *in = tile;
    if (j->y->dtype == HN_F32) {
        hn_load_f32(j->x, at, n, (float *)j->y->data + at);
        return;
    }
    if (j->x->dtype == HN_F32)
        in = (const float *)j->x->data + at;
    else
        hn_load_f32(j->x, at, n, tile);
    if (!encode_by_attributes(j, at, n, in))
        hn_store_f32(j->y, at, n, in);
}

/* Integers pass as int64, which every one fits; float64 as itself; everything else fits float32. */
static void cast_tile(const hn_cast_job *j, uint64_t at, uint64_t n) {
    hn_dtype from = j->x->dtype, to = j->y->dtype;
    if (is_integer_like(from) && is_integer_like(to))
        cast_integers(j, at, n);
    else if (from == HN_F64 || to == HN_F64)
        cast_doubles(j, at, n);
    else
        cast_floats(j, at, n);
}

void hn_cast_range(void *job, int64_t begin, int64_t end) {
    const hn_cast_job *j = job;
    if (hn_pool_is_stopped(j->pool) || cast_directly(j, (uint64_t)begin, (uint64_t)(end - begin)))
        return;
    for (uint64_t at = (uint64_t)begin; at < (uint64_t)end; at += HN_TILE)
        cast_tile(j, at, HN_MIN((uint64_t)end - at, HN_TILE));
}

/* ---- texts to numbers ------------------------------------------------------------------------ */

static bool is_cast_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(const char *text, uint64_t n, const char *word) {
    for (uint64_t i = 0; i < n; i++)
        if (!word[i] || (text[i] | 0x20) != word[i])
            return false;
    return !word[n];
}

/* A decimal number taken apart: digits without their point, and a power of ten. */
typedef struct decimal_text {
    bool is_negative, is_integer;
    uint32_t n_digits;
    int64_t exponent;
    char *digits; /* room for all of the text and an exponent */
} decimal_text;

static bool split_decimal(const char *text, uint64_t n, decimal_text *d) {
    uint64_t i = 0, written = 0;
    bool after_point = false, is_exponent_negative = false;
    d->n_digits = 0;
    d->exponent = 0;
    d->is_integer = true;
    for (; i < n && (is_cast_digit(text[i]) || (text[i] == '.' && !after_point)); i++) {
        if (text[i] == '.') {
            after_point = true;
            d->is_integer = false;
            continue;
        }
        d->digits[d->n_digits++] = text[i];
        d->exponent -= after_point;
    }
    if (d->n_digits == 0 || i == n)
        return d->n_digits > 0;
    if ((text[i++] | 0x20) != 'e' || i == n)
        return false;
    d->is_integer = false;
    is_exponent_negative = text[i] == '-';
    i += text[i] == '-' || text[i] == '+';
    for (; i < n && is_cast_digit(text[i]); i++)
        written = HN_MIN(written * 10 + (uint64_t)(text[i] - '0'), 1000000);
    d->exponent += is_exponent_negative ? -(int64_t)written : (int64_t)written;
    return i == n;
}

/* strtod without the decimal point, which the program's locale could have changed. */
static double decimal_value(decimal_text *d) {
    snprintf(d->digits + d->n_digits, 24, "e%" PRId64, d->exponent);
    double v = strtod(d->digits, NULL);
    return d->is_negative ? -v : v;
}

static hone_status store_text(hn_eval *c, const hn_bytes *given, hn_array *y, uint64_t at) {
    const char *text = given->at;
    uint64_t n = given->n;
    decimal_text d = {.is_negative = false};
    for (; n > 0 && (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r'); n--)
        text++;
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\n' ||
                     text[n - 1] == '\r'))
        n--;
    if (n > 0 && (*text == '-' || *text == '+')) {
        d.is_negative = *text++ == '-';
        n--;
    }
    d.digits = n < 4096 ? hn_eval_scratch(c, n + 32) : NULL;
    if (n < 4096)
        HN_TRY_PTR(d.digits);
    double v = 0;
    if (n > 0 && (is_word(text, n, "inf") || is_word(text, n, "infinity")))
        v = d.is_negative ? -(double)INFINITY : (double)INFINITY;
    else if (n > 0 && is_word(text, n, "nan"))
        v = (double)NAN;
    else if (!d.digits || !split_decimal(text, n, &d))
        return hn_eval_fail(c, HONE_E_INVALID, "element %llu, \"%.*s\", is no number",
                            (unsigned long long)at, (int)HN_MIN(given->n, 40),
                            given->n ? (const char *)given->at : "");
    else if (d.is_integer && is_integer_like(y->dtype) && d.n_digits <= 20) {
        d.digits[d.n_digits] = '\0';
        uint64_t magnitude = strtoull(d.digits, NULL, 10);
        int64_t whole = (int64_t)(d.is_negative ? (uint64_t)0 - magnitude : magnitude);
        hn_store_i64(y, at, 1, &whole);
        return HONE_OK;
    } else
        v = decimal_value(&d);
    hn_store_f64(y, at, 1, &v);
    return HONE_OK;
}

/* ---- numbers to texts ------------------------------------------------------------------------ */

static int format_element(const hn_array *x, uint64_t at, char out[32]) {
    if (x->dtype == HN_U64)
        return snprintf(out, 32, "%" PRIu64, ((const uint64_t *)x->data)[at]);
    if (is_integer_like(x->dtype)) {
        int64_t whole;
        hn_load_i64(x, at, 1, &whole);
        return snprintf(out, 32, "%" PRId64, whole);
    }
    double wide;
    hn_load_f64(x, at, 1, &wide);
    if (isnan(wide))
        return snprintf(out, 32, "NaN");
    if (isinf(wide))
        return snprintf(out, 32, wide < 0 ? "-INF" : "INF");
    return x->dtype == HN_F64 ? hn_format_f64(out, wide) : hn_format_f32(out, (float)wide);
}

/* ---- operators ------------------------------------------------------------------------------- */

static hone_status cast_texts(hn_eval *c, const hn_array *x, hn_array *y) {
    for (uint64_t at = 0; at < x->n_elems && !hn_spent(64); at++)
        HN_TRY(store_text(c, &((const hn_bytes *)x->data)[at], y, at));
    return HONE_OK;
}

static hone_status cast_to_texts(hn_eval *c, const hn_array *x, hn_array *y) {
    char text[32];
    for (uint64_t at = 0; at < x->n_elems; at++) {
        int n = format_element(x, at, text);
        HN_TRY(hn_array_set_string(c, y, at, text, (uint64_t)n));
    }
    return HONE_OK;
}

void hn_cast_read_attrs(const hn_infer *node, hn_cast_job *job) {
    job->is_saturated = hn_attr_i(node, "saturate", 1) != 0;
    job->round = hn_attr_is(node, "round_mode", "down")      ? HN_ROUND_DOWN
                 : hn_attr_is(node, "round_mode", "nearest") ? HN_ROUND_NEAREST
                                                             : HN_ROUND_UP;
}

static hone_status eval_cast(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    if (x->dtype == y->dtype)
        return hn_array_copy(c, y, x);
    if (x->dtype == HN_STRING)
        return cast_texts(c, x, y);
    if (y->dtype == HN_STRING)
        return cast_to_texts(c, x, y);
    hn_cast_job job = {.pool = hn_eval_pool(c), .x = x, .y = y};
    hn_cast_read_attrs(hn_eval_node(c), &job);
    hn_pool_for(hn_eval_pool(c), (int64_t)x->n_elems, HN_GRAIN, hn_cast_range, &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_cast[1] = {{.eval = eval_cast}};

/* The same bits under another type of the same size. */
static hone_status eval_bit_cast(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    return y ? hn_array_copy(c, y, x) : HONE_OK;
}
const hn_impl hn_impl_bit_cast[1] = {{.eval = eval_bit_cast}};

static hone_status eval_identity(hn_eval *c) {
    const hn_object *x = hn_arg_object(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (x && y && x->kind == HN_OBJECT_TENSOR && y->n_elems == x->array.n_elems)
        return hn_array_copy(c, y, &x->array);
    if (!hn_wants_ret(c, 0))
        return HONE_OK;
    return hn_ret_object(c, 0, x ? hn_object_ref(c, x) : hn_object_none(c));
}
const hn_impl hn_impl_identity[1] = {
    {.eval = eval_identity, .memory = HN_MEMORY_ALIAS, .runs_alone = true}};
