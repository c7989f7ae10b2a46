/* The end of a tile of gemm_micro_tmpl.h: from sum[r][v] to memory, without leaving the registers.
 * LOAD(p) and STORE(p, x) stand for vector v of a row that begins at p. */
#ifndef HN_GEMM_END_H
#define HN_GEMM_END_H

#define MICRO_LOAD(p) V_LOAD((p) + v * V_ELEMS)
#define MICRO_STORE(p, x) V_STORE((p) + v * V_ELEMS, x)
#define MICRO_LOAD_SOME(p) V_LOAD_SOME((p) + v * V_ELEMS, some[v])
#define MICRO_STORE_SOME(p, x) V_STORE_SOME((p) + v * V_ELEMS, some[v], x)

#define MICRO_EACH(rows, statement)                              \
  _Pragma("GCC unroll 16") for (int r = 0; r < (rows); r++)      \
      _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) { \
    statement;                                                   \
  }

#define MICRO_END(rows, LOAD, STORE)                                                \
  if (add)                                                                          \
    MICRO_EACH(rows, sum[r][v] = V_ADD(sum[r][v], LOAD(c + r * c_row)))             \
  if (end && end->bias)                                                             \
    MICRO_EACH(rows, sum[r][v] = V_ADD(sum[r][v], V_BROADCAST(end->bias + r)))      \
  if (end && end->col_bias)                                                         \
    MICRO_EACH(rows, sum[r][v] = V_ADD(sum[r][v], LOAD(end->col_bias)))             \
  if (end && end->residual)                                                         \
    MICRO_EACH(rows, sum[r][v] = V_ADD(sum[r][v], LOAD(end->residual + r * c_row))) \
  if (end) {                                                                        \
    V least = V_SET1(end->least), most = V_SET1(end->most);                         \
    MICRO_EACH(rows, sum[r][v] = V_MIN(most, V_MAX(least, sum[r][v])))              \
  }                                                                                 \
  MICRO_EACH(rows, STORE(c + r * c_row, sum[r][v]))

#endif /* HN_GEMM_END_H */
