/* What passes and rules are written with, those of pass/ and those of providers.
 *
 * A rule is tried at every node that its pattern fits. It looks, and either does nothing, or writes
 * new nodes and replaces values; then the driver applies its patch, infers the new values' types,
 * removes what nobody reads any more, and logs. What a rule allocates by looking lives until the
 * rule returns.
 *
 *   static hone_status mul_by_one(hn_rule *r) {
 *       hn_rule_replace(r, hn_cap(r, "x"));
 *       return HONE_OK;
 *   }
 *   static const hn_rule_row rules[] = {{"mul-by-one", "Mul(x, 1)", mul_by_one}};
 *   hone_status hn_pass_no_ops(hn_pass *p) { return hn_pass_rules(p, rules, HN_COUNT(rules)); }
 */
#ifndef HN_PASS_INT_H
#define HN_PASS_INT_H

#include "ops/activation.h"
#include "ops/facts.h"
#include "pass/pass.h"

struct hn_pass {
    const hn_pass_row *row;
    hn_model *model;
    hn_graph *g;     /* the model's; rules see it const */
    hn_facts *facts; /* what inference knows, kept up to date with every patch */
    const hn_optimize_options *options;
    hn_opt_log *log;
    hn_arena *scratch;             /* emptied when the pass returns */
    hn_arena *rule_scratch;        /* emptied after every place where a rule was tried */
    hn_arena *kept;                /* lives as long as the optimization */
    struct hn_rule_index *indexes; /* in it: of the passes that have run */
    hone_error *err;
    uint32_t n_rewrites;   /* so far in this run of the pass */
    int64_t *wanted_opset; /* that a rule would have needed; 0: none */
    bool is_done;          /* set by a pass that need not run again in this optimization */
    bool is_opset_settled; /* no wish is granted any more */
};

/* ---- rules ----------------------------------------------------------------------------------- */

typedef struct hn_rule hn_rule;
typedef hone_status (*hn_rule_fn)(hn_rule *r);

/* A pattern is a term in this small language:
 *   Mul(x, Sigmoid(x))        an operator of ai.onnx and its inputs; a name is any value, the same
 *                             one each time; commutative operators match in both orders
 *   ms.Gelu(x)                com.microsoft; my.domain.Gelu(x): that domain
 *   Relu|Clip(x, ...)         one of several operators; ... is any number of further inputs
 *   Softmax[axis=-1](x)       attributes (defaults included): ints, floats, strings, lists 0,2,1,3
 *   Mul(x, #c)                #c is any constant; 0.5 is a constant all of whose elements are 0.5
 *                             (1e-4 relative)
 *   Add(x, _)                 _ is anything
 *   Cast?(x)                  may be missing: then its first input, x, stands here itself
 *   Conv(x, w, b?)            an input that may be absent; so may _
 *   Add(a, b):sum             names the value that the term computes
 *   {Mul(x, x) | Pow(x, 2)}   one of these terms, whichever fits first
 *   Conv                      without parentheses: any node of this operator
 * The value that a term stands for is output 0 of its node. Trailing inputs that a term leaves out
 * must be absent. All nodes but the root must be read by the match alone, unless the row says
 * otherwise. When everything fits but one term, or an inner value has another reader, and the match
 * had at least three nodes, that is logged as a near miss by itself. */
typedef struct hn_rule_row {
    const char *name; /* "mul-by-one" */
    const char *pattern;
    hn_rule_fn fn;
    bool allow_shared; /* inner values may have other readers: their nodes then stay */
    void *ctx;         /* of rules of others: their hone_rule_def */
} hn_rule_row;

/* A node of the user's model that nodes of a rewrite compute. */
typedef struct hn_origin {
    hn_str origin;
    hn_id twin; /* the new value whose node alone computes it; HN_NONE: all new nodes */
} hn_origin;

