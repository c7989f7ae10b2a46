/* Lowering of operators that pick elements along axes: Tile, Pad, CenterCropPad, and Gather by
 * indices that are known. */
#include "cpu/lower/lower.h"
#include "cpu/lower/copy_step.h"

hone_status hn_keep_picks(hn_eval *c, const hn_array *y, const hn_array *x,
                          const int64_t *const *picks, hn_pick_step *s) {
    const int64_t **kept = hn_lower_alloc(c, ((size_t)y->rank + 1) * sizeof *kept);
    HN_TRY_PTR(kept);
    memcpy(kept, picks, (size_t)y->rank * sizeof *kept);
    s->fill.dtype = y->dtype;
    s->fill_arg = -1;
    return hn_pick_plan(c, &s->copy, y, x, kept);
}

hone_status hn_run_picks(const void *record, const hn_step_io *io) {
    const hn_pick_step *s = record;
    hn_array fill = s->fill;
    if (s->fill_arg >= 0)
        fill.data = (void *)(uintptr_t)io->in[s->fill_arg];
    return hn_pick_run(NULL, io->pool, &s->copy, io->out[0], io->in[0], fill.data ? &fill : NULL);
}

static hone_status lower_picks(hn_eval *c, hn_picks_fn find, hn_pick_step **out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    const int64_t *picks[HN_MAX_RANK];
    *out = NULL;
    if (!x || !y || x->dtype != y->dtype || x->rank != y->rank || y->n_elems == 0 ||
        !hn_is_whole_bytes(x->dtype))
        return HONE_OK;
    HN_TRY(find(c, picks));
    hn_pick_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_keep_picks(c, y, x, picks, s));
    *out = s;
    return HONE_OK;
}

static hone_status lower_tile(hn_eval *c, hn_lowered *out) {
    hn_pick_step *s;
    HN_TRY(lower_picks(c, hn_tile_picks, &s));
    if (s)
        *out = (hn_lowered){.run = hn_run_picks, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_tile[1] = {{.lower = lower_tile}};

static hone_status lower_center_crop_pad(hn_eval *c, hn_lowered *out) {
    hn_pick_step *s;
    HN_TRY(lower_picks(c, hn_center_crop_pad_picks, &s));
    if (s)
        *out = (hn_lowered){.run = hn_run_picks, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_center_crop_pad[1] = {{.lower = lower_center_crop_pad}};

/* The value may be computed by the run. */
static hone_status lower_pad(hn_eval *c, hn_lowered *out) {
    hn_pick_step *s;
    const hn_array *value;
    hn_array room;
    if (!hn_arg_is_known(c, 1) || !hn_arg_is_known(c, 3))
        return HONE_OK;
    HN_TRY(lower_picks(c, hn_pad_picks, &s));
    if (!s)
        return HONE_OK;
    HN_TRY(hn_pad_value(c, &room, &value));
    if (value == &room)
        s->fill = room;
    else if (value)
        s->fill_arg = 2;
    *out = (hn_lowered){.run = hn_run_picks, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_pad[1] = {{.lower = lower_pad}};
