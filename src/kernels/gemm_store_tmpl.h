/* The end of a tile whose sums cannot go to c as they are: few columns, or something is done to
 * them. One per instruction set: it is called once per tile, and its loops need no unrolling. */
static V_TARGET void V_NAME(gemm_store)(int rows, int64_t width, const float *sums, float *c,
                                        int64_t c_row, int64_t cols, bool add,
                                        const hn_gemm_end_f32 *end) {
    float least = end ? end->least : -HUGE_VALF, most = end ? end->most : HUGE_VALF;
    const float *more = end ? end->residual : NULL;
    for (int r = 0; r < rows; r++, sums += width, c += c_row, more = more ? more + c_row : NULL) {
        float bias = end && end->bias ? end->bias[r] : 0;
        int64_t j = 0;
        for (; j + V_ELEMS <= cols; j += V_ELEMS) {
            V v = V_ADD(V_LOAD(sums + j), V_SET1(bias));
            v = add ? V_ADD(v, V_LOAD(c + j)) : v;
            v = more ? V_ADD(v, V_LOAD(more + j)) : v;
            V_STORE(c + j, V_MIN(V_SET1(most), V_MAX(V_SET1(least), v)));
        }
        for (; j < cols; j++) {
            float v = sums[j] + bias;
            v = add ? v + c[j] : v;
            v = more ? v + more[j] : v;
            v = v < least ? least : v;
            c[j] = v > most ? most : v;
        }
    }
}
