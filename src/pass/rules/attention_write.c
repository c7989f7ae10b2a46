/* Attention: chooses the operator that expresses it for the target, and writes it. */
#include "pass/rules/attention_site.h"

#include <float.h>
#include <math.h>

/* ---- forms ----------------------------------------------------------------------------------- */

/* How an operator takes its inputs and gives its output: rank 3 (batch, position, heads and size)
 * or rank 4 (batch, heads, position, size). */
#define RANK_3 "0,2,13"
#define RANK_4 "0,1,2,3"

typedef struct attn_form {
    const char *q, *kv, *out;
    int64_t n_kv_heads; /* heads of the keys and values that it takes */
    bool has_past;
    hn_view_plan q_plan, k_plan, v_plan, out_plan;
    hn_id replaced; /* the value that out_plan writes */
    int32_t cost;
} attn_form;

/* Follows the output through data-movement nodes, as long as each is the only reader. */
static hn_id moved_further(const hn_rule *r, hn_id value) {
    hn_id node = hn_only_reader(r, value);
    if (node == HN_NONE || hn_at(r, node)->block != hn_at(r, r->root)->block ||
        !hn_is_op(r, node, "Reshape|Transpose|Squeeze|Unsqueeze|Flatten") ||
        hn_in(r, node, 0) != value)
        return HN_NONE;
    return hn_out(r, node, 0);
}

/* Plans to write `value`, `n_moves` nodes after the product, from an output of this layout. */
static bool plan_moved_output(hn_attn *a, hn_id value, uint32_t n_moves, const char *layout,
                              hn_view_plan *plan) {
    static const char each_axis[] = "0,1,2,3,4,5,6,7";
    const hn_dim dims[] = {a->batch, a->n_heads, a->n_queries, a->value_size};
    char own[sizeof each_axis];
    hn_view v;
    if (!hn_view_begin(&v, a->r, value) || v.source_rank == 0)
        return false;
    memcpy(own, each_axis, sizeof own);
    own[2 * v.source_rank - 1] = '\0';
    while (v.n_steps < n_moves)
        if (!hn_view_up(&v))
            return false;
    return v.factor == 1 && hn_view_rebase(&v, HN_NONE, 4, dims, layout) &&
           hn_view_plan_write(&v, own, plan);
}

static bool plan_output(hn_attn *a, attn_form *f) {
    hn_id value = hn_out(a->r, a->product, 0);
    int32_t best = INT32_MAX;
    for (uint32_t n_moves = 0; value != HN_NONE; n_moves++) {
        hn_view_plan plan;
        if (plan_moved_output(a, value, n_moves, f->out, &plan)) {
            int32_t cost = 3 * ((int32_t)plan.n_nodes - (int32_t)n_moves);
            if (cost <= best) {
                best = cost;
                f->out_plan = plan;
                f->replaced = value;
            }
        }
        value = moved_further(a->r, value);
    }
    f->cost += best;
    return best != INT32_MAX;
}

static bool plan_form(hn_attn *a, attn_form *f) {
    const hn_view *k = f->has_past ? &a->k : &a->all_k, *v = f->has_past ? &a->v : &a->all_v;
    f->cost = 0;
    if (!hn_view_plan_best(&a->q, f->q, a->n_heads, &f->q_plan) ||
        !hn_view_plan_best(k, f->kv, f->n_kv_heads, &f->k_plan) ||
        !hn_view_plan_best(v, f->kv, f->n_kv_heads, &f->v_plan) || !plan_output(a, f))
        return false;
    f->cost += f->q_plan.cost + f->k_plan.cost + f->v_plan.cost;
    return true;
}

/* Picks the cheapest form; false when none can be written. */
static bool plan_best_form(hn_attn *a, attn_form *forms, uint32_t n, attn_form *best) {
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        if (plan_form(a, &forms[i]) && (!found || forms[i].cost < best->cost)) {
            *best = forms[i];
            found = true;
        }
    if (!found)
        hn_miss(a->r, "queries, keys or values cannot be rearranged with constant shapes");
    return found;
}

/* ---- parts that all operators need
 * ------------------------------------------------------------ */

