/* Inside ops/: the inference engine behind infer_int.h. Rules do not include this header. */
#ifndef HN_INFER_ENGINE_H
#define HN_INFER_ENGINE_H

#include "ops/infer/infer_int.h"

/* Elements of a small integer tensor, each known or unknown. */
typedef struct infer_ints {
    uint32_t n;
    bool is_scalar;
    uint32_t n_cols; /* of a row-major matrix; 0: not a matrix */
    const hn_sint *elems;
} infer_ints;

/* The inference of one model: the state that all scopes share. */
typedef struct infer_job {
    hn_model *model;
    hn_arena
        *work; /* everything an inference makes; dropped at its end, after results were copied */
    hn_problems *problems; /* may be NULL */
    hone_error *err;
    uint64_t steps_left; /* nodes that may still be visited: nested functions and loops can multiply
                            without end */
    bool out_of_steps;
    bool lost_text;       /* memory for the text of a message ran out */
    bool ignore_declared; /* real inputs decide: what the file says of other values may hold for its
                             own example only */
    bool trusts_nodes; /* of what nodes compute, the file is believed the type of elements only */
} infer_job;

/* One graph under inference: the main graph, or the body of a function for one call. Types stand
 * beside the graph, not in it, because a function body has other types at every call. */
typedef struct infer_scope {
    infer_job *job;
    const hn_graph *g;
    const hn_type **types;    /* by value; NULL: the graph's values carry their types (macs) */
    const infer_ints **ints;  /* by value */
    const hn_tensor **consts; /* by value */
    const struct infer_scope *caller; /* NULL for a top-level graph */
    const hn_node *call;              /* the caller's node */
    const hn_function *function;      /* whose body this is; NULL for the main graph */
    hn_map *invalid_nodes;            /* that no rule or schema fits; NULL: nobody wants to know */
    uint32_t depth;
} infer_scope;

struct hn_infer {
    infer_scope *scope;
    hn_id id;
    const hn_node *node;
    const hn_op *op;
    int version;         /* since-version of op */
    const hn_type **out; /* per output, NULL until known */
    const infer_ints **out_ints;
    const hn_tensor **out_consts;
    hone_error fail; /* what hn_infer_fail recorded */
    const hn_type *const
        *arg_types; /* at run time: what the inputs really are; NULL: as the scope says */
    const hn_tensor *const *arg_consts; /* and their data */
    uint64_t *read_args; /* at run time: bit i is set when the data of input i are looked at (bit
                            63: of that one or a later one); NULL: nobody wants to know */
};

#define HN_INFER_MAX_DEPTH 64 /* functions within functions, bodies within bodies */

/* Attribute as seen by a node: its own, or the caller's when it refers to a parameter of the
 * function it stands in. */
const hn_tensor *hn_infer_initial_const(const hn_model *m,
                                        const hn_value *v); /* NULL when not constant */
const hn_attr *hn_infer_resolve(const infer_scope *s, const hn_attr *a);
/* Tables for every value of the graph, filled with what inputs and initializers are. */
hone_status hn_infer_open_scope(infer_scope *s, infer_job *job, const hn_graph *g);
hone_status hn_infer_seed(infer_scope *s, hn_id value); /* one value anew */
hone_status hn_infer_block(infer_scope *s, hn_id block);
hone_status hn_infer_visit(infer_scope *s, hn_id node);
/* Copies what the scope knows into the graph's values. keep_declared: of declared values only. */
hone_status hn_infer_store(const infer_scope *s, bool keep_declared);
/* A copy of a type in another arena. NULL: no memory. */
const hn_type *hn_infer_keep_type(hn_arena *a, const hn_type *t);
/* The same without shapes. */
const hn_type *hn_type_without_shapes(hn_arena *a, const hn_type *t);
/* The more exact of a declared and an inferred type; reports a contradiction as a problem. */
const hn_type *hn_infer_reconcile(const infer_scope *s, hn_id node, hn_id value,
                                  const hn_type *declared, const hn_type *inferred,
                                  bool keep_declared_symbols);

/* node_check.c: does the node fit its schema, as far as can be seen without types? Problems are
 * reported when `p` is given. */
bool hn_node_form_ok(const hn_graph *g, const hn_function *f, hn_id node, hn_problems *p,
                     const hn_op **op, int *version);
/* Do the types of the inputs fit? Fills the outputs' element types from the type variables they
 * bind. */
bool hn_node_types_ok(hn_infer *c, hn_problems *p);
/* Do the types that the rule gave the outputs fit? */
bool hn_node_outputs_ok(const hn_infer *c, hn_problems *p);

#endif /* HN_INFER_ENGINE_H */
