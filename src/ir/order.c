/* Stable topological order: nodes keep their order unless their inputs require another one. */
#include "ir/ir.h"

#include <stdio.h>

/* The node of the block that is or contains `node`: itself, or the owner of its subgraph. */
static hn_id node_in_block(const hn_graph *g, hn_id node, hn_id block) {
    while (node != HN_NONE && hn_node_at(g, node)->block != block) {
        hn_id inner = hn_node_at(g, node)->block;
        node = inner == HN_NONE ? HN_NONE : hn_block_at(g, inner)->owner;
    }
    return node;
}

/* Dependencies as linked lists: nodes that wait for node n are edges first[n], next[...], ... */
typedef struct order_edge {
    hn_id waiter;
    uint32_t next;
} order_edge;

typedef struct order_state {
    const hn_graph *g;
    hn_arena *scratch;
    uint32_t *n_missing; /* per node: inputs not computed yet, counted once per use */
    uint32_t *first;     /* per node: its newest edge */
    HN_VEC(order_edge) edges;
    HN_VEC(hn_id) heap; /* ready nodes, the earliest in the old order on top */
    uint32_t *position; /* per node: its old position in its block */
} order_state;

/* The node that reads a value, or owns the subgraph whose output it is; HN_NONE: nobody does. */
static hn_id reader_of(const hn_graph *g, const hn_use *use) {
    return use->node != HN_NONE ? use->node : hn_block_at(g, use->slot)->owner;
}

static bool add_wait(order_state *s, hn_id producer, hn_id reader) {
    hn_id block = hn_node_at(s->g, producer)->block;
    hn_id waiter = block == HN_NONE ? HN_NONE : node_in_block(s->g, reader, block);
    if (waiter == HN_NONE)
        return true;
    order_edge edge = {.waiter = waiter, .next = s->first[producer]};
    if (!HN_VEC_PUSH(s->scratch, &s->edges, edge))
        return false;
    s->first[producer] = s->edges.n - 1;
    s->n_missing[waiter]++;
    return true;
}

/* A subgraph whose output is an outer value reads it, too. */
static bool collect_waits(order_state *s) {
    const hn_graph *g = s->g;
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_value *v = hn_value_at(g, id);
        if (v->producer == HN_NONE)
            continue;
        for (uint32_t i = 0; i < v->uses.n; i++) {
            hn_id reader = reader_of(g, &v->uses.at[i]);
            if (reader != HN_NONE && !add_wait(s, v->producer, reader))
                return false;
        }
    }
    return true;
}

static bool stood_before(const order_state *s, uint32_t a, uint32_t b) {
    return s->position[s->heap.at[a]] < s->position[s->heap.at[b]];
}

static void swap_ready(order_state *s, uint32_t a, uint32_t b) {
    hn_id kept = s->heap.at[a];
    s->heap.at[a] = s->heap.at[b];
    s->heap.at[b] = kept;
}

static bool push_ready(order_state *s, hn_id node) {
    if (!HN_VEC_PUSH(s->scratch, &s->heap, node))
        return false;
    for (uint32_t i = s->heap.n - 1; i > 0 && stood_before(s, i, (i - 1) / 2); i = (i - 1) / 2)
        swap_ready(s, i, (i - 1) / 2);
    return true;
}

static hn_id pop_ready(order_state *s) {
    hn_id top = s->heap.at[0];
    s->heap.at[0] = s->heap.at[--s->heap.n];
    for (uint32_t i = 0;;) {
        uint32_t least = i, left = 2 * i + 1;
        if (left < s->heap.n && stood_before(s, left, least))
            least = left;
        if (left + 1 < s->heap.n && stood_before(s, left + 1, least))
            least = left + 1;
        if (least == i)
            return top;
        swap_ready(s, i, least);
        i = least;
    }
}

#define CYCLE_NODES_NAMED 8

/* For every node that never became ready, one node that it waits for. */
static void find_blockers(const order_state *s, const hn_block *b, hn_id *blocker) {
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        hn_id producer = b->nodes.at[i];
        if (s->n_missing[producer] == 0)
            continue;
        for (uint32_t e = s->first[producer]; e != HN_NONE; e = s->edges.at[e].next)
            blocker[s->edges.at[e].waiter] = producer;
    }
}