/* One place where a rule is tried. */
struct hn_rule {
    hn_pass *pass;
    const hn_rule_row *row;
    const hn_graph *g;
    hn_id root; /* node */
    hn_patch *patch;
    struct hn_match *match; /* captures */
    hn_id before;           /* where new nodes go */
    hn_str name;            /* of new nodes; NULL: that of the root */
    bool is_rewritten;      /* the patch shall be applied */
    HN_VEC(hn_id) loose;    /* nodes that may be dead afterwards */
    HN_VEC(hn_id) unread;   /* constants that may have no reader afterwards */
    HN_VEC(hn_id) replaced; /* values, each followed by what takes its place */
    HN_VEC(hn_origin) origins;
    bool has_twins; /* each of the origins has one */
    char detail[160];
};

/* Tries every rule at every node of every block, inner ones first, until nothing changes (capped).
 */
hone_status hn_pass_rules(hn_pass *p, const hn_rule_row *rows, uint32_t n_rows);
/* For passes that find their places themselves: opens a rewrite at a node with an empty patch, and
 * applies it when it says so. NULL: no memory. Both together are one rewrite in the log. */
hn_rule *hn_rewrite_begin(hn_pass *p, const char *rule, hn_id root);
hone_status hn_rewrite_end(hn_rule *r);
/* Infers the whole graph anew, after more than patches has changed. */
hone_status hn_pass_refresh_facts(hn_pass *p);
/* May one more rewrite by this rule happen (disabled, stop_after)? */
bool hn_pass_may(const hn_pass *p, const char *rule);

/* Where origins are kept: notes what a node computes before it is removed, and hands it to the
 * nodes that the rewrite wrote. A rewrite that replaces many nodes one by one says which new value
 * takes the place of which node. */
bool hn_origins_collect(hn_rule *r, hn_id node);
void hn_origins_twin(hn_rule *r, hn_id node, hn_id new_value);
hone_status hn_origins_give(hn_rule *r, hn_id first_new);

/* Captures of the pattern. */
hn_id hn_cap(const hn_rule *r, const char *name); /* value; HN_NONE when the term was missing */
hn_id hn_cap_node(const hn_rule *r, const char *name); /* node that makes it; HN_NONE */

/* All but one condition hold: tells why not, and the rule does nothing. */
hone_status hn_miss(hn_rule *r, const char *fmt, ...) HN_PRINTF(2, 3);
/* What was done, for the log ("12 heads of 64, causal"). */
void hn_detail(hn_rule *r, const char *fmt, ...) HN_PRINTF(2, 3);

/* ---- looking --------------------------------------------------------------------------------- */

static inline const hn_node *hn_at(const hn_rule *r, hn_id node) {
    return hn_node_at(r->g, node);
}
hn_id hn_in(const hn_rule *r, hn_id node, uint32_t i);  /* value; HN_NONE when absent */
hn_id hn_out(const hn_rule *r, hn_id node, uint32_t i); /* also of new nodes of the patch */
/* The node that makes a value when it is this operator of ai.onnx ("Add", "Add|Sub"), as its output
 * 0; else HN_NONE. */
hn_id hn_maker(const hn_rule *r, hn_id value, const char *ops);
bool hn_is_op(const hn_rule *r, hn_id node, const char *ops); /* ai.onnx; "ms.X": com.microsoft */
/* Attributes with the same names and values; subgraphs count as different. */
bool hn_same_attrs(const hn_node *a, const hn_node *b);
/* Does the root stand before all these nodes of its block (itself may be one of them)? */
bool hn_stands_first(const hn_rule *r, uint32_t n, const hn_id *nodes);
hn_id hn_only_reader(const hn_rule *r,
                     hn_id value); /* the one node that reads it, once; else HN_NONE */
/* The same when it is one of these operators in the root's block; else HN_NONE. */
hn_id hn_lone_reader(const hn_rule *r, hn_id value, const char *ops);
bool hn_is_graph_output(const hn_rule *r, hn_id value); /* of any block */
uint32_t hn_n_readers(const hn_rule *r, hn_id value);   /* uses, block outputs included */

