/* What rules write: nodes, constants, attributes, replacements. Nothing here fails visibly: a patch
 * that could not be filled is refused when it is applied. */
#include "ops/eval.h"
#include "pass/engine/pass_int.h"

/* ---- what may be written --------------------------------------------------------------------- */

int64_t hn_rule_opset(const hn_rule *r) {
    return hn_opset_version(r->g->opsets, NULL);
}

static bool is_standard_at(const char *op, int64_t opset) {
    int since;
    bool deprecated;
    const hn_op *row = hn_op_find(NULL, HN_DOMAIN_ONNX, op, opset, &since, &deprecated);
    return row && !deprecated && !hn_op_is_extension(row);
}

/* A file goes no further than the next operator that somebody wants: fused, it may end the wishes
 * of others who saw a part of it. In a session it does not matter, and one step is faster. */
static void wish_for_opset(hn_rule *r, int64_t needed) {
    int64_t *wanted = r->pass->wanted_opset;
    bool goes_far = r->pass->options->target == HN_TARGET_SESSION;
    if (*wanted == 0 || (goes_far ? needed > *wanted : needed < *wanted))
        *wanted = needed;
}

bool hn_can_write(hn_rule *r, const char *op) {
    const hn_optimize_options *o = r->pass->options;
    if (strncmp(op, "ms.", 3) == 0)
        return o->target != HN_TARGET_ONNX;
    int64_t opset = hn_rule_opset(r), needed = opset;
    while (needed <= HN_LATEST_OPSET && !is_standard_at(op, needed))
        needed++;
    if (needed == opset)
        return true;
    if (needed <= o->max_opset && !r->pass->is_opset_settled)
        wish_for_opset(r, needed);
    else if (needed <= HN_LATEST_OPSET)
        hn_miss(r, "%s is an operator of opset %lld, the model has opset %lld", op,
                (long long)needed, (long long)opset);
    return false;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static hn_attr new_attr(hn_rule *r, const char *name, hn_attr_kind kind) {
    hn_attr a = {.kind = kind, .n = 1, .name = hn_intern_z(r->pass->model->names, name)};
    if (!a.name)
        hn_patch_fail(r->patch, HONE_E_NOMEM);
    return a;
}

hn_attr hn_new_i(hn_rule *r, const char *name, int64_t v) {
    hn_attr a = new_attr(r, name, HN_ATTR_INT);
    a.v.i = v;
    return a;
}

hn_attr hn_new_f(hn_rule *r, const char *name, float v) {
    hn_attr a = new_attr(r, name, HN_ATTR_FLOAT);
    a.v.f = v;
    return a;
}

static const void *kept(hn_rule *r, const void *data, size_t bytes) {
    const void *copy = hn_arena_copy(r->pass->model->arena, data, bytes);
    if (!copy)
        hn_patch_fail(r->patch, HONE_E_NOMEM);
    return copy;
}

hn_attr hn_new_bytes(hn_rule *r, const char *name, const void *v, size_t n_bytes) {
    hn_attr a = new_attr(r, name, HN_ATTR_STRING);
    a.v.s = (hn_bytes){kept(r, v, n_bytes), n_bytes};
    return a;
}

hn_attr hn_new_s(hn_rule *r, const char *name, const char *v) {
    return hn_new_bytes(r, name, v, strlen(v));
}

hn_attr hn_new_ints(hn_rule *r, const char *name, uint32_t n, const int64_t *v) {
    hn_attr a = new_attr(r, name, HN_ATTR_INTS);
    a.n = n;
    a.v.ints = kept(r, v, n * sizeof *v);
    return a;
}

hn_attr hn_new_floats(hn_rule *r, const char *name, uint32_t n, const float *v) {
    hn_attr a = new_attr(r, name, HN_ATTR_FLOATS);
    a.n = n;
    a.v.floats = kept(r, v, n * sizeof *v);
    return a;
}

hn_attr hn_new_strings(hn_rule *r, const char *name, uint32_t n, const hn_bytes *v) {
    hn_attr a = new_attr(r, name, HN_ATTR_STRINGS);
    a.n = n;
    a.v.strings = kept(r, v, n * sizeof *v);
    return a;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void hn_rule_before(hn_rule *r, hn_id node) {
    r->before = node;
}

hn_id hn_make(hn_rule *r, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_out,
              uint32_t n_attrs, const hn_attr *attrs) {
    hn_strtab *names = r->pass->model->names;
    const char *dot = strrchr(op, '.');
    bool is_ms = strncmp(op, "ms.", 3) == 0;
    hn_str domain = is_ms ? hn_intern_z(names, "com.microsoft")
                    : dot ? hn_intern(names, op, (size_t)(dot - op))
                          : NULL;
    hn_str type = hn_intern_z(names, dot ? dot + 1 : op);
    if (!type || (dot && !domain))
        hn_patch_fail(r->patch, HONE_E_NOMEM);
    while (n_in > 0 && in[n_in - 1] == HN_NONE)
        n_in--;
    hn_str name = r->name ? r->name : hn_at(r, r->root)->name;
    return hn_patch_node(r->patch, r->before, domain, type, name, n_in, in, n_out, n_attrs, attrs);
}

void hn_make_no_output(hn_rule *r, hn_id node, uint32_t i) {
    hn_patch_drop_output(r->patch, node, i);
}

hn_id hn_make1(hn_rule *r, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_attrs,
               const hn_attr *attrs) {
    return hn_out(r, hn_make(r, op, n_in, in, 1, n_attrs, attrs), 0);
}

static uint32_t merge_attr(hn_attr *list, uint32_t n, const hn_attr *a) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i].name == a->name) {
            list[i] = *a;
            return n;
        }
    list[n] = *a;
    return n + 1;
}

