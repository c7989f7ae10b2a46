/* Lowering of LayerNormalization and RMSNormalization of floats whose scale and bias are as long as
 * what is normalized. */
#include "cpu/kernels/rows/row_loops.h"
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

typedef struct layer_norm_step {
    void (*normalize)(const hn_norm_row_f32 *norm, int64_t n, const float *x, float *y, float *mean,
                      float *inverse);
    hn_norm_row_f32 norm; /* scale and bias are filled in when it runs */
    int64_t n_rows, n;
    bool has_bias;
    int i_mean, i_inverse; /* the outputs for statistics; 0: none */
} layer_norm_step;

typedef struct layer_norm_run {
    const layer_norm_step *step;
    hn_norm_row_f32 norm;
    const float *x;
    float *y, *means, *inverses;
} layer_norm_run;

static void run_layer_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const layer_norm_run *r = ctx;
    int64_t n = r->step->n;
    float mean, inverse;
    for (int64_t i = begin; i < end; i++) {
        r->step->normalize(&r->norm, n, r->x + i * n, r->y + i * n, &mean, &inverse);
        if (r->means)
            r->means[i] = mean;
        if (r->inverses)
            r->inverses[i] = inverse;
    }
}

static hone_status run_layer_norm(const void *record, const hn_step_io *io) {
    const layer_norm_step *s = record;
    layer_norm_run r = {.step = s, .norm = s->norm, .x = io->in[0], .y = io->out[0]};
    r.norm.gamma = io->in[1];
    r.norm.beta = s->has_bias ? io->in[2] : NULL;
    r.means = s->i_mean ? io->out[s->i_mean] : NULL;
    r.inverses = s->i_inverse ? io->out[s->i_inverse] : NULL;
    hn_pool_for(io->pool, s->n_rows, HN_MAX(HN_GRAIN / s->n, 1), run_layer_norm_rows, &r);
    return HONE_OK;
}

static bool is_row_of(const hn_array *a, uint64_t n) {
    return a->dtype == HN_F32 && a->n_elems == n;
}

static bool has_float_statistics(const hn_eval *c) {
    for (uint32_t i = 1; i < hn_n_rets(c); i++)
        if (hn_ret(c, i) && hn_ret(c, i)->dtype != HN_F32)
            return false;
    return true;
}

/* The number of an output that somebody reads; 0: nobody does. */
static int wanted_output(const hn_eval *c, uint32_t i) {
    return hn_ret(c, i) ? (int)i : 0;
}

static hone_status lower_layer_norm(hn_eval *c, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *scale = hn_arg(c, 1), *bias = hn_arg(c, 2);
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    bool is_centered = strcmp(hn_infer_op(node), "LayerNormalization") == 0;
    if (!x || !scale || !loops || x->dtype != HN_F32 || x->n_elems == 0 || !hn_ret(c, 0) ||
        hn_ret(c, 0)->dtype != HN_F32 || !has_float_statistics(c))
        return HONE_OK;
    int64_t given = hn_attr_i(node, "axis", -1);
    int32_t axis = (int32_t)(given < 0 ? given + x->rank : given);
    if (axis < 0 || axis >= x->rank)
        return HONE_OK;
    uint64_t n = hn_count(x->rank - axis, x->dims + axis);
    if (!is_row_of(scale, n) || (bias && !is_row_of(bias, n)))
        return HONE_OK;
    layer_norm_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (layer_norm_step){
        .normalize = loops->normalize,
        .norm = {.epsilon = hn_attr_f(node, "epsilon", 1e-5f), .simplified = !is_centered},
        .n = (int64_t)n,
        .n_rows = (int64_t)(x->n_elems / n),
        .has_bias = bias != NULL,
        .i_mean = is_centered ? wanted_output(c, 1) : 0,
        .i_inverse = wanted_output(c, is_centered ? 2 : 1)};
    *out = (hn_lowered){.run = run_layer_norm, .record = s};
    return HONE_OK;
}

const hn_lowering hn_lower_layer_norm[1] = {{.lower = lower_layer_norm}};
