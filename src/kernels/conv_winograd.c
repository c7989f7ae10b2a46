/* Winograd's convolution of 3 x 3 windows that move by one, channels last.
 *
 * The output is cut into tiles of 4 x 4 pixels, and blocks of tiles pass three stages: windows of
 * the input are evaluated at 36 points (v[point, tile, channel]); each point is a product with the
 * filters there (m[point, tile, filter], of BLOCK_FILTERS at a time); the products become outputs,
 * which leave with bias, residual and activation. What lies between the stages stays in the second
 * cache.
 *
 * Many tiles: each thread takes whole blocks through all stages. Few tiles: the filters are what
 * takes time to read, so threads share the first stage of a block, and then its filters. Every
 * output comes from the same operations either way. */
#include "kernels/conv_winograd.h"

#include <math.h>

#include "kernels/conv_last_tile.h"

enum {
    TILE = HN_WINOGRAD_TILE,
    WINDOW = HN_WINOGRAD_WINDOW,
    POINTS = HN_WINOGRAD_POINTS,
    LANES = HN_WINOGRAD_LANES,
    BLOCK_TILES = 28, /* two tiles of the product, of 14 rows */
    SHARED_BLOCK_TILES = 56,
    FEW_TILES = 112, /* up to so many, threads share blocks */
    BLOCK_FILTERS = 64,
    CHUNK = 64, /* channels of a window that is not all inside, copied at a time */
    SHARED_TILES_GRAIN = 2
};

/* ---- choosing -------------------------------------------------------------------------------- */

#if defined(__x86_64__)
extern const hn_winograd_set hn_winograd_set__avx512, hn_winograd_set__avx2;
const hn_winograd_set *hn_winograd_pick(void) {
    return hn_cpu_has_all(HN_NEEDS_AVX512) ? &hn_winograd_set__avx512
           : hn_cpu_has_all(HN_NEEDS_AVX2) ? &hn_winograd_set__avx2
                                           : NULL;
}
#elif defined(__aarch64__)
extern const hn_winograd_set hn_winograd_set__neon;
const hn_winograd_set *hn_winograd_pick(void) {
    return hn_cpu_has_all(HN_NEEDS_NEON) ? &hn_winograd_set__neon : NULL;
}
#else
const hn_winograd_set *hn_winograd_pick(void) {
    return NULL;
}
#endif

int64_t hn_winograd_width(void) {
    return 2 * hn_conv_tiles_pick()->vector_elems;
}

