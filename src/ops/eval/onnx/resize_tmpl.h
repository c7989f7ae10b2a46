/* The body of resize_eval.c for one type: T, and NAME(x) that appends the type's name. */

/* One axis of x[outer, in, inner]: every output is a weighted sum of a few inputs. */
typedef struct NAME(resize_pass) {
    resize_taps taps; /* their places times `inner` */
    const T *weights; /* of the taps */
    int64_t in, out, inner;
    T outside;
    int64_t n, grain; /* lines, or rows */
    uint64_t to;      /* where the result lies in scratch; of the last pass it is the result */
} NAME(resize_pass);

/* Axis after axis, innermost first, because that costs most per element. */
typedef struct NAME(resize_plan) {
    int32_t n_passes;
    NAME(resize_pass) * passes;
    uint64_t n_elems; /* of x */
    uint64_t room;    /* elements of scratch */
} NAME(resize_plan);

typedef struct NAME(resize_run) {
    const NAME(resize_pass) * pass;
    const T *x;
    T *y;
} NAME(resize_run);

/* Lines begin .. end of neighbours along the axis itself. */
static void NAME(resize_lines)(void *ctx, int64_t begin, int64_t end) {
    const NAME(resize_run) *r = ctx;
    const NAME(resize_pass) *p = r->pass;
    int64_t n = p->taps.n;
    for (int64_t line = begin; line < end; line++) {
        const T *x = r->x + line * p->in, *w = p->weights;
        T *restrict y = r->y + line * p->out;
        const int64_t *at = p->taps.at;
        for (int64_t o = 0; o < p->out && n == 2 && !p->taps.has_outside; o++)
            y[o] = w[2 * o] * x[at[2 * o]] + w[2 * o + 1] * x[at[2 * o + 1]];
        for (int64_t o = 0; o < p->out && (n != 2 || p->taps.has_outside); o++, at += n, w += n) {
            T sum = at[0] < 0 ? p->outside : 0;
            for (int64_t t = 0; t < n && at[0] >= 0; t++)
                sum += w[t] * x[at[t]];
            y[o] = sum;
        }
    }
}

/* Whole rows of `inner` elements: outputs begin .. end, counted over all axes up to this one. */
static void NAME(resize_rows)(void *ctx, int64_t begin, int64_t end) {
    const NAME(resize_run) *r = ctx;
    const NAME(resize_pass) *p = r->pass;
    for (int64_t row = begin; row < end; row++) {
        int64_t tap = row % p->out * p->taps.n;
        const T *x = r->x + row / p->out * p->in * p->inner;
        T *y = r->y + row * p->inner;
        if (p->taps.at[tap] >= 0)
            NAME(weigh_rows)(p->inner, p->taps.n, x, p->taps.at + tap, p->weights + tap, y);
        else
            for (int64_t i = 0; i < p->inner; i++)
                y[i] = p->outside;
    }
}

static hone_status NAME(plan_resize_pass)(hn_eval *c, const resize_form *f, const resize_axis *axis,
                                          int64_t outer, int64_t inner, NAME(resize_pass) * p) {
    *p = (NAME(resize_pass)){
        .in = axis->in, .out = axis->out, .inner = inner, .outside = (T)f->outside};
    HN_TRY(weigh_taps(c, f, axis, inner, &p->taps));
    int64_t n = axis->out * p->taps.n;
    T *weights = hn_eval_scratch_n(c, (uint64_t)n, sizeof(T));
    HN_TRY_PTR(weights);
    for (int64_t i = 0; i < n; i++)
        weights[i] = (T)p->taps.weight[i];
    p->weights = weights;
    p->n = inner == 1 ? outer : outer * axis->out;
    p->grain = HN_MAX(1, RESIZE_GRAIN / (inner == 1 ? axis->out : inner));
    return HONE_OK;
}

static hone_status NAME(plan_resize)(hn_eval *c, const resize_form *f, int32_t rank,
                                     NAME(resize_plan) * plan) {
    int64_t outer = 1, inner = 1;
    *plan = (NAME(resize_plan)){.passes =
                                    hn_eval_scratch_n(c, (uint64_t)rank + 1, sizeof *plan->passes)};
    HN_TRY_PTR(plan->passes);
    for (int32_t a = 0; a < rank; a++)
        outer *= f->axes[a].in;
    plan->n_elems = (uint64_t)outer;
    for (int32_t a = rank - 1; a >= 0; a--) {
        const resize_axis *axis = &f->axes[a];
        outer /= axis->in;
        if (axis->is_resized) {
            NAME(resize_pass) *p = &plan->passes[plan->n_passes++];
            HN_TRY(NAME(plan_resize_pass)(c, f, axis, outer, inner, p));
            p->to = plan->room;
            plan->room += (uint64_t)(outer * axis->out * inner);
        }
        inner *= axis->out;
    }
    if (plan->n_passes > 0)
        plan->room = plan->passes[plan->n_passes - 1].to;
    return HONE_OK;
}

static void NAME(run_resize)(const NAME(resize_plan) * plan, hn_pool *pool, const T *x, T *y,
                             T *scratch) {
    if (plan->n_passes == 0)
        memcpy(y, x, (size_t)plan->n_elems * sizeof(T));
    for (int32_t i = 0; i < plan->n_passes; i++) {
        const NAME(resize_pass) *p = &plan->passes[i];
        NAME(resize_run) r = {p, x, i == plan->n_passes - 1 ? y : scratch + p->to};
        hn_pool_for(pool, p->n, p->grain, p->inner == 1 ? NAME(resize_lines) : NAME(resize_rows),
                    &r);
        x = r.y;
    }
}

static hone_status NAME(resize_weighted)(hn_eval *c, const resize_form *f, const T *x, int32_t rank,
                                         T *y) {
    NAME(resize_plan) plan;
    HN_TRY(NAME(plan_resize)(c, f, rank, &plan));
    T *scratch = hn_eval_scratch_n(c, plan.room, sizeof(T));
    HN_TRY_PTR(scratch);
    NAME(run_resize)(&plan, hn_eval_pool(c), x, y, scratch);
    return HONE_OK;
}
