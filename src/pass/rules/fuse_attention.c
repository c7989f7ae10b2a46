/* Fuses attention into one operator, whichever exporter wrote it. The match consists of a core
 * (softmax, masks, scale), views (heads, packed projections, transposes, repeated keys) and masks,
 * none of which depends on an exporter. */
#include "pass/rules/attention_site.h"

static bool is_one_type(const hn_attn *a) {
    hn_dtype elem = hn_elem_of(a->r, a->q.value);
    if (hn_dtype_is_float(elem) && hn_elem_of(a->r, a->k.value) == elem &&
        hn_elem_of(a->r, a->v.value) == elem)
        return true;
    hn_miss(a->r, "queries, keys and values have different types");
    return false;
}

static hone_status fuse(hn_rule *r) {
    hn_attn a = {.r = r, .product = r->root};
    if (!hn_attn_find_core(&a) || !hn_attn_find_heads(&a) || !is_one_type(&a))
        return HONE_OK;
    hn_attn_find_causal(&a);
    return hn_attn_write(&a);
}

static const hn_rule_row attention_rules[] = {
    {.name = "attention", .pattern = "MatMul", .fn = fuse, .allow_shared = true},
};

hone_status hn_pass_fuse_attention(hn_pass *p) {
    return hn_pass_rules(p, attention_rules, HN_COUNT(attention_rules));
}
