/* One tile of a float product: ROWS rows of V_COLS vectors each. The including file defines
 *   the vectors of a simd_*.h
 *   V_COLS         vectors per row of the tile; two make a panel
 *   TILE(rows)     name of the function for so many rows
 *   ROWS
 *   RIGHT, RIGHT_LOAD(p)  what b is made of, and how a vector of it is loaded as floats
 * and includes gemm_epilogue.h. Rows of a, and panels of b, are reached from every third one, which
 * needs fewer address registers than one pointer each. */

static V_TARGET void TILE(ROWS)(const hn_gemm_tile_f32 *t) {
    enum {
        PANELS = (V_COLS + 1) / 2,
        LATER_LINE = 64, /* bytes of a prefetch; a single tile wants two per step */
        IS_LOW = ROWS * V_COLS * 4 < V_REGISTERS * 3, /* sums would not hide what is missing */
        AHEAD = 8, /* steps by which wide tiles fetch panels: more than processors follow */
        LINE = V_ELEMS * sizeof(RIGHT) < 64 ? 2 : 1 /* vectors, within a panel */
    };
    V sum[ROWS][V_COLS];
    const float *a[(ROWS + 2) / 3];
    const RIGHT *b[(PANELS + 2) / 3];
    int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row, b_next = t->b_next;
    TILE_EACH(sum[r][v] = V_ZERO())
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) a[r / 3] = t->a + r * a_row;
    _Pragma("GCC unroll 16") for (int p = 0; p < PANELS; p += 3) b[p / 3] =
        (const RIGHT *)t->b + p * b_next;
    const char *later = t->later ? t->later : t->b;
    for (int64_t i = t->k; i > 0; i--) {
        V right[V_COLS];
        if (V_COLS <= 2) {
            HN_PREFETCH_SECOND(later);
            if (IS_LOW && t->later_bytes > LATER_LINE)
                HN_PREFETCH_SECOND(later + LATER_LINE);
            later += t->later_bytes;
        }
        _Pragma("GCC unroll 16") for (int v = 0; V_COLS > 2 && v < V_COLS; v += LINE)
            HN_PREFETCH(b[v / 2 / 3] + v / 2 % 3 * b_next + (v % 2 + 2 * AHEAD) * V_ELEMS);
        V left = V_BROADCAST(a[0]);
        _Pragma("GCC unroll 16") for (int v = 0; v < V_COLS; v++) {
            right[v] = RIGHT_LOAD(b[v / 2 / 3] + v / 2 % 3 * b_next + v % 2 * V_ELEMS);
            sum[0][v] = V_FMA(left, right[v], sum[0][v]);
        }
        _Pragma("GCC unroll 16") for (int r = 1; r < ROWS; r++) {
            left = V_BROADCAST(a[r / 3] + r % 3 * a_row);
            _Pragma("GCC unroll 16") for (int v = 0; v < V_COLS; v++) sum[r][v] =
                V_FMA(left, right[v], sum[r][v]);
        }
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) a[r / 3] += a_col;
        _Pragma("GCC unroll 16") for (int p = 0; p < PANELS; p += 3) b[p / 3] += b_row;
    }
    const hn_epilogue_f32 *epilogue = t->epilogue;
    int64_t c_row = t->c_row;
    float *c[(ROWS + 2) / 3];
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) c[r / 3] = t->c + r * c_row;
    if (V_COLS > 2 || t->cols == V_COLS * V_ELEMS) {
        TILE_EPILOGUE(TILE_LOAD, TILE_STORE)
        return;
    }
    V_SOME some[V_COLS];
    _Pragma("GCC unroll 16") for (int v = 0; v < V_COLS; v++) some[v] =
        V_FIRST(HN_MIN(HN_MAX(t->cols - v * V_ELEMS, 0), V_ELEMS));
    TILE_EPILOGUE(TILE_LOAD_SOME, TILE_STORE_SOME)
}
#undef ROWS
