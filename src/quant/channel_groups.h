/* Groups of values whose channels may be scaled together, for equalization. */
#ifndef HN_QUANT_CHANNEL_GROUPS_H
#define HN_QUANT_CHANNEL_GROUPS_H

#include "quant/quant_int.h"

/* Elements of a weight that belong to channels: element (outer, channel, inner), channels of group
 * g of a convolution begin at g * n_mid where outer / outer_per_group is g. */
typedef struct hn_channel_weight {
    hn_id value;
    uint64_t n_outer, n_mid, n_inner, outer_per_group, n_channels;
} hn_channel_weight;

typedef struct hn_equalizer {
    hn_quant_plan *p;
    hn_id *parent;      /* union-find over values */
    bool *is_fixed;     /* by root */
    uint64_t *channels; /* by value: how many; 0: unknown */
    int32_t *axis;      /* by value: of the channels */
    double *factors;    /* of the group at hand */
    double *powers;     /* of it: mean squares of its channels, relative to the largest number */
    uint32_t n_groups;
    double worst_before, worst_after;
} hn_equalizer;

/* Finds the groups; those that something else than weights reads or writes are fixed. */
void hn_channel_groups_find(hn_equalizer *e);
hn_id hn_channel_group(const hn_equalizer *e, hn_id v); /* its root */
/* A float constant that this node alone reads; NULL. */
const hn_tensor *hn_channel_own_const(const hn_graph *g, hn_id node, uint32_t slot);
/* Where in a weight the channels of its layer's input or output are. False: they cannot be
 * changed. */
bool hn_channel_weight_of(const hn_graph *g, hn_id node, bool is_output, hn_channel_weight *out);
bool hn_channel_layer(const hn_equalizer *e, hn_id node); /* a layer with a constant weight */
/* Does the operator take a vector of the last axis: bias of a product (Add), or scale of a
 * normalization (Mul)? */
bool hn_channel_vector(const hn_equalizer *e, hn_id node, const char *op, uint32_t *slot);
bool hn_channel_normalization(const hn_equalizer *e, hn_id node);

#endif /* HN_QUANT_CHANNEL_GROUPS_H */
