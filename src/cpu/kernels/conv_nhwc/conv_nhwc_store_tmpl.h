/* The end of a tile of which not all columns exist. One per instruction set: only the last filters
 * need it. */
static V_TARGET void V_NAME(store_part_of_tile)(const hn_conv_tile *t, int rows, int64_t width,
                                                const float *sums) {
    V least = V_SET1(t->least), most = V_SET1(t->most);
    for (int r = 0; r < rows; r++)
        for (int64_t j = 0; j < t->cols; j += V_ELEMS) {
            V_SOME some = V_FIRST(HN_MIN(t->cols - j, (int64_t)V_ELEMS));
            int64_t at = r * t->y_row + j;
            V v = V_LOAD(sums + r * width + j);
            v = t->add ? V_ADD(v, V_LOAD_SOME(t->y + at, some)) : v;
            v = t->bias ? V_ADD(v, V_LOAD_SOME(t->bias + j, some)) : v;
            v = t->residual ? V_ADD(v, V_LOAD_SOME(t->residual + r * t->residual_row + j, some))
                            : v;
            V_STORE_SOME(t->y + at, some, t->is_limited ? V_MIN(most, V_MAX(least, v)) : v);
        }
}
