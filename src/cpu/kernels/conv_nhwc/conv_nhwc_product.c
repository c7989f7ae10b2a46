/* Channels-last convolutions as products of windows with filters, reading x where it lies.
 *
 * The depth of the product is ordered by window element, then channel: what a line of a window
 * covers lies side by side in x, and is one run of a tile (conv_nhwc_tile.h). Outputs whose windows
 * have the same elements inside the image form a rectangle; its tiles leave out the runs that lie
 * in the padding, so nothing is copied and nothing is multiplied by padding.
 *
 * Filters lie in panels and slices (conv_nhwc_form.h). A task is a block of outputs times some
 * panels; it takes slice after slice, and of each slice one panel over all tiles of a rectangle.
 * Meanwhile the next panel is prefetched, or the input of the next tile where all filters are in
 * cache already. Each output adds its products in the same order whatever the cut, so results do
 * not depend on the number of threads.
 *
 * Measured with AVX-512, of the peak: 1x1 83 to 93 % (44 to 75 % with few channels over large maps,
 * where writing y is the limit), 3x3 83 to 94 %, and 100 % of what windows without padding would
 * take over 14x14 and 7x7; first layers 64 to 89 %; groups of 4, 8, 16, 32 channels 31, 38, 66, 76
 * %. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_form.h"

enum {
    TASK_OUTPUTS = 560,  /* outputs of a task, at most: a slice of their input stays in cache */
    LINE_OUTPUTS = 112,  /* the same on one line with filters in cache: whole pixels are written */
    TASK_WORK = 1 << 19, /* products of a task, at least, about */
    MOST_TASKS = 16,     /* except for the sake of TASK_OUTPUTS */
    FAR_FILTERS = 1 << 18,  /* elements that do not stay in the second cache, beside all else */
    WHOLE_TILES = 56,       /* a multiple of the rows of most tiles */
    CACHE_SETS_BYTES = 4096 /* addresses so far apart compete for the same places of a cache */
};

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

static tap_range taps_inside(const hn_window *s, int32_t a, int64_t out) {
    int64_t before = s->pad[a] - out * s->stride[a];
    tap_range t = {HN_MIN(divide_up(before, s->dilation[a]), s->kernel[a]),
                   HN_MIN(divide_up(s->in[a] + before, s->dilation[a]), s->kernel[a])};
    t.past = HN_MAX(t.past, t.first);
    return t;
}

/* Those of `all` that lie inside; all empty ranges are the same. */
static tap_range taps_inside_of(const hn_window *s, int32_t a, int64_t out, tap_range all) {
    tap_range t = taps_inside(s, a, out);
    t.first = HN_MAX(t.first, all.first);
    t.past = HN_MIN(t.past, all.past);
    return t.first < t.past ? t : (tap_range){0, 0};
}

