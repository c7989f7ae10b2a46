/* Rows of channels-last depthwise convolutions for one width of vectors.
 *
 * A tile is DEPTHWISE_TILE neighbouring outputs; their sums stay in registers. Per row of the
 * window its weights are loaded once, then each input of the tile once, for all the outputs that
 * read it: for 3 x 3 with stride 1 that is 12 loads for 21 multiply-adds. Tiles at the edges of the
 * map and the last channels load through masks, which make padding of what is not there; others
 * have none.
 */

#define DEPTHWISE_TILE 7 /* maps of 7, 14, 28, 56 and 112 have no rest */
#define DEPTHWISE_MOST_COLS ((DEPTHWISE_TILE - 1) * 2 + 7)

V_INLINE void V_NAME(depthwise_start)(const hn_depthwise_row *r, bool is_whole, V_SOME lanes,
                                      V *sums) {
    V bias = !r->bias ? V_ZERO() : is_whole ? V_LOAD(r->bias) : V_LOAD_SOME(r->bias, lanes);
#pragma GCC unroll 8
    for (int p = 0; p < DEPTHWISE_TILE; p++)
        sums[p] = bias;
}

V_INLINE void V_NAME(depthwise_end)(const hn_depthwise_row *r, int64_t out, bool is_whole,
                                    V_SOME lanes, const V *sums) {
    V least = V_SET1(r->least), most = V_SET1(r->most);
    const float *residual = r->residual ? r->residual + out * r->y_col : NULL;
    float *y = r->y + out * r->y_col;
    int64_t n = r->out1 - out;
#pragma GCC unroll 8
    for (int p = 0; p < DEPTHWISE_TILE; p++) {
        V v = sums[p];
        if (!is_whole && p >= n)
            break;
        if (residual) {
            const float *z = residual + p * r->y_col;
            v = V_ADD(v, is_whole ? V_LOAD(z) : V_LOAD_SOME(z, lanes));
        }
        v = V_MIN(most, V_MAX(least, v));
        if (is_whole)
            V_STORE(y, v);
        else
            V_STORE_SOME(y, lanes, v);
        y += r->y_col;
    }
}

/* The tile that begins at output `out`, for windows of a constant width and stride, undilated.
 * Without is_whole some of its inputs, outputs or channels may not be there. */
V_INLINE void V_NAME(depthwise_tile)(const hn_depthwise_row *r, int64_t out, const int width,
                                     const int stride, const bool is_whole) {
    const int n_cols = (DEPTHWISE_TILE - 1) * stride + width;
    const int64_t col0 = out * stride - r->pad_w;
    const V_SOME lanes = V_FIRST(r->n_channels);
    V_SOME inside[DEPTHWISE_MOST_COLS];
    V sums[DEPTHWISE_TILE];
    for (int i = 0; !is_whole && i < n_cols; i++)
        inside[i] = col0 + i >= 0 && col0 + i < r->in_w ? lanes : V_FIRST(0);
    V_NAME(depthwise_start)(r, is_whole, lanes, sums);
    const float *row = r->x + col0 * r->x_col, *w = r->w;
    for (int64_t k = 0; k < r->n_rows; k++, row += r->x_row, w += width * V_ELEMS) {
        V by[7];
        const float *x = row;
#pragma GCC unroll 8
        for (int i = 0; i < width; i++)
            by[i] = V_LOAD(w + i * V_ELEMS);
#pragma GCC unroll 32
        for (int i = 0; i < n_cols; i++, x += r->x_col) {
            V v = is_whole ? V_LOAD(x) : V_LOAD_SOME(x, inside[i]);
#pragma GCC unroll 8
            for (int p = 0; p < DEPTHWISE_TILE; p++)
                if (i - p * stride >= 0 && i - p * stride < width)
                    sums[p] = V_FMA(v, by[i - p * stride], sums[p]);
        }
    }
    V_NAME(depthwise_end)(r, out, is_whole, lanes, sums);
}

