/* Conversions of runs for one width, one vector per step. The last elements, fewer than a vector
 * has, pass through a buffer. */
#define V_CONVERT(name, X, Y, convert)                                \
  static V_TARGET void V_NAME(name)(uint64_t n, const X *xs, Y *ys) { \
    uint64_t i = 0;                                                   \
    for (; i + V_ELEMS <= n; i += V_ELEMS) {                          \
      const X *x = xs + i;                                            \
      Y *y = ys + i;                                                  \
      convert;                                                        \
    }                                                                 \
    if (i < n) {                                                      \
      X x[V_ELEMS] = {0};                                             \
      Y y[V_ELEMS];                                                   \
      memcpy(x, xs + i, (size_t)(n - i) * sizeof *x);                 \
      convert;                                                        \
      memcpy(ys + i, y, (size_t)(n - i) * sizeof *y);                 \
    }                                                                 \
  }
V_CONVERT(halves_to_floats, uint16_t, float, V_STORE(y, V_LOAD_F16(x)))
V_CONVERT(floats_to_halves, float, uint16_t, V_STORE_F16(y, V_LOAD(x)))
V_CONVERT(bfloats_to_floats, uint16_t, float, V_STORE(y, V_LOAD_BF16(x)))
V_CONVERT(floats_to_bfloats, float, uint16_t, V_STORE_BF16(y, V_LOAD(x)))
V_CONVERT(bytes_to_floats, uint8_t, float, V_STORE(y, V_LOAD_U8(x)))
#undef V_CONVERT

const hn_conversions V_NAME(hn_conversions) = {V_NAME(halves_to_floats), V_NAME(floats_to_halves),
                                               V_NAME(bfloats_to_floats), V_NAME(floats_to_bfloats),
                                               V_NAME(bytes_to_floats)};
