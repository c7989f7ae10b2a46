/* What the processor could do: the arithmetic of sums that stay in registers, and the speed of
 * reading memory. */
#include "kern/kern.h"

#include <stdio.h>
#include <stdlib.h>

#include "cpu/kernels/kernel_select.h"

static double now_seconds(void) {
    return (double)hn_now_ns() * 1e-9;
}

/* ---- the peak: sums that stay in registers ---- */

#define PEAK_SUMS 12
#define PEAK_STEPS 20000

#define DEFINE_PEAK(isa)                                                                     \
  static V_TARGET double peak_flops__##isa(void) {                                           \
    V sums[PEAK_SUMS], by = V_SET1(0.999f);                                                  \
    float out[V_ELEMS];                                                                      \
    _Pragma("GCC unroll 12") for (int i = 0; i < PEAK_SUMS; i++) sums[i] = V_SET1((float)i); \
    for (int step = 0; step < PEAK_STEPS; step++)                                            \
      _Pragma("GCC unroll 12") for (int i = 0; i < PEAK_SUMS; i++) sums[i] =                 \
          V_FMA(sums[i], by, by);                                                            \
    _Pragma("GCC unroll 12") for (int i = 1; i < PEAK_SUMS; i++) sums[0] =                   \
        V_ADD(sums[0], sums[i]);                                                             \
    V_STORE(out, sums[0]);                                                                   \
    static volatile float sink;                                                              \
    sink = out[0];                                                                           \
    (void)sink;                                                                              \
    return 2.0 * V_ELEMS * PEAK_SUMS * PEAK_STEPS;                                           \
  }

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512.h"
DEFINE_PEAK(avx512)
#  include "cpu/kernels/simd/simd_end.h"
#  include "cpu/kernels/simd/simd_avx2.h"
DEFINE_PEAK(avx2)
#  include "cpu/kernels/simd/simd_end.h"
#elif defined(__aarch64__)
#  include "cpu/kernels/simd/simd_neon.h"
DEFINE_PEAK(neon)
#  include "cpu/kernels/simd/simd_end.h"
#endif

static double peak_flops(void) {
#if defined(__x86_64__)
    return hn_isa_is_available(HN_ISA_AVX512) ? peak_flops__avx512()
           : hn_isa_is_available(HN_ISA_AVX2) ? peak_flops__avx2()
                                              : 0;
#elif defined(__aarch64__)
    return hn_isa_is_available(HN_ISA_NEON) ? peak_flops__neon() : 0;
#else
    return 0;
#endif
}

/* The best ever seen: a peak measured while others run would flatter the kernels. */
double kern_peak_gflops(void) {
    static double best;
    for (int i = 0; i < 200; i++) {
        double start = now_seconds(), flops = peak_flops(), took = now_seconds() - start;
        best = HN_MAX(best, flops / took * 1e-9);
    }
    return best;
}

/* ---- reading ---- */

#define READ_BYTES ((size_t)256 << 20) /* far beyond what a core may call its own of any cache */
#define READ_TIMES 5

double kern_read_gbytes(void) {
    size_t n = READ_BYTES / sizeof(uint64_t);
    uint64_t *words = malloc(READ_BYTES);
    double best = 0;
    static volatile uint64_t sink;
    if (!words)
        return 0;
    memset(words, 1, READ_BYTES);
    for (int time = 0; time < READ_TIMES; time++) {
        uint64_t sums[8] = {0};
        double start = now_seconds();
        for (size_t i = 0; i + 8 <= n; i += 8)
            for (size_t k = 0; k < 8; k++)
                sums[k] += words[i + k];
        best = HN_MAX(best, (double)READ_BYTES / (now_seconds() - start) * 1e-9);
        for (size_t k = 0; k < 8; k++)
            sink += sums[k];
    }
    (void)sink;
    free(words);
    return best;
}

void kern_print_peaks(void) {
    double read = kern_read_gbytes();
    printf("{\"gflops\": %.1f, \"read_gbytes_per_second\": %.2f}\n", kern_peak_gflops(), read);
}
