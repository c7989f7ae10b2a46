/* Some nodes of a model in half precision, the others as they are: the pass `precision` with all
 * others blocked by name. */
#include "pass/pass.h"
#include "quant/writer.h"

/* Every node gets a name, because passes know nodes by names. */
static hone_status name_nodes(hn_graph *g) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        hn_node *n = hn_node_at(g, id);
        if (n->block == HN_NONE || !hn_str_empty(n->name))
            continue;
        n->name = hn_graph_fresh_name(g, hn_s(n->op));
        HN_TRY_PTR(n->name);
    }
    return HONE_OK;
}

static hone_status list_others(const hn_graph *g, uint32_t n, const hn_id *nodes, hn_arena *scratch,
                               hn_precision *out) {
    bool *is_chosen = HN_NEW_N(scratch, bool, (size_t)g->nodes.n + 1);
    const char **names = HN_NEW_N(scratch, const char *, (size_t)g->nodes.n + 1);
    if (!is_chosen || !names)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        is_chosen[nodes[i]] = true;
    for (hn_id id = 0; id < g->nodes.n; id++)
        if (!is_chosen[id] && hn_node_at(g, id)->block != HN_NONE)
            names[out->n_blocked_nodes++] = hn_s(hn_node_at(g, id)->name);
    out->blocked_nodes = names;
    return HONE_OK;
}

static hone_status narrow_nodes(hn_model *m, hn_dtype to, uint32_t n, const hn_id *nodes,
                                hn_arena *scratch, hone_error *err) {
    static const char *const passes[] = {"precision"};
    hn_optimize_options o;
    hn_optimize_options_init(&o);
    o.n_only = HN_COUNT(passes);
    o.only = passes;
    o.precision = (hn_precision){.elem = to, .keep_io = true};
    HN_TRY(name_nodes(m->graph));
    HN_TRY(list_others(m->graph, n, nodes, scratch, &o.precision));
    hn_opt_log *log = hn_opt_log_new(hn_arena_allocator(m->arena));
    HN_TRY_PTR(log);
    hone_status status = hn_optimize(m, &o, log, err);
    hn_opt_log_free(log);
    return status;
}

hone_status hn_write_halves(hn_model *m, hn_dtype to, uint32_t n, const hn_id *nodes,
                            hone_error *err) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(m->arena));
    HN_TRY_PTR(scratch);
    hone_status status = narrow_nodes(m, to, n, nodes, scratch, err);
    hn_arena_free(scratch);
    return status;
}
