/* Rows of channels for one width. All three are bound by memory: a block of rows fits the first
 * cache. Sums keep two vectors of channels in registers while they go down the rows. */

static V_TARGET void V_NAME(rows_scale)(int64_t n_rows, const hn_scale_rows_job *job,
                                        const float *x, float *y) {
    const float *center = job->center, *scale = job->scale, *shift = job->shift;
    int64_t channels = job->channels, whole = channels - channels % V_ELEMS;
    V_SOME rest = V_FIRST(channels - whole);
    V last_center = V_LOAD_SOME(center + whole, rest),
      last_scale = V_LOAD_SOME(scale + whole, rest), last_shift = V_LOAD_SOME(shift + whole, rest);
    for (int64_t row = 0; row < n_rows; row++, x += job->x_step, y += job->y_step) {
        for (int64_t i = 0; i < whole; i += V_ELEMS)
            V_STORE(y + i, V_FMA(V_SUB(V_LOAD(x + i), V_LOAD(center + i)), V_LOAD(scale + i),
                                 V_LOAD(shift + i)));
        if (whole < channels)
            V_STORE_SOME(
                y + whole, rest,
                V_FMA(V_SUB(V_LOAD_SOME(x + whole, rest), last_center), last_scale, last_shift));
    }
}

static V_TARGET void V_NAME(rows_sum)(int64_t n_rows, int64_t channels, const float *x,
                                      int64_t step, float *sums) {
    int64_t i = 0;
    for (; i + 2 * V_ELEMS <= channels; i += 2 * V_ELEMS) {
        V s0 = V_ZERO(), s1 = s0;
        for (int64_t row = 0; row < n_rows; row++) {
            s0 = V_ADD(s0, V_LOAD(x + row * step + i));
            s1 = V_ADD(s1, V_LOAD(x + row * step + i + V_ELEMS));
        }
        V_STORE(sums + i, s0);
        V_STORE(sums + i + V_ELEMS, s1);
    }
    for (; i < channels; i += V_ELEMS) {
        V_SOME some = V_FIRST(HN_MIN(channels - i, V_ELEMS));
        V s = V_ZERO();
        for (int64_t row = 0; row < n_rows; row++)
            s = V_ADD(s, V_LOAD_SOME(x + row * step + i, some));
        V_STORE_SOME(sums + i, some, s);
    }
}

static V_TARGET void V_NAME(rows_spread)(int64_t n_rows, int64_t channels, const float *x,
                                         int64_t step, const float *mean, float *squares,
                                         float *rests) {
    int64_t i = 0;
    for (; i + 2 * V_ELEMS <= channels; i += 2 * V_ELEMS) {
        V s0 = V_ZERO(), s1 = s0, r0 = s0, r1 = s0;
        V m0 = V_LOAD(mean + i), m1 = V_LOAD(mean + i + V_ELEMS);
        for (int64_t row = 0; row < n_rows; row++) {
            V d0 = V_SUB(V_LOAD(x + row * step + i), m0),
              d1 = V_SUB(V_LOAD(x + row * step + i + V_ELEMS), m1);
            s0 = V_FMA(d0, d0, s0);
            s1 = V_FMA(d1, d1, s1);
            r0 = V_ADD(r0, d0);
            r1 = V_ADD(r1, d1);
        }
        V_STORE(squares + i, s0);
        V_STORE(squares + i + V_ELEMS, s1);
        V_STORE(rests + i, r0);
        V_STORE(rests + i + V_ELEMS, r1);
    }
    for (; i < channels; i += V_ELEMS) {
        V_SOME some = V_FIRST(HN_MIN(channels - i, V_ELEMS));
        V s = V_ZERO(), r = s, m = V_LOAD_SOME(mean + i, some);
        for (int64_t row = 0; row < n_rows; row++) {
            V d = V_SUB(V_LOAD_SOME(x + row * step + i, some), m);
            s = V_FMA(d, d, s);
            r = V_ADD(r, d);
        }
        V_STORE_SOME(squares + i, some, s);
        V_STORE_SOME(rests + i, some, r);
    }
}

const hn_rows_nhwc_f32 V_NAME(hn_rows_nhwc_f32) = {
    .scale = V_NAME(rows_scale), .sum = V_NAME(rows_sum), .spread = V_NAME(rows_spread)};
