/* Pools of channels-last floats for one width; see pool_last_int.h. Four vectors of channels at a
 * time hide the latency of a comparison or an addition; one load per element, no other traffic. */

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

const hn_pool_last_loops V_NAME(hn_pool_last_loops) = {.most = V_NAME(pool_pixel_most),
                                                       .sum = V_NAME(pool_pixel_sum),
                                                       .divide = V_NAME(pool_pixel_divide)};
