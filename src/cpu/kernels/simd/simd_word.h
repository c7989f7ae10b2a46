/* Four bytes as a number, for vectors that repeat them. */
#ifndef HN_SIMD_WORD_H
#define HN_SIMD_WORD_H

#include "base/base.h"

static inline __attribute__((always_inline)) int32_t hn_load_word(const void *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

#endif /* HN_SIMD_WORD_H */
