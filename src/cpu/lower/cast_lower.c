/* Lowering of Cast and CastLike between numbers. */
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

typedef struct cast_step {
    hn_cast_job job; /* without arrays */
    hn_dtype from, to;
    int64_t n;
    size_t bytes; /* of all elements, where the type stays */
} cast_step;

static hone_status run_cast(const void *record, const hn_step_io *io) {
    const cast_step *s = record;
    hn_array x = {.dtype = s->from, .data = (void *)(uintptr_t)io->in[0]};
    hn_array y = {.dtype = s->to, .data = io->out[0]};
    hn_cast_job job = s->job;
    job.pool = io->pool;
    job.x = &x;
    job.y = &y;
    if (s->n <= HN_GRAIN)
        hn_cast_range(&job, 0, s->n);
    else
        hn_pool_for(io->pool, s->n, HN_GRAIN, hn_cast_range, &job);
    return HONE_OK;
}

static hone_status run_same_type(const void *record, const hn_step_io *io) {
    const cast_step *s = record;
    if (io->out[0] != io->in[0])
        memcpy(io->out[0], io->in[0], s->bytes);
    return HONE_OK;
}

static hone_status lower_cast(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    uint64_t bytes;
    if (!x || !y || x->n_elems == 0 || x->dtype == HN_STRING || y->dtype == HN_STRING ||
        !hn_dtype_bytes(y->dtype, y->n_elems, &bytes))
        return HONE_OK;
    cast_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (cast_step){
        .from = x->dtype, .to = y->dtype, .n = (int64_t)x->n_elems, .bytes = (size_t)bytes};
    hn_cast_read_attrs(hn_eval_node(c), &s->job);
    *out = (hn_lowered){.run = x->dtype == y->dtype ? run_same_type : run_cast, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_cast[1] = {{.lower = lower_cast}};
