/* Body graphs of control flow: how their outputs depend on their inputs, and how types from several
 * runs are joined. */
#include "ops/infer/body.h"

#include "ops/infer/infer_engine.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

hone_status hn_infer_body_quietly(hn_infer *c, const char *attr, uint32_t n_in,
                                  const hn_type *const *in, uint32_t *n_out,
                                  const hn_type *const **out) {
    infer_job *job = c->scope->job;
    hn_problems *problems = job->problems;
    job->problems = NULL;
    hone_status status = hn_infer_body(c, attr, n_in, in, n_out, out);
    job->problems = problems;
    return status;
}

static const hn_block *body_block(const hn_infer *c, const char *attr) {
    const hn_attr *a = hn_node_attr(c->node, attr);
    bool is_here = a && !a->ref && a->kind == HN_ATTR_GRAPH && a->v.block != HN_NONE;
    return is_here ? hn_block_at(c->scope->g, a->v.block) : NULL;
}

bool hn_body_n_inputs(const hn_infer *c, const char *attr, uint32_t *n) {
    const hn_block *b = body_block(c, attr);
    *n = b ? b->inputs.n : 0;
    return b != NULL;
}

const hn_type *hn_body_in_declared(const hn_infer *c, const char *attr, uint32_t input) {
    const hn_block *b = body_block(c, attr);
    if (!b || input >= b->inputs.n)
        return NULL;
    const hn_value *v = hn_value_at(c->scope->g, b->inputs.at[input]);
    return v->is_declared ? v->type : NULL;
}

static hn_id body_output(const hn_infer *c, const char *attr, uint32_t output) {
    const hn_block *b = body_block(c, attr);
    return b && output < b->outputs.n ? b->outputs.at[output] : HN_NONE;
}

const hn_type *hn_body_out_declared(const hn_infer *c, const char *attr, uint32_t output) {
    hn_id id = body_output(c, attr, output);
    return id == HN_NONE ? NULL : hn_value_at(c->scope->g, id)->type;
}

bool hn_body_out_is_const(const hn_infer *c, const char *attr, uint32_t output, bool *value) {
    hn_id id = body_output(c, attr, output);
    if (id == HN_NONE)
        return false;
    const infer_ints *known = c->scope->ints[id];
    const hn_tensor *t = c->scope->consts[id];
    int64_t v = 0;
    if (known && known->n == 1 && known->elems[0].kind == HN_SINT_CONST)
        v = known->elems[0].v;
    else if (!t || t->n_elems != 1 || !hn_tensor_get_i64(t, 0, &v))
        return false;
    *value = v != 0;
    return true;
}

bool hn_body_out_is_input(const hn_infer *c, const char *attr, uint32_t output, uint32_t input) {
    const hn_graph *g = c->scope->g;
    const hn_block *b = body_block(c, attr);
    hn_id id = body_output(c, attr, output);
    if (id == HN_NONE || input >= b->inputs.n)
        return false;
    for (uint32_t hops = 0; hops <= b->nodes.n && id != HN_NONE; hops++) {
        if (id == b->inputs.at[input])
            return true;
        hn_id producer = hn_value_at(g, id)->producer;
        const hn_node *n = producer == HN_NONE ? NULL : hn_node_at(g, producer);
        if (!n || !hn_str_is(n->op, "Identity") || !hn_domain_is_onnx(n->domain) ||
            n->n_inputs != 1)
            return false;
        id = n->inputs[0];
    }
    return false;
}

/* ---- types ----------------------------------------------------------------------------------- */

bool hn_types_agree(const hn_type *a, const hn_type *b) {
    for (; a && b; a = a->inner, b = b->inner)
        if (a->kind != b->kind || (a->elem && b->elem && a->elem != b->elem))
            return false;
    return true;
}

static bool is_fully_typed(const hn_type *t) {
    while (t && t->kind != HN_TYPE_TENSOR && t->kind != HN_TYPE_SPARSE)
        t = t->inner;
    return t && t->elem != HN_UNDEFINED;
}

hone_status hn_types_join(hn_infer *c, const char *what, uint32_t i, const hn_type *a,
                          const hn_type *b, const hn_type **out) {
    *out = NULL;
    if (!hn_types_agree(a, b))
        return hn_infer_fail(c, HONE_E_TYPE,
                             "%s %u is %s in one place and %s in another; both must have one type",
                             what, i, hn_type_str(c, a), hn_type_str(c, b));
    if (!is_fully_typed(a) || !is_fully_typed(b))
        return hn_type_forget_shape(c, is_fully_typed(a) ? a : b, out);
    *out = hn_type_join(c, a, b);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_type_forget_shape(hn_infer *c, const hn_type *t, const hn_type **out) {
    *out = NULL;
    if (!t)
        return HONE_OK;
    if (t->kind == HN_TYPE_TENSOR) {
        *out = hn_type_tensor(hn_infer_arena(c), t->elem, -1, NULL);
    } else {
        const hn_type *inner;
        HN_TRY(hn_type_forget_shape(c, t->inner, &inner));
        *out = hn_type_wrap(hn_infer_arena(c), t->kind, t->elem, inner);
    }
    return *out ? HONE_OK : HONE_E_NOMEM;
}

const char *hn_type_str(const hn_infer *c, const hn_type *t) {
    hn_strbuf b;
    hn_strbuf_init(&b, hn_arena_allocator(hn_infer_arena(c)));
    if (t)
        hn_type_text(hn_infer_syms(c), t, &b);
    else
        hn_strbuf_puts(&b, "unknown");
    return hn_infer_keep_text(c, &b);
}
