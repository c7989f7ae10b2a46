/* One tile of a float product: ROWS rows of V_COLS vectors each. The including file defines
 *   the vectors of a simd_*.h
 *   V_COLS         vectors per row of the tile
 *   MICRO(rows)    name of the function for so many rows
 *   ROWS
 * and includes gemm_end.h. Rows of a are reached from every third one, which needs fewer address
 * registers than one pointer per row. */

static V_TARGET void MICRO(ROWS)(int64_t k, const float *a, int64_t a_row, int64_t a_col,
                                 const float *b, float *c, int64_t c_row, int64_t cols, bool add,
                                 const hn_gemm_end_f32 *end) {
    V sum[ROWS][V_COLS];
    const float *third[(ROWS + 2) / 3];
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)
        _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) sum[r][v] = V_ZERO();
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) third[r / 3] = a + r * a_row;
    for (int64_t i = 0; i < k; i++, b += V_COLS * V_ELEMS) {
        V right[V_COLS];
        _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) right[v] = V_LOAD(b + v * V_ELEMS);
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++) {
            V left = V_BROADCAST(third[r / 3] + (r % 3) * a_row);
            _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) sum[r][v] =
                V_FMA(left, right[v], sum[r][v]);
        }
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) third[r / 3] += a_col;
    }
    if (cols == V_COLS * V_ELEMS) {
        MICRO_END(ROWS, MICRO_LOAD, MICRO_STORE)
        return;
    }
    V_SOME some[V_COLS];
    _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) some[v] =
        V_FIRST(HN_MIN(HN_MAX(cols - v * V_ELEMS, 0), V_ELEMS));
    MICRO_END(ROWS, MICRO_LOAD_SOME, MICRO_STORE_SOME)
}
#undef ROWS
