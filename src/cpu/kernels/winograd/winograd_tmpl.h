/* Winograd's transforms for the vectors of one simd_*.h: first along columns, then along rows. A
 * line of six numbers costs 12 operations either way, 264 for a vector of a tile in and out again.
 * All loops over a tile are unrolled, so that its 36 vectors stay in registers as far as there are
 * enough: with 32 a few, with 16 most of them pass through the stack. Measured with AVX-512: 60 ns
 * in, of which writing to the second cache alone takes 42, and 45 ns out. */

enum { V_NAME(WINOGRAD_WIDTH) = 2 * V_ELEMS };

/* Plain loops over a constant number of filters, which compilers turn into vectors. */
static V_TARGET void V_NAME(winograd_filters)(const double *restrict taps, float *restrict out,
                                              int64_t plane) {
    enum { WIDTH = V_NAME(WINOGRAD_WIDTH), LINE = 3 * WIDTH };
    double line[LINE];
    for (int i = 0; i < HN_WINOGRAD_WINDOW; i++) {
        const double *w = hn_winograd_weights[i];
        for (int k = 0; k < LINE; k++)
            line[k] = w[0] * taps[k] + w[1] * taps[LINE + k] + w[2] * taps[2 * LINE + k];
        for (int j = 0; j < HN_WINOGRAD_WINDOW; j++, out += plane) {
            w = hn_winograd_weights[j];
            for (int f = 0; f < WIDTH; f++)
                out[f] =
                    (float)(w[0] * line[f] + w[1] * line[WIDTH + f] + w[2] * line[2 * WIDTH + f]);
        }
    }
}

/* t = values of the polynomial d at the points, but for factors, which the filters carry. The
 * product of A and B is 1. */
static inline V_TARGET void V_NAME(winograd_evaluate)(const V *d, V *t) {
    const V a = V_SET1((float)HN_WINOGRAD_A), b = V_SET1((float)HN_WINOGRAD_B);
    const V aa = V_SET1((float)(HN_WINOGRAD_A * HN_WINOGRAD_A));
    const V bb = V_SET1((float)(HN_WINOGRAD_B * HN_WINOGRAD_B));
    const V sum = V_SET1((float)(HN_WINOGRAD_A * HN_WINOGRAD_A + HN_WINOGRAD_B * HN_WINOGRAD_B));
    V even_a = V_FNMA(bb, d[2], d[4]), odd_a = V_FNMA(bb, d[1], d[3]);
    V even_b = V_FNMA(aa, d[2], d[4]), odd_b = V_FNMA(aa, d[1], d[3]);
    t[0] = V_FNMA(sum, d[2], V_ADD(d[0], d[4]));
    t[1] = V_FMA(a, odd_a, even_a);
    t[2] = V_FNMA(a, odd_a, even_a);
    t[3] = V_FMA(b, odd_b, even_b);
    t[4] = V_FNMA(b, odd_b, even_b);
    t[5] = V_FNMA(sum, d[3], V_ADD(d[1], d[5]));
}

static V_TARGET void V_NAME(winograd_input)(int64_t n, const float *x, int64_t row, int64_t column,
                                            float *v, int64_t plane) {
    for (int64_t c = 0; c < n; c += V_ELEMS, x += V_ELEMS, v += V_ELEMS) {
        V lines[HN_WINOGRAD_WINDOW][HN_WINOGRAD_WINDOW], d[HN_WINOGRAD_WINDOW];
        _Pragma("GCC unroll 6") for (int j = 0; j < HN_WINOGRAD_WINDOW; j++) {
            _Pragma("GCC unroll 6") for (int i = 0; i < HN_WINOGRAD_WINDOW; i++) d[i] =
                V_LOAD(x + i * row + j * column);
            V_NAME(winograd_evaluate)(d, lines[j]);
        }
        _Pragma("GCC unroll 6") for (int i = 0; i < HN_WINOGRAD_WINDOW; i++) {
            V t[HN_WINOGRAD_WINDOW];
            _Pragma("GCC unroll 6") for (int j = 0; j < HN_WINOGRAD_WINDOW; j++) d[j] = lines[j][i];
            V_NAME(winograd_evaluate)(d, t);
            _Pragma("GCC unroll 6") for (int j = 0; j < HN_WINOGRAD_WINDOW; j++)
                V_STORE(v + (i * HN_WINOGRAD_WINDOW + j) * plane, t[j]);
        }
    }
}

