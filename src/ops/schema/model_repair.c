/* Models that break rules of the standard without leaving open what they mean: other runtimes take
 * them, and so do sessions, each on its own copy. */
#include "ops/ops.h"

/* The first IR version whose models import operator sets. */
#define FIRST_IR_WITH_IMPORTS 3
/* From this version of the operator set on Constant gives every type; nothing else changed. */
#define CONSTANT_OF_ALL_TYPES 9

typedef struct repair {
    hn_model *m;
    bool is_for_run;
    hn_strbuf *notes; /* one sentence each, "; " between them; may be NULL */
    hone_error *err;
    bool has_new_order, has_new_constant; /* they are told */
} repair;

#define REPAIR_NOTE(r, ...)                                  \
  do {                                                       \
    if ((r)->notes) {                                        \
      hn_strbuf_puts((r)->notes, (r)->notes->n ? "; " : ""); \
      hn_strbuf_printf((r)->notes, __VA_ARGS__);             \
    }                                                        \
  } while (0)

/* ---- versions -------------------------------------------------------------------------------- */

static hone_status import_opset(repair *r, hn_opsets *opsets, hn_str domain, int64_t version) {
    hn_opset added = {.domain = domain, .version = version};
    return HN_VEC_PUSH(r->m->arena, opsets, added) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status repair_ir_version(repair *r) {
    hn_model *m = r->m;
    if (m->ir_version < 0 || m->ir_version >= FIRST_IR_WITH_IMPORTS)
        return HONE_OK;
    if (m->ir_version > 0 && m->opsets.n == 0) /* valid: all nodes are of version 1 */
        HN_TRY(import_opset(r, &m->opsets, NULL, 1));
    else if (m->opsets.n == 0)
        return HONE_OK;
    else if (m->ir_version == 0)
        REPAIR_NOTE(r, "the model has no IR version; %d is assumed", FIRST_IR_WITH_IMPORTS);
    else
        REPAIR_NOTE(r,
                    "IR version %lld does not know the operator sets that the model imports; "
                    "%d is assumed",
                    (long long)m->ir_version, FIRST_IR_WITH_IMPORTS);
    hn_model_raise_ir(m, FIRST_IR_WITH_IMPORTS);
    return HONE_OK;
}

/* A domain that hone knows is imported in its newest version; functions have that of the model. */
static hone_status repair_import(repair *r, const hn_function *f, hn_opsets *opsets,
                                 hn_str domain) {
    hn_domain d = hn_domain_find(NULL, hn_s(domain), domain ? domain->n : 0);
    int64_t version = f ? hn_opset_version(&r->m->opsets, domain) : -1;
    if (d == HN_DOMAIN_COUNT || d == HN_DOMAIN_HONE)
        return HONE_OK;
    if (version < 1)
        version = hn_domain_newest(d);
    REPAIR_NOTE(r, "%s%s does not import operator set '%s'; version %lld is assumed",
                f ? "function " : "the model", f ? hn_s(f->name) : "",
                hn_domain_is_onnx(domain) ? "ai.onnx" : hn_s(domain), (long long)version);
    return import_opset(r, opsets, domain, version);
}

static hone_status repair_imports(repair *r, const hn_graph *g, const hn_function *f,
                                  hn_opsets *opsets) {
    if (opsets->n == 0 && !f) /* other runtimes refuse that, too */
        return HONE_OK;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *n = hn_node_at(g, id);
        if (n->block != HN_NONE && !n->opset_version && hn_opset_version(opsets, n->domain) < 0)
            HN_TRY(repair_import(r, f, opsets, n->domain));
    }
    return HONE_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static hone_status repair_order(repair *r, hn_graph *g) {
    hn_id reader;
    HN_TRY(hn_graph_find_unsorted(g, &reader));
    if (reader == HN_NONE)
        return HONE_OK;
    char who[200];
    if (!r->has_new_order)
        REPAIR_NOTE(r,
                    "nodes are not in topological order (%s reads what a later node computes); "
                    "they are sorted",
                    hn_node_text(g, reader, who, sizeof who));
    r->has_new_order = true;
    return hn_graph_sort(g, r->err);
}

static bool gives_other_than_floats(const hn_node *n) {
    const hn_attr *value = hn_node_attr(n, "value");
    hn_dtype t =
        value && value->kind == HN_ATTR_TENSOR && value->v.tensor ? value->v.tensor->dtype : HN_F32;
    return t != HN_F32 && t != HN_F16 && t != HN_F64;
}

static void repair_constants(repair *r, hn_graph *g) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        hn_node *n = hn_node_at(g, id);
        int64_t version = n->block == HN_NONE ? -1 : hn_node_opset(g, n);
        if (version < 1 || version >= CONSTANT_OF_ALL_TYPES || !hn_domain_is_onnx(n->domain) ||
            strcmp(hn_s(n->op), "Constant") != 0 || !gives_other_than_floats(n))
            continue;
        char who[200];
        if (!r->has_new_constant)
            REPAIR_NOTE(r, "%s has a type that version %lld of operator set ai.onnx does not allow",
                        hn_node_text(g, id, who, sizeof who), (long long)version);
        r->has_new_constant = true;
        n->opset_version = CONSTANT_OF_ALL_TYPES;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static hone_status repair_graph(repair *r, hn_graph *g, const hn_function *f, hn_opsets *opsets) {
    HN_TRY(repair_imports(r, g, f, opsets));
    if (r->is_for_run)
        repair_constants(r, g);
    return repair_order(r, g);
}

hone_status hn_model_repair(hn_model *m, bool is_for_run, hn_strbuf *notes, hone_error *err) {
    repair r = {.m = m, .is_for_run = is_for_run, .notes = notes, .err = err};
    HN_TRY(repair_ir_version(&r));
    HN_TRY(repair_graph(&r, m->graph, NULL, &m->opsets));
    for (uint32_t i = 0; i < m->functions.n; i++) {
        hn_function *f = m->functions.at[i];
        HN_TRY(repair_graph(&r, f->graph, f, &f->opsets));
    }
    return notes && notes->failed ? HONE_E_NOMEM : HONE_OK;
}
