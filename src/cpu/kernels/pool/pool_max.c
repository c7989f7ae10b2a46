/* The largest of each window, over one or two axes. Bound by the copies into bands. */
#include "cpu/kernels/conv_chain/band.h"

#include <math.h>

typedef struct pool_max_run {
    const hn_pool *pool;
    const hn_row_loops_f32 *loops;
    hn_band form;
    int64_t in_elems, out_elems;
    const float *x;
    float *y;
} pool_max_run;

static void pool_max_planes(void *ctx, int64_t begin, int64_t end) {
    const pool_max_run *run = ctx;
    const hn_band *f = &run->form;
    float band[HN_BAND_ROOM], most[HN_BAND_ROOM];
    for (int64_t p = begin; p < end && !hn_pool_is_stopped(run->pool); p++)
        for (int64_t row0 = 0; row0 < f->out_h; row0 += f->rows) {
            int64_t rows = HN_MIN(f->rows, f->out_h - row0);
            hn_band_plan(f, run->x + p * run->in_elems, row0, -HUGE_VALF, band);
            run->loops->tap_most(hn_band_outputs(f, rows), band, f->n_taps, f->offsets, most);
            for (int64_t r = 0; r < rows; r++)
                memcpy(run->y + p * run->out_elems + (row0 + r) * f->out_w, most + r * f->pitch,
                       (size_t)f->out_w * sizeof *most);
        }
}

bool hn_pool_max_f32(hn_pool *pool, const hn_window *s, int64_t n_planes, const float *x,
                     float *y) {
    pool_max_run run = {.pool = pool,
                        .loops = hn_row_loops_pick_f32(),
                        .in_elems = s->in_elems,
                        .out_elems = s->out_elems,
                        .x = x,
                        .y = y};
    if (!run.loops || s->out_elems == 0 || !hn_band_read(s, INT64_MAX, &run.form))
        return false;
    int64_t work = s->out_elems * run.form.n_taps;
    hn_pool_for(pool, n_planes, HN_MAX(1, 65536 / HN_MAX(work, 1)), pool_max_planes, &run);
    return true;
}