/* y = the four outputs of a line, from the products m at its six points. */
static inline V_TARGET void V_NAME(winograd_interpolate)(const V *m, V *y) {
    const V a = V_SET1((float)HN_WINOGRAD_A), b = V_SET1((float)HN_WINOGRAD_B);
    const V aa = V_SET1((float)(HN_WINOGRAD_A * HN_WINOGRAD_A));
    const V bb = V_SET1((float)(HN_WINOGRAD_B * HN_WINOGRAD_B));
    const V aaa = V_SET1((float)(HN_WINOGRAD_A * HN_WINOGRAD_A * HN_WINOGRAD_A));
    const V bbb = V_SET1((float)(HN_WINOGRAD_B * HN_WINOGRAD_B * HN_WINOGRAD_B));
    V even_a = V_ADD(m[1], m[2]), odd_a = V_SUB(m[1], m[2]);
    V even_b = V_ADD(m[3], m[4]), odd_b = V_SUB(m[3], m[4]);
    y[0] = V_ADD(m[0], V_ADD(even_a, even_b));
    y[1] = V_FMA(a, odd_a, V_MUL(b, odd_b));
    y[2] = V_FMA(aa, even_a, V_MUL(bb, even_b));
    y[3] = V_FMA(aaa, odd_a, V_FMA(bbb, odd_b, m[5]));
}

static V_TARGET void V_NAME(winograd_output)(int64_t n, const float *m, int64_t plane,
                                             const hn_epilogue_f32 *epilogue, int64_t residual_row,
                                             float *y, int64_t row, int64_t column) {
    const V least = V_SET1(epilogue->least), most = V_SET1(epilogue->most);
    for (int64_t f = 0; f < n; f += V_ELEMS) {
        V lines[HN_WINOGRAD_WINDOW][HN_WINOGRAD_TILE], d[HN_WINOGRAD_WINDOW], bias;
        _Pragma("GCC unroll 6") for (int j = 0; j < HN_WINOGRAD_WINDOW; j++) {
            _Pragma("GCC unroll 6") for (int i = 0; i < HN_WINOGRAD_WINDOW; i++) d[i] =
                V_LOAD(m + f + (i * HN_WINOGRAD_WINDOW + j) * plane);
            V_NAME(winograd_interpolate)(d, lines[j]);
        }
        bias = V_LOAD(epilogue->col_bias + f);
        _Pragma("GCC unroll 4") for (int i = 0; i < HN_WINOGRAD_TILE; i++) {
            V out[HN_WINOGRAD_TILE];
            _Pragma("GCC unroll 6") for (int j = 0; j < HN_WINOGRAD_WINDOW; j++) d[j] = lines[j][i];
            V_NAME(winograd_interpolate)(d, out);
            _Pragma("GCC unroll 4") for (int j = 0; j < HN_WINOGRAD_TILE; j++) {
                int64_t at = i * row + j * column + f;
                V sum = V_ADD(out[j], bias);
                if (epilogue->residual)
                    sum = V_ADD(sum, V_LOAD(epilogue->residual + i * residual_row +
                                            j * epilogue->residual_stride + f));
                V_STORE(y + at, V_MIN(most, V_MAX(least, sum)));
            }
        }
    }
}

const hn_winograd_set V_NAME(hn_winograd_set) = {V_NAME(WINOGRAD_WIDTH), V_NAME(winograd_filters),
                                                 V_NAME(winograd_input), V_NAME(winograd_output)};
