/* Inside pass/: what operators changed from one version of ai.onnx to the next. */
#ifndef HN_OPSET_H
#define HN_OPSET_H

#include "pass/engine/pass_int.h"

/* Rewrites one node across a border: from version - 1 to version (up), or back (down). The graph's
 * import is the new one already, so the old node's attributes are read as they are written. Leaves
 * the rule without a rewrite when the node may stay as it is; fails when it cannot be said in the
 * new version, with a reason that follows "node 'x' (Op): ". */
typedef hone_status (*hn_adapt_fn)(hn_rule *r);

typedef struct hn_adapter {
    const char *ops;      /* "Softmax|LogSoftmax|Hardmax" */
    int version;          /* that brought the change */
    hn_adapt_fn up, down; /* NULL: cannot be done in that direction */
} hn_adapter;
/* The change of this operator at this border; NULL when there is none. */
const hn_adapter *hn_adapter_find(hn_str op, int version);

/* An attribute that became an input. */
typedef enum hn_moved_kind {
    HN_MOVED_INTS,   /* a list; int64[n] */
    HN_MOVED_INT,    /* a number; int64[1] */
    HN_MOVED_FLOATS, /* float[n] */
    HN_MOVED_REAL,   /* a number; a scalar of the first input's type */
    HN_MOVED_ONE,    /* was no attribute: only a constant 1 could be left out */
    HN_MOVED_FALSE   /* the same with false */
} hn_moved_kind;
typedef struct hn_moved {
    const char *ops;
    int version;
    const char *attr;
    uint32_t input;
    hn_moved_kind kind;
} hn_moved;
bool hn_has_moved(hn_str op, int version); /* does any attribute of it move at this border? */
hone_status hn_move_to_inputs(hn_rule *r, int version);
hone_status hn_move_to_attrs(hn_rule *r, int version);

/* opset_down.c: the same for changes that only matter on the way back. */
hn_adapt_fn hn_down_find(hn_str op, int version);
/* Attributes that the older schema does not have go when they say what it implies. */
hone_status hn_drop_young_attrs(hn_rule *r, int version);
/* Is the operator part of the standard at this version? */
bool hn_op_exists(hn_str op, int64_t version);

/* opset_expand.c: says an operator that this version brought with older ones. */
hone_status hn_expand(hn_rule *r, int version, bool *is_known);

/* The root again as another operator (NULL: the same), with other inputs, without some attributes
 * ("axes|keepdims"; NULL: with all), with some more. It takes the place of the root. */
void hn_remake(hn_rule *r, const char *op, uint32_t n_in, const hn_id *in, const char *without,
               uint32_t n_more, const hn_attr *more);
bool hn_list_names(const char *list, const char *name, size_t n); /* is it in "a|b|c"? */
/* Written attributes; the default when absent. */
int64_t hn_raw_i(const hn_rule *r, const char *name, int64_t def);

#endif /* HN_OPSET_H */
