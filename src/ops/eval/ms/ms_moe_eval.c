/* Mixtures of experts, computed: every token goes through the layers of the experts that its router
 * prefers. */
#include "ops/eval/ms/ms_nbits_eval.h"

#include <math.h>

#include "cpu/kernels/kernel.h"
#include "ops/eval/eval_broadcast.h"

/* One layer of all experts, [experts, out, in]; plain numbers, or few bits. */
typedef struct expert_layer {
    bool is_there, is_packed;
    int64_t out, in;
    const float *plain, *bias; /* bias [experts, out], may be NULL */
    hn_nbits packed;           /* of expert 0 */
} expert_layer;

typedef struct expert_args {
    uint32_t weights, scales, bias, zeros;
    uint32_t whole_scale; /* [experts], of weights that are small floats */
    const char *bits;
} expert_args;

typedef struct moe_form {
    int64_t n_tokens, width, n_experts, n_chosen;
    expert_layer up, down, gate; /* fc1, fc2, fc3 */
    bool is_swiglu, is_interleaved, is_sparse;
    float alpha, beta, limit;
    const hn_unary_op *activation; /* NULL: identity, or SwiGLU */
} moe_form;

/* ---- layers ---------------------------------------------------------------------------------- */

/* Scales are one per row, or one per block of columns. Zero points stand as the scales do, packed
 * along the last axis. */
static hone_status read_packed_layer(hn_eval *c, const expert_args *args, const moe_form *m,
                                     expert_layer *l) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *w = hn_arg(c, args->weights), *zero = hn_arg(c, args->zeros);
    int64_t bits = hn_attr_i(node, args->bits, hn_attr_i(node, "expert_weight_bits", 4)),
            block = hn_attr_i(node, "block_size", 0);
    const float *zeros = NULL;
    if ((bits != 2 && bits != 4 && bits != 8) || !hn_arg(c, args->scales) ||
        !hn_attr_is(node, "quant_type", "int"))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED,
                            "only integers of 2, 4 or 8 bits with scales are supported as weights");
    l->in = w->dims[2] * (8 / bits);
    bool by_row = block <= 0;
    block = by_row ? l->in : block;
    int64_t n_blocks = (l->in + block - 1) / block, n_rows = m->n_experts * l->out;
    if (block % (8 / bits) != 0 || (n_blocks > 1 && l->in % block != 0))
        return hn_eval_fail(c, HONE_E_SHAPE, "blocks of %lld do not fit rows of %lld",
                            (long long)block, (long long)l->in);
    HN_TRY(hn_want_elems(c, args->scales, (uint64_t)(n_rows * n_blocks)));
    int64_t zero_rows = by_row ? m->n_experts : n_rows, zero_columns = by_row ? l->out : n_blocks;
    HN_TRY(hn_want_elems(c, args->zeros,
                         (uint64_t)(zero_rows * hn_bits_to_bytes(zero_columns, (int)bits))));
    if (zero)
        HN_TRY_PTR(zeros = hn_nbits_zeros(c, zero->data, zero_rows, zero_columns, (int)bits));
    l->packed = (hn_nbits){.data = w->data,
                           .bits = (int)bits,
                           .n_rows = l->out,
                           .depth = l->in,
                           .block = block,
                           .n_blocks = n_blocks,
                           .block_bytes = HN_MIN(block, l->in) * bits / 8,
                           .zeros = zeros};
    HN_TRY_PTR(hn_arg_f32s(c, args->scales, &l->packed.scales));
    return HONE_OK;
}

/* Weights that are small floats: a scale for each block, and one for each expert. */
typedef struct float_experts {
    const char *quant_type;
    hn_dtype code, scale; /* scale HN_UNDEFINED: there are no blocks */
    int64_t block;
} float_experts;