hn_id hn_make_like(hn_rule *r, hn_id node, uint32_t n_in, const hn_id *in, uint32_t n_attrs,
                   const hn_attr *attrs) {
    const hn_node *n = hn_at(r, node);
    hn_attr *list = HN_NEW_N(r->pass->rule_scratch, hn_attr, (size_t)n->n_attrs + n_attrs + 1);
    if (!list) {
        hn_patch_fail(r->patch, HONE_E_NOMEM);
        return HN_NONE;
    }
    while (n_in > 0 && in[n_in - 1] == HN_NONE)
        n_in--;
    uint32_t n_list = 0;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        n_list = merge_attr(list, n_list, &n->attrs[i]);
    for (uint32_t i = 0; i < n_attrs; i++)
        n_list = merge_attr(list, n_list, &attrs[i]);
    return hn_patch_node(r->patch, r->before, n->domain, n->op, n->name, n_in, in, n->n_outputs,
                         n_list, list);
}

hn_id hn_make_with_list(hn_rule *r, const char *op, hn_id x, const char *list, uint32_t n,
                        const int64_t *v) {
    int since;
    bool deprecated;
    hn_attr_spec spec;
    const hn_op *row = hn_op_find(NULL, HN_DOMAIN_ONNX, op, hn_rule_opset(r), &since, &deprecated);
    if (row && hn_op_attr_find(row, since, list, strlen(list), &spec))
        return hn_make1(r, op, HN_VALUES(x), HN_ATTRS(hn_new_ints(r, list, n, v)));
    return hn_make1(r, op, HN_VALUES(x, hn_new_const_i64s(r, list, n, v)), HN_NO_ATTRS);
}

hn_id hn_make_split(hn_rule *r, hn_id x, int64_t axis, uint32_t n, const int64_t *sizes) {
    if (hn_rule_opset(r) < 13)
        return hn_make(r, "Split", HN_VALUES(x), n,
                       HN_ATTRS(hn_new_i(r, "axis", axis), hn_new_ints(r, "split", n, sizes)));
    return hn_make(r, "Split", HN_VALUES(x, hn_new_const_i64s(r, "split", n, sizes)), n,
                   HN_ATTRS(hn_new_i(r, "axis", axis)));
}

/* ---- constants ------------------------------------------------------------------------------- */

hn_tensor *hn_new_tensor(hn_rule *r, hn_dtype elem, int32_t rank, const int64_t *dims,
                         void **data) {
    hn_tensor *t = hn_tensor_blank(r->pass->model->arena, elem, rank, dims, data);
    if (!t)
        hn_patch_fail(r->patch, HONE_E_NOMEM);
    return t;
}

/* At home where every reader sees it: a rule may replace values of an outer block. */
hn_id hn_new_const(hn_rule *r, const char *stem, const hn_tensor *t) {
    if (!t)
        hn_patch_fail(r->patch, HONE_E_NOMEM);
    return hn_patch_const(r->patch, 0, stem, t);
}

hn_id hn_new_const_i64s(hn_rule *r, const char *stem, uint32_t n, const int64_t *v) {
    int64_t dims[1] = {n};
    const hn_tensor *t = hn_tensor_new(r->pass->model->arena, HN_I64, 1, dims, v, false);
    return hn_new_const(r, stem, t);
}

hn_id hn_new_const_f(hn_rule *r, const char *stem, hn_dtype elem, double v) {
    void *data;
    hn_tensor *t = hn_new_tensor(r, elem, 0, NULL, &data);
    hn_array scalar = {.dtype = elem, .n_elems = 1, .data = data};
    if (t)
        hn_store_f64(&scalar, 0, 1, &v);
    return hn_new_const(r, stem, t);
}

/* ---- replacements ---------------------------------------------------------------------------- */

static void loosen(hn_rule *r, hn_id value) {
    hn_arena *a = r->pass->rule_scratch;
    hn_id maker = value == HN_NONE ? HN_NONE : hn_value_at(r->g, value)->producer;
    bool is_const = value != HN_NONE && hn_value_at(r->g, value)->init;
    if ((maker != HN_NONE && !HN_VEC_PUSH(a, &r->loose, maker)) ||
        (is_const && !HN_VEC_PUSH(a, &r->unread, value)))
        hn_patch_fail(r->patch, HONE_E_NOMEM);
}

void hn_rule_replace_value(hn_rule *r, hn_id value, hn_id with) {
    hn_arena *a = r->pass->rule_scratch;
    r->is_rewritten = true;
    loosen(r, value);
    hn_patch_replace(r->patch, value, with);
    if (!HN_VEC_PUSH(a, &r->replaced, value) || !HN_VEC_PUSH(a, &r->replaced, with))
        hn_patch_fail(r->patch, HONE_E_NOMEM);
}

void hn_rule_replace_output(hn_rule *r, uint32_t i, hn_id with) {
    hn_rule_replace_value(r, hn_out(r, r->root, i), with);
}

void hn_rule_replace(hn_rule *r, hn_id with) {
    hn_rule_replace_output(r, 0, with);
}

void hn_rule_set_input(hn_rule *r, hn_id node, uint32_t i, hn_id value) {
    r->is_rewritten = true;
    loosen(r, hn_in(r, node, i));
    hn_patch_set_input(r->patch, node, i, value);
}
