/* Evaluation of the operators that broadcast their inputs. */
#include "ops/eval/eval_broadcast.h"

#include <math.h>

/* Before version 7 B lies along A's axes from the attribute `axis` on, else at the end. */
static hn_array legacy_operand(const hn_eval *c, const hn_array *a, const hn_array *b,
                               int64_t *dims) {
    const hn_infer *node = hn_eval_node(c);
    if (hn_infer_version(node) >= 7 || !hn_attr_i(node, "broadcast", 0))
        return *b;
    return hn_array_along(b, hn_attr_i(node, "axis", (int64_t)a->rank - b->rank), a->rank, dims);
}

static hone_status eval_pair_named(hn_eval *c, const char *name) {
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 1);
    hn_array *out = hn_ret(c, 0);
    int64_t dims[HN_MAX_RANK];
    if (!out)
        return HONE_OK;
    const hn_binary_op *op = hn_binary_find(name);
    if (!op)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "has no evaluation");
    hn_array along = legacy_operand(c, a, b, dims);
    return hn_binary_eval(c, op, a, &along, out);
}

static hone_status eval_binary(hn_eval *c) {
    return eval_pair_named(c, hn_infer_op(hn_eval_node(c)));
}
const hn_impl hn_impl_binary[1] = {{.eval = eval_binary, .memory = HN_MEMORY_IN_PLACE}};

/* ---- division -------------------------------------------------------------------------------- */

uint64_t hn_first_zero(const hn_array *divisor) {
    size_t bytes = hn_elem_bytes(divisor->dtype);
    uint64_t at = 0, n;
    for (; at < divisor->n_elems; at += n) {
        const uint8_t *part = (const uint8_t *)divisor->data + at * bytes;
        n = HN_MIN(divisor->n_elems - at, HN_TILE);
        if (!hn_has_zero(part, bytes, n))
            continue;
        while (!hn_has_zero(part, bytes, 1))
            part += bytes;
        return (uint64_t)(part - (const uint8_t *)divisor->data) / bytes;
    }
    return divisor->n_elems;
}

/* Integers that are divided by zero have no result. */
static hone_status refuse_zeros(hn_eval *c) {
    const hn_array *divisor = hn_arg(c, 1);
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0 || !hn_dtype_is_int(divisor->dtype))
        return HONE_OK;
    uint64_t zero = hn_first_zero(divisor);
    return zero < divisor->n_elems
               ? hn_eval_fail(c, HONE_E_INVALID, HN_DIVIDES_BY_ZERO, (unsigned long long)zero)
               : HONE_OK;
}

static hone_status eval_div(hn_eval *c) {
    HN_TRY(refuse_zeros(c));
    return eval_binary(c);
}
const hn_impl hn_impl_div[1] = {{.eval = eval_div}};

static hone_status eval_mod(hn_eval *c) {
    HN_TRY(refuse_zeros(c));
    return eval_pair_named(c, hn_attr_i(hn_eval_node(c), "fmod", 0) ? "Mod.fmod" : "Mod");
}
const hn_impl hn_impl_mod[1] = {{.eval = eval_mod}};

static hone_status eval_bit_shift(hn_eval *c) {
    bool is_left = hn_attr_is(hn_eval_node(c), "direction", "LEFT");
    return eval_pair_named(c, is_left ? "BitShift.LEFT" : "BitShift.RIGHT");
}
const hn_impl hn_impl_bit_shift[1] = {{.eval = eval_bit_shift}};

/* ---- comparisons ----------------------------------------------------------------------------- */

typedef struct text_pair {
    const hn_bytes *x, *y;
    uint8_t *z;
} text_pair;

static void equal_texts(void *ctx, const hn_row *row) {
    const text_pair *j = ctx;
    for (uint64_t i = 0; i < row->n; i++) {
        hn_bytes x = j->x[row->in[0] + (row->step[0] ? i : 0)];
        hn_bytes y = j->y[row->in[1] + (row->step[1] ? i : 0)];
        j->z[row->out + i] = x.n == y.n && (x.n == 0 || memcmp(x.at, y.at, (size_t)x.n) == 0);
    }
}

static hone_status eval_equal(hn_eval *c) {
    const hn_array *in[] = {hn_arg(c, 0), hn_arg(c, 1)};
    hn_array *out = hn_ret(c, 0);
    if (in[0]->dtype != HN_STRING || !out)
        return eval_binary(c);
    text_pair job = {in[0]->data, in[1]->data, out->data};
    return hn_broadcast_rows(c, out, 2, in, equal_texts, &job);
}
const hn_impl hn_impl_equal[1] = {{.eval = eval_equal}};

/* ---- any number of operands ------------------------------------------------------------------ */

static hone_status divide_all(hn_eval *c, hn_array *out, uint32_t by) {
    double n = (double)by;
    uint64_t room;
    hn_array divisor = {.dtype = out->dtype, .n_elems = 1, .data = &room};
    hn_store_f64(&divisor, 0, 1, &n);
    return hn_binary_eval(c, hn_binary_find("Div"), out, &divisor, out);
}

