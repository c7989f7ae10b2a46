/* The observer that records the steps of a run. */
#include "profile/profile_run.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INNER_EVENTS = 1 << 20 }; /* of bodies: a long loop must not fill the memory */

/* A session that prepares its model again has another graph, whose nodes have other numbers. */
static bool reserve_node_slots(profile_recorder *r, const hone_graph *graph) {
    uint32_t n = hone_graph_n_nodes(graph);
    if (r->graph != graph && r->node_at)
        memset(r->node_at, 0, r->n_node_at * sizeof *r->node_at);
    r->graph = graph;
    if (n <= r->n_node_at)
        return true;
    uint32_t *grown = realloc(r->node_at, n * sizeof *grown);
    if (!grown) {
        r->p->failed = true;
        return false;
    }
    memset(grown + r->n_node_at, 0, (n - r->n_node_at) * sizeof *grown);
    r->node_at = grown;
    r->n_node_at = n;
    return true;
}

static void record_threads(profile *p, profile_event *e, const hone_step *step) {
    if (step->n_threads < 2 || (p->n_threads && p->n_threads != step->n_threads))
        return;
    p->n_threads = step->n_threads;
    uint32_t at = p->n_thread_us;
    for (uint32_t i = 0; i < step->n_threads; i++) {
        p->thread_us =
            profile_grow(p, p->thread_us, &p->n_thread_us, &p->cap_thread_us, sizeof *p->thread_us);
        if (p->failed)
            return;
        p->thread_us[p->n_thread_us - 1] = 1e-3 * (double)step->thread_ns[i];
    }
    e->thread_at = at;
}

/* 0: no memory. */
static uint32_t entry_of_step(profile_recorder *r, const hone_step *step) {
    if (!reserve_node_slots(r, step->graph))
        return 0;
    uint32_t *at = &r->node_at[step->node];
    if (*at)
        return *at;
    hone_node_info node;
    hone_graph_get_node(step->graph, step->node, &node);
    profile_node *n = profile_add_node(r->p);
    if (!n)
        return 0;
    profile_describe(r->p, n, step);
    n->is_inner = node.subgraph != 0;
    return *at = r->p->n_nodes;
}

static void record_event(profile_recorder *r, uint32_t node, const hone_step *step) {
    profile_event *e = profile_add_event(r->p);
    if (!e)
        return;
    e->node = node;
    e->run = r->run;
    e->ts_us = 1e-3 * (double)step->start_ns - r->zero_us;
    e->us = 1e-3 * (double)(step->end_ns - step->start_ns);
    e->dynamic_bytes = step->dynamic_bytes;
    record_threads(r->p, e, step);
}

void profile_record_step(void *recorder, const hone_step *step) {
    profile_recorder *r = recorder;
    uint32_t at = entry_of_step(r, step);
    profile_node *n = at ? &r->p->nodes[at - 1] : NULL;
    if (!n || (n->is_inner && r->n_inner_events++ >= MOST_INNER_EVENTS))
        return;
    if (r->keeps_events) {
        record_event(r, at - 1, step);
        return;
    }
    double us = 1e-3 * (double)(step->end_ns - step->start_ns);
    n->count++;
    n->us += us;
    r->p->us += n->is_inner ? 0 : us;
}

void profile_recorder_free(profile_recorder *r) {
    free(r->node_at);
    r->node_at = NULL;
    r->n_node_at = 0;
}
