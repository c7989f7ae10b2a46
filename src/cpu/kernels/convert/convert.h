/* Inside and above cpu/kernels: runs of small numbers as floats, and back. Exactly as base/base.h
 * converts single ones. */
#ifndef HN_CONVERT_H
#define HN_CONVERT_H

#include "base/base.h"

typedef struct hn_conversions {
    void (*halves_to_floats)(uint64_t n, const uint16_t *x, float *y); /* float16 */
    void (*floats_to_halves)(uint64_t n, const float *x, uint16_t *y);
    void (*bfloats_to_floats)(uint64_t n, const uint16_t *x, float *y); /* bfloat16 */
    void (*floats_to_bfloats)(uint64_t n, const float *x, uint16_t *y);
    void (*bytes_to_floats)(uint64_t n, const uint8_t *x, float *y); /* 0 .. 255 */
} hn_conversions;
const hn_conversions *hn_conversions_find(void); /* the best for this processor */
extern const hn_conversions hn_conversions__scalar;

#endif /* HN_CONVERT_H */