typedef struct attn_parts {
    hn_id q, k, v, mask;
    hn_id hidden_rows; /* boolean (batch, queries or 1, 1): the row has no visible key; HN_NONE */
    double scale;
} attn_parts;

/* The largest element of each row of a mask. */
static hn_id row_maximum(hn_rule *r, hn_id mask) {
    const int64_t last = -1;
    return hn_make_with_list(r, "ReduceMax", mask, "axes", 1, &last);
}

/* Adds NaN to rows of -inf, so that their result stays NaN: 0 * -inf is NaN. */
static hn_id with_nan_rows(hn_rule *r, hn_id mask, hn_dtype elem) {
    hn_id zero = hn_new_const_f(r, "zero", elem, 0);
    hn_id nan_or_zero = hn_make1(r, "Mul", HN_VALUES(row_maximum(r, mask), zero), HN_NO_ATTRS);
    return hn_make1(r, "Add", HN_VALUES(mask, nan_or_zero), HN_NO_ATTRS);
}

static hn_id hidden_rows(hn_rule *r, hn_id mask, hn_dtype elem) {
    const int64_t heads = 1;
    hn_id lowest = hn_new_const_f(r, "lowest", elem, elem == HN_F16 ? -65504.0 : -FLT_MAX);
    hn_id test = hn_make1(r, "Less", HN_VALUES(row_maximum(r, mask), lowest), HN_NO_ATTRS);
    return hn_make_with_list(r, "Squeeze", test, "axes", 1, &heads);
}

/* What the operator computes for a row of -inf. */
typedef enum row_habit { GIVES_ZERO, GIVES_NAN } row_habit;

static bool write_parts(hn_attn *a, const attn_form *f, row_habit habit, attn_parts *p) {
    hn_view_writer w = {.r = a->r};
    hn_dtype elem = hn_elem_of(a->r, a->q.value);
    bool may_hide = hn_attn_may_hide_all(a);
    *p = (attn_parts){.mask = HN_NONE, .hidden_rows = HN_NONE};
    p->q = hn_view_write(&w, &f->q_plan);
    p->k = hn_view_write(&w, &f->k_plan);
    p->v = hn_view_write(&w, &f->v_plan);
    p->scale = a->scale * f->q_plan.factor * f->k_plan.factor;
    if (!(p->scale > 0) || p->scale > FLT_MAX) {
        hn_miss(a->r, "the scores are scaled by %g, which is not positive", p->scale);
        return false;
    }
    if (elem == HN_F64 && (float)p->scale != p->scale) {
        hn_miss(a->r, "the scale is an attribute, and an attribute holds no double");
        return false;
    }
    if (a->n_masks == 0)
        return true;
    p->mask = hn_attn_write_mask(a, &w, p->q);
    if (p->mask == HN_NONE)
        return false;
    if (may_hide && a->is_guarded && habit == GIVES_NAN) {
        if (a->has_heads) {
            hn_miss(a->r, "a mask may hide all keys from a query of one head but not of another");
            return false;
        }
        p->hidden_rows = hidden_rows(a->r, p->mask, elem);
    }
    if (may_hide && !a->is_guarded && habit == GIVES_ZERO)
        p->mask = with_nan_rows(a->r, p->mask, elem);
    p->mask = hn_attn_expand_mask(a, p->mask, p->q, f->q[2] == '2' ? 1 : 2, p->k,
                                  f->kv[2] == '2' ? 1 : 2);
    return true;
}

/* Connects the readers to the outputs of the new node. */
static void write_output(hn_attn *a, const attn_form *f, const attn_parts *p, hn_id node) {
    hn_rule *r = a->r;
    hn_view_writer w = {.r = r};
    hn_view_plan out = f->out_plan;
    out.source = hn_out(r, node, 0);
    if (p->hidden_rows != HN_NONE) {
        hn_id zero = hn_new_const_f(r, "zero", hn_elem_of(r, a->q.value), 0);
        out.source = hn_make1(r, "Where", HN_VALUES(p->hidden_rows, zero, out.source), HN_NO_ATTRS);
    }
    hn_rule_replace_value(r, f->replaced, hn_view_write(&w, &out));
    if (f->has_past) {
        hn_rule_replace_value(r, a->present_k, hn_out(r, node, 1));
        hn_rule_replace_value(r, a->present_v, hn_out(r, node, 2));
    }
    hn_detail(r, "%lld heads of %lld%s%s%s", (long long)a->n_heads, (long long)a->size,
              a->n_kv_heads != a->n_heads ? ", grouped" : "", a->is_causal ? ", causal" : "",
              f->has_past ? ", with past" : "");
}

