/* Attention: matches the core, from the product with the values through softmax, masks and scale to
 * the product of queries and keys. */
#include "pass/rules/attention_site.h"

#include <float.h>
#include <math.h>

#define MAX_SCORE_STEPS 24
#define MAX_SCORE_DEPTH 10

/* ---- from the product to the softmax
 * ---------------------------------------------------------- */

/* Where(IsNaN(p), 0, p) -> p */
static hn_id unguarded(const hn_rule *r, hn_id value) {
    hn_id where = hn_maker(r, value, "Where");
    hn_id test = where == HN_NONE ? HN_NONE : hn_maker(r, hn_in(r, where, 0), "IsNaN");
    double zero;
    if (test == HN_NONE || hn_in(r, test, 0) != hn_in(r, where, 2) ||
        !hn_const_f64(r, hn_in(r, where, 1), &zero) || zero != 0)
        return HN_NONE;
    return hn_in(r, where, 2);
}

static bool is_read_elsewhere(const hn_attn *a, hn_id value, uint32_t n_readers) {
    return hn_n_readers(a->r, value) != n_readers || hn_is_graph_output(a->r, value);
}

/* Finds the softmax that the first input of the product comes from. */
static hn_id find_softmax(hn_attn *a) {
    hn_rule *r = a->r;
    hn_id at = a->probabilities;
    bool is_shared = false;
    for (uint32_t i = 0; i < MAX_SCORE_STEPS; i++) {
        hn_id maker = hn_maker(r, at, "Softmax");
        hn_id inner = unguarded(r, at);
        uint32_t n_readers = 1;
        if (maker == HN_NONE && inner == HN_NONE) {
            maker = hn_maker(r, at, "Cast|Identity|Dropout|Reshape|Squeeze|Unsqueeze");
            if (maker == HN_NONE)
                return HN_NONE;
            is_shared |= is_read_elsewhere(a, at, n_readers);
            at = hn_in(r, maker, 0);
            continue;
        }
        if (inner != HN_NONE) {
            is_shared |= is_read_elsewhere(a, at, 1);
            a->is_guarded = true;
            at = inner;
            maker = hn_maker(r, at, "Softmax");
            n_readers = 2;
        }
        is_shared |= maker != HN_NONE && is_read_elsewhere(a, at, n_readers);
        if (maker != HN_NONE && is_shared)
            hn_miss(r, "the attention weights have other readers");
        return is_shared ? HN_NONE : maker;
    }
    return HN_NONE;
}

static bool is_over_keys(const hn_attn *a) {
    hn_id x = hn_in(a->r, a->softmax, 0);
    int64_t axis = hn_node_i(a->r, a->softmax, "axis", -1);
    return axis == -1 || (hn_rank_of(a->r, x) > 0 && axis == hn_rank_of(a->r, x) - 1);
}

/* ---- from the softmax to the scores ---------------------------------------------------------- */

static bool is_product(const hn_rule *r, hn_id node) {
    return hn_is_op(r, node, "MatMul") && !hn_const(r, hn_in(r, node, 0)) &&
           !hn_const(r, hn_in(r, node, 1));
}

/* True when a value comes from a product through operators that attention applies to its scores. */
static bool is_scores(const hn_rule *r, hn_id value, uint32_t depth) {
    if (value == HN_NONE || depth == 0 || hn_const(r, value))
        return false;
    const hn_value *v = hn_value_at(r->g, value);
    hn_id node = v->producer;
    if (node == HN_NONE || v->slot != 0)
        return false;
    if (is_product(r, node))
        return true;
    if (hn_is_op(r, node, "Cast|Reshape|Squeeze|Unsqueeze|Identity|Tanh"))
        return is_scores(r, hn_in(r, node, 0), depth - 1);
    if (hn_is_op(r, node, "Where"))
        return is_scores(r, hn_in(r, node, 1), depth - 1) ||
               is_scores(r, hn_in(r, node, 2), depth - 1);
    if (hn_is_op(r, node, "Add|Sub|Mul|Div|Max"))
        return is_scores(r, hn_in(r, node, 0), depth - 1) ||
               is_scores(r, hn_in(r, node, 1), depth - 1);
    return false;
}

/* The shapes must be equal except for the last axis. That one holds the keys, and the product with
 * the values fixes their number. */
