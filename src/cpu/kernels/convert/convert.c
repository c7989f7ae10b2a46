/* Conversions of runs in plain C and with vectors. */
#include "cpu/kernels/convert/convert.h"

static void halves_to_floats_plain(uint64_t n, const uint16_t *x, float *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = hn_f16_to_f32(x[i]);
}

static void floats_to_halves_plain(uint64_t n, const float *x, uint16_t *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = hn_f32_to_f16(x[i]);
}

static void bfloats_to_floats_plain(uint64_t n, const uint16_t *x, float *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = hn_bf16_to_f32(x[i]);
}

static void floats_to_bfloats_plain(uint64_t n, const float *x, uint16_t *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = hn_f32_to_bf16(x[i]);
}

static void bytes_to_floats_plain(uint64_t n, const uint8_t *x, float *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = (float)x[i];
}

const hn_conversions hn_conversions__scalar = {halves_to_floats_plain, floats_to_halves_plain,
                                               bfloats_to_floats_plain, floats_to_bfloats_plain,
                                               bytes_to_floats_plain};

/* ---- with vectors --------------------------------------------------------------------------- */

#define SIMD_TEMPLATE "cpu/kernels/convert/convert_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
