/* One tile of a float product: ROWS rows of V_COLS vectors each. The including file defines
 *   the vectors of a simd_*.h
 *   V_COLS         vectors per row of the tile; two make a panel
 *   TILE(rows)     name of the function for so many rows
 *   ROWS
 * and includes gemm_end.h. Rows of a, and panels of b, are reached from every third one, which
 * needs fewer address registers than one pointer each. */

static V_TARGET void TILE(ROWS)(const hn_gemm_tile_f32 *t) {
    enum { PANELS = (V_COLS + 1) / 2 };
    V sum[ROWS][V_COLS];
    const float *a[(ROWS + 2) / 3], *b[(PANELS + 2) / 3];
    int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row, b_next = t->b_next;
    TILE_EACH(sum[r][v] = V_ZERO())
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3)
        a[r / 3] = t->a + r * a_row;
    _Pragma("GCC unroll 16") for (int p = 0; p < PANELS; p += 3)
        b[p / 3] = t->b + p * b_next;
    const float *later = t->later ? t->later : t->b;
    for (int64_t i = t->k; i > 0; i--) {
        V right[V_COLS];
        if (V_COLS <= 2) {
            HN_PREFETCH_SECOND(later);
            later += t->later_step;
        }
        _Pragma("GCC unroll 16") for (int v = 0; v < V_COLS; v++)
            right[v] = V_LOAD(b[v / 2 / 3] + v / 2 % 3 * b_next + v % 2 * V_ELEMS);
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++) {
            V left = V_BROADCAST(a[r / 3] + r % 3 * a_row);
            _Pragma("GCC unroll 16") for (int v = 0; v < V_COLS; v++)
                sum[r][v] = V_FMA(left, right[v], sum[r][v]);
        }
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3)
            a[r / 3] += a_col;
        _Pragma("GCC unroll 16") for (int p = 0; p < PANELS; p += 3)
            b[p / 3] += b_row;
    }
    const hn_gemm_end_f32 *end = t->end;
    int64_t c_row = t->c_row;
    float *c[(ROWS + 2) / 3];
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3)
        c[r / 3] = t->c + r * c_row;
    if (V_COLS > 2 || t->cols == V_COLS * V_ELEMS) {
        TILE_END(TILE_LOAD, TILE_STORE)
        return;
    }
    V_SOME some[V_COLS];
    _Pragma("GCC unroll 16") for (int v = 0; v < V_COLS; v++)
        some[v] = V_FIRST(HN_MIN(HN_MAX(t->cols - v * V_ELEMS, 0), V_ELEMS));
    TILE_END(TILE_LOAD_SOME, TILE_STORE_SOME)
}
#undef ROWS