/* The running result stands in the output. */
static hone_status eval_variadic(hn_eval *c) {
    const char *name = hn_infer_op(hn_eval_node(c));
    bool is_mean = strcmp(name, "Mean") == 0;
    const hn_binary_op *op = hn_binary_find(is_mean || strcmp(name, "Sum") == 0 ? "Add" : name);
    hn_array *out = hn_ret(c, 0);
    uint32_t n = hn_n_args(c);
    if (!out)
        return HONE_OK;
    if (n == 1)
        return hn_array_copy(c, out, hn_arg(c, 0));
    for (uint32_t k = 1; k < n; k++)
        HN_TRY(hn_binary_eval(c, op, k == 1 ? hn_arg(c, 0) : out, hn_arg(c, k), out));
    return is_mean ? divide_all(c, out, n) : HONE_OK;
}
const hn_impl hn_impl_variadic[1] = {{.eval = eval_variadic}};

/* ---- PRelu ----------------------------------------------------------------------------------- */

/* Before version 7 the slope was one number or one per channel. */
static hone_status channel_slope(hn_eval *c, const hn_array *x, hn_array *slope, int64_t *dims) {
    int32_t axis = HN_MIN(x->rank - 1, 1);
    int64_t n = axis < 0 ? 1 : x->dims[axis];
    if (slope->n_elems == 1)
        return HONE_OK;
    if (slope->n_elems != (uint64_t)n)
        return hn_eval_fail(c, HONE_E_SHAPE, "slope has %llu elements, but needs 1 or %lld",
                            (unsigned long long)slope->n_elems, (long long)n);
    slope->rank = 1;
    slope->dims = &x->dims[axis];
    *slope = hn_array_along(slope, axis, x->rank, dims);
    return HONE_OK;
}

static hone_status eval_prelu(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array slope = *hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    int64_t dims[HN_MAX_RANK];
    if (!y)
        return HONE_OK;
    if (hn_infer_version(hn_eval_node(c)) < 7)
        HN_TRY(channel_slope(c, x, &slope, dims));
    return hn_binary_eval(c, hn_binary_find("PRelu"), x, &slope, y);
}
const hn_impl hn_impl_prelu[1] = {{.eval = eval_prelu}};

/* ---- Pow ------------------------------------------------------------------------------------- */

