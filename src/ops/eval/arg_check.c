/* What reaches an evaluation against its schema. Where the model states no types, a sequence may
 * arrive where a tensor is wanted, and nobody has noticed before. */
#include "ops/eval_engine.h"

typedef struct arg_rule {
    const hn_op *op;
    int version;
    hn_param param;
} arg_rule;

/* Whoever takes an optional takes what is in it. */
static bool takes_type(const arg_rule *r, const hn_type *t) {
    hn_type optional = {.kind = HN_TYPE_OPTIONAL, .inner = t};
    return hn_op_type_allowed(r->op, r->version, &r->param, t) ||
           hn_op_type_allowed(r->op, r->version, &r->param, &optional);
}

static bool takes_some_sequence(const arg_rule *r) {
    for (int k = 1; k < HN_DTYPE_COUNT; k++) {
        hn_type tensor = {.kind = HN_TYPE_TENSOR, .elem = (hn_dtype)k};
        hn_type sequence = {.kind = HN_TYPE_SEQUENCE, .inner = &tensor};
        if (takes_type(r, &sequence))
            return true;
    }
    return false;
}

static bool takes_nothing(const arg_rule *r) {
    for (int k = 1; k < HN_DTYPE_COUNT; k++) {
        hn_type tensor = {.kind = HN_TYPE_TENSOR, .elem = (hn_dtype)k};
        hn_type sequence = {.kind = HN_TYPE_SEQUENCE, .inner = &tensor};
        hn_type optional = {.kind = HN_TYPE_OPTIONAL, .inner = &tensor};
        if (hn_op_type_allowed(r->op, r->version, &r->param, &optional))
            return true;
        optional.inner = &sequence;
        if (hn_op_type_allowed(r->op, r->version, &r->param, &optional))
            return true;
    }
    return false;
}

static bool type_of_leaf(const hn_object *o, hn_type inner[2]) {
    bool is_map = o->kind == HN_OBJECT_MAP;
    const hn_object *values = is_map ? o->items[1] : o;
    if (values->kind != HN_OBJECT_TENSOR || (is_map && o->items[0]->kind != HN_OBJECT_TENSOR))
        return false;
    inner[1] = (hn_type){.kind = HN_TYPE_TENSOR, .elem = values->array.dtype};
    inner[0] =
        is_map
            ? (hn_type){.kind = HN_TYPE_MAP, .elem = o->items[0]->array.dtype, .inner = &inner[1]}
            : inner[1];
    return true;
}

/* All items are of one type: the first stands for them. */
static bool takes_object(const arg_rule *r, const hn_object *o) {
    hn_type inner[2];
    if (o->kind == HN_OBJECT_NONE)
        return takes_nothing(r);
    if (o->kind != HN_OBJECT_SEQUENCE)
        return type_of_leaf(o, inner) && takes_type(r, &inner[0]);
    if (o->n_items == 0)
        return takes_some_sequence(r);
    hn_type sequence = {.kind = HN_TYPE_SEQUENCE, .inner = &inner[0]};
    return type_of_leaf(o->items[0], inner) && takes_type(r, &sequence);
}

static bool is_same_type_variable(const hn_param *a, const hn_param *b) {
    return !a->heterogeneous && !b->heterogeneous && a->type_len == b->type_len &&
           memcmp(a->type, b->type, a->type_len) == 0;
}

/* The first argument whose type must be that of argument i. */
static uint32_t first_of_variable(const hn_eval *c, const arg_rule *r, uint32_t i) {
    hn_param p;
    for (uint32_t k = 0; k < i; k++)
        if (c->args[k] && c->args[k]->kind == HN_OBJECT_TENSOR &&
            hn_op_arg(r->op, HN_OP_INPUTS, r->version, k, &p) &&
            is_same_type_variable(&p, &r->param))
            return k;
    return i;
}

/* Evaluations read all arguments of a type variable as what the first one is. */
static hone_status check_variable(const hn_eval *c, const arg_rule *r, uint32_t i) {
    if (c->args[i]->kind != HN_OBJECT_TENSOR)
        return HONE_OK;
    uint32_t first = first_of_variable(c, r, i);
    hn_dtype wanted = c->args[first]->array.dtype, found = c->args[i]->array.dtype;
    return wanted == found ? HONE_OK
                           : hn_fail(c->err, HONE_E_TYPE,
                                     "input %u is %s and input %u is %s, but %s-%d takes one type "
                                     "for both",
                                     first, hn_dtype_name(wanted), i, hn_dtype_name(found),
                                     hn_op_name(r->op), r->version);
}

hone_status hn_eval_check_args(hn_eval *c) {
    arg_rule r = {.op = c->node.op, .version = c->node.version};
    for (uint32_t i = 0; i < c->n_args; i++) {
        if (!c->args[i] || !hn_op_arg(r.op, HN_OP_INPUTS, r.version, i, &r.param))
            continue;
        if (!takes_object(&r, c->args[i]))
            return hn_fail(c->err, HONE_E_TYPE,
                           "input %u (%.*s) is of a type that %s-%d does not take", i,
                           (int)r.param.name_len, r.param.name, hn_op_name(r.op), r.version);
        HN_TRY(check_variable(c, &r, i));
    }
    return HONE_OK;
}
