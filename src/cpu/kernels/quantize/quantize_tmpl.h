/* Quantization and its inverse for one width, one vector per step. The last elements, fewer than a
 * vector has, pass through a buffer. */
#define V_QUANTIZE(name, X, Y, step)                                                        \
  static V_TARGET void V_NAME(name)(uint64_t n, const X *xs, float by, float from, Y *ys) { \
    V scale = V_SET1(by), zero = V_SET1(from);                                              \
    uint64_t i = 0;                                                                         \
    for (; i + V_ELEMS <= n; i += V_ELEMS) {                                                \
      const X *x = xs + i;                                                                  \
      Y *y = ys + i;                                                                        \
      step;                                                                                 \
    }                                                                                       \
    if (i < n) {                                                                            \
      X x[V_ELEMS] = {0};                                                                   \
      Y y[V_ELEMS];                                                                         \
      memcpy(x, xs + i, (size_t)(n - i) * sizeof *x);                                       \
      step;                                                                                 \
      memcpy(ys + i, y, (size_t)(n - i) * sizeof *y);                                       \
    }                                                                                       \
  }
#define V_ROUNDED(least, most) \
  V_MIN(V_MAX(V_ADD(V_ROUND(V_DIV(V_LOAD(x), scale)), zero), V_SET1(least)), V_SET1(most))
V_QUANTIZE(quantize_u8, float, uint8_t, V_STORE_U8(y, V_ROUNDED(0, 255)))
V_QUANTIZE(quantize_s8, float, int8_t, V_STORE_S8(y, V_ROUNDED(-128, 127)))
V_QUANTIZE(dequantize_u8, uint8_t, float, V_STORE(y, V_MUL(V_SUB(V_LOAD_U8(x), zero), scale)))
V_QUANTIZE(dequantize_s8, int8_t, float, V_STORE(y, V_MUL(V_SUB(V_LOAD_S8(x), zero), scale)))
#undef V_ROUNDED
#undef V_QUANTIZE

/* V_MIN and V_MAX return the second operand when the first is NaN. */
static V_TARGET void V_NAME(find_range)(uint64_t n, const float *x, float *lowest, float *highest) {
    V lo[2] = {V_ZERO(), V_ZERO()}, hi[2] = {V_ZERO(), V_ZERO()};
    float least[V_ELEMS], most[V_ELEMS];
    uint64_t i = 0;
    for (; i + 2 * V_ELEMS <= n; i += 2 * V_ELEMS)
        for (int k = 0; k < 2; k++) {
            V v = V_LOAD(x + i + k * V_ELEMS);
            lo[k] = V_MIN(v, lo[k]);
            hi[k] = V_MAX(v, hi[k]);
        }
    V_STORE(least, V_MIN(lo[0], lo[1]));
    V_STORE(most, V_MAX(hi[0], hi[1]));
    hn_quantize_loops__scalar.range(n - i, x + i, lowest, highest);
    for (int k = 0; k < V_ELEMS; k++) {
        *lowest = HN_MIN(*lowest, least[k]);
        *highest = HN_MAX(*highest, most[k]);
    }
}

const hn_quantize_loops V_NAME(hn_quantize_loops) = {V_NAME(quantize_u8), V_NAME(quantize_s8),
                                                     V_NAME(dequantize_u8), V_NAME(dequantize_s8),
                                                     V_NAME(find_range)};
