/* Float convolutions: a product of the filters with the windows, or over whole planes where each
 * filter has one channel. Bias, residual and activation are applied to each piece of the output
 * while it is still in the cache. Measured with AVX-512: 1x1 at 64 to 76 % of the peak. */
#include "cpu/kernels/conv/conv_form.h"
#include "cpu/kernels/conv/conv_int.h"
#include "cpu/kernels/rows/row_loops.h"

void hn_conv_epilogue_f32(const hn_conv_job_f32 *job, int64_t at, int64_t n) {
    const hn_epilogue_f32 *e = job->epilogue;
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    float *y = job->y + at;
    if (!e)
        return;
    if (e->residual && loops)
        loops->add_to(n, y, 0, e->residual + at);
    for (int64_t i = 0; e->residual && !loops && i < n; i++)
        y[i] += e->residual[at + i];
    hn_epilogue_activate_f32(e, 1, n, n, y);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Windows of one element that touch every input once: the input itself is the right side. */
static bool is_pointwise(const hn_window *s) {
    for (int32_t a = 0; a < s->n_axes; a++)
        if (s->kernel[a] != 1 || s->stride[a] != 1 || s->pad[a] != 0 || s->in[a] != s->out[a])
            return false;
    return true;
}

/* The left side of one group. */
static hn_gemm_job_f32 group_filters(const hn_conv_job_f32 *job, int64_t group) {
    int64_t depth = job->channels / job->groups * job->window->kernel_elems;
    int64_t filters = job->filters / job->groups, at = group * filters * depth;
    return (hn_gemm_job_f32){.m = filters,
                             .k = depth,
                             .a = job->w + at,
                             .a_row = depth,
                             .a_col = 1,
                             .packed_a = job->packed_w ? job->packed_w + at : NULL};
}

int64_t hn_conv_packed_elems_f32(const hn_conv_job_f32 *job) {
    int64_t depth = job->channels / job->groups * job->window->kernel_elems;
    bool is_product = job->channels != job->groups;
    return is_product ? hn_gemm_packed_left_elems_f32(job->filters, depth) : 0;
}

void hn_conv_pack_f32(const hn_conv_job_f32 *job, float *out) {
    for (int64_t group = 0; group < job->groups; group++) {
        hn_gemm_job_f32 g = group_filters(job, group);
        hn_gemm_pack_left_f32(&g, out + group * g.m * g.k);
    }
}

static void conv_group(hn_pool *pool, const hn_conv_job_f32 *job, const hn_conv_form_f32 *form,
                       int64_t i) {
    const hn_window *s = job->window;
    int64_t channels = job->channels / job->groups, group = i % job->groups;
    bool has_bands = form->way == HN_CONV_BANDS;
    hn_gemm_job_f32 g = group_filters(job, group);
    hn_conv_columns_f32 columns = {s, job->x + i * channels * s->in_elems,
                                   has_bands ? &form->band : NULL};
    int64_t at = i * g.m * s->out_elems;
    hn_epilogue_f32 epilogue = job->epilogue ? *job->epilogue : (hn_epilogue_f32){0};
    epilogue.bias = job->bias ? job->bias + group * g.m : NULL;
    epilogue.residual = epilogue.residual ? epilogue.residual + at : NULL;
    g.n = s->out_elems;
    g.c = job->y + at;
    g.c_row = s->out_elems;
    g.epilogue = &epilogue;
    if (form->way == HN_CONV_POINTWISE) {
        g.b = columns.x;
        g.b_row = s->in_elems;
        g.b_col = 1;
    } else {
        g.fill = hn_conv_fill_f32;
        g.panels = has_bands ? hn_conv_panels_f32 : NULL;
        g.fill_ctx = &columns;
    }
    hn_gemm_f32(pool, &g);
}

/* ---- ways ------------------------------------------------------------------------------------ */

void hn_conv_form_read(const hn_conv_job_f32 *job, hn_conv_form_f32 *form) {
    if (job->channels == job->groups)
        form->way = HN_CONV_DEPTHWISE;
    else if (is_pointwise(job->window))
        form->way = HN_CONV_POINTWISE;
    else if (hn_conv_small_read(job, &form->small))
        form->way = HN_CONV_SMALL;
    else
        form->way =
            hn_conv_windows_read(job->window, &form->band) ? HN_CONV_BANDS : HN_CONV_COLUMNS;
}

static void conv_depthwise(hn_pool *pool, const hn_conv_job_f32 *job) {
    if (hn_conv_depthwise_f32(pool, job) || hn_conv_lines_f32(pool, job))
        return;
    hn_conv_plain_f32(pool, job);
    hn_conv_epilogue_f32(job, 0, job->batch * job->filters * job->window->out_elems);
}

static void conv_formed(hn_pool *pool, const hn_conv_job_f32 *job, const hn_conv_form_f32 *form) {
    if (form->way == HN_CONV_DEPTHWISE)
        conv_depthwise(pool, job);
    else if (form->way == HN_CONV_SMALL)
        hn_conv_small_run(pool, job, &form->small);
    else
        for (int64_t i = 0; i < job->batch * job->groups && !hn_pool_is_stopped(pool); i++)
            conv_group(pool, job, form, i);
}

void hn_conv_f32(hn_pool *pool, const hn_conv_job_f32 *job) {
    hn_conv_form_f32 form;
    if (job->window->out_elems == 0 || job->batch == 0 || job->filters == 0)
        return;
    if (!job->form)
        hn_conv_form_read(job, &form);
    conv_formed(pool, job, job->form ? job->form : &form);
}
