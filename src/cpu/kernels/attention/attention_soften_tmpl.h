/* The loops of attention_int.h for one width. Queries lie side by side, so the largest score and
 * the sum of a query are found without sums across a vector. Scores count powers of 2, which saves
 * each exponential a third of its work. */

/* 2^n * 2^r with n whole and |r| <= 1/2; for scores below the largest, so never above 1. */
V_INLINE V V_NAME(vec_power)(V x) {
    V c = V_MAX(V_SET1(-150.0f), x);
    V n = V_ROUND(c), r = V_SUB(c, n);
    V p = V_FMA(V_SET1(0.00132647273f), r, V_SET1(0.00967151299f));
    p = V_FMA(p, r, V_SET1(0.0555073358f));
    p = V_FMA(p, r, V_SET1(0.240222424f));
    p = V_FMA(p, r, V_SET1(0.693147004f));
    p = V_FMA(p, r, V_SET1(1.0f));
    return V_SCALE(p, n);
}

/* Masks are in units of e. One that is finite stays so, -infinity hides the key, NaN stays. */
V_INLINE V V_NAME(add_mask)(V x, V more) {
    V kept = V_MAX(V_SET1(-FLT_MAX / HN_BITS_PER_E), more);
    return V_IF_LESS(more, V_SET1(-FLT_MAX), more, V_FMA(kept, V_SET1(HN_BITS_PER_E), x));
}

/* What is done to scores before the softmax; for queries from column c on. Returns their largest
 * ones. The flags are constants wherever this is called, and say what the block has. */
V_INLINE V V_NAME(judge_column)(const hn_score_block_f32 *s, int64_t c, V most, bool has_mask,
                                bool has_edge, bool has_more) {
    float numbers[V_ELEMS];
    for (int i = 0; i < V_ELEMS; i++)
        numbers[i] = (float)(c + i);
    V column = V_LOAD(numbers), unseen = V_SET1(s->unseen), cap = V_SET1(s->softcap);
    V least = V_SET1((float)-s->to), last = V_SET1((float)-s->from), one = V_SET1(1.0f);
    for (int64_t k = 0; k < s->n_keys; k++) {
        float *at = s->scores + k * s->width + c;
        V x = V_LOAD(at);
        if (has_more && s->softcap > 0)
            x = V_MUL(cap, V_NAME(vec_tanh)(V_DIV(x, cap)));
        if (has_mask)
            x = V_NAME(add_mask)(x, V_LOAD(s->mask + k * s->mask_row + c));
        if (has_more && s->key_mask)
            x = V_NAME(add_mask)(x, V_BROADCAST(s->key_mask + k));
        if (has_edge) {
            x = V_IF_LESS(column, least, unseen, x);
            x = V_IF_LESS(last, column, unseen, x);
            least = V_ADD(least, one);
            last = V_ADD(last, one);
        }
        V_STORE(at, x);
        most = V_MAX(x, most);
    }
    return most;
}

static V_TARGET V V_NAME(judge_block)(const hn_score_block_f32 *s, int64_t c, V most) {
    if (s->softcap > 0 || s->key_mask)
        return s->mask ? V_NAME(judge_column)(s, c, most, true, true, true)
                       : V_NAME(judge_column)(s, c, most, false, true, true);
    if (!s->mask)
        return V_NAME(judge_column)(s, c, most, false, true, false);
    return s->has_edge ? V_NAME(judge_column)(s, c, most, true, true, false)
                       : V_NAME(judge_column)(s, c, most, true, false, false);
}

