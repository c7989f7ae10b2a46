/* Inside cpu/lower/: GroupQueryAttention with a cache. */
#ifndef HN_GROUP_ATTENTION_LOWER_H
#define HN_GROUP_ATTENTION_LOWER_H

#include "cpu/lower/attention_step.h"

/* A node whose present keys and values are both wanted, without biases, sinks and normalization of
 * heads. */
hone_status hn_lower_group_cache(hn_eval *c, hn_lowered *out);

#endif /* HN_GROUP_ATTENTION_LOWER_H */
