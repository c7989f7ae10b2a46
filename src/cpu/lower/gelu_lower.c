/* Lowering of the activations of com.microsoft that may have a bias: y = f(x + bias) of floats. */
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

typedef struct biased_map_step {
    hn_binary_fn add; /* NULL: there is no bias */
    hn_unary_fn_f32 fn;
    float a;       /* the parameter of fn */
    int64_t n_all; /* elements */
    int64_t n;     /* elements of the bias */
} biased_map_step;

typedef struct biased_map_run {
    const biased_map_step *step;
    const float *x, *bias;
    float *y;
} biased_map_run;

static void run_map_range(void *ctx, int64_t begin, int64_t end) {
    const biased_map_run *r = ctx;
    r->step->fn(r->x + begin, r->y + begin, (uint64_t)(end - begin), r->step->a, 0);
}

static void run_biased_rows(void *ctx, int64_t begin, int64_t end) {
    const biased_map_run *r = ctx;
    const biased_map_step *s = r->step;
    float *y = r->y + begin * s->n;
    for (int64_t i = begin; i < end; i++)
        s->add(r->x + i * s->n, 1, r->bias, 1, r->y + i * s->n, (uint64_t)s->n);
    s->fn(y, y, (uint64_t)((end - begin) * s->n), s->a, 0);
}

static hone_status run_biased_map(const void *record, const hn_step_io *io) {
    const biased_map_step *s = record;
    biased_map_run r = {.step = s, .x = io->in[0], .y = io->out[0]};
    if (s->add) {
        r.bias = io->in[1];
        hn_pool_for(io->pool, s->n_all / s->n, HN_MAX(HN_GRAIN / s->n, 1), run_biased_rows, &r);
    } else {
        hn_pool_for(io->pool, s->n_all, HN_GRAIN, run_map_range, &r);
    }
    return HONE_OK;
}

/* Whether rows of x are as long as the bias, which is repeated for all of them. */
static bool is_bias_of_rows(const hn_array *x, const hn_array *bias) {
    return bias->dtype == HN_F32 && bias->rank >= 1 && bias->rank <= x->rank &&
           bias->dims[bias->rank - 1] == x->dims[x->rank - 1] &&
           bias->n_elems == (uint64_t)x->dims[x->rank - 1];
}

static hone_status lower_biased_map(hn_eval *c, const char *name, float a, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *bias = hn_arg(c, 1), *y = hn_ret(c, 0);
    if (!x || !y || x->dtype != HN_F32 || x->n_elems == 0 || x->n_elems != y->n_elems ||
        (bias && !is_bias_of_rows(x, bias)))
        return HONE_OK;
    biased_map_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    hn_unary_fn_f32 fast = hn_unary_find_f32(name);
    *s = (biased_map_step){.add = bias ? hn_binary_float_loop(hn_binary_find("Add")) : NULL,
                           .fn = fast ? fast : hn_unary_find(name)->f32,
                           .a = a,
                           .n_all = (int64_t)x->n_elems,
                           .n = bias ? (int64_t)bias->n_elems : 1};
    if (!bias || s->add)
        *out = (hn_lowered){.run = run_biased_map, .record = s};
    return HONE_OK;
}

static hone_status lower_ms_gelu(hn_eval *c, hn_lowered *out) {
    return lower_biased_map(c, "Gelu", 0, out);
}
const hn_lowering hn_lower_ms_gelu[1] = {{.lower = lower_ms_gelu}};

static hone_status lower_fast_gelu(hn_eval *c, hn_lowered *out) {
    return lower_biased_map(c, "Gelu_tanh", 0, out);
}
const hn_lowering hn_lower_fast_gelu[1] = {{.lower = lower_fast_gelu}};

static hone_status lower_quick_gelu(hn_eval *c, hn_lowered *out) {
    return lower_biased_map(c, "Swish", hn_attr_f(hn_eval_node(c), "alpha", 1.702f), out);
}
const hn_lowering hn_lower_quick_gelu[1] = {{.lower = lower_quick_gelu}};
