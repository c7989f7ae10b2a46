/* Bytes by a table of 256. */
#ifndef HN_BYTE_LOOKUP_H
#define HN_BYTE_LOOKUP_H

#include "base/base.h"

/* y = table[x]; y may be x. */
typedef void hn_byte_lookup_fn(uint64_t n, const uint8_t *x, const uint8_t *table, uint8_t *y);
hn_byte_lookup_fn *hn_byte_lookup_find(void); /* the best for this processor */
hn_byte_lookup_fn hn_byte_lookup__scalar, hn_byte_lookup__avx512vbmi;

#endif /* HN_BYTE_LOOKUP_H */
