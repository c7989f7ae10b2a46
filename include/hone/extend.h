/*
 * hone: user-defined operators and rules. hone.h includes this header; its conventions apply here,
 * too.
 */
#ifndef HONE_EXTEND_H
#define HONE_EXTEND_H

#include "hone/hone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- operators of your own ------------------------------------------------------------------- */

/* Operators in addition to the built-in ones; the checker, inference, planning and runs treat both
 * alike. A program registers them itself, or loads them from a shared library that defines
 * hone_register_ops (below). Such a library includes this header and links against nothing: it
 * calls hone through the table `hone` only. docs/custom-ops.md has an example. */
typedef struct hone_op_registry hone_op_registry;
typedef struct hone_op_node hone_op_node; /* the node for which an operator's function is called */
typedef struct hone_op_api hone_op_api;

#define HONE_OP_ABI 1u /* changes when operators must be recompiled */

/* One operator; inputs, outputs and attributes in the notation of docs/custom-ops.md. Everything is
 * copied but `context`. Functions return HONE_OK or what hone->fail returned, and may be called
 * from many threads at once. */
typedef struct hone_op_def {
    uint32_t abi;           /* HONE_OP_ABI */
    const char *domain;     /* "my.company" */
    const char *name;       /* "Swish" */
    const char *versions;   /* "1": the versions of the domain that published or changed it */
    const char *inputs;     /* "X:T bias:T? rest:T*1" */
    const char *outputs;    /* "Y:T" */
    const char *types;      /* "T=float,double"; NULL: none */
    const char *attributes; /* "alpha:f=1 axes:ints!"; NULL: none */
    bool is_random;         /* equal inputs may give other results: never folded nor shared */
    void *context;          /* yours: hone->context returns it */
    /* Sets types and shapes of the outputs from those of the inputs. NULL: element types follow
     * from the notation, and shapes are known only when the operator runs. */
    hone_status (*infer)(const hone_op_api *hone, hone_op_node *node);
    /* Computes the outputs. `state` is what create returned, or NULL. */
    hone_status (*compute)(const hone_op_api *hone, hone_op_node *node, void *state);
    /* Prepares state once per node and session instead of in every run. Can read attributes, and
     * the data of constant inputs. Both create and destroy may be NULL. */
    hone_status (*create)(const hone_op_api *hone, hone_op_node *node, void **state);
    void (*destroy)(void *context, void *state);
} hone_op_def;

/* A dimension: a size, -1 when unknown, or (below -1) an expression over the model's free
 * dimensions
 * ("batch + 1"). Equal numbers other than -1 mean equal sizes. */
typedef int64_t hone_dim;
#define HONE_DIM_UNKNOWN (-1)
typedef enum hone_dim_op {
    HONE_DIM_ADD,
    HONE_DIM_SUBTRACT,
    HONE_DIM_MULTIPLY,
    HONE_DIM_DIVIDE,    /* rounds down */
    HONE_DIM_DIVIDE_UP, /* rounds up */
    HONE_DIM_MAX,
    HONE_DIM_MIN
} hone_dim_op;

/* What operators may call. New members are only added at the end. Returned pointers are valid until
 * the operator's function returns. */
struct hone_op_api {
    uint32_t abi; /* HONE_OP_ABI of the library */
    hone_status (*register_op)(hone_op_registry *registry, const hone_op_def *op,
                               hone_error *error);

    /* In all functions. */
    void *(*context)(const hone_op_node *node);
    int (*version)(const hone_op_node *node); /* the one of `versions` that applies to the model */
    uint32_t (*n_inputs)(const hone_op_node *node);
    uint32_t (*n_outputs)(const hone_op_node *node);
    bool (*has_input)(const hone_op_node *node, uint32_t i); /* false: omitted */
    bool (*has_output)(const hone_op_node *node, uint32_t i);
    /* Attributes, or their defaults; false when there is neither. */
    bool (*attr_int)(const hone_op_node *node, const char *name, int64_t *value);
    bool (*attr_float)(const hone_op_node *node, const char *name, float *value);
    bool (*attr_ints)(const hone_op_node *node, const char *name, uint32_t *n,
                      const int64_t **values);
    bool (*attr_floats)(const hone_op_node *node, const char *name, uint32_t *n,
                        const float **values);
    bool (*attr_string)(const hone_op_node *node, const char *name, uint32_t k, const char **text,
                        size_t *n_bytes); /* k-th of a list; 0 for a single one */
    bool (*attr_tensor)(const hone_op_node *node, const char *name, hone_tensor_info *tensor);
    /* Data of an input: in compute of every present input; in infer and create of constant inputs
     * only, where it may be unaligned. False otherwise. */
    bool (*input)(const hone_op_node *node, uint32_t i, hone_tensor_info *tensor);
    bool (*input_string)(const hone_op_node *node, uint32_t i, uint64_t k, const char **text,
                         size_t *n_bytes); /* k-th element of a string tensor */
    /* Sets the error message, to which the node's name is prepended. Returns code. */
    hone_status (*fail)(hone_op_node *node, hone_status code, const char *format, ...);

