/* Lowering of GridSample of float images with two axes. Samples are taken in tiles: where their
 * inputs lie, and their weights, is found once for all channels. Weights are rounded once, sums are
 * floats. */
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/sample_eval.h"

#include <math.h>

enum { SAMPLES = 64, MOST_TAPS = 16 }; /* of a tile; of a sample over both axes */

typedef struct sample_step {
    hn_sample_form form;
    int64_t dims[2];
    int64_t n_images, channels, in, out; /* elements of a plane */
    int64_t n_tiles;                     /* of an image */
} sample_step;

typedef struct sample_job {
    const sample_step *step;
    const float *x, *grid;
    float *y;
} sample_job;

/* Inputs of the samples of a tile: flat offsets in a plane, with their weights. Those that a sample
 * has outside the image are zeros, and point to the first element. */
typedef struct sample_tile {
    int32_t n, n_outside;
    int32_t at[MOST_TAPS][SAMPLES];
    float weight[MOST_TAPS][SAMPLES];
    int32_t outside[SAMPLES]; /* samples that have zeros */
    uint32_t zeros[SAMPLES];  /* bits of theirs */
} sample_tile;

/* ---- places ---------------------------------------------------------------------------------- */

/* Inputs along one axis: -1 for a zero. */
typedef struct sample_line {
    int32_t at[4];
    double weight[4];
} sample_line;

/* In elements of the axis; the padding has no say yet. */
static inline double sample_place_of(const sample_step *s, int32_t axis, double v) {
    double size = (double)s->dims[axis];
    return (double)(float)(s->form.align_corners ? (v + 1) / 2 * (size - 1)
                                                 : ((v + 1) * size - 1) / 2);
}

/* Where a part of the inputs may lie outside, or the place is no number. */
static void line_at_border(const hn_sample_form *f, int32_t axis, double v, sample_line *line) {
    double x = hn_sample_place(f, axis, v);
    double first = f->taps == 1 ? x : floor(x) - (f->taps == 4 ? 1 : 0);
    for (int64_t t = 0; t < f->taps; t++) {
        line->at[t] = (int32_t)hn_sample_index(f, axis, first + (double)t);
        line->weight[t] = hn_sample_weight(f->taps, x - (first + (double)t));
    }
}

/* Halves go to even numbers. */
static int32_t nearest_of(double x) {
    return (int32_t)((x + 0x1p52) - 0x1p52);
}

static void line_of(const sample_step *s, int32_t axis, double v, sample_line *line) {
    int32_t taps = (int32_t)s->form.taps, before = taps == 4;
    double x = sample_place_of(s, axis, v);
    if (!(x >= before && x < (double)(s->dims[axis] - 1 - before))) {
        line_at_border(&s->form, axis, v, line);
        return;
    }
    int32_t first = (taps == 1 ? nearest_of(x) : (int32_t)x) - before;
    for (int32_t t = 0; t < taps; t++) {
        line->at[t] = first + t;
        line->weight[t] = hn_sample_weight(taps, x - (first + t));
    }
}

static void find_sample(const sample_step *s, double v_row, double v_col, int32_t i,
                        sample_tile *tile) {
    int32_t taps = (int32_t)s->form.taps;
    uint32_t zeros = 0;
    sample_line row, col;
    line_of(s, 0, v_row, &row);
    line_of(s, 1, v_col, &col);
    for (int32_t r = 0; r < taps; r++)
        for (int32_t c = 0; c < taps; c++) {
            bool is_zero = (row.at[r] | col.at[c]) < 0;
            zeros |= (uint32_t)is_zero << (r * taps + c);
            tile->at[r * taps + c][i] = is_zero ? 0 : row.at[r] * (int32_t)s->dims[1] + col.at[c];
            tile->weight[r * taps + c][i] = (float)(row.weight[r] * col.weight[c]);
        }
    tile->zeros[tile->n_outside] = zeros;
    tile->outside[tile->n_outside] = i;
    tile->n_outside += zeros != 0;
}

/* False where a part of the four inputs of a bilinear sample may lie outside. */
static inline bool find_bilinear(const sample_step *s, double row, double col, int32_t i,
                                 sample_tile *tile) {
    int32_t height = (int32_t)s->dims[0], width = (int32_t)s->dims[1];
    if (!(row >= 0 && row < height - 1 && col >= 0 && col < width - 1))
        return false;
    int32_t y = (int32_t)row, x = (int32_t)col, at = y * width + x;
    float down = (float)(row - y), right = (float)(col - x), up = 1 - down, left = 1 - right;
    tile->at[0][i] = at;
    tile->at[1][i] = at + 1;
    tile->at[2][i] = at + width;
    tile->at[3][i] = at + width + 1;
    tile->weight[0][i] = up * left;
    tile->weight[1][i] = up * right;
    tile->weight[2][i] = down * left;
    tile->weight[3][i] = down * right;
    return true;
}

