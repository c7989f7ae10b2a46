/* The body of resize_eval.c for one type: T, and NAME(x) that appends the type's name. */

/* One axis of x[outer, in, inner]: every output is a weighted sum of a few inputs. */
typedef struct NAME(resize_pass) {
    const resize_taps *taps;
    int64_t in, out, inner;
    const T *x;
    T *y, outside;
} NAME(resize_pass);

static void NAME(resize_lines)(void *ctx, int64_t begin, int64_t end) {
    const NAME(resize_pass) *p = ctx;
    for (int64_t row = begin; row < end; row++) {
        int64_t o = row % p->out;
        const T *x = p->x + row / p->out * p->in * p->inner;
        T *restrict y = p->y + row * p->inner;
        const int64_t *at = p->taps->at + o * p->taps->n;
        for (int64_t i = 0; i < p->inner; i++)
            y[i] = at[0] < 0 ? p->outside : 0;
        for (int64_t t = 0; t < p->taps->n && at[0] >= 0; t++) {
            T w = (T)p->taps->weight[o * p->taps->n + t];
            const T *from = x + at[t] * p->inner;
            for (int64_t i = 0; w != 0 && i < p->inner; i++)
                y[i] += w * from[i];
        }
    }
}

/* Axis after axis, outermost first; the last one writes to y. */
static hone_status NAME(resize_weighted)(hn_eval *c, const resize_form *f, const T *x, int32_t rank,
                                         T *y) {
    int64_t outer = 1, inner = 1, left = 0;
    for (int32_t a = 0; a < rank; a++) {
        inner *= f->axes[a].in;
        left += f->axes[a].is_resized;
    }
    if (left == 0)
        memcpy(y, x, (size_t)inner * sizeof(T));
    for (int32_t a = 0; a < rank; a++) {
        const resize_axis *axis = &f->axes[a];
        inner /= axis->in;
        if (axis->is_resized) {
            resize_taps taps;
            T *to = --left == 0
                        ? y
                        : hn_eval_scratch_n(c, (uint64_t)(outer * axis->out * inner), sizeof(T));
            HN_TRY_PTR(to);
            HN_TRY(weigh_taps(c, f, axis, &taps));
            NAME(resize_pass) pass = {&taps, axis->in, axis->out, inner, x, to, (T)f->outside};
            hn_pool_for(hn_eval_pool(c), outer * axis->out, 16, NAME(resize_lines), &pass);
            x = to;
        }
        outer *= axis->out;
    }
    return HONE_OK;
}
