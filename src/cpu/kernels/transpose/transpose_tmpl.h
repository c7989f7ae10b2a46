/* Matrices for one width: of 4-byte elements in square tiles that are transposed in registers, as
 * many of them as a vector has elements. Down a strip of columns first, so that the rows
 * written are filled from their beginning to their end. Bits pass unchanged. */

V_INLINE void V_NAME(turn_tile)(const float *from, int64_t from_row, float *to, int64_t to_row) {
    V r[V_ELEMS];
    _Pragma("GCC unroll 16") for (int i = 0; i < V_ELEMS; i++) r[i] = V_LOAD(from + i * from_row);
    V_TRANSPOSE(r);
    _Pragma("GCC unroll 16") for (int i = 0; i < V_ELEMS; i++) V_STORE(to + i * to_row, r[i]);
}

/* ni rows and nj columns. */
static V_TARGET void V_NAME(turn_edge)(int64_t ni, int64_t nj, const float *from, int64_t from_row,
                                       float *to, int64_t to_row) {
    V_SOME wide = V_FIRST(nj), high = V_FIRST(ni);
    V r[V_ELEMS];
    for (int i = 0; i < V_ELEMS; i++)
        r[i] = i < ni ? V_LOAD_SOME(from + i * from_row, wide) : V_ZERO();
    V_TRANSPOSE(r);
    for (int j = 0; j < V_ELEMS && j < nj; j++)
        V_STORE_SOME(to + j * to_row, high, r[j]);
}

/* ---- pixels and planes ---- */

/* Two, three or four columns that lie together, and the way back: the compiler knows how far it is
 * from one row to the next, and makes vectors. */
#define V_NARROW(T, N)                                                                           \
  static V_TARGET void V_NAME(cut_##T##_##N)(int64_t n, const T *restrict from, T *restrict to,  \
                                             int64_t step) {                                     \
    for (int64_t i = 0; i < n; i++)                                                              \
      for (int k = 0; k < N; k++)                                                                \
        to[k * step + i] = from[i * N + k];                                                      \
  }                                                                                              \
  static V_TARGET void V_NAME(join_##T##_##N)(int64_t n, const T *restrict from, T *restrict to, \
                                              int64_t step) {                                    \
    for (int64_t i = 0; i < n; i++)                                                              \
      for (int k = 0; k < N; k++)                                                                \
        to[i * N + k] = from[k * step + i];                                                      \
  }
#define V_NARROWS(T) V_NARROW(T, 2) V_NARROW(T, 3) V_NARROW(T, 4)
V_NARROWS(uint8_t)
V_NARROWS(uint32_t)

#define V_NARROW_CASE(way, T, N, n, step)                 \
  case N:                                                 \
    V_NAME(way##_##T##_##N)(n, job->from, job->to, step); \
    return true;
#define V_NARROW_CASES(way, T, n, step) \
  V_NARROW_CASE(way, T, 2, n, step)     \
  V_NARROW_CASE(way, T, 3, n, step) V_NARROW_CASE(way, T, 4, n, step)
#define V_NARROW_TYPE(T)                                \
  if (job->from_row == job->cols)                       \
    switch (job->cols) {                                \
      V_NARROW_CASES(cut, T, job->rows, job->to_row)    \
    default:                                            \
      break;                                            \
    }                                                   \
  if (job->to_row == job->rows)                         \
    switch (job->rows) {                                \
      V_NARROW_CASES(join, T, job->cols, job->from_row) \
    default:                                            \
      break;                                            \
    }                                                   \
  return false;

static V_TARGET bool V_NAME(turn_bytes)(const hn_transpose_job *job) {
    V_NARROW_TYPE(uint8_t)
}
static V_TARGET bool V_NAME(turn_words)(const hn_transpose_job *job) {
    V_NARROW_TYPE(uint32_t)
}
#undef V_NARROW
#undef V_NARROWS
#undef V_NARROW_CASE
#undef V_NARROW_CASES
#undef V_NARROW_TYPE

/* ---- all ---- */

static V_TARGET void V_NAME(turn_tiles)(const hn_transpose_job *job) {
    const float *from = job->from;
    float *to = job->to;
    for (int64_t j = 0; j < job->cols; j += V_ELEMS) {
        int64_t nj = HN_MIN(job->cols - j, V_ELEMS);
        for (int64_t i = 0; i < job->rows; i += V_ELEMS) {
            int64_t ni = HN_MIN(job->rows - i, V_ELEMS);
            const float *tile = from + i * job->from_row + j;
            float *out = to + j * job->to_row + i;
            if (ni == V_ELEMS && nj == V_ELEMS)
                V_NAME(turn_tile)(tile, job->from_row, out, job->to_row);
            else
                V_NAME(turn_edge)(ni, nj, tile, job->from_row, out, job->to_row);
        }
    }
}

hn_transpose_fn V_NAME(hn_transpose_vectors);
V_TARGET void V_NAME(hn_transpose_vectors)(const hn_transpose_job *job) {
    bool is_narrow = job->rows < HN_TRANSPOSE_LEAST_SIDE || job->cols < HN_TRANSPOSE_LEAST_SIDE;
    if (job->elem_bytes == 4 && !is_narrow)
        V_NAME(turn_tiles)(job);
    else if (!(job->elem_bytes == 4 && V_NAME(turn_words)(job)) &&
             !(job->elem_bytes == 1 && V_NAME(turn_bytes)(job)))
        hn_transpose_plain(job);
}
