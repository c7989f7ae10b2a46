/* What sizes decide about a convolution of bytes. */
#include "cpu/kernels/conv_int8/conv_int8_form.h"

#include "cpu/kernels/kernel_select.h"

enum {
    BAND_BYTES = 128 * 1024, /* of input lines that a task reads: a part of the second cache */
    LINE_POSITIONS = 56,     /* of a line that has no columns of its own */
    TASKS_PER_LANE = 4,
    INT8_TASK_WORK = 1 << 20 /* products of a task that is worth another thread */
};

bool hn_conv_int8_is_fast(const hn_window *window, int64_t groups) {
    return window->n_axes >= 1 && window->n_axes <= 2 && groups >= 1 &&
           hn_kernel_picked(HN_FAMILY_gemm_u8s8)->isa != HN_ISA_SCALAR;
}

static hn_int8_plane plane_of(const hn_window *s, int32_t axis) {
    if (axis < 0)
        return (hn_int8_plane){1, 1, 1, 1, 1, 0};
    return (hn_int8_plane){s->in[axis],     s->out[axis],      s->kernel[axis],
                           s->stride[axis], s->dilation[axis], s->pad[axis]};
}

/* Columns that the windows of all outputs reach, from the first one on. */
static int64_t reach_of_plane(const hn_int8_plane *p, int64_t n_out) {
    return n_out > 0 ? (n_out - 1) * p->stride + (p->kernel - 1) * p->dilation + 1 : 0;
}

static bool is_inside(const hn_int8_plane *p) {
    return p->pad == 0 && reach_of_plane(p, p->out) <= p->in;
}

static bool is_pixelwise(const hn_int8_plane *p) {
    return p->kernel == 1 && p->stride == 1 && p->pad == 0 && p->in == p->out;
}

static int64_t how_many(int64_t n, int64_t of) {
    return of > 0 ? (n + of - 1) / of : 0;
}

/* Pixels of all images in lines of a few tiles. */
static void join_pixels(const hn_conv_int8_job *job, hn_conv_int8_form *f) {
    int64_t rows = hn_u8s8_pick()->max_rows, most = LINE_POSITIONS / rows * rows;
    f->images = 1;
    f->positions = f->pixels_in = job->batch * f->lines.out * f->cols.out;
    f->lines.in = f->lines.out = how_many(f->positions, most);
    f->cols.in = f->cols.out = how_many(f->positions, f->lines.out);
    f->lines.in = f->lines.out = how_many(f->positions, f->cols.out);
}

static void read_runs(const hn_conv_int8_job *job, hn_conv_int8_form *f) {
    const hn_u8s8_set *set = hn_u8s8_pick();
    bool are_neighbours = f->cols.dilation == 1 && job->groups == 1;
    f->n_runs = f->lines.kernel * (are_neighbours ? 1 : f->cols.kernel);
    f->run_bytes = f->group_channels * (are_neighbours ? f->cols.kernel : 1);
    if (f->is_depthwise)
        f->n_runs = f->lines.kernel * f->cols.kernel;
    bool in_place = is_inside(&f->lines) && is_inside(&f->cols) && !job->x_is_signed &&
                    f->run_bytes == hn_int8_groups(set, f->run_bytes) * HN_U8S8_GROUP &&
                    f->cols.out >= set->least_rows && !f->is_depthwise &&
                    (job->x_step == job->channels || !are_neighbours || f->cols.kernel == 1);
    f->copies = !in_place;
    f->pixel_bytes = in_place ? job->x_step : job->channels;
    f->line_bytes =
        f->pixel_bytes * (in_place ? f->cols.in : reach_of_plane(&f->cols, f->cols.out));
}

/* As many lines as stay in the cache, and as few as give all threads work; then fewer panels. */
static void cut_bands(const hn_conv_int8_job *job, hn_conv_int8_form *f) {
    int64_t lines = HN_MAX(f->lines.out, 1);
    int64_t wanted = job->n_threads > 1 ? job->n_threads * TASKS_PER_LANE : 1;
    int64_t work = f->positions * f->images * f->n_runs * f->run_bytes * job->filters;
    wanted = HN_MAX(HN_MIN(wanted, work / INT8_TASK_WORK), 1);
    int64_t step_bytes = HN_MAX(f->line_bytes * f->lines.stride, 1);
    f->band_lines = HN_MIN(HN_MAX(BAND_BYTES / step_bytes, 1), lines);
    int64_t fewest = HN_MIN(lines, (wanted + f->images - 1) / HN_MAX(f->images, 1));
    if (f->lines.kernel == 1 || lines >= 4 * fewest)
        f->band_lines = HN_MIN(f->band_lines, HN_MAX(lines / fewest, 1));
    f->n_bands = (lines + f->band_lines - 1) / f->band_lines;
    int64_t bands = HN_MAX(f->n_bands * f->images, 1);
    int64_t across = HN_MIN((wanted + bands - 1) / bands, f->n_panels);
    f->panel_grain = (f->n_panels + across - 1) / HN_MAX(across, 1);
    /* A vector behind the last pixel is read, too, and windows behind the last of a short line. */
    int64_t more_windows = hn_u8s8_pick()->least_rows - 1;
    f->band_bytes = reach_of_plane(&f->lines, f->band_lines) * f->line_bytes +
                    more_windows * f->cols.stride * f->pixel_bytes + HN_CONV_INT8_ALIGN;
    f->band_bytes = (int64_t)hn_int8_aligned(f->band_bytes, 1);
}

hn_conv_int8_form hn_conv_int8_read_form(const hn_conv_int8_job *job) {
    const hn_window *s = job->window;
    hn_conv_int8_form f = {.lines = plane_of(s, s->n_axes - 2),
                           .cols = plane_of(s, s->n_axes - 1),
                           .images = job->batch,
                           .group_channels = job->channels / job->groups,
                           .group_filters = job->filters / job->groups};
    f.is_depthwise = f.group_channels == 1 && f.group_filters == 1 && job->groups > 1;
    f.pixels_in = f.lines.in * f.cols.in;
    f.positions = f.lines.out * f.cols.out;
    if (is_pixelwise(&f.lines) && is_pixelwise(&f.cols) && !f.is_depthwise)
        join_pixels(job, &f);
    read_runs(job, &f);
    f.width = f.is_depthwise ? hn_depthwise_int8_pick()->channels : hn_u8s8_pick()->cols;
    int64_t columns = f.is_depthwise ? job->channels : f.group_filters;
    f.group_panels = (columns + f.width - 1) / f.width;
    f.n_panels = f.group_panels * (f.is_depthwise ? 1 : job->groups);
    cut_bands(job, &f);
    return f;
}

void hn_conv_int8_runs(const hn_conv_int8_form *f, int64_t *runs) {
    int64_t per_line = f->n_runs / f->lines.kernel;
    for (int64_t i = 0; i < f->n_runs; i++)
        runs[i] = i / per_line * f->lines.dilation * f->line_bytes +
                  i % per_line * f->cols.dilation * f->pixel_bytes;
}
