/* What stands around linear attention in com.microsoft, computed: gates, gated norms, causal
 * convolutions. */
#include "ops/eval/ms/ms_eval.h"

#include <math.h>

static float logistic(float x) {
    return 1 / (1 + expf(-x));
}

static float softplus(float x) {
    return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
}

/* decay = scale * softplus(a + bias) and beta = sigmoid(b): scale and bias stand per head, the last
 * axis. */
static hone_status eval_linear_attention_gate(hn_eval *c) {
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 3);
    hn_array *decay = hn_ret(c, 0), *beta = hn_ret(c, 1);
    const float *bias, *scale;
    float v;
    if (a->rank < 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "input 0 must have an axis of heads");
    uint64_t heads = (uint64_t)a->dims[a->rank - 1];
    HN_TRY(hn_want_elems(c, 1, heads));
    HN_TRY(hn_want_elems(c, 2, heads));
    HN_TRY(hn_want_elems(c, 3, a->n_elems));
    HN_TRY_PTR(hn_arg_f32s(c, 1, &bias) && hn_arg_f32s(c, 2, &scale));
    for (uint64_t i = 0; i < a->n_elems && !hn_spent(32); i++) {
        hn_load_f32(a, i, 1, &v);
        v = scale[i % heads] * softplus(v + bias[i % heads]);
        if (decay)
            hn_store_f32(decay, i, 1, &v);
        if (!beta || !b)
            continue;
        hn_load_f32(b, i, 1, &v);
        v = logistic(v);
        hn_store_f32(beta, i, 1, &v);
    }
    return HONE_OK;
}
const hn_impl hn_impl_linear_attention_gate[1] = {{.eval = eval_linear_attention_gate}};

/* Groups as long as the scale are normalized and gated. */
static hone_status eval_gated_rms_norm(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *scale = hn_arg(c, 1), *gate = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    hn_norm_row_f32 norm = {.epsilon = hn_attr_f(hn_eval_node(c), "epsilon", 1e-5f),
                            .simplified = true};
    float mean, inverse;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    uint64_t width = scale->n_elems;
    if (width == 0 || x->rank < 1 || (uint64_t)x->dims[x->rank - 1] % width != 0)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "the last axis of input 0 must be a multiple of the %llu scales",
                            (unsigned long long)width);
    HN_TRY(hn_want_dims(c, 2, x->rank, x->dims));
    float *v = hn_eval_scratch_n(c, width, sizeof *v), *g = hn_eval_scratch_n(c, width, sizeof *g);
    HN_TRY_PTR(v && g && hn_arg_f32s(c, 1, &norm.gamma));
    bool is_silu = !hn_attr_is(hn_eval_node(c), "activation", "sigmoid");
    for (uint64_t at = 0; at < x->n_elems && !hn_spent(16 * width); at += width) {
        hn_load_f32(x, at, width, v);
        hn_load_f32(gate, at, width, g);
        hn_normalize_row(&norm, width, v, v, &mean, &inverse);
        for (uint64_t i = 0; i < width; i++)
            v[i] *= (is_silu ? g[i] : 1) * logistic(g[i]);
        hn_store_f32(y, at, width, v);
    }
    return HONE_OK;
}
const hn_impl hn_impl_gated_rms_norm[1] = {{.eval = eval_gated_rms_norm}};