/* The same for any window. */
V_INLINE void V_NAME(depthwise_any_tile)(const hn_depthwise_row *r, int64_t out,
                                         const bool is_whole) {
    const V_SOME lanes = V_FIRST(r->n_channels);
    const int64_t step = r->stride_w * r->x_col;
    int64_t col0 = out * r->stride_w - r->pad_w;
    V sums[DEPTHWISE_TILE];
    V_NAME(depthwise_start)(r, is_whole, lanes, sums);
    const float *w = r->w;
    for (int64_t k = 0; k < r->n_rows; k++)
        for (int64_t t = 0; t < r->kernel_w; t++, w += V_ELEMS) {
            V by = V_LOAD(w);
            int64_t col = col0 + t * r->dilation_w;
            const float *x = r->x + k * r->x_row + col * r->x_col;
#pragma GCC unroll 8
            for (int p = 0; p < DEPTHWISE_TILE; p++) {
                bool is_inside = col + p * r->stride_w >= 0 && col + p * r->stride_w < r->in_w;
                V v = is_whole ? V_LOAD(x) : V_LOAD_SOME(x, is_inside ? lanes : V_FIRST(0));
                sums[p] = V_FMA(v, by, sums[p]);
                x += step;
            }
        }
    V_NAME(depthwise_end)(r, out, is_whole, lanes, sums);
}

/* Whether all inputs, outputs and channels of a tile are there. */
static inline bool V_NAME(depthwise_is_whole)(const hn_depthwise_row *r, int64_t out) {
    int64_t col0 = out * r->stride_w - r->pad_w;
    int64_t last = col0 + (DEPTHWISE_TILE - 1) * r->stride_w + (r->kernel_w - 1) * r->dilation_w;
    return col0 >= 0 && last < r->in_w && out + DEPTHWISE_TILE <= r->out1 &&
           r->n_channels == V_ELEMS;
}

#define DEFINE_DEPTHWISE(name, tile)                                    \
  static V_TARGET void V_NAME(name)(const hn_depthwise_row *r) {        \
    for (int64_t out = r->out0; out < r->out1; out += DEPTHWISE_TILE) { \
      if (V_NAME(depthwise_is_whole)(r, out))                           \
        tile(true);                                                     \
      else                                                              \
        tile(false);                                                    \
    }                                                                   \
  }
#define TILE_ANY(is_whole) V_NAME(depthwise_any_tile)(r, out, is_whole)
#define TILE_3_1(is_whole) V_NAME(depthwise_tile)(r, out, 3, 1, is_whole)
#define TILE_3_2(is_whole) V_NAME(depthwise_tile)(r, out, 3, 2, is_whole)
#define TILE_5_1(is_whole) V_NAME(depthwise_tile)(r, out, 5, 1, is_whole)
#define TILE_5_2(is_whole) V_NAME(depthwise_tile)(r, out, 5, 2, is_whole)
#define TILE_7_1(is_whole) V_NAME(depthwise_tile)(r, out, 7, 1, is_whole)
DEFINE_DEPTHWISE(depthwise_row_any, TILE_ANY)
DEFINE_DEPTHWISE(depthwise_row_3_1, TILE_3_1)
DEFINE_DEPTHWISE(depthwise_row_3_2, TILE_3_2)
DEFINE_DEPTHWISE(depthwise_row_5_1, TILE_5_1)
DEFINE_DEPTHWISE(depthwise_row_5_2, TILE_5_2)
DEFINE_DEPTHWISE(depthwise_row_7_1, TILE_7_1)
#undef DEFINE_DEPTHWISE
#undef TILE_ANY
#undef TILE_3_1
#undef TILE_3_2
#undef TILE_5_1
#undef TILE_5_2
#undef TILE_7_1

static hn_depthwise_row_fn V_NAME(depthwise_find)(int64_t kernel_w, int64_t stride_w,
                                                  int64_t dilation_w) {
    static const struct {
        int64_t kernel_w, stride_w;
        hn_depthwise_row_fn row;
    } rows[] = {{3, 1, V_NAME(depthwise_row_3_1)},
                {3, 2, V_NAME(depthwise_row_3_2)},
                {5, 1, V_NAME(depthwise_row_5_1)},
                {5, 2, V_NAME(depthwise_row_5_2)},
                {7, 1, V_NAME(depthwise_row_7_1)}};
    for (size_t i = 0; i < HN_COUNT(rows); i++)
        if (rows[i].kernel_w == kernel_w && rows[i].stride_w == stride_w && dilation_w == 1)
            return rows[i].row;
    return V_NAME(depthwise_row_any);
}

const hn_depthwise_set V_NAME(hn_depthwise_set) = {.channels = V_ELEMS,
                                                   .find = V_NAME(depthwise_find)};
#undef DEPTHWISE_TILE
#undef DEPTHWISE_MOST_COLS
