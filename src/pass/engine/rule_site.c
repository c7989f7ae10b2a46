/* The table that rules of others call: looking, and telling. */
#include "pass/engine/custom_rule.h"

#include <stdio.h>

/* ---- failing --------------------------------------------------------------------------------- */

hn_id hn_site_refuse(hone_rule_site *site, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hn_failv(site->rule->pass->err, HONE_E_INVALID, fmt, args);
    va_end(args);
    site->refused = HONE_E_INVALID;
    return HN_NONE;
}

static hone_status site_fail(hone_rule_site *site, hone_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    code = code == HONE_OK ? HONE_E_INTERNAL : hn_status_from_outside(code);
    hn_failv(site->rule->pass->err, code, format, args);
    va_end(args);
    return code;
}

/* Memory that ran out inside the rule is no reason to end the optimization. */
hone_status hn_apply_custom_rule(hn_rule *r) {
    const hone_rule_def *def = r->row->ctx;
    hone_rule_site site = {.rule = r};
    hone_status status = hn_status_from_outside(def->apply(&hn_rule_api, &site));
    status = status == HONE_OK ? site.refused : status == HONE_E_NOMEM ? HONE_E_INTERNAL : status;
    if (status != HONE_OK)
        hn_fail(r->pass->err, status, "the rule's own function failed: %s",
                hone_status_text(status)); /* unless it has said more itself */
    return status;
}

static hone_status site_register(hone_rule_set *rules, const hone_rule_def *rule,
                                 hone_error *error) {
    return hn_error_complete(error, hn_rule_set_add((hn_rule_set *)(void *)rules, rule, error));
}

/* ---- telling --------------------------------------------------------------------------------- */

static hone_status site_miss(hone_rule_site *site, const char *format, ...) {
    char reason[400];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return hn_miss(site->rule, "%s", reason);
}

static void site_detail(hone_rule_site *site, const char *format, ...) {
    char detail[160];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    hn_detail(site->rule, "%s", detail);
}

/* ---- the place ------------------------------------------------------------------------------- */

static void *site_context(const hone_rule_site *site) {
    return ((const hone_rule_def *)site->rule->row->ctx)->context;
}

static const hone_graph *site_graph(const hone_rule_site *site) {
    return (const hone_graph *)(const void *)site->rule->g;
}

static uint32_t site_root(const hone_rule_site *site) {
    return site->rule->root;
}

static uint32_t site_value(const hone_rule_site *site, const char *name) {
    return hn_cap(site->rule, name);
}

