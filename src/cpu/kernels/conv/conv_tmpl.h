/* The body of conv_ref.c for one type: T, and NAME(x) that appends the type's name.
 *
 * A convolution is the product of the filters with a matrix that has one row per channel and window
 * element, and one column per output position; that matrix is never stored, the product asks for
 * the pieces it needs. One channel per filter makes such a matrix too thin: that case runs over the
 * windows directly. */

/* Part of one row of the matrix: n outputs along the innermost axis, starting at `first`. `line` is
 * the input line, NULL when it lies in the padding. */
static void NAME(conv_line)(const hn_window *s, const T *line, int64_t tap, int64_t first,
                            int64_t n, T *out) {
    int32_t last = s->n_axes - 1;
    int64_t begin, end, stride = s->stride[last];
    hn_window_inside(s, last, tap, &begin, &end);
    begin = line ? HN_MIN(HN_MAX(begin - first, 0), n) : n;
    end = HN_MAX(HN_MIN(end - first, n), begin);
    for (int64_t j = 0; j < begin; j++)
        out[j] = 0;
    if (begin < end) {
        const T *from = line + (first + begin) * stride - s->pad[last] + tap * s->dilation[last];
        for (int64_t j = begin; j < end; j++, from += stride)
            out[j] = *from;
    }
    for (int64_t j = end; j < n; j++)
        out[j] = 0;
}

/* Input line that window element `taps` reads for the output line `at`; NULL in the padding. */
static const T *NAME(conv_input_line)(const hn_window *s, const T *plane, const int64_t *taps,
                                      const int64_t *at) {
    int64_t line = hn_window_line(s, taps, at);
    return line < 0 ? NULL : plane + line;
}

void NAME(hn_conv_fill)(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, T *out,
                        int64_t out_stride) {
    const NAME(hn_conv_columns) *m = ctx;
    const hn_window *s = m->window;
    int32_t last = s->n_axes - 1;
    int64_t taps[HN_MAX_SPATIAL], at[HN_MAX_SPATIAL];
    for (int64_t k = 0; k < nk; k++) {
        const T *plane = m->x + (k0 + k) / s->kernel_elems * s->in_elems;
        hn_window_split(s->n_axes, s->kernel, (k0 + k) % s->kernel_elems, taps);
        hn_window_split(s->n_axes, s->out, j0, at);
        for (int64_t j = 0; j < nj;) {
            int64_t n = HN_MIN(nj - j, s->out[last] - at[last]);
            NAME(conv_line)
            (s, NAME(conv_input_line)(s, plane, taps, at), taps[last], at[last], n,
             out + k * out_stride + j);
            j += n;
            at[last] = 0;
            hn_window_step(last, s->out, at);
        }
    }
}

/* ---- one channel per filter ---- */

/* y[o] += w * line[...] for every output of the line whose window element lies inside. */
static void NAME(conv_add_line)(const hn_window *s, const T *line, int64_t tap, T w, T *y) {
    int32_t last = s->n_axes - 1;
    int64_t begin, end, stride = s->stride[last];
    hn_window_inside(s, last, tap, &begin, &end);
    if (begin >= end)
        return;
    const T *from = line + begin * stride - s->pad[last] + tap * s->dilation[last];
    if (stride == 1) {
        for (; begin + CONV_UNROLL <= end; begin += CONV_UNROLL, from += CONV_UNROLL)
            for (int j = 0; j < CONV_UNROLL; j++)
                y[begin + j] += w * from[j];
    }
    for (; begin < end; begin++, from += stride)
        y[begin] += w * *from;
}

static void NAME(conv_plane)(const hn_pool *pool, const hn_window *s, const T *x, const T *w,
                             T bias, T *y) {
    int32_t last = s->n_axes - 1;
    int64_t at[HN_MAX_SPATIAL] = {0}, width = s->out[last], unwatched = 0;
    for (int64_t i = 0; i < s->out_elems; i++)
        y[i] = bias;
    for (int64_t line = 0; line * width < s->out_elems; line++, hn_window_step(last, s->out, at)) {
        int64_t taps[HN_MAX_SPATIAL] = {0};
        for (int64_t k = 0; k < s->kernel_elems; k++, hn_window_step(s->n_axes, s->kernel, taps)) {
            const T *from = NAME(conv_input_line)(s, x, taps, at);
            unwatched += width;
            if (unwatched >= CONV_UNWATCHED && hn_pool_is_stopped(pool))
                return;
            unwatched %= CONV_UNWATCHED;
            if (from)
                NAME(conv_add_line)(s, from, taps[last], w[k], y + line * width);
        }
    }
}

/* A convolution under way. */
typedef struct NAME(conv_run) {
    NAME(hn_conv_job) job;
    const hn_pool *pool; /* says when to give up */
} NAME(conv_run);

static void NAME(conv_planes)(void *ctx, int64_t begin, int64_t end) {
    const NAME(conv_run) *run = ctx;
    const NAME(hn_conv_job) *job = &run->job;
    int64_t per_group = job->filters / job->groups;
    for (int64_t p = begin; p < end; p++) {
        int64_t image = p / job->filters, filter = p % job->filters;
        NAME(conv_plane)
        (run->pool, job->window,
         job->x + (image * job->channels + filter / per_group) * job->window->in_elems,
         job->w + filter * job->window->kernel_elems, job->bias ? job->bias[filter] : 0,
         job->y + p * job->window->out_elems);
    }
}

/* ---- the rest ---- */

static void NAME(conv_start)(const NAME(hn_conv_job) * job, int64_t filter, int64_t n, T *y) {
    for (int64_t f = 0; f < n; f++)
        for (int64_t i = 0; i < job->window->out_elems; i++)
            y[f * job->window->out_elems + i] = job->bias ? job->bias[filter + f] : 0;
}

void NAME(hn_conv_plain)(hn_pool *pool, const NAME(hn_conv_job) * job) {
    const hn_window *s = job->window;
    int64_t channels = job->channels / job->groups, filters = job->filters / job->groups;
    if (s->out_elems == 0 || job->batch == 0 || job->filters == 0)
        return;
    if (channels == 1) {
        NAME(conv_run) run = {*job, pool};
        hn_pool_for(pool, job->batch * job->filters, 1, NAME(conv_planes), &run);
        return;
    }
    for (int64_t i = 0; i < job->batch * job->groups && !hn_pool_is_stopped(pool); i++) {
        int64_t group = i % job->groups;
        NAME(hn_conv_columns) columns = {s, job->x + i * channels * s->in_elems, NULL};
        NAME(hn_gemm_job)
        g = {
            .m = filters,
            .n = s->out_elems,
            .k = channels * s->kernel_elems,
            .a = job->w + group * filters * channels * s->kernel_elems,
            .a_row = channels * s->kernel_elems,
            .a_col = 1,
            .fill = NAME(hn_conv_fill),
            .fill_ctx = &columns,
            .c = job->y + i * filters * s->out_elems,
            .c_row = s->out_elems,
            .add = true,
        };
        NAME(conv_start)(job, group * filters, filters, g.c);
        NAME(hn_gemm)(pool, &g);
    }
}
