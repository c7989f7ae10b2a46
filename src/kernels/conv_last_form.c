/* Axes, groups, slices and panels of a channels-last convolution by products; filters laid out. */
#include "kernels/conv_last_form.h"
#include "kernels/transpose.h"

static bool has_no_extent(const hn_slide *s, int32_t a) {
    return s->in[a] == 1 && s->out[a] == 1 && s->kernel[a] == 1 && s->pad[a] == 0;
}

static bool reads_each_pixel_once(const hn_slide *s) {
    for (int32_t a = 0; a < s->n_axes; a++)
        if (s->kernel[a] != 1 || s->stride[a] != 1 || s->pad[a] != 0 || s->in[a] != s->out[a])
            return false;
    return true;
}

static void add_axis(hn_slide *to, const hn_slide *from, int32_t a) {
    int32_t n = to->n_axes++;
    to->in[n] = from->in[a];
    to->out[n] = from->out[a];
    to->kernel[n] = from->kernel[a];
    to->stride[n] = from->stride[a];
    to->dilation[n] = from->dilation[a];
    to->pad[n] = from->pad[a];
}

static const hn_slide no_axis = {
    .in = {1}, .out = {1}, .kernel = {1}, .stride = {1}, .dilation = {1}};

/* Axes without extent are left out; where windows have one element, all images are one line. */
static void read_axes(const hn_conv_last_job *job, hn_product_form *f) {
    const hn_slide *s = job->slide;
    hn_slide *to = &f->s;
    int32_t wanted = 2;
    f->batch = job->batch;
    to->n_axes = 0;
    if (reads_each_pixel_once(s)) {
        hn_slide line = no_axis;
        line.in[0] = line.out[0] = job->batch * s->out_elems;
        f->batch = 1;
        add_axis(to, &no_axis, 0);
        add_axis(to, &line, 0);
        return;
    }
    for (int32_t a = 0; a < s->n_axes; a++)
        wanted -= !has_no_extent(s, a);
    for (; wanted > 0; wanted--)
        add_axis(to, &no_axis, 0);
    for (int32_t a = 0; a < s->n_axes; a++)
        if (!has_no_extent(s, a))
            add_axis(to, s, a);
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
static void read_panels(const hn_conv_last_job *job, const hn_conv_tiles *tiles,
                        hn_product_form *f) {
    int64_t wide = 2 * (int64_t)tiles->vector_elems, narrow = tiles->vector_elems;
    int32_t n_axes = job->slide->n_axes;
    f->groups = job->groups;
    f->all_channels = job->channels;
    f->all_filters = job->filters;
    f->group_span = f->channels = job->channels / job->groups;
    f->filters = job->filters / job->groups;
    take_groups_together(tiles, f);
    f->depth = f->channels * job->slide->kernel_elems;
    f->width = wide;
    f->panels = (f->filters + wide - 1) / wide;
    f->padded = (f->filters + narrow - 1) / narrow * narrow;
    read_slices(f, n_axes > 0 ? job->slide->kernel[n_axes - 1] : 1);
}

void hn_product_form_read(const hn_conv_last_job *job, hn_product_form *f) {
    read_axes(job, f);
    read_panels(job, hn_conv_tiles_pick(), f);
    f->planes = f->batch;
    int64_t step = job->channels;
    for (int32_t a = f->s.n_axes - 1; a >= 0; a--) {
        f->in_step[a] = step;
        step *= f->s.in[a];
        f->planes *= a < f->s.n_axes - 2 ? f->s.out[a] : 1;
    }
}

/* ---- laying out --------------------------------------------------------------------------------- */

int64_t hn_product_last_packed_elems(const hn_conv_last_job *job) {
    const hn_conv_tiles *tiles = hn_conv_tiles_pick();
    hn_product_form f;
    if (!tiles)
        return 0;
    read_panels(job, tiles, &f);
    return f.groups * f.padded * f.depth;
}

/* Rows k0 .. k0 + nk of n filters, `width` apart; w begins at the first filter. */
static void pack_slice(const hn_product_form *f, const float *w, int64_t n, int64_t taps,
                       int64_t k0, int64_t nk, int64_t width, float *out) {
    if (n < width)
        memset(out, 0, (size_t)(nk * width) * sizeof *out);
    if (taps == 1) {
        hn_transpose(&(hn_transpose_job){sizeof *out, n, nk, w + k0, f->depth, out, width});
        return;
    }
    for (int64_t end = k0 + nk; k0 < end;) {
        int64_t tap = k0 / f->channels, channel = k0 % f->channels;
        for (; channel < f->channels && k0 < end; channel++, k0++, out += width)
            for (int64_t j = 0; j < n; j++)
                out[j] = w[j * f->depth + channel * taps + tap];
    }
}

void hn_product_last_pack(const hn_conv_last_job *job, float *out) {
    hn_product_form f;
    read_panels(job, hn_conv_tiles_pick(), &f);
    for (int64_t i = 0; i < f.groups * f.panels; i++) {
        int64_t group = i / f.panels, panel = i % f.panels, first = panel * f.width;
        const float *w = job->w + (group * f.filters + first) * f.depth;
        for (int64_t k0 = 0, nk; k0 < f.depth; k0 += nk) {
            nk = hn_product_slice(&f, k0);
            pack_slice(&f, w, HN_MIN(f.filters - first, f.width), job->slide->kernel_elems, k0, nk,
                       hn_panel_width(&f, panel), out + hn_panel_at(&f, group, panel, k0, nk));
        }
    }
}
