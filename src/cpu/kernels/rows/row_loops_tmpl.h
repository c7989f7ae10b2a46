/* Loops over floats for one width; see row_loops.h for what each does. */

/* Four vectors at a time: as many sums as hide the latency of an addition. */
static V_TARGET void V_NAME(tap_sums)(int64_t n, const float *x, int64_t n_taps,
                                      const int64_t *offsets, const float *w, float start,
                                      float *out) {
    for (int64_t i = 0; i < n; i += 4 * V_ELEMS) {
        V s0 = V_SET1(start), s1 = s0, s2 = s0, s3 = s0;
        for (int64_t t = 0; t < n_taps; t++) {
            const float *from = x + i + offsets[t];
            V by = V_BROADCAST(w + t);
            s0 = V_FMA(V_LOAD(from), by, s0);
            s1 = V_FMA(V_LOAD(from + V_ELEMS), by, s1);
            s2 = V_FMA(V_LOAD(from + 2 * V_ELEMS), by, s2);
            s3 = V_FMA(V_LOAD(from + 3 * V_ELEMS), by, s3);
        }
        V_STORE(out + i, s0);
        V_STORE(out + i + V_ELEMS, s1);
        V_STORE(out + i + 2 * V_ELEMS, s2);
        V_STORE(out + i + 3 * V_ELEMS, s3);
    }
}

static inline V_TARGET V V_NAME(vec_larger)(V a, V b) {
    return V_IF_NAN(a, a, V_MAX(a, b));
}

static V_TARGET void V_NAME(tap_most)(int64_t n, const float *x, int64_t n_taps,
                                      const int64_t *offsets, float *out) {
    for (int64_t i = 0; i < n; i += 2 * V_ELEMS) {
        V most = V_LOAD(x + i + offsets[0]), next = V_LOAD(x + i + offsets[0] + V_ELEMS);
        for (int64_t t = 1; t < n_taps; t++) {
            const float *from = x + i + offsets[t];
            most = V_NAME(vec_larger)(most, V_LOAD(from));
            next = V_NAME(vec_larger)(next, V_LOAD(from + V_ELEMS));
        }
        V_STORE(out + i, most);
        V_STORE(out + i + V_ELEMS, next);
    }
}

static V_TARGET void V_NAME(tap_rows)(int64_t n_pieces, const hn_piece *pieces, const float *x,
                                      int64_t n_taps, const int64_t *offsets, float *out,
                                      int64_t out_row) {
    for (int64_t t = 0; t < n_taps; t++, out += out_row)
        for (const hn_piece *p = pieces; p < pieces + n_pieces; p++) {
            const float *from = x + offsets[t] + p->from;
            float *to = out + p->to;
            for (int32_t i = 0; i < p->n; i += V_ELEMS)
                V_STORE(to + i, V_LOAD(from + i));
        }
}

/* A pair of vectors is one element longer than what is wanted of it. */
static V_TARGET void V_NAME(every_other)(int64_t n, const float *x, float *out) {
    int64_t i = 0;
    for (; i + V_ELEMS < n; i += V_ELEMS)
        V_STORE(out + i, V_EVEN(V_LOAD(x + 2 * i), V_LOAD(x + 2 * i + V_ELEMS)));
    for (; i < n; i++)
        out[i] = x[2 * i];
}

/* ---- rows: the last elements stand in a vector of their own, filled up so that they count for
 * nothing ---- */

static inline V_TARGET V V_NAME(load_last)(const float *x, int64_t n, float fill) {
    return V_IF_LESS(V_LOAD(lane_numbers), V_SET1((float)n), V_LOAD_SOME(x, V_FIRST(n)),
                     V_SET1(fill));
}

static inline V_TARGET void V_NAME(store_last)(float *y, int64_t n, V v) {
    V_STORE_SOME(y, V_FIRST(n), v);
}

static V_TARGET float V_NAME(row_largest)(int64_t n, const float *x) {
    V most = V_SET1(-HUGE_VALF);
    int64_t i = 0;
    for (; i + V_ELEMS <= n; i += V_ELEMS)
        most = V_MAX(V_LOAD(x + i), most);
    if (i < n)
        most = V_MAX(V_NAME(load_last)(x + i, n - i, -HUGE_VALF), most);
    return V_LARGEST(most);
}

/* Rows of less than a vector stay in it. */
static V_TARGET void V_NAME(short_softmax)(int64_t n, const float *x, float *y) {
    V v = V_NAME(load_last)(x, n, -HUGE_VALF), none = V_SET1(-HUGE_VALF);
    V e = V_NAME(vec_exp)(V_SUB(v, V_SET1(V_LARGEST(V_MAX(v, none)))));
    V_NAME(store_last)(y, n, V_MUL(e, V_SET1(1 / V_SUM(e))));
}