    /* In infer. */
    int32_t (*input_elem_type)(const hone_op_node *node, uint32_t i); /* 0 when not known */
    int32_t (*input_rank)(const hone_op_node *node, uint32_t i);      /* -1 when not known */
    hone_dim (*input_dim)(const hone_op_node *node, uint32_t i,
                          int32_t axis); /* a negative axis counts from the end */
    /* Elements of a short integer input, such as a shape; false when their number is unknown. */
    bool (*input_dims)(const hone_op_node *node, uint32_t i, uint32_t *n, const hone_dim **dims);
    hone_dim (*dim_apply)(hone_op_node *node, hone_dim_op op, hone_dim a, hone_dim b);
    /* The output has the element type that follows from the notation; rank -1: any shape. */
    hone_status (*output_shape)(hone_op_node *node, uint32_t i, int32_t rank, const hone_dim *dims);
    /* For outputs whose element type depends on an attribute. */
    hone_status (*output_type)(hone_op_node *node, uint32_t i, int32_t elem_type, int32_t rank,
                               const hone_dim *dims);
    hone_status (*output_like)(hone_op_node *node, uint32_t i,
                               uint32_t input); /* shape of that input */

    /* In compute. */
    /* Memory of an output, to be filled; *data is NULL when the output is unused. The shape must
     * agree with what infer set. For strings *data stays NULL: elements are empty until they are
     * set one by one. */
    hone_status (*output)(hone_op_node *node, uint32_t i, int32_t elem_type, int32_t rank,
                          const int64_t *dims, void **data);
    hone_status (*output_string)(hone_op_node *node, uint32_t i, uint64_t k, const char *text,
                                 size_t n_bytes);
    void *(*scratch)(hone_op_node *node, size_t n_bytes); /* 64-byte aligned; NULL: out of memory */
    /* Calls work(ctx, begin, end) for ranges of 0 .. n, each of size `grain` but the last, in all
     * threads of the session. Every range is worked on, also when the run is stopped meanwhile:
     * `work` may ask is_stopped. */
    void (*parallel_for)(const hone_op_node *node, int64_t n, int64_t grain,
                         void (*work)(void *ctx, int64_t begin, int64_t end), void *ctx);
    bool (*is_stopped)(
        const hone_op_node *node); /* true: the run is cancelled; poll it in long loops */
};

/* Defined by libraries of operators. Calls hone->register_op for each operator. */
#if defined(_WIN32)
#  define HONE_EXPORT __declspec(dllexport)
#else
#  define HONE_EXPORT HONE_API
#endif
HONE_EXPORT hone_status hone_register_ops(const hone_op_api *hone, hone_op_registry *registry,
                                          hone_error *error);

/* NULL instead of an allocator means malloc and free; it must outlive the registry. */
HONE_API hone_status hone_op_registry_create(const hone_allocator *allocator,
                                             hone_op_registry **registry, hone_error *error);
/* The operators of a shared library; all or none. A path without a slash names a file in the
 * current folder. */
HONE_API hone_status hone_op_registry_load(hone_op_registry *registry, const char *path,
                                           hone_error *error);
/* Registers an operator of the program itself. Fails when the name is taken, when the notation
 * cannot be parsed, and after a model was loaded with the registry. */
HONE_API hone_status hone_op_registry_add(hone_op_registry *registry, const hone_op_def *op,
                                          hone_error *error);
/* Models that were loaded with the registry hold a reference to it. */
HONE_API void hone_op_registry_free(hone_op_registry *registry);

/* ---- rules of your own ----------------------------------------------------------------------- */

/* Rewrites in addition to those of the optimizer: a pattern selects nodes, a function examines the
 * match and writes the replacement. The optimizer applies, checks, explains and, on request,
 * verifies them like its own. A program adds them to a set itself, or loads them from a shared
 * library that defines hone_register_rules (below). Such a library includes this header and links
 * against nothing: it calls hone through the table `hone` only. docs/custom-rules.md has an
 * example. */
typedef struct hone_rule_set hone_rule_set;
typedef struct hone_rule_site hone_rule_site; /* the match for which a rule's function is called */
typedef struct hone_rule_api hone_rule_api;

#define HONE_RULE_ABI 1u /* changes when rules must be recompiled */

/* Everything is copied but `context`. */
typedef struct hone_rule_def {
    uint32_t abi; /* HONE_RULE_ABI */
    const char
        *name; /* "weighted-sum": reported as custom-rules.weighted-sum. Rules may share it */
    const char
        *pattern;      /* "Add(Mul(a, #p), Mul(b, #q))", in the notation of docs/custom-rules.md */
    bool allow_shared; /* inner values of the pattern may have other readers */
    void *context;     /* yours: hone->context gives it back */
    /* Called for each match. Does nothing, or calls hone->replace at least once. Returns HONE_OK,
     * or what hone->miss or hone->fail returned. */
    hone_status (*apply)(const hone_rule_api *hone, hone_rule_site *site);
} hone_rule_def;

/* What rules may call. New members are only added at the end. Nodes and values are identified by
 * their numbers in the graph, new ones by the numbers that they will have; HONE_NONE is no value.
 * Returned pointers are valid until the rule's function returns. */