hn_dtype hn_elem_of(const hn_rule *r, hn_id value);            /* HN_UNDEFINED when unknown */
int32_t hn_rank_of(const hn_rule *r, hn_id value);             /* -1 when unknown */
const hn_shape *hn_shape_of(const hn_rule *r, hn_id value);    /* NULL when the rank is unknown */
hn_dim hn_dim_of(const hn_rule *r, hn_id value, int32_t axis); /* axis may be negative */
bool hn_same_shape(const hn_rule *r, hn_id a, hn_id b);        /* provably, symbols included */
bool hn_is_static(const hn_rule *r, hn_id value);              /* every dimension is a number */

const hn_tensor *hn_const(const hn_rule *r, hn_id value);       /* NULL when not constant */
bool hn_const_f64(const hn_rule *r, hn_id value, double *out);  /* all elements are this number */
bool hn_const_is(const hn_rule *r, hn_id value, double number); /* the same, 1e-4 relative */
bool hn_const_i64s(const hn_rule *r, hn_id value, uint32_t *n, const int64_t **out);
/* Elements of a small integer tensor, constant or followed from shapes; symbols included. */
bool hn_ints(const hn_rule *r, hn_id value, uint32_t *n, const hn_sint **elems);

/* Does the node compute the same each time that it gets the same? No random numbers, no operator
 * that hone does not know itself; bodies included. */
bool hn_is_repeatable(const hn_graph *g, hn_id node);

/* Attributes, schema defaults included. */
int64_t hn_node_i(const hn_rule *r, hn_id node, const char *name, int64_t def);
float hn_node_f(const hn_rule *r, hn_id node, const char *name, float def);
bool hn_node_s_is(const hn_rule *r, hn_id node, const char *name, const char *text);
bool hn_node_ints(const hn_rule *r, hn_id node, const char *name, uint32_t *n, const int64_t **out);
/* A list that old versions keep in an attribute and newer ones in a constant input (axes, pads,
 * starts). False when absent or not constant. */
bool hn_node_list(const hn_rule *r, hn_id node, const char *name, uint32_t input, uint32_t *n,
                  const int64_t **out);
/* The row of activations.def that a node's operator has; NULL: none. */
const hn_activation_row *hn_activation_of(const hn_rule *r, hn_id node);
/* The parameters of an activation at a node, defaults included; false: they are not constant. */
bool hn_node_activation(const hn_rule *r, hn_id node, const hn_activation_row *row,
                        float params[2]);
int hn_node_version(const hn_rule *r, hn_id node); /* since-version of its schema; 0 when unknown */

/* ---- what may be written --------------------------------------------------------------------- */

int64_t hn_rule_opset(const hn_rule *r); /* of ai.onnx */
/* May a node of this operator be written: is it in the model's opset ("Gelu"), or com.microsoft
 * ("ms.BiasGelu") and the target allows that? When only the opset is too old the wish is noted: the
 * driver may raise the opset and come back; else it is a near miss. */
bool hn_can_write(hn_rule *r, const char *op);

/* Values, constants and attributes of new nodes. Filling never fails visibly. New nodes stand right
 * before the root unless hn_rule_before was called. */
void hn_rule_before(hn_rule *r, hn_id node);
#define HN_VALUES(...)                                                    \
  (uint32_t)(sizeof((hn_id[]){__VA_ARGS__}) / sizeof(hn_id)), (hn_id[]) { \
    __VA_ARGS__                                                           \
  }
#define HN_ATTRS(...)                                                           \
  (uint32_t)(sizeof((hn_attr[]){__VA_ARGS__}) / sizeof(hn_attr)), (hn_attr[]) { \
    __VA_ARGS__                                                                 \
  }
