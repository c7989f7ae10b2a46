/* Lowering of products of complex floats of one shape. Each product is computed in double and
 * rounded once, as in the evaluation. */
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

typedef struct complex_step {
    int64_t n;   /* numbers */
    double sign; /* of the imaginary parts of b */
} complex_step;

typedef struct complex_run {
    const complex_step *step;
    const float *a, *b;
    float *y;
} complex_run;

static void run_complex_range(void *ctx, int64_t begin, int64_t end) {
    const complex_run *r = ctx;
    for (int64_t i = 2 * begin; i < 2 * end; i += 2) {
        double ar = (double)r->a[i], ai = (double)r->a[i + 1];
        double br = (double)r->b[i], bi = r->step->sign * (double)r->b[i + 1];
        r->y[i] = (float)(ar * br - ai * bi);
        r->y[i + 1] = (float)(ar * bi + ai * br);
    }
}

static hone_status run_complex_mul(const void *record, const hn_step_io *io) {
    const complex_step *s = record;
    complex_run r = {s, io->in[0], io->in[1], io->out[0]};
    hn_pool_for(io->pool, s->n, HN_GRAIN / 2, run_complex_range, &r);
    return HONE_OK;
}

static bool is_like(const hn_array *a, const hn_array *y) {
    return a && a->dtype == HN_F32 && a->rank == y->rank &&
           !memcmp(a->dims, y->dims, (size_t)y->rank * sizeof *y->dims);
}

static hone_status lower_complex_mul(hn_eval *c, hn_lowered *out) {
    const hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0 || y->rank < 1 || y->dims[y->rank - 1] != 2 ||
        !is_like(hn_arg(c, 0), y) || !is_like(hn_arg(c, 1), y))
        return HONE_OK;
    complex_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->n = (int64_t)y->n_elems / 2;
    s->sign = strcmp(hn_infer_op(hn_eval_node(c)), "ComplexMulConj") == 0 ? -1 : 1;
    *out = (hn_lowered){.run = run_complex_mul, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_complex_mul[1] = {{.lower = lower_complex_mul}};
