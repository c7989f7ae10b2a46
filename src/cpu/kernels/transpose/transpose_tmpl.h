/* Matrices of 4-byte elements for one width, in square tiles that are transposed in registers,
 * as many of them as a vector has elements. Down a strip of columns first, so that the rows
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

hn_transpose_fn V_NAME(hn_transpose_32);
V_TARGET void V_NAME(hn_transpose_32)(const hn_transpose_job *job) {
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
