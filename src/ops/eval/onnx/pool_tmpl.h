/* The body of pool_eval.c for one type: T, and NAME(x) that appends the type's name. */

typedef struct NAME(pool_job) {
    const hn_pool *pool;
    const hn_pooling *form;
    const T *x;
    T *y;
    int64_t *indices; /* of maxima; may be NULL */
} NAME(pool_job);

/* Sums, and maxima whose places nobody asks for: n outputs meet elements of a line, which compilers
 * turn into vectors. */
static void NAME(pool_plain_line)(hn_pooling_kind kind, int64_t n, const T *line, int64_t stride,
                                  T *y) {
#define EACH_OUTPUT(step, expr)     \
  HN_LANES_APART                    \
  for (int64_t o = 0; o < n; o++) { \
    T v = line[o * (step)];         \
    y[o] = (expr);                  \
  }
    if (kind == HN_POOL_MAX && stride == 1) {
        EACH_OUTPUT(1, v > y[o] || v != v ? v : y[o])
    } else if (kind == HN_POOL_MAX && stride == 2) {
        EACH_OUTPUT(2, v > y[o] || v != v ? v : y[o])
    } else if (kind == HN_POOL_MAX) {
        EACH_OUTPUT(stride, v > y[o] || v != v ? v : y[o])
    } else if (stride == 1) {
        EACH_OUTPUT(1, y[o] + v)
    } else if (stride == 2) {
        EACH_OUTPUT(2, y[o] + v)
    } else {
        EACH_OUTPUT(stride, y[o] + v)
    }
#undef EACH_OUTPUT
}

/* One window element meets all outputs of a line. `line` is NULL in the padding; `first` is the
 * flat index of line[0]. */
static void NAME(pool_line)(const hn_pooling *f, const T *line, int64_t first, int64_t tap, T *y,
                            int64_t *indices) {
    const hn_window *s = &f->window;
    int32_t last = s->n_axes - 1;
    int64_t begin, end, stride = s->stride[last];
    hn_window_inside(s, last, tap, &begin, &end);
    int64_t shift = tap * s->dilation[last] - s->pad[last];
    if (f->kind == HN_POOL_AVERAGE || (f->kind == HN_POOL_MAX && !indices)) {
        NAME(pool_plain_line)
        (f->kind, end - begin, line + begin * stride + shift, stride, y + begin);
        return;
    }
    switch (f->kind) {
    case HN_POOL_MAX:
        for (int64_t o = begin; o < end; o++) {
            T v = line[o * stride + shift];
            if (v > y[o] || v != v || indices[o] < 0) {
                y[o] = v;
                indices[o] = first + o * stride + shift;
            }
        }
        break;
    case HN_POOL_LP:
        for (int64_t o = begin; o < end; o++)
            y[o] += (T)pow_of(fabs((double)line[o * stride + shift]), f->p);
        break;
    default:
        break;
    }
}

/* All window elements over one output line, whose outer coordinates are `at`. False when the run
 * was stopped. */
static bool NAME(pool_windows)(const NAME(pool_job) * job, const T *plane, const int64_t *at, T *y,
                               int64_t *indices, int64_t *unwatched) {
    const hn_pooling *f = job->form;
    const hn_window *s = &f->window;
    int32_t last = s->n_axes - 1;
    int64_t taps[HN_MAX_SPATIAL] = {0};
    for (int64_t k = 0; k < s->kernel_elems; k++, hn_window_step(s->n_axes, s->kernel, taps)) {
        int64_t line = 0;
        bool inside = true;
        *unwatched += s->out[last];
        if (*unwatched >= POOL_UNWATCHED && hn_pool_is_stopped(job->pool))
            return false;
        *unwatched %= POOL_UNWATCHED;
        for (int32_t a = 0; a < last && inside; a++) {
            int64_t i = at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
            inside = i >= 0 && i < s->in[a];
            line = line * s->in[a] + i;
        }
        if (inside)
            NAME(pool_line)
        (f, plane + line * s->in[last], line * s->in[last], taps[last], y, indices);
    }
    return true;
}

static void NAME(pool_finish)(const hn_pooling *f, const int64_t *at, T *y) {
    int32_t last = f->window.n_axes - 1;
    double outer = 1;
    for (int32_t a = 0; a < last && f->kind == HN_POOL_AVERAGE; a++)
        outer *= (double)pool_count(f, a, at[a]);
    int64_t n = f->window.out[last], begin, end;
    if (f->kind == HN_POOL_AVERAGE) {
        pool_whole_windows(f, last, &begin, &end);
        double whole = outer * (double)f->window.kernel[last];
        for (int64_t o = 0; o < begin; o++)
            y[o] = (T)((double)y[o] / (outer * (double)pool_count(f, last, o)));
        for (int64_t o = end; o < n; o++)
            y[o] = (T)((double)y[o] / (outer * (double)pool_count(f, last, o)));
        for (int64_t o = begin; o < end; o++)
            y[o] /= (T)whole; /* rounds to the same number */
    }
    for (int64_t o = 0; o < n && f->kind == HN_POOL_LP; o++)
        y[o] = (T)pow_of((double)y[o], 1 / f->p);
}

static void NAME(pool_planes)(void *ctx, int64_t begin, int64_t end) {
    const NAME(pool_job) *job = ctx;
    const hn_pooling *f = job->form;
    const hn_window *s = &f->window;
    int32_t last = s->n_axes - 1;
    int64_t width = s->out[last], unwatched = 0;
    for (int64_t p = begin; p < end; p++) {
        int64_t at[HN_MAX_SPATIAL] = {0};
        for (int64_t line = 0; line * width < s->out_elems;
             line++, hn_window_step(last, s->out, at)) {
            T *y = job->y + p * s->out_elems + line * width;
            int64_t *indices = job->indices ? job->indices + p * s->out_elems + line * width : NULL;
            for (int64_t o = 0; o < width; o++) {
                y[o] = f->kind == HN_POOL_MAX ? (T)f->lowest : 0;
                if (indices)
                    indices[o] = -1;
            }
            if (!NAME(pool_windows)(job, job->x + p * s->in_elems, at, y, indices, &unwatched))
                return;
            NAME(pool_finish)(f, at, y);
            for (int64_t o = 0; indices && o < width; o++)
                indices[o] = pool_index(f, p, indices[o]);
        }
    }
}

static void NAME(pool_all_planes)(hn_pool *pool, const hn_pooling *f, int64_t n_planes, const T *x,
                                  T *y, int64_t *indices) {
    NAME(pool_job) job = {pool, f, x, y, indices};
    if (f->window.out_elems > 0)
        hn_pool_for(pool, n_planes, 1, NAME(pool_planes), &job);
}
