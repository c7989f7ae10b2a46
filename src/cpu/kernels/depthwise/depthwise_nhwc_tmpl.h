/* Rows of channels-last depthwise convolutions for one width of vectors.
 *
 * A tile is DEPTHWISE_TILE neighbouring outputs of one vector of channels, or of two where there
 * are 32 registers; 7 or 14 of them hold its sums. Per row of the window its weights are loaded
 * once, 3 to 14 registers, then each input of the tile once, for all the outputs that read it: for
 * 3x3 with stride 1 that is 12 loads for 21 multiply-adds. At the edges of the map inputs that are
 * not there are skipped; only the last channels go through masks. */

#define DEPTHWISE_TILE 7 /* maps of 7, 14, 28, 56 and 112 have no rest */
#define DEPTHWISE_VECTORS (V_REGISTERS / 16)

/* What of a tile is there. */
typedef enum V_NAME(depthwise_part) {
    V_NAME(TILE_WHOLE),
    V_NAME(TILE_EDGE), /* some inputs or outputs are not */
    V_NAME(TILE_REST)  /* nor are some channels of its only vector */
} V_NAME(depthwise_part);

V_INLINE V V_NAME(depthwise_load)(const float *x, V_NAME(depthwise_part) part, V_SOME lanes) {
    return part == V_NAME(TILE_REST) ? V_LOAD_SOME(x, lanes) : V_LOAD(x);
}

V_INLINE void V_NAME(depthwise_start)(const hn_depthwise_row *r, const int n_vectors,
                                      V_NAME(depthwise_part) part, V_SOME lanes,
                                      V sums[][DEPTHWISE_TILE]) {
#pragma GCC unroll 2
    for (int v = 0; v < n_vectors; v++) {
        const float *by = r->epilogue.col_bias;
        V bias = by ? V_NAME(depthwise_load)(by + v * V_ELEMS, part, lanes) : V_ZERO();
#pragma GCC unroll 8
        for (int p = 0; p < DEPTHWISE_TILE; p++)
            sums[v][p] = bias;
    }
}

V_INLINE void V_NAME(depthwise_epilogue)(const hn_depthwise_row *r, int64_t out,
                                         const int n_vectors, V_NAME(depthwise_part) part,
                                         V_SOME lanes, V sums[][DEPTHWISE_TILE]) {
    const int64_t y_col = r->y_col, z_col = r->epilogue.residual_stride, n = r->out1 - out;
    const V least = V_SET1(r->epilogue.least), most = V_SET1(r->epilogue.most);
    const float *z = r->epilogue.residual ? r->epilogue.residual + out * z_col : NULL;
    float *y = r->y + out * y_col;
#pragma GCC unroll 8
    for (int p = 0; p < DEPTHWISE_TILE; p++, y += y_col) {
        if (part != V_NAME(TILE_WHOLE) && p >= n)
            break;
#pragma GCC unroll 2
        for (int v = 0; v < n_vectors; v++) {
            V sum = sums[v][p];
            if (z)
                sum = V_ADD(sum, V_NAME(depthwise_load)(z + p * z_col + v * V_ELEMS, part, lanes));
            sum = V_MIN(most, V_MAX(least, sum));
            if (part == V_NAME(TILE_REST))
                V_STORE_SOME(y, lanes, sum);
            else
                V_STORE(y + v * V_ELEMS, sum);
        }
    }
}

/* The tile that begins at output `out`, for windows of a constant width and stride, undilated. */
V_INLINE void V_NAME(depthwise_tile)(const hn_depthwise_row *r, int64_t out, const int width,
                                     const int stride, const int n_vectors,
                                     const V_NAME(depthwise_part) part) {
    const int n_cols = (DEPTHWISE_TILE - 1) * stride + width;
    const int64_t col0 = out * stride - r->pad_w, x_row = r->x_row, x_col = r->x_col;
    const int64_t first = HN_MIN(HN_MAX(-col0, 0), n_cols);
    const int64_t past = HN_MIN(HN_MAX(r->in_w - col0, first), n_cols);
    const uint32_t inside = (1u << past) - (1u << first); /* a bit per input column */
    const V_SOME lanes = V_FIRST(part == V_NAME(TILE_REST) ? r->n_channels : 0);
    V sums[2][DEPTHWISE_TILE];
    V_NAME(depthwise_start)(r, n_vectors, part, lanes, sums);
    const float *row = r->x + col0 * x_col, *w = r->w;
    for (int64_t k = r->n_rows; k > 0; k--, row += x_row, w += width * V_ELEMS) {
        const float *x = row;
        V by[2][7];
#pragma GCC unroll 16
        for (int i = 0; i < n_vectors * width; i++)
            by[i / width][i % width] = V_LOAD(w + i / width * r->w_vector + i % width * V_ELEMS);
#pragma GCC unroll 32
        for (int i = 0; i < n_cols; i++, x += x_col) {
            if (part != V_NAME(TILE_WHOLE) && !(inside & 1u << i))
                continue;
#pragma GCC unroll 2
            for (int v = 0; v < n_vectors; v++) {
                V in = V_NAME(depthwise_load)(x + v * V_ELEMS, part, lanes);
                V_KEEP(in);
#pragma GCC unroll 8
                for (int p = 0; p < DEPTHWISE_TILE; p++)
                    if (i - p * stride >= 0 && i - p * stride < width)
                        sums[v][p] = V_FMA(in, by[v][i - p * stride], sums[v][p]);
            }
        }
    }
    V_NAME(depthwise_epilogue)(r, out, n_vectors, part, lanes, sums);
}

