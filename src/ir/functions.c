/* Removal of model-local functions that are never called. */
#include "ir/graph_int.h"

const hn_function *hn_node_function(const hn_graph *g, hn_id node) {
    const hn_node *n = hn_node_at(g, node);
    return hn_model_function(g->model, n->domain, n->op, n->extra ? n->extra->overload : NULL);
}

typedef struct call_walk {
    hn_arena *scratch;
    hn_map is_called; /* function pointer -> 1 */
    HN_VEC(const hn_graph *) work;
} call_walk;

static uint64_t pointer_key(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

static bool follow_calls(call_walk *w, const hn_graph *g) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_function *f = hn_node_at(g, id)->block == HN_NONE ? NULL : hn_node_function(g, id);
        if (!f || hn_map_get(&w->is_called, pointer_key(f)) != HN_MAP_NONE)
            continue;
        if (!hn_map_put(&w->is_called, pointer_key(f), 1) ||
            !HN_VEC_PUSH(w->scratch, &w->work, f->graph))
            return false;
    }
    return true;
}

/* Domains in use: those of the kept functions and of nodes that are not function calls. */
static bool collect_domains(const hn_graph *g, hn_map *is_used) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *n = hn_node_at(g, id);
        if (n->block != HN_NONE && n->domain && !hn_map_put(is_used, n->domain->id, 1))
            return false;
    }
    return true;
}

static void drop_imports(hn_model *m, const hn_map *is_dropped, const hn_map *is_used) {
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < m->opsets.n; i++) {
        hn_str domain = m->opsets.at[i].domain;
        bool is_orphan = !hn_domain_is_onnx(domain) &&
                         hn_map_get(is_dropped, domain->id) != HN_MAP_NONE &&
                         hn_map_get(is_used, domain->id) == HN_MAP_NONE;
        if (!is_orphan)
            m->opsets.at[n_kept++] = m->opsets.at[i];
    }
    m->opsets.n = n_kept;
}

static bool drop_uncalled(hn_model *m, call_walk *w) {
    hn_map is_dropped, is_used, index;
    hn_map_init(&is_dropped, w->scratch);
    hn_map_init(&is_used, w->scratch);
    hn_map_init(&index, m->arena);
    hn_model kept = {.arena = m->arena, .function_index = index};
    if (!collect_domains(m->graph, &is_used))
        return false;
    for (uint32_t i = 0; i < m->functions.n; i++) {
        hn_function *f = m->functions.at[i];
        bool is_called = hn_map_get(&w->is_called, pointer_key(f)) != HN_MAP_NONE;
        if (is_called ? !hn_model_add_function(&kept, f) || !collect_domains(f->graph, &is_used)
                      : f->domain && !hn_map_put(&is_dropped, f->domain->id, 1))
            return false;
    }
    drop_imports(m, &is_dropped, &is_used);
    memcpy(&m->functions, &kept.functions, sizeof(m->functions));
    m->function_index = kept.function_index;
    return true;
}

bool hn_model_drop_unused_functions(hn_model *m) {
    if (m->functions.n == 0)
        return true;
    call_walk w = {.scratch = hn_arena_new(hn_arena_allocator(m->arena))};
    if (!w.scratch)
        return false;
    hn_map_init(&w.is_called, w.scratch);
    bool ok = follow_calls(&w, m->graph);
    while (ok && w.work.n > 0)
        ok = follow_calls(&w, w.work.at[--w.work.n]);
    ok = ok && drop_uncalled(m, &w);
    hn_arena_free(w.scratch);
    return ok;
}