/* Four at a time: one alone would wait for itself. */
static V_TARGET V V_NAME(largest_of_column)(const hn_score_block_f32 *s, int64_t c, V most) {
    const float *at = s->scores + c;
    V m1 = most, m2 = most, m3 = most;
    int64_t k = 0;
    for (; k + 4 <= s->n_keys; k += 4, at += 4 * s->width) {
        most = V_MAX(V_LOAD(at), most);
        m1 = V_MAX(V_LOAD(at + s->width), m1);
        m2 = V_MAX(V_LOAD(at + 2 * s->width), m2);
        m3 = V_MAX(V_LOAD(at + 3 * s->width), m3);
    }
    for (; k < s->n_keys; k++, at += s->width)
        most = V_MAX(V_LOAD(at), most);
    return V_MAX(V_MAX(most, m1), V_MAX(m2, m3));
}

static V_TARGET void V_NAME(soften)(const hn_score_block_f32 *s) {
    bool is_plain = !s->mask && !s->key_mask && !s->has_edge && !(s->softcap > 0);
    for (int64_t c = 0; c < s->width; c += V_ELEMS) {
        V before = V_LOAD(s->most + c);
        V most =
            is_plain ? V_NAME(largest_of_column)(s, c, before) : V_NAME(judge_block)(s, c, before);
        /* Where nothing was seen yet, any finite number keeps powers at zero. */
        V from = V_IF_LESS(most, V_SET1(-FLT_MAX), V_ZERO(), most), sum = V_ZERO();
        float *at = s->scores + c;
        for (int64_t k = 0; k < s->n_keys; k++, at += s->width) {
            V e = V_NAME(vec_power)(V_SUB(V_LOAD(at), from));
            V_STORE(at, e);
            sum = V_ADD(sum, e);
        }
        V decay = V_NAME(vec_power)(V_SUB(before, from));
        V_STORE(s->decay + c, decay);
        V_STORE(s->sum + c, V_FMA(V_LOAD(s->sum + c), decay, sum));
        V_STORE(s->most + c, most);
    }
}

static V_TARGET void V_NAME(multiply_by)(int64_t n, float *y, float by) {
    int64_t i = 0;
    for (; i + V_ELEMS <= n; i += V_ELEMS)
        V_STORE(y + i, V_MUL(V_LOAD(y + i), V_SET1(by)));
    for (; i < n; i++)
        y[i] *= by;
}

static V_TARGET void V_NAME(gather_rows)(int64_t n_rows, int64_t n_cols, const float *x,
                                         int64_t x_row, float *y, int64_t y_row) {
    for (int64_t c = 0; c < n_cols; c += V_ELEMS) {
        int64_t n = HN_MIN(n_cols - c, (int64_t)V_ELEMS);
        V_SOME some = V_FIRST(n);
        for (int64_t r = 0; r < n_rows; r++)
            V_STORE(y + r * y_row + c, n == V_ELEMS ? V_LOAD(x + r * x_row + c)
                                                    : V_LOAD_SOME(x + r * x_row + c, some));
    }
}

static V_TARGET void V_NAME(dot_rows)(int64_t n_rows, int64_t n, const float *rows, int64_t row,
                                      const float *by, float *out, int64_t step) {
    for (int64_t r = 0; r < n_rows; r++, rows += row) {
        V s0 = V_ZERO(), s1 = V_ZERO();
        int64_t i = 0;
        for (; i + 2 * V_ELEMS <= n; i += 2 * V_ELEMS) {
            s0 = V_FMA(V_LOAD(rows + i), V_LOAD(by + i), s0);
            s1 = V_FMA(V_LOAD(rows + i + V_ELEMS), V_LOAD(by + i + V_ELEMS), s1);
        }
        for (; i < n; i += V_ELEMS) {
            V_SOME some = V_FIRST(HN_MIN(n - i, (int64_t)V_ELEMS));
            s0 = V_FMA(V_LOAD_SOME(rows + i, some), V_LOAD_SOME(by + i, some), s0);
        }
        out[r * step] = V_SUM(V_ADD(s0, s1));
    }
}

const hn_attention_loops_f32 V_NAME(hn_attention_loops_f32) = {.soften = V_NAME(soften),
                                                               .multiply = V_NAME(multiply_by),
                                                               .dots = V_NAME(dot_rows),
                                                               .gather = V_NAME(gather_rows)};
