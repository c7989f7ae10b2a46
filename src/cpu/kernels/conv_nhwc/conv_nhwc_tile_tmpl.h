/* One tile of a channels-last convolution: ROWS outputs times V_COLS vectors of filters. The
 * including file defines
 *   the vectors of a simd_*.h
 *   V_COLS        vectors per row of the tile
 *   TILE(rows)    name of the function for so many rows
 *   ROWS
 * and, for a tile whose columns read different elements of x,
 *   SPREADS       vectors of indices: V_INDEX, V_INDEX_LOAD(p), V_INDEX_NEXT(i), V_PICK(v, i)
 * Rows of x are reached from every third one, which needs fewer address registers than one pointer
 * per row. */

static V_TARGET void TILE(ROWS)(const hn_conv_tile *t) {
    V sum[ROWS][V_COLS];
    int64_t x_row = t->x_row;
    /* outputs and residuals are prefetched while sums are made; not unrolled, for the sake of
     * registers */
    const float *later = t->y;
    int64_t later_row = t->y_row;
    for (int i = 0; i < 2 && later; i++, later = t->residual, later_row = t->residual_row)
        _Pragma("GCC unroll 1") for (int r = 0; r < ROWS; r++, later += later_row)
            _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++)
                HN_PREFETCH(later + v * V_ELEMS);
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)
        _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) sum[r][v] = V_ZERO();
#ifdef SPREADS
    for (const hn_tile_run *run = t->runs, *past = run + t->n_runs; run < past; run++) {
        const float *b = t->panel + run->k * V_ELEMS, *end = b + run->n * V_ELEMS;
        V_INDEX picked = V_INDEX_LOAD(t->spread);
        V left[ROWS];
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++) left[r] =
            V_LOAD(t->x + run->x + r * x_row);
        for (; b < end; b += V_ELEMS, picked = V_INDEX_NEXT(picked)) {
            V right = V_LOAD(b);
            _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++) sum[r][0] =
                V_FMA(V_PICK(left[r], picked), right, sum[r][0]);
        }
    }
#else
    int64_t ahead_step = t->ahead_step;
    for (const hn_tile_run *run = t->runs, *past = run + t->n_runs; run < past; run++) {
        const float *b = t->panel + run->k * (V_COLS * V_ELEMS),
                    *end = b + run->n * (V_COLS * V_ELEMS);
        const float *third[(ROWS + 2) / 3], *ahead = t->ahead + run->k * ahead_step;
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) third[r / 3] =
            t->x + run->x + r * x_row;
        for (; b < end; b += V_COLS * V_ELEMS) {
            V right[V_COLS];
            HN_PREFETCH_SECOND(ahead);
            ahead += ahead_step;
            _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) right[v] =
                V_LOAD(b + v * V_ELEMS);
            _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++) {
                V left = V_BROADCAST(third[r / 3] + (r % 3) * x_row);
                _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) sum[r][v] =
                    V_FMA(left, right[v], sum[r][v]);
            }
            _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r += 3) third[r / 3]++;
        }
    }
#endif
    if (t->cols < V_COLS * V_ELEMS) {
        float sums[ROWS * V_COLS * V_ELEMS];
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)
            _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++)
                V_STORE(sums + (r * V_COLS + v) * V_ELEMS, sum[r][v]);
        V_NAME(store_part_of_tile)(t, ROWS, V_COLS * V_ELEMS, sums);
        return;
    }
#define EACH_SUM(to)                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++) \
      _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++) sum[r][v] = to
    if (t->add)
        EACH_SUM(V_ADD(sum[r][v], V_LOAD(t->y + r * t->y_row + v * V_ELEMS)));
    if (t->bias)
        EACH_SUM(V_ADD(sum[r][v], V_LOAD(t->bias + v * V_ELEMS)));
    if (t->residual)
        EACH_SUM(V_ADD(sum[r][v], V_LOAD(t->residual + r * t->residual_row + v * V_ELEMS)));
    if (t->is_limited) {
        V least = V_SET1(t->least), most = V_SET1(t->most);
        EACH_SUM(V_MIN(most, V_MAX(least, sum[r][v])));
    }
#undef EACH_SUM
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)
        _Pragma("GCC unroll 4") for (int v = 0; v < V_COLS; v++)
            V_STORE(t->y + r * t->y_row + v * V_ELEMS, sum[r][v]);
}
#undef ROWS
