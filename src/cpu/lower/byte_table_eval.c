/* hone.ByteTable: bytes by a table of 256. */
#include "cpu/kernels/quantize/byte_lookup.h"
#include "cpu/lower/lower.h"
#include "cpu/ops_cpu.h"

#define LOOKUPS_PER_TASK 65536

typedef struct table_job {
    uint64_t n;
    const uint8_t *x, *table;
    uint8_t *y;
} table_job;

static void look_up_range(void *ctx, int64_t begin, int64_t end) {
    const table_job *job = ctx;
    hn_byte_lookup_find()((uint64_t)(end - begin), job->x + begin, job->table, job->y + begin);
}

static void look_up_bytes(hn_pool *pool, table_job *job) {
    hn_pool_for(pool, (int64_t)job->n, LOOKUPS_PER_TASK, look_up_range, job);
}

static hone_status eval_byte_table(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    table_job job = {y->n_elems, hn_arg(c, 0)->data, hn_arg(c, 1)->data, y->data};
    look_up_bytes(hn_eval_pool(c), &job);
    return HONE_OK;
}
const hn_impl hn_impl_byte_table[1] = {{.eval = eval_byte_table, .memory = HN_MEMORY_IN_PLACE}};

static hone_status run_byte_table(const void *record, const hn_step_io *io) {
    table_job job = *(const table_job *)record;
    job.x = io->in[0];
    job.table = io->in[1];
    job.y = io->out[0];
    look_up_bytes(io->pool, &job);
    return HONE_OK;
}

static hone_status lower_byte_table(hn_eval *c, hn_lowered *out) {
    const hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    table_job *job = hn_lower_alloc(c, sizeof *job);
    HN_TRY_PTR(job);
    *job = (table_job){.n = y->n_elems};
    *out = (hn_lowered){.run = run_byte_table, .record = job};
    return HONE_OK;
}
const hn_lowering hn_lower_byte_table[1] = {{.lower = lower_byte_table}};
