/* The epilogue of a tile of gemm_micro_tmpl.h: from sum[r][v] to memory, without leaving the
 * registers. LOAD(p) and STORE(p, x) stand for vector v of a row that begins at p. Rows are reached
 * from every third one, which needs fewer address registers than one pointer per row. */
#ifndef HN_GEMM_EPILOGUE_H
#define HN_GEMM_EPILOGUE_H

#define TILE_LOAD(p) V_LOAD((p) + v * V_ELEMS)
#define TILE_STORE(p, x) V_STORE((p) + v * V_ELEMS, x)
#define TILE_LOAD_SOME(p) V_LOAD_SOME((p) + v * V_ELEMS, some[v])
#define TILE_STORE_SOME(p, x) V_STORE_SOME((p) + v * V_ELEMS, some[v], x)

#define TILE_EACH(statement)                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)         \
      _Pragma("GCC unroll 16") for (int v = 0; v < V_COLS; v++) { \
    statement;                                                    \
  }
#define TILE_ADD(x) TILE_EACH(sum[r][v] = V_ADD(sum[r][v], x))

#define TILE_EPILOGUE(LOAD, STORE)                                           \
  if (t->add)                                                                \
    TILE_ADD(LOAD(c[r / 3] + r % 3 * c_row))                                 \
  if (epilogue && epilogue->bias)                                            \
    TILE_ADD(V_BROADCAST(epilogue->bias + r))                                \
  if (epilogue && epilogue->col_bias)                                        \
    TILE_ADD(LOAD(epilogue->col_bias))                                       \
  if (epilogue && epilogue->residual) {                                      \
    const int64_t more_row = epilogue->residual_stride;                      \
    const float *more[(ROWS + 2) / 3];                                       \
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) more[r / 3] = \
        epilogue->residual + r * more_row;                                   \
    TILE_ADD(LOAD(more[r / 3] + r % 3 * more_row))                           \
  }                                                                          \
  if (epilogue && epilogue->is_limited) {                                    \
    V least = V_SET1(epilogue->least), most = V_SET1(epilogue->most);        \
    TILE_EACH(sum[r][v] = V_MIN(most, V_MAX(least, sum[r][v])))              \
  }                                                                          \
  TILE_EACH(STORE(c[r / 3] + r % 3 * c_row, sum[r][v]))

#endif /* HN_GEMM_EPILOGUE_H */
