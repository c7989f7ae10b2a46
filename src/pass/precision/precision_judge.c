/* Decides which nodes compute in half precision. */
#include "pass/opset/opset.h"
#include "pass/precision/precision.h"

/* Operators that stay in float: they select, count or place elements by numbers that must not be
 * rounded, have types that their attributes name, or hold scales of quantized tensors. */
static const char blocked_by_default[] =
    "Bernoulli|BlackmanWindow|CumSum|DequantizeLinear|DynamicQuantizeLinear|EyeLike|GridSample|"
    "HammingWindow|HannWindow|ImageDecoder|MaxRoiPool|MelWeightMatrix|Multinomial|"
    "NonMaxSuppression|"
    "QLinearConv|QLinearMatMul|QuantizeLinear|RandomNormal|RandomNormalLike|RandomUniform|"
    "RandomUniformLike|Range|Resize|RoiAlign|TopK|Upsample";

/* ---- nodes ----------------------------------------------------------------------------------- */

static hone_status tell_why(hn_narrowing *w, hn_id node, const char *fmt, const char *name) {
    hn_rule *r = hn_rewrite_begin(w->types.pass, "stay-float", node);
    HN_TRY_PTR(r);
    return hn_miss(r, fmt, name);
}

static bool names_it(uint32_t n, const char *const *names, hn_str name) {
    for (uint32_t i = 0; name && i < n; i++)
        if (strcmp(names[i], hn_s(name)) == 0)
            return true;
    return false;
}

static bool is_blocked(const hn_narrowing *w, const hn_node *n) {
    return hn_list_names(blocked_by_default, hn_s(n->op), n->op->n) ||
           names_it(w->wish->n_blocked_ops, w->wish->blocked_ops, n->op) ||
           names_it(w->wish->n_blocked_nodes, w->wish->blocked_nodes, n->name);
}

/* Constant and ConstantOfShape: an attribute holds the type, or it cannot be changed. */
static bool names_its_type(const hn_node *n) {
    const hn_attr *value = hn_node_attr(n, "value");
    return !hn_list_names("Constant|ConstantOfShape", hn_s(n->op), n->op->n) ||
           (value && value->kind == HN_ATTR_TENSOR);
}

static bool is_followed_from_shapes(const hn_narrowing *w, hn_id value) {
    uint32_t n;
    const hn_sint *elems;
    bool is_scalar;
    if (!hn_facts_ints(w->types.pass->facts, value, &n, &elems, &is_scalar))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (elems[i].kind == HN_SINT_UNKNOWN)
            return false;
    return n > 0;
}

/* Sizes pass through floats between Shape and Resize or Reshape, and 2049 is not exact in
 * float16. */
static bool computes_sizes(const hn_narrowing *w, const hn_node *n) {
    bool any = false;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id value = n->inputs[i];
        if (value == HN_NONE || hn_facts_const(w->types.pass->facts, value))
            continue;
        if (!w->is_size[value] && !is_followed_from_shapes(w, value))
            return false;
        any = true;
    }
    return any;
}

/* Runtimes compute with integers between DequantizeLinear and QuantizeLinear; Casts would prevent
 * that. */
static bool is_quantized(const hn_narrowing *w, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id maker =
            n->inputs[i] == HN_NONE ? HN_NONE : hn_value_at(w->types.g, n->inputs[i])->producer;
        if (maker != HN_NONE &&
            strcmp(hn_s(hn_node_at(w->types.g, maker)->op), "DequantizeLinear") == 0)
            return true;
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const hn_value *v =
            n->outputs[i] == HN_NONE ? NULL : hn_value_at(w->types.g, n->outputs[i]);
        for (uint32_t k = 0; v && k < v->uses.n; k++)
            if (v->uses.at[k].node != HN_NONE &&
                strcmp(hn_s(hn_node_at(w->types.g, v->uses.at[k].node)->op), "QuantizeLinear") == 0)
                return true;
    }
    return false;
}

static bool is_too_large(const hn_narrowing *w, const hn_tensor *t) {
    return t && t->dtype == HN_F32 && t->data && !hn_narrow_fits(t, w->types.to);
}

/* Returns the name of a constant that does not fit the type; NULL when all fit. */
static hn_str too_large_constant(const hn_narrowing *w, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != HN_NONE &&
            is_too_large(w, hn_facts_const(w->types.pass->facts, n->inputs[i])))
            return hn_value_at(w->types.g, n->inputs[i])->name;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].kind == HN_ATTR_TENSOR && is_too_large(w, n->attrs[i].v.tensor))
            return n->attrs[i].name;
    return NULL;
}

static hn_id too_large_value(const hn_narrowing *w, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && w->is_large[n->outputs[i]])
            return n->outputs[i];
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != HN_NONE && w->is_large[n->inputs[i]])
            return n->inputs[i];
    return HN_NONE;
}

static hone_status judge_node(hn_narrowing *w, hn_id node) {
    const hn_node *n = hn_node_at(w->types.g, node);
    if (computes_sizes(w, n)) {
        for (uint32_t i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != HN_NONE)
                w->is_size[n->outputs[i]] = true;
        return HONE_OK;
    }
    if (is_blocked(w, n) || is_quantized(w, n) || !names_its_type(n) ||
        !hn_retype_schema_fits(&w->types, node))
        return HONE_OK;
    hn_str constant = too_large_constant(w, n);
    if (constant)
        return tell_why(w, node, "constant '%s' has elements beyond the range of the type",
                        hn_s(constant));
    hn_id large = too_large_value(w, n);
    if (large != HN_NONE)
        return tell_why(w, node, "'%s' had elements beyond the range of the type in the samples",
                        hn_s(hn_value_at(w->types.g, large)->name));
    w->types.is_new_node[node] = true;
    return HONE_OK;
}

/* Visits outer blocks and earlier nodes first, because sizes are followed forward. */
hone_status hn_narrow_judge(hn_narrowing *w) {
    for (hn_id block = 0; block < w->types.g->blocks.n; block++)
        for (uint32_t i = 0; i < hn_block_at(w->types.g, block)->nodes.n; i++)
            HN_TRY(judge_node(w, hn_block_at(w->types.g, block)->nodes.at[i]));
    return HONE_OK;
}
