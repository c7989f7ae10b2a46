/* Every element of a run several times. The compiler makes vectors of the loop that doubles. */
#include "cpu/kernels/transpose/repeat.h"

#define REPEAT(T)                                                                            \
  static void repeat_##T(int64_t n, int64_t times, const T *restrict from, T *restrict to) { \
    if (times == 2) {                                                                        \
      for (int64_t i = 0; i < n; i++)                                                        \
        to[2 * i] = to[2 * i + 1] = from[i];                                                 \
      return;                                                                                \
    }                                                                                        \
    for (int64_t i = 0; i < n; i++, to += times)                                             \
      for (int64_t k = 0; k < times; k++)                                                    \
        to[k] = from[i];                                                                     \
  }
REPEAT(uint8_t)
REPEAT(uint16_t)
REPEAT(uint32_t)
REPEAT(uint64_t)
#undef REPEAT

bool hn_repeat_each(size_t elem_bytes, int64_t n, int64_t times, const void *from, void *to) {
    switch (elem_bytes) {
    case 1:
        repeat_uint8_t(n, times, from, to);
        return true;
    case 2:
        repeat_uint16_t(n, times, from, to);
        return true;
    case 4:
        repeat_uint32_t(n, times, from, to);
        return true;
    case 8:
        repeat_uint64_t(n, times, from, to);
        return true;
    default:
        return false;
    }
}
