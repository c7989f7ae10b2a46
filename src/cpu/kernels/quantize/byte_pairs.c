/* Sums and products of bytes: plain C, and vectors of each instruction set. */
#include "cpu/kernels/quantize/byte_pairs.h"

#define PAIR_PLAIN(name, X, least, most, value)                                        \
  static void name(uint64_t n, const void *as, int a_step, const void *bs, int b_step, \
                   const hn_byte_pair *by, void *ys) {                                 \
    const X *a_at = as, *b_at = bs;                                                    \
    X *y = ys;                                                                         \
    for (uint64_t i = 0; i < n; i++, a_at += a_step, b_at += b_step) {                 \
      float a = (float)*a_at - by->a_zero, b = (float)*b_at - by->b_zero;              \
      float v = hn_round_even(value) + by->y_zero;                                     \
      v = v > (least) ? v : (least);                                                   \
      y[i] = (X)(v < (most) ? v : (most));                                             \
    }                                                                                  \
  }
PAIR_PLAIN(add_plain_u8, uint8_t, 0.0f, 255.0f, a * by->by_a + b * by->by_b)
PAIR_PLAIN(add_plain_s8, int8_t, -128.0f, 127.0f, a * by->by_a + b * by->by_b)
PAIR_PLAIN(mul_plain_u8, uint8_t, 0.0f, 255.0f, a *b * by->by_a)
PAIR_PLAIN(mul_plain_s8, int8_t, -128.0f, 127.0f, a *b * by->by_a)
#undef PAIR_PLAIN

const hn_byte_pair_loops hn_byte_pair_loops__scalar = {add_plain_u8, add_plain_s8, mul_plain_u8,
                                                       mul_plain_s8};

#define SIMD_TEMPLATE "cpu/kernels/quantize/byte_pairs_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