struct hone_rule_api {
    uint32_t abi; /* HONE_RULE_ABI of the library */
    hone_status (*register_rule)(hone_rule_set *rules, const hone_rule_def *rule,
                                 hone_error *error);

    /* The match. */
    void *(*context)(const hone_rule_site *site);
    const hone_graph *(*graph)(
        const hone_rule_site *site);              /* as it is, for functions of this header */
    uint32_t (*root)(const hone_rule_site *site); /* node of the pattern's outermost term */
    /* The value that a name of the pattern matched, and the node that produces it. HONE_NONE when
     * its term was absent, or no node produces it. */
    uint32_t (*value)(const hone_rule_site *site, const char *name);
    uint32_t (*node)(const hone_rule_site *site, const char *name);

    /* Nodes. */
    const char *(*op)(const hone_rule_site *site, uint32_t node, const char **domain);
    uint32_t (*input)(const hone_rule_site *site, uint32_t node, uint32_t i); /* value */
    uint32_t (*output)(const hone_rule_site *site, uint32_t node,
                       uint32_t i); /* also of new ones */
    /* Attributes, or their defaults; false when there is neither. */
    bool (*attr_int)(const hone_rule_site *site, uint32_t node, const char *name, int64_t *value);
    bool (*attr_float)(const hone_rule_site *site, uint32_t node, const char *name, float *value);
    bool (*attr_ints)(const hone_rule_site *site, uint32_t node, const char *name, uint32_t *n,
                      const int64_t **values);
    bool (*attr_string)(const hone_rule_site *site, uint32_t node, const char *name,
                        const char **text, size_t *n_bytes);
    int64_t (*opset)(const hone_rule_site *site, const char *domain); /* -1: not imported */

    /* Values. */
    int32_t (*elem_type)(const hone_rule_site *site, uint32_t value); /* 0 when not known */
    int32_t (*rank)(const hone_rule_site *site, uint32_t value);      /* -1 when not known */
    hone_dim (*dim)(const hone_rule_site *site, uint32_t value,
                    int32_t axis); /* a negative axis counts from the end */
    bool (*same_shape)(const hone_rule_site *site, uint32_t a,
                       uint32_t b); /* provably, free dimensions included */
    uint32_t (*n_readers)(const hone_rule_site *site, uint32_t value); /* outputs included */
    bool (*constant)(const hone_rule_site *site, uint32_t value,
                     hone_tensor_info *tensor); /* false: not a constant */
    bool (*number)(const hone_rule_site *site, uint32_t value,
                   double *number); /* a constant whose elements all have this value */
    bool (*ints)(const hone_rule_site *site, uint32_t value, uint32_t *n,
                 const int64_t **values); /* a constant list of integers */

    /* Writing. Changes are applied after the function returns; errors are reported then. */
    /* "Add", "com.microsoft.Gelu", "my.ops.Swish". Attributes are of the kinds INT, FLOAT, STRING,
     * INTS and FLOATS. Returns the node. */
    uint32_t (*make)(hone_rule_site *site, const char *op, uint32_t n_inputs,
                     const uint32_t *inputs, uint32_t n_outputs, uint32_t n_attributes,
                     const hone_attribute_info *attributes);
    /* An initializer from elem_type, rank, dims and data, which is copied. */
    uint32_t (*make_constant)(hone_rule_site *site, const hone_tensor_info *tensor);
    uint32_t (*make_number)(hone_rule_site *site, int32_t elem_type, double number); /* rank 0 */
    /* Makes readers of `value` read `with`; nodes without readers are then removed. */
    void (*replace)(hone_rule_site *site, uint32_t value, uint32_t with);

    /* Reporting. */
    /* A near miss: all but one condition hold. The message says which one. Returns HONE_OK. */
    hone_status (*miss)(hone_rule_site *site, const char *format, ...);
    void (*detail)(hone_rule_site *site, const char *format, ...); /* what was done: "4 inputs" */
    /* An error in the rule itself: disables the rule. Returns code. */
    hone_status (*fail)(hone_rule_site *site, hone_status code, const char *format, ...);
};

/* Defined by libraries of rules. Calls hone->register_rule for each rule. */
HONE_EXPORT hone_status hone_register_rules(const hone_rule_api *hone, hone_rule_set *rules,
                                            hone_error *error);

/* NULL instead of an allocator means malloc and free; it must outlive the set. */
HONE_API hone_status hone_rule_set_create(const hone_allocator *allocator, hone_rule_set **rules,
                                          hone_error *error);
/* The rules of a shared library; all or none. A path without a slash names a file in the current
 * folder. */
HONE_API hone_status hone_rule_set_load(hone_rule_set *rules, const char *path, hone_error *error);
/* Adds a rule of the program itself. Fails when the pattern cannot be parsed. */
HONE_API hone_status hone_rule_set_add(hone_rule_set *rules, const hone_rule_def *rule,
                                       hone_error *error);
/* Must not be called during an optimization that uses the set. Reports and models do not need it.
 */
HONE_API void hone_rule_set_free(hone_rule_set *rules);

#ifdef __cplusplus
}
#endif

#endif /* HONE_EXTEND_H */
