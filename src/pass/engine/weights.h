/* Inside pass/: numbers of constant weights, whatever real type they are stored in, and what scales
 * and shifts them channel by channel. */
#ifndef HN_WEIGHTS_H
#define HN_WEIGHTS_H

#include "pass/engine/pass_int.h"

/* y = scale[c] * x + shift[c] for each of n channels. */
typedef struct hn_channel_map {
    uint64_t n;
    double *scale; /* NULL: all 1 */
    double *shift; /* NULL: all 0 */
} hn_channel_map;

/* A constant whose numbers a rule may change: of a real type, and either read once or so small that
 * a second copy does no harm; its data may have to be computed yet. NULL when it is not; too many
 * readers are logged as a near miss. */
const hn_tensor *hn_own_weight(hn_rule *r, hn_id value);
/* Elements as doubles in the scratch arena. NULL: no memory. */
double *hn_const_f64s(hn_rule *r, const hn_tensor *t);
/* The constant in an elementwise operator with x of this rank, when it differs along `axis` at
 * most: n numbers, one per channel, in *out. False when it does not fit or would enlarge the
 * result. */
bool hn_channel_const(hn_rule *r, hn_id node, hn_id constant, int32_t rank, int32_t axis,
                      uint64_t n, double **out);
/* What a BatchNormalization, Mul, Div, Add or Sub does to its input `slot`, of this rank, along the
 * axis; out->n says how many channels there are. False when it is something else. */
bool hn_channel_map_of(hn_rule *r, hn_id node, uint32_t slot, int32_t rank, int32_t axis,
                       hn_channel_map *out);
bool hn_is_finite_map(const hn_channel_map *m);
/* New constants; HN_NONE when a number leaves the range of the type, or memory ran out. Large
 * scaled weights may be left to be computed by whoever packs them (defer_weights). */
hn_id hn_scaled_weight(hn_rule *r, hn_id weight, const hn_channel_layout *layout,
                       const hn_channel_map *by);
hn_id hn_new_const_f64s(hn_rule *r, const char *stem, hn_dtype elem, int32_t rank,
                        const int64_t *dims, const double *numbers);

/* The node that makes `value`: one of these operators in the block of `reader`, which alone reads
 * it, once. Else HN_NONE. */
hn_id hn_lone_maker(const hn_rule *r, hn_id reader, hn_id value, const char *ops);

#endif /* HN_WEIGHTS_H */
