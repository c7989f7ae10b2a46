/* Winograd's convolution of 3 x 3 windows that move by one, channels last.
 *
 * Windows with gaps (dilation) are several convolutions without: pixels that lie a multiple of the
 * dilation apart meet only each other, and tiles are of such pixels. The output is cut into tiles
 * of 4 x 4 pixels, and blocks of tiles pass three stages: windows of the input are evaluated at 36
 * points (v[point, tile, channel]); each point is a product with the filters there (m[point, tile,
 * filter], of BLOCK_FILTERS at a time); the products become outputs, which leave with bias,
 * residual and activation. What lies between the stages stays in the second cache.
 *
 * A task takes one block of tiles through all stages. Where tiles are few, filters are what takes
 * time to read: tasks are then parts of the filters, and each thread evaluates the windows for
 * itself, because another core's cache is further away than the input.
 *
 * Measured on one core, against the peak that bounds a plain product: with AVX-512 250 % for
 * 56x56x64 and 28x28x128, 200 % for 14x14x256; with AVX2 280 %, 320 % and 250 %. Two thirds of the
 * time are products, which run at the peak; most of the rest is spent on writing v to the second
 * cache. */
#include "cpu/kernels/winograd/winograd.h"

#include <math.h>

#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"

enum {
    TILE_SIDE = HN_WINOGRAD_TILE,
    WINDOW_SIDE = HN_WINOGRAD_WINDOW,
    N_POINTS = HN_WINOGRAD_POINTS,
    WHOLE_VECTOR = HN_WINOGRAD_LANES,
    NEAR_FILTERS = 1 << 20, /* so many numbers of filters stay in the second cache */
    NEAR_BLOCK_TILES = 28,  /* of a block, at most: with such filters, and with more */
    FAR_BLOCK_TILES = 56,
    LEAST_BLOCK_TILES = 12, /* of a block, where there is more than one */
    BLOCKS_MULTIPLE = 4,    /* their number is a multiple of it: threads get even shares */
    FEWEST_CUT_TILES = 16,  /* that are cut in two where nothing else is left to cut */
    BLOCK_FILTERS = 64,
    WINDOW_CHUNK = 64 /* channels of a window that is not all inside, copied at a time */
};

/* ---- choosing -------------------------------------------------------------------------------- */

