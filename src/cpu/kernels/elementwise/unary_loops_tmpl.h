/* The loops of unary_loops.def for one width. The last elements go through a full vector, too: what
 * an element becomes does not depend on where it stands. */

#define HN_VEC_MAP(op, expr)                                                                     \
  static V_TARGET void V_NAME(vec_map_##op)(const float *xs, float *ys, uint64_t n, float alpha, \
                                            float beta) {                                        \
    V a = V_SET1(alpha), b = V_SET1(beta);                                                       \
    uint64_t i = 0;                                                                              \
    (void)a, (void)b;                                                                            \
    for (; i + V_ELEMS <= n; i += V_ELEMS) {                                                     \
      V x = V_LOAD(xs + i);                                                                      \
      V_STORE(ys + i, expr);                                                                     \
    }                                                                                            \
    if (i < n) {                                                                                 \
      float last[V_ELEMS] = {0};                                                                 \
      memcpy(last, xs + i, (n - i) * sizeof *last);                                              \
      V x = V_LOAD(last);                                                                        \
      V_STORE(last, expr);                                                                       \
      memcpy(ys + i, last, (n - i) * sizeof *last);                                              \
    }                                                                                            \
  }
#include "cpu/kernels/elementwise/unary_loops.def"
#undef HN_VEC_MAP

#define HN_VEC_MAP(op, expr) {#op, V_NAME(vec_map_##op)},
static const hn_unary_loop V_NAME(vec_maps)[] = {
#include "cpu/kernels/elementwise/unary_loops.def"
    {NULL, NULL}};
#undef HN_VEC_MAP
const hn_unary_loops_f32 V_NAME(hn_unary_loops_f32) = {V_NAME(vec_maps)};
