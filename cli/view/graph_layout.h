/* A layered layout: boxes in ranks from top to bottom, edges that bend at the ranks they pass.
 * Memory and time are linear in boxes and edges but for sorting; equal graphs give equal layouts.
 */
#ifndef HONE_CLI_GRAPH_LAYOUT_H
#define HONE_CLI_GRAPH_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_NONE UINT32_MAX

typedef struct layout_box {
    double width; /* given */
    double x;     /* of its centre */
    uint32_t rank;
} layout_box;

/* Edges of one source are drawn as one line that branches. */
typedef struct layout_edge {
    uint32_t from, to; /* boxes; given */
    uint32_t source;   /* given: edges of one box with the same number share their bends */
    bool is_jump;      /* too long, or against the order: it has no bends and is not drawn */
    uint32_t last;     /* the bend before `to`; LAYOUT_NONE: none */
} layout_edge;

typedef struct layout_bend { /* where an edge passes a rank */
    double x;
    uint32_t before; /* the bend in the rank above; LAYOUT_NONE: the box that the edge comes from */
    uint32_t from;   /* that box */
    uint32_t rank, source;
} layout_bend;

typedef struct layout {
    layout_box *boxes;
    layout_edge *edges;
    layout_bend *bends;
    uint32_t n_boxes, n_edges, n_bends, n_ranks;
    double width; /* of all: boxes are between 0 and that */
} layout;

/* Fills in the ranks, bends and places; the boxes and edges are the caller's. False: no memory. */
bool layout_make(layout *l);
void layout_free(layout *l); /* the bends */

/* ---- steps of it ----------------------------------------------------------------------------- */

/* Boxes and bends as vertices: a box has the number of the box, bends follow. Neighbours are in the
 * ranks just above and below. */
typedef struct layout_net {
    uint32_t n, n_boxes, n_ranks, n_segments;
    uint32_t *rank, *place; /* of a vertex: its rank, its position in the rank */
    double *width;
    uint32_t *rank_first;       /* [n_ranks + 1] into in_rank */
    uint32_t *in_rank;          /* vertices, rank by rank from left to right */
    uint32_t *first[2], *at[2]; /* neighbours above (0) and below (1): at[k][first[k][v] ...] */
    uint32_t *segment;          /* beside at[1]: its index in at[0] */
} layout_net;

bool layout_rank(layout *l);
bool layout_bend_edges(layout *l);
bool layout_net_make(const layout *l, layout_net *net);
void layout_net_free(layout_net *net);
bool layout_order(layout_net *net);
bool layout_place(const layout_net *net, double *x);
/* Narrower, but not as straight. The blocks are chains that should be: the first of each vertex,
 * and the next in it as a ring. */
bool layout_relax(const layout_net *net, const uint32_t *root, const uint32_t *next, double *x);
/* The least one between the middles of neighbours in a rank. */
double layout_distance(const layout_net *net, uint32_t left, uint32_t right);

#endif /* HONE_CLI_GRAPH_LAYOUT_H */