static void find_tile(const sample_step *s, const float *grid, int32_t n, sample_tile *tile) {
    bool is_bilinear = s->form.taps == 2;
    tile->n = n;
    tile->n_outside = 0;
    for (int32_t i = 0; i < n; i++) {
        double row = (double)grid[2 * i + 1], col = (double)grid[2 * i]; /* the last axis first */
        if (!is_bilinear ||
            !find_bilinear(s, sample_place_of(s, 0, row), sample_place_of(s, 1, col), i, tile))
            find_sample(s, row, col, i, tile);
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

static void sample_inside(const sample_tile *t, int32_t taps, const float *plane, float *out) {
    for (int32_t i = 0; i < t->n && taps == 1; i++)
        out[i] = plane[t->at[0][i]];
    for (int32_t i = 0; i < t->n && taps > 1; i++)
        out[i] = t->weight[0][i] * plane[t->at[0][i]] + t->weight[1][i] * plane[t->at[1][i]] +
                 t->weight[2][i] * plane[t->at[2][i]] + t->weight[3][i] * plane[t->at[3][i]];
    for (int32_t k = 4; k < taps; k += 4)
        for (int32_t i = 0; i < t->n; i++)
            out[i] += t->weight[k][i] * plane[t->at[k][i]] +
                      t->weight[k + 1][i] * plane[t->at[k + 1][i]] +
                      t->weight[k + 2][i] * plane[t->at[k + 2][i]] +
                      t->weight[k + 3][i] * plane[t->at[k + 3][i]];
}

/* A zero times what it points to could be NaN. */
static void sample_outside(const sample_tile *t, int32_t taps, const float *plane, float *out) {
    for (int32_t i = 0; i < t->n_outside; i++) {
        int32_t sample = t->outside[i];
        float sum = 0;
        for (int32_t k = 0; k < taps; k++)
            if (!(t->zeros[i] >> k & 1))
                sum += t->weight[k][sample] * plane[t->at[k][sample]];
        out[sample] = sum;
    }
}

static void sample_tiles(void *ctx, int64_t begin, int64_t end) {
    const sample_job *j = ctx;
    const sample_step *s = j->step;
    int32_t taps = (int32_t)(s->form.taps * s->form.taps);
    sample_tile tile;
    for (int64_t at = begin; at < end; at++) {
        int64_t image = at / s->n_tiles, first = at % s->n_tiles * SAMPLES;
        find_tile(s, j->grid + 2 * (image * s->out + first),
                  (int32_t)HN_MIN(SAMPLES, s->out - first), &tile);
        for (int64_t k = image * s->channels; k < (image + 1) * s->channels; k++) {
            sample_inside(&tile, taps, j->x + k * s->in, j->y + k * s->out + first);
            sample_outside(&tile, taps, j->x + k * s->in, j->y + k * s->out + first);
        }
    }
}

static hone_status run_grid_sample(const void *record, const hn_step_io *io) {
    const sample_step *s = record;
    sample_job j = {s, io->in[0], io->in[1], io->out[0]};
    hn_pool_for(io->pool, s->n_images * s->n_tiles, 4, sample_tiles, &j);
    return HONE_OK;
}

static hone_status lower_grid_sample(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *grid = hn_arg(c, 1), *y = hn_ret(c, 0);
    if (!x || !grid || !y || x->rank != 4 || x->n_elems == 0 || y->n_elems == 0 ||
        x->dtype != HN_F32 || grid->dtype != HN_F32 || y->dtype != HN_F32 ||
        x->dims[2] * x->dims[3] > INT32_MAX)
        return HONE_OK;
    sample_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_sample_read(c, x, &s->form));
    s->dims[0] = x->dims[2];
    s->dims[1] = x->dims[3];
    s->form.dims = s->dims;
    s->n_images = x->dims[0];
    s->channels = x->dims[1];
    s->in = s->dims[0] * s->dims[1];
    s->out = y->dims[2] * y->dims[3];
    s->n_tiles = (s->out + SAMPLES - 1) / SAMPLES;
    *out = (hn_lowered){.run = run_grid_sample, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_grid_sample[1] = {{.lower = lower_grid_sample}};
