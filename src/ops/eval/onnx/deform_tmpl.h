/* The body of deform_eval.c for one type: T, and NAME(x) that appends the type's name. */

/* One image and one group of filters; `first` is its first channel. */
typedef struct NAME(deform_columns) {
    const hn_window *window;
    int64_t first, channels_per_offset;
    const T *x, *offsets, *mask; /* of the image; mask may be NULL */
} NAME(deform_columns);

/* Between the four neighbours; what lies outside is 0. */
static T NAME(deform_sample)(const hn_window *s, const T *plane, T y, T x) {
    if (!(y > -1 && x > -1 && y < (T)s->in[0] && x < (T)s->in[1]))
        return 0;
    int64_t y0 = (int64_t)floor((double)y), x0 = (int64_t)floor((double)x);
    T fy = y - (T)y0, fx = x - (T)x0, sum = 0;
    for (int dy = 0; dy < 2; dy++)
        for (int dx = 0; dx < 2; dx++) {
            int64_t py = y0 + dy, px = x0 + dx;
            if (py >= 0 && px >= 0 && py < s->in[0] && px < s->in[1])
                sum += plane[py * s->in[1] + px] * (dy ? fy : 1 - fy) * (dx ? fx : 1 - fx);
        }
    return sum;
}

static void NAME(deform_fill)(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj,
                              T *out, int64_t out_stride) {
    const NAME(deform_columns) *m = ctx;
    const hn_window *s = m->window;
    for (int64_t k = k0; k < k0 + nk; k++) {
        int64_t channel = m->first + k / s->kernel_elems, tap = k % s->kernel_elems;
        int64_t field = channel / m->channels_per_offset * s->kernel_elems +
                        tap; /* which pair of offsets, which mask */
        const T *dy = m->offsets + 2 * field * s->out_elems, *dx = dy + s->out_elems;
        const T *plane = m->x + channel * s->in_elems;
        for (int64_t j = j0; j < j0 + nj; j++) {
            int64_t row =
                j / s->out[1] * s->stride[0] - s->pad[0] + tap / s->kernel[1] * s->dilation[0];
            int64_t col =
                j % s->out[1] * s->stride[1] - s->pad[1] + tap % s->kernel[1] * s->dilation[1];
            T v = NAME(deform_sample)(s, plane, (T)row + dy[j], (T)col + dx[j]);
            out[(k - k0) * out_stride + j - j0] =
                m->mask ? v * m->mask[field * s->out_elems + j] : v;
        }
    }
}

static void NAME(deform_all)(hn_eval *c, const hn_window *s, const T *x, const T *w,
                             const T *offsets, const T *bias, const T *mask, T *y) {
    const hn_infer *node = hn_eval_node(c);
    const int64_t *dims = hn_arg(c, 0)->dims;
    int64_t groups = hn_attr_i(node, "group", 1),
            offset_groups = hn_attr_i(node, "offset_group", 1);
    int64_t filters = hn_arg(c, 1)->dims[0] / groups, channels = dims[1] / groups,
            fields = offset_groups * s->kernel_elems;
    for (int64_t i = 0; i < dims[0] * groups; i++) {
        int64_t image = i / groups, group = i % groups;
        T *to = y + i * filters * s->out_elems;
        NAME(deform_columns)
        m = {s,
             group * channels,
             dims[1] / offset_groups,
             x + image * dims[1] * s->in_elems,
             offsets + image * 2 * fields * s->out_elems,
             mask ? mask + image * fields * s->out_elems : NULL};
        for (int64_t f = 0; f < filters; f++)
            for (int64_t j = 0; j < s->out_elems; j++)
                to[f * s->out_elems + j] = bias ? bias[group * filters + f] : 0;
        NAME(hn_gemm)
        (hn_eval_pool(c),
         &(NAME(hn_gemm_job)){.m = filters,
                              .n = s->out_elems,
                              .k = channels * s->kernel_elems,
                              .a = w + group * filters * channels * s->kernel_elems,
                              .a_row = channels * s->kernel_elems,
                              .a_col = 1,
                              .fill = NAME(deform_fill),
                              .fill_ctx = &m,
                              .c = to,
                              .c_row = s->out_elems,
                              .add = true});
    }
}

static hone_status NAME(deform_eval)(hn_eval *c, const hn_window *s, hn_array *y) {
    const T *in[5] = {NULL};
    for (uint32_t i = 0; i < 5; i++)
        if (hn_arg(c, i)) {
            in[i] = NAME(hn_wide)(c, hn_arg(c, i));
            HN_TRY_PTR(in[i]);
        }
    T *wide = NAME(hn_buffer)(c, y);
    HN_TRY_PTR(wide);
    NAME(deform_all)(c, s, in[0], in[1], in[2], in[3], in[4], wide);
    NAME(hn_narrow)(y, wide);
    return HONE_OK;
}
