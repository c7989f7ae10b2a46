/* Places of vertices in their ranks, by the method of Brandes and Koepf: vertices are aligned with
 * their median neighbours into vertical blocks, in four directions; blocks are packed beside each
 * other, and the middle of the four results is taken. Edges that pass ranks stay straight. */
#include "view/graph_layout.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 26, BEND_GAP = 14 };
static const double WIDE = 1.5; /* times the width of the widest rank */

typedef struct alignment {
    const layout_net *net;
    const bool *is_marked;    /* segments, by their index in at[0], that cross a straight edge */
    int side;                 /* aligned with neighbours above (0) or below (1) */
    bool is_mirrored;         /* from right to left */
    uint32_t *root, *next;    /* of the block of a vertex; the next in it, as a ring */
    uint32_t *finished;       /* roots in an order in which blocks on the left come first */
    uint32_t *stack, *cursor; /* cursor: of a root, where its block has to be looked at next */
    uint32_t n_finished;
    double *x; /* of roots, then of all; mirrored ones are negative */
} alignment;

static bool is_bend(const layout_net *net, uint32_t v) {
    return v >= net->n_boxes;
}

/* Vertex number i of a rank, counted from the side where the alignment begins; LAYOUT_NONE: none.
 */
static uint32_t vertex_at(const alignment *a, uint32_t rank, uint32_t i) {
    const uint32_t *first = a->net->rank_first;
    if (i >= first[rank + 1] - first[rank])
        return LAYOUT_NONE;
    return a->net->in_rank[a->is_mirrored ? first[rank + 1] - 1 - i : first[rank] + i];
}

static uint32_t aligned_place(const alignment *a, uint32_t v) {
    uint32_t r = a->net->rank[v], n = a->net->rank_first[r + 1] - a->net->rank_first[r];
    return a->is_mirrored ? n - 1 - a->net->place[v] : a->net->place[v];
}

/* ---- conflicts ------------------------------------------------------------------------------- */

/* The bend above a bend; LAYOUT_NONE: there is none. */
static uint32_t inner_neighbour(const layout_net *net, uint32_t v) {
    if (!is_bend(net, v) || net->first[0][v] == net->first[0][v + 1])
        return LAYOUT_NONE;
    uint32_t above = net->at[0][net->first[0][v]];
    return is_bend(net, above) ? above : LAYOUT_NONE;
}

