/* Lowering of SkipLayerNormalization and its simplified form of floats. */
#include "cpu/kernels/rows/row_loops.h"
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

enum { SKIP_NORM_ARGS = 5 };

typedef struct skip_norm_step {
    const hn_row_loops_f32 *loops;
    hn_norm_row_f32 norm;         /* scale and bias are filled in when it runs */
    int64_t n, n_rows, n_skips;   /* n_skips: rows of the skip input, which is repeated */
    int i_beta, i_bias;           /* arguments; 0: none */
    int i_mean, i_inverse, i_sum; /* outputs; 0: nobody reads them */
} skip_norm_step;

typedef struct skip_norm_run {
    const skip_norm_step *step;
    hn_norm_row_f32 norm;
    const float *x, *skip, *bias;       /* bias may be NULL */
    float *y, *means, *inverses, *sums; /* means and inverses may be NULL */
} skip_norm_run;

/* The sum of a row stands in its output or, for a moment, in y. */
static void run_skip_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const skip_norm_run *r = ctx;
    const skip_norm_step *s = r->step;
    float mean, inverse;
    for (int64_t i = begin; i < end; i++) {
        float *sum = r->sums + i * s->n;
        s->loops->add_rows(s->n, r->x + i * s->n, r->skip + i % s->n_skips * s->n, r->bias, sum);
        s->loops->normalize(&r->norm, s->n, sum, r->y + i * s->n, &mean, &inverse);
        if (r->means)
            r->means[i] = mean;
        if (r->inverses)
            r->inverses[i] = inverse;
    }
}

static hone_status run_skip_norm_step(const void *record, const hn_step_io *io) {
    const skip_norm_step *s = record;
    skip_norm_run r = {.step = s,
                       .norm = s->norm,
                       .x = io->in[0],
                       .skip = io->in[1],
                       .bias = s->i_bias ? io->in[s->i_bias] : NULL,
                       .y = io->out[0],
                       .means = s->i_mean ? io->out[s->i_mean] : NULL,
                       .inverses = s->i_inverse ? io->out[s->i_inverse] : NULL};
    r.norm.gamma = io->in[2];
    r.norm.beta = s->i_beta ? io->in[s->i_beta] : NULL;
    r.sums = s->i_sum ? io->out[s->i_sum] : r.y;
    hn_pool_for(io->pool, s->n_rows, HN_MAX(HN_GRAIN / s->n, 1), run_skip_norm_rows, &r);
    return HONE_OK;
}

/* Whether scale and biases, arguments 2 and more, are floats as long as a row. */
static bool has_rows_of_floats(const hn_eval *c, uint64_t n) {
    for (uint32_t i = 2; i < SKIP_NORM_ARGS; i++)
        if (hn_arg(c, i) && (hn_arg(c, i)->dtype != HN_F32 || hn_arg(c, i)->n_elems != n))
            return false;
    return hn_arg(c, 2) != NULL;
}

static int wanted_ret(const hn_eval *c, uint32_t i) {
    return hn_ret(c, i) ? (int)i : 0;
}

static int given_arg(const hn_eval *c, uint32_t i) {
    return hn_arg(c, i) ? (int)i : 0;
}

static hone_status lower_skip_norm(hn_eval *c, bool is_simplified, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *skip = hn_arg(c, 1);
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    if (!x || !skip || !hn_ret(c, 0) || !loops || x->dtype != HN_F32 || x->rank < 1 ||
        x->n_elems == 0)
        return HONE_OK;
    uint64_t n = (uint64_t)x->dims[x->rank - 1];
    if (skip->n_elems == 0 || skip->n_elems % n != 0 || x->n_elems % skip->n_elems != 0 ||
        !has_rows_of_floats(c, n))
        return HONE_OK;
    skip_norm_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (skip_norm_step){.loops = loops,
                          .norm = {.epsilon = hn_attr_f(hn_eval_node(c), "epsilon", 1e-12f),
                                   .simplified = is_simplified},
                          .n = (int64_t)n,
                          .n_rows = (int64_t)(x->n_elems / n),
                          .n_skips = (int64_t)(skip->n_elems / n),
                          .i_beta = is_simplified ? 0 : given_arg(c, 3),
                          .i_bias = given_arg(c, is_simplified ? 3 : 4),
                          .i_mean = wanted_ret(c, 1),
                          .i_inverse = wanted_ret(c, 2),
                          .i_sum = wanted_ret(c, 3)};
    *out = (hn_lowered){.run = run_skip_norm_step, .record = s};
    return HONE_OK;
}

static hone_status lower_skip_layer_norm(hn_eval *c, hn_lowered *out) {
    return lower_skip_norm(c, false, out);
}
const hn_lowering hn_lower_skip_layer_norm[1] = {{.lower = lower_skip_layer_norm}};

static hone_status lower_skip_simplified_layer_norm(hn_eval *c, hn_lowered *out) {
    return lower_skip_norm(c, true, out);
}
const hn_lowering hn_lower_skip_simplified_layer_norm[1] = {
    {.lower = lower_skip_simplified_layer_norm}};