static bool is_same_but_keys(const hn_rule *r, hn_id scores, hn_id masked) {
    const hn_shape *a = hn_shape_of(r, scores), *b = hn_shape_of(r, masked);
    if (!a || !b || a->rank != b->rank || a->rank == 0)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if ((a->dims[i] != b->dims[i] || a->dims[i] == HN_DIM_UNKNOWN) &&
            (i + 1 < a->rank || b->dims[i] != HN_DIM_UNKNOWN))
            return false;
    return true;
}

/* Returns which of two inputs holds the scores. When both come from products, it is the one with
 * the shape of the result. */
static uint32_t scores_input(const hn_rule *r, hn_id node, uint32_t first, hn_id result) {
    hn_id x = hn_in(r, node, first);
    bool is_first = is_scores(r, x, MAX_SCORE_DEPTH);
    bool is_second = is_scores(r, hn_in(r, node, first + 1), MAX_SCORE_DEPTH);
    if (is_first && is_second)
        return hn_same_shape(r, x, result) ? first : first + 1;
    return is_first ? first : first + 1;
}

/* Where(c, 0, number) reduces to its condition, because the data movement above c matters. */
static void read_mask_select(const hn_rule *r, hn_attn_mask *mask) {
    hn_id where = mask->kind == HN_MASK_ADDED ? hn_maker(r, mask->value, "Where") : HN_NONE;
    double yes, no;
    if (where == HN_NONE || !hn_const_f64(r, hn_in(r, where, 1), &yes) ||
        !hn_const_f64(r, hn_in(r, where, 2), &no) || (yes != 0 && no != 0) ||
        !hn_same_shape(r, hn_in(r, where, 0), mask->value))
        return;
    mask->kind = HN_MASK_SELECTED;
    mask->value = hn_in(r, where, 0);
    mask->yes = yes;
    mask->no = no;
}

static bool push_mask(hn_attn *a, hn_attn_mask mask) {
    if (a->n_masks == HN_COUNT(a->masks))
        return false;
    if (a->softcap != 0) {
        hn_miss(a->r, "a mask is added before the softcap of the scores");
        return false;
    }
    read_mask_select(a->r, &mask);
    a->masks[a->n_masks++] = mask;
    return true;
}

static bool take_sum(hn_attn *a, hn_id node, hn_id *at) {
    bool is_sub = hn_is_op(a->r, node, "Sub");
    uint32_t i = is_sub ? 0 : scores_input(a->r, node, 0, *at);
    hn_id scores = hn_in(a->r, node, i);
    hn_attn_mask mask = {.kind = is_sub ? HN_MASK_SUBTRACTED : HN_MASK_ADDED,
                         .value = hn_in(a->r, node, 1 - i),
                         .scores = scores,
                         .factor = a->scale};
    if (!is_same_but_keys(a->r, scores, *at)) {
        hn_miss(a->r, "a mask has more dimensions than the scores it is added to");
        return false;
    }
    *at = scores;
    return push_mask(a, mask);
}

static bool take_where(hn_attn *a, hn_id node, hn_id *at) {
    uint32_t i = scores_input(a->r, node, 1, *at);
    hn_attn_mask mask = {.kind = HN_MASK_SELECTED,
                         .value = hn_in(a->r, node, 0),
                         .scores = hn_in(a->r, node, i),
                         .factor = 1};
    double fill;
    if (!hn_const_f64(a->r, hn_in(a->r, node, 3 - i), &fill) ||
        !(fill * a->scale <= HN_ATTN_HIDDEN)) {
        hn_miss(a->r, "scores are replaced by something that is not a large negative number");
        return false;
    }
    *(i == 1 ? &mask.no : &mask.yes) = isinf(fill) ? fill : -DBL_MAX; /* hides the score */
    if (!is_same_but_keys(a->r, mask.scores, *at)) {
        hn_miss(a->r, "a mask has more dimensions than the scores that it selects");
        return false;
    }
    *at = mask.scores;
    return push_mask(a, mask);
}

static bool take_factor(hn_attn *a, hn_id node, hn_id *at) {
    bool is_div = hn_is_op(a->r, node, "Div");
    uint32_t i = is_div ? 0 : scores_input(a->r, node, 0, *at);
    double c;
    if (!hn_const_f64(a->r, hn_in(a->r, node, 1 - i), &c) || c == 0 ||
        !is_same_but_keys(a->r, hn_in(a->r, node, i), *at)) {
        hn_miss(a->r, "the scores are scaled by something other than one constant number");
        return false;
    }
    a->scale *= is_div ? 1 / c : c;
    *at = hn_in(a->r, node, i);
    return true;
}