static int64_t count_pieces(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

static int64_t round_up(int64_t n, int64_t to) {
    return count_pieces(n, to) * to;
}

static bool is_three_by_three(const hn_slide *s) {
    bool is_so = s->n_axes == 2;
    for (int32_t a = 0; is_so && a < 2; a++)
        is_so = s->kernel[a] == 3 && s->stride[a] == 1 && s->dilation[a] == 1;
    return is_so;
}

/* Costs in units of one product while all is near. Measured with AVX-512; to read a number of the
 * filters takes between 14 (second cache of another core) and 32 (memory). */
bool hn_winograd_fits(const hn_conv_last_job *job) {
    const double read = 24, transform = 10, unknown_size = 28;
    const hn_slide *s = job->slide;
    if (!hn_winograd_pick() || job->groups != 1 || !is_three_by_three(s))
        return false;
    bool is_known = s->out_elems > 0;
    double height = is_known ? (double)s->out[0] : unknown_size;
    double width = is_known ? (double)s->out[1] : unknown_size;
    double images = (double)HN_MAX(job->batch, 1);
    double tiles = images * ceil(height / TILE) * ceil(width / TILE);
    double channels = (double)job->channels, filters = (double)job->filters;
    double pairs = channels * (double)round_up(job->filters, hn_winograd_width());
    double moved = (double)round_up(job->channels, LANES) + filters;
    double product = 9 * (images * height * width + read) * channels * filters;
    return POINTS * ((tiles + read) * pairs + tiles * moved * transform) < product;
}

/* ---- how the work is cut --------------------------------------------------------------------- */

typedef struct winograd_run {
    const hn_conv_last_job *job;
    const hn_winograd_set *set;
    const hn_conv_tiles *products;
    const hn_pool *pool;
    int64_t tiles_h, tiles_w, n_tiles;
    int64_t width, n_panels;  /* of filters */
    bool is_shared;           /* blocks are taken one by one, by all threads */
    int64_t n_blocks;         /* of tiles */
    int64_t v_row;            /* floats per tile and point: the channels in whole vectors */
    int64_t v_plane, m_plane; /* floats per point */
    int64_t v_elems, m_elems;
    float least, most;
} winograd_run;

/* One block of tiles, and memory for it. */
typedef struct winograd_block {
    const winograd_run *run;
    int64_t tile0, tile1;
    float *v, *m;
} winograd_block;

static void cut_tiles(winograd_run *r) {
    r->is_shared = r->n_tiles <= FEW_TILES;
    if (r->is_shared)
        r->n_blocks = HN_MAX(count_pieces(r->n_tiles, SHARED_BLOCK_TILES), 1);
    else /* an even number, for an even number of threads */
        r->n_blocks = round_up(count_pieces(r->n_tiles, BLOCK_TILES), 4);
}

static winograd_run plan_run(const hn_conv_last_job *job) {
    const hn_slide *s = job->slide;
    const hn_finish_f32 *f = job->finish;
    bool is_limited = f && f->map && f->is_clamp;
    winograd_run r = {.job = job,
                      .set = hn_winograd_pick(),
                      .products = hn_conv_tiles_pick(),
                      .tiles_h = count_pieces(s->out[0], TILE),
                      .tiles_w = count_pieces(s->out[1], TILE),
                      .width = hn_winograd_width(),
                      .v_row = round_up(job->channels, LANES),
                      .least = is_limited ? f->a : -HUGE_VALF,
                      .most = is_limited ? f->b : HUGE_VALF};
    r.n_tiles = job->batch * r.tiles_h * r.tiles_w;
    r.n_panels = count_pieces(job->filters, r.width);
    cut_tiles(&r);
    /* one vector more, so that the points of a tile do not fall on the same lines of a cache */
    int64_t tiles = count_pieces(r.n_tiles, r.n_blocks);
    r.v_plane = tiles * r.v_row + LANES;
    r.m_plane = tiles * BLOCK_FILTERS + LANES;
    r.v_elems = POINTS * r.v_plane;
    r.m_elems = POINTS * r.m_plane;
    return r;
}

int64_t hn_winograd_scratch_elems(const hn_conv_last_job *job, int n_threads) {
    winograd_run r = plan_run(job);
    return (r.is_shared ? 1 : n_threads) * r.v_elems + n_threads * r.m_elems;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct tile_place {
    int64_t image, y, x;   /* of the first output */
    int64_t height, width; /* of what lies inside the output */
} tile_place;

static tile_place place_of_tile(const winograd_run *r, int64_t tile) {
    const int64_t *out = r->job->slide->out;
    int64_t row = tile / r->tiles_w;
    tile_place at = {row / r->tiles_h, row % r->tiles_h * TILE, tile % r->tiles_w * TILE, 0, 0};
    at.height = HN_MIN((int64_t)TILE, out[0] - at.y);
    at.width = HN_MIN((int64_t)TILE, out[1] - at.x);
    return at;
}

/* ---- first stage ----------------------------------------------------------------------------- */

/* Channels c .. c + n of the window that begins at y0, x0; zeros where there is no image. */
static void copy_window(const winograd_run *r, const float *image, int64_t y0, int64_t x0,
                        int64_t c, int64_t n, float *out) {
    const hn_slide *s = r->job->slide;
    memset(out, 0, POINTS * CHUNK * sizeof *out);
    for (int64_t y = HN_MAX(y0, 0); y < HN_MIN(y0 + WINDOW, s->in[0]); y++)
        for (int64_t x = HN_MAX(x0, 0); x < HN_MIN(x0 + WINDOW, s->in[1]); x++)
            memcpy(out + ((y - y0) * WINDOW + x - x0) * CHUNK,
                   image + (y * s->in[1] + x) * r->job->channels + c, (size_t)n * sizeof *out);
}

static void evaluate_tile(const winograd_block *b, int64_t tile) {
    const winograd_run *r = b->run;
    const hn_slide *s = r->job->slide;
    tile_place at = place_of_tile(r, tile);
    int64_t channels = r->job->channels, y = at.y - s->pad[0], x = at.x - s->pad[1], c = 0;
    const float *image = r->job->x + at.image * s->in_elems * channels;
    float *v = b->v + (tile - b->tile0) * r->v_row;
    if (y >= 0 && x >= 0 && y + WINDOW <= s->in[0] && x + WINDOW <= s->in[1]) {
        c = channels / LANES * LANES;
        r->set->input(c, image + (y * s->in[1] + x) * channels, s->in[1] * channels, channels, v,
                      r->v_plane);
    }
    for (; c < channels; c += CHUNK) {
        int64_t n = HN_MIN((int64_t)CHUNK, channels - c);
        float window[POINTS * CHUNK];
        copy_window(r, image, y, x, c, n, window);
        r->set->input(round_up(n, LANES), window, WINDOW * CHUNK, CHUNK, v + c, r->v_plane);
    }
}

static void evaluate_tiles(void *ctx, int64_t begin, int64_t end) {
    const winograd_block *b = ctx;
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(b->run->pool); i++)
        evaluate_tile(b, b->tile0 + i);
}

/* ---- second stage ---------------------------------------------------------------------------- */

/* One panel of filters at one point, for all tiles; rows of products are cut evenly, because few
 * rows keep the processor waiting. */
static void multiply_panel(const winograd_block *b, int64_t point, int64_t panel, float *m) {
    const winograd_run *r = b->run;
    int64_t channels = r->job->channels, n = b->tile1 - b->tile0;
    int64_t parts = count_pieces(n, r->products->most_rows);
    const hn_tile_run all = {.n = channels};
    hn_conv_tile t = {.runs = &all,
                      .n_runs = 1,
                      .x_row = r->v_row,
                      .panel = r->job->packed_w + (panel * POINTS + point) * channels * r->width,
                      .y_row = BLOCK_FILTERS,
                      .cols = r->width};
    for (int64_t i = 0; i < parts; i++) {
        int64_t row = n * i / parts, rows = n * (i + 1) / parts - row;
        t.x = b->v + point * r->v_plane + row * r->v_row;
        t.y = m + point * r->m_plane + row * BLOCK_FILTERS;
        r->products->wide[rows](&t);
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
    const hn_slide *s = r->job->slide;
    const hn_finish_f32 *f = r->job->finish;
    tile_place at = place_of_tile(r, tile);
    int64_t column = r->job->filters, row = s->out[1] * column, done = 0;
    int64_t start = ((at.image * s->out[0] + at.y) * s->out[1] + at.x) * column + f0;
    const float *residual = f && f->residual ? f->residual + start : NULL;
    const float *m = b->m + (tile - b->tile0) * BLOCK_FILTERS;
    float *y = r->job->y + start;
    if (at.height == TILE && at.width == TILE) {
        hn_winograd_end end = {bias, residual, r->least, r->most};
        done = n / LANES * LANES;
        r->set->output(done, m, r->m_plane, &end, y, row, column);
    }
    if (done < n) {
        float buffer[TILE * TILE * BLOCK_FILTERS] = {0};
        hn_winograd_end end = {bias + done, residual ? buffer : NULL, r->least, r->most};
        if (residual)
            copy_outputs(at, n - done, residual + done, row, column, buffer, TILE * BLOCK_FILTERS,
                         BLOCK_FILTERS);
        r->set->output(round_up(n - done, LANES), m + done, r->m_plane, &end, buffer,
                       TILE * BLOCK_FILTERS, BLOCK_FILTERS);
        copy_outputs(at, n - done, buffer, TILE * BLOCK_FILTERS, BLOCK_FILTERS, y + done, row,
                     column);
    }
    if (f && f->map && !f->is_clamp)
        for (int64_t i = 0; i < at.height * at.width; i++) {
            float *pixel = y + i / at.width * row + i % at.width * column;
            f->map(pixel, pixel, (uint64_t)n, f->a, f->b);
        }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Second and third stage for panels panel0 .. panel1, of BLOCK_FILTERS filters at most. */
static void convolve_panels(const winograd_block *b, int64_t panel0, int64_t panel1) {
    const winograd_run *r = b->run;
    const hn_conv_last_job *job = r->job;
    int64_t f0 = panel0 * r->width, n = HN_MIN(panel1 * r->width, job->filters) - f0;
    float bias[BLOCK_FILTERS] = {0};
    if (job->bias)
        memcpy(bias, job->bias + f0, (size_t)n * sizeof *bias);
    for (int64_t point = 0; point < POINTS && !hn_pool_is_stopped(r->pool); point++)
        for (int64_t p = panel0; p < panel1; p++)
            multiply_panel(b, point, p, b->m + (p - panel0) * r->width);
    for (int64_t tile = b->tile0; tile < b->tile1 && !hn_pool_is_stopped(r->pool); tile++)
        interpolate_tile(b, tile, f0, n, bias);
}

static void convolve_shared(void *ctx, int lane, int64_t panel0, int64_t panel1) {
    winograd_block b = *(const winograd_block *)ctx;
    b.m += lane * b.run->m_elems;
    convolve_panels(&b, panel0, panel1);
}

static winograd_block block_at(const winograd_run *r, int64_t i, float *v, float *m) {
    return (winograd_block){r, r->n_tiles * i / r->n_blocks, r->n_tiles * (i + 1) / r->n_blocks, v,
                            m};
}

static void convolve_block(void *ctx, int lane, int64_t begin, int64_t end) {
    const winograd_run *r = ctx;
    int64_t step = BLOCK_FILTERS / r->width;
    float *v = r->job->scratch + lane * (r->v_elems + r->m_elems);
    for (int64_t i = begin; i < end; i++) {
        winograd_block b = block_at(r, i, v, v + r->v_elems);
        evaluate_tiles(&b, 0, b.tile1 - b.tile0);
        for (int64_t p = 0; p < r->n_panels; p += step)
            convolve_panels(&b, p, HN_MIN(p + step, r->n_panels));
    }
}

void hn_winograd_f32(hn_pool *pool, const hn_conv_last_job *job) {
    winograd_run r = plan_run(job);
    r.pool = pool;
    if (!r.is_shared) {
        hn_pool_for_lanes(pool, r.n_blocks, 1, convolve_block, &r);
        return;
    }
    for (int64_t i = 0; i < r.n_blocks; i++) {
        winograd_block b = block_at(&r, i, job->scratch, job->scratch + r.v_elems);
        hn_pool_for(pool, b.tile1 - b.tile0, SHARED_TILES_GRAIN, evaluate_tiles, &b);
        hn_pool_for_lanes(pool, r.n_panels, BLOCK_FILTERS / r.width, convolve_shared, &b);
    }
}
