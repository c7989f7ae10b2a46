/* The epilogue of a tile of which not all columns exist. One per instruction set: only the last
 * filters need it. */
static V_TARGET void V_NAME(store_part_of_tile)(const hn_conv_tile *t, int rows, int64_t width,
                                                const float *sums) {
    const hn_epilogue_f32 *e = &t->epilogue;
    V least = V_SET1(e->least), most = V_SET1(e->most);
    for (int r = 0; r < rows; r++)
        for (int64_t j = 0; j < t->cols; j += V_ELEMS) {
            V_SOME some = V_FIRST(HN_MIN(t->cols - j, (int64_t)V_ELEMS));
            int64_t at = r * t->y_row + j;
            V v = V_LOAD(sums + r * width + j);
            v = t->add ? V_ADD(v, V_LOAD_SOME(t->y + at, some)) : v;
            v = e->col_bias ? V_ADD(v, V_LOAD_SOME(e->col_bias + j, some)) : v;
            v = e->residual ? V_ADD(v, V_LOAD_SOME(e->residual + r * e->residual_stride + j, some))
                            : v;
            V_STORE_SOME(t->y + at, some, e->is_limited ? V_MIN(most, V_MAX(least, v)) : v);
        }
}
