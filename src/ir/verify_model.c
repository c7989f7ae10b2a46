/* Rules of the model as a whole: versions, imports, metadata, functions. */
#include "ir/verify_int.h"

#include <stdio.h>

#define NEWEST_IR_VERSION 14

#define MODEL_PROBLEM(p, severity, ...) \
  hn_problem_add((p), (severity), HONE_E_INVALID, NULL, HN_NONE, HN_NONE, __VA_ARGS__)

static void verify_versions(const hn_model *m, hn_problems *p) {
    if (!m->has_ir_version || m->ir_version == 0)
        MODEL_PROBLEM(p, HN_SEVERITY_ERROR, "the model has no IR version (ir_version)");
    else if (m->ir_version < 0)
        MODEL_PROBLEM(p, HN_SEVERITY_ERROR, "IR version %lld is not valid; versions begin with 1",
                      (long long)m->ir_version);
    else if (m->ir_version > NEWEST_IR_VERSION)
        MODEL_PROBLEM(p, HN_SEVERITY_ERROR, "IR version %lld is newer than %d, the newest known",
                      (long long)m->ir_version, NEWEST_IR_VERSION);
    if (m->ir_version >= 3 && m->opsets.n == 0)
        MODEL_PROBLEM(p, HN_SEVERITY_ERROR,
                      "the model imports no operator set; add an opset_import such as ai.onnx 21");
    if (m->has_ir_version && m->ir_version < 3 && m->opsets.n > 0)
        MODEL_PROBLEM(p, HN_SEVERITY_ERROR,
                      "IR version %lld has no opset imports, yet the model lists %u; raise it to 3",
                      (long long)m->ir_version, m->opsets.n);
}

static void verify_imports(const hn_opsets *opsets, hn_problems *p, hn_arena *scratch) {
    hn_map versions;
    hn_map_init(&versions, scratch);
    for (uint32_t i = 0; i < opsets->n; i++) {
        const hn_opset *o = &opsets->at[i];
        bool is_onnx = hn_domain_is_onnx(o->domain);
        uint64_t key = is_onnx ? HN_MAP_NONE : o->domain->id;
        const char *name = is_onnx ? "ai.onnx" : o->domain->s;
        uint32_t earlier = hn_map_get(&versions, key);
        if (o->version < 1)
            MODEL_PROBLEM(p, HN_SEVERITY_ERROR,
                          "operator set '%s' is imported in version %lld; "
                          "versions begin with 1",
                          name, (long long)o->version);
        if (earlier == HN_MAP_NONE)
            p->failed |= !hn_map_put(&versions, key, i);
        else
            MODEL_PROBLEM(
                p, HN_SEVERITY_WARNING,
                "operator set '%s' is imported twice, in versions %lld and %lld; the first "
                "counts here",
                name, (long long)opsets->at[earlier].version, (long long)o->version);
    }
}

