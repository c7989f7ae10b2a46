/* Inside views: atoms and their orders. */
#ifndef HN_VIEW_INT_H
#define HN_VIEW_INT_H

#include "pass/engine/view.h"

/* The number of a new atom; HN_VIEW_ATOMS when there is no room. */
uint32_t hn_view_new_atom(hn_view *v, hn_dim size, hn_view_atom_kind kind, int64_t index);
void hn_order_insert(hn_atom_order *o, uint32_t at, uint32_t atom, uint32_t axis);
void hn_order_push(hn_atom_order *o, uint32_t atom, uint32_t axis);
/* Where the atoms of an axis begin, or would. */
uint32_t hn_order_axis_start(const hn_atom_order *o, uint32_t axis);
/* Axis i is the former perm[i]. */
hn_atom_order hn_order_permuted(const hn_atom_order *o, uint32_t rank, const uint8_t *perm);
/* Lets the atoms of an order make up axes of these sizes; splits them where needed. */
bool hn_view_regroup_order(hn_view *v, hn_atom_order *o, uint32_t rank, const hn_dim *dims);
/* Takes another value's shape; atoms are the caller's affair. */
bool hn_view_set_source(hn_view *v, hn_id source);

#endif /* HN_VIEW_INT_H */
