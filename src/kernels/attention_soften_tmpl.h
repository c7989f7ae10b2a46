/* The loops of attention_int.h for one width. Queries lie side by side, so the largest score and
 * the sum of a query are found without sums across a vector. */

/* Scores of one vector of queries, from column c on, with all that is done to them before the
 * softmax. */
static inline V_TARGET V V_NAME(judge)(const hn_score_block_f32 *s, int64_t k, int64_t c, V x,
                                       V column) {
    if (s->softcap > 0) {
        V cap = V_SET1(s->softcap);
        x = V_MUL(cap, V_NAME(vec_tanh)(V_DIV(x, cap)));
    }
    V lowest = V_SET1(-FLT_MAX);
    if (s->mask) {
        V more = V_LOAD(s->mask + k * s->mask_row + c);
        x = V_IF_LESS(more, lowest, more, V_ADD(x, more));
    }
    if (s->key_mask) {
        V more = V_BROADCAST(s->key_mask + k);
        x = V_IF_LESS(more, lowest, more, V_ADD(x, more));
    }
    if (s->has_edge) {
        V unseen = V_SET1(s->unseen);
        x = V_IF_LESS(column, V_SET1((float)(k - s->to)), unseen, x);
        x = V_IF_LESS(V_SET1((float)(k - s->from)), column, unseen, x);
    }
    return x;
}

static V_TARGET V V_NAME(judge_column)(const hn_score_block_f32 *s, int64_t c, V most) {
    float numbers[V_ELEMS];
    for (int i = 0; i < V_ELEMS; i++)
        numbers[i] = (float)(c + i);
    V column = V_LOAD(numbers);
    for (int64_t k = 0; k < s->n_keys; k++) {
        float *at = s->scores + k * s->width + c;
        V x = V_NAME(judge)(s, k, c, V_LOAD(at), column);
        V_STORE(at, x);
        most = V_MAX(x, most);
    }
    return most;
}

static V_TARGET V V_NAME(largest_of_column)(const hn_score_block_f32 *s, int64_t c, V most) {
    for (int64_t k = 0; k < s->n_keys; k++)
        most = V_MAX(V_LOAD(s->scores + k * s->width + c), most);
    return most;
}

static V_TARGET void V_NAME(soften)(const hn_score_block_f32 *s) {
    bool is_plain = !s->mask && !s->key_mask && !s->has_edge && !(s->softcap > 0);
    for (int64_t c = 0; c < s->width; c += V_ELEMS) {
        V before = V_LOAD(s->most + c);
        V most =
            is_plain ? V_NAME(largest_of_column)(s, c, before) : V_NAME(judge_column)(s, c, before);
        /* Where nothing was seen yet, any finite number keeps exponentials at zero. */
        V from = V_IF_LESS(most, V_SET1(-FLT_MAX), V_ZERO(), most), sum = V_ZERO();
        for (int64_t k = 0; k < s->n_keys; k++) {
            float *at = s->scores + k * s->width + c;
            V e = V_NAME(vec_exp)(V_SUB(V_LOAD(at), from));
            V_STORE(at, e);
            sum = V_ADD(sum, e);
        }
        V decay = V_NAME(vec_exp)(V_SUB(before, from));
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

const hn_attention_loops_f32 V_NAME(hn_attention_loops_f32) = {.soften = V_NAME(soften),
                                                               .multiply = V_NAME(multiply_by)};