/* The same for any window. */
V_INLINE void V_NAME(depthwise_any_tile)(const hn_depthwise_row *r, int64_t out,
                                         const int n_vectors, const V_NAME(depthwise_part) part) {
    const V_SOME lanes = V_FIRST(part == V_NAME(TILE_REST) ? r->n_channels : 0);
    const int64_t step = r->stride_w * r->x_col, col0 = out * r->stride_w - r->pad_w;
    V sums[2][DEPTHWISE_TILE];
    V_NAME(depthwise_start)(r, n_vectors, part, lanes, sums);
    const float *w = r->w;
    for (int64_t k = 0; k < r->n_rows; k++)
        for (int64_t t = 0; t < r->kernel_w; t++, w += V_ELEMS) {
            int64_t col = col0 + t * r->dilation_w;
            const float *x = r->x + k * r->x_row + col * r->x_col;
            V by[2];
#pragma GCC unroll 2
            for (int v = 0; v < n_vectors; v++)
                by[v] = V_LOAD(w + v * r->w_vector);
#pragma GCC unroll 8
            for (int p = 0; p < DEPTHWISE_TILE; p++, x += step, col += r->stride_w) {
                if (part != V_NAME(TILE_WHOLE) && (col < 0 || col >= r->in_w))
                    continue;
#pragma GCC unroll 2
                for (int v = 0; v < n_vectors; v++)
                    sums[v][p] = V_FMA(V_NAME(depthwise_load)(x + v * V_ELEMS, part, lanes), by[v],
                                       sums[v][p]);
            }
        }
    V_NAME(depthwise_epilogue)(r, out, n_vectors, part, lanes, sums);
}

/* All inputs and outputs of the tile are there. */
static inline bool V_NAME(depthwise_is_whole)(const hn_depthwise_row *r, int64_t out) {
    int64_t col0 = out * r->stride_w - r->pad_w;
    int64_t last = col0 + (DEPTHWISE_TILE - 1) * r->stride_w + (r->kernel_w - 1) * r->dilation_w;
    return col0 >= 0 && last < r->in_w && out + DEPTHWISE_TILE <= r->out1;
}

#define DEFINE_DEPTHWISE(name, tile)                                    \
  static V_TARGET void V_NAME(name)(const hn_depthwise_row *r) {        \
    for (int64_t out = r->out0; out < r->out1; out += DEPTHWISE_TILE) { \
      bool is_whole = V_NAME(depthwise_is_whole)(r, out);               \
      if (r->n_channels < V_ELEMS)                                      \
        tile(1, V_NAME(TILE_REST));                                     \
      else if (r->n_channels == V_ELEMS && is_whole)                    \
        tile(1, V_NAME(TILE_WHOLE));                                    \
      else if (r->n_channels == V_ELEMS)                                \
        tile(1, V_NAME(TILE_EDGE));                                     \
      else if (is_whole)                                                \
        tile(DEPTHWISE_VECTORS, V_NAME(TILE_WHOLE));                    \
      else                                                              \
        tile(DEPTHWISE_VECTORS, V_NAME(TILE_EDGE));                     \
    }                                                                   \
  }
#define TILE_ANY(n, part) V_NAME(depthwise_any_tile)(r, out, n, part)
#define TILE_3_1(n, part) V_NAME(depthwise_tile)(r, out, 3, 1, n, part)
#define TILE_3_2(n, part) V_NAME(depthwise_tile)(r, out, 3, 2, n, part)
#define TILE_5_1(n, part) V_NAME(depthwise_tile)(r, out, 5, 1, n, part)
#define TILE_5_2(n, part) V_NAME(depthwise_tile)(r, out, 5, 2, n, part)
#define TILE_7_1(n, part) V_NAME(depthwise_tile)(r, out, 7, 1, n, part)
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

const hn_depthwise_set V_NAME(hn_depthwise_set) = {
    .channels = V_ELEMS, .most_vectors = DEPTHWISE_VECTORS, .find = V_NAME(depthwise_find)};
#undef DEPTHWISE_TILE
#undef DEPTHWISE_VECTORS
