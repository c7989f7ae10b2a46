/* Results of integer products for one width: one vector of columns at a time, down all rows, so
 * that what belongs to columns stays in registers. Sums are whole vectors even where columns are
 * not; the last results of a row pass through a buffer. */

/* In place: what depends on the row. */
V_INLINE void V_NAME(int8_row_terms)(const hn_int8_result *s, const hn_int8_block *t, int r) {
    int32_t *sums = t->sums + r * t->sums_row;
    V_INT row_sum = V_INT_SET1(s->zeros ? t->row_sums[r] : 0);
    V_INT row_zero = V_INT_SET1(s->terms ? t->row_zeros[r] : 0);
    for (int64_t j = 0; j < t->cols; j += V_ELEMS) {
        V_INT sum = V_INT_LOAD(sums + j);
        if (s->zeros)
            sum = V_INT_SUB(sum, V_INT_MUL(row_sum, V_INT_LOAD(s->zeros + t->col + j)));
        if (s->terms)
            sum = V_INT_ADD(sum, V_INT_MUL(row_zero, V_INT_LOAD(s->terms + t->col + j)));
        V_INT_STORE(sums + j, sum);
    }
}

V_INLINE V V_NAME(int8_within)(V v, V low, V high) {
    return V_MIN(V_MAX(v, low), high);
}

/* The same, but NaN stays NaN. */
V_INLINE V V_NAME(int8_limited)(V v, V low, V high) {
    return V_MIN(high, V_MAX(low, v));
}

/* For each vector of columns: `columns` once, then `row` for each row with the sum as it is
 * finished so far, and with y, where a whole vector can be stored. */
#define V_INT8_EACH(Y, columns, row)                                         \
  for (int64_t j = 0; j < t->cols; j += V_ELEMS) {                           \
    const V_INT add = V_INT_LOAD(s->add + t->col + j);                       \
    const int64_t left = HN_MIN(t->cols - j, V_ELEMS);                       \
    columns;                                                                 \
    for (int r = 0; r < t->rows; r++) {                                      \
      V_INT sum = V_INT_ADD(V_INT_LOAD(t->sums + r * t->sums_row + j), add); \
      Y *to = (Y *)t->y + r * t->y_row + j, last[V_ELEMS];                   \
      Y *y = left < V_ELEMS ? last : to;                                     \
      row;                                                                   \
      if (left < V_ELEMS)                                                    \
        memcpy(to, last, (size_t)left * sizeof *to);                         \
    }                                                                        \
  }
#define V_INT8_SCALES() V scale = V_LOAD(s->scales + t->col + j)

V_INLINE void V_NAME(int8_to_i32)(const hn_int8_result *s, const hn_int8_block *t){
    V_INT8_EACH(int32_t, , V_INT_STORE(y, sum))}

V_INLINE void V_NAME(int8_to_f32)(const hn_int8_result *s, const hn_int8_block *t) {
    V low = V_SET1(s->low), high = V_SET1(s->high);
    V_INT8_EACH(
        float, V_INT8_SCALES(); V bias = s->bias ? V_LOAD(s->bias + t->col + j) : V_ZERO(),
                                V scaled = V_MUL(V_OF_INT(sum), scale);
        scaled = s->bias ? V_ADD(scaled, bias) : scaled; if (s->residual.at) {
            const float *z = (const float *)t->residual + r * s->residual.row + j;
            scaled = V_ADD(scaled, V_LOAD_SOME(z, V_FIRST(left)));
        } V_STORE(y, V_NAME(int8_limited)(scaled, low, high)))
}

V_INLINE void V_NAME(int8_to_bytes)(const hn_int8_result *s, const hn_int8_block *t) {
    V low = V_SET1(s->low), high = V_SET1(s->high);
    V_INT zero = V_INT_SET1(s->zero);
    V_INT8_EACH(uint8_t, V_INT8_SCALES(),
                V q = V_NAME(int8_within)(V_MUL(V_OF_INT(sum), scale), low, high);
                V_INT_STORE_BYTES(y, V_INT_ADD(V_INT_OF(q), zero)))
}

/* z has a whole vector. */
V_INLINE V_INT V_NAME(int8_add_residual)(const hn_int8_result *s, V scaled, const uint8_t *z) {
    const hn_int8_residual *other = &s->residual;
    V q = V_ROUND(V_NAME(int8_within)(scaled, V_SET1(s->low), V_SET1(s->high)));
    V of = other->is_signed ? V_LOAD_S8((const int8_t *)z) : V_LOAD_U8(z);
    V sum = V_ADD(V_MUL(q, V_SET1(other->of_result)),
                  V_MUL(V_SUB(of, V_SET1(other->zero)), V_SET1(other->of_residual)));
    V within = V_NAME(int8_within)(sum, V_SET1(other->low), V_SET1(other->high));
    return V_INT_ADD(V_INT_OF(within), V_INT_SET1(other->sum_zero));
}

V_INLINE void V_NAME(int8_to_sums)(const hn_int8_result *s, const hn_int8_block *t) {
    V_INT8_EACH(uint8_t, V_INT8_SCALES(),
                const uint8_t *z = (const uint8_t *)t->residual + r * s->residual.row + j;
                uint8_t some[V_ELEMS] = {0}; if (left < V_ELEMS) z = memcpy(some, z, (size_t)left);
                V scaled = V_MUL(V_OF_INT(sum), scale);
                V_INT_STORE_BYTES(y, V_NAME(int8_add_residual)(s, scaled, z)))
}

hn_int8_result_fn V_NAME(hn_int8_result);
V_TARGET void V_NAME(hn_int8_result)(const hn_int8_result *s, const hn_int8_block *t) {
    for (int r = 0; (s->zeros || s->terms) && r < t->rows; r++)
        V_NAME(int8_row_terms)(s, t, r);
    if (s->to == HN_INT8_TO_I32)
        V_NAME(int8_to_i32)(s, t);
    else if (s->to == HN_INT8_TO_F32)
        V_NAME(int8_to_f32)(s, t);
    else if (s->residual.at)
        V_NAME(int8_to_sums)(s, t);
    else
        V_NAME(int8_to_bytes)(s, t);
}
#undef V_INT8_EACH
#undef V_INT8_SCALES