static const float_experts *find_float_experts(const hn_infer *node) {
    static const float_experts kinds[] = {{"fp4", HN_F4E2M1, HN_F8E8M0, 32},
                                          {"nvfp4", HN_F4E2M1, HN_F8E4M3FN, 16},
                                          {"fp8", HN_F8E4M3FN, HN_UNDEFINED, 1}};
    for (size_t i = 0; i < HN_COUNT(kinds); i++)
        if (hn_attr_is(node, "quant_type", kinds[i].quant_type))
            return &kinds[i];
    return NULL;
}

static hone_status widen_float_experts(hn_eval *c, const expert_args *args, const float_experts *k,
                                       const moe_form *m, expert_layer *l) {
    hn_array codes = *hn_arg(c, args->weights);
    const hn_array *scales = hn_arg(c, args->scales);
    const float *whole, *by_block = NULL;
    uint64_t per_byte = hn_dtype_bits(k->code) == 4 ? 2 : 1, n = codes.n_elems * per_byte;
    float *out = hn_eval_scratch_n(c, n, sizeof *out);
    codes.dtype = k->code;
    l->in *= (int64_t)per_byte;
    HN_TRY(hn_want_elems(c, args->whole_scale, (uint64_t)m->n_experts));
    HN_TRY_PTR(out && hn_arg_f32s(c, args->whole_scale, &whole));
    if (k->scale != HN_UNDEFINED) {
        if (!scales || scales->dtype != k->scale || l->in % k->block != 0)
            return hn_eval_fail(c, HONE_E_TYPE,
                                "weights of %s need scales of %s, one for each %lld", k->quant_type,
                                hn_dtype_name(k->scale), (long long)k->block);
        HN_TRY(hn_want_elems(c, args->scales, n / (uint64_t)k->block));
        HN_TRY_PTR(by_block = hn_wide_f32(c, scales));
    }
    hn_load_f32(&codes, 0, n, out);
    for (uint64_t i = 0; i < n; i++)
        out[i] *= (by_block ? by_block[i / (uint64_t)k->block] : 1) *
                  (whole ? whole[i / (n / (uint64_t)m->n_experts)] : 1);
    l->plain = out;
    return HONE_OK;
}

static hone_status read_layer(hn_eval *c, const expert_args *args, const moe_form *m, int64_t in,
                              expert_layer *l) {
    const hn_array *w = hn_arg(c, args->weights);
    *l = (expert_layer){.is_there = w != NULL};
    if (!w)
        return HONE_OK;
    if (w->rank != 3 || w->dims[0] != m->n_experts || w->dims[2] > INT64_MAX / 8)
        return hn_eval_fail(c, HONE_E_SHAPE, "input %u must be [%lld experts, out, in]",
                            args->weights, (long long)m->n_experts);
    l->out = w->dims[1];
    l->in = w->dims[2];
    const float_experts *floats = find_float_experts(hn_eval_node(c));
    l->is_packed = w->dtype == HN_U8 && !floats;
    if (floats)
        HN_TRY(widen_float_experts(c, args, floats, m, l));
    else if (l->is_packed)
        HN_TRY(read_packed_layer(c, args, m, l));
    else
        HN_TRY_PTR(hn_arg_f32s(c, args->weights, &l->plain));
    if (l->in != in)
        return hn_eval_fail(c, HONE_E_SHAPE, "input %u has rows of %lld, but needs %lld",
                            args->weights, (long long)l->in, (long long)in);
    HN_TRY(hn_want_elems(c, args->bias, (uint64_t)(m->n_experts * l->out)));
    HN_TRY_PTR(hn_arg_f32s(c, args->bias, &l->bias));
    return HONE_OK;
}

