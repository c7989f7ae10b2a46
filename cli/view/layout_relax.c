/* Places for graphs whose alignments drift to the side: all ranks begin in the middle, then every
 * vertex goes to its neighbours as far as the order of its rank allows; chains are straightened at
 * the end where nothing is in their way. */
#include "view/graph_layout.h"

#include <math.h>
#include <stdlib.h>

enum { N_RELAXATIONS = 24, N_STRAIGHTENINGS = 12, BEND_WEIGHT = 4 };
static const double MIDDLE_PULL = 0.02;

/* Vertices of a rank that touch each other, and move as one. */
typedef struct rank_run {
    double sum, weight; /* of where they want to be, relative to their distances */
    uint32_t n;
} rank_run;

static void pack_rank(const layout_net *net, uint32_t rank, double *x) {
    uint32_t begin = net->rank_first[rank], end = net->rank_first[rank + 1];
    double at = 0, middle;
    for (uint32_t i = begin; i < end; i++) {
        if (i > begin)
            at += layout_distance(net, net->in_rank[i - 1], net->in_rank[i]);
        x[net->in_rank[i]] = at;
    }
    middle = at / 2;
    for (uint32_t i = begin; i < end; i++)
        x[net->in_rank[i]] -= middle;
}

static double wanted_place(const layout_net *net, uint32_t v, const double *x, double *weight) {
    double sum = 0;
    *weight = MIDDLE_PULL;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = net->first[side][v]; i < net->first[side][v + 1]; i++) {
            uint32_t u = net->at[side][i];
            double w = u >= net->n_boxes && v >= net->n_boxes ? BEND_WEIGHT : 1;
            sum += w * x[u];
            *weight += w;
        }
    return sum / *weight;
}

/* The least squares of the distances to where each wants to be, in the order of the rank:
 * neighbours that would overlap become one run. */
static void relax_rank(const layout_net *net, uint32_t rank, double *x, rank_run *runs) {
    uint32_t begin = net->rank_first[rank], end = net->rank_first[rank + 1], n_runs = 0;
    double offset = 0;
    for (uint32_t i = begin; i < end; i++) {
        double weight, place = wanted_place(net, net->in_rank[i], x, &weight);
        if (i > begin)
            offset += layout_distance(net, net->in_rank[i - 1], net->in_rank[i]);
        runs[n_runs++] = (rank_run){(place - offset) * weight, weight, 1};
        for (; n_runs > 1; n_runs--) {
            rank_run *a = &runs[n_runs - 2], *b = &runs[n_runs - 1];
            if (a->sum / a->weight <= b->sum / b->weight)
                break;
            *a = (rank_run){a->sum + b->sum, a->weight + b->weight, a->n + b->n};
        }
    }
    offset = 0;
    for (uint32_t i = begin, run = 0, used = 0; i < end; i++) {
        if (i > begin)
            offset += layout_distance(net, net->in_rank[i - 1], net->in_rank[i]);
        if (used == runs[run].n) {
            run++;
            used = 0;
        }
        used++;
        x[net->in_rank[i]] = runs[run].sum / runs[run].weight + offset;
    }
}

/* Where neighbours of a chain that are not in it pull it, and a little to the middle. */
static double wanted_line(const layout_net *net, const uint32_t *chain, uint32_t n,
                          const double *x) {
    uint32_t top = net->rank[chain[0]], bottom = net->rank[chain[n - 1]];
    double sum = 0, weight = MIDDLE_PULL;
    for (uint32_t k = 0; k < n; k++)
        for (int side = 0; side < 2; side++)
            for (uint32_t i = net->first[side][chain[k]]; i < net->first[side][chain[k] + 1]; i++) {
                uint32_t u = net->at[side][i], r = net->rank[u];
                if (r >= top && r <= bottom && chain[r - top] == u)
                    continue;
                sum += x[u];
                weight++;
            }
    return sum / weight;
}

/* Puts vertices of ranks that follow each other into one line, where the others leave room; else
 * halves of them. */
static void straighten(const layout_net *net, const uint32_t *chain, uint32_t n, double *x) {
    double low = -INFINITY, high = INFINITY;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t v = chain[k], i = net->rank_first[net->rank[v]] + net->place[v];
        if (net->place[v] > 0)
            low = fmax(low, x[net->in_rank[i - 1]] + layout_distance(net, net->in_rank[i - 1], v));
        if (i + 1 < net->rank_first[net->rank[v] + 1])
            high =
                fmin(high, x[net->in_rank[i + 1]] - layout_distance(net, v, net->in_rank[i + 1]));
    }
    if (low > high && n > 1) {
        straighten(net, chain, n / 2, x);
        straighten(net, chain + n / 2, n - n / 2, x);
    }
    if (low > high)
        return;
    double line = fmax(low, fmin(high, wanted_line(net, chain, n, x)));
    for (uint32_t k = 0; k < n; k++)
        x[chain[k]] = line;
}

/* The vertices of a block from top to bottom. */
static uint32_t list_block(const uint32_t *next, uint32_t root, uint32_t *chain) {
    uint32_t n = 0, v = root;
    do {
        chain[n++] = v;
        v = next[v];
    } while (v != root);
    return n;
}

bool layout_relax(const layout_net *net, const uint32_t *root, const uint32_t *next, double *x) {
    rank_run *runs = calloc((size_t)net->n + 1, sizeof *runs);
    uint32_t *chain = calloc((size_t)net->n + 1, sizeof *chain);
    bool ok = runs && chain;
    for (uint32_t r = 0; ok && r < net->n_ranks; r++)
        pack_rank(net, r, x);
    for (uint32_t k = 0; ok && k < N_RELAXATIONS; k++)
        for (uint32_t r = 0; r < net->n_ranks; r++)
            relax_rank(net, k % 2 ? net->n_ranks - 1 - r : r, x, runs);
    for (uint32_t k = 0; ok && k < N_STRAIGHTENINGS; k++)
        for (uint32_t i = 0; i < net->n; i++) {
            uint32_t v = net->in_rank[k % 2 ? net->n - 1 - i : i];
            if (root[v] == v)
                straighten(net, chain, list_block(next, v, chain), x);
        }
    free(runs);
    free(chain);
    return ok;
}
