/* Loops over two operands of the types that C has: arithmetic that is common, comparisons, logic;
 * and choices. Compilers make vectors of them. */
#include "cpu/kernels/elementwise/typed_pairs.h"

hn_binary_fn hn_typed_pair_find(const char *op, hn_pair_type type) {
    hn_count_decision(HN_DECISION_SELECTION);
    const hn_typed_pairs *best = hn_typed_pairs_pick();
    for (const hn_typed_pair *p = best ? best->pairs : NULL; p && p->op; p++)
        if (strcmp(p->op, op) == 0)
            return p->by_type[type];
    return NULL;
}

hn_select_fn hn_select_find(size_t elem_bytes) {
    const hn_typed_pairs *best = hn_typed_pairs_pick();
    if (elem_bytes == 4)
        return hn_select_find_32();
    if (!best)
        return NULL;
    return elem_bytes == 1   ? best->choose_8
           : elem_bytes == 2 ? best->choose_16
           : elem_bytes == 8 ? best->choose_64
                             : NULL;
}

/* ---- operands that repeat -------------------------------------------------------------------- */

void hn_repeat_element(const void *element, size_t bytes, uint64_t n, void *out) {
#define REPEAT_AS(T)                   \
  case sizeof(T): {                    \
    T one;                             \
    memcpy(&one, element, sizeof one); \
    for (uint64_t i = 0; i < n; i++)   \
      ((T *)out)[i] = one;             \
    break;                             \
  }
    switch (bytes) {
        REPEAT_AS(uint8_t)
        REPEAT_AS(uint16_t)
        REPEAT_AS(uint32_t)
        REPEAT_AS(uint64_t)
    }
#undef REPEAT_AS
}

bool hn_has_zero(const void *x, size_t bytes, uint64_t n) {
#define ZERO_AMONG(T)                \
  case sizeof(T): {                  \
    T any = 0;                       \
    for (uint64_t i = 0; i < n; i++) \
      any |= ((const T *)x)[i] == 0; \
    return any != 0;                 \
  }
    switch (bytes) {
        ZERO_AMONG(uint8_t)
        ZERO_AMONG(uint16_t)
        ZERO_AMONG(uint32_t)
        ZERO_AMONG(uint64_t)
    }
#undef ZERO_AMONG
    return false;
}

enum { LAID_OUT = 128 }; /* elements of 8 bytes: few enough to be quick for short rows */

void hn_pair_repeated(hn_binary_fn fn, size_t x_bytes, size_t z_bytes, const void *x, int step_x,
                      const void *y, int step_y, void *z, uint64_t n) {
    uint64_t xs[LAID_OUT], ys[LAID_OUT], at_once = HN_MIN(n, sizeof xs / x_bytes);
    if (!step_x)
        hn_repeat_element(x, x_bytes, at_once, xs);
    if (!step_y)
        hn_repeat_element(y, x_bytes, at_once, ys);
    for (uint64_t i = 0; i < n; i += at_once)
        fn(step_x ? (const uint8_t *)x + i * x_bytes : (const void *)xs, 1,
           step_y ? (const uint8_t *)y + i * x_bytes : (const void *)ys, 1,
           (uint8_t *)z + i * z_bytes, HN_MIN(at_once, n - i));
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Wider vectors would hardly help: most of these loops wait for memory. */
#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx2.h"
#  include "cpu/kernels/elementwise/typed_pairs_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
#elif defined(__aarch64__)
#  include "cpu/kernels/simd/simd_neon.h"
#  include "cpu/kernels/elementwise/typed_pairs_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
#endif
