/* Lowering of Gather. */
#include "cpu/lower/lower.h"
#include "cpu/lower/copy_step.h"
#include "ops/eval_engine.h"

typedef struct gather_step {
    hn_dtype dtype, index_type;
    hn_split3 size; /* of the data: in front of the axis, along it, and behind it */
    int64_t n;      /* indices */
} gather_step;

typedef struct gather_run {
    const gather_step *step;
    hn_array to, from;
    const int64_t *starts; /* within one slice of the axes from the gathered one on */
} gather_run;

/* Indices as places in the data; scratch holds them. */
static hone_status find_gather_starts(const gather_step *s, const hn_step_io *io) {
    int64_t *starts = io->scratch;
    int64_t size = s->size.mid;
    hn_array indices = {.dtype = s->index_type, .data = (void *)(uintptr_t)io->in[1]};
    hn_load_i64(&indices, 0, (uint64_t)s->n, starts);
    for (int64_t i = 0; i < s->n; i++) {
        if (starts[i] < -size || starts[i] >= size)
            return hn_fail_index(io->err, starts[i], size);
        starts[i] = (starts[i] < 0 ? starts[i] + size : starts[i]) * s->size.inner;
    }
    return HONE_OK;
}

/* Places begin .. end of all outer ones and all indices. */
static void gather_range(void *ctx, int64_t begin, int64_t end) {
    gather_run *r = ctx;
    const gather_step *s = r->step;
    uint64_t run = (uint64_t)s->size.inner;
    while (begin < end) {
        int64_t outer = begin / s->n, first = begin % s->n,
                some = HN_MIN(s->n - first, end - begin);
        hn_copy_listed(NULL, &r->to, (uint64_t)begin * run, &r->from,
                       outer * s->size.mid * s->size.inner, run, (uint64_t)some, r->starts + first);
        begin += some;
    }
}

static hone_status run_gather(const void *record, const hn_step_io *io) {
    const gather_step *s = record;
    gather_run r = {.step = s,
                    .to = {.dtype = s->dtype, .data = io->out[0]},
                    .from = {.dtype = s->dtype, .data = (void *)(uintptr_t)io->in[0]},
                    .starts = io->scratch};
    int64_t n = s->size.outer * s->n, grain = HN_MAX(1, HN_MOVE_GRAIN / HN_MAX(s->size.inner, 1));
    HN_TRY(find_gather_starts(s, io));
    if (n <= grain)
        gather_range(&r, 0, n);
    else
        hn_pool_for(io->pool, n, grain, gather_range, &r);
    return HONE_OK;
}

/* ---- one index ------------------------------------------------------------------------------- */

typedef struct gather_one_step {
    hn_grid_copy copy; /* of index 0 */
    hn_dtype index_type;
    int64_t size, index_bytes; /* of the axis, and from one index to the next */
} gather_one_step;

static hone_status run_gather_one(const void *record, const hn_step_io *io) {
    const gather_one_step *s = record;
    hn_array indices = {.dtype = s->index_type, .data = (void *)(uintptr_t)io->in[1]};
    int64_t index;
    hn_load_i64(&indices, 0, 1, &index);
    if (index < -s->size || index >= s->size)
        return hn_fail_index(io->err, index, s->size);
    index += index < 0 ? s->size : 0;
    hn_grid_run(io->pool, &s->copy, io->out[0],
                (const uint8_t *)io->in[0] + index * s->index_bytes);
    return HONE_OK;
}

static hone_status lower_gather_one(hn_eval *c, int32_t axis, const hn_split3 *size,
                                    hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0);
    hn_box_move m;
    gather_one_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->index_type = hn_arg(c, 1)->dtype;
    s->size = size->mid;
    s->index_bytes = size->inner * (int64_t)hn_elem_bytes(x->dtype);
    hn_part_move(hn_ret(c, 0), x, axis, 0, 1, false, &m);
    HN_TRY(hn_keep_grid(c, x->dtype, &m, &s->copy));
    *out = (hn_lowered){.run = run_gather_one, .record = s};
    return HONE_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Indices that are known are looked at once. */
static hone_status lower_known_gather(hn_eval *c, const hn_split3 *size, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0), *indices = hn_arg(c, 1);
    int64_t *dims = hn_lower_alloc(c, 6 * sizeof *dims);
    int64_t *at = hn_lower_alloc(c, (size_t)indices->n_elems * sizeof *at);
    hn_pick_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(dims && at && s);
    hn_load_i64(indices, 0, indices->n_elems, at);
    for (uint64_t i = 0; i < indices->n_elems; i++)
        HN_TRY(hn_index_of(c->err, at[i], size->mid, &at[i]));
    dims[0] = dims[3] = size->outer;
    dims[1] = size->mid;
    dims[4] = (int64_t)indices->n_elems;
    dims[2] = dims[5] = size->inner;
    hn_array from = hn_array_as(x, 3, dims), to = hn_array_as(y, 3, dims + 3);
    HN_TRY(hn_keep_picks(c, &to, &from, (const int64_t *const[]){NULL, at, NULL}, s));
    *out = (hn_lowered){.run = hn_run_picks, .record = s};
    return HONE_OK;
}

static hone_status lower_gather(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1), *y = hn_ret(c, 0);
    int32_t axis;
    if (!x || !indices || !y || y->n_elems == 0 || !hn_is_whole_bytes(x->dtype))
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &axis));
    hn_split3 size = hn_split_at(x->rank, x->dims, axis);
    if (indices->n_elems == 1)
        return lower_gather_one(c, axis, &size, out);
    if (indices->data)
        return lower_known_gather(c, &size, out);
    gather_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (gather_step){x->dtype, indices->dtype, size, (int64_t)indices->n_elems};
    *out = (hn_lowered){
        .run = run_gather, .record = s, .scratch_bytes = (size_t)s->n * sizeof(int64_t)};
    return HONE_OK;
}
const hn_lowering hn_lower_gather[1] = {{.lower = lower_gather}};
