/* Measures what the processor can do at most. */
#include "cpu/kernels/peaks/peaks.h"

#include <stdlib.h>

#include "cpu/kernels/kernel_select.h"

/* ---- arithmetic: sums that stay in registers ------------------------------------------------- */

#define PEAK_SUMS 12
#define PEAK_STEPS 20000

#define DEFINE_PEAK(isa)                                                                     \
  static V_TARGET float peak_sums__##isa(int n_steps) {                                      \
    V sums[PEAK_SUMS], by = V_SET1(0.999f);                                                  \
    float out[V_ELEMS];                                                                      \
    _Pragma("GCC unroll 12") for (int i = 0; i < PEAK_SUMS; i++) sums[i] = V_SET1((float)i); \
    for (int step = 0; step < n_steps; step++)                                               \
      _Pragma("GCC unroll 12") for (int i = 0; i < PEAK_SUMS; i++) sums[i] =                 \
          V_FMA(sums[i], by, by);                                                            \
    _Pragma("GCC unroll 12") for (int i = 1; i < PEAK_SUMS; i++) sums[0] =                   \
        V_ADD(sums[0], sums[i]);                                                             \
    V_STORE(out, sums[0]);                                                                   \
    return out[0];                                                                           \
  }                                                                                          \
  enum { PEAK_ELEMS__##isa = V_ELEMS };

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

static float peak_sums__plain(int n_steps) {
    float sums[PEAK_SUMS];
    for (int i = 0; i < PEAK_SUMS; i++)
        sums[i] = (float)i;
    for (int step = 0; step < n_steps; step++)
        for (int i = 0; i < PEAK_SUMS; i++)
            sums[i] = sums[i] * 0.999f + 0.999f;
    for (int i = 1; i < PEAK_SUMS; i++)
        sums[0] += sums[i];
    return sums[0];
}

typedef struct peak_loop {
    float (*sums)(int n_steps);
    int n_elems;
} peak_loop;

static peak_loop pick_peak_loop(void) {
#if defined(__x86_64__)
    if (hn_isa_is_available(HN_ISA_AVX512))
        return (peak_loop){peak_sums__avx512, PEAK_ELEMS__avx512};
    if (hn_isa_is_available(HN_ISA_AVX2))
        return (peak_loop){peak_sums__avx2, PEAK_ELEMS__avx2};
#elif defined(__aarch64__)
    if (hn_isa_is_available(HN_ISA_NEON))
        return (peak_loop){peak_sums__neon, PEAK_ELEMS__neon};
#endif
    return (peak_loop){peak_sums__plain, 1};
}

/* What was computed must be written somewhere. */
static void run_peak_loops(void *ctx, int64_t begin, int64_t end) {
    const peak_loop *loop = ctx;
    volatile float last;
    for (int64_t i = begin; i < end; i++)
        last = loop->sums(PEAK_STEPS);
    (void)last;
}

double hn_peak_flops(hn_pool *pool) {
    peak_loop loop = pick_peak_loop();
    int64_t n_loops = pool ? 8 * (int64_t)hn_pool_threads(pool) : 1;
    double best = 0, flops = 2.0 * loop.n_elems * PEAK_SUMS * PEAK_STEPS * (double)n_loops;
    for (int i = 0; i < 200; i++) {
        uint64_t start_ns = hn_now_ns();
        hn_pool_for(pool, n_loops, 1, run_peak_loops, &loop);
        best = HN_MAX(best, flops / (1e-9 * (double)(hn_now_ns() - start_ns + 1)));
    }
    return best;
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { READ_WORDS = 8192 }; /* of a tile */

static void read_words(void *words, int64_t begin, int64_t end) {
    const uint64_t *at = (const uint64_t *)words + begin * READ_WORDS;
    volatile uint64_t last;
    uint64_t sums[8] = {0};
    for (size_t i = 0; i < (size_t)(end - begin) * READ_WORDS; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += at[i + k];
    for (size_t k = 1; k < 8; k++)
        sums[0] += sums[k];
    last = sums[0];
    (void)last;
}

double hn_peak_read_bytes(hn_pool *pool, size_t n_bytes, int n_times) {
    int64_t n_tiles = (int64_t)(n_bytes / (READ_WORDS * sizeof(uint64_t)));
    uint64_t *words = malloc(n_bytes);
    double best = 0;
    if (!words)
        return 0;
    memset(words, 1, n_bytes);
    int64_t per_thread = n_tiles / (pool ? hn_pool_threads(pool) : 1);
    for (int time = 0; time < n_times; time++) {
        uint64_t start_ns = hn_now_ns();
        hn_pool_for(pool, n_tiles, HN_MAX(per_thread, 1), read_words, words);
        best = HN_MAX(best, (double)n_bytes / (1e-9 * (double)(hn_now_ns() - start_ns + 1)));
    }
    free(words);
    return best;
}
