/* Inside and above cpu/kernels: functions of two integers, doubles or bools, and select of elements
 * of any size. */
#ifndef HN_TYPED_PAIRS_H
#define HN_TYPED_PAIRS_H

#include "cpu/kernels/elementwise/binary.h"

typedef enum hn_pair_type {
    HN_PAIR_I8,
    HN_PAIR_I16,
    HN_PAIR_I32,
    HN_PAIR_I64,
    HN_PAIR_U8,
    HN_PAIR_U16,
    HN_PAIR_U32,
    HN_PAIR_U64,
    HN_PAIR_F64,
    HN_PAIR_BOOL,
    HN_PAIR_TYPES
} hn_pair_type;

typedef struct hn_typed_pair {
    const char *op;
    hn_binary_fn by_type[HN_PAIR_TYPES];
} hn_typed_pair;

typedef struct hn_typed_pairs {
    const hn_typed_pair *pairs; /* ends with a row without a name */
    hn_select_fn choose_8, choose_16, choose_64;
} hn_typed_pairs;
const hn_typed_pairs *hn_typed_pairs_pick(void); /* NULL: plain C is best */

/* NULL: plain C is best. */
hn_binary_fn hn_typed_pair_find(const char *op, hn_pair_type type);
hn_select_fn hn_select_find(size_t elem_bytes);

/* What every hn_binary_fn of one loop begins with: an operand that stands still is laid out as
 * often as needed, and fn called with steps of 1. */
void hn_pair_repeated(hn_binary_fn fn, size_t x_bytes, size_t z_bytes, const void *x, int step_x,
                      const void *y, int step_y, void *z, uint64_t n);
/* One element of 1, 2, 4 or 8 bytes, n times. */
void hn_repeat_element(const void *element, size_t bytes, uint64_t n, void *out);

/* Is one of n integers of 1, 2, 4 or 8 bytes zero? */
bool hn_has_zero(const void *x, size_t bytes, uint64_t n);

/* Before a loop whose iterations do not depend on each other, though compilers cannot see it: where
 * the result lies over an operand, it lies over the same elements. */
#if defined(__GNUC__) && !defined(__clang__)
#  define HN_LANES_APART _Pragma("GCC ivdep")
#else
#  define HN_LANES_APART
#endif

/* An hn_binary_fn of T, T -> Z: the expression is of x and y. */
#define HN_PAIR_LOOP(target, name, T, Z, expr)                                              \
  static target void name(const void *px, int step_x, const void *py, int step_y, void *pz, \
                          uint64_t n) {                                                     \
    const T *xs = px, *ys = py;                                                             \
    Z *z = pz;                                                                              \
    if (!step_x || !step_y) {                                                               \
      hn_pair_repeated(name, sizeof(T), sizeof(Z), px, step_x, py, step_y, pz, n);          \
      return;                                                                               \
    }                                                                                       \
    HN_LANES_APART                                                                          \
    for (uint64_t i = 0; i < n; i++) {                                                      \
      T x = xs[i], y = ys[i];                                                               \
      z[i] = (Z)(expr);                                                                     \
    }                                                                                       \
  }

#endif /* HN_TYPED_PAIRS_H */
