/* Softmax and LogSoftmax of floats: rows, and lanes along an axis that others follow. */
#include "ops/eval/onnx/axis_eval.h"
#include "cpu/kernels/rows/row_loops.h"

#include <math.h>

typedef struct softmax_run {
    const hn_softmax *form;
    const float *x;
    float *y;
} softmax_run;

/* ---- rows ------------------------------------------------------------------------------------ */

static void plain_softmax_row(int64_t n, const float *x, float *y) {
    float largest = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    for (int64_t i = 0; i < n; i++) {
        y[i] = expf(x[i] - largest);
        sum += (double)y[i];
    }
    float scale = (float)(1 / sum);
    for (int64_t i = 0; i < n; i++)
        y[i] *= scale;
}

static void softmax_rows(void *ctx, int64_t begin, int64_t end) {
    const softmax_run *r = ctx;
    int64_t n = r->form->n;
    for (int64_t i = begin; i < end; i++)
        r->form->row(n, r->x + i * n, r->y + i * n);
}

/* An infinite largest element makes all results NaN, as in Softmax. */
static void plain_log_softmax_row(int64_t n, const float *x, float *y) {
    float largest = -INFINITY, log_sum = NAN;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    for (int64_t i = 0; i < n; i++)
        sum += (double)expf(x[i] - largest);
    if (!isinf(largest))
        log_sum = (float)log(sum);
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] - largest - log_sum;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Tiles of neighbouring lanes go along the axis together, so that all loops are over elements that
 * lie side by side. 16 x 33600 floats take 0.36 ms on one core. */

#define FLOATS_ADDED_UP 32 /* before they go into a double: errors stay as small as in rows */

/* Of one tile. */
typedef struct lane_sums {
    float largest[HN_TILE];
    double sum[HN_TILE]; /* of powers of the distances from the largest */
} lane_sums;

static void add_powers(const hn_softmax *j, const float *x, float *y, int64_t width, lane_sums *s) {
    float powers[HN_TILE], sum[HN_TILE] = {0};
    for (int64_t k = 0; k < j->n; k++) {
        float *out = j->is_log ? powers : y + k * j->inner;
        j->sub(x + k * j->inner, 1, s->largest, 1, out, (uint64_t)width);
        j->exp(out, out, (uint64_t)width, 0, 0);
        j->add(sum, 1, out, 1, sum, (uint64_t)width);
        if (k % FLOATS_ADDED_UP != FLOATS_ADDED_UP - 1 && k != j->n - 1)
            continue;
        for (int64_t i = 0; i < width; i++) {
            s->sum[i] += (double)sum[i];
            sum[i] = 0;
        }
    }
}

/* An infinite largest element makes all results NaN, as in Softmax. */
static void write_logs(const hn_softmax *j, const float *x, float *y, int64_t width,
                       const lane_sums *s) {
    float log_sum[HN_TILE];
    for (int64_t i = 0; i < width; i++)
        log_sum[i] = isinf(s->largest[i]) ? NAN : (float)log(s->sum[i]);
    for (int64_t k = 0; k < j->n; k++) {
        float *out = y + k * j->inner;
        j->sub(x + k * j->inner, 1, s->largest, 1, out, (uint64_t)width);
        j->sub(out, 1, log_sum, 1, out, (uint64_t)width);
    }
}

static void scale_powers(const hn_softmax *j, float *y, int64_t width, const lane_sums *s) {
    float scale[HN_TILE];
    for (int64_t i = 0; i < width; i++)
        scale[i] = (float)(1 / s->sum[i]);
    for (int64_t k = 0; k < j->n; k++)
        j->mul(y + k * j->inner, 1, scale, 1, y + k * j->inner, (uint64_t)width);
}

static void soften_tiles(void *ctx, int64_t begin, int64_t end) {
    const softmax_run *r = ctx;
    const hn_softmax *j = r->form;
    for (int64_t tile = begin; tile < end; tile++) {
        int64_t lane = tile % j->tiles_per_row * HN_TILE;
        int64_t first = tile / j->tiles_per_row * j->n * j->inner + lane;
        int64_t width = HN_MIN(HN_TILE, j->inner - lane);
        const float *x = r->x + first;
        lane_sums s = {.sum = {0}};
        memcpy(s.largest, x, (size_t)width * sizeof *x);
        for (int64_t k = 1; k < j->n; k++)
            j->max(s.largest, 1, x + k * j->inner, 1, s.largest, (uint64_t)width);
        add_powers(j, x, r->y + first, width, &s);
        if (j->is_log)
            write_logs(j, x, r->y + first, width, &s);
        else
            scale_powers(j, r->y + first, width, &s);
    }
}

/* ---- choosing -------------------------------------------------------------------------------- */

bool hn_softmax_plan(hn_softmax *s, const hn_axis_view *v, bool is_log, hn_dtype t) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    hn_unary_fn_f32 fast_exp = hn_unary_find_f32("Exp");
    *s = (hn_softmax){.outer = (int64_t)v->outer,
                      .n = (int64_t)v->n,
                      .inner = (int64_t)v->inner,
                      .tiles_per_row = (int64_t)((v->inner + HN_TILE - 1) / HN_TILE),
                      .is_log = is_log,
                      .row = is_log  ? loops ? loops->log_softmax : plain_log_softmax_row
                             : loops ? loops->softmax
                                     : plain_softmax_row,
                      .exp = fast_exp ? fast_exp : hn_unary_find("Exp")->f32,
                      .add = hn_binary_find_f32("Add"),
                      .sub = hn_binary_float_loop(hn_binary_find("Sub")),
                      .mul = hn_binary_find_f32("Mul"),
                      .max = hn_binary_find_f32("Max")};
    bool has_lanes = fast_exp && s->add && s->sub && s->mul && s->max;
    return t == HN_F32 && (v->inner == 1 || has_lanes);
}

void hn_softmax_run(hn_pool *pool, const hn_softmax *s, const float *x, float *y) {
    softmax_run r = {s, x, y};
    if (s->inner == 1)
        hn_pool_for(pool, s->outer, HN_MAX(HN_GRAIN / s->n, 1), softmax_rows, &r);
    else
        hn_pool_for(pool, s->outer * s->tiles_per_row,
                    HN_MAX(HN_GRAIN / (s->n * HN_MIN(s->inner, HN_TILE)), 1), soften_tiles, &r);
}
