/* Inside pass/: changes of operators from one version of ai.onnx to the next. */
#ifndef HN_OPSET_H
#define HN_OPSET_H

#include "pass/engine/pass_int.h"

/* Rewrites one node from version - 1 to version (up) or back (down). The graph already imports the
 * new version, so the attributes of the old node are read without a schema. The function makes no
 * rewrite when the node can stay as it is. It fails when the new version cannot express the node,
 * with a reason that follows "node 'x' (Op): ". */
typedef hone_status (*hn_adapt_fn)(hn_rule *r);

typedef struct hn_adapter {
    const char *ops;      /* "Softmax|LogSoftmax|Hardmax" */
    int version;          /* that introduced the change */
    hn_adapt_fn up, down; /* NULL: not possible in that direction */
} hn_adapter;
/* Finds the change of this operator at this version; NULL when there is none. */
const hn_adapter *hn_adapter_find(hn_str op, int version);

/* An attribute that became an input. */
typedef enum hn_moved_kind {
    HN_MOVED_INTS,   /* a list; int64[n] */
    HN_MOVED_INT,    /* a number; int64[1] */
    HN_MOVED_FLOATS, /* float[n] */
    HN_MOVED_REAL,   /* a number; a scalar of the first input's type */
    HN_MOVED_ONE,    /* was not an attribute: only a constant 1 can be omitted */
    HN_MOVED_FALSE   /* the same with false */
} hn_moved_kind;
typedef struct hn_moved {
    const char *ops;
    int version;
    const char *attr;
    uint32_t input;
    hn_moved_kind kind;
} hn_moved;
bool hn_has_moved(hn_str op, int version); /* true when an attribute of it moves at this version */
hone_status hn_move_to_inputs(hn_rule *r, int version);
hone_status hn_move_to_attrs(hn_rule *r, int version);

/* opset_down.c: adapters for changes that matter only in the down direction. */
hn_adapt_fn hn_down_find(hn_str op, int version);
/* Removes attributes that the older schema lacks when they have the value it implies. */
hone_status hn_drop_young_attrs(hn_rule *r, int version);
/* True when the operator is part of the standard at this version. */
bool hn_op_exists(hn_str op, int64_t version);

/* opset_expand.c: writes an operator that this version introduced with older ones. */
hone_status hn_expand(hn_rule *r, int version, bool *is_known);

/* Replaces the root by another operator (NULL: the same) with other inputs, without some attributes
 * ("axes|keepdims"; NULL: with all), and with additional ones. */
void hn_remake(hn_rule *r, const char *op, uint32_t n_in, const hn_id *in, const char *without,
               uint32_t n_more, const hn_attr *more);
bool hn_list_names(const char *list, const char *name, size_t n); /* true when it is in "a|b|c" */
/* Attributes as written; the default when absent. */
int64_t hn_raw_i(const hn_rule *r, const char *name, int64_t def);

#endif /* HN_OPSET_H */