/* Following these edges from any such node ends in a cycle. */
static hone_status report_cycle(const order_state *s, const hn_block *b, hn_id start,
                                hone_error *err) {
    hn_id *blocker = s->position; /* the old positions are no longer needed */
    find_blockers(s, b, blocker);
    hn_id first = start;
    for (uint32_t i = 0; i < b->nodes.n; i++)
        first = blocker[first];
    char text[700] = "", label[128];
    size_t used = 0;
    uint32_t n_cycle = 0;
    hn_id node = first;
    do {
        node = blocker[node];
        if (n_cycle++ < CYCLE_NODES_NAMED) {
            hn_node_label(s->g, node, label, sizeof(label));
            int n = snprintf(text + used, sizeof(text) - used, "'%.60s' <- ", label);
            used += (size_t)HN_MAX(n, 0);
        }
    } while (node != first);
    hn_node_label(s->g, blocker[first], label, sizeof(label));
    return hn_fail(err, HONE_E_INVALID,
                   "the graph has a cycle of %u node%s: %s%s'%.60s'; no value may depend on itself",
                   n_cycle, n_cycle == 1 ? "" : "s", text,
                   n_cycle > CYCLE_NODES_NAMED ? "... <- " : "", label);
}

static hone_status sort_block(order_state *s, hn_id block, hone_error *err) {
    const hn_block *b = hn_block_at(s->g, block);
    hn_id *sorted = HN_NEW_N(s->scratch, hn_id, b->nodes.n);
    HN_TRY_PTR(sorted);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        s->position[b->nodes.at[i]] = i;
        if (s->n_missing[b->nodes.at[i]] == 0 && !push_ready(s, b->nodes.at[i]))
            return HONE_E_NOMEM;
    }
    uint32_t n_sorted = 0;
    while (s->heap.n > 0) {
        hn_id node = pop_ready(s);
        sorted[n_sorted++] = node;
        for (uint32_t e = s->first[node]; e != HN_NONE; e = s->edges.at[e].next) {
            hn_id waiter = s->edges.at[e].waiter;
            if (--s->n_missing[waiter] == 0 && !push_ready(s, waiter))
                return HONE_E_NOMEM;
        }
    }
    if (n_sorted == b->nodes.n) {
        if (n_sorted > 0)
            memcpy(b->nodes.at, sorted, n_sorted * sizeof(*sorted));
        return HONE_OK;
    }
    for (uint32_t i = 0;; i++) {
        if (s->n_missing[b->nodes.at[i]] > 0)
            return report_cycle(s, b, b->nodes.at[i], err);
    }
}

static hone_status sort_all(order_state *s, hone_error *err) {
    uint32_t n_nodes = s->g->nodes.n;
    s->n_missing = HN_NEW_N(s->scratch, uint32_t, n_nodes);
    s->position = HN_NEW_N(s->scratch, uint32_t, n_nodes);
    s->first = hn_arena_alloc(s->scratch, n_nodes * sizeof(*s->first));
    if (!s->n_missing || !s->position || !s->first)
        return HONE_E_NOMEM;
    memset(s->first, 0xff, n_nodes * sizeof(*s->first)); /* all HN_NONE */
    if (!collect_waits(s))
        return HONE_E_NOMEM;
    for (hn_id block = 0; block < s->g->blocks.n; block++)
        HN_TRY(sort_block(s, block, err));
    return HONE_OK;
}

hone_status hn_graph_sort(hn_graph *g, hone_error *err) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(g->model->arena));
    HN_TRY_PTR(scratch);
    order_state s = {.g = g, .scratch = scratch};
    hone_status status = sort_all(&s, err);
    hn_arena_free(scratch);
    return status;
}

/* A node that reads the value and does not follow the one that computes it. */
static hn_id early_reader(const hn_graph *g, const hn_value *v, const uint32_t *position) {
    hn_id block = hn_node_at(g, v->producer)->block;
    for (uint32_t i = 0; block != HN_NONE && i < v->uses.n; i++) {
        hn_id reader = reader_of(g, &v->uses.at[i]);
        hn_id waiter = reader == HN_NONE ? HN_NONE : node_in_block(g, reader, block);
        if (waiter != HN_NONE && position[waiter] <= position[v->producer])
            return reader;
    }
    return HN_NONE;
}

hone_status hn_graph_find_unsorted(const hn_graph *g, hn_id *reader) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(g->model->arena));
    uint32_t *position = scratch ? HN_NEW_N(scratch, uint32_t, g->nodes.n) : NULL;
    *reader = HN_NONE;
    for (hn_id b = 0; position && b < g->blocks.n; b++)
        for (uint32_t i = 0; i < hn_block_at(g, b)->nodes.n; i++)
            position[hn_block_at(g, b)->nodes.at[i]] = i;
    for (hn_id id = 0; position && *reader == HN_NONE && id < g->values.n; id++)
        if (hn_value_at(g, id)->producer != HN_NONE)
            *reader = early_reader(g, hn_value_at(g, id), position);
    hone_status status = position ? HONE_OK : HONE_E_NOMEM;
    hn_arena_free(scratch);
    return status;
}
