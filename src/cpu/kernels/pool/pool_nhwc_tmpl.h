/* Pools of channels-last floats for one width; see pool_nhwc_int.h. Four vectors of channels at a
 * time hide the latency of a comparison or an addition; one load per element, no other traffic.
 * Rows hold the columns of a window, up to 5 times 4 registers (AVX2: 5 times 2): each element is
 * loaded once per row of windows that it belongs to. */

typedef enum V_NAME(pool_take) { V_NAME(TAKE_MOST), V_NAME(TAKE_SUM) } V_NAME(pool_take);

/* a is what is known so far. */
V_INLINE V V_NAME(pool_join)(V_NAME(pool_take) take, V a, V x) {
    return take == V_NAME(TAKE_SUM) ? V_ADD(a, x) : V_IF_NAN(a, a, V_MAX(a, x));
}

/* n vectors of channels, or with n == 1 those of `some`. */
V_INLINE void V_NAME(pool_block)(V_NAME(pool_take) take, const hn_pixels_f32 *from, int64_t c,
                                 int n, bool is_whole, V_SOME some, bool go_on, float *y) {
    V a[4];
#pragma GCC unroll 4
    for (int v = 0; v < n; v++) {
        const float *at = y + c + v * V_ELEMS;
        a[v] = !go_on     ? take == V_NAME(TAKE_SUM) ? V_ZERO() : V_SET1(-HUGE_VALF)
                   : is_whole ? V_LOAD(at)
                          : V_LOAD_SOME(at, some);
    }
    for (int64_t i = 0; i < from->n_rows; i++) {
        const float *x = from->x + i * from->row + c;
        for (int64_t j = 0; j < from->n_cols; j++, x += from->col)
#pragma GCC unroll 4
            for (int v = 0; v < n; v++)
                a[v] = V_NAME(pool_join)(take, a[v],
                                         is_whole ? V_LOAD(x + v * V_ELEMS) : V_LOAD_SOME(x, some));
    }
#pragma GCC unroll 4
    for (int v = 0; v < n; v++) {
        if (is_whole)
            V_STORE(y + c + v * V_ELEMS, a[v]);
        else
            V_STORE_SOME(y + c, some, a[v]);
    }
}

V_INLINE void V_NAME(pool_pixel)(V_NAME(pool_take) take, const hn_pixels_f32 *from,
                                 int64_t channels, bool go_on, float *y) {
    int64_t c = 0;
    for (; c + 4 * V_ELEMS <= channels; c += 4 * V_ELEMS)
        V_NAME(pool_block)(take, from, c, 4, true, V_FIRST(0), go_on, y);
    for (; c + V_ELEMS <= channels; c += V_ELEMS)
        V_NAME(pool_block)(take, from, c, 1, true, V_FIRST(0), go_on, y);
    if (c < channels)
        V_NAME(pool_block)(take, from, c, 1, false, V_FIRST(channels - c), go_on, y);
}

static V_TARGET void V_NAME(pool_pixel_most)(const hn_pixels_f32 *from, int64_t channels,
                                             bool go_on, float *y) {
    V_NAME(pool_pixel)(V_NAME(TAKE_MOST), from, channels, go_on, y);
}

static V_TARGET void V_NAME(pool_pixel_sum)(const hn_pixels_f32 *from, int64_t channels, bool go_on,
                                            float *y) {
    V_NAME(pool_pixel)(V_NAME(TAKE_SUM), from, channels, go_on, y);
}

static V_TARGET void V_NAME(pool_pixel_divide)(int64_t channels, float by, float *y) {
    int64_t c = 0;
    V divisor = V_SET1(by);
    for (; c + V_ELEMS <= channels; c += V_ELEMS)
        V_STORE(y + c, V_DIV(V_LOAD(y + c), divisor));
    if (c < channels) {
        V_SOME some = V_FIRST(channels - c);
        V_STORE_SOME(y + c, some, V_DIV(V_LOAD_SOME(y + c, some), divisor));
    }
}

/* ---- rows ---- */

/* One column of a window, n vectors of channels. */
V_INLINE void V_NAME(pool_column)(V_NAME(pool_take) take, const hn_pool_row *r, const float *x,
                                  const int n, bool is_whole, V_SOME some, V *out) {
#pragma GCC unroll 4
    for (int v = 0; v < n; v++)
        out[v] = is_whole ? V_LOAD(x + v * V_ELEMS) : V_LOAD_SOME(x, some);
    for (int64_t i = 1; i < r->n_rows; i++) {
        x += r->row;
#pragma GCC unroll 4
        for (int v = 0; v < n; v++)
            out[v] = V_NAME(pool_join)(take, out[v],
                                       is_whole ? V_LOAD(x + v * V_ELEMS) : V_LOAD_SOME(x, some));
    }
}