/* The end of the outputs from `out` on that have the same taps of `all` inside. */
static int64_t same_taps_end(const hn_window *s, int32_t a, int64_t out, int64_t most,
                             tap_range all) {
    tap_range t = taps_inside_of(s, a, out, all);
    if (t.first == all.first && t.past == all.past && t.past > 0) {
        int64_t begin, end;
        hn_window_inside(s, a, all.past - 1, &begin, &end);
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
static bool find_window_line(const hn_product_form *f, const conv_rect *rect, int64_t row,
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
static int64_t list_runs(const hn_product_form *f, const conv_rect *rect, int64_t k0, int64_t k1,
                         hn_tile_run *runs) {
    int32_t last = f->s.n_axes - 1;
    tap_range taps = rect->taps[last];
    int64_t line_depth = f->s.kernel[last] * f->channels, n = 0, at;
    bool is_joined = f->channels == f->in_step[last] && f->s.dilation[last] == 1;
    int64_t step = is_joined ? HN_MAX(taps.past - taps.first, 1) : 1;
    if (k0 >= k1)
        return 0;
    for (int64_t row = k0 / line_depth; row * line_depth < k1; row++) {
        if (!find_window_line(f, rect, row, &at))
            continue;
        for (int64_t tap = taps.first; tap < taps.past; tap += step) {
            int64_t k = row * line_depth + tap * f->channels;
            int64_t begin = HN_MAX(k, k0), end = HN_MIN(k + step * f->channels, k1);
            if (begin < end)
                runs[n++] = (hn_tile_run){.x = at + tap * f->s.dilation[last] * f->in_step[last] +
                                               begin - k,
                                          .k = begin - k0,
                                          .n = end - begin};
        }
    }
    return n;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct product_run {
    const hn_conv_nhwc_job *job;
    const hn_pool *pool;
    const hn_conv_tiles *tiles;
    const float *packed_w;
    const hn_product_form *form;
    bool cuts_lines;      /* tasks are parts of the only line, otherwise some lines */
    bool has_far_filters; /* more than the second cache holds */
} product_run;

/* Part of a task: some panels of one slice of the filters. */
typedef struct filter_slice {
    const product_run *run;
    int64_t k0, nk, panel0, panel1;
    tap_range line_taps, out_taps; /* of windows: lines, and elements of a line, in this slice */
} filter_slice;

static void enter_slice(filter_slice *s, int64_t k0) {
    const hn_product_form *f = s->run->form;
    int32_t w = f->s.n_axes - 1, h = w - 1;
    s->k0 = k0;
    s->nk = hn_product_slice(f, k0);
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

/* Where the residual of an output lies. */
static int64_t residual_at(const hn_product_form *f, int64_t y) {
    return f->residual_step == f->y_step ? y : y / f->y_step * f->residual_step;
}

/* All tiles of a rectangle that one panel gives; `first` is the tile of the first output. */
static void panel_tiles(const filter_slice *s, const conv_rect *rect, const hn_conv_tile_fn *fns,
                        const hn_conv_tile *first) {
    const hn_product_form *f = s->run->form;
    int32_t w = f->s.n_axes - 1, h = w - 1;
    int64_t x_steps[] = {f->s.stride[h] * f->in_step[h], f->s.stride[w] * f->in_step[w]};
    int64_t y_steps[] = {f->out_step[h], f->out_step[w]};
    int64_t sizes[] = {rect->line1 - rect->line0, rect->out1 - rect->out0};
    int along = sizes[0] > sizes[1] ? 0 : 1; /* rows of tiles follow the longer side */
    int64_t n = sizes[along], most = s->run->tiles->most_rows;
    if (x_steps[along] * (int64_t)sizeof(float) % CACHE_SETS_BYTES == 0)
        most = HN_MIN(most, 8);
    int64_t n_tiles = (n + most - 1) / most, least = n / n_tiles, n_larger = n % n_tiles;
    int64_t ahead_step = first->ahead_step / (n_tiles * sizes[1 - along]), n_done = 0;
    bool is_dense =
        !s->run->has_far_filters && first->n_runs == 1 && first->runs[0].n == x_steps[along];
    hn_conv_tile t = *first;
    t.x_row = x_steps[along];
    t.y_row = y_steps[along];
    t.epilogue.residual_stride = residual_at(f, t.y_row);
    for (int64_t across = 0; across < sizes[1 - along]; across++)
        for (int64_t i = 0, begin = 0, rows; i < n_tiles; i++, begin += rows) {
            int64_t y = across * y_steps[1 - along] + begin * t.y_row;
            bool reads_on = is_dense && i + 1 < n_tiles; /* the input of the next tile */
            rows = least + (i < n_larger);
            t.x = first->x + across * x_steps[1 - along] + begin * t.x_row;
            t.ahead = reads_on ? t.x + rows * t.x_row : first->ahead + n_done * ahead_step * s->nk;
            t.ahead_step = reads_on ? rows : ahead_step;
            t.y = first->y + y;
            if (first->epilogue.residual)
                t.epilogue.residual = first->epilogue.residual + residual_at(f, y);
            n_done++;
            fns[rows](&t);
        }
}

static const hn_conv_tile_fn *panel_fns(const product_run *run, int64_t panel) {
    bool is_wide = hn_panel_width(run->form, panel) == run->form->width;
    return run->form->is_spread ? run->tiles->spread
           : is_wide            ? run->tiles->wide
                                : run->tiles->narrow;
}

/* The panel that follows; itself when none does. */
static const float *next_panel(const filter_slice *s, int64_t p) {
    const hn_product_form *f = s->run->form;
    int64_t k0 = s->k0, nk = s->nk, room = f->groups * f->padded * f->depth;
    int64_t here = hn_panel_at(f, p / f->panels, p % f->panels, k0, nk);
    if (++p == s->panel1) {
        p = s->panel0;
        k0 += nk;
        nk = hn_product_slice(f, k0);
    }
    int64_t next = hn_panel_at(f, p / f->panels, p % f->panels, k0, nk);
    return s->run->packed_w + (next + f->width * s->nk <= room ? next : here);
}

static void rect_panels(const filter_slice *s, const conv_rect *rect) {
    const hn_product_form *f = s->run->form;
    const hn_conv_nhwc_job *job = s->run->job;
    const hn_epilogue_f32 *e = &job->epilogue;
    hn_tile_run runs[HN_PRODUCT_MOST_SLICE];
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
            .x = job->x + x + group * f->group_span,
            .panel = s->run->packed_w + hn_panel_at(f, group, panel, s->k0, s->nk),
            .spread = f->spread,
            .ahead = next_panel(s, p),
            .ahead_step = f->width,
            .y = job->y + rect->y + column,
            .cols = HN_MIN(f->width, f->filters - panel * f->width),
            .add = s->k0 > 0,
        };
        if (is_last) {
            first.epilogue = *e;
            first.epilogue.col_bias = e->col_bias ? e->col_bias + column : NULL;
            first.epilogue.residual =
                e->residual ? e->residual + residual_at(f, rect->y) + column : NULL;
        }
        panel_tiles(s, rect, panel_fns(s->run, panel), &first);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* What the tiles of a task cover: lines of one plane, outputs of each. */
typedef struct plane_part {
    int64_t plane, line0, line1, out0, out1;
} plane_part;

/* The taps of all axes before the lines, and where the plane begins. */
static void enter_plane(const hn_product_form *f, int64_t plane, conv_rect *rect) {
    int64_t rest = plane;
    int32_t h = f->s.n_axes - 2;
    rect->x = 0;
    rect->y = f->out_start;
    for (int32_t a = h - 1; a >= 0; a--) {
        int64_t out = rest % f->s.out[a];
        rest /= f->s.out[a];
        rect->taps[a] = taps_inside(&f->s, a, out);
        rect->x += (out * f->s.stride[a] - f->s.pad[a]) * f->in_step[a];
        rect->y += out * f->out_step[a];
    }
    int64_t image = f->in_step[0] * f->s.in[0];
    rect->x += rest * image;
    rect->y += rest * f->out_image;
}

static void part_rects(const filter_slice *s, const plane_part *part) {
    const hn_product_form *f = s->run->form;
    int32_t w = f->s.n_axes - 1, h = w - 1;
    conv_rect rect; /* large: filled in place */
    enter_plane(f, part->plane, &rect);
    int64_t x = rect.x, y = rect.y;
    for (int64_t line = part->line0; line < part->line1; line = rect.line1) {
        rect.taps[h] = taps_inside_of(&f->s, h, line, s->line_taps);
        rect.line0 = line;
        rect.line1 = same_taps_end(&f->s, h, line, part->line1, s->line_taps);
        for (int64_t out = part->out0; out < part->out1; out = rect.out1) {
            rect.taps[w] = taps_inside_of(&f->s, w, out, s->out_taps);
            rect.out0 = out;
            rect.out1 = same_taps_end(&f->s, w, out, part->out1, s->out_taps);
            rect.x = x + (line * f->s.stride[h] - f->s.pad[h]) * f->in_step[h] +
                     (out * f->s.stride[w] - f->s.pad[w]) * f->in_step[w];
            rect.y = y + line * f->out_step[h] + out * f->out_step[w];
            rect_panels(s, &rect);
        }
    }
}

static plane_part next_part(const product_run *run, int64_t row, int64_t end) {
    const hn_product_form *f = run->form;
    int64_t lines = f->s.out[f->s.n_axes - 2], outs = f->s.out[f->s.n_axes - 1];
    if (run->cuts_lines)
        return (plane_part){0, 0, 1, row, end};
    return (plane_part){row / lines, row % lines, HN_MIN(lines, row % lines + end - row), 0, outs};
}

/* The unary function, which no tile applies. */
static void apply_unary_to_part(const product_run *run, const plane_part *p, int64_t panel0,
                                int64_t panel1) {
    const hn_product_form *f = run->form;
    int32_t w = f->s.n_axes - 1, h = w - 1;
    int64_t from = panel0 / f->panels * f->filters + panel0 % f->panels * f->width;
    int64_t to =
        HN_MIN(panel1 / f->panels * f->filters + panel1 % f->panels * f->width, f->all_filters);
    conv_rect plane;
    enter_plane(f, p->plane, &plane);
    for (int64_t line = p->line0; line < p->line1; line++) {
        float *y = run->job->y + plane.y + line * f->out_step[h] + p->out0 * f->out_step[w] + from;
        hn_epilogue_unary_f32(&run->job->epilogue, p->out1 - p->out0, to - from, f->out_step[w], y);
    }
}

static void product_task(void *ctx, int64_t row0, int64_t row1, int64_t panel0, int64_t panel1) {
    const product_run *run = ctx;
    const hn_product_form *f = run->form;
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
    if (!run->job->epilogue.unary)
        return;
    for (int64_t row = row0; row < row1; row += run->cuts_lines ? row1 : part.line1 - part.line0) {
        part = next_part(run, row, row1);
        apply_unary_to_part(run, &part, panel0, panel1);
    }
}

/* Tasks of about the same size, an even number of them where there are several. Filters are cut
 * first when they are more than the outputs, so that each is read by one task; no task has so many
 * outputs that their input does not stay in the second cache. */
static void cut_product(const product_run *run, int64_t rows, int64_t outs_per_row,
                        int64_t *row_grain, int64_t *panel_grain) {
    const hn_product_form *f = run->form;
    int64_t most_outs = run->cuts_lines && !run->has_far_filters ? LINE_OUTPUTS : TASK_OUTPUTS;
    int64_t panels = f->groups * f->panels, outs = rows * outs_per_row;
    double work = (double)outs * (double)f->depth * (double)(f->filters * f->groups) / TASK_WORK;
    int64_t n_tasks = work < MOST_TASKS ? HN_MAX(((int64_t)work + 1) / 2 * 2, 1) : MOST_TASKS;
    int64_t least_row_parts = HN_MIN((outs + most_outs - 1) / most_outs, rows);
    int64_t row_parts = HN_MIN(n_tasks, rows);
    if (outs <= f->filters * f->groups)
        row_parts = HN_MIN((HN_MIN(n_tasks, MOST_TASKS / 2) + panels - 1) / panels, rows);
    row_parts = HN_MAX(row_parts, least_row_parts);
    int64_t panel_parts = HN_MIN((n_tasks + row_parts - 1) / row_parts, panels);
    *row_grain = (rows + row_parts - 1) / row_parts;
    if (outs_per_row == 1 && *row_grain > WHOLE_TILES)
        *row_grain = (*row_grain + WHOLE_TILES - 1) / WHOLE_TILES * WHOLE_TILES;
    *panel_grain = (panels + panel_parts - 1) / panel_parts;
}

void hn_product_run(hn_pool *pool, const hn_conv_nhwc_job *job, const hn_product_form *f,
                    const float *packed_w) {
    int64_t lines = f->planes * f->s.out[f->s.n_axes - 2], outs = f->s.out[f->s.n_axes - 1];
    int64_t rows = lines == 1 ? outs : lines, row_grain, panel_grain;
    product_run run = {.job = job,
                       .pool = pool,
                       .tiles = hn_conv_tiles_pick(),
                       .packed_w = packed_w,
                       .form = f,
                       .cuts_lines = lines == 1,
                       .has_far_filters = f->groups * f->padded * f->depth > FAR_FILTERS};
    cut_product(&run, rows, run.cuts_lines ? 1 : outs, &row_grain, &panel_grain);
    hn_pool_for_2d(pool, rows, f->groups * f->panels, row_grain, panel_grain, product_task, &run);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

int64_t hn_product_nhwc_packed_elems(const hn_conv_nhwc_job *job) {
    return hn_product_filter_elems(job);
}

void hn_product_nhwc_pack(const hn_conv_nhwc_job *job, float *out) {
    const hn_window *s = job->window;
    hn_filter_view view = {.w = job->w,
                           .filter_step = job->channels / job->groups * s->kernel_elems,
                           .channel_step = s->kernel_elems};
    for (int64_t a = s->n_axes - 1, step = 1; a >= 0; a--) {
        view.tap_step[a] = step;
        step *= s->kernel[a];
    }
    hn_product_pack_filters(job, &view, out);
}

void hn_product_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job) {
    hn_product_form form;
    if (!hn_conv_tiles_pick()) {
        hn_conv_nhwc_plain_f32(pool, job);
        return;
    }
    if (hn_im2col_nhwc_f32(pool, job))
        return;
    if (!job->packed_w)
        hn_product_nhwc_pack(job, job->scratch);
    hn_product_form_read(job, NULL, &form);
    hn_product_run(pool, job, &form, job->packed_w ? job->packed_w : job->scratch);
}
