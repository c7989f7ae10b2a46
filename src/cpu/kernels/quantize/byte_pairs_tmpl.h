/* Sums and products of bytes for one width, one vector per step. The last elements, fewer than a
 * vector has, pass through buffers. */
#define V_PAIR_STEP(load, store, least, most, value)                                            \
  do {                                                                                          \
    V p = a_step ? V_SUB(load(a), a_zero) : a_one, q = b_step ? V_SUB(load(b), b_zero) : b_one; \
    V v = V_ADD(V_ROUND(value), y_zero);                                                        \
    store(y, V_MIN(V_MAX(v, V_SET1(least)), V_SET1(most)));                                     \
  } while (0)
#define V_PAIR(name, X, load, store, least, most, value)                                     \
  static V_TARGET void V_NAME(name)(uint64_t n, const void *as, int a_step, const void *bs,  \
                                    int b_step, const hn_byte_pair *by, void *ys) {          \
    const X *a0 = as, *b0 = bs;                                                              \
    V a_zero = V_SET1(by->a_zero), b_zero = V_SET1(by->b_zero), y_zero = V_SET1(by->y_zero); \
    V by_a = V_SET1(by->by_a), by_b = V_SET1(by->by_b);                                      \
    V a_one = V_SET1((float)*a0 - by->a_zero), b_one = V_SET1((float)*b0 - by->b_zero);      \
    uint64_t i = 0;                                                                          \
    (void)by_b;                                                                              \
    for (; i + V_ELEMS <= n; i += V_ELEMS) {                                                 \
      const X *a = a0 + i, *b = b0 + i;                                                      \
      X *y = (X *)ys + i;                                                                    \
      V_PAIR_STEP(load, store, least, most, value);                                          \
    }                                                                                        \
    if (i < n) {                                                                             \
      X a[V_ELEMS] = {0}, b[V_ELEMS] = {0}, y[V_ELEMS];                                      \
      memcpy(a, a0 + (a_step ? i : 0), a_step ? (size_t)(n - i) : 1);                        \
      memcpy(b, b0 + (b_step ? i : 0), b_step ? (size_t)(n - i) : 1);                        \
      V_PAIR_STEP(load, store, least, most, value);                                          \
      memcpy((X *)ys + i, y, (size_t)(n - i));                                               \
    }                                                                                        \
  }
#define V_SUM_OF_PAIR V_ADD(V_MUL(p, by_a), V_MUL(q, by_b))
#define V_PRODUCT_OF_PAIR V_MUL(V_MUL(p, q), by_a)
V_PAIR(byte_add_u8, uint8_t, V_LOAD_U8, V_STORE_U8, 0, 255, V_SUM_OF_PAIR)
V_PAIR(byte_add_s8, int8_t, V_LOAD_S8, V_STORE_S8, -128, 127, V_SUM_OF_PAIR)
V_PAIR(byte_mul_u8, uint8_t, V_LOAD_U8, V_STORE_U8, 0, 255, V_PRODUCT_OF_PAIR)
V_PAIR(byte_mul_s8, int8_t, V_LOAD_S8, V_STORE_S8, -128, 127, V_PRODUCT_OF_PAIR)
#undef V_PRODUCT_OF_PAIR
#undef V_SUM_OF_PAIR
#undef V_PAIR
#undef V_PAIR_STEP

const hn_byte_pair_loops V_NAME(hn_byte_pair_loops) = {V_NAME(byte_add_u8), V_NAME(byte_add_s8),
                                                       V_NAME(byte_mul_u8), V_NAME(byte_mul_s8)};