static V_TARGET void V_NAME(softmax)(int64_t n, const float *x, float *y) {
    if (n < V_ELEMS) {
        V_NAME(short_softmax)(n, x, y);
        return;
    }
    V largest = V_SET1(V_NAME(row_largest)(n, x)), sum = V_ZERO();
    int64_t i = 0;
    for (; i + V_ELEMS <= n; i += V_ELEMS) {
        V e = V_NAME(vec_exp)(V_SUB(V_LOAD(x + i), largest));
        V_STORE(y + i, e);
        sum = V_ADD(sum, e);
    }
    if (i < n) {
        V e = V_NAME(vec_exp)(V_SUB(V_NAME(load_last)(x + i, n - i, -HUGE_VALF), largest));
        V_NAME(store_last)(y + i, n - i, e);
        sum = V_ADD(sum, e);
    }
    float scale = 1 / V_SUM(sum);
    for (i = 0; i + V_ELEMS <= n; i += V_ELEMS)
        V_STORE(y + i, V_MUL(V_LOAD(y + i), V_SET1(scale)));
    if (i < n)
        V_NAME(store_last)(y + i, n - i, V_MUL(V_LOAD_SOME(y + i, V_FIRST(n - i)), V_SET1(scale)));
}

/* An infinite largest element makes all results NaN, as in softmax. Long sums grow in blocks. */
static V_TARGET void V_NAME(log_softmax)(int64_t n, const float *x, float *y) {
    enum { IN_BLOCK = 1024 };
    float top = V_NAME(row_largest)(n, x), log_sum = NAN;
    V largest = V_SET1(top);
    double all = 0;
    int64_t i = 0;
    while (i < n) {
        V sum = V_ZERO();
        for (int64_t end = HN_MIN(n, i + IN_BLOCK); i + V_ELEMS <= end; i += V_ELEMS)
            sum = V_ADD(sum, V_NAME(vec_exp)(V_SUB(V_LOAD(x + i), largest)));
        if (i < n && n - i < V_ELEMS) {
            V last = V_NAME(load_last)(x + i, n - i, -HUGE_VALF);
            sum = V_ADD(sum, V_NAME(vec_exp)(V_SUB(last, largest)));
            i = n;
        }
        all += (double)V_SUM(sum);
    }
    if (!isinf(top))
        log_sum = (float)log(all);
    V by = V_SET1(log_sum);
    for (i = 0; i + V_ELEMS <= n; i += V_ELEMS)
        V_STORE(y + i, V_SUB(V_SUB(V_LOAD(x + i), largest), by));
    if (i < n)
        V_NAME(store_last)
    (y + i, n - i, V_SUB(V_SUB(V_LOAD_SOME(x + i, V_FIRST(n - i)), largest), by));
}

/* Sums in four chains, which hide the latency of an addition. */
static V_TARGET float V_NAME(row_sum)(int64_t n, const float *x) {
    V s0 = V_ZERO(), s1 = V_ZERO(), s2 = V_ZERO(), s3 = V_ZERO();
    int64_t i = 0;
    for (; i + 4 * V_ELEMS <= n; i += 4 * V_ELEMS) {
        s0 = V_ADD(s0, V_LOAD(x + i));
        s1 = V_ADD(s1, V_LOAD(x + i + V_ELEMS));
        s2 = V_ADD(s2, V_LOAD(x + i + 2 * V_ELEMS));
        s3 = V_ADD(s3, V_LOAD(x + i + 3 * V_ELEMS));
    }
    for (; i < n; i += V_ELEMS)
        s0 = V_ADD(s0, n - i >= V_ELEMS ? V_LOAD(x + i) : V_NAME(load_last)(x + i, n - i, 0));
    return V_SUM(V_ADD(V_ADD(s0, s1), V_ADD(s2, s3)));
}

static inline V_TARGET V V_NAME(add_square)(V x, V from, V sum) {
    V d = V_SUB(x, from);
    return V_FMA(d, d, sum);
}