/* Repeated squaring; what is too large wraps. Below an exponent of zero only 1 and -1 remain. */
static int64_t integer_power(int64_t base, int64_t exponent) {
    uint64_t result = 1, square = (uint64_t)base;
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static void pow_integers(void *ctx, const hn_row *row) {
    const hn_pow_job *j = ctx;
    int64_t x[HN_TILE], y[HN_TILE];
    for (uint64_t i = 0; i < row->n; i += HN_TILE) {
        uint64_t n = HN_MIN(row->n - i, HN_TILE);
        hn_load_i64(j->x, row->in[0] + (row->step[0] ? i : 0), row->step[0] ? n : 1, x);
        hn_load_i64(j->y, row->in[1] + (row->step[1] ? i : 0), row->step[1] ? n : 1, y);
        for (uint64_t k = n; k-- > 0;) /* backwards: x[0] may be the base of all */
            x[k] = integer_power(x[row->step[0] ? k : 0], y[row->step[1] ? k : 0]);
        hn_store_i64(j->z, row->out + i, n, x);
    }
}

static void pow_doubles(void *ctx, const hn_row *row) {
    const hn_pow_job *j = ctx;
    double x[HN_TILE], y[HN_TILE];
    for (uint64_t i = 0; i < row->n; i += HN_TILE) {
        uint64_t n = HN_MIN(row->n - i, HN_TILE);
        hn_load_f64(j->x, row->in[0] + (row->step[0] ? i : 0), row->step[0] ? n : 1, x);
        hn_load_f64(j->y, row->in[1] + (row->step[1] ? i : 0), row->step[1] ? n : 1, y);
        for (uint64_t k = n; k-- > 0;)
            x[k] = pow(x[row->step[0] ? k : 0], y[row->step[1] ? k : 0]);
        hn_store_f64(j->z, row->out + i, n, x);
    }
}

/* In tiles, because z may be x. */
static void pow_cubes(const hn_pow_job *j, const float *x, float *z, uint64_t n) {
    float squares[HN_TILE];
    for (uint64_t i = 0; i < n; i += HN_TILE) {
        uint64_t n_tile = HN_MIN(n - i, HN_TILE);
        j->multiply(x + i, 1, x + i, 1, squares, n_tile);
        j->multiply(squares, 1, x + i, 1, z + i, n_tile);
    }
}

/* Squares and cubes are by far the most common powers. */
static void pow_floats(void *ctx, const hn_row *row) {
    const hn_pow_job *j = ctx;
    const float *x = (const float *)j->x->data + row->in[0];
    const float *y = (const float *)j->y->data + row->in[1];
    float *z = (float *)j->z->data + row->out;
    bool is_constant = row->step[0] && !row->step[1];
    if (is_constant && y[0] == 2) {
        j->multiply(x, 1, x, 1, z, row->n);
        return;
    }
    if (is_constant && y[0] == 3) {
        pow_cubes(j, x, z, row->n);
        return;
    }
    for (uint64_t i = 0; i < row->n; i++)
        z[i] = powf(x[row->step[0] ? i : 0], y[row->step[1] ? i : 0]);
}

hn_row_fn hn_pow_row(hn_dtype x, hn_dtype y) {
    return hn_dtype_is_int(x) && hn_dtype_is_int(y) ? pow_integers
           : x == HN_F32 && y == HN_F32             ? pow_floats
                                                    : pow_doubles;
}

static hone_status eval_pow(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *z = hn_ret(c, 0);
    int64_t dims[HN_MAX_RANK];
    if (!z)
        return HONE_OK;
    hn_array y = legacy_operand(c, x, hn_arg(c, 1), dims);
    const hn_array *in[] = {x, &y};
    hn_pow_job job = {x, &y, z, hn_binary_float_loop(hn_binary_find("Mul"))};
    return hn_broadcast_rows(c, z, 2, in, hn_pow_row(x->dtype, y.dtype), &job);
}
const hn_impl hn_impl_pow[1] = {{.eval = eval_pow}};

/* ---- Where ----------------------------------------------------------------------------------- */

#define CHOOSE_ROW(name, T)                                                                \
  static void name(void *ctx, const hn_row *row) {                                         \
    const hn_select_job *j = ctx;                                                          \
    const uint8_t *condition = j->condition + row->in[0];                                  \
    const T *x = (const T *)j->x + row->in[1], *y = (const T *)j->y + row->in[2];          \
    T *z = (T *)j->z + row->out;                                                           \
    uint64_t of_x = row->step[1] != 0, of_y = row->step[2] != 0, of_c = row->step[0] != 0; \
    for (uint64_t i = 0; i < row->n; i++) {                                                \
      const T *from = condition[i * of_c] ? x + i * of_x : y + i * of_y;                   \
      z[i] = *from;                                                                        \
    }                                                                                      \
  }
typedef struct sixteen_bytes {
    uint64_t low, high;
} sixteen_bytes;
CHOOSE_ROW(choose_1, uint8_t)
CHOOSE_ROW(choose_2, uint16_t)
CHOOSE_ROW(choose_4, uint32_t)
CHOOSE_ROW(choose_8, uint64_t)
CHOOSE_ROW(choose_16, sixteen_bytes)
CHOOSE_ROW(choose_texts, hn_bytes)

static void choose_fast(void *ctx, const hn_row *row) {
    const hn_select_job *j = ctx;
    size_t bytes = j->elem_bytes;
    j->fast(j->condition + row->in[0], (const uint8_t *)j->x + row->in[1] * bytes,
            (const uint8_t *)j->y + row->in[2] * bytes, row->step,
            (uint8_t *)j->z + row->out * bytes, row->n);
}

/* Texts are chosen as views first, and copied afterwards. */
static hone_status where_texts(hn_eval *c, const hn_array *const *in, hn_array *out) {
    uint64_t bytes;
    if (!hn_mul_u64(out->n_elems, sizeof(hn_bytes), &bytes))
        return HONE_E_NOMEM;
    hn_array chosen = *out;
    chosen.data = hn_eval_scratch(c, bytes);
    HN_TRY_PTR(chosen.data);
    hn_select_job job = {in[0]->data, in[1]->data, in[2]->data, chosen.data, 0, NULL};
    HN_TRY(hn_broadcast_rows(c, out, 3, in, choose_texts, &job));
    return hn_array_copy(c, out, &chosen);
}

hn_row_fn hn_select_row_fn(const hn_select_job *job) {
    if (job->fast)
        return choose_fast;
    switch (job->elem_bytes) {
    case 1:
        return choose_1;
    case 2:
        return choose_2;
    case 4:
        return choose_4;
    case 8:
        return choose_8;
    default:
        return choose_16;
    }
}

hone_status hn_eval_where(hn_eval *c) {
    const hn_array *in[] = {hn_arg(c, 0), hn_arg(c, 1), hn_arg(c, 2)};
    hn_array *out = hn_ret(c, 0);
    if (!out)
        return HONE_OK;
    if (out->dtype == HN_STRING)
        return where_texts(c, in, out);
    size_t bytes = hn_elem_bytes(out->dtype);
    hn_select_job job = {in[0]->data, in[1]->data, in[2]->data,
                         out->data,   bytes,       hn_select_find(bytes)};
    return hn_broadcast_rows(c, out, 3, in, hn_select_row_fn(&job), &job);
}
const hn_impl hn_impl_where[1] = {{.eval = hn_eval_where, .memory = HN_MEMORY_IN_PLACE}};
