/* Channels-last convolutions as products of windows with filters, reading x where it lies.
 *
 * The depth of the product is ordered by window element, then channel: what a line of a window
 * covers lies side by side in x, and is one run of a tile (conv_last_tile.h). Outputs whose windows
 * have the same elements inside the image form a rectangle; its tiles leave out the runs that lie
 * in the padding, so nothing is copied and nothing is multiplied by padding.
 *
 * Filters are laid out in panels as wide as a tile, slice after slice of at most DEPTH rows. A task
 * is a block of outputs times some panels; it takes slice after slice, and of each slice one panel
 * (in the first cache) over all tiles of a rectangle. Each output adds its products in the same
 * order whatever the cut, so results do not depend on the number of threads. */
#include "kernels/conv_last_tile.h"
#include "kernels/transpose.h"

enum {
    DEPTH_MOST = 512,       /* a slice of a wide panel takes 64 KB */
    TASK_OUTPUTS = 560,     /* outputs of a task, at most: a slice of their input stays near */
    TASK_WORK = 1 << 19,    /* products of a task, at least, about */
    MOST_TASKS = 16,        /* except for the sake of TASK_OUTPUTS */
    WHOLE_TILES = 56,       /* a multiple of the rows of most tiles */
    CACHE_SETS_BYTES = 4096 /* addresses so far apart compete for the same places of a cache */
};

/* ---- shape ----------------------------------------------------------------------------------- */

/* A job in the form that loops need: at least two axes, the last two being lines and outputs. */
typedef struct product_form {
    hn_slide s;
    int64_t batch, channels, filters; /* channels and filters of one group */
    int64_t all_channels, all_filters, groups;
    int64_t depth;                   /* rows of filters */
    int64_t unit, slice;             /* slices have so many rows, or less where a unit ends */
    int64_t width, panels, padded;   /* of a panel; per group: panels, their columns */
    int64_t planes;                  /* of all images, of out[h] lines each */
    int64_t in_step[HN_MAX_SPATIAL]; /* elements from one pixel to the next */
} product_form;

