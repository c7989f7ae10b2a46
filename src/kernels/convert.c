/* Conversions of runs in plain C, and which are best. */
#include "kernels/convert.h"

#include "kernels/vec.h"

static void halves_to_floats_plain(uint64_t n, const uint16_t *x, float *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = hn_f16_to_f32(x[i]);
}

static void floats_to_halves_plain(uint64_t n, const float *x, uint16_t *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = hn_f32_to_f16(x[i]);
}

static void bytes_to_floats_plain(uint64_t n, const uint8_t *x, float *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = (float)x[i];
}

const hn_conversions hn_conversions__plain = {halves_to_floats_plain, floats_to_halves_plain,
                                              bytes_to_floats_plain};

#if defined(__x86_64__)
extern const hn_conversions hn_conversions__avx512, hn_conversions__avx2;
#elif defined(__aarch64__)
extern const hn_conversions hn_conversions__neon;
#endif

const hn_conversions *hn_conversions_find(void) {
#if defined(__x86_64__)
    if (hn_cpu_has_all(HN_NEEDS_AVX512))
        return &hn_conversions__avx512;
    if (hn_cpu_has_all(HN_NEEDS_AVX2 | HN_FEATURE(F16C)))
        return &hn_conversions__avx2;
#elif defined(__aarch64__)
    if (hn_cpu_has_all(HN_NEEDS_NEON))
        return &hn_conversions__neon;
#endif
    return &hn_conversions__plain;
}
