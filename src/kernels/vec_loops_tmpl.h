/* Loops over floats for one width; see vec.h for what each does. */

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

const hn_vec_loops_f32 V_NAME(hn_vec_loops_f32) = {.tap_sums = V_NAME(tap_sums),
                                                   .add_to = V_NAME(add_to)};
