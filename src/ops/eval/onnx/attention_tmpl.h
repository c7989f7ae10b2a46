/* The body of attention_eval.c for one type: T, and NAME(x) that appends the type's name. */

typedef struct NAME(attention_arrays) {
    const T *q;
    T *k, *v, *y; /* k, v: past and new ones together, [batch, heads, total, size] */
    T *scores;    /* [ATTENTION_ROWS, total] */
} NAME(attention_arrays);

/* One head of one batch element, and which of its rows are at work. */
typedef struct NAME(attention_rows) {
    const hn_attention_form *f;
    int64_t batch, head, first;
    T *scores;
    hn_array *qk; /* may be NULL */
} NAME(attention_rows);

static void NAME(attention_show)(const NAME(attention_rows) * r, int mode, int64_t row,
                                 const T *scores) {
    const hn_attention_form *f = r->f;
    if (!r->qk || f->qk_mode != mode)
        return;
    int64_t at = ((r->batch * f->q_heads + r->head) * f->q_len + r->first + row) * f->total;
    NAME(hn_store)(r->qk, (uint64_t)at, (uint64_t)f->total, scores);
}

/* Softmax of a row. A row whose keys are all masked becomes zeros. */
static void NAME(attention_softmax)(int64_t n, T *s) {
    T top = (T)-HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < n; j++)
        top = s[j] > top ? s[j] : top;
    if (top == (T)-HUGE_VAL)
        top = 0;
    for (int64_t j = 0; j < n; j++) {
        s[j] = (T)HN_EXP(s[j] - top);
        sum += s[j];
    }
    for (int64_t j = 0; j < n && sum != 0; j++)
        s[j] /= sum;
}

static void NAME(attention_weigh)(void *ctx, int64_t begin, int64_t end) {
    const NAME(attention_rows) *r = ctx;
    const hn_attention_form *f = r->f;
    for (int64_t row = begin; row < end; row++) {
        T *s = r->scores + row * f->total;
        for (int64_t j = 0; j < f->total; j++)
            s[j] *= (T)f->scale;
        NAME(attention_show)(r, 0, row, s);
        for (int64_t j = 0; j < f->total && f->softcap > 0; j++)
            s[j] = (T)(f->softcap * tanh((double)s[j] / f->softcap));
        NAME(attention_show)(r, 1, row, s);
        for (int64_t j = 0; j < f->total; j++) {
            T bias = (T)attention_bias(f, r->batch, r->head, r->first + row, j);
            s[j] = bias == (T)-HUGE_VAL ? bias : s[j] + bias;
        }
        NAME(attention_show)(r, 2, row, s);
        NAME(attention_softmax)(f->total, s);
        NAME(attention_show)(r, 3, row, s);
    }
}

static void NAME(attention_head)(hn_eval *c, const hn_attention_form *f,
                                 const NAME(attention_arrays) * a, int64_t batch, int64_t head) {
    int64_t kv = batch * f->kv_heads + head / (f->q_heads / f->kv_heads);
    const T *k = a->k + kv * f->total * f->head_size, *v = a->v + kv * f->total * f->v_size;
    for (int64_t first = 0; first < f->q_len; first += ATTENTION_ROWS) {
        int64_t n = HN_MIN(ATTENTION_ROWS, f->q_len - first);
        NAME(attention_rows) rows = {f, batch, head, first, a->scores, hn_ret(c, 3)};
        NAME(hn_gemm)
        (hn_eval_pool(c),
         &(NAME(hn_gemm_job)){.m = n,
                              .n = f->total,
                              .k = f->head_size,
                              .a = a->q + attention_at(f, f->head_size, batch, head, first),
                              .a_row = attention_row(f, f->head_size),
                              .a_col = 1,
                              .b = k,
                              .b_row = 1,
                              .b_col = f->head_size,
                              .c = a->scores,
                              .c_row = f->total});
        hn_pool_for(hn_eval_pool(c), n, 16, NAME(attention_weigh), &rows);
        if (a->y)
            NAME(hn_gemm)
        (hn_eval_pool(c),
         &(NAME(hn_gemm_job)){.m = n,
                              .n = f->v_size,
                              .k = f->total,
                              .a = a->scores,
                              .a_row = f->total,
                              .a_col = 1,
                              .b = v,
                              .b_row = f->v_size,
                              .b_col = 1,
                              .c = a->y + attention_at(f, f->v_size, batch, head, first),
                              .c_row = attention_row(f, f->v_size)});
    }
}

void NAME(hn_attention_join_rows)(const hn_attention_form *f, const T *past, const T *fresh,
                                  int64_t size, T *all) {
    int64_t n_past = f->past_len * size, n_fresh = f->kv_len * size;
    for (int64_t i = 0; i < f->batch * f->kv_heads; i++) {
        int64_t batch = i / f->kv_heads, head = i % f->kv_heads;
        T *to = all + i * f->total * size;
        if (n_past > 0)
            memcpy(to, past + i * n_past, (size_t)n_past * sizeof(T));
        to += n_past;
        if (!f->is_packed && n_fresh > 0)
            memcpy(to, fresh + i * n_fresh, (size_t)n_fresh * sizeof(T));
        for (int64_t t = 0; f->is_packed && t < f->kv_len; t++)
            memcpy(to + t * size, fresh + ((batch * f->kv_len + t) * f->kv_heads + head) * size,
                   (size_t)size * sizeof(T));
    }
}

T *NAME(hn_attention_join)(hn_eval *c, const hn_attention_form *f, const hn_array *past,
                           const hn_array *fresh, int64_t size, hn_array *present) {
    uint64_t n_all = (uint64_t)(f->batch * f->kv_heads * f->total * size);
    T *all = present ? NAME(hn_buffer)(c, present) : hn_eval_scratch_n(c, n_all, sizeof(T));
    const T *before = past ? NAME(hn_wide)(c, past) : NULL, *behind = NAME(hn_wide)(c, fresh);
    if (!all || !behind || (past && !before))
        return NULL;
    NAME(hn_attention_join_rows)(f, before, behind, size, all);
    return all;
}

static hone_status NAME(attention_run)(hn_eval *c, const hn_attention_form *f) {
    hn_array *y = hn_ret(c, 0), *present_k = hn_ret(c, 1), *present_v = hn_ret(c, 2);
    NAME(attention_arrays)
    a = {.q = NAME(hn_wide)(c, hn_arg(c, 0)),
         .k = NAME(hn_attention_join)(c, f, hn_arg(c, 4), hn_arg(c, 1), f->head_size, present_k),
         .v = NAME(hn_attention_join)(c, f, hn_arg(c, 5), hn_arg(c, 2), f->v_size, present_v)};
    a.scores = hn_eval_scratch_n(c, (uint64_t)(ATTENTION_ROWS * f->total), sizeof(T));
    a.y = y ? NAME(hn_buffer)(c, y) : NULL;
    HN_TRY_PTR(a.q && a.k && a.v && a.scores && (!y || a.y));
    for (int64_t i = 0; i < f->batch * f->q_heads; i++) {
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        NAME(attention_head)(c, f, &a, i / f->q_heads, i % f->q_heads);
    }
    if (y)
        NAME(hn_narrow)(y, a.y);
    if (present_k)
        NAME(hn_narrow)(present_k, a.k);
    if (present_v)
        NAME(hn_narrow)(present_v, a.v);
    return HONE_OK;
}
