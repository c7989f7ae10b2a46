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

const hn_quantize_loops hn_quantize_loops__scalar = {quantize_plain_u8, quantize_plain_s8,
                                                     dequantize_plain_u8, dequantize_plain_s8};

#define SIMD_TEMPLATE "cpu/kernels/quantize/quantize_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
