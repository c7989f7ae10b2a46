/* Lowering of Concat and Split: a copy for each part, unless it has been made where it belongs. */
#include "cpu/lower/lower.h"
#include "cpu/lower/copy_step.h"

typedef struct part_copy {
    hn_grid_copy copy;
    bool may_be_there; /* nothing is moved from an address to itself */
} part_copy;

typedef struct join_step {
    uint32_t n;
    part_copy *parts; /* by argument of Concat, by result of Split */
} join_step;

static void run_part(hn_pool *pool, const part_copy *p, void *to, const void *from) {
    const hn_grid_copy *copy = &p->copy;
    if (p->may_be_there && (const uint8_t *)to + copy->to_first * copy->elem_bytes ==
                               (const uint8_t *)from + copy->from_first * copy->elem_bytes)
        return;
    hn_grid_run(pool, copy, to, from);
}

static hone_status run_concat(const void *record, const hn_step_io *io) {
    const join_step *s = record;
    for (uint32_t i = 0; i < s->n; i++)
        run_part(io->pool, &s->parts[i], io->out[0], io->in[i]);
    return HONE_OK;
}

static hone_status run_split(const void *record, const hn_step_io *io) {
    const join_step *s = record;
    for (uint32_t i = 0; i < s->n; i++)
        if (io->out[i])
            run_part(io->pool, &s->parts[i], io->out[i], io->in[0]);
    return HONE_OK;
}

static join_step *new_join(hn_eval *c, uint32_t n) {
    join_step *s = hn_lower_alloc(c, sizeof *s);
    part_copy *parts = hn_lower_alloc(c, ((size_t)n + 1) * sizeof *parts);
    if (!s || !parts)
        return NULL;
    *s = (join_step){n, parts};
    return s;
}

static hone_status plan_part(hn_eval *c, const hn_array *to, const hn_array *from, int32_t axis,
                             int64_t at, int64_t part, bool is_to_wide, part_copy *out) {
    hn_box_move m;
    out->may_be_there = hn_part_move(to, from, axis, at, part, is_to_wide, &m);
    return hn_keep_grid(c, to->dtype, &m, &out->copy);
}

static hone_status lower_concat(hn_eval *c, hn_lowered *out) {
    const hn_array *y = hn_ret(c, 0);
    int32_t axis;
    int64_t at = 0;
    if (!y || !hn_is_whole_bytes(y->dtype))
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 1), y->rank, &axis));
    join_step *s = new_join(c, hn_n_args(c));
    HN_TRY_PTR(s);
    for (uint32_t i = 0; i < s->n; i++) {
        const hn_array *x = hn_arg(c, i);
        if (!x || x->rank != y->rank || x->dtype != y->dtype)
            return HONE_OK;
        HN_TRY(plan_part(c, y, x, axis, at, x->dims[axis], true, &s->parts[i]));
        at += x->dims[axis];
    }
    *out = (hn_lowered){.run = run_concat, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_concat[1] = {
    {.lower = lower_concat, .row_strides = {.args = UINT64_MAX, .rets = true}}};

static hone_status lower_split(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0);
    const int64_t *parts;
    int32_t axis;
    int64_t at = 0;
    if (!x || !hn_is_whole_bytes(x->dtype) || !hn_args_are_known(c, 1))
        return HONE_OK;
    HN_TRY(hn_split_parts(c, &axis, &parts));
    join_step *s = new_join(c, hn_n_rets(c));
    HN_TRY_PTR(s);
    for (uint32_t i = 0; i < s->n; at += parts[i++]) {
        const hn_array *y = hn_ret(c, i);
        if (!y && !hn_wants_ret(c, i))
            continue;
        if (!y || y->rank != x->rank || y->dims[axis] != parts[i])
            return HONE_OK;
        HN_TRY(plan_part(c, y, x, axis, at, parts[i], false, &s->parts[i]));
    }
    *out = (hn_lowered){.run = run_split, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_split[1] = {
    {.lower = lower_split, .row_strides = {.args = 1, .rets = true}}};