/* Marks the segments above a rank that cross one between two bends. */
static void mark_conflicts(const layout_net *net, uint32_t rank, bool *is_marked) {
    const uint32_t *first = net->rank_first;
    uint32_t n = first[rank + 1] - first[rank], n_above = first[rank] - first[rank - 1];
    uint32_t left = 0, done = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t inner = inner_neighbour(net, net->in_rank[first[rank] + i]);
        if (inner == LAYOUT_NONE && i + 1 < n)
            continue;
        uint32_t right = inner == LAYOUT_NONE ? n_above : net->place[inner];
        for (; done <= i; done++) {
            uint32_t v = net->in_rank[first[rank] + done];
            for (uint32_t k = net->first[0][v]; k < net->first[0][v + 1]; k++) {
                uint32_t u = net->at[0][k], place = net->place[u];
                if ((place < left || place > right) && !(is_bend(net, u) && is_bend(net, v)))
                    is_marked[k] = true;
            }
        }
        left = right;
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

typedef struct sorted_neighbour {
    uint32_t place, vertex, segment;
} sorted_neighbour;

static int by_place(const void *a, const void *b) {
    const sorted_neighbour *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Joins a vertex to the block of a median neighbour right of all that were used before. */
static void align_vertex(alignment *a, uint32_t v, sorted_neighbour *scratch, int64_t *used) {
    const layout_net *net = a->net;
    uint32_t begin = net->first[a->side][v], n = net->first[a->side][v + 1] - begin;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u = net->at[a->side][begin + i];
        uint32_t segment = a->side ? net->segment[begin + i] : begin + i;
        scratch[i] = (sorted_neighbour){aligned_place(a, u), u, segment};
    }
    if (n > 1)
        qsort(scratch, n, sizeof *scratch, by_place);
    for (uint32_t m = n ? (n - 1) / 2 : 1; m <= n / 2 && m < n && a->next[v] == v; m++) {
        const sorted_neighbour *u = &scratch[m];
        if (a->is_marked[u->segment] || (int64_t)u->place <= *used)
            continue;
        a->next[u->vertex] = v;
        a->root[v] = a->root[u->vertex];
        a->next[v] = a->root[v];
        *used = u->place;
    }
}

static void align_all(alignment *a, sorted_neighbour *scratch) {
    const layout_net *net = a->net;
    for (uint32_t v = 0; v < net->n; v++)
        a->root[v] = a->next[v] = a->cursor[v] = v;
    for (uint32_t i = 1; i < net->n_ranks; i++) {
        uint32_t rank = a->side ? net->n_ranks - 1 - i : i, v;
        int64_t used = -1;
        for (uint32_t k = 0; (v = vertex_at(a, rank, k)) != LAYOUT_NONE; k++)
            align_vertex(a, v, scratch, &used);
    }
}

/* ---- packing --------------------------------------------------------------------------------- */

double layout_distance(const layout_net *net, uint32_t left, uint32_t right) {
    double gap = is_bend(net, left) && is_bend(net, right) ? BEND_GAP : GAP;
    return (net->width[left] + net->width[right]) / 2 + gap;
}

/* The vertex before (step -1) or after it in its rank. */
static uint32_t beside(const alignment *a, uint32_t v, int step) {
    uint32_t place = aligned_place(a, v);
    if (step < 0)
        return place == 0 ? LAYOUT_NONE : vertex_at(a, a->net->rank[v], place - 1);
    return vertex_at(a, a->net->rank[v], place + 1);
}

/* Looks at the blocks on the left of a block, from where it had to wait for one. That one, or
 * LAYOUT_NONE when all are finished and the block has its place. */
static uint32_t block_to_wait_for(alignment *a, uint32_t root, const bool *is_finished) {
    uint32_t v = a->cursor[root];
    do {
        uint32_t left = beside(a, v, -1);
        if (left != LAYOUT_NONE) {
            uint32_t other = a->root[left];
            a->cursor[root] = v;
            if (!is_finished[other])
                return other;
            double x = a->x[other] + layout_distance(a->net, left, v);
            a->x[root] = x > a->x[root] ? x : a->x[root];
        }
        v = a->next[v];
    } while (v != root);
    return LAYOUT_NONE;
}

/* Finishes a block after all on its left; chains of them are long, so there is no recursion. */
static void finish_aligned(alignment *a, uint32_t root, bool *is_finished) {
    uint32_t n = 0;
    a->stack[n++] = root;
    while (n > 0) {
        uint32_t top = a->stack[n - 1];
        uint32_t other = is_finished[top] ? LAYOUT_NONE : block_to_wait_for(a, top, is_finished);
        if (other != LAYOUT_NONE) {
            a->stack[n++] = other;
            continue;
        }
        if (!is_finished[top])
            a->finished[a->n_finished++] = top;
        is_finished[top] = true;
        n--;
    }
}

/* Blocks go as far right as their neighbours there allow: no holes where they could be narrow. */
static void pull_right(alignment *a, uint32_t root) {
    uint32_t v = root;
    double x = 0;
    bool has_any = false;
    do {
        uint32_t right = beside(a, v, 1);
        if (right != LAYOUT_NONE) {
            double most = a->x[a->root[right]] - layout_distance(a->net, v, right);
            x = !has_any || most < x ? most : x;
            has_any = true;
        }
        v = a->next[v];
    } while (v != root);
    if (has_any && x > a->x[root])
        a->x[root] = x;
}

static void pack_blocks(alignment *a, bool *is_finished) {
    memset(is_finished, 0, a->net->n * sizeof *is_finished);
    a->n_finished = 0;
    for (uint32_t v = 0; v < a->net->n; v++)
        if (a->root[v] == v)
            finish_aligned(a, v, is_finished);
    for (uint32_t i = a->n_finished; i-- > 0;)
        pull_right(a, a->finished[i]);
}

static void place_vertices(alignment *a) {
    for (uint32_t v = 0; v < a->net->n; v++)
        if (a->root[v] != v)
            a->x[v] = a->x[a->root[v]];
    for (uint32_t v = 0; a->is_mirrored && v < a->net->n; v++)
        a->x[v] = -a->x[v];
}

/* ---- the four together ----------------------------------------------------------------------- */

static double extent(const layout_net *net, const double *x, double *left, double *right) {
    *left = *right = 0;
    for (uint32_t v = 0; v < net->n; v++) {
        double a = x[v] - net->width[v] / 2, b = x[v] + net->width[v] / 2;
        *left = v == 0 || a < *left ? a : *left;
        *right = v == 0 || b > *right ? b : *right;
    }
    return *right - *left;
}

/* All are moved to the narrowest: leftward ones to its left side, the others to its right one. */
static void join_alignments(const layout_net *net, double *const x[4], double *out) {
    double left[4], right[4], narrow = 0;
    int narrowest = 0;
    for (int k = 0; k < 4; k++) {
        double width = extent(net, x[k], &left[k], &right[k]);
        if (k == 0 || width < narrow) {
            narrow = width;
            narrowest = k;
        }
    }
    for (uint32_t v = 0; v < net->n; v++) {
        double at[4];
        for (int k = 0; k < 4; k++) {
            double d = x[k][v] + (k % 2 ? right[narrowest] - right[k] : left[narrowest] - left[k]);
            int i = k;
            for (; i > 0 && at[i - 1] > d; i--)
                at[i] = at[i - 1];
            at[i] = d;
        }
        out[v] = (at[1] + at[2]) / 2;
    }
}

static double widest_rank(const layout_net *net) {
    double widest = 0;
    for (uint32_t r = 0; r < net->n_ranks; r++) {
        double width = 0;
        for (uint32_t i = net->rank_first[r]; i < net->rank_first[r + 1]; i++)
            width += net->width[net->in_rank[i]] + GAP;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void align(alignment *a, int direction, sorted_neighbour *scratch, bool *is_finished) {
    a->side = direction / 2;
    a->is_mirrored = direction % 2;
    align_all(a, scratch);
    pack_blocks(a, is_finished);
}

/* The middle of the four is symmetric. But residual edges make alignments drift to the side, rank
 * by rank: where that gets too wide, places are relaxed instead. */
bool layout_place(const layout_net *net, double *x) {
    size_t n = (size_t)net->n + 1;
    double *all = calloc(n * 4, sizeof *all), *parts[4], left, right;
    uint32_t *numbers = calloc(n * 5, sizeof *numbers);
    bool *is_marked = calloc((size_t)net->n_segments + 1, sizeof *is_marked);
    bool *is_finished = calloc(n, sizeof *is_finished);
    sorted_neighbour *scratch = calloc((size_t)net->n_segments + 1, sizeof *scratch);
    bool ok = all && numbers && is_marked && is_finished && scratch;
    alignment a = {.net = net, .is_marked = is_marked};
    uint32_t **const arrays[] = {&a.root, &a.next, &a.finished, &a.stack, &a.cursor};
    for (size_t i = 0; ok && i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = numbers + n * i;
    for (uint32_t r = 1; ok && r < net->n_ranks; r++)
        mark_conflicts(net, r, is_marked);
    for (int k = 0; ok && k < 4; k++) {
        a.x = parts[k] = all + n * (size_t)k;
        align(&a, k, scratch, is_finished);
        place_vertices(&a);
    }
    if (ok)
        join_alignments(net, parts, x);
    if (ok && extent(net, x, &left, &right) > WIDE * widest_rank(net)) {
        a.x = parts[0];
        align(&a, 0, scratch, is_finished);
        ok = layout_relax(net, a.root, a.next, x);
    }
    free(all);
    free(numbers);
    free(is_marked);
    free(is_finished);
    free(scratch);
    return ok;
}