static void verify_metadata(const hn_model *m, hn_problems *p, hn_arena *scratch) {
    hn_map keys;
    hn_map_init(&keys, scratch);
    for (uint32_t i = 0; m->extra && i < m->extra->props.n; i++) {
        hn_str key = m->extra->props.at[i].key;
        uint64_t id = key ? key->id : HN_MAP_NONE;
        if (hn_map_get(&keys, id) != HN_MAP_NONE)
            hn_problem_add(p, HN_SEVERITY_ERROR, HONE_E_UNSUPPORTED, NULL, HN_NONE, HN_NONE,
                           "metadata key '%s' occurs more than once", hn_s(key));
        else
            p->failed |= !hn_map_put(&keys, id, 1);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

typedef struct name_set {
    hn_map names;
    hn_problems *p;
    const hn_function *f;
    const char *role;
    hn_severity severity; /* of a name that comes again */
} name_set;

static void add_unique(name_set *set, hn_str name) {
    if (!name || hn_map_get(&set->names, name->id) == HN_MAP_NONE)
        set->p->failed |= name && !hn_map_put(&set->names, name->id, 1);
    else
        MODEL_PROBLEM(set->p, set->severity, "function '%s' has %s '%s' more than once",
                      hn_s(set->f->name), set->role, hn_s(name));
}

/* Duplicate inputs are duplicate definitions, which the body's check reports. */
static void verify_signature(const hn_function *f, hn_problems *p, hn_arena *scratch) {
    const hn_block *b = hn_block_at(f->graph, 0);
    name_set outputs = {.p = p, .f = f, .role = "output", .severity = HN_SEVERITY_ERROR};
    name_set attrs = {.p = p, .f = f, .role = "attribute", .severity = HN_SEVERITY_ERROR};
    hn_map_init(&outputs.names, scratch);
    hn_map_init(&attrs.names, scratch);
    if (hn_str_empty(f->name))
        MODEL_PROBLEM(p, HN_SEVERITY_ERROR, "a function of domain '%s' has no name",
                      hn_s(f->domain));
    for (uint32_t i = 0; i < b->outputs.n; i++)
        add_unique(&outputs, hn_value_at(f->graph, b->outputs.at[i])->name);
    for (uint32_t i = 0; i < f->attr_names.n; i++)
        add_unique(&attrs, f->attr_names.at[i]);
    attrs.severity = HN_SEVERITY_WARNING; /* readers agree on names, not on which default counts */
    for (uint32_t i = 0; i < f->attr_defaults.n; i++)
        add_unique(&attrs, f->attr_defaults.at[i].name);
}

static void verify_function(const hn_function *f, hn_problems *p, hn_arena *scratch) {
    uint32_t n_before = p->list.n;
    verify_signature(f, p, scratch);
    verify_imports(&f->opsets, p, scratch);
    hn_verify_body(f->graph, f, p);
    hn_problems_in_function(p, n_before, f);
}

static void verify_duplicates(const hn_model *m, hn_problems *p) {
    for (uint32_t i = 0; i < m->functions.n; i++) {
        const hn_function *f = m->functions.at[i];
        if (hn_model_function(m, f->domain, f->name, f->overload) != f)
            MODEL_PROBLEM(
                p, HN_SEVERITY_ERROR,
                "function '%s' of domain '%s' is defined twice%s%s; give the second another "
                "name or overload",
                hn_s(f->name), hn_s(f->domain), f->overload ? " with overload " : "",
                hn_s(f->overload));
    }
}

/* ---- recursion ------------------------------------------------------------------------------- */

typedef struct call_edge {
    uint32_t caller, callee;
    uint32_t next; /* edge with the same callee; UINT32_MAX ends */
} call_edge;

typedef struct call_graph {
    const hn_model *m;
    hn_arena *scratch;
    hn_map index; /* function pointer -> number */
    HN_VEC(call_edge) edges;
    uint32_t *callers; /* per function: first edge that leads to it */
    uint32_t *n_open;  /* per function: calls of functions that may not end */
    HN_VEC(uint32_t) ended;
} call_graph;

static bool collect_function_calls(call_graph *c, uint32_t caller) {
    const hn_graph *g = c->m->functions.at[caller]->graph;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_function *f = hn_node_at(g, id)->block == HN_NONE ? NULL : hn_node_function(g, id);
        if (!f)
            continue;
        uint32_t callee = hn_map_get(&c->index, (uint64_t)(uintptr_t)f);
        call_edge edge = {.caller = caller, .callee = callee, .next = c->callers[callee]};
        if (!HN_VEC_PUSH(c->scratch, &c->edges, edge))
            return false;
        c->callers[callee] = c->edges.n - 1;
        c->n_open[caller]++;
    }
    return c->n_open[caller] > 0 || HN_VEC_PUSH(c->scratch, &c->ended, caller);
}

/* A function that calls only terminating functions terminates; the others are in a call cycle or
 * reach one. */
static bool peel_functions(call_graph *c) {
    uint32_t n = c->m->functions.n;
    c->callers = hn_arena_alloc(c->scratch, n * sizeof(*c->callers));
    c->n_open = HN_NEW_N(c->scratch, uint32_t, n);
    hn_map_init(&c->index, c->scratch);
    bool ok = c->callers && c->n_open;
    if (ok)
        memset(c->callers, 0xff, n * sizeof(*c->callers));
    for (uint32_t i = 0; ok && i < n; i++)
        ok = hn_map_put(&c->index, (uint64_t)(uintptr_t)c->m->functions.at[i], i);
    for (uint32_t i = 0; ok && i < n; i++)
        ok = collect_function_calls(c, i);
    while (ok && c->ended.n > 0) {
        uint32_t f = c->ended.at[--c->ended.n];
        for (uint32_t e = c->callers[f]; ok && e != UINT32_MAX; e = c->edges.at[e].next) {
            if (--c->n_open[c->edges.at[e].caller] == 0)
                ok = HN_VEC_PUSH(c->scratch, &c->ended, c->edges.at[e].caller);
        }
    }
    return ok;
}

static void report_recursion(const call_graph *c, uint32_t start, hn_problems *p) {
    uint32_t *next = c->callers; /* no longer needed as lists: one open callee for each function */
    for (uint32_t e = 0; e < c->edges.n; e++) {
        if (c->n_open[c->edges.at[e].callee] > 0)
            next[c->edges.at[e].caller] = c->edges.at[e].callee;
    }
    uint32_t first = start;
    for (uint32_t i = 0; i < c->m->functions.n; i++)
        first = next[first];
    char text[600] = "";
    size_t used = 0;
    uint32_t f = first;
    do {
        int n = snprintf(text + used, sizeof(text) - used, "%.80s -> ",
                         hn_s(c->m->functions.at[f]->name));
        used = HN_MIN(used + (size_t)HN_MAX(n, 0), sizeof(text) - 1);
        f = next[f];
    } while (f != first);
    MODEL_PROBLEM(p, HN_SEVERITY_ERROR, "functions may not call themselves: %s%s", text,
                  hn_s(c->m->functions.at[first]->name));
}

static void verify_calls_end(const hn_model *m, hn_problems *p, hn_arena *scratch) {
    call_graph c = {.m = m, .scratch = scratch};
    if (!peel_functions(&c)) {
        p->failed = true;
        return;
    }
    for (uint32_t i = 0; i < m->functions.n; i++) {
        if (c.n_open[i] > 0) {
            report_recursion(&c, i, p);
            return;
        }
    }
}

void hn_model_verify(const hn_model *m, hn_problems *p) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(p->arena));
    if (!scratch) {
        p->failed = true;
        return;
    }
    verify_versions(m, p);
    verify_imports(&m->opsets, p, scratch);
    verify_metadata(m, p, scratch);
    verify_duplicates(m, p);
    verify_calls_end(m, p, scratch);
    hn_verify_body(m->graph, NULL, p);
    for (uint32_t i = 0; i < m->functions.n; i++)
        verify_function(m->functions.at[i], p, scratch);
    hn_arena_free(scratch);
}
