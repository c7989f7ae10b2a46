/* Converts a model to another version of ai.onnx, one version at a time. At each step the nodes
 * whose operator changed are rewritten; at the end every node must match its schema. */
#include "pass/opset/opset.h"

#include "pass/engine/opt_log.h"

#define OLDEST_OPSET 1
#define LATEST_OPSET 28

/* The oldest IR version that may import an opset, from the releases of ONNX. */
static int64_t ir_version_for(int64_t opset) {
    static const struct {
        int64_t opset, ir;
    } releases[] = {{8, 3},  {9, 4},   {10, 5},  {11, 6},  {14, 7},  {18, 8},
                    {20, 9}, {22, 10}, {23, 11}, {24, 12}, {27, 13}, {INT64_MAX, 14}};
    uint32_t i = 0;
    while (opset > releases[i].opset)
        i++;
    return releases[i].ir;
}

static void set_import(hn_model *m, int64_t version) {
    for (uint32_t i = 0; i < m->opsets.n; i++)
        if (hn_domain_is_onnx(m->opsets.at[i].domain))
            m->opsets.at[i].version = version;
    hn_model_raise_ir(m, ir_version_for(version));
}

/* ---- helpers for adapters -------------------------------------------------------------------- */

bool hn_list_names(const char *list, const char *name, size_t n) {
    for (const char *at = list; at && *at;) {
        size_t len = strcspn(at, "|");
        if (len == n && memcmp(at, name, n) == 0)
            return true;
        at += len + (at[len] == '|');
    }
    return false;
}

int64_t hn_raw_i(const hn_rule *r, const char *name, int64_t def) {
    const hn_attr *a = hn_node_attr(hn_at(r, r->root), name);
    return a && a->kind == HN_ATTR_INT ? a->v.i : def;
}

void hn_remake(hn_rule *r, const char *op, uint32_t n_in, const hn_id *in, const char *without,
               uint32_t n_more, const hn_attr *more) {
    const hn_node *n = hn_at(r, r->root);
    hn_attr *attrs = HN_NEW_N(r->pass->rule_scratch, hn_attr, (size_t)n->n_attrs + n_more + 1);
    uint32_t n_attrs = 0;
    if (!attrs) {
        hn_patch_fail(r->patch, HONE_E_NOMEM);
        r->is_rewritten = true;
        return;
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (!hn_list_names(without, hn_s(n->attrs[i].name), n->attrs[i].name->n))
            attrs[n_attrs++] = n->attrs[i];
    for (uint32_t i = 0; i < n_more; i++)
        attrs[n_attrs++] = more[i];
    hn_id node = hn_make(r, op ? op : hn_s(n->op), n_in, in, n->n_outputs, n_attrs, attrs);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE)
            hn_rule_replace_output(r, i, hn_out(r, node, i));
}

/* ---- one version ----------------------------------------------------------------------------- */

static hone_status adapt_up(hn_rule *r, int version) {
    hn_str op = hn_at(r, r->root)->op;
    const hn_adapter *a = hn_adapter_find(op, version);
    if (!a)
        return hn_move_to_inputs(r, version);
    return a->up ? a->up(r)
                 : hn_fail(r->pass->err, HONE_E_UNSUPPORTED,
                           "%s changed in opset %d, and hone has no conversion for it", hn_s(op),
                           version);
}

/* Applies the first adapter for the operator, then removes attributes that the older version
 * lacks. */
static hone_status adapt_down(hn_rule *r, int version) {
    hn_str op = hn_at(r, r->root)->op;
    const hn_adapter *a = hn_adapter_find(op, version);
    hn_adapt_fn fn = a && a->down ? a->down : hn_down_find(op, version);
    bool is_expanded = false;
    if (fn)
        HN_TRY(fn(r));
    else
        HN_TRY(hn_expand(r, version, &is_expanded));
    if (r->is_rewritten)
        return HONE_OK;
    if (!hn_op_exists(op, version - 1))
        return hn_fail(r->pass->err, HONE_E_UNSUPPORTED,
                       "opset %d introduced %s, and older operators cannot express it", version,
                       hn_s(op));
    if (a && !fn)
        return hn_fail(r->pass->err, HONE_E_UNSUPPORTED,
                       "%s changed in opset %d, and hone has no conversion for it", hn_s(op),
                       version);
    return hn_has_moved(op, version) ? hn_move_to_attrs(r, version)
                                     : hn_drop_young_attrs(r, version);
}

/* True when this version changed or introduced the operator of the node. */
static bool is_concerned(const hn_node *n, int version, bool is_up) {
    int since;
    bool deprecated;
    if (hn_adapter_find(n->op, version) || hn_has_moved(n->op, version))
        return true;
    return !is_up && hn_op_find(NULL, HN_DOMAIN_ONNX, hn_s(n->op), version, &since, &deprecated) &&
           since == version;
}

