/* Inside pass/: operators that can work on tensors whose axes stand in another order. */
#ifndef HN_RELAYOUT_H
#define HN_RELAYOUT_H

#include "pass/rules/moves.h"

/* A value v that is to be replaced by w with v = Transpose(w, perm) is called turned by perm. */
typedef struct hn_relayout hn_relayout;
struct hn_relayout {
    const char *ops; /* as hn_is_op takes them */
    int since;       /* lowest version of their schemas */
    uint32_t n_data; /* first inputs that are turned; the others stay as they are */
    bool keeps_perm; /* results are always turned like the data */
    /* Can the node work on data turned by `in`, and by what are its results turned then? */
    bool (*turn)(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out);
    /* The node on turned data; `inputs` has one entry per input of the node. Returns the new node.
     * Only after `turn` said yes. */
    hn_id (*write)(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs);
};
/* NULL when the operator looks at the order of axes in ways that cannot be turned. */
const hn_relayout *hn_relayout_find(const hn_rule *r, hn_id node);
/* Data that needs no turning, or is turned when the model is made: one element, or a constant. */
bool hn_is_turned_for_free(const hn_rule *r, hn_id value, const hn_perm *perm);
/* Such data in the new order, with all its axes. */
hn_id hn_turn_for_free(hn_rule *r, hn_id value, const hn_perm *perm);

#endif /* HN_RELAYOUT_H */