static int64_t winograd_pieces(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

static int64_t winograd_round_up(int64_t n, int64_t to) {
    return winograd_pieces(n, to) * to;
}

static bool is_three_by_three(const hn_window *s) {
    bool is_so = s->n_axes == 2;
    for (int32_t a = 0; is_so && a < 2; a++)
        is_so = s->kernel[a] == 3 && s->stride[a] == 1;
    return is_so;
}

bool hn_winograd_can(const hn_conv_nhwc_job *job) {
    return hn_winograd_pick() && job->groups == 1 && is_three_by_three(job->window);
}

/* Tiles along an axis of `size` outputs: pixels a dilation apart have tiles of their own. */
static int64_t tiles_along(int64_t size, int64_t dilation) {
    int64_t phases = HN_MIN(dilation, size);
    return phases > 0 ? phases * winograd_pieces(winograd_pieces(size, phases), TILE_SIDE) : 0;
}

/* The share of the taps along an axis that lie inside the input: only far ones count, which a
 * product leaves out row by row. */
static double share_of_taps_inside(const hn_window *s, int32_t axis) {
    int64_t inside = 0, size = s->out[axis];
    if (s->dilation[axis] == 1 || s->out_elems == 0)
        return 1;
    for (int64_t tap = 0; tap < 3; tap++) {
        int64_t first = tap * s->dilation[axis] - s->pad[axis]; /* read by the first output */
        inside += HN_MAX(HN_MIN(size, s->in[axis] - first) - HN_MAX(-first, 0), 0);
    }
    return (double)inside / (3 * (double)size);
}

/* Costs in units of one product while all is in cache. Measured with AVX-512; to read a number of
 * the filters takes between 14 (from the last cache) and 32 (from memory). */
bool hn_winograd_fits(const hn_conv_nhwc_job *job) {
    const double read = 24, transform = 16;
    const int64_t unknown_size = 28;
    const hn_window *s = job->window;
    const hn_winograd_set *set = hn_winograd_pick();
    if (!hn_winograd_can(job))
        return false;
    bool is_known = s->out_elems > 0;
    int64_t height = is_known ? s->out[0] : unknown_size;
    int64_t width = is_known ? s->out[1] : unknown_size;
    double images = (double)HN_MAX(job->batch, 1);
    double tiles = images * (double)tiles_along(height, s->dilation[0]) *
                   (double)tiles_along(width, s->dilation[1]);
    double channels = (double)job->channels, filters = (double)job->filters;
    double pairs = channels * (double)winograd_round_up(job->filters, set->width);
    double moved = (double)winograd_round_up(job->channels, WHOLE_VECTOR) + filters;
    double taps = 9 * share_of_taps_inside(s, 0) * share_of_taps_inside(s, 1);
    double pixels = images * (double)(height * width);
    double product = (taps * pixels + 9 * read) * channels * filters;
    return N_POINTS * ((tiles + read) * pairs + tiles * moved * transform) < product;
}

/* ---- how the work is cut --------------------------------------------------------------------- */

typedef struct winograd_run {
    const hn_conv_nhwc_job *job;
    const hn_winograd_set *set;
    const hn_conv_tiles *products;
    const hn_pool *pool;
    int64_t tiles_h, tiles_w, n_tiles;
    int64_t width, n_panels;   /* of filters */
    int64_t n_blocks, n_parts; /* of tiles; of the filters of one block */
    int64_t v_row;             /* floats per tile and point: the channels in whole vectors */
    int64_t v_plane, m_plane;  /* floats per point */
    int64_t v_elems, m_elems;
    hn_epilogue_f32 epilogue; /* of the job, with limits */
} winograd_run;

/* One block of tiles, and memory for it. */
typedef struct winograd_block {
    const winograd_run *run;
    int64_t tile0, tile1;
    float *v, *m;
} winograd_block;

static void cut_winograd(winograd_run *r) {
    bool is_near = N_POINTS * r->job->channels * r->n_panels * r->width <= NEAR_FILTERS;
    int64_t most = is_near ? NEAR_BLOCK_TILES : FAR_BLOCK_TILES;
    r->n_blocks = r->n_parts = 1;
    if (r->n_tiles > HN_MAX(most, BLOCKS_MULTIPLE * LEAST_BLOCK_TILES))
        r->n_blocks = winograd_round_up(winograd_pieces(r->n_tiles, most), BLOCKS_MULTIPLE);
    else
        r->n_parts = winograd_pieces(r->n_panels, BLOCK_FILTERS / r->width);
    if (r->n_blocks * r->n_parts == 1 && r->n_tiles >= FEWEST_CUT_TILES)
        r->n_blocks = 2;
}

static winograd_run plan_winograd(const hn_conv_nhwc_job *job) {
    const hn_window *s = job->window;
    winograd_run r = {.job = job,
                      .set = hn_winograd_pick(),
                      .products = hn_conv_tiles_pick(),
                      .tiles_h = tiles_along(s->out[0], s->dilation[0]),
                      .tiles_w = tiles_along(s->out[1], s->dilation[1]),
                      .width = hn_winograd_pick()->width,
                      .v_row = winograd_round_up(job->channels, WHOLE_VECTOR),
                      .epilogue = hn_epilogue_limited_f32(&job->epilogue)};
    r.n_tiles = job->batch * r.tiles_h * r.tiles_w;
    r.n_panels = winograd_pieces(job->filters, r.width);
    cut_winograd(&r);
    /* one vector more, so that the points of a tile do not fall on the same lines of a cache */
    int64_t tiles = winograd_pieces(r.n_tiles, r.n_blocks);
    r.v_plane = tiles * r.v_row + WHOLE_VECTOR;
    r.m_plane = tiles * BLOCK_FILTERS + WHOLE_VECTOR;
    r.v_elems = N_POINTS * r.v_plane;
    r.m_elems = N_POINTS * r.m_plane;
    return r;
}

/* The memory of one thread: a vector of which the first number says whether v is there, v, and m.
 */
static int64_t lane_elems(const winograd_run *r) {
    return WHOLE_VECTOR + r->v_elems + r->m_elems;
}

int64_t hn_winograd_scratch_elems(const hn_conv_nhwc_job *job, int n_threads) {
    winograd_run r = plan_winograd(job);
    return n_threads * lane_elems(&r);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct tile_place {
    int64_t image, y, x;   /* of the first output */
    int64_t height, width; /* in pixels, of what lies inside the output: none in some last tiles */
} tile_place;

/* Tile `tile` of `n` along an axis: its first output, and how many follow a dilation apart. */
static int64_t place_along(const hn_window *s, int32_t axis, int64_t tile, int64_t n,
                           int64_t *inside) {
    int64_t phases = HN_MIN(s->dilation[axis], s->out[axis]), per_phase = n / phases;
    int64_t first = tile / per_phase + tile % per_phase * TILE_SIDE * phases;
    int64_t left = winograd_pieces(HN_MAX(s->out[axis] - first, 0), phases);
    *inside = HN_MIN((int64_t)TILE_SIDE, left);
    return first;
}

static tile_place place_of_tile(const winograd_run *r, int64_t tile) {
    const hn_window *s = r->job->window;
    int64_t row = tile / r->tiles_w;
    tile_place at = {.image = row / r->tiles_h};
    at.y = place_along(s, 0, row % r->tiles_h, r->tiles_h, &at.height);
    at.x = place_along(s, 1, tile % r->tiles_w, r->tiles_w, &at.width);
    return at;
}

/* ---- first stage ----------------------------------------------------------------------------- */

/* Channels c .. c + n of the window that begins at y0, x0, with zeros where there is no image and
 * up to whole vectors. */
static void copy_window(const winograd_run *r, const float *image, int64_t y0, int64_t x0,
                        int64_t c, int64_t n, float *out) {
    const int64_t *in = r->job->window->in, *dilation = r->job->window->dilation;
    int64_t whole = winograd_round_up(n, WHOLE_VECTOR);
    for (int64_t i = 0; i < WINDOW_SIDE; i++)
        for (int64_t j = 0; j < WINDOW_SIDE; j++, out += WINDOW_CHUNK) {
            int64_t y = y0 + i * dilation[0], x = x0 + j * dilation[1];
            int64_t inside = y >= 0 && y < in[0] && x >= 0 && x < in[1] ? n : 0;
            for (int64_t k = inside; k < whole; k++)
                out[k] = 0;
            if (inside)
                memcpy(out, image + (y * in[1] + x) * hn_conv_nhwc_x_stride(r->job) + c,
                       (size_t)n * sizeof *out);
        }
}

static void evaluate_tile(const winograd_block *b, int64_t tile) {
    const winograd_run *r = b->run;
    const hn_window *s = r->job->window;
    tile_place at = place_of_tile(r, tile);
    int64_t channels = r->job->channels, y = at.y - s->pad[0], x = at.x - s->pad[1], c = 0;
    int64_t step = hn_conv_nhwc_x_stride(r->job);
    const float *image = r->job->x + at.image * s->in_elems * step;
    float *v = b->v + (tile - b->tile0) * r->v_row;
    int64_t reach_y = (WINDOW_SIDE - 1) * s->dilation[0];
    int64_t reach_x = (WINDOW_SIDE - 1) * s->dilation[1];
    if (y >= 0 && x >= 0 && y + reach_y < s->in[0] && x + reach_x < s->in[1]) {
        c = channels / WHOLE_VECTOR * WHOLE_VECTOR;
        r->set->input(c, image + (y * s->in[1] + x) * step, s->in[1] * step * s->dilation[0],
                      step * s->dilation[1], v, r->v_plane);
    }
    for (; c < channels; c += WINDOW_CHUNK) {
        int64_t n = HN_MIN((int64_t)WINDOW_CHUNK, channels - c);
        float window[N_POINTS * WINDOW_CHUNK];
        copy_window(r, image, y, x, c, n, window);
        r->set->input(winograd_round_up(n, WHOLE_VECTOR), window, WINDOW_SIDE * WINDOW_CHUNK,
                      WINDOW_CHUNK, v + c, r->v_plane);
    }
}

static void evaluate_tiles(const winograd_block *b) {
    for (int64_t tile = b->tile0; tile < b->tile1; tile++)
        evaluate_tile(b, tile);
}

/* ---- second stage ---------------------------------------------------------------------------- */

/* Panel `panel` of the filters at one point, for all tiles of the block; `next` will follow. Rows
 * of products are cut evenly, because few rows keep the processor waiting. */
static void multiply_panel(const winograd_block *b, int64_t point, const float *panel,
                           const float *next, float *m) {
    const winograd_run *r = b->run;
    int64_t channels = r->job->channels, n = b->tile1 - b->tile0;
    int64_t parts = winograd_pieces(n, r->products->most_rows);
    const hn_tile_run all = {.n = channels};
    hn_conv_tile t = {.runs = &all,
                      .n_runs = 1,
                      .x_row = r->v_row,
                      .panel = panel,
                      .ahead_step = r->width / parts,
                      .y_row = BLOCK_FILTERS,
                      .cols = r->width};
    for (int64_t i = 0; i < parts; i++) {
        int64_t row = n * i / parts, rows = n * (i + 1) / parts - row;
        t.x = b->v + point * r->v_plane + row * r->v_row;
        t.ahead = next + i * t.ahead_step * channels;
        t.y = m + point * r->m_plane + row * BLOCK_FILTERS;
        r->products->wide[rows](&t);
    }
}

static const float *winograd_panel(const winograd_run *r, int64_t panel, int64_t point) {
    return r->job->packed_w + (panel * N_POINTS + point) * r->job->channels * r->width;
}

/* Panels panel0 .. panel1 at all points. */
static void multiply_panels(const winograd_block *b, int64_t panel0, int64_t panel1) {
    const winograd_run *r = b->run;
    for (int64_t point = 0; point < N_POINTS; point++)
        for (int64_t p = panel0; p < panel1; p++) {
            const float *next = p + 1 < panel1         ? winograd_panel(r, p + 1, point)
                                : point + 1 < N_POINTS ? winograd_panel(r, panel0, point + 1)
                                                       : winograd_panel(r, p, point);
            multiply_panel(b, point, winograd_panel(r, p, point), next,
                           b->m + (p - panel0) * r->width);
        }
}

/* ---- third stage ----------------------------------------------------------------------------- */

/* n filters of the part of a tile that lies inside the output. */
static void copy_outputs(tile_place at, int64_t n, const float *from, int64_t from_row,
                         int64_t from_column, float *to, int64_t to_row, int64_t to_column) {
    for (int64_t i = 0; i < at.height; i++)
        for (int64_t j = 0; j < at.width; j++)
            memcpy(to + i * to_row + j * to_column, from + i * from_row + j * from_column,
                   (size_t)n * sizeof *to);
}

/* n filters from filter f0 on. */
static void interpolate_tile(const winograd_block *b, int64_t tile, int64_t f0, int64_t n,
                             const float *bias) {
    const winograd_run *r = b->run;
    const hn_window *s = r->job->window;
    tile_place at = place_of_tile(r, tile);
    int64_t pixel = hn_conv_nhwc_y_stride(r->job),
            from_pixel = hn_conv_nhwc_residual_stride(r->job);
    int64_t down = s->out[1] * s->dilation[0], right = s->dilation[1], done = 0; /* in pixels */
    int64_t row = down * pixel, column = right * pixel;
    int64_t from_row = down * from_pixel, from_column = right * from_pixel;
    int64_t first = (at.image * s->out[0] + at.y) * s->out[1] + at.x;
    if (at.height == 0 || at.width == 0)
        return;
    hn_epilogue_f32 e = r->epilogue;
    const float *residual = e.residual ? e.residual + first * from_pixel + f0 : NULL;
    e.col_bias = bias;
    e.residual = residual;
    e.residual_stride = from_column;
    const float *m = b->m + (tile - b->tile0) * BLOCK_FILTERS;
    float *y = r->job->y + first * pixel + f0;
    if (at.height == TILE_SIDE && at.width == TILE_SIDE) {
        done = n / WHOLE_VECTOR * WHOLE_VECTOR;
        r->set->output(done, m, r->m_plane, &e, from_row, y, row, column);
    }
    if (done < n) {
        float buffer[TILE_SIDE * TILE_SIDE * BLOCK_FILTERS] = {0};
        e.col_bias = bias + done;
        e.residual = residual ? buffer : NULL;
        e.residual_stride = BLOCK_FILTERS;
        if (residual)
            copy_outputs(at, n - done, residual + done, from_row, from_column, buffer,
                         TILE_SIDE * BLOCK_FILTERS, BLOCK_FILTERS);
        r->set->output(winograd_round_up(n - done, WHOLE_VECTOR), m + done, r->m_plane, &e,
                       TILE_SIDE * BLOCK_FILTERS, buffer, TILE_SIDE * BLOCK_FILTERS, BLOCK_FILTERS);
        copy_outputs(at, n - done, buffer, TILE_SIDE * BLOCK_FILTERS, BLOCK_FILTERS, y + done, row,
                     column);
    }
    for (int64_t i = 0; i < at.height; i++)
        hn_epilogue_unary_f32(&e, at.width, n, column, y + i * row);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Second and third stage for panels panel0 .. panel1, of BLOCK_FILTERS filters at most. */
static void convolve_panels(const winograd_block *b, int64_t panel0, int64_t panel1) {
    const winograd_run *r = b->run;
    const hn_conv_nhwc_job *job = r->job;
    int64_t f0 = panel0 * r->width, n = HN_MIN(panel1 * r->width, job->filters) - f0;
    float bias[BLOCK_FILTERS] = {0};
    if (job->epilogue.col_bias)
        memcpy(bias, job->epilogue.col_bias + f0, (size_t)n * sizeof *bias);
    multiply_panels(b, panel0, panel1);
    for (int64_t tile = b->tile0; tile < b->tile1; tile++)
        interpolate_tile(b, tile, f0, n, bias);
}

/* Task i: a part of the filters for a block of tiles; only one of both is cut. */
static void convolve_task(void *ctx, int lane, int64_t begin, int64_t end) {
    const winograd_run *r = ctx;
    float *has_v = r->job->scratch + lane * lane_elems(r), *v = has_v + WHOLE_VECTOR;
    int64_t step = BLOCK_FILTERS / r->width;
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i / r->n_parts, part = i % r->n_parts;
        winograd_block b = {.run = r,
                            .tile0 = r->n_tiles * block / r->n_blocks,
                            .tile1 = r->n_tiles * (block + 1) / r->n_blocks,
                            .v = v,
                            .m = v + r->v_elems};
        if (r->n_blocks > 1 || *has_v == 0)
            evaluate_tiles(&b);
        *has_v = 1;
        int64_t panel1 = r->n_parts > 1 ? HN_MIN((part + 1) * step, r->n_panels) : r->n_panels;
        for (int64_t p = part * step; p < panel1 && !hn_pool_is_stopped(r->pool); p += step)
            convolve_panels(&b, p, HN_MIN(p + step, r->n_panels));
    }
}

void hn_winograd_f32(hn_pool *pool, const hn_conv_nhwc_job *job) {
    winograd_run r = plan_winograd(job);
    r.pool = pool;
    for (int lane = 0; lane < hn_pool_threads(pool); lane++)
        job->scratch[lane * lane_elems(&r)] = 0;
    if (r.n_tiles > 0)
        hn_pool_for_lanes(pool, r.n_blocks * r.n_parts, 1, convolve_task, &r);
}

/* ---- with vectors --------------------------------------------------------------------------- */

#define SIMD_TEMPLATE "cpu/kernels/winograd/winograd_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
