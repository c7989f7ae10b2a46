/* Bytes by a table of 256. With AVX-512 VBMI the table lies in four registers, of which two
 * permutations look up the lower and the upper half; the highest bit of a byte says which holds. */
#include "cpu/kernels/quantize/byte_lookup.h"

void hn_byte_lookup__scalar(uint64_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    for (uint64_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512vbmi.h"

VBMI_TARGET void hn_byte_lookup__avx512vbmi(uint64_t n, const uint8_t *x, const uint8_t *table,
                                            uint8_t *y) {
    VBMI low0 = VBMI_LOAD(table), low1 = VBMI_LOAD(table + VBMI_ELEMS),
         high0 = VBMI_LOAD(table + 2 * VBMI_ELEMS), high1 = VBMI_LOAD(table + 3 * VBMI_ELEMS);
    uint64_t i = 0;
    for (; i + VBMI_ELEMS <= n; i += VBMI_ELEMS) {
        VBMI at = VBMI_LOAD(x + i);
        VBMI_STORE(y + i, VBMI_BLEND(at, VBMI_PICK(low0, at, low1), VBMI_PICK(high0, at, high1)));
    }
    if (i < n) {
        VBMI_SOME some = VBMI_FIRST(n - i);
        VBMI at = VBMI_LOAD_SOME(some, x + i);
        VBMI_STORE_SOME(y + i, some,
                        VBMI_BLEND(at, VBMI_PICK(low0, at, low1), VBMI_PICK(high0, at, high1)));
    }
}
#endif
