/* Inside pass/: values as views of others.
 *
 * Reshape, Transpose, Squeeze, Split, Slice, Gather of one index, Expand and Tile compute nothing:
 * they say which element of a source each element of a value is. A view follows such a chain upward
 * from a value. Sizes are broken into atoms, as small as the chain needs them: [batch*heads, seq,
 * size] out of [seq, batch, 3*heads*size] is made of batch, heads, seq, size and a 3 of which one
 * index is taken. The value and its source are two orders of the same atoms, so the spelling of the
 * chain no longer matters. Axes of size 1 have no atoms. */
#ifndef HN_VIEW_H
#define HN_VIEW_H

#include "pass/engine/pass_int.h"

#define HN_VIEW_ATOMS 24
#define HN_VIEW_RANK 8

typedef enum hn_view_atom_kind {
    HN_ATOM_PLAIN,  /* in the value and in the source */
    HN_ATOM_FIXED,  /* in the source only: one index of it was taken */
    HN_ATOM_REPEAT, /* in the value only: the source is repeated along it */
} hn_view_atom_kind;

typedef struct hn_view_atom {
    hn_dim size;
    hn_view_atom_kind kind;
    int64_t index; /* FIXED: which */
} hn_view_atom;

/* Atoms in the order of memory, outermost first, and the axis that each belongs to. */
typedef struct hn_atom_order {
    uint32_t n;
    uint8_t atom[HN_VIEW_ATOMS];
    uint8_t axis[HN_VIEW_ATOMS];
} hn_atom_order;

typedef struct hn_view {
    hn_rule *r;
    hn_id value, source;
    uint32_t source_rank;
    hn_dim source_dims[HN_VIEW_RANK];
    uint32_t n_steps;  /* nodes between them */
    double factor;     /* the value is the source times this number */
    bool keeps_factor; /* do not go up through a Mul or Div */
    uint32_t n_atoms;
    hn_view_atom atoms[HN_VIEW_ATOMS];
    hn_atom_order of_value, of_source;
} hn_view;

/* A value as a view of itself. False when its rank is unknown or too large. */
bool hn_view_begin(hn_view *v, hn_rule *r, hn_id value);
/* One node upward. False, with the view as it was, when that node computes something, or sizes do
 * not tell how elements move. */
bool hn_view_up(hn_view *v);
/* Lets x, of the source's shape, take its place: what computes one from the other, element by
 * element, is the caller's affair. */
bool hn_view_skip(hn_view *v, hn_id x);
/* The only fixed atom of size 2 becomes the outermost or innermost atom of the value's last axis:
 * both parts of a pair. False when there is no such atom, or it lies elsewhere in the source. */
bool hn_view_join_pairs(hn_view *v, bool is_inside);
/* Gives the value other axes of the same elements, in the same order. False when sizes do not fit;
 * the view is still good then. */
bool hn_view_regroup(hn_view *v, uint32_t rank, const hn_dim *dims);
/* Changes the order of the value's axes: axis i is the former perm[i]. */
void hn_view_permute(hn_view *v, uint32_t rank, const uint8_t *perm);
/* The value repeated to a larger shape, as broadcasting does. False when its axes do not fit. */
bool hn_view_broadcast(hn_view *v, const hn_shape *to);
/* Lets another value be the source: it holds the elements of the present one, taken as axes of
 * `dims`, in this layout. False when sizes do not fit. */
bool hn_view_rebase(hn_view *v, hn_id source, uint32_t rank, const hn_dim *dims,
                    const char *layout);
/* Product of the sizes of a value's axis: of all its atoms, or of those that are not repeats. */
hn_dim hn_view_axis_size(const hn_view *v, uint32_t axis, bool with_repeats);
/* Do the repeats of an axis, if any, come after its plain atoms? */
bool hn_view_repeats_inside(const hn_view *v, uint32_t axis);
/* a divided by b when that leaves no rest, symbols included; else HN_DIM_UNKNOWN. */
hn_dim hn_dim_exact_div(hn_syms *s, hn_dim a, hn_dim b);

/* ---- writing views --------------------------------------------------------------------------- */

/* How the source is brought into another arrangement. A layout names axes of the value: "0,2,13" is
 * a tensor of rank 3 whose last axis is made of axes 1 and 3. Repeats are left out: an axis of
 * nothing but repeats has size 1. */
typedef struct hn_view_plan {
    hn_id source;
    uint32_t n_split; /* > 0: Reshape to this target first */
    int64_t split[HN_VIEW_ATOMS];
    uint32_t n_perm; /* > 0: then Transpose */
    uint8_t perm[HN_VIEW_ATOMS];
    uint32_t pick_axis, pick_of, pick; /* pick_of > 1: then take one of so many equal parts */
    uint32_t rank;
    hn_dim dims[HN_VIEW_RANK];    /* of the result */
    int64_t target[HN_VIEW_RANK]; /* of the last Reshape */
    bool is_reshaped;             /* is there a last one? */
    uint32_t n_nodes;             /* to be written, the part not counted */
    int32_t cost;                 /* hn_view_plan_best: thirds of nodes, less those saved */
    double factor;                /* what remains to be multiplied */
} hn_view_plan;
/* False when sizes cannot be told to Reshape, or a picked index lies inside an axis. */
bool hn_view_plan_write(const hn_view *v, const char *layout, hn_view_plan *plan);
/* The same from the source, as far up as it pays, that takes the fewest nodes, minus those that
 * would no longer be read. No axis may lose elements by leaving out repeats, but axis 1 must have
 * `own_1` elements then: fewer heads, each of which serves several. */
bool hn_view_plan_best(const hn_view *v, const char *layout, hn_dim own_1, hn_view_plan *plan);

/* Writes plans; what several have in common is written once. */
typedef struct hn_view_writer {
    hn_rule *r;
    uint32_t n_done;
    struct hn_view_step {
        hn_id from, to; /* value; node of a Split */
        uint32_t n;
        int64_t numbers[HN_VIEW_ATOMS + 1];
    } done[24];
} hn_view_writer;
hn_id hn_view_write(hn_view_writer *w, const hn_view_plan *plan);
/* The size of an axis as an integer tensor of rank 1. */
hn_id hn_make_axis_size(hn_rule *r, hn_id x, uint32_t axis);

#endif /* HN_VIEW_H */
