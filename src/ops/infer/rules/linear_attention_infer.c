/* Inference rule of linear attention, which has a state per head instead of a cache of keys. */
#include "ops/infer/infer_int.h"

#include "ops/infer/spatial.h"

enum { LINEAR_Q, LINEAR_K, LINEAR_V, LINEAR_PAST, LINEAR_DECAY, LINEAR_BETA };

/* The optional inputs that an update rule uses; the others must be absent. */
static const struct linear_rule {
    const char *name;
    bool decay, beta;
} linear_rules[] = {{"linear", false, false},
                    {"gated", true, false},
                    {"delta", false, true},
                    {"gated_delta", true, true}};

static const struct linear_rule *find_linear_rule(const hn_infer *c) {
    for (size_t i = 0; i < HN_COUNT(linear_rules); i++)
        if (hn_attr_is(c, "update_rule", linear_rules[i].name))
            return &linear_rules[i];
    return NULL;
}

static hone_status check_linear_rule(hn_infer *c) {
    const struct linear_rule *rule = find_linear_rule(c);
    if (!rule)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "update_rule must be linear, gated, delta or gated_delta");
    if (rule->decay != hn_has_input(c, LINEAR_DECAY))
        return hn_infer_fail(c, HONE_E_SHAPE, "update_rule '%s' %s the input decay", rule->name,
                             rule->decay ? "needs" : "forbids");
    if (rule->beta != hn_has_input(c, LINEAR_BETA))
        return hn_infer_fail(c, HONE_E_SHAPE, "update_rule '%s' %s the input beta", rule->name,
                             rule->beta ? "needs" : "forbids");
    return HONE_OK;
}

typedef struct linear_sizes {
    int64_t q_heads, kv_heads;
    hn_dim batch, len, key, value; /* key and value: per head */
} linear_sizes;

static hone_status read_linear_heads(hn_infer *c, linear_sizes *s) {
    s->q_heads = hn_attr_i(c, "q_num_heads", 0);
    s->kv_heads = hn_attr_i(c, "kv_num_heads", 0);
    if (s->q_heads >= 1 && s->kv_heads >= 1 && s->q_heads % s->kv_heads == 0)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE,
                         "q_num_heads is %lld and kv_num_heads is %lld; both must be positive, and "
                         "the first a multiple of the second",
                         (long long)s->q_heads, (long long)s->kv_heads);
}

/* A packed input [batch, length, heads * size]; merges the size of a head. */
static hone_status meet_heads(hn_infer *c, uint32_t input, int64_t n_heads, linear_sizes *s,
                              hn_dim *size) {
    hn_dim packed = HN_DIM_UNKNOWN;
    HN_TRY(hn_meet_dims(c, input, 3, (hn_dim *const[]){&s->batch, &s->len, &packed}));
    if (hn_dim_is_known(packed) && packed % n_heads != 0)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "input %u is %s, whose last dimension does not hold %lld heads", input,
                             hn_in_text(c, input), (long long)n_heads);
    return hn_merge_dim(c, "the size of a head", *size,
                        hn_dim_floor_div(hn_infer_syms(c), packed, n_heads), size);
}

/* The last dimension of a gate is one of two widths: one value per head, or `wide`. */
static hone_status check_gate(hn_infer *c, uint32_t input, linear_sizes *s, hn_dim wide) {
    hn_dim have = HN_DIM_UNKNOWN;
    HN_TRY(hn_meet_dims(c, input, 3, (hn_dim *const[]){&s->batch, &s->len, &have}));
    if (!hn_dim_is_known(have) || !hn_dim_is_known(wide) || have == s->kv_heads || have == wide)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE,
                         "input %u is %s, whose last dimension must be %lld or %lld", input,
                         hn_in_text(c, input), (long long)s->kv_heads, (long long)wide);
}

static hone_status meet_past_state(hn_infer *c, int64_t window, linear_sizes *s) {
    hn_dim slots = window, heads = s->kv_heads;
    hn_dim *const axes[] = {&slots, &s->batch, &heads, &s->key, &s->value};
    return window > 0 ? hn_meet_dims(c, LINEAR_PAST, 5, axes)
                      : hn_meet_dims(c, LINEAR_PAST, 4, axes + 1);
}

hone_status hn_infer_linear_attention(hn_infer *c) {
    linear_sizes s = {.batch = HN_DIM_UNKNOWN,
                      .len = HN_DIM_UNKNOWN,
                      .key = HN_DIM_UNKNOWN,
                      .value = HN_DIM_UNKNOWN};
    int64_t window = hn_attr_i(c, "state_window", 0);
    hn_syms *syms = hn_infer_syms(c);
    HN_TRY(read_linear_heads(c, &s));
    HN_TRY(check_linear_rule(c));
    HN_TRY(meet_past_state(c, window, &s));
    HN_TRY(meet_heads(c, LINEAR_Q, s.q_heads, &s, &s.key));
    HN_TRY(meet_heads(c, LINEAR_K, s.kv_heads, &s, &s.key));
    HN_TRY(meet_heads(c, LINEAR_V, s.kv_heads, &s, &s.value));
    HN_TRY(check_gate(c, LINEAR_DECAY, &s, hn_dim_mul_i(syms, s.key, s.kv_heads)));
    HN_TRY(check_gate(c, LINEAR_BETA, &s, 1));
    HN_TRY(hn_out_elem(c, 1, hn_in_elem(c, hn_has_input(c, LINEAR_PAST) ? LINEAR_PAST : LINEAR_Q)));
    const hn_dim state[] = {window, s.batch, s.kv_heads, s.key, s.value};
    HN_TRY(window > 0 ? hn_out_shape(c, 1, 5, state) : hn_out_shape(c, 1, 4, state + 1));
    hn_dim packed = hn_in_dim(c, LINEAR_V, 2); /* its multiple contains no quotient */
    hn_dim width = packed != HN_DIM_UNKNOWN ? hn_dim_mul_i(syms, packed, s.q_heads / s.kv_heads)
                                            : hn_dim_mul_i(syms, s.value, s.q_heads);
    return hn_out_shape(c, 0, 3, (hn_dim[]){s.batch, s.len, width});
}

/* Per position: an outer product into the state of each head, a lookup before it for delta rules,
 * and one product with the state for each query head. */
bool hn_macs_linear_attention(const hn_infer *c, uint64_t *macs) {
    const struct linear_rule *rule = find_linear_rule(c);
    int64_t q_heads = hn_attr_i(c, "q_num_heads", 0), kv_heads = hn_attr_i(c, "kv_num_heads", 0);
    hn_dim key = hn_in_dim(c, LINEAR_K, 2), value = hn_in_dim(c, LINEAR_V, 2), products;
    if (!rule || q_heads < 1 || kv_heads < 1 || !hn_dim_is_known(key) || !hn_dim_is_known(value) ||
        !hn_mul_i64(kv_heads, rule->beta ? 2 : 1, &products) ||
        !hn_add_i64(products, q_heads, &products))
        return false;
    const hn_dim factors[] = {hn_in_dim(c, LINEAR_K, 0), hn_in_dim(c, LINEAR_K, 1), key / kv_heads,
                              value / kv_heads, products};
    *macs = 1;
    return hn_macs_times(macs, (int32_t)HN_COUNT(factors), factors);
}