#define HN_NO_ATTRS 0, NULL
hn_attr hn_new_i(hn_rule *r, const char *name, int64_t v);
hn_attr hn_new_f(hn_rule *r, const char *name, float v);
hn_attr hn_new_s(hn_rule *r, const char *name, const char *v);
hn_attr hn_new_bytes(hn_rule *r, const char *name, const void *v, size_t n_bytes); /* a string */
hn_attr hn_new_ints(hn_rule *r, const char *name, uint32_t n, const int64_t *v);
hn_attr hn_new_floats(hn_rule *r, const char *name, uint32_t n, const float *v);
/* Texts of the model's own attributes. */
hn_attr hn_new_strings(hn_rule *r, const char *name, uint32_t n, const hn_bytes *v);
/* op: "Add", "ms.BiasGelu", "my.ops.Swish". hn_make(r, "Gemm", HN_VALUES(a, b, c), 1,
 * HN_ATTRS(hn_new_i(r, "transB", 1))). Returns the node. Trailing HN_NONE inputs are dropped. */
hn_id hn_make(hn_rule *r, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_out,
              uint32_t n_attrs, const hn_attr *attrs);
/* An optional output that a new node does without. */
void hn_make_no_output(hn_rule *r, hn_id node, uint32_t i);
/* The same with one output; returns that value. */
hn_id hn_make1(hn_rule *r, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_attrs,
               const hn_attr *attrs);
/* A copy of a node with other inputs; attributes are the node's, those given replace or add. */
hn_id hn_make_like(hn_rule *r, hn_id node, uint32_t n_in, const hn_id *in, uint32_t n_attrs,
                   const hn_attr *attrs);
/* Operators whose lists moved from attributes to inputs over time, in the spelling of this opset.
 */
hn_id hn_make_with_list(hn_rule *r, const char *op, hn_id x, const char *list, uint32_t n,
                        const int64_t *v); /* Squeeze, Unsqueeze, ReduceMean (axes) ... */
/* A Split into n parts of these sizes; returns the node. */
hn_id hn_make_split(hn_rule *r, hn_id x, int64_t axis, uint32_t n, const int64_t *sizes);
hn_id hn_new_const(hn_rule *r, const char *stem, const hn_tensor *t);
hn_id hn_new_const_i64s(hn_rule *r, const char *stem, uint32_t n, const int64_t *v); /* rank 1 */
/* A scalar (rank 0) of a real type. */
hn_id hn_new_const_f(hn_rule *r, const char *stem, hn_dtype elem, double v);
/* Memory for a new constant's elements, zeroed, in the model's arena: fill, then hn_new_const.
 * NULL: no memory. */
hn_tensor *hn_new_tensor(hn_rule *r, hn_dtype elem, int32_t rank, const int64_t *dims, void **data);

/* What the rule is for: readers of output 0 (or i) of the root read `with`. */
void hn_rule_replace(hn_rule *r, hn_id with);
void hn_rule_replace_output(hn_rule *r, uint32_t i, hn_id with);
void hn_rule_replace_value(hn_rule *r, hn_id value, hn_id with); /* of another node */
/* Changes an input of a node in place; the node's other readers are not touched. */
void hn_rule_set_input(hn_rule *r, hn_id node, uint32_t i, hn_id value);

/* ---- tables of passes ------------------------------------------------------------------------ */

/* What a row of a table of passes stands for: #define HN_PASS as one of them and include the table.
 */
#define HN_PASS_DECLARED(name, group, level, numerics, fn, summary) \
  hone_status hn_pass_##fn(hn_pass *p);
#define HN_PASS_ROW(name, group, level, numerics, fn, summary) \
  {name, HN_GROUP_##group, HN_LEVEL_##level, HN_NUMERICS_##numerics, hn_pass_##fn, summary},

#define HN_PASS HN_PASS_DECLARED
#include "pass/passes.def"
#undef HN_PASS

#endif /* HN_PASS_INT_H */
