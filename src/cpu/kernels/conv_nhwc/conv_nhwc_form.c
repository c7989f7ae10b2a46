/* Axes, groups, slices and panels of a channels-last convolution by products; filters packed. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_form.h"
#include "cpu/kernels/transpose/transpose.h"

static bool has_no_extent(const hn_window *s, int32_t a) {
    return s->in[a] == 1 && s->out[a] == 1 && s->kernel[a] == 1 && s->pad[a] == 0;
}

static bool reads_each_pixel_once(const hn_window *s) {
    for (int32_t a = 0; a < s->n_axes; a++)
        if (s->kernel[a] != 1 || s->stride[a] != 1 || s->pad[a] != 0 || s->in[a] != s->out[a])
            return false;
    return true;
}

static const hn_window no_axis = {
    .in = {1}, .out = {1}, .kernel = {1}, .stride = {1}, .dilation = {1}};

static void add_axis(hn_product_form *f, const hn_window *from, int32_t a, int64_t out_step) {
    int32_t n = f->s.n_axes++;
    f->s.in[n] = from->in[a];
    f->s.out[n] = from->out[a];
    f->s.kernel[n] = from->kernel[a];
    f->s.stride[n] = from->stride[a];
    f->s.dilation[n] = from->dilation[a];
    f->s.pad[n] = from->pad[a];
    f->out_step[n] = out_step;
}

static void place_side_by_side(const hn_conv_nhwc_job *job, hn_product_place *place) {
    int64_t step = hn_conv_nhwc_y_stride(job);
    place->start = 0;
    for (int32_t a = job->window->n_axes - 1; a >= 0; a--) {
        place->step[a] = step;
        step *= job->window->out[a];
    }
    place->image = step;
}

/* Where windows have one element, all images are one line. */
static void read_line(const hn_conv_nhwc_job *job, hn_product_form *f) {
    hn_window line = no_axis;
    line.in[0] = line.out[0] = job->batch * job->window->out_elems;
    f->batch = 1;
    f->out_start = f->out_image = 0;
    add_axis(f, &no_axis, 0, 0);
    add_axis(f, &line, 0, hn_conv_nhwc_y_stride(job));
}

/* Axes without extent are left out. */
static void read_axes(const hn_conv_nhwc_job *job, const hn_product_place *place,
                      hn_product_form *f) {
    const hn_window *s = job->window;
    int32_t missing = 2;
    f->batch = job->batch;
    f->out_start = place->start;
    f->out_image = place->image;
    for (int32_t a = 0; a < s->n_axes; a++)
        missing -= !has_no_extent(s, a);
    for (; missing > 0; missing--)
        add_axis(f, &no_axis, 0, 0);
    for (int32_t a = 0; a < s->n_axes; a++)
        if (!has_no_extent(s, a))
            add_axis(f, s, a, place->step[a]);
}

static int64_t even_part(int64_t n, int64_t most) {
    int64_t n_parts = (n + most - 1) / most;
    return (n + n_parts - 1) / n_parts;
}

/* Slices are parts of a window element, some elements of a window's line, or some lines: then few
 * outputs differ in what they have of a slice. */
static void read_slices(hn_product_form *f, int64_t line_taps) {
    int64_t line = line_taps * f->channels;
    if (f->depth == 0) {
        f->unit = f->slice = 1;
    } else if (f->channels * 2 > HN_PRODUCT_MOST_SLICE) {
        f->unit = f->channels;
        f->slice = even_part(f->channels, HN_PRODUCT_MOST_SLICE);
    } else if (line > HN_PRODUCT_MOST_SLICE) {
        f->unit = line;
        f->slice = even_part(line_taps, HN_PRODUCT_MOST_SLICE / f->channels) * f->channels;
    } else {
        f->unit = f->slice = even_part(f->depth / line, HN_PRODUCT_MOST_SLICE / line) * line;
    }
}

/* As many groups as fill a vector, where channels and filters of them are the same number. */
static void take_groups_together(const hn_conv_tiles *tiles, hn_product_form *f) {
    int64_t lanes = tiles->vector_elems, n = lanes / HN_MAX(f->filters, 1);
    f->is_spread = tiles->spread && n > 1 && f->filters * n == lanes && f->channels == f->filters &&
                   f->groups % n == 0;
    if (!f->is_spread)
        return;
    for (int64_t i = 0; i < lanes; i++)
        f->spread[i] = (int32_t)(i / f->filters * f->channels);
    f->groups /= n;
    f->group_span = f->filters = lanes;
}

