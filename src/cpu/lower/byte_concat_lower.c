/* Lowering of QLinearConcat: each operand is copied through a table that brings its bytes to scale
 * and zero point of the result, or as it is where these are the same. */
#include "cpu/kernels/quantize/byte_lookup.h"
#include "cpu/lower/lower.h"
#include "ops/eval/ms/ms_eval.h"

enum { N_TABLE_BYTES = 256, CONCAT_GRAIN = 1 << 15 };

typedef struct concat_part {
    uint32_t arg;
    uint64_t run, before; /* bytes of one row of the result, and where they begin */
    uint8_t *table;       /* NULL: bytes stay what they are */
} concat_part;

typedef struct byte_concat_step {
    uint64_t n_rows, row;
    uint32_t n_parts;
    concat_part *parts;
} byte_concat_step;

typedef struct byte_concat_run {
    const byte_concat_step *step;
    const hn_step_io *io;
} byte_concat_run;

static void concat_byte_rows(void *ctx, int64_t begin, int64_t end) {
    const byte_concat_run *c = ctx;
    const byte_concat_step *s = c->step;
    hn_byte_lookup_fn *look_up = hn_byte_lookup_find();
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const concat_part *p = &s->parts[i];
        const uint8_t *x = c->io->in[p->arg];
        uint8_t *y = (uint8_t *)c->io->out[0] + p->before;
        for (uint64_t k = (uint64_t)begin; k < (uint64_t)end; k++)
            if (p->table)
                look_up(p->run, x + k * p->run, p->table, y + k * s->row);
            else
                memcpy(y + k * s->row, x + k * p->run, (size_t)p->run);
    }
}

static hone_status run_byte_concat(const void *record, const hn_step_io *io) {
    const byte_concat_step *s = record;
    byte_concat_run c = {s, io};
    hn_pool_for(io->pool, (int64_t)s->n_rows, (int64_t)HN_MAX(CONCAT_GRAIN / s->row, 1),
                concat_byte_rows, &c);
    return HONE_OK;
}

/* All bytes as the result has them. */
static hone_status fill_concat_table(hn_eval *c, hn_affine from, hn_affine to, concat_part *p) {
    uint8_t bytes[N_TABLE_BYTES];
    float real[N_TABLE_BYTES];
    int64_t dims[1] = {N_TABLE_BYTES};
    if (from.scale == to.scale && from.zero == to.zero)
        return HONE_OK;
    HN_TRY_PTR(p->table = hn_lower_alloc(c, N_TABLE_BYTES));
    for (int i = 0; i < N_TABLE_BYTES; i++)
        bytes[i] = (uint8_t)i;
    hn_array x = {.dtype = hn_arg(c, p->arg)->dtype,
                  .rank = 1,
                  .n_elems = N_TABLE_BYTES,
                  .dims = dims,
                  .data = bytes};
    hn_array y = hn_array_at(&x, p->table);
    hn_dequantize_f32(&x, from, 0, N_TABLE_BYTES, real);
    hn_quantize_f32(real, to, &y, 0, N_TABLE_BYTES);
    return HONE_OK;
}

static bool fits_byte_concat(const hn_eval *c, const hn_array *y) {
    for (uint32_t i = 0; i < hn_n_args(c); i++) {
        bool is_data = i >= 2 && (i - 2) % 3 == 0;
        const hn_array *a = hn_arg(c, i);
        if (!a || (is_data ? a->dtype != y->dtype : !a->data))
            return false;
    }
    return true;
}

static hone_status lower_qlinear_concat(hn_eval *c, hn_lowered *out) {
    const hn_array *y = hn_ret(c, 0);
    int64_t axis = hn_attr_i(hn_eval_node(c), "axis", 0);
    if (!y || y->n_elems == 0 || !fits_byte_concat(c, y))
        return HONE_OK;
    axis += axis < 0 ? y->rank : 0;
    byte_concat_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    uint64_t inner = hn_count(y->rank - (int32_t)axis - 1, y->dims + axis + 1), before = 0;
    s->row = (uint64_t)y->dims[axis] * inner;
    s->n_rows = y->n_elems / s->row;
    s->n_parts = (hn_n_args(c) - 2) / 3;
    HN_TRY_PTR(s->parts = hn_lower_alloc(c, s->n_parts * sizeof *s->parts));
    for (uint32_t i = 0; i < s->n_parts; i++) {
        concat_part *p = &s->parts[i];
        *p = (concat_part){.arg = 2 + 3 * i,
                           .run = (uint64_t)hn_arg(c, 2 + 3 * i)->dims[axis] * inner,
                           .before = before};
        before += p->run;
        HN_TRY(fill_concat_table(c, hn_affine_args(c, p->arg + 1, p->arg + 2),
                                 hn_affine_args(c, 0, 1), p));
    }
    *out = (hn_lowered){.run = run_byte_concat, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_qlinear_concat[1] = {{.lower = lower_qlinear_concat}};
