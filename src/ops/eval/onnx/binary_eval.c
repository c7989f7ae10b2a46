/* Operators of two operands, element by element: arithmetic, comparisons, logic, bits. */
#include "ops/eval/eval_broadcast.h"

#include <math.h>

/* ---- loops ----------------------------------------------------------------------------------- */

/* Plain C for every type. cpu/kernels/elementwise has faster ones for many. */
#define PAIR_LOOP(name, T, Z, expr) HN_PAIR_LOOP(, name, T, Z, expr)

/* Signed arithmetic wraps like unsigned; 64 bits hold every narrower operand. */
#define WRAP(op) ((uint64_t)x op(uint64_t) y)

#define ADD_INT(id, T) PAIR_LOOP(add_##T, T, T, WRAP(+))
#define SUB_INT(id, T) PAIR_LOOP(sub_##T, T, T, WRAP(-))
#define MUL_INT(id, T) PAIR_LOOP(mul_##T, T, T, WRAP(*))
HN_C_INTS(ADD_INT)
HN_C_INTS(SUB_INT)
HN_C_INTS(MUL_INT)

/* The smallest number over -1 wraps, too. Zeros were looked for before. */
#define DIV_INT(id, T) \
  PAIR_LOOP(div_##T, T, T, y == (T)-1 && (T)-1 < 1 ? (uint64_t)0 - (uint64_t)x : (uint64_t)(x / y))
HN_C_INTS(DIV_INT)

/* The remainder with the sign of the divisor, and with that of the dividend. */
#define REST(T) (T)(y == (T)-1 ? (T)-1 < 1 ? 0 : x % y : x % y)
#define MOD_INT(id, T)                                                                 \
  PAIR_LOOP(mod_##T, T, T,                                                             \
            REST(T) != 0 && (REST(T) < 1) != (y < 1) ? (uint64_t)REST(T) + (uint64_t)y \
                                                     : (uint64_t)REST(T))
#define FMOD_INT(id, T) PAIR_LOOP(fmod_##T, T, T, REST(T))
HN_C_INTS(MOD_INT)
HN_C_INTS(FMOD_INT)

#define MAX_INT(id, T) PAIR_LOOP(max_##T, T, T, x > y ? x : y)
#define MIN_INT(id, T) PAIR_LOOP(min_##T, T, T, x < y ? x : y)
#define BITAND_INT(id, T) PAIR_LOOP(bitand_##T, T, T, x &y)
#define BITOR_INT(id, T) PAIR_LOOP(bitor_##T, T, T, x | y)
#define BITXOR_INT(id, T) PAIR_LOOP(bitxor_##T, T, T, x ^ y)
HN_C_INTS(MAX_INT)
HN_C_INTS(MIN_INT)
HN_C_INTS(BITAND_INT)
HN_C_INTS(BITOR_INT)
HN_C_INTS(BITXOR_INT)

/* Amounts that are negative or too large move everything out: what stays is the sign. */
#define CAN_SHIFT(T) ((uint64_t)y < 8 * sizeof(T))
#define SHIFT_LEFT_INT(id, T) \
  PAIR_LOOP(shift_left_##T, T, T, CAN_SHIFT(T) ? (uint64_t)x << (y & 63) : 0)
#define SHIFT_RIGHT_INT(id, T)     \
  PAIR_LOOP(shift_right_##T, T, T, \
            CAN_SHIFT(T) ? (T)(x >> (y & 63)) : (T)(x < 1 && x != 0 ? -1 : 0))
HN_C_INTS(SHIFT_LEFT_INT)
HN_C_INTS(SHIFT_RIGHT_INT)

/* A NaN on either side is the result of Max and Min. */
#define ARITHMETIC_FLOAT(id, T)                     \
  PAIR_LOOP(add_##T, T, T, x + y)                   \
  PAIR_LOOP(sub_##T, T, T, x - y)                   \
  PAIR_LOOP(mul_##T, T, T, x *y)                    \
  PAIR_LOOP(div_##T, T, T, x / y)                   \
  PAIR_LOOP(max_##T, T, T, x > y || x != x ? x : y) \
  PAIR_LOOP(min_##T, T, T, x < y || x != x ? x : y)
HN_C_FLOATS(ARITHMETIC_FLOAT)

/* Floor modulus: a rest on the other side of zero than the divisor moves by one divisor, and a rest
 * of zero has its sign. */
static double floor_mod(double x, double y) {
    double rest = fmod(x, y);
    if (rest == 0)
        return copysign(rest, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}

#define MODULUS_FLOAT(id, T)                                \
  PAIR_LOOP(mod_##T, T, T, floor_mod((double)x, (double)y)) \
  PAIR_LOOP(fmod_##T, T, T, fmod((double)x, (double)y))
HN_C_FLOATS(MODULUS_FLOAT)

#define COMPARE(id, T)                          \
  PAIR_LOOP(equal_##T, T, uint8_t, x == y)      \
  PAIR_LOOP(less_##T, T, uint8_t, x < y)        \
  PAIR_LOOP(less_equal_##T, T, uint8_t, x <= y) \
  PAIR_LOOP(greater_##T, T, uint8_t, x > y)     \
  PAIR_LOOP(greater_equal_##T, T, uint8_t, x >= y)
HN_C_INTS(COMPARE)
HN_C_FLOATS(COMPARE)

PAIR_LOOP(and_bool, uint8_t, uint8_t, x &&y)
PAIR_LOOP(or_bool, uint8_t, uint8_t, x || y)
PAIR_LOOP(xor_bool, uint8_t, uint8_t, !x != !y)
PAIR_LOOP(equal_bool, uint8_t, uint8_t, !x == !y)

#define SLOPE(id, T) PAIR_LOOP(slope_##T, T, T, x < 0 ? x * y : x)
HN_C_FLOATS(SLOPE)
#define SLOPE_INT(id, T) PAIR_LOOP(slope_##T, T, T, x < 1 && x != 0 ? WRAP(*) : (uint64_t)x)
HN_C_INTS(SLOPE_INT)

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW_ADD(id, T) [id] = add_##T,
#define ROW_SUB(id, T) [id] = sub_##T,
#define ROW_MUL(id, T) [id] = mul_##T,
#define ROW_DIV(id, T) [id] = div_##T,
#define ROW_MAX(id, T) [id] = max_##T,
#define ROW_MIN(id, T) [id] = min_##T,
#define ROW_MOD(id, T) [id] = mod_##T,
#define ROW_FMOD(id, T) [id] = fmod_##T,
#define ROW_BITAND(id, T) [id] = bitand_##T,
#define ROW_BITOR(id, T) [id] = bitor_##T,
#define ROW_BITXOR(id, T) [id] = bitxor_##T,
#define ROW_LEFT(id, T) [id] = shift_left_##T,
#define ROW_RIGHT(id, T) [id] = shift_right_##T,
#define ROW_EQUAL(id, T) [id] = equal_##T,
#define ROW_LESS(id, T) [id] = less_##T,
#define ROW_LESS_EQUAL(id, T) [id] = less_equal_##T,
#define ROW_GREATER(id, T) [id] = greater_##T,
#define ROW_GREATER_EQUAL(id, T) [id] = greater_equal_##T,
#define ROW_SLOPE(id, T) [id] = slope_##T,
#define NUMBERS(ROW) \
  { HN_C_INTS(ROW) HN_C_FLOATS(ROW) }
#define INTEGERS(ROW) \
  { HN_C_INTS(ROW) }

/* Names with a point are modes of an operator that an attribute chooses. */
static const hn_binary_op pair_ops[] = {
    {"Add", NUMBERS(ROW_ADD)},
    {"Sub", NUMBERS(ROW_SUB)},
    {"Mul", NUMBERS(ROW_MUL)},
    {"Div", NUMBERS(ROW_DIV)},
    {"Max", NUMBERS(ROW_MAX)},
    {"Min", NUMBERS(ROW_MIN)},
    {"Mod", NUMBERS(ROW_MOD)},
    {"Mod.fmod", NUMBERS(ROW_FMOD)},
    {"PRelu", NUMBERS(ROW_SLOPE)},
    {"BitwiseAnd", INTEGERS(ROW_BITAND)},
    {"BitwiseOr", INTEGERS(ROW_BITOR)},
    {"BitwiseXor", INTEGERS(ROW_BITXOR)},
    {"BitShift.LEFT", INTEGERS(ROW_LEFT)},
    {"BitShift.RIGHT", INTEGERS(ROW_RIGHT)},
    {"Equal", {HN_C_INTS(ROW_EQUAL) HN_C_FLOATS(ROW_EQUAL)[HN_BOOL] = equal_bool}},
    {"Less", NUMBERS(ROW_LESS)},
    {"LessOrEqual", NUMBERS(ROW_LESS_EQUAL)},
    {"Greater", NUMBERS(ROW_GREATER)},
    {"GreaterOrEqual", NUMBERS(ROW_GREATER_EQUAL)},
    {"And", {[HN_BOOL] = and_bool}},
    {"Or", {[HN_BOOL] = or_bool}},
    {"Xor", {[HN_BOOL] = xor_bool}},
};

const hn_binary_op *hn_binary_find(const char *op) {
    hn_count_decision(HN_DECISION_SELECTION);
    for (size_t i = 0; i < HN_COUNT(pair_ops); i++)
        if (strcmp(pair_ops[i].op, op) == 0)
            return &pair_ops[i];
    return NULL;
}

/* ---- running one ----------------------------------------------------------------------------- */

static void binary_row(const hn_binary_job *j, const hn_row *row) {
    j->fn((const uint8_t *)j->x + row->in[0] * j->x_bytes, row->step[0],
          (const uint8_t *)j->y + row->in[1] * j->x_bytes, row->step[1],
          (uint8_t *)j->out + row->out * j->out_bytes, row->n);
}

/* Rows so short that calls would cost more than arithmetic are put together where one operand lies
 * as the output does and the other repeats itself: so many bytes. */
enum { PAIR_SHORT_ROW = 128, PAIR_REPEATED = 4096 };

static bool lies_as_output(const hn_box *b, int k) {
    return b->row.step[k] && b->jump[k] == b->row.n;
}

/* Fills with whole rows of an operand that is the same for all rows, or constant along each. */
static void repeat_rows(const hn_box *b, int k, size_t bytes, const uint8_t *from, uint64_t n_rows,
                        uint8_t *out) {
    size_t row_bytes = (size_t)b->row.n * bytes;
    for (uint64_t r = 0; r < n_rows; r++, from += b->jump[k] * bytes, out += row_bytes)
        if (b->row.step[k])
            memcpy(out, from, row_bytes);
        else
            hn_repeat_element(from, bytes, b->row.n, out);
}

static void binary_short_rows(const hn_binary_job *j, const hn_box *b) {
    uint64_t repeated[PAIR_REPEATED / sizeof(uint64_t)];
    int other = lies_as_output(b, 0) ? 1 : 0, along = 1 - other;
    const uint8_t *data[2] = {j->x, j->y};
    uint64_t rows_at_once = PAIR_REPEATED / (b->row.n * j->x_bytes);
    for (uint64_t r = 0; r < b->n_rows; r += rows_at_once) {
        uint64_t rows = HN_MIN(rows_at_once, b->n_rows - r), at = r * b->row.n;
        const void *operands[2];
        if (r == 0 || b->jump[other])
            repeat_rows(b, other, j->x_bytes,
                        data[other] + (b->row.in[other] + r * b->jump[other]) * j->x_bytes, rows,
                        (uint8_t *)repeated);
        operands[other] = repeated;
        operands[along] = data[along] + (b->row.in[along] + at) * j->x_bytes;
        j->fn(operands[0], 1, operands[1], 1, (uint8_t *)j->out + (b->row.out + at) * j->out_bytes,
              rows * b->row.n);
    }
}

void hn_binary_box(void *job, const hn_box *b) {
    const hn_binary_job *j = job;
    bool is_short = b->row.n <= PAIR_SHORT_ROW && b->n_rows > 4;
    if (is_short && (lies_as_output(b, 0) || lies_as_output(b, 1))) {
        binary_short_rows(j, b);
        return;
    }
    hn_row row = b->row;
    for (uint64_t i = 0; i < b->n_rows; i++) {
        binary_row(j, &row);
        row.out += row.n;
        row.in[0] += b->jump[0];
        row.in[1] += b->jump[1];
    }
}

/* Small floats: widen a tile, run the loop of float, narrow what is no bool. */
void hn_binary_small_row(void *ctx, const hn_row *row) {
    const hn_binary_arrays *j = ctx;
    float x[HN_TILE], y[HN_TILE], z[HN_TILE];
    uint8_t truth[HN_TILE];
    bool is_bool = j->out->dtype == HN_BOOL;
    for (uint64_t i = 0; i < row->n; i += HN_TILE) {
        uint64_t n = HN_MIN(row->n - i, HN_TILE);
        hn_load_f32(j->x, row->in[0] + (row->step[0] ? i : 0), row->step[0] ? n : 1, x);
        hn_load_f32(j->y, row->in[1] + (row->step[1] ? i : 0), row->step[1] ? n : 1, y);
        j->fn(x, row->step[0], y, row->step[1], is_bool ? (void *)truth : (void *)z, n);
        if (is_bool)
            memcpy((uint8_t *)j->out->data + row->out + i, truth, (size_t)n);
        else
            hn_store_f32(j->out, row->out + i, n, z);
    }
}

static hn_binary_job job_of(const hn_binary_arrays *a) {
    return (hn_binary_job){a->fn,
                           a->x->data,
                           a->y->data,
                           a->out->data,
                           hn_elem_bytes(a->x->dtype),
                           hn_elem_bytes(a->out->dtype)};
}

/* Operands and result have one shape, but their rows are not contiguous. */
void hn_binary_strided_rows(void *ctx, int64_t begin, int64_t end) {
    const hn_binary_arrays *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        hn_array x = hn_array_row(j->x, i), y = hn_array_row(j->y, i),
                 out = hn_array_row(j->out, i);
        hn_binary_arrays one = {j->fn, &x, &y, &out, j->is_small};
        hn_row row = {.step = {1, 1}, .n = out.n_elems};
        hn_binary_job job = job_of(&one);
        if (j->is_small)
            hn_binary_small_row(&one, &row);
        else
            binary_row(&job, &row);
    }
}

hn_binary_fn hn_binary_loop_of(const hn_binary_op *op, hn_dtype t) {
    static const struct {
        hn_dtype dtype;
        hn_pair_type type;
    } kernel_types[] = {{HN_I8, HN_PAIR_I8},    {HN_I16, HN_PAIR_I16}, {HN_I32, HN_PAIR_I32},
                        {HN_I64, HN_PAIR_I64},  {HN_U8, HN_PAIR_U8},   {HN_U16, HN_PAIR_U16},
                        {HN_U32, HN_PAIR_U32},  {HN_U64, HN_PAIR_U64}, {HN_F64, HN_PAIR_F64},
                        {HN_BOOL, HN_PAIR_BOOL}};
    hn_binary_fn fast = NULL;
    if (!op->by_type[t])
        return NULL;
    if (t == HN_F32)
        fast = hn_binary_find_f32(op->op);
    for (size_t i = 0; i < HN_COUNT(kernel_types); i++)
        if (kernel_types[i].dtype == t)
            fast = hn_typed_pair_find(op->op, kernel_types[i].type);
    return fast ? fast : op->by_type[t];
}

hone_status hn_binary_eval(hn_eval *c, const hn_binary_op *op, const hn_array *x, const hn_array *y,
                           hn_array *out) {
    const hn_array *in[] = {x, y};
    bool is_small = hn_dtype_is_float(x->dtype) && !op->by_type[x->dtype];
    hn_binary_arrays arrays = {hn_binary_loop_of(op, is_small ? HN_F32 : x->dtype), x, y, out,
                               is_small};
    if (!arrays.fn)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "has no evaluation for %s",
                            hn_dtype_name(x->dtype));
    if (x->row_stride || y->row_stride || out->row_stride) {
        int64_t grain = HN_GRAIN / HN_MAX(out->dims[out->rank - 1], 1);
        hn_pool_for(hn_eval_pool(c), hn_n_rows(out), HN_MAX(grain, 1), hn_binary_strided_rows,
                    &arrays);
        return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
    }
    if (arrays.is_small)
        return hn_broadcast_rows(c, out, 2, in, hn_binary_small_row, &arrays);
    hn_binary_job job = job_of(&arrays);
    return hn_broadcast_boxes(c, out, 2, in, hn_binary_box, &job);
}