static uint32_t site_node(const hone_rule_site *site, const char *name) {
    return hn_cap_node(site->rule, name);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Numbers come from others: a node of the graph as it is, or NULL. */
static const hn_node *node_of(const hone_rule_site *site, uint32_t node) {
    const hn_graph *g = site->rule->g;
    return node < g->nodes.n && hn_node_at(g, node)->block != HN_NONE ? hn_node_at(g, node) : NULL;
}

static const char *site_op(const hone_rule_site *site, uint32_t node, const char **domain) {
    const hn_node *n = node_of(site, node);
    if (domain)
        *domain = n ? hn_s(n->domain) : "";
    return n ? hn_s(n->op) : "";
}

static uint32_t site_input(const hone_rule_site *site, uint32_t node, uint32_t i) {
    return node_of(site, node) ? hn_in(site->rule, node, i) : HN_NONE;
}

static uint32_t site_output(const hone_rule_site *site, uint32_t node, uint32_t i) {
    bool is_new = node != HN_NONE && node >= site->rule->g->nodes.n;
    return is_new || node_of(site, node) ? hn_out(site->rule, node, i) : HN_NONE;
}

/* The attribute as written; without it, whether the schema can be asked for a default. */
static const hn_attr *attr_of(const hone_rule_site *site, uint32_t node, const char *name,
                              hn_attr_kind kind, hn_infer *c, bool *has_schema) {
    const hn_node *n = node_of(site, node);
    const hn_attr *a = n ? hn_node_attr(n, name) : NULL;
    *has_schema = n && !a && hn_facts_view(site->rule->pass->facts, node, c);
    return a && !a->ref && a->kind == kind ? a : NULL;
}

static bool site_attr_int(const hone_rule_site *site, uint32_t node, const char *name,
                          int64_t *value) {
    hn_infer c;
    bool has_schema;
    const hn_attr *a = attr_of(site, node, name, HN_ATTR_INT, &c, &has_schema);
    if (a)
        *value = a->v.i;
    if (a || !has_schema)
        return a != NULL;
    *value = hn_attr_i(&c, name, 0);
    return *value != 0 || hn_attr_i(&c, name, 1) == 0; /* what is not there is what we say */
}

static bool site_attr_float(const hone_rule_site *site, uint32_t node, const char *name,
                            float *value) {
    hn_infer c;
    bool has_schema;
    const hn_attr *a = attr_of(site, node, name, HN_ATTR_FLOAT, &c, &has_schema);
    if (a)
        *value = a->v.f;
    if (a || !has_schema)
        return a != NULL;
    *value = hn_attr_f(&c, name, 0);
    return *value != 0 || hn_attr_f(&c, name, 1) == 0;
}

static bool site_attr_ints(const hone_rule_site *site, uint32_t node, const char *name, uint32_t *n,
                           const int64_t **values) {
    hn_infer c;
    bool has_schema;
    const hn_attr *a = attr_of(site, node, name, HN_ATTR_INTS, &c, &has_schema);
    if (!a)
        return has_schema && hn_attr_ints(&c, name, n, values);
    *n = a->n;
    *values = a->v.ints;
    return true;
}

static bool site_attr_string(const hone_rule_site *site, uint32_t node, const char *name,
                             const char **text, size_t *n_bytes) {
    hn_infer c;
    bool has_schema;
    const hn_attr *a = attr_of(site, node, name, HN_ATTR_STRING, &c, &has_schema);
    hn_bytes s = a ? a->v.s : has_schema ? hn_attr_s(&c, name) : (hn_bytes){0};
    *text = s.n ? s.at : "";
    *n_bytes = (size_t)s.n;
    return a || s.n > 0;
}

static int64_t site_opset(const hone_rule_site *site, const char *domain) {
    const hn_graph *g = site->rule->g;
    hn_str name = hn_intern_find(g->model->names, domain, strlen(domain));
    bool is_onnx = !*domain || strcmp(domain, "ai.onnx") == 0;
    return is_onnx ? hn_opset_version(g->opsets, NULL)
           : name  ? hn_opset_version(g->opsets, name)
                   : -1;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint32_t known_value(const hone_rule_site *site, uint32_t value) {
    return value < site->rule->g->values.n ? value : HN_NONE;
}

static int32_t site_elem_type(const hone_rule_site *site, uint32_t value) {
    return (int32_t)hn_elem_of(site->rule, value);
}

static int32_t site_rank(const hone_rule_site *site, uint32_t value) {
    return hn_rank_of(site->rule, value);
}

static hone_dim site_dim(const hone_rule_site *site, uint32_t value, int32_t axis) {
    return hn_dim_of(site->rule, value, axis);
}

static bool site_same_shape(const hone_rule_site *site, uint32_t a, uint32_t b) {
    return hn_same_shape(site->rule, a, b);
}

static uint32_t site_n_readers(const hone_rule_site *site, uint32_t value) {
    return known_value(site, value) == HN_NONE ? 0 : hn_n_readers(site->rule, value);
}

static bool site_constant(const hone_rule_site *site, uint32_t value, hone_tensor_info *tensor) {
    const hn_tensor *t = hn_const(site->rule, known_value(site, value));
    *tensor = (hone_tensor_info){.name = "", .rank = -1};
    if (!t)
        return false;
    *tensor = (hone_tensor_info){.name = hn_s(hn_value_at(site->rule->g, value)->name),
                                 .elem_type = (int32_t)t->dtype,
                                 .rank = t->rank,
                                 .dims = t->dims,
                                 .n_elements = t->n_elems,
                                 .data = t->data,
                                 .data_bytes = t->data_bytes};
    return true;
}

static bool site_number(const hone_rule_site *site, uint32_t value, double *number) {
    return hn_const_f64(site->rule, known_value(site, value), number);
}

static bool site_ints(const hone_rule_site *site, uint32_t value, uint32_t *n,
                      const int64_t **values) {
    return hn_const_i64s(site->rule, known_value(site, value), n, values);
}

const hone_rule_api hn_rule_api = {
    .abi = HONE_RULE_ABI,
    .register_rule = site_register,
    .context = site_context,
    .graph = site_graph,
    .root = site_root,
    .value = site_value,
    .node = site_node,
    .op = site_op,
    .input = site_input,
    .output = site_output,
    .attr_int = site_attr_int,
    .attr_float = site_attr_float,
    .attr_ints = site_attr_ints,
    .attr_string = site_attr_string,
    .opset = site_opset,
    .elem_type = site_elem_type,
    .rank = site_rank,
    .dim = site_dim,
    .same_shape = site_same_shape,
    .n_readers = site_n_readers,
    .constant = site_constant,
    .number = site_number,
    .ints = site_ints,
    .make = hn_site_make,
    .make_constant = hn_site_make_constant,
    .make_number = hn_site_make_number,
    .replace = hn_site_replace,
    .miss = site_miss,
    .detail = site_detail,
    .fail = site_fail,
};
