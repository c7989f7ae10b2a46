/* Floats as bytes of one scale and zero point, which their range decides: dynamic quantization. */
#ifndef HN_BYTE_RANGE_H
#define HN_BYTE_RANGE_H

#include "base/base.h"

/* The lowest and highest number, and 0; NaN does not count. */
void hn_range_f32(uint64_t n, const float *v, float *lo, float *hi);
/* Rounds v / scale to the nearest even integer, adds zero, and keeps it within 0 and 255; NaN is 0.
 */
void hn_floats_to_bytes(uint64_t n, const float *v, float scale, float zero, uint8_t *out);

#endif /* HN_BYTE_RANGE_H */