static bool is_default_scale(const hn_attn *a, double scale) {
    return fabs(scale * sqrt((double)a->size) - 1) < 1e-6;
}

/* ---- operators ------------------------------------------------------------------------------- */

static hone_status write_standard(hn_attn *a) {
    hn_rule *r = a->r;
    bool has_past = a->past_k != HN_NONE;
    attn_form forms[] = {{.q = RANK_3,
                          .kv = RANK_3,
                          .out = RANK_3,
                          .n_kv_heads = a->n_kv_heads,
                          .has_past = has_past},
                         {.q = RANK_4,
                          .kv = RANK_4,
                          .out = RANK_4,
                          .n_kv_heads = a->n_kv_heads,
                          .has_past = has_past}};
    attn_form f;
    attn_parts p;
    hn_attr attrs[8];
    uint32_t n = 0;
    if (!plan_best_form(a, forms, HN_COUNT(forms), &f) || !write_parts(a, &f, GIVES_ZERO, &p))
        return HONE_OK;
    if (a->is_causal)
        attrs[n++] = hn_new_i(r, "is_causal", 1);
    if (f.q[2] == '2') {
        attrs[n++] = hn_new_i(r, "q_num_heads", a->n_heads);
        attrs[n++] = hn_new_i(r, "kv_num_heads", a->n_kv_heads);
    }
    if (!is_default_scale(a, p.scale))
        attrs[n++] = hn_new_f(r, "scale", (float)p.scale);
    if (a->softcap != 0)
        attrs[n++] = hn_new_f(r, "softcap", (float)a->softcap);
    if (a->softmax_elem != hn_elem_of(r, a->q.value))
        attrs[n++] = hn_new_i(r, "softmax_precision", a->softmax_elem);
    hn_id past_k = has_past ? a->past_k : HN_NONE, past_v = has_past ? a->past_v : HN_NONE;
    hn_id node = hn_make(r, "Attention", HN_VALUES(p.q, p.k, p.v, p.mask, past_k, past_v),
                         has_past ? 3 : 1, n, attrs);
    write_output(a, &f, &p, node);
    return HONE_OK;
}

/* True when the product broadcasts a single head of keys and values to all query heads. */
static bool is_one_for_all(const hn_attn *a) {
    return a->n_heads > 1 && hn_view_axis_size(&a->all_k, 1, true) == 1;
}

static hn_id for_all_heads(const hn_attn *a, hn_id x) {
    const int64_t sizes[] = {1, a->n_heads, 1, 1};
    return hn_make1(a->r, "Expand", HN_VALUES(x, hn_new_const_i64s(a->r, "heads", 4, sizes)),
                    HN_NO_ATTRS);
}

static hone_status write_multi_head(hn_attn *a) {
    hn_rule *r = a->r;
    bool has_past = a->past_k != HN_NONE && a->n_kv_heads == a->n_heads, is_one = is_one_for_all(a);
    attn_form forms[] = {
        {.q = RANK_3, .kv = RANK_3, .out = RANK_3, .n_kv_heads = a->n_heads, .has_past = has_past},
        {.q = RANK_3, .kv = RANK_4, .out = RANK_3, .n_kv_heads = is_one ? 1 : a->n_heads}};
    attn_form f;
    attn_parts p;
    hn_attr attrs[4];
    uint32_t n = 0;
    if (!plan_best_form(a, is_one ? forms + 1 : forms, has_past || is_one ? 1 : 2, &f) ||
        !write_parts(a, &f, GIVES_NAN, &p))
        return HONE_OK;
    if (is_one) {
        p.k = for_all_heads(a, p.k);
        p.v = for_all_heads(a, p.v);
    }
    attrs[n++] = hn_new_i(r, "num_heads", a->n_heads);
    if (a->is_causal)
        attrs[n++] = hn_new_i(r, "unidirectional", 1);
    if (!is_default_scale(a, p.scale))
        attrs[n++] = hn_new_f(r, "scale", (float)p.scale);
    hn_id past_k = has_past ? a->past_k : HN_NONE, past_v = has_past ? a->past_v : HN_NONE;
    hn_id node = hn_make(r, "ms.MultiHeadAttention",
                         HN_VALUES(p.q, p.k, p.v, HN_NONE, HN_NONE, p.mask, past_k, past_v),
                         has_past ? 3 : 1, n, attrs);
    write_output(a, &f, &p, node);
    return HONE_OK;
}

