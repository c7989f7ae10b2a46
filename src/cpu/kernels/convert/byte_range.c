/* Plain loops that compilers vectorize: comparisons instead of fminf and fmaxf, whose rules for NaN
 * and signed zeros they cannot keep in vectors. */
#include "cpu/kernels/convert/byte_range.h"

#define LANES 16

void hn_range_f32(uint64_t n, const float *v, float *lo, float *hi) {
    float low[LANES] = {0}, high[LANES] = {0};
    uint64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            low[k] = v[i + (uint64_t)k] < low[k] ? v[i + (uint64_t)k] : low[k];
            high[k] = v[i + (uint64_t)k] > high[k] ? v[i + (uint64_t)k] : high[k];
        }
    for (int k = 0; i < n; i++, k++) {
        low[k] = v[i] < low[k] ? v[i] : low[k];
        high[k] = v[i] > high[k] ? v[i] : high[k];
    }
    *lo = *hi = 0;
    for (int k = 0; k < LANES; k++) {
        *lo = low[k] < *lo ? low[k] : *lo;
        *hi = high[k] > *hi ? high[k] : *hi;
    }
}

/* What is clamped before it is rounded becomes the same byte: the bounds are integers. */
void hn_floats_to_bytes(uint64_t n, const float *v, float scale, float zero, uint8_t *out) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: sums with it have no bits left for a fraction */
    for (uint64_t i = 0; i < n; i++) {
        float q = v[i] / scale;
        q = q > -1024.0f ? q : -1024.0f; /* zero is at most 255; NaN goes down, too */
        q = q < 1024.0f ? q : 1024.0f;
        q = (q + shift) - shift + zero;
        q = q > 0.0f ? q : 0.0f;
        q = q < 255.0f ? q : 255.0f;
        out[i] = (uint8_t)(int32_t)q;
    }
}
