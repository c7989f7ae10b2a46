/* Reductions of floats for one width.
 *
 * Runs: four vectors grow side by side through a block, and the sums of blocks are joined in
 * double. Rows: four vectors of neighbours, or one vector of four rows at a time, grow through a
 * block of rows. So no sum grows by more than V_FOLD_STEPS numbers before it is put aside.
 * Registers: 4 that grow, 4 put aside, 1 loaded. Measured in the second level of the cache and in
 * memory: a third to a half of the time of a copy. */

#define V_FOLD_STEPS 64

#define V_FOLD_MORE(a, b) V_IF_NAN(a, a, V_MAX(a, b))
#define V_FOLD_LESS(a, b) V_IF_NAN(a, a, V_MIN(a, b))

/* Elements of a vector joined in double, halves with halves until one is left. */
static V_TARGET double V_NAME(fold_sum_across)(double total, V v) {
    float one[V_ELEMS];
    double part[V_ELEMS];
    V_STORE(one, v);
    for (int i = 0; i < V_ELEMS; i++)
        part[i] = (double)one[i];
    _Pragma("GCC unroll 4") for (int half = V_ELEMS / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            part[i] += part[i + half];
    }
    return total + part[0];
}

/* n elements, less than a vector has, and what counts for nothing. */
V_INLINE V V_NAME(fold_fill)(const float *x, int64_t n, V rest) {
    return V_IF_LESS(V_LOAD(reduce_lane_numbers), V_SET1((float)n), V_LOAD_SOME(x, V_FIRST(n)),
                     rest);
}

/* NaN wins. */
V_INLINE double V_NAME(fold_max_across)(double total, V v) {
    float is_nan = V_LARGEST(V_IF_NAN(v, V_SET1(1.0f), V_ZERO())), most = V_LARGEST(v);
    if (is_nan > 0 || total != total)
        return (double)NAN;
    return HN_MAX(total, (double)most);
}

/* Differences from 0 instead of negations: zeros stay positive. */
V_INLINE double V_NAME(fold_min_across)(double total, V v) {
    return 0 - V_NAME(fold_max_across)(0 - total, V_SUB(V_ZERO(), v));
}

/* Name, where it starts, one step, joining two, joining the elements of a vector in double, and
 * whether an element may be taken twice, or else zeros added. */
#define V_FOLDS(X)                                                           \
  X(SUM, 0.0f, V_ADD(acc, x), V_ADD, fold_sum_across, false)                 \
  X(ABS, 0.0f, V_ADD(acc, V_ABS(x)), V_ADD, fold_sum_across, false)          \
  X(SQUARE, 0.0f, V_FMA(x, x, acc), V_ADD, fold_sum_across, false)           \
  X(MAX, -INFINITY, V_FOLD_MORE(acc, x), V_FOLD_MORE, fold_max_across, true) \
  X(MIN, INFINITY, V_FOLD_LESS(acc, x), V_FOLD_LESS, fold_min_across, true)

