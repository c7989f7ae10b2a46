/* The body of resize_eval.c for one type: T, and NAME(x) that appends the type's name. */

/* One axis of x[outer, in, inner]: every output is a weighted sum of a few inputs. */
typedef struct NAME(resize_pass) {
    const resize_taps *taps; /* their places times `inner` */
    const T *weights;        /* of the taps */
    int64_t in, out, inner;
    const T *x;
    T *y, outside;
} NAME(resize_pass);

/* Lines begin .. end of neighbours along the axis itself. */
static void NAME(resize_lines)(void *ctx, int64_t begin, int64_t end) {
    const NAME(resize_pass) *p = ctx;
    int64_t n = p->taps->n;
    for (int64_t line = begin; line < end; line++) {
        const T *x = p->x + line * p->in, *w = p->weights;
        T *restrict y = p->y + line * p->out;
        const int64_t *at = p->taps->at;
        for (int64_t o = 0; o < p->out && n == 2 && !p->taps->has_outside; o++)
            y[o] = w[2 * o] * x[at[2 * o]] + w[2 * o + 1] * x[at[2 * o + 1]];
        for (int64_t o = 0; o < p->out && (n != 2 || p->taps->has_outside); o++, at += n, w += n) {
            T sum = at[0] < 0 ? p->outside : 0;
            for (int64_t t = 0; t < n && at[0] >= 0; t++)
                sum += w[t] * x[at[t]];
            y[o] = sum;
        }
    }
}

/* Whole rows of `inner` elements: outputs begin .. end, counted over all axes up to this one. */
static void NAME(resize_rows)(void *ctx, int64_t begin, int64_t end) {
    const NAME(resize_pass) *p = ctx;
    for (int64_t row = begin; row < end; row++) {
        int64_t tap = row % p->out * p->taps->n;
        const T *x = p->x + row / p->out * p->in * p->inner;
        T *y = p->y + row * p->inner;
        if (p->taps->at[tap] >= 0)
            NAME(weigh_rows)(p->inner, p->taps->n, x, p->taps->at + tap, p->weights + tap, y);
        else
            for (int64_t i = 0; i < p->inner; i++)
                y[i] = p->outside;
    }
}

static hone_status NAME(resize_axis_of)(hn_eval *c, const resize_form *f, const resize_axis *axis,
                                        int64_t outer, int64_t inner, const T *x, T *y) {
    resize_taps taps;
    HN_TRY(weigh_taps(c, f, axis, inner, &taps));
    int64_t n = axis->out * taps.n;
    T *weights = hn_eval_scratch_n(c, (uint64_t)n, sizeof(T));
    HN_TRY_PTR(weights);
    for (int64_t i = 0; i < n; i++)
        weights[i] = (T)taps.weight[i];
    NAME(resize_pass) pass = {&taps, weights, axis->in, axis->out, inner, x, y, (T)f->outside};
    bool is_line = inner == 1;
    hn_pool_for(hn_eval_pool(c), is_line ? outer : outer * axis->out,
                HN_MAX(1, RESIZE_GRAIN / (is_line ? axis->out : inner)),
                is_line ? NAME(resize_lines) : NAME(resize_rows), &pass);
    return HONE_OK;
}

/* Axis after axis, innermost first, because that costs most per element; the last one writes to y.
 */
static hone_status NAME(resize_weighted)(hn_eval *c, const resize_form *f, const T *x, int32_t rank,
                                         T *y) {
    int64_t outer = 1, inner = 1, left = 0;
    for (int32_t a = 0; a < rank; a++) {
        outer *= f->axes[a].in;
        left += f->axes[a].is_resized;
    }
    if (left == 0)
        memcpy(y, x, (size_t)outer * sizeof(T));
    for (int32_t a = rank - 1; a >= 0; a--) {
        const resize_axis *axis = &f->axes[a];
        outer /= axis->in;
        if (axis->is_resized) {
            uint64_t room = (uint64_t)(outer * axis->out * inner);
            T *to = --left == 0 ? y : hn_eval_scratch_n(c, room, sizeof(T));
            HN_TRY_PTR(to);
            HN_TRY(NAME(resize_axis_of)(c, f, axis, outer, inner, x, to));
            x = to;
        }
        inner *= axis->out;
    }
    return HONE_OK;
}
