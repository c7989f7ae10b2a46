/* Convolutions of small maps for the vectors of a simd_*.h; see conv_small.h. */

static V_TARGET void V_NAME(copy_into_bands)(const hn_conv_small_f32 *s, const float *x,
                                             float *bands) {
    for (int64_t c = 0; c < s->channels; c++, x += s->in_elems, bands += s->band_elems)
        for (int64_t i = 0; i < s->rows; i++) {
            const float *from = x + i * s->in_row;
            float *to = bands + s->inside + i * s->pitch;
            int64_t j = 0;
            for (; j + V_ELEMS <= s->cols; j += V_ELEMS)
                V_STORE(to + j, V_LOAD(from + j));
            if (j < s->cols) {
                V_SOME some = V_FIRST(s->cols - j);
                V_STORE_SOME(to + j, some, V_LOAD_SOME(from + j, some));
            }
        }
}

/* `rows` filters times `vectors` vectors of outputs; both are constants. */
static inline __attribute__((always_inline)) V_TARGET void V_NAME(small_tile)(
    const hn_conv_small_f32 *s, int rows, int vectors, const float *bands, hn_small_filters w,
    float *sums) {
    V sum[4][2];
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++)
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[r][v] = V_ZERO();
    for (int64_t k = 0; k < s->depth; k++, w.at += w.col) {
        const float *from = bands + s->offsets[k];
        V right[2];
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) right[v] =
            V_LOAD(from + v * V_ELEMS);
        _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) {
            V left = V_BROADCAST(w.at + r * w.row);
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[r][v] =
                V_FMA(left, right[v], sum[r][v]);
        }
    }
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++)
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)
            V_STORE(sums + r * HN_CONV_SMALL_LANES + v * V_ELEMS, sum[r][v]);
}

/* All outputs of some filters, with the padding between lines. */
static inline __attribute__((always_inline)) V_TARGET void V_NAME(small_rows)(
    const hn_conv_small_f32 *s, int rows, const float *bands, hn_small_filters w, float *sums) {
    int64_t lanes = (s->out_h - 1) * s->pitch + s->out_w, i = 0;
    for (; i + V_ELEMS < lanes; i += 2 * V_ELEMS)
        V_NAME(small_tile)(s, rows, 2, bands + i, w, sums + i);
    if (i < lanes)
        V_NAME(small_tile)(s, rows, 1, bands + i, w, sums + i);
}

static V_TARGET void V_NAME(store_lines)(const hn_conv_small_f32 *s, const float *sums, float bias,
                                         float *y) {
    V more = V_SET1(bias);
    for (int64_t i = 0; i < s->out_h; i++, sums += s->pitch, y += s->out_w)
        for (int64_t j = 0; j < s->out_w; j += V_ELEMS) {
            V v = V_ADD(V_LOAD(sums + j), more);
            V_STORE_SOME(y + j, V_FIRST(HN_MIN(s->out_w - j, (int64_t)V_ELEMS)), v);
        }
}

static V_TARGET void V_NAME(small_products)(const hn_conv_small_f32 *s, const float *bands,
                                            int64_t n, const hn_small_filters *w, const float *bias,
                                            float *y) {
    float sums[4 * HN_CONV_SMALL_LANES + HN_CONV_SMALL_SLACK];
    for (int64_t r = 0, rows; r < n; r += rows) {
        hn_small_filters from = {w->at + r * w->row, w->row, w->col};
        rows = HN_MIN(n - r, 4);
        switch (rows) {
        case 4:
            V_NAME(small_rows)(s, 4, bands, from, sums);
            break;
        case 3:
            V_NAME(small_rows)(s, 3, bands, from, sums);
            break;
        case 2:
            V_NAME(small_rows)(s, 2, bands, from, sums);
            break;
        default:
            V_NAME(small_rows)(s, 1, bands, from, sums);
            break;
        }
        for (int64_t i = 0; i < rows; i++)
            V_NAME(store_lines)
        (s, sums + i * HN_CONV_SMALL_LANES, bias ? bias[r + i] : 0,
         y + (r + i) * s->out_h * s->out_w);
    }
}

const hn_conv_small_set V_NAME(hn_conv_small_set) = {.copy = V_NAME(copy_into_bands),
                                                     .products = V_NAME(small_products)};
