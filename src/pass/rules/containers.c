/* Removes sequences and optionals that are made and then opened again. */
#include "pass/engine/pass_int.h"

static hone_status sequence_at(hn_rule *r) {
    const hn_node *made = hn_at(r, hn_cap_node(r, "sequence"));
    const hn_tensor *position = hn_const(r, hn_cap(r, "i"));
    int64_t i;
    if (position->n_elems != 1 || !hn_tensor_get_i64(position, 0, &i))
        return HONE_OK;
    i += i < 0 ? made->n_inputs : 0;
    if (i >= 0 && i < made->n_inputs)
        hn_rule_replace(r, made->inputs[i]);
    return HONE_OK;
}

static hone_status sequence_length(hn_rule *r) {
    void *data;
    int64_t n = hn_at(r, hn_cap_node(r, "sequence"))->n_inputs;
    const hn_tensor *t = hn_new_tensor(r, HN_I64, 0, NULL, &data);
    HN_TRY_PTR(t);
    memcpy(data, &n, sizeof n);
    hn_rule_replace(r, hn_new_const(r, "length", t));
    return HONE_OK;
}

static hone_status concat_sequence(hn_rule *r) {
    const hn_node *made = hn_at(r, hn_cap_node(r, "sequence"));
    int64_t axis = hn_node_i(r, r->root, "axis", 0);
    if (made->n_inputs == 0 || hn_node_i(r, r->root, "new_axis", 0) != 0)
        return HONE_OK;
    hn_rule_replace(r, hn_make1(r, "Concat", made->n_inputs, made->inputs,
                                HN_ATTRS(hn_new_i(r, "axis", axis))));
    return HONE_OK;
}

static hone_status open_optional(hn_rule *r) {
    hn_rule_replace(r, hn_cap(r, "x"));
    return HONE_OK;
}

/* Since version 18 the node also accepts a value that is not an optional, and returns it. */
static hone_status open_plain(hn_rule *r) {
    const hn_type *t = hn_value_at(r->g, hn_cap(r, "x"))->type;
    if (t && (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SEQUENCE))
        hn_rule_replace(r, hn_cap(r, "x"));
    return HONE_OK;
}

static const hn_rule_row container_rules[] = {
    {.name = "sequence-at",
     .pattern = "SequenceAt(SequenceConstruct(...):sequence, #i)",
     .fn = sequence_at,
     .allow_shared = true},
    {.name = "sequence-length",
     .pattern = "SequenceLength(SequenceConstruct(...):sequence)",
     .fn = sequence_length,
     .allow_shared = true},
    {.name = "concat-sequence",
     .pattern = "ConcatFromSequence(SequenceConstruct(...):sequence)",
     .fn = concat_sequence,
     .allow_shared = true},
    {.name = "optional-made",
     .pattern = "OptionalGetElement(Optional(x))",
     .fn = open_optional,
     .allow_shared = true},
    {.name = "optional-plain", .pattern = "OptionalGetElement(x)", .fn = open_plain},
};

hone_status hn_pass_containers(hn_pass *p) {
    return hn_pass_rules(p, container_rules, HN_COUNT(container_rules));
}
