/* Quantization and its inverse: plain C, and vectors of each instruction set. */
#include "cpu/kernels/quantize/quantize.h"

#define QUANTIZE_PLAIN(name, Y, least, most)                                    \
  static void name(uint64_t n, const float *x, float scale, float zero, Y *y) { \
    for (uint64_t i = 0; i < n; i++) {                                          \
      float v = hn_round_even(x[i] / scale) + zero;                             \
      v = v > (least) ? v : (least);                                            \
      y[i] = (Y)(v < (most) ? v : (most));                                      \
    }                                                                           \
  }
QUANTIZE_PLAIN(quantize_plain_u8, uint8_t, 0.0f, 255.0f)
QUANTIZE_PLAIN(quantize_plain_s8, int8_t, -128.0f, 127.0f)
#undef QUANTIZE_PLAIN

#define DEQUANTIZE_PLAIN(name, X)                                               \
  static void name(uint64_t n, const X *x, float scale, float zero, float *y) { \
    for (uint64_t i = 0; i < n; i++)                                            \
      y[i] = ((float)x[i] - zero) * scale;                                      \
  }
DEQUANTIZE_PLAIN(dequantize_plain_u8, uint8_t)
DEQUANTIZE_PLAIN(dequantize_plain_s8, int8_t)
#undef DEQUANTIZE_PLAIN

static void range_plain(uint64_t n, const float *x, float *lowest, float *highest) {
    float lo = 0, hi = 0;
    for (uint64_t i = 0; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    *lowest = lo;
    *highest = hi;
}

const hn_quantize_loops hn_quantize_loops__scalar = {
    quantize_plain_u8, quantize_plain_s8, dequantize_plain_u8, dequantize_plain_s8, range_plain};

#define SIMD_TEMPLATE "cpu/kernels/quantize/quantize_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"

/* ---- dynamic quantization --------------------------------------------------------------------- */

enum {
    MOST_RANGE_PARTS = 64,
    LEAST_PART_ELEMS = 1 << 14 /* that are worth another thread */
};

typedef struct range_job {
    uint64_t n, part_elems;
    const float *x;
    float lowest[MOST_RANGE_PARTS], highest[MOST_RANGE_PARTS];
} range_job;

static void find_range_parts(void *ctx, int64_t begin, int64_t end) {
    range_job *job = ctx;
    for (int64_t part = begin; part < end; part++) {
        uint64_t first = (uint64_t)part * job->part_elems;
        hn_quantize_loops_find()->range(HN_MIN(job->part_elems, job->n - first), job->x + first,
                                        &job->lowest[part], &job->highest[part]);
    }
}

void hn_quantize_find_scale(hn_pool *pool, uint64_t n, const float *x, float *scale, float *zero) {
    range_job job = {.n = n, .x = x};
    job.part_elems = HN_MAX((n + MOST_RANGE_PARTS - 1) / MOST_RANGE_PARTS, LEAST_PART_ELEMS);
    uint64_t n_parts = (n + job.part_elems - 1) / job.part_elems;
    float lo = 0, hi = 0;
    hn_pool_for(pool, (int64_t)n_parts, 1, find_range_parts, &job);
    for (uint64_t part = 0; part < n_parts; part++) {
        lo = HN_MIN(lo, job.lowest[part]);
        hi = HN_MAX(hi, job.highest[part]);
    }
    *scale = (hi - lo) / 255;
    *scale = *scale > 0 ? *scale : 1;
    float wanted = hn_round_even(-lo / *scale);
    *zero = wanted > 0 ? HN_MIN(wanted, 255) : 0;
}

typedef struct bytes_job {
    uint64_t n;
    const float *x;
    float scale, zero;
    uint8_t *y;
} bytes_job;

static void quantize_parts(void *ctx, int64_t begin, int64_t end) {
    const bytes_job *job = ctx;
    uint64_t first = (uint64_t)begin * LEAST_PART_ELEMS;
    uint64_t n = HN_MIN((uint64_t)end * LEAST_PART_ELEMS, job->n) - first;
    hn_quantize_loops_find()->to_u8(n, job->x + first, job->scale, job->zero, job->y + first);
}

void hn_quantize_to_u8(hn_pool *pool, uint64_t n, const float *x, float scale, float zero,
                       uint8_t *y) {
    bytes_job job = {n, x, scale, zero, y};
    hn_pool_for(pool, (int64_t)((n + LEAST_PART_ELEMS - 1) / LEAST_PART_ELEMS), 1, quantize_parts,
                &job);
}
