/* Steps that run beside each other. */
#include "run/run_int.h"

typedef struct group_run {
    hn_state *state;
    const hn_group *group;
} group_run;

/* Until a step fails; other strands go on, so that it does not depend on time which error is
 * found. */
static void run_strand(hn_state *s, hn_lane *lane, const hn_group *group, int64_t strand) {
    hone_error err;
    hn_error_clear(&err);
    for (uint32_t i = group->starts[strand]; i < group->starts[strand + 1]; i++) {
        hone_status status = hn_run_main_step(s, lane, group->steps[i], &err);
        if (status == HONE_OK)
            continue;
        if (group->steps[i] < lane->failed_step) {
            lane->failed_step = group->steps[i];
            lane->status = status;
            lane->err = err;
        }
        return;
    }
}

static void run_strands(void *ctx, int lane, int64_t begin, int64_t end) {
    const group_run *r = ctx;
    for (int64_t k = begin; k < end; k++)
        run_strand(r->state, &r->state->lanes[lane], r->group, k);
}

/* The first step in the order of the program that failed. */
static hone_status tell_group(const hn_state *s, hone_error *err) {
    const hn_lane *first = &s->lanes[0];
    for (int i = 1; i < s->n_lanes; i++)
        if (s->lanes[i].failed_step < first->failed_step)
            first = &s->lanes[i];
    bool is_stopped = hn_flag_is_set(&s->was_stopped); /* then strands may be left out */
    if (first->failed_step == UINT32_MAX)
        return is_stopped ? hn_run_tell_step(s, NULL, HONE_E_CANCELLED, err) : HONE_OK;
    if (err && err->code == HONE_OK)
        *err = first->err;
    const hn_step *step = &s->plan->list->steps[first->failed_step];
    return hn_run_tell_step(s, step, first->status, err);
}

hone_status hn_run_group(hn_state *s, const hn_group *group, hone_error *err) {
    group_run r = {s, group};
    for (int i = 0; i < s->n_lanes; i++)
        s->lanes[i].failed_step = UINT32_MAX;
    s->is_in_group = true;
    hn_pool_for_lanes(s->pool, group->n_strands, 1, run_strands, &r);
    s->is_in_group = false;
    return tell_group(s, err);
}