/* Versions before 6 have attributes for the reuse of memory. */
static bool has_hints(const hn_node *n, int version) {
    return version <= 6 && hn_node_attr(n, "consumed_inputs") != NULL;
}

static hone_status drop_hints(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, NULL, n->n_inputs, n->inputs, "consumed_inputs", HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status convert_node(hn_pass *p, hn_id node, int version, bool is_up) {
    const hn_node *n = hn_node_at(p->g, node);
    bool are_hints = is_up && version == 6 && has_hints(n, version);
    if (n->block == HN_NONE || !hn_domain_is_onnx(n->domain) ||
        (!are_hints && !is_concerned(n, version, is_up)))
        return HONE_OK;
    hn_rule *r = hn_rewrite_begin(p, "convert", node);
    HN_TRY_PTR(r);
    hone_status status = are_hints ? drop_hints(r)
                         : is_up   ? adapt_up(r, version)
                                   : adapt_down(r, version);
    if (status == HONE_OK)
        return hn_rewrite_end(r);
    if (status != HONE_E_NOMEM)
        hn_error_at_node(p->err, p->g, node);
    return status;
}

static hone_status cross_border(hn_pass *p, int version, bool is_up) {
    uint32_t n_nodes = p->g->nodes.n;
    set_import(p->model, is_up ? version : version - 1);
    for (hn_id node = 0; node < n_nodes; node++)
        HN_TRY(convert_node(p, node, version, is_up));
    return HONE_OK;
}

/* ---- the whole model ------------------------------------------------------------------------- */

/* A node without an adapter is either valid in both versions or fails here. */
static hone_status check_schemas(hn_pass *p) {
    hn_problems problems = {.arena = p->scratch};
    const hn_op *op;
    int version;
    for (hn_id node = 0; node < p->g->nodes.n; node++)
        if (hn_node_at(p->g, node)->block != HN_NONE &&
            hn_domain_is_onnx(hn_node_at(p->g, node)->domain))
            hn_node_form_ok(p->g, NULL, node, &problems, &op, &version);
    hn_infer_options o = {.problems = &problems, .keep_declared = true};
    if (problems.n_errors == 0)
        HN_TRY(hn_infer_model(p->model, &o, p->err));
    if (problems.failed)
        return HONE_E_NOMEM;
    return problems.n_errors == 0
               ? HONE_OK
               : hn_fail(p->err, HONE_E_UNSUPPORTED, "%s", problems.list.at[0].message);
}

static hone_status convert(hn_pass *p, int64_t from, int64_t to) {
    HN_TRY(hn_pass_refresh_facts(p));
    for (int64_t v = from + 1; v <= to; v++)
        HN_TRY(cross_border(p, (int)v, true));
    for (int64_t v = from; v > to; v--)
        HN_TRY(cross_border(p, (int)v, false));
    HN_TRY(check_schemas(p));
    return hn_graph_sort(p->g, p->err);
}

static hone_status convert_model(hn_model *m, int64_t version, hone_error *err) {
    static const hn_pass_row row = {.name = "opset"};
    const hone_allocator *a = hn_arena_allocator(m->arena);
    hn_optimize_options options;
    int64_t wanted = 0;
    hn_optimize_options_init(&options);
    hn_pass p = {.row = &row,
                 .model = m,
                 .g = m->graph,
                 .options = &options,
                 .log = hn_opt_log_new(a),
                 .scratch = hn_arena_new(a),
                 .rule_scratch = hn_arena_new(a),
                 .err = err,
                 .wanted_opset = &wanted};
    hone_status status = p.log && p.scratch && p.rule_scratch
                             ? convert(&p, hn_opset_version(&m->opsets, NULL), version)
                             : HONE_E_NOMEM;
    hn_facts_free(p.facts);
    hn_opt_log_free(p.log);
    hn_arena_free(p.scratch);
    hn_arena_free(p.rule_scratch);
    return status;
}

/* Converts a copy first, so that a model that cannot be converted stays unchanged. */
hone_status hn_convert_opset(hn_model *m, int64_t version, hone_error *err) {
    int64_t from = hn_opset_version(&m->opsets, NULL);
    if (version < OLDEST_OPSET || version > LATEST_OPSET)
        return hn_fail(err, HONE_E_ARGUMENT, "opset %lld does not exist; hone supports %d to %d",
                       (long long)version, OLDEST_OPSET, LATEST_OPSET);
    if (from < 0 || from == version)
        return HONE_OK;
    hn_model *trial = hn_model_clone(m);
    HN_TRY_PTR(trial);
    hone_status status = convert_model(trial, version, err);
    hn_model_free(trial);
    if (status == HONE_OK)
        status = convert_model(m, version, err);
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_prefix(err, "the model cannot be converted from opset %lld to %lld",
                        (long long)from, (long long)version);
    return status;
}
