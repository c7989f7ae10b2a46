/* The body of conv_transpose_eval.c for one type: T, and NAME(x) that appends the type's name. */

/* Windows that are added into an image: row r of `columns` holds window element r of every position
 * j0 .. j0+nj. */
typedef struct NAME(scatter_job) {
    const hn_window *window; /* in: the image; out: the positions */
    const T *columns;
    int64_t column_stride, j0, nj;
    T *image; /* [channels, image] */
} NAME(scatter_job);

/* Adds a line of positions, the first of which is `at`, to the line of the image that a window
 * element reaches. */
static void NAME(scatter_line)(const hn_window *s, const int64_t *taps, const int64_t *at,
                               int64_t n, const T *from, T *image) {
    int32_t last = s->n_axes - 1;
    int64_t line = 0, begin, end, stride = s->stride[last];
    for (int32_t a = 0; a < last; a++) {
        int64_t i = at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
        if (i < 0 || i >= s->in[a])
            return;
        line = line * s->in[a] + i;
    }
    hn_window_inside(s, last, taps[last], &begin, &end);
    begin = HN_MAX(begin, at[last]);
    end = HN_MIN(end, at[last] + n);
    int64_t to = line * s->in[last] - s->pad[last] + taps[last] * s->dilation[last];
    for (int64_t o = begin; o < end; o++)
        image[to + o * stride] += from[o - at[last]];
}

static void NAME(scatter_channels)(void *ctx, int64_t begin, int64_t end) {
    const NAME(scatter_job) *job = ctx;
    const hn_window *s = job->window;
    int32_t last = s->n_axes - 1;
    int64_t taps[HN_MAX_SPATIAL], at[HN_MAX_SPATIAL];
    for (int64_t row = begin * s->kernel_elems;
         row < end * s->kernel_elems && !hn_spent((uint64_t)job->nj); row++) {
        const T *from = job->columns + row * job->column_stride;
        hn_window_split(s->n_axes, s->kernel, row % s->kernel_elems, taps);
        hn_window_split(s->n_axes, s->out, job->j0, at);
        for (int64_t j = 0, n; j < job->nj; j += n) {
            n = HN_MIN(job->nj - j, s->out[last] - at[last]);
            NAME(scatter_line)
            (s, taps, at, n, from + j, job->image + row / s->kernel_elems * s->in_elems);
            at[last] = 0;
            hn_window_step(last, s->out, at);
        }
    }
}

/* Positions whose columns are made at a time. */
static int64_t NAME(transpose_piece)(int64_t rows, int64_t positions) {
    const int64_t most_elems = 1 << 20;
    return HN_MAX(HN_MIN(positions, most_elems / HN_MAX(rows, 1)), HN_MIN(positions, 64));
}

/* x[channels, positions] of one group, filters w[channels, rows] with rows = filters * kernel. */
static hone_status NAME(transpose_group)(hn_eval *c, const hn_window *s, int64_t channels,
                                         int64_t filters, const T *x, const T *w, T *columns,
                                         T *y) {
    int64_t rows = filters * s->kernel_elems, piece = NAME(transpose_piece)(rows, s->out_elems);
    for (int64_t j0 = 0; j0 < s->out_elems; j0 += piece) {
        int64_t nj = HN_MIN(piece, s->out_elems - j0);
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        NAME(hn_gemm)
        (hn_eval_pool(c), &(NAME(hn_gemm_job)){.m = rows,
                                               .n = nj,
                                               .k = channels,
                                               .a = w,
                                               .a_row = 1,
                                               .a_col = rows,
                                               .b = x + j0,
                                               .b_row = s->out_elems,
                                               .b_col = 1,
                                               .c = columns,
                                               .c_row = nj});
        NAME(scatter_job) job = {s, columns, nj, j0, nj, y};
        hn_pool_for(hn_eval_pool(c), filters, 1, NAME(scatter_channels), &job);
    }
    return HONE_OK;
}

static hone_status NAME(transpose_all)(hn_eval *c, const hn_window *s, const T *x, const T *w,
                                       const T *bias, T *y) {
    const hn_array *shape = hn_arg(c, 0);
    int64_t groups = hn_attr_i(hn_eval_node(c), "group", 1), filters = hn_arg(c, 1)->dims[1];
    int64_t channels = shape->dims[1] / groups, rows = filters * s->kernel_elems;
    T *columns = hn_eval_scratch_n(c, (uint64_t)(rows * NAME(transpose_piece)(rows, s->out_elems)),
                                   sizeof(T));
    HN_TRY_PTR(columns);
    for (int64_t i = 0; i < shape->dims[0] * groups; i++) {
        int64_t group = i % groups;
        T *image = y + i * filters * s->in_elems;
        for (int64_t f = 0; f < filters; f++)
            for (int64_t p = 0; p < s->in_elems; p++)
                image[f * s->in_elems + p] = bias ? bias[group * filters + f] : 0;
        HN_TRY(NAME(transpose_group)(c, s, channels, filters, x + i * channels * s->out_elems,
                                     w + group * channels * rows, columns, image));
    }
    return HONE_OK;
}

static void NAME(col2im_all)(hn_eval *c, const hn_window *s, const T *columns, T *y) {
    const hn_array *x = hn_arg(c, 0), *image = hn_ret(c, 0);
    int64_t images = image->dims[0], channels = image->dims[1];
    memset(y, 0, image->n_elems * sizeof(T));
    for (int64_t i = 0; i < images && channels > 0 && s->in_elems > 0; i++) {
        NAME(scatter_job)
        job = {s,
               columns + i * x->dims[1] * x->dims[2],
               x->dims[2],
               0,
               s->out_elems,
               y + i * channels * s->in_elems};
        hn_pool_for(hn_eval_pool(c), channels, 1, NAME(scatter_channels), &job);
    }
}
