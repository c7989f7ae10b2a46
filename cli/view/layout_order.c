/* The order of vertices within their ranks: sweeps that sort each rank by the medians of its
 * neighbours, down and up; the order with the fewest crossings is kept. */
#include "view/graph_layout.h"

#include <stdlib.h>
#include <string.h>

enum { N_SWEEPS = 14 };

typedef struct sort_key {
    double median;
    uint32_t place, vertex;
} sort_key;

static int by_median(const void *a, const void *b) {
    const sort_key *x = a, *y = b;
    if (x->median != y->median)
        return x->median < y->median ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Between the two middle neighbours: nearer to the side where the others are dense. */
static double median_neighbour(const layout_net *net, uint32_t v, int side, uint32_t *scratch) {
    uint32_t n = net->first[side][v + 1] - net->first[side][v];
    for (uint32_t i = 0; i < n; i++)
        scratch[i] = net->place[net->at[side][net->first[side][v] + i]];
    if (n > 2)
        qsort(scratch, n, sizeof *scratch, by_number);
    if (n % 2 || n == 2)
        return n == 2 ? (scratch[0] + (double)scratch[1]) / 2 : scratch[n / 2];
    double left = scratch[n / 2 - 1] - (double)scratch[0];
    double right = scratch[n - 1] - (double)scratch[n / 2];
    if (left + right <= 0)
        return (scratch[n / 2 - 1] + (double)scratch[n / 2]) / 2;
    return (scratch[n / 2 - 1] * right + scratch[n / 2] * left) / (left + right);
}

/* Vertices without neighbours on that side stay where they are. */
static void sort_rank(layout_net *net, uint32_t rank, int side, sort_key *keys, uint32_t *scratch) {
    uint32_t *at = net->in_rank + net->rank_first[rank], n_moved = 0;
    uint32_t n = net->rank_first[rank + 1] - net->rank_first[rank];
    for (uint32_t i = 0; i < n; i++)
        if (net->first[side][at[i]] < net->first[side][at[i] + 1])
            keys[n_moved++] = (sort_key){median_neighbour(net, at[i], side, scratch), i, at[i]};
    if (n_moved > 1)
        qsort(keys, n_moved, sizeof *keys, by_median);
    for (uint32_t i = 0, k = 0; i < n; i++) {
        if (net->first[side][at[i]] < net->first[side][at[i] + 1])
            at[i] = keys[k++].vertex;
        net->place[at[i]] = i;
    }
}

/* Crossings below a rank: pairs of segments whose ends are in opposite order, counted with a tree
 * of partial sums over the places below. */
static uint64_t count_crossings(const layout_net *net, uint32_t rank, uint32_t *sums,
                                uint32_t *scratch) {
    uint32_t n = net->rank_first[rank + 2] - net->rank_first[rank + 1], n_seen = 0;
    uint64_t crossings = 0;
    memset(sums, 0, ((size_t)n + 1) * sizeof *sums);
    for (uint32_t i = net->rank_first[rank]; i < net->rank_first[rank + 1]; i++) {
        uint32_t v = net->in_rank[i], n_below = net->first[1][v + 1] - net->first[1][v];
        for (uint32_t k = 0; k < n_below; k++) {
            uint32_t place = net->place[net->at[1][net->first[1][v] + k]], n_left = 0;
            scratch[k] = place;
            for (uint32_t s = place + 1; s > 0; s &= s - 1)
                n_left += sums[s];
            crossings += n_seen - n_left;
        }
        for (uint32_t k = 0; k < n_below; k++, n_seen++)
            for (uint32_t s = scratch[k] + 1; s <= n; s += s & (~s + 1))
                sums[s]++;
    }
    return crossings;
}

/* A first order: depth first from the boxes that read nothing, so that chains stay together. */
static void order_by_depth(layout_net *net, uint32_t *stack, uint32_t *filled) {
    memset(net->place, 0xff, net->n * sizeof *net->place);
    for (uint32_t start = 0; start < net->n; start++) {
        uint32_t n = 0;
        if (net->first[0][start] == net->first[0][start + 1])
            stack[n++] = start;
        while (n > 0) {
            uint32_t v = stack[--n], r = net->rank[v];
            if (net->place[v] != LAYOUT_NONE)
                continue;
            net->place[v] = filled[r]++;
            net->in_rank[net->rank_first[r] + net->place[v]] = v;
            for (uint32_t i = net->first[1][v + 1]; i-- > net->first[1][v];)
                if (net->place[net->at[1][i]] == LAYOUT_NONE)
                    stack[n++] = net->at[1][i];
        }
    }
}

static void sweep(layout_net *net, uint32_t number, sort_key *keys, uint32_t *scratch) {
    for (uint32_t i = 1; i < net->n_ranks; i++)
        if (number % 2 == 0)
            sort_rank(net, i, 0, keys, scratch);
        else
            sort_rank(net, net->n_ranks - 1 - i, 1, keys, scratch);
}

static uint64_t all_crossings(const layout_net *net, uint32_t *sums, uint32_t *scratch) {
    uint64_t n = 0;
    for (uint32_t r = 0; r + 1 < net->n_ranks; r++)
        n += count_crossings(net, r, sums, scratch);
    return n;
}

bool layout_order(layout_net *net) {
    size_t n = (size_t)net->n + net->n_segments + 2;
    uint32_t *scratch = calloc(n, sizeof *scratch), *sums = calloc(n, sizeof *sums);
    uint32_t *best = calloc(n, sizeof *best);
    sort_key *keys = calloc(n, sizeof *keys);
    bool ok = scratch && sums && best && keys;
    uint64_t fewest = UINT64_MAX;
    if (ok)
        order_by_depth(net, scratch, sums);
    for (uint32_t i = 0; ok && i <= N_SWEEPS && fewest > 0; i++) {
        if (i > 0)
            sweep(net, i - 1, keys, scratch);
        uint64_t crossings = all_crossings(net, sums, scratch);
        if (crossings < fewest) {
            fewest = crossings;
            memcpy(best, net->in_rank, net->n * sizeof *best);
        }
    }
    if (ok)
        memcpy(net->in_rank, best, net->n * sizeof *best);
    for (uint32_t r = 0; ok && r < net->n_ranks; r++)
        for (uint32_t i = net->rank_first[r]; i < net->rank_first[r + 1]; i++)
            net->place[net->in_rank[i]] = i - net->rank_first[r];
    free(scratch);
    free(sums);
    free(best);
    free(keys);
    return ok;
}