static bool take_cap(hn_attn *a, hn_id node, hn_id *at) {
    if (a->softcap != 0)
        return false;
    a->softcap = a->scale;
    a->scale = 1;
    *at = hn_in(a->r, node, 0);
    return true;
}

/* Max with the lowest number of the type keeps sums of masks from becoming -inf. */
static bool take_floor(hn_attn *a, hn_id node, hn_id *at) {
    uint32_t i = scores_input(a->r, node, 0, *at);
    double c;
    if (hn_at(a->r, node)->n_inputs != 2 || !hn_const_f64(a->r, hn_in(a->r, node, 1 - i), &c) ||
        c > -6e4)
        return false;
    *at = hn_in(a->r, node, i);
    return true;
}

static bool take_first(hn_attn *a, hn_id node, hn_id *at) {
    *at = hn_in(a->r, node, 0);
    return true;
}

typedef struct score_step {
    const char *ops;
    bool (*take)(hn_attn *a, hn_id node, hn_id *at);
} score_step;

static const score_step score_steps[] = {
    {"Add|Sub", take_sum},    {"Where", take_where},
    {"Mul|Div", take_factor}, {"Tanh", take_cap},
    {"Max", take_floor},      {"Cast|Reshape|Squeeze|Unsqueeze|Identity", take_first},
};

static bool take_step(hn_attn *a, hn_id node, hn_id *at) {
    for (uint32_t i = 0; i < HN_COUNT(score_steps); i++)
        if (hn_is_op(a->r, node, score_steps[i].ops))
            return score_steps[i].take(a, node, at);
    return false;
}

/* A Shape may also read the scores, for Expands of masks. It is removed together with them. */
static bool is_score_shared(hn_attn *a, hn_id value) {
    const hn_value *v = hn_value_at(a->r->g, value);
    uint32_t n_chain = 0;
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id reader = v->uses.at[i].node;
        if (reader == HN_NONE)
            return true;
        if (!hn_is_op(a->r, reader, "Shape"))
            n_chain++;
        else if (a->scores_shape != HN_NONE)
            return true;
        else
            a->scores_shape = reader;
    }
    return n_chain != 1;
}

static bool is_expanded_mask(const hn_attn *a, hn_id node) {
    for (uint32_t i = 0; node != HN_NONE && i < a->n_masks; i++)
        if (hn_maker(a->r, a->masks[i].value, "Expand") == node)
            return !is_read_elsewhere(a, a->masks[i].value, 1);
    return false;
}

static bool shapes_masks_only(const hn_attn *a) {
    const hn_value *v = hn_value_at(a->r->g, hn_out(a->r, a->scores_shape, 0));
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (!is_expanded_mask(a, v->uses.at[i].node))
            return false;
    return true;
}

static bool find_scores(hn_attn *a) {
    hn_id at = hn_in(a->r, a->softmax, 0);
    if (!is_scores(a->r, at, MAX_SCORE_DEPTH))
        return false;
    for (uint32_t i = 0; i < MAX_SCORE_STEPS; i++) {
        hn_id node = hn_value_at(a->r->g, at)->producer;
        if (node == HN_NONE)
            return false;
        bool is_end = is_product(a->r, node);
        if (is_score_shared(a, at) ||
            (is_end && a->scores_shape != HN_NONE && !shapes_masks_only(a))) {
            hn_miss(a->r, "the scores have other readers");
            return false;
        }
        if (is_end) {
            a->scores = node;
            a->scale *= a->softcap != 0 ? a->softcap : 1;
            return true;
        }
        if (!take_step(a, node, &at))
            return false;
    }
    return false;
}

bool hn_attn_find_core(hn_attn *a) {
    a->scale = 1;
    a->scores_shape = HN_NONE;
    a->probabilities = hn_in(a->r, a->product, 0);
    a->softmax = find_softmax(a);
    if (a->softmax == HN_NONE || !find_scores(a))
        return false;
    if (!is_over_keys(a)) {
        hn_miss(a->r, "the softmax is not over the last axis");
        return false;
    }
    a->softmax_elem = hn_elem_of(a->r, hn_in(a->r, a->softmax, 0));
    return true;
}
