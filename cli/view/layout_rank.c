/* Ranks: each box below all that it reads, and as near to its readers as that saves length. Then
 * the bends of edges that pass ranks. */
#include "view/graph_layout.h"

#include <stdlib.h>
#include <string.h>

/* The edges of each box in one direction, as lists over an array. */
typedef struct edge_lists {
    uint32_t *first, *edge;
} edge_lists;

static bool list_edges(const layout *l, bool by_source, edge_lists *lists) {
    uint32_t *first = calloc((size_t)l->n_boxes + 2, sizeof *first);
    uint32_t *edge = calloc((size_t)l->n_edges + 1, sizeof *edge);
    *lists = (edge_lists){first, edge};
    if (!first || !edge)
        return false;
    for (uint32_t i = 0; i < l->n_edges; i++)
        first[(by_source ? l->edges[i].from : l->edges[i].to) + 1]++;
    for (uint32_t b = 0; b < l->n_boxes; b++)
        first[b + 1] += first[b];
    for (uint32_t i = 0; i < l->n_edges; i++)
        edge[first[by_source ? l->edges[i].from : l->edges[i].to]++] = i;
    memmove(first + 1, first, l->n_boxes * sizeof *first);
    first[0] = 0;
    return true;
}

static void edge_lists_free(edge_lists *lists) {
    free(lists->first);
    free(lists->edge);
}

/* Boxes in an order in which readers follow; edges of a cycle become jumps. */
static void sort_boxes(layout *l, const edge_lists *out, uint32_t *order, uint32_t *n_missing) {
    uint32_t n = 0, next = 0;
    for (uint32_t i = 0; i < l->n_edges; i++)
        n_missing[l->edges[i].to]++;
    for (uint32_t b = 0; b < l->n_boxes; b++)
        if (n_missing[b] == 0)
            order[n++] = b;
    for (uint32_t done = 0; done < l->n_boxes; done++) {
        while (done == n) { /* what is left is in a cycle, or behind one: begin anywhere */
            if (n_missing[next] != 0 && n_missing[next] != LAYOUT_NONE) {
                n_missing[next] = 0;
                order[n++] = next;
            }
            next++;
        }
        uint32_t b = order[done];
        n_missing[b] = LAYOUT_NONE;
        for (uint32_t i = out->first[b]; i < out->first[b + 1]; i++) {
            layout_edge *e = &l->edges[out->edge[i]];
            uint32_t *missing = &n_missing[e->to];
            e->is_jump = *missing == LAYOUT_NONE || *missing == 0;
            if (!e->is_jump && --*missing == 0)
                order[n++] = e->to;
        }
    }
}

/* A box with more readers than arguments shortens more edges than it lengthens by going down. */
static void pull_down(layout *l, const edge_lists *out, const edge_lists *in, uint32_t b) {
    uint32_t lowest = LAYOUT_NONE, n_out = 0, n_in = 0;
    for (uint32_t i = out->first[b]; i < out->first[b + 1]; i++) {
        const layout_edge *e = &l->edges[out->edge[i]];
        if (!e->is_jump) {
            uint32_t above = l->boxes[e->to].rank - 1;
            lowest = above < lowest ? above : lowest;
            n_out++;
        }
    }
    for (uint32_t i = in->first[b]; i < in->first[b + 1]; i++)
        n_in += !l->edges[in->edge[i]].is_jump;
    if (lowest != LAYOUT_NONE && n_out > n_in)
        l->boxes[b].rank = lowest;
}