static hn_id new_const_i32s(hn_rule *r, const char *stem, int64_t n, int32_t number) {
    void *data;
    hn_tensor *t = hn_new_tensor(r, HN_I32, 1, &n, &data);
    for (int64_t i = 0; t && i < n; i++)
        memcpy((char *)data + i * (int64_t)sizeof number, &number, sizeof number);
    return hn_new_const(r, stem, t);
}

/* GroupQueryAttention supports causal attention with one length for all sequences and no mask. */
static bool fits_group_query(const hn_attn *a) {
    return a->is_causal && a->past_k == HN_NONE && hn_dim_is_known(a->batch) &&
           hn_dim_is_known(a->n_keys) && a->n_keys <= INT32_MAX && a->size == a->value_size &&
           a->size % 8 == 0 && hn_elem_of(a->r, a->q.value) == HN_F32;
}

static hone_status write_group_query(hn_attn *a) {
    hn_rule *r = a->r;
    attn_form forms[] = {{.q = RANK_3, .kv = RANK_3, .out = RANK_3, .n_kv_heads = a->n_kv_heads}},
              f;
    attn_parts p;
    hn_attr attrs[3];
    uint32_t n = 0;
    if (!plan_best_form(a, forms, 1, &f) || !write_parts(a, &f, GIVES_NAN, &p))
        return HONE_OK;
    attrs[n++] = hn_new_i(r, "num_heads", a->n_heads);
    attrs[n++] = hn_new_i(r, "kv_num_heads", a->n_kv_heads);
    if (!is_default_scale(a, p.scale))
        attrs[n++] = hn_new_f(r, "scale", (float)p.scale);
    hn_id last = new_const_i32s(r, "last_key", a->batch, (int32_t)a->n_keys - 1);
    hn_id total = new_const_i32s(r, "n_keys", 1, (int32_t)a->n_keys);
    hn_id node = hn_make(r, "ms.GroupQueryAttention",
                         HN_VALUES(p.q, p.k, p.v, HN_NONE, HN_NONE, last, total), 1, n, attrs);
    write_output(a, &f, &p, node);
    return HONE_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

#define STANDARD_SINCE 23 /* opset of ai.onnx Attention */
#define WHERE_SINCE 9     /* opset of the newest operator that masks are written with */

/* MultiHeadAttention has no softcap, and supports only these types. */
static bool fits_multi_head(const hn_attn *a) {
    hn_dtype elem = hn_elem_of(a->r, a->q.value);
    return a->softcap == 0 && (elem == HN_F32 || elem == HN_F16);
}

/* In onnxruntime the standard operator is no slower than those of com.microsoft, except for grouped
 * causal attention. */
hone_status hn_attn_write(hn_attn *a) {
    hn_rule *r = a->r;
    const hn_pass *p = r->pass;
    bool is_standard = hn_rule_opset(r) >= STANDARD_SINCE;
    bool is_raisable = p->options->max_opset >= STANDARD_SINCE && !p->is_opset_settled;
    bool is_ours = p->options->target != HN_TARGET_ONNX;
    if (is_ours && a->n_kv_heads != a->n_heads && fits_group_query(a))
        return write_group_query(a);
    if (is_ours && !is_standard && !is_raisable && fits_multi_head(a) &&
        hn_rule_opset(r) >= WHERE_SINCE)
        return write_multi_head(a);
    return hn_can_write(r, "Attention") ? write_standard(a) : HONE_OK;
}
