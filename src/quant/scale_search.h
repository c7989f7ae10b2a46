/* Scales of weights by their squared error. */
#ifndef HN_QUANT_SCALE_SEARCH_H
#define HN_QUANT_SCALE_SEARCH_H

#include "quant/scheme.h"

/* As hn_quant_tensor, with scales (and for asymmetric types zero points) that have a smaller
 * squared error than those of the range: of types with few bits it pays to clip the largest
 * numbers. */
hone_status hn_quant_search(const hn_tensor *w, const hn_quant_type *type, int32_t axis,
                            int64_t block, hn_arena *arena, hn_quant_result *out, hone_error *err);

#endif /* HN_QUANT_SCALE_SEARCH_H */