/* y[n, out] = x[n, in] * weights of one expert, transposed, + bias. */
static void run_layer(hn_eval *c, const expert_layer *l, int64_t expert, int64_t n, const float *x,
                      float *y) {
    hn_nbits w = l->packed;
    int64_t n_blocks = expert * l->out * w.n_blocks;
    if (l->is_packed) {
        w.data += n_blocks * w.block_bytes;
        w.scales += n_blocks;
        w.zeros = w.zeros ? w.zeros + n_blocks : NULL;
    }
    for (int64_t i = 0; l->bias && i < n; i++)
        memcpy(y + i * l->out, l->bias + expert * l->out, (size_t)l->out * sizeof *y);
    hn_gemm_f32(hn_eval_pool(c),
                &(hn_gemm_job_f32){.m = n,
                                   .n = l->out,
                                   .k = l->in,
                                   .a = x,
                                   .a_row = l->in,
                                   .a_col = 1,
                                   .b = l->is_packed ? NULL : l->plain + expert * l->out * l->in,
                                   .b_row = 1,
                                   .b_col = l->in,
                                   .fill = l->is_packed ? hn_nbits_fill : NULL,
                                   .fill_ctx = &w,
                                   .c = y,
                                   .c_row = l->out,
                                   .add = l->bias != NULL});
}

/* ---- routing --------------------------------------------------------------------------------- */

/* Which experts a token goes to, and how much each counts. Routers differ in what the chosen ones'
 * weights are taken from. */
typedef struct router {
    bool normalize; /* weights of the chosen ones add up to 1 */
    const float
        *given; /* [tokens, experts]: weights; NULL: the softmax that experts are chosen by */
} router;

/* `weights` holds a number for each expert, and then its weight: 0 unless it is one of the best. Of
 * equal ones the later wins. */
static void route_token(const moe_form *m, const router *r, int64_t token, float *weights) {
    const float *given = r->given ? r->given + token * m->n_experts : NULL;
    float most = -INFINITY, sum = 0, kept = 0;
    for (int64_t e = 0; e < m->n_experts; e++)
        most = fmaxf(most, weights[e]);
    for (int64_t e = 0; e < m->n_experts; e++)
        sum += weights[e] = expf(weights[e] - most);
    for (int64_t i = 0; i < m->n_chosen;
         i++) { /* each round finds the next best, and marks it by its sign */
        int64_t best = -1;
        for (int64_t e = 0; e < m->n_experts; e++)
            if (!signbit(weights[e]) && (best < 0 || weights[e] >= weights[best]))
                best = e;
        if (best < 0)
            break;
        kept += given ? given[best] : weights[best];
        weights[best] = -weights[best];
    }
    float whole = r->normalize ? kept : given ? 1 : sum;
    for (int64_t e = 0; e < m->n_experts; e++) {
        float weight = given ? given[e] : -weights[e];
        weights[e] = signbit(weights[e]) && whole != 0 ? weight / whole : 0;
    }
}

/* The expert with the largest number but for one; -1: there is none. */
static int64_t best_but(const moe_form *m, const float *scores, int64_t but) {
    int64_t best = -1;
    for (int64_t e = 0; e < m->n_experts; e++)
        if (e != but && (best < 0 || scores[e] > scores[best]))
            best = e;
    return best;
}

/* Two experts, each with its share of a softmax over those that come close to it. */
static void route_sparsely(const moe_form *m, float *weights) {
    const float closeness = 0.02f;
    int64_t chosen[2] = {-1, -1};
    float shares[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        int64_t but = i == 0 ? -1 : chosen[0], best = best_but(m, weights, but);
        float sum = 0, most = best < 0 ? 0 : weights[best];
        for (int64_t e = 0; e < m->n_experts; e++)
            if (e != but && !(most - weights[e] > closeness * fmaxf(fabsf(weights[e]), most)))
                sum += expf(weights[e] - most);
        chosen[i] = best;
        shares[i] = sum > 0 ? 1 / sum : 0;
    }
    memset(weights, 0, (size_t)m->n_experts * sizeof *weights);
    for (int i = 0; i < 2; i++)
        if (chosen[i] >= 0)
            weights[chosen[i]] = shares[i];
}

/* ---- the whole ------------------------------------------------------------------------------- */