#define V_DEFINE_FOLD(name, start, step, join, across, is_same_twice)                            \
  V_INLINE V V_NAME(fold_step_##name)(V acc, V x) {                                              \
    return step;                                                                                 \
  }                                                                                              \
  static V_TARGET float V_NAME(fold_run_##name)(int64_t n, const float *xs) {                    \
    const int64_t block = V_FOLD_STEPS * 4 * V_ELEMS;                                            \
    double total = (double)start;                                                                \
    V first = V_SET1(start), here = first;                                                       \
    int64_t i = 0;                                                                               \
    while (n - i >= 4 * V_ELEMS) {                                                               \
      int64_t end = i + HN_MIN(block, (n - i) / (4 * V_ELEMS) * (4 * V_ELEMS));                  \
      V a = first, b = first, c = first, d = first;                                              \
      if (i > 0)                                                                                 \
        total = V_NAME(across)(total, here);                                                     \
      for (; i < end; i += 4 * V_ELEMS) {                                                        \
        a = V_NAME(fold_step_##name)(a, V_LOAD(xs + i));                                         \
        b = V_NAME(fold_step_##name)(b, V_LOAD(xs + i + V_ELEMS));                               \
        c = V_NAME(fold_step_##name)(c, V_LOAD(xs + i + 2 * V_ELEMS));                           \
        d = V_NAME(fold_step_##name)(d, V_LOAD(xs + i + 3 * V_ELEMS));                           \
      }                                                                                          \
      V ab = join(a, b), cd = join(c, d);                                                        \
      here = join(ab, cd);                                                                       \
    }                                                                                            \
    for (; n - i >= V_ELEMS; i += V_ELEMS)                                                       \
      here = V_NAME(fold_step_##name)(here, V_LOAD(xs + i));                                     \
    if (i < n)                                                                                   \
      here = V_NAME(fold_step_##name)(here, !is_same_twice ? V_LOAD_SOME(xs + i, V_FIRST(n - i)) \
                                            : n >= V_ELEMS ? V_LOAD(xs + n - V_ELEMS)            \
                                                           : V_NAME(fold_fill)(xs, n, first));   \
    return (float)V_NAME(across)(total, here);                                                   \
  }                                                                                              \
  /* Four vectors of neighbours. */                                                              \
  static V_TARGET void V_NAME(fold_wide_##name)(int64_t n_rows, int64_t row, const float *xs,    \
                                                float *out) {                                    \
    V first = V_SET1(start), all[4] = {first, first, first, first};                              \
    for (int64_t r = 0; r < n_rows;) {                                                           \
      int64_t end = HN_MIN(r + V_FOLD_STEPS, n_rows);                                            \
      V a = first, b = first, c = first, d = first;                                              \
      for (; r < end; r++) {                                                                     \
        const float *x = xs + r * row;                                                           \
        a = V_NAME(fold_step_##name)(a, V_LOAD(x));                                              \
        b = V_NAME(fold_step_##name)(b, V_LOAD(x + V_ELEMS));                                    \
        c = V_NAME(fold_step_##name)(c, V_LOAD(x + 2 * V_ELEMS));                                \
        d = V_NAME(fold_step_##name)(d, V_LOAD(x + 3 * V_ELEMS));                                \
      }                                                                                          \
      all[0] = join(all[0], a);                                                                  \
      all[1] = join(all[1], b);                                                                  \
      all[2] = join(all[2], c);                                                                  \
      all[3] = join(all[3], d);                                                                  \
    }                                                                                            \
    for (int k = 0; k < 4; k++)                                                                  \
      V_STORE(out + k * V_ELEMS, all[k]);                                                        \
  }                                                                                              \
  /* One vector of neighbours, or less. */                                                       \
  static V_TARGET void V_NAME(fold_slim_##name)(int64_t n_rows, int64_t row, const float *xs,    \
                                                int64_t n, float *out) {                         \
    V_SOME some = V_FIRST(n);                                                                    \
    V first = V_SET1(start), all = first;                                                        \
    for (int64_t r = 0; r < n_rows;) {                                                           \
      int64_t end = HN_MIN(r + 4 * V_FOLD_STEPS, n_rows);                                        \
      V a = first, b = first, c = first, d = first;                                              \
      for (; r + 4 <= end; r += 4) {                                                             \
        const float *x = xs + r * row;                                                           \
        a = V_NAME(fold_step_##name)(a, V_LOAD_SOME(x, some));                                   \
        b = V_NAME(fold_step_##name)(b, V_LOAD_SOME(x + row, some));                             \
        c = V_NAME(fold_step_##name)(c, V_LOAD_SOME(x + 2 * row, some));                         \
        d = V_NAME(fold_step_##name)(d, V_LOAD_SOME(x + 3 * row, some));                         \
      }                                                                                          \
      for (; r < end; r++)                                                                       \
        a = V_NAME(fold_step_##name)(a, V_LOAD_SOME(xs + r * row, some));                        \
      V ab = join(a, b), cd = join(c, d), here = join(ab, cd);                                   \
      all = join(all, here);                                                                     \
    }                                                                                            \
    V_STORE_SOME(out, some, all);                                                                \
  }                                                                                              \
  static V_TARGET void V_NAME(fold_rows_##name)(int64_t n_rows, int64_t row, const float *xs,    \
                                                int64_t n, float *out) {                         \
    int64_t i = 0;                                                                               \
    for (; n - i >= 4 * V_ELEMS; i += 4 * V_ELEMS)                                               \
      V_NAME(fold_wide_##name)(n_rows, row, xs + i, out + i);                                    \
    for (; i < n; i += V_ELEMS)                                                                  \
      V_NAME(fold_slim_##name)(n_rows, row, xs + i, HN_MIN(n - i, V_ELEMS), out + i);            \
  }
V_FOLDS(V_DEFINE_FOLD)

static V_TARGET void V_NAME(weigh_rows)(int64_t n, int64_t n_rows, const float *x,
                                        const int64_t *offsets, const float *w, float *out) {
    int64_t i = 0;
    for (; n - i >= 2 * V_ELEMS; i += 2 * V_ELEMS) {
        V a = V_ZERO(), b = V_ZERO();
        for (int64_t t = 0; t < n_rows; t++) {
            V by = V_BROADCAST(w + t);
            a = V_FMA(V_LOAD(x + offsets[t] + i), by, a);
            b = V_FMA(V_LOAD(x + offsets[t] + i + V_ELEMS), by, b);
        }
        V_STORE(out + i, a);
        V_STORE(out + i + V_ELEMS, b);
    }
    for (; i < n; i += V_ELEMS) {
        V_SOME some = V_FIRST(HN_MIN(n - i, V_ELEMS));
        V a = V_ZERO();
        for (int64_t t = 0; t < n_rows; t++)
            a = V_FMA(V_LOAD_SOME(x + offsets[t] + i, some), V_BROADCAST(w + t), a);
        V_STORE_SOME(out + i, some, a);
    }
}

#define V_RUN_ROW(name, start, step, join, across, is_same_twice) \
  [HN_REDUCE_##name] = V_NAME(fold_run_##name),
#define V_ROWS_ROW(name, start, step, join, across, is_same_twice) \
  [HN_REDUCE_##name] = V_NAME(fold_rows_##name),
const hn_reduce_loops_f32 V_NAME(hn_reduce_loops_f32) = {
    {V_FOLDS(V_RUN_ROW)}, {V_FOLDS(V_ROWS_ROW)}, V_NAME(weigh_rows)};

#undef V_FOLD_STEPS
#undef V_FOLD_MORE
#undef V_FOLD_LESS
#undef V_FOLDS
#undef V_DEFINE_FOLD
#undef V_RUN_ROW
#undef V_ROWS_ROW
