/* Quantization and its inverse in two steps: what attributes and shapes decide, and the work
 * itself. */
#ifndef HN_QUANTIZE_EVAL_H
#define HN_QUANTIZE_EVAL_H

#include "ops/eval/widen.h"

/* Which scale an element has: one for all, one per slice of an axis, or one per block along it. */
typedef struct hn_quant {
    uint64_t inner; /* elements behind the axis */
    uint64_t axis;  /* length of the axis */
    uint64_t block; /* of elements along the axis; 0: no blocks */
    bool is_single;
    bool saturate;
    hn_dtype precision; /* of the quotient */
} hn_quant;
hone_status hn_quant_read(hn_eval *c, hn_quant *q);
/* zero: NULL for none. is_back: DequantizeLinear. */
void hn_quant_run(hn_pool *pool, const hn_quant *q, bool is_back, const hn_array *x, hn_array *y,
                  const float *scale, const float *zero);

/* Outputs may be NULL. */
void hn_dynamic_quantize(hn_pool *pool, uint64_t n, const float *x, uint8_t *y, float *scale,
                         uint8_t *zero);

#endif /* HN_QUANTIZE_EVAL_H */