/* Sum of squared distances from a number. */
static V_TARGET float V_NAME(row_squares)(int64_t n, const float *x, float from) {
    V s0 = V_ZERO(), s1 = V_ZERO(), s2 = V_ZERO(), s3 = V_ZERO(), by = V_SET1(from);
    int64_t i = 0;
    for (; i + 4 * V_ELEMS <= n; i += 4 * V_ELEMS) {
        s0 = V_NAME(add_square)(V_LOAD(x + i), by, s0);
        s1 = V_NAME(add_square)(V_LOAD(x + i + V_ELEMS), by, s1);
        s2 = V_NAME(add_square)(V_LOAD(x + i + 2 * V_ELEMS), by, s2);
        s3 = V_NAME(add_square)(V_LOAD(x + i + 3 * V_ELEMS), by, s3);
    }
    for (; i < n; i += V_ELEMS) {
        V v = n - i >= V_ELEMS ? V_LOAD(x + i) : V_NAME(load_last)(x + i, n - i, from);
        s0 = V_NAME(add_square)(v, by, s0);
    }
    return V_SUM(V_ADD(V_ADD(s0, s1), V_ADD(s2, s3)));
}

static V_TARGET void V_NAME(rotate_row)(int64_t half, const float *cosines, const float *sines,
                                        const float *x, float *y) {
    int64_t i = 0;
    for (; i + V_ELEMS <= half; i += V_ELEMS) {
        V c = V_LOAD(cosines + i), s = V_LOAD(sines + i);
        V a = V_LOAD(x + i), b = V_LOAD(x + half + i);
        V_STORE(y + i, V_FNMA(s, b, V_MUL(c, a)));
        V_STORE(y + half + i, V_FMA(s, a, V_MUL(c, b)));
    }
    for (; i < half; i++) {
        float a = x[i], b = x[half + i];
        y[i] = cosines[i] * a - sines[i] * b;
        y[half + i] = sines[i] * a + cosines[i] * b;
    }
}

static V_TARGET void V_NAME(add_rows)(int64_t n, const float *x, const float *z, const float *b,
                                      float *y) {
    int64_t i = 0;
    for (; i + V_ELEMS <= n; i += V_ELEMS) {
        V v = V_ADD(V_LOAD(x + i), V_LOAD(z + i));
        V_STORE(y + i, b ? V_ADD(v, V_LOAD(b + i)) : v);
    }
    for (; i < n; i++)
        y[i] = b ? x[i] + z[i] + b[i] : x[i] + z[i];
}

static V_TARGET void V_NAME(normalize)(const hn_norm_row_f32 *norm, int64_t n, const float *x,
                                       float *y, float *mean, float *inverse) {
    *mean = norm->simplified || n == 0 ? 0 : V_NAME(row_sum)(n, x) / (float)n;
    float squares = V_NAME(row_squares)(n, x, *mean);
    *inverse = 1 / sqrtf((n ? squares / (float)n : 0) + norm->epsilon);
    V from = V_SET1(*mean), by = V_SET1(*inverse);
    const float *gamma = norm->gamma, *beta = norm->beta;
    int64_t i = 0;
    for (; i + V_ELEMS <= n; i += V_ELEMS) {
        V v = V_MUL(V_SUB(V_LOAD(x + i), from), by);
        V w = gamma ? V_LOAD(gamma + i) : V_SET1(1.0f);
        V_STORE(y + i, V_FMA(v, w, beta ? V_LOAD(beta + i) : V_ZERO()));
    }
    if (i < n) {
        int64_t left = n - i;
        V v = V_MUL(V_SUB(V_NAME(load_last)(x + i, left, 0), from), by);
        V w = gamma ? V_NAME(load_last)(gamma + i, left, 0) : V_SET1(1.0f);
        V b = beta ? V_NAME(load_last)(beta + i, left, 0) : V_ZERO();
        V_NAME(store_last)(y + i, left, V_FMA(v, w, b));
    }
}

static V_TARGET void V_NAME(add_to)(int64_t n, float *y, float b, const float *z) {
    V by = V_SET1(b);
    int64_t i = 0;
    for (; i + V_ELEMS <= n; i += V_ELEMS) {
        V v = V_ADD(V_LOAD(y + i), by);
        V_STORE(y + i, z ? V_ADD(v, V_LOAD(z + i)) : v);
    }
    for (; i < n; i++)
        y[i] = z ? y[i] + b + z[i] : y[i] + b;
}

const hn_row_loops_f32 V_NAME(hn_row_loops_f32) = {.tap_sums = V_NAME(tap_sums),
                                                   .tap_most = V_NAME(tap_most),
                                                   .tap_rows = V_NAME(tap_rows),
                                                   .every_other = V_NAME(every_other),
                                                   .sum = V_NAME(row_sum),
                                                   .softmax = V_NAME(softmax),
                                                   .log_softmax = V_NAME(log_softmax),
                                                   .rotate = V_NAME(rotate_row),
                                                   .add_rows = V_NAME(add_rows),
                                                   .normalize = V_NAME(normalize),
                                                   .add_to = V_NAME(add_to)};