/* How filters lie: nothing of this depends on the size of the map. */
static void read_panels(const hn_conv_nhwc_job *job, const hn_conv_tiles *tiles,
                        hn_product_form *f) {
    int64_t wide = 2 * (int64_t)tiles->vector_elems, narrow = tiles->vector_elems;
    int32_t n_axes = job->window->n_axes;
    f->groups = job->groups;
    f->all_filters = job->filters;
    f->group_span = f->channels = job->channels / job->groups;
    f->filters = job->filters / job->groups;
    take_groups_together(tiles, f);
    f->depth = f->channels * job->window->kernel_elems;
    f->width = wide;
    f->panels = (f->filters + wide - 1) / wide;
    f->padded = (f->filters + narrow - 1) / narrow * narrow;
    read_slices(f, n_axes > 0 ? job->window->kernel[n_axes - 1] : 1);
}

void hn_product_form_read(const hn_conv_nhwc_job *job, const hn_product_place *place,
                          hn_product_form *f) {
    hn_product_place dense;
    f->s.n_axes = 0;
    if (!place && reads_each_pixel_once(job->window)) {
        read_line(job, f);
    } else {
        if (!place)
            place_side_by_side(job, &dense);
        read_axes(job, place ? place : &dense, f);
    }
    read_panels(job, hn_conv_tiles_pick(), f);
    f->y_step = hn_conv_nhwc_y_stride(job);
    f->residual_step = hn_conv_nhwc_residual_stride(job);
    f->planes = f->batch;
    int64_t step = hn_conv_nhwc_x_stride(job);
    for (int32_t a = f->s.n_axes - 1; a >= 0; a--) {
        f->in_step[a] = step;
        step *= f->s.in[a];
        f->planes *= a < f->s.n_axes - 2 ? f->s.out[a] : 1;
    }
}

/* ---- packing --------------------------------------------------------------------------------- */

int64_t hn_product_filter_elems(const hn_conv_nhwc_job *job) {
    const hn_conv_tiles *tiles = hn_conv_tiles_pick();
    hn_product_form f;
    if (!tiles)
        return 0;
    read_panels(job, tiles, &f);
    return f.groups * f.padded * f.depth;
}

/* Some channels at one place of the window; w is the first of the first filter. */
static void pack_channels(const hn_filter_view *view, const float *w, int64_t n_filters,
                          int64_t n_channels, int64_t width, float *out) {
    if (view->channel_step == 1) {
        hn_transpose(&(hn_transpose_job){sizeof *out, n_filters, n_channels, w, view->filter_step,
                                         out, width});
        return;
    }
    for (int64_t c = 0; c < n_channels; c++, w += view->channel_step, out += width)
        for (int64_t j = 0; j < n_filters; j++)
            out[j] = w[j * view->filter_step];
}

/* Part of a panel, row after row. */
typedef struct panel_slice {
    int64_t filter, n_filters, width, k0, nk;
} panel_slice;

static void pack_filter_slice(const hn_conv_nhwc_job *job, const hn_filter_view *view,
                              const panel_slice *p, float *out) {
    const hn_window *s = job->window;
    int64_t taps[HN_MAX_SPATIAL], channels = job->channels / job->groups, end = p->k0 + p->nk;
    if (p->n_filters < p->width)
        memset(out, 0, (size_t)(p->nk * p->width) * sizeof *out);
    for (int64_t k = p->k0, n; k < end; k += n, out += n * p->width) {
        int64_t channel = k % channels;
        int64_t at = view->start + p->filter * view->filter_step + channel * view->channel_step;
        hn_window_split(s->n_axes, s->kernel, k / channels, taps);
        for (int32_t a = 0; a < s->n_axes; a++)
            at += taps[a] * view->tap_step[a];
        n = HN_MIN(channels - channel, end - k);
        pack_channels(view, view->w + at, p->n_filters, n, p->width, out);
    }
}

void hn_product_pack_filters(const hn_conv_nhwc_job *job, const hn_filter_view *view, float *out) {
    hn_product_form f;
    read_panels(job, hn_conv_tiles_pick(), &f);
    for (int64_t i = 0; i < f.groups * f.panels; i++) {
        int64_t group = i / f.panels, panel = i % f.panels, first = panel * f.width;
        panel_slice p = {.filter = group * f.filters + first,
                         .n_filters = HN_MIN(f.filters - first, f.width),
                         .width = hn_panel_width(&f, panel)};
        for (; p.k0 < f.depth; p.k0 += p.nk) {
            p.nk = hn_product_slice(&f, p.k0);
            pack_filter_slice(job, view, &p, out + hn_panel_at(&f, group, panel, p.k0, p.nk));
        }
    }
}
