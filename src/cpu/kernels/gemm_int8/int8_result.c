/* Results of integer products: plain C, and vectors of each instruction set. */
#include "cpu/kernels/gemm_int8/int8_result.h"

static float plain_within(float v, float low, float high) {
    v = v > low ? v : low;
    return v < high ? v : high;
}

/* The same, but NaN stays NaN. */
static float plain_limited(float v, float low, float high) {
    v = low > v ? low : v;
    return high < v ? high : v;
}

static float plain_float(const hn_int8_result *s, const hn_int8_block *t, int r, int64_t j,
                         float v) {
    if (s->bias)
        v += s->bias[t->col + j];
    if (s->residual.at)
        v += ((const float *)t->residual)[r * s->residual.row + j];
    return plain_limited(v, s->low, s->high);
}

static uint8_t plain_byte(const hn_int8_result *s, const hn_int8_block *t, int r, int64_t j,
                          float v) {
    const hn_int8_residual *z = &s->residual;
    float q = hn_round_even(plain_within(v, s->low, s->high));
    if (!z->at)
        return (uint8_t)((int32_t)q + s->zero);
    int64_t at = r * z->row + j;
    float other =
        z->is_signed ? ((const int8_t *)t->residual)[at] : ((const uint8_t *)t->residual)[at];
    float sum = q * z->of_result + (other - z->zero) * z->of_residual;
    return (uint8_t)((int32_t)hn_round_even(plain_within(sum, z->low, z->high)) + z->sum_zero);
}

void hn_int8_result__scalar(const hn_int8_result *s, const hn_int8_block *t) {
    for (int r = 0; r < t->rows; r++)
        for (int64_t j = 0; j < t->cols; j++) {
            int64_t at = r * t->y_row + j, col = t->col + j;
            uint32_t sum = (uint32_t)t->sums[r * t->sums_row + j] + (uint32_t)s->add[col];
            if (s->zeros)
                sum -= t->row_sums[r] * s->zeros[col];
            if (s->terms)
                sum += t->row_zeros[r] * s->terms[col];
            if (s->to == HN_INT8_TO_I32) {
                ((int32_t *)t->y)[at] = (int32_t)sum;
                continue;
            }
            float v = (float)(int32_t)sum * s->scales[col];
            if (s->to == HN_INT8_TO_F32)
                ((float *)t->y)[at] = plain_float(s, t, r, j, v);
            else
                ((uint8_t *)t->y)[at] = plain_byte(s, t, r, j, v);
        }
}

void hn_int8_finish(hn_int8_result_fn *kernel, const hn_int8_result *s, const hn_int8_block *t) {
    kernel(s, t);
    for (int r = 0; s->unary && r < t->rows; r++) {
        float *y = (float *)t->y + r * t->y_row;
        s->unary(y, y, (uint64_t)t->cols, s->a, s->b);
    }
}

#define SIMD_TEMPLATE "cpu/kernels/gemm_int8/int8_result_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"

/* These loops run in every product whose scale is found at run time: no branches, so that vectors
 * are used. */

/* Zero points of the packed numbers of b. Returns whether one is not 0. */
static bool fill_column_zeros(const hn_int8_columns *c, uint32_t *restrict zeros) {
    uint32_t shift = c->b_is_signed ? 0 : -(uint32_t)0x80;
    uint32_t first = (c->n_b_zeros > 0 ? (uint32_t)c->b_zeros[0] : 0) + shift, any = first;
    if (c->n_b_zeros > 1)
        for (int64_t j = 0; j < c->n; j++)
            any |= zeros[j] = (uint32_t)c->b_zeros[j] + shift;
    else
        for (int64_t j = 0; j < c->n; j++)
            zeros[j] = first;
    for (int64_t j = c->n; j < c->padded; j++)
        zeros[j] = 0;
    return any != 0;
}

static void fill_column_sums(const hn_int8_columns *c, const uint32_t *zeros,
                             uint32_t *restrict terms, uint32_t *restrict add) {
    const uint32_t k = (uint32_t)c->k, a_zero = (uint32_t)c->a_zero, *col_sums = c->col_sums;
    for (int64_t j = 0; j < c->padded; j++) {
        uint32_t term = k * zeros[j] - col_sums[j];
        terms[j] = term;
        add[j] = a_zero * term;
    }
    for (int64_t j = 0; c->bias && j < c->n; j++)
        add[j] += (uint32_t)c->bias[j];
}

static void fill_column_scales(const hn_int8_columns *c, float *restrict scales) {
    const float scale = c->scale, divisor = c->divisor, *of_columns = c->scales;
    float all = c->n_scales ? scale * of_columns[0] / divisor : 0;
    if (c->n_scales <= 1)
        for (int64_t j = 0; j < c->n; j++)
            scales[j] = all;
    else if (divisor == 1)
        for (int64_t j = 0; j < c->n; j++)
            scales[j] = scale * of_columns[j];
    else
        for (int64_t j = 0; j < c->n; j++)
            scales[j] = scale * of_columns[j] / divisor;
    for (int64_t j = c->n; j < c->padded; j++)
        scales[j] = 0;
}

void hn_int8_columns_fill(const hn_int8_columns *c, void *memory, hn_int8_result *result) {
    uint32_t *add = memory, *zeros = add + c->padded, *terms = zeros + c->padded;
    float *scales = (float *)memory + 3 * c->padded, *bias = scales + c->padded;
    bool has_zeros = fill_column_zeros(c, zeros);
    fill_column_sums(c, zeros, terms, add);
    fill_column_scales(c, scales);
    if (c->float_bias) {
        memset(bias + c->n, 0, (size_t)(c->padded - c->n) * sizeof *bias);
        memcpy(bias, c->float_bias, (size_t)c->n * sizeof *bias);
    }
    result->add = (const int32_t *)add;
    result->zeros = has_zeros ? zeros : NULL;
    result->terms = c->has_row_zeros ? terms : NULL;
    result->scales = scales;
    result->bias = c->float_bias ? bias : NULL;
}
