/* The layout of a graph in steps: ranks, bends, order within ranks, places. */
#include "view/graph_layout.h"

#include <stdlib.h>
#include <string.h>

bool layout_make(layout *l) {
    layout_net net = {0};
    double *x = NULL;
    bool ok = layout_rank(l) && layout_bend_edges(l) && layout_net_make(l, &net) &&
              layout_order(&net) && (x = calloc(net.n + 1u, sizeof *x)) != NULL &&
              layout_place(&net, x);
    double left = 0, right = 0;
    for (uint32_t i = 0; ok && i < net.n; i++) {
        double a = x[i] - net.width[i] / 2, b = x[i] + net.width[i] / 2;
        left = i == 0 || a < left ? a : left;
        right = i == 0 || b > right ? b : right;
    }
    for (uint32_t i = 0; ok && i < net.n; i++)
        *(i < l->n_boxes ? &l->boxes[i].x : &l->bends[i - l->n_boxes].x) = x[i] - left;
    l->width = right - left;
    free(x);
    layout_net_free(&net);
    if (!ok)
        layout_free(l);
    return ok;
}

void layout_free(layout *l) {
    free(l->bends);
    l->bends = NULL;
    l->n_bends = 0;
}

/* ---- the net --------------------------------------------------------------------------------- */

enum { BEND_WIDTH = 4 };

static uint32_t *new_net_numbers(size_t n) {
    return calloc(n + 1, sizeof(uint32_t));
}

static bool net_allocate(const layout *l, layout_net *net) {
    size_t n = (size_t)l->n_boxes + l->n_bends, m = (size_t)l->n_edges + l->n_bends;
    net->n = (uint32_t)n;
    net->n_boxes = l->n_boxes;
    net->n_ranks = l->n_ranks;
    net->width = calloc(n + 1, sizeof *net->width);
    net->rank = new_net_numbers(n);
    net->place = new_net_numbers(n);
    net->rank_first = new_net_numbers((size_t)l->n_ranks + 1);
    net->in_rank = new_net_numbers(n);
    net->segment = new_net_numbers(m);
    for (int k = 0; k < 2; k++) {
        net->first[k] = new_net_numbers(n + 1);
        net->at[k] = new_net_numbers(m);
    }
    return net->width && net->rank && net->place && net->rank_first && net->in_rank &&
           net->segment && net->first[0] && net->at[0] && net->first[1] && net->at[1];
}

/* The vertices of segment i: edges come first, then bends with what is above them. */
static bool segment_ends(const layout *l, uint32_t i, uint32_t *above, uint32_t *below) {
    if (i >= l->n_edges) {
        const layout_bend *b = &l->bends[i - l->n_edges];
        *above = b->before == LAYOUT_NONE ? b->from : l->n_boxes + b->before;
        *below = l->n_boxes + (i - l->n_edges);
        return true;
    }
    const layout_edge *e = &l->edges[i];
    *above = e->last == LAYOUT_NONE ? e->from : l->n_boxes + e->last;
    *below = e->to;
    return !e->is_jump;
}

static void net_connect(const layout *l, layout_net *net) {
    uint32_t n = l->n_edges + l->n_bends, above, below;
    for (uint32_t i = 0; i < n; i++)
        if (segment_ends(l, i, &above, &below)) {
            net->first[0][below + 1]++;
            net->first[1][above + 1]++;
            net->n_segments++;
        }
    for (uint32_t v = 0; v < net->n; v++)
        for (int k = 0; k < 2; k++)
            net->first[k][v + 1] += net->first[k][v];
    for (uint32_t i = 0; i < n; i++)
        if (segment_ends(l, i, &above, &below)) {
            uint32_t up = net->first[0][below]++, down = net->first[1][above]++;
            net->at[0][up] = above;
            net->at[1][down] = below;
            net->segment[down] = up;
        }
    for (int k = 0; k < 2; k++) { /* the firsts have moved to the ends */
        memmove(net->first[k] + 1, net->first[k], net->n * sizeof(uint32_t));
        net->first[k][0] = 0;
    }
}

bool layout_net_make(const layout *l, layout_net *net) {
    if (!net_allocate(l, net))
        return false;
    for (uint32_t v = 0; v < net->n; v++) {
        bool is_box = v < l->n_boxes;
        net->rank[v] = is_box ? l->boxes[v].rank : l->bends[v - l->n_boxes].rank;
        net->width[v] = is_box ? l->boxes[v].width : BEND_WIDTH;
        net->rank_first[net->rank[v] + 1]++;
    }
    for (uint32_t r = 0; r < net->n_ranks; r++)
        net->rank_first[r + 1] += net->rank_first[r];
    net_connect(l, net);
    return true;
}

void layout_net_free(layout_net *net) {
    free(net->width);
    free(net->rank);
    free(net->place);
    free(net->rank_first);
    free(net->in_rank);
    free(net->segment);
    for (int k = 0; k < 2; k++) {
        free(net->first[k]);
        free(net->at[k]);
    }
    memset(net, 0, sizeof *net);
}