/* Columns that the next window has, too, stay in registers: width of them for each of n vectors. */
V_INLINE void V_NAME(pool_row_block)(V_NAME(pool_take) take, const int width, const int stride,
                                     const hn_pool_row *r, int64_t c, const int n, bool is_whole,
                                     V_SOME some) {
    V cols[5][4], a[4], count = V_SET1(r->count);
    const float *x = r->x + c;
    float *y = r->y + c;
#pragma GCC unroll 4
    for (int j = 0; j < width - stride; j++, x += r->col)
        V_NAME(pool_column)(take, r, x, n, is_whole, some, cols[j]);
    for (int64_t out = 0; out < r->n_outs; out++, y += r->y_step) {
#pragma GCC unroll 4
        for (int j = width - stride; j < width; j++, x += r->col)
            V_NAME(pool_column)(take, r, x, n, is_whole, some, cols[j]);
#pragma GCC unroll 4
        for (int v = 0; v < n; v++) {
            a[v] = cols[0][v];
#pragma GCC unroll 4
            for (int j = 1; j < width; j++)
                a[v] = V_NAME(pool_join)(take, a[v], cols[j][v]);
            a[v] = take == V_NAME(TAKE_SUM) ? V_DIV(a[v], count) : a[v];
            if (is_whole)
                V_STORE(y + v * V_ELEMS, a[v]);
            else
                V_STORE_SOME(y, some, a[v]);
#pragma GCC unroll 4
            for (int j = 0; j < width - stride; j++)
                cols[j][v] = cols[j + stride][v];
        }
    }
}

#define POOL_VECTORS (V_REGISTERS / 8) /* width of them are held for each column */
#define DEFINE_POOL_ROW(name, take, width, stride)                                               \
  static V_TARGET void V_NAME(name)(const hn_pool_row *r) {                                      \
    int64_t c = 0;                                                                               \
    for (; c + POOL_VECTORS * V_ELEMS <= r->channels; c += POOL_VECTORS * V_ELEMS)               \
      V_NAME(pool_row_block)(V_NAME(take), width, stride, r, c, POOL_VECTORS, true, V_FIRST(0)); \
    for (; c + V_ELEMS <= r->channels; c += V_ELEMS)                                             \
      V_NAME(pool_row_block)(V_NAME(take), width, stride, r, c, 1, true, V_FIRST(0));            \
    if (c < r->channels)                                                                         \
      V_NAME(pool_row_block)                                                                     \
    (V_NAME(take), width, stride, r, c, 1, false, V_FIRST(r->channels - c));                     \
  }
DEFINE_POOL_ROW(pool_row_most_2_2, TAKE_MOST, 2, 2)
DEFINE_POOL_ROW(pool_row_most_3_1, TAKE_MOST, 3, 1)
DEFINE_POOL_ROW(pool_row_most_3_2, TAKE_MOST, 3, 2)
DEFINE_POOL_ROW(pool_row_most_5_1, TAKE_MOST, 5, 1)
DEFINE_POOL_ROW(pool_row_sum_2_2, TAKE_SUM, 2, 2)
DEFINE_POOL_ROW(pool_row_sum_3_1, TAKE_SUM, 3, 1)
DEFINE_POOL_ROW(pool_row_sum_3_2, TAKE_SUM, 3, 2)
#undef DEFINE_POOL_ROW
#undef POOL_VECTORS

static hn_pool_row_fn V_NAME(pool_find_row)(hn_pool_nhwc_kind kind, int64_t width, int64_t stride) {
    static const struct {
        hn_pool_nhwc_kind kind;
        int64_t width, stride;
        hn_pool_row_fn fn;
    } rows[] = {{HN_POOL_NHWC_MAX, 2, 2, V_NAME(pool_row_most_2_2)},
                {HN_POOL_NHWC_MAX, 3, 1, V_NAME(pool_row_most_3_1)},
                {HN_POOL_NHWC_MAX, 3, 2, V_NAME(pool_row_most_3_2)},
                {HN_POOL_NHWC_MAX, 5, 1, V_NAME(pool_row_most_5_1)},
                {HN_POOL_NHWC_AVERAGE, 2, 2, V_NAME(pool_row_sum_2_2)},
                {HN_POOL_NHWC_AVERAGE, 3, 1, V_NAME(pool_row_sum_3_1)},
                {HN_POOL_NHWC_AVERAGE, 3, 2, V_NAME(pool_row_sum_3_2)}};
    for (size_t i = 0; i < HN_COUNT(rows); i++)
        if (rows[i].kind == kind && rows[i].width == width && rows[i].stride == stride)
            return rows[i].fn;
    return NULL;
}

const hn_pool_nhwc_loops V_NAME(hn_pool_nhwc_loops) = {.most = V_NAME(pool_pixel_most),
                                                       .sum = V_NAME(pool_pixel_sum),
                                                       .divide = V_NAME(pool_pixel_divide),
                                                       .find_row = V_NAME(pool_find_row)};