bool layout_rank(layout *l) {
    edge_lists out, in = {0};
    uint32_t *order = calloc((size_t)l->n_boxes + 1, sizeof *order);
    uint32_t *n_missing = calloc((size_t)l->n_boxes + 1, sizeof *n_missing);
    bool ok = list_edges(l, true, &out) && list_edges(l, false, &in) && order && n_missing;
    for (uint32_t b = 0; ok && b < l->n_boxes; b++)
        l->boxes[b].rank = 0;
    if (ok)
        sort_boxes(l, &out, order, n_missing);
    for (uint32_t k = 0; ok && k < l->n_boxes; k++)
        for (uint32_t i = out.first[order[k]]; i < out.first[order[k] + 1]; i++) {
            const layout_edge *e = &l->edges[out.edge[i]];
            if (!e->is_jump && l->boxes[e->to].rank <= l->boxes[order[k]].rank)
                l->boxes[e->to].rank = l->boxes[order[k]].rank + 1;
        }
    for (uint32_t k = l->n_boxes; ok && k-- > 0;)
        pull_down(l, &out, &in, order[k]);
    l->n_ranks = 0;
    for (uint32_t b = 0; ok && b < l->n_boxes; b++)
        if (l->boxes[b].rank >= l->n_ranks)
            l->n_ranks = l->boxes[b].rank + 1;
    edge_lists_free(&out);
    edge_lists_free(&in);
    free(order);
    free(n_missing);
    return ok;
}

/* ---- bends ----------------------------------------------------------------------------------- */

/* A line across sixty ranks tells nobody where it goes: only short ones are drawn, and no more
 * bends than there are boxes, times a few. */
enum { LONGEST_EDGE = 60, BENDS_PER_BOX = 6, SOME_BENDS = 1000 };

static uint32_t span_of(const layout *l, const layout_edge *e) {
    return l->boxes[e->to].rank - l->boxes[e->from].rank;
}

typedef struct drawn_edge {
    uint32_t from, source, span, number;
} drawn_edge;

static int by_source_and_span(const void *a, const void *b) {
    const drawn_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* The longest span for which there are bends enough. */
static uint32_t longest_drawn(const layout *l) {
    uint64_t budget = (uint64_t)l->n_boxes * BENDS_PER_BOX + SOME_BENDS, n = 0;
    uint64_t per_span[LONGEST_EDGE + 1] = {0};
    for (uint32_t i = 0; i < l->n_edges; i++)
        if (!l->edges[i].is_jump && span_of(l, &l->edges[i]) <= LONGEST_EDGE)
            per_span[span_of(l, &l->edges[i])]++;
    uint32_t span = 1;
    while (span < LONGEST_EDGE && (n += per_span[span + 1] * span) <= budget)
        span++;
    return span;
}

/* Adds the bends of an edge to those that shorter edges of the same source have. */
static void bend_edge(layout *l, layout_edge *e, uint32_t *last) {
    uint32_t rank = *last == LAYOUT_NONE ? l->boxes[e->from].rank : l->bends[*last].rank;
    while (++rank < l->boxes[e->to].rank) {
        l->bends[l->n_bends] =
            (layout_bend){.before = *last, .from = e->from, .rank = rank, .source = e->source};
        *last = l->n_bends++;
    }
    e->last = *last;
}

bool layout_bend_edges(layout *l) {
    drawn_edge *drawn = calloc((size_t)l->n_edges + 1, sizeof *drawn);
    uint32_t longest = longest_drawn(l), last = LAYOUT_NONE, n = 0;
    uint64_t n_most = 0;
    for (uint32_t i = 0; drawn && i < l->n_edges; i++) {
        layout_edge *e = &l->edges[i];
        e->last = LAYOUT_NONE;
        e->is_jump = e->is_jump || span_of(l, e) > longest;
        if (!e->is_jump) {
            n_most += span_of(l, e) - 1;
            drawn[n++] = (drawn_edge){e->from, e->source, span_of(l, e), i};
        }
    }
    l->n_bends = 0;
    l->bends = drawn && n_most < UINT32_MAX ? calloc(n_most + 1, sizeof *l->bends) : NULL;
    bool ok = l->bends != NULL;
    if (ok && n > 1)
        qsort(drawn, n, sizeof *drawn, by_source_and_span);
    for (uint32_t k = 0; ok && k < n; k++) {
        bool is_other =
            k == 0 || drawn[k - 1].from != drawn[k].from || drawn[k - 1].source != drawn[k].source;
        last = is_other ? LAYOUT_NONE : last;
        bend_edge(l, &l->edges[drawn[k].number], &last);
    }
    free(drawn);
    return ok;
}