static float clamped(float v, float lo, float hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

/* The gate and the linear half stand in turn, or one after the other. */
static void swiglu_row(const moe_form *m, int64_t n, const float *x, float *y) {
    for (int64_t i = 0; i < n; i++) {
        float gate = x[m->is_interleaved ? 2 * i : i],
              linear = x[m->is_interleaved ? 2 * i + 1 : n + i];
        gate = HN_MIN(gate, m->limit);
        linear = clamped(linear, -m->limit, m->limit);
        y[i] = gate / (1 + expf(-m->alpha * gate)) * (linear + m->beta);
    }
}

typedef struct expert_room {
    float *tokens, *up, *gate, *out, *sums, *weights;
    int64_t *rows;
} expert_room;

/* The tokens that chose an expert run through its layers; their results are added to the sums. */
static void run_expert(hn_eval *c, const moe_form *m, int64_t expert, const float *x,
                       const expert_room *r) {
    int64_t n = 0, width = m->width, hidden = m->down.in;
    for (int64_t t = 0; t < m->n_tokens; t++)
        if (r->weights[t * m->n_experts + expert] > 0) {
            memcpy(r->tokens + n * width, x + t * width, (size_t)width * sizeof *x);
            r->rows[n++] = t;
        }
    run_layer(c, &m->up, expert, n, r->tokens, r->up);
    if (m->is_swiglu) {
        for (int64_t i = 0; i < n; i++)
            swiglu_row(m, hidden, r->up + i * m->up.out, r->gate + i * hidden);
    } else {
        if (m->activation)
            m->activation->f32(r->up, r->up, (uint64_t)(n * hidden), m->activation->default_a, 0);
        if (m->gate.is_there)
            run_layer(c, &m->gate, expert, n, r->tokens, r->gate);
        for (int64_t i = 0; i < n * hidden; i++)
            r->gate[i] = m->gate.is_there ? r->gate[i] * r->up[i] : r->up[i];
    }
    run_layer(c, &m->down, expert, n, r->gate, r->out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < width; e++)
            r->sums[r->rows[i] * width + e] +=
                r->weights[r->rows[i] * m->n_experts + expert] * r->out[i * width + e];
}

static hone_status read_activation(hn_eval *c, moe_form *m) {
    static const struct {
        const char *name, *map;
    } known[] = {{"relu", "Relu"},
                 {"gelu", "Gelu_tanh"},
                 {"silu", "Swish"},
                 {"identity", NULL},
                 {"swiglu", NULL}};
    const hn_infer *node = hn_eval_node(c);
    m->alpha = hn_attr_f(node, "activation_alpha", 1);
    m->beta = hn_attr_f(node, "activation_beta", 0);
    m->limit = hn_attr_f(node, "swiglu_limit", INFINITY);
    m->is_swiglu = hn_attr_is(node, "activation_type", "swiglu");
    m->is_interleaved = hn_attr_i(node, "swiglu_fusion", 0) != 2;
    m->is_sparse = hn_attr_i(node, "use_sparse_mixer", 0) != 0;
    if (m->is_sparse && m->n_chosen != 2)
        return hn_eval_fail(c, HONE_E_INVALID, "use_sparse_mixer needs k = 2, but k is %lld",
                            (long long)m->n_chosen);
    for (size_t i = 0; i < HN_COUNT(known); i++)
        if (hn_attr_is(node, "activation_type", known[i].name)) {
            m->activation = known[i].map ? hn_unary_find(known[i].map) : NULL;
            return HONE_OK;
        }
    return hn_eval_fail(c, HONE_E_UNSUPPORTED,
                        "activation_type must be relu, gelu, silu, swiglu or identity");
}

static hone_status read_moe(hn_eval *c, const expert_args args[3], moe_form *m) {
    const hn_array *x = hn_arg(c, 0), *scores = hn_arg(c, 1);
    m->width = x->dims[x->rank - 1];
    m->n_tokens = m->width > 0 ? (int64_t)x->n_elems / m->width : 0;
    if (scores->rank != 2 || scores->dims[0] != m->n_tokens)
        return hn_eval_fail(c, HONE_E_SHAPE, "router_probs must be [%lld tokens, experts]",
                            (long long)m->n_tokens);
    m->n_experts = scores->dims[1];
    m->n_chosen = hn_attr_i(hn_eval_node(c), "k", 1);
    HN_TRY(read_activation(c, m));
    HN_TRY(read_layer(c, &args[0], m, m->width, &m->up));
    int64_t hidden = m->is_swiglu && !hn_arg(c, args[2].weights) ? m->up.out / 2 : m->up.out;
    HN_TRY(read_layer(c, &args[1], m, hidden, &m->down));
    HN_TRY(read_layer(c, &args[2], m, m->width, &m->gate));
    if (m->down.out != m->width || (m->gate.is_there && (m->gate.out != hidden || m->is_swiglu)))
        return hn_eval_fail(c, HONE_E_SHAPE, "the layers of the experts do not fit each other");
    return HONE_OK;
}

static hone_status run_moe(hn_eval *c, const expert_args args[3], const router *by) {
    hn_array *y = hn_ret(c, 0);
    const hn_array *scores = hn_arg(c, 1);
    moe_form m = {.n_tokens = 0};
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(read_moe(c, args, &m));
    uint64_t n = (uint64_t)m.n_tokens;
    const float *x = hn_wide_f32(c, hn_arg(c, 0));
    expert_room r = {.tokens = hn_eval_scratch_n(c, n * (uint64_t)m.width, sizeof(float)),
                     .up = hn_eval_scratch_n(c, n * (uint64_t)m.up.out, sizeof(float)),
                     .gate = hn_eval_scratch_n(c, n * (uint64_t)m.down.in, sizeof(float)),
                     .out = hn_eval_scratch_n(c, n * (uint64_t)m.width, sizeof(float)),
                     .sums = hn_eval_scratch_n(c, n * (uint64_t)m.width, sizeof(float)),
                     .weights = hn_eval_scratch_n(c, scores->n_elems, sizeof(float)),
                     .rows = hn_eval_scratch_n(c, n, sizeof(int64_t))};
    HN_TRY_PTR(x && r.tokens && r.up && r.gate && r.out && r.sums && r.weights && r.rows);
    memset(r.sums, 0, y->n_elems * sizeof(float));
    hn_load_f32(scores, 0, scores->n_elems, r.weights);
    for (int64_t t = 0; t < m.n_tokens; t++)
        if (m.is_sparse)
            route_sparsely(&m, r.weights + t * m.n_experts);
        else
            route_token(&m, by, t, r.weights + t * m.n_experts);
    for (int64_t e = 0; e < m.n_experts; e++) {
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        run_expert(c, &m, e, x, &r);
    }
    hn_store_f32(y, 0, y->n_elems, r.sums);
    return HONE_OK;
}

static hone_status eval_moe(hn_eval *c) {
    static const expert_args args[3] = {{2, HN_NO_ARG, 3, HN_NO_ARG, HN_NO_ARG, ""},
                                        {4, HN_NO_ARG, 5, HN_NO_ARG, HN_NO_ARG, ""},
                                        {6, HN_NO_ARG, 7, HN_NO_ARG, HN_NO_ARG, ""}};
    router by = {.normalize = hn_attr_i(hn_eval_node(c), "normalize_routing_weights", 0) != 0};
    return run_moe(c, args, &by);
}
const hn_impl hn_impl_moe[1] = {{.eval = eval_moe}};

static hone_status eval_qmoe(hn_eval *c) {
    static const expert_args args[3] = {{2, 3, 4, 11, 15, "fc1_expert_weight_bits"},
                                        {5, 6, 7, 12, 16, "fc2_expert_weight_bits"},
                                        {8, 9, 10, 13, HN_NO_ARG, "fc3_expert_weight_bits"}};
    router by = {.normalize = true};
    HN_TRY(hn_want_elems(c, 14, hn_arg(c, 1)->n_elems));
    HN_TRY_PTR(hn_arg_f32s(c, 14, &by.given));
    if (by.given) /* a softmax over the chosen ones is what it is otherwise, whatever the attribute
                     says */
        by.normalize = hn_attr_i(hn_eval_node(c), "normalize_routing_weights", 0) != 0;
    return run_moe(c, args, &by);
}
const hn_impl hn_impl_qmoe[1] = {{.eval = eval_qmoe}};
