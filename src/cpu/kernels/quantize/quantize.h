/* Inside and above cpu/kernels: floats as 8-bit integers with one scale and one zero point, and
 * back. */
#ifndef HN_QUANTIZE_H
#define HN_QUANTIZE_H

#include "base/base.h"

typedef struct hn_quantize_loops {
    /* y = x / scale, rounded to the nearest (ties to even), plus zero, within the type of y. NaN
     * becomes the smallest. */
    void (*to_u8)(uint64_t n, const float *x, float scale, float zero, uint8_t *y);
    void (*to_s8)(uint64_t n, const float *x, float scale, float zero, int8_t *y);
    /* y = (x - zero) * scale */
    void (*from_u8)(uint64_t n, const uint8_t *x, float scale, float zero, float *y);
    void (*from_s8)(uint64_t n, const int8_t *x, float scale, float zero, float *y);
    /* The lowest and highest number, and 0; NaN does not count. */
    void (*range)(uint64_t n, const float *x, float *lowest, float *highest);
} hn_quantize_loops;
const hn_quantize_loops *hn_quantize_loops_find(void); /* the best for this processor */
extern const hn_quantize_loops hn_quantize_loops__scalar;

/* Dynamic quantization to uint8: the range of the numbers, with 0 in it, over the 256 steps of a
 * byte. Results do not depend on the number of threads. */
void hn_quantize_find_scale(hn_pool *pool, uint64_t n, const float *x, float *scale, float *zero);
/* to_u8 over all threads. */
void hn_quantize_to_u8(hn_pool *pool, uint64_t n, const float *x, float scale, float zero,
                       uint8_t *y);

#endif /* HN_QUANTIZE_H */