static bool is_single(const hn_slide *s, int32_t a) {
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
static void read_axes(const hn_conv_last_job *job, product_form *f) {
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
        wanted -= !is_single(s, a);
    for (; wanted > 0; wanted--)
        add_axis(to, &no_axis, 0);
    for (int32_t a = 0; a < s->n_axes; a++)
        if (!is_single(s, a))
            add_axis(to, s, a);
}

static int64_t even_part(int64_t n, int64_t most) {
    int64_t n_parts = (n + most - 1) / most;
    return (n + n_parts - 1) / n_parts;
}

/* Slices are parts of a window element, some elements of a window's line, or some lines: then few
 * outputs differ in what they have of a slice. */
static void read_slices(product_form *f, int64_t line_taps) {
    int64_t line = line_taps * f->channels;
    if (f->depth == 0) {
        f->unit = f->slice = 1;
    } else if (f->channels * 2 > DEPTH_MOST) {
        f->unit = f->channels;
        f->slice = even_part(f->channels, DEPTH_MOST);
    } else if (line > DEPTH_MOST) {
        f->unit = line;
        f->slice = even_part(line_taps, DEPTH_MOST / f->channels) * f->channels;
    } else {
        f->unit = f->slice = even_part(f->depth / line, DEPTH_MOST / line) * line;
    }
}

static int64_t slice_at(const product_form *f, int64_t k0) {
    return HN_MIN(HN_MIN(f->slice, f->unit - k0 % f->unit), f->depth - k0);
}

/* How filters lie: nothing of this depends on the size of the map. */
static void read_panels(const hn_conv_last_job *job, const hn_conv_tiles *tiles, product_form *f) {
    int64_t wide = 2 * (int64_t)tiles->vector_elems;
    int32_t n_axes = job->slide->n_axes;
    f->groups = job->groups;
    f->all_channels = job->channels;
    f->all_filters = job->filters;
    f->channels = job->channels / job->groups;
    f->filters = job->filters / job->groups;
    f->depth = f->channels * job->slide->kernel_elems;
    f->width = wide;
    f->panels = (f->filters + wide - 1) / wide;
    f->padded = (f->filters + wide / 2 - 1) / (wide / 2) * (wide / 2);
    read_slices(f, n_axes > 0 ? job->slide->kernel[n_axes - 1] : 1);
}

static void read_form(const hn_conv_last_job *job, const hn_conv_tiles *tiles, product_form *f) {
    read_axes(job, f);
    read_panels(job, tiles, f);
    f->planes = f->batch;
    int64_t step = job->channels;
    for (int32_t a = f->s.n_axes - 1; a >= 0; a--) {
        f->in_step[a] = step;
        step *= f->s.in[a];
        f->planes *= a < f->s.n_axes - 2 ? f->s.out[a] : 1;
    }
}

/* ---- filters --------------------------------------------------------------------------------- */

static int64_t panel_width(const product_form *f, int64_t panel) {
    return HN_MIN(f->width, f->padded - panel * f->width);
}

/* Where rows k0 .. k0 + nk of a panel of one group begin. */
static int64_t panel_at(const product_form *f, int64_t group, int64_t panel, int64_t k0,
                        int64_t nk) {
    return group * f->padded * f->depth + k0 * f->padded + panel * f->width * nk;
}

int64_t hn_product_last_packed_elems(const hn_conv_last_job *job) {
    const hn_conv_tiles *tiles = hn_conv_tiles_pick();
    product_form f;
    if (!tiles)
        return 0;
    read_panels(job, tiles, &f);
    return f.groups * f.padded * f.depth;
}

/* Rows k0 .. k0 + nk of n filters, `width` apart; w begins at the first filter. */
static void pack_slice(const product_form *f, const float *w, int64_t n, int64_t taps, int64_t k0,
                       int64_t nk, int64_t width, float *out) {
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
    product_form f;
    read_panels(job, hn_conv_tiles_pick(), &f);
    for (int64_t i = 0; i < f.groups * f.panels; i++) {
        int64_t group = i / f.panels, panel = i % f.panels, first = panel * f.width;
        const float *w = job->w + (group * f.filters + first) * f.depth;
        for (int64_t k0 = 0, nk; k0 < f.depth; k0 += nk) {
            nk = slice_at(&f, k0);
            pack_slice(&f, w, HN_MIN(f.filters - first, f.width), job->slide->kernel_elems, k0, nk,
                       panel_width(&f, panel), out + panel_at(&f, group, panel, k0, nk));
        }
    }
}

/* ---- rectangles ------------------------------------------------------------------------------ */

typedef struct tap_range {
    int64_t first, past;
} tap_range;

/* Outputs of one plane whose windows have the same elements inside the image. */
typedef struct conv_rect {
    int64_t line0, line1, out0, out1;
    tap_range taps[HN_MAX_SPATIAL];
    int64_t x,
        y; /* of the first output: where its window begins, maybe in the padding; its place */
} conv_rect;

static int64_t divide_up(int64_t a, int64_t b) { /* 0 for a <= 0 */
    return a > 0 ? (a + b - 1) / b : 0;
}

static tap_range taps_inside(const hn_slide *s, int32_t a, int64_t out) {
    int64_t before = s->pad[a] - out * s->stride[a];
    tap_range t = {HN_MIN(divide_up(before, s->dilation[a]), s->kernel[a]),
                   HN_MIN(divide_up(s->in[a] + before, s->dilation[a]), s->kernel[a])};
    t.past = HN_MAX(t.past, t.first);
    return t;
}

/* Those of `all` that lie inside; all empty ranges are the same. */
static tap_range taps_inside_of(const hn_slide *s, int32_t a, int64_t out, tap_range all) {
    tap_range t = taps_inside(s, a, out);
    t.first = HN_MAX(t.first, all.first);
    t.past = HN_MIN(t.past, all.past);
    return t.first < t.past ? t : (tap_range){0, 0};
}

/* The end of the outputs from `out` on that have the same taps of `all` inside. */
static int64_t same_taps_end(const hn_slide *s, int32_t a, int64_t out, int64_t most,
                             tap_range all) {
    tap_range t = taps_inside_of(s, a, out, all);
    if (t.first == all.first && t.past == all.past && t.past > 0) {
        int64_t begin, end;
        hn_slide_inside(s, a, all.past - 1, &begin, &end);
        return HN_MIN(HN_MAX(end, out + 1), most);
    }
    for (out++; out < most; out++) {
        tap_range next = taps_inside_of(s, a, out, all);
        if (next.first != t.first || next.past != t.past)
            break;
    }
    return out;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Where in x the window line `row` of kernel lines begins, from the begin of the window; false: it
 * lies in the padding. */
static bool find_window_line(const product_form *f, const conv_rect *rect, int64_t row,
                             int64_t *at) {
    *at = 0;
    for (int32_t a = f->s.n_axes - 2; a >= 0; a--) {
        int64_t tap = row % f->s.kernel[a];
        if (tap < rect->taps[a].first || tap >= rect->taps[a].past)
            return false;
        *at += tap * f->s.dilation[a] * f->in_step[a];
        row /= f->s.kernel[a];
    }
    return true;
}

/* The runs of rows k0 .. k1 of the filters, of which there are at most as many. Elements of
 * neighbouring taps belong to one run when they lie side by side. */
static int64_t list_runs(const product_form *f, const conv_rect *rect, int64_t k0, int64_t k1,
                         hn_tile_run *runs) {
    int32_t last = f->s.n_axes - 1;
    tap_range taps = rect->taps[last];
    int64_t line_depth = f->s.kernel[last] * f->channels, n = 0, at;
    bool is_joined = f->groups == 1 && f->s.dilation[last] == 1;
    int64_t step = is_joined ? HN_MAX(taps.past - taps.first, 1) : 1;
    for (int64_t row = k0 / line_depth; row * line_depth < k1; row++) {
        if (!find_window_line(f, rect, row, &at))
            continue;
        for (int64_t tap = taps.first; tap < taps.past; tap += step) {
            int64_t k = row * line_depth + tap * f->channels;
            int64_t begin = HN_MAX(k, k0), end = HN_MIN(k + step * f->channels, k1);
            if (begin < end)
                runs[n++] =
                    (hn_tile_run){.x = at + tap * f->s.dilation[last] * f->all_channels + begin - k,
                                  .k = begin - k0,
                                  .n = end - begin};
        }
    }
    return n;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct product_run {
    const hn_conv_last_job *job;
    const hn_pool *pool;
    const hn_conv_tiles *tiles;
    const float *packed_w;
    product_form form;
    bool cuts_lines; /* tasks are parts of the only line, otherwise some lines */
} product_run;

/* Part of a task: some panels of one slice of the filters. */
typedef struct filter_slice {
    const product_run *run;
    int64_t k0, nk, panel0, panel1;
    tap_range line_taps, out_taps; /* of windows: lines, and elements of a line, in this slice */
} filter_slice;

static void enter_slice(filter_slice *s, int64_t k0) {
    const product_form *f = &s->run->form;
    int32_t w = f->s.n_axes - 1, h = w - 1;
    s->k0 = k0;
    s->nk = slice_at(f, k0);
    s->line_taps = (tap_range){0, f->s.kernel[h]};
    s->out_taps = (tap_range){0, f->s.kernel[w]};
    int64_t line = f->s.kernel[w] * f->channels;
    if (s->nk <= 0)
        return;
    int64_t first = k0 / line, last = (k0 + s->nk - 1) / line;
    if (first / f->s.kernel[h] == last / f->s.kernel[h])
        s->line_taps = (tap_range){first % f->s.kernel[h], last % f->s.kernel[h] + 1};
    if (first == last)
        s->out_taps =
            (tap_range){k0 % line / f->channels, (k0 + s->nk - 1) % line / f->channels + 1};
}

/* All tiles of a rectangle that one panel gives; `first` is the tile of the first output. */
static void panel_tiles(const filter_slice *s, const conv_rect *rect, const hn_conv_tile_fn *fns,
                        const hn_conv_tile *first) {
    const product_form *f = &s->run->form;
    int32_t w = f->s.n_axes - 1, h = w - 1;
    int64_t x_steps[] = {f->s.stride[h] * f->in_step[h], f->s.stride[w] * f->in_step[w]};
    int64_t y_steps[] = {f->s.out[w] * f->all_filters, f->all_filters};
    int64_t sizes[] = {rect->line1 - rect->line0, rect->out1 - rect->out0};
    int along = sizes[0] > sizes[1] ? 0 : 1; /* rows of tiles follow the longer side */
    int64_t n = sizes[along], most = s->run->tiles->most_rows;
    if (x_steps[along] * (int64_t)sizeof(float) % CACHE_SETS_BYTES == 0)
        most = HN_MIN(most, 8);
    int64_t n_tiles = (n + most - 1) / most;
    int64_t ahead_step = first->ahead_step / (n_tiles * sizes[1 - along]), n_done = 0;
    for (int64_t across = 0; across < sizes[1 - along]; across++)
        for (int64_t i = 0; i < n_tiles; i++) {
            int64_t begin = i * n / n_tiles, end = (i + 1) * n / n_tiles;
            int64_t y = across * y_steps[1 - along] + begin * y_steps[along];
            hn_conv_tile t = *first;
            t.x += across * x_steps[1 - along] + begin * x_steps[along];
            t.x_row = x_steps[along];
            t.ahead += n_done++ * ahead_step * s->nk;
            t.ahead_step = ahead_step;
            t.y += y;
            t.y_row = y_steps[along];
            t.residual = t.residual ? t.residual + y : NULL;
            fns[end - begin](&t);
        }
}

/* The panel that follows; itself when none does. */
static const float *next_panel(const filter_slice *s, int64_t p) {
    const product_form *f = &s->run->form;
    int64_t k0 = s->k0, nk = s->nk, room = f->groups * f->padded * f->depth;
    int64_t here = panel_at(f, p / f->panels, p % f->panels, k0, nk);
    if (++p == s->panel1) {
        p = s->panel0;
        k0 += nk;
        nk = slice_at(f, k0);
    }
    int64_t next = panel_at(f, p / f->panels, p % f->panels, k0, nk);
    return s->run->packed_w + (next + f->width * s->nk <= room ? next : here);
}

static void rect_panels(const filter_slice *s, const conv_rect *rect) {
    const product_form *f = &s->run->form;
    const hn_conv_last_job *job = s->run->job;
    const hn_finish_f32 *finish = job->finish;
    hn_tile_run runs[DEPTH_MOST];
    int64_t n_runs = list_runs(f, rect, s->k0, s->k0 + s->nk, runs);
    int64_t x = n_runs > 0 ? rect->x + runs[0].x : 0; /* no address in the padding is ever made */
    bool is_last = s->k0 + s->nk == f->depth;
    if (n_runs == 0 && s->k0 > 0 && !is_last)
        return;
    for (int64_t i = n_runs - 1; i >= 0; i--)
        runs[i].x -= runs[0].x;
    for (int64_t p = s->panel0; p < s->panel1; p++) {
        int64_t group = p / f->panels, panel = p % f->panels;
        int64_t column = group * f->filters + panel * f->width;
        hn_conv_tile first = {
            .runs = runs,
            .n_runs = n_runs,
            .x = job->x + x + group * f->channels,
            .panel = s->run->packed_w + panel_at(f, group, panel, s->k0, s->nk),
            .ahead = next_panel(s, p),
            .ahead_step = f->width,
            .y = job->y + rect->y + column,
            .cols = HN_MIN(f->width, f->filters - panel * f->width),
            .add = s->k0 > 0,
            .bias = is_last && job->bias ? job->bias + column : NULL,
            .residual =
                is_last && finish && finish->residual ? finish->residual + rect->y + column : NULL,
            .is_limited = is_last && finish && finish->is_clamp,
            .least = finish ? finish->a : 0,
            .most = finish ? finish->b : 0,
        };
        bool is_wide = panel_width(f, panel) == f->width;
        panel_tiles(s, rect, is_wide ? s->run->tiles->wide : s->run->tiles->narrow, &first);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* What the tiles of a task cover: lines of one plane, outputs of each. */
typedef struct plane_part {
    int64_t plane, line0, line1, out0, out1;
} plane_part;

/* The taps of all axes before the lines, and where the plane begins. */
static void enter_plane(const product_form *f, int64_t plane, conv_rect *rect) {
    int64_t rest = plane;
    int32_t h = f->s.n_axes - 2;
    rect->x = 0;
    for (int32_t a = h - 1; a >= 0; a--) {
        int64_t out = rest % f->s.out[a];
        rest /= f->s.out[a];
        rect->taps[a] = taps_inside(&f->s, a, out);
        rect->x += (out * f->s.stride[a] - f->s.pad[a]) * f->in_step[a];
    }
    int64_t image = f->in_step[0] * f->s.in[0];
    rect->x += rest * image;
    rect->y = plane * f->s.out[h] * f->s.out[h + 1] * f->all_filters;
}

static void part_rects(const filter_slice *s, const plane_part *part) {
    const product_form *f = &s->run->form;
    int32_t w = f->s.n_axes - 1, h = w - 1;
    conv_rect plane, rect;
    enter_plane(f, part->plane, &plane);
    for (int64_t line = part->line0; line < part->line1; line = plane.line1) {
        plane.taps[h] = taps_inside_of(&f->s, h, line, s->line_taps);
        plane.line0 = line;
        plane.line1 = same_taps_end(&f->s, h, line, part->line1, s->line_taps);
        for (int64_t out = part->out0; out < part->out1; out = rect.out1) {
            rect = plane;
            rect.taps[w] = taps_inside_of(&f->s, w, out, s->out_taps);
            rect.out0 = out;
            rect.out1 = same_taps_end(&f->s, w, out, part->out1, s->out_taps);
            rect.x += (line * f->s.stride[h] - f->s.pad[h]) * f->in_step[h] +
                      (out * f->s.stride[w] - f->s.pad[w]) * f->in_step[w];
            rect.y += (line * f->s.out[w] + out) * f->all_filters;
            rect_panels(s, &rect);
        }
    }
}

static plane_part next_part(const product_run *run, int64_t row, int64_t end) {
    const product_form *f = &run->form;
    int64_t lines = f->s.out[f->s.n_axes - 2], outs = f->s.out[f->s.n_axes - 1];
    if (run->cuts_lines)
        return (plane_part){0, 0, 1, row, end};
    return (plane_part){row / lines, row % lines, HN_MIN(lines, row % lines + end - row), 0, outs};
}

/* The function of one number that no tile applied. */
static void map_part_last(const product_run *run, const plane_part *p, int64_t panel0,
                          int64_t panel1) {
    const product_form *f = &run->form;
    const hn_finish_f32 *finish = run->job->finish;
    int64_t lines = f->s.out[f->s.n_axes - 2], outs = f->s.out[f->s.n_axes - 1];
    int64_t from = panel0 / f->panels * f->filters + panel0 % f->panels * f->width;
    int64_t to =
        HN_MIN(panel1 / f->panels * f->filters + panel1 % f->panels * f->width, f->all_filters);
    int64_t n_outs = p->out1 - p->out0;
    bool is_whole = from == 0 && to == f->all_filters; /* then a line lies side by side */
    for (int64_t line = p->line0; line < p->line1; line++) {
        float *y =
            run->job->y + ((p->plane * lines + line) * outs + p->out0) * f->all_filters + from;
        int64_t n = is_whole ? n_outs * to : to - from;
        for (int64_t i = 0; i < (is_whole ? 1 : n_outs); i++, y += f->all_filters)
            finish->map(y, y, (uint64_t)n, finish->a, finish->b);
    }
}

static void product_task(void *ctx, int64_t row0, int64_t row1, int64_t panel0, int64_t panel1) {
    const product_run *run = ctx;
    const product_form *f = &run->form;
    const hn_finish_f32 *finish = run->job->finish;
    filter_slice s = {.run = run, .panel0 = panel0, .panel1 = panel1};
    plane_part part;
    /* once even without any depth: bias and residual remain */
    for (int64_t k0 = 0; k0 == 0 || k0 < f->depth; k0 += HN_MAX(s.nk, 1)) {
        if (hn_pool_is_stopped(run->pool))
            return;
        enter_slice(&s, k0);
        for (int64_t row = row0; row < row1;
             row += run->cuts_lines ? row1 : part.line1 - part.line0) {
            part = next_part(run, row, row1);
            part_rects(&s, &part);
        }
    }
    if (!finish || !finish->map || finish->is_clamp)
        return;
    for (int64_t row = row0; row < row1; row += run->cuts_lines ? row1 : part.line1 - part.line0) {
        part = next_part(run, row, row1);
        map_part_last(run, &part, panel0, panel1);
    }
}

static int64_t at_least_one(int64_t n) {
    return HN_MAX(n, 1);
}

/* Tasks of about the same size, an even number of them where there are several. Filters are cut
 * first when they are more than the outputs, so that each is read by one task; no task has so many
 * outputs that their input does not stay in the second cache. */
static void cut_tasks(const product_form *f, int64_t rows, int64_t outs_per_row, int64_t *row_grain,
                      int64_t *panel_grain) {
    int64_t panels = f->groups * f->panels, outs = rows * outs_per_row;
    int64_t work = outs * f->depth * f->filters * f->groups;
    int64_t n_tasks = HN_MIN((work / TASK_WORK + 1) / 2 * 2, MOST_TASKS);
    int64_t least_row_parts = HN_MIN((outs + TASK_OUTPUTS - 1) / TASK_OUTPUTS, rows);
    int64_t row_parts = HN_MIN(at_least_one(n_tasks), rows), panel_parts = panels;
    if (outs <= f->filters * f->groups)
        row_parts = HN_MIN((HN_MIN(n_tasks, MOST_TASKS / 2) + panels - 1) / panels, rows);
    row_parts = at_least_one(HN_MAX(row_parts, least_row_parts));
    panel_parts = HN_MIN((n_tasks + row_parts - 1) / row_parts, panels);
    *row_grain = (rows + row_parts - 1) / row_parts;
    if (outs_per_row == 1 && *row_grain > WHOLE_TILES)
        *row_grain = (*row_grain + WHOLE_TILES - 1) / WHOLE_TILES * WHOLE_TILES;
    *panel_grain = (panels + panel_parts - 1) / at_least_one(panel_parts);
}

void hn_product_last_f32(hn_pool *pool, const hn_conv_last_job *job) {
    product_run run = {
        .job = job, .pool = pool, .tiles = hn_conv_tiles_pick(), .packed_w = job->packed_w};
    if (!run.tiles) {
        hn_conv_last_plain_f32(pool, job);
        return;
    }
    if (!job->packed_w) {
        hn_product_last_pack(job, job->scratch);
        run.packed_w = job->scratch;
    }
    read_form(job, run.tiles, &run.form);
    const product_form *f = &run.form;
    int64_t lines = f->planes * f->s.out[f->s.n_axes - 2], outs = f->s.out[f->s.n_axes - 1];
    int64_t row_grain, panel_grain;
    run.cuts_lines = lines == 1;
    int64_t rows = run.cuts_lines ? outs : lines;
    cut_tasks(f, rows, run.cuts_lines ? 1 : outs, &row_grain, &panel_grain);
    hn_pool_for_2d(pool, rows, f->groups * f->panels, row_grain, panel_grain, product_task, &run);
}
