/*
 * hone: operators and rules of your own. hone.h includes this header; the conventions there hold
 * here, too.
 */
#ifndef HONE_EXTEND_H
#define HONE_EXTEND_H

#include "hone/hone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- operators of your own ------------------------------------------------------------------- */

/* Operators beside the built-in ones: the checker, inference, planning and runs treat them alike. A
 * program registers them itself, or a shared library brings them along, which defines
 * hone_register_ops (below). Such a library includes this header and links against nothing: all
 * that it calls stands in the table `hone`, whatever program it is loaded into. docs/custom-ops.md
 * shows one. */
typedef struct hone_op_registry hone_op_registry;
typedef struct hone_op_node hone_op_node; /* the node for which an operator's function is called */
typedef struct hone_op_api hone_op_api;

#define HONE_OP_ABI 1u /* changes when operators must be compiled anew */

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
    void *context;          /* yours: hone->context gives it back */
    /* Says of the outputs what follows from types and shapes of the inputs. NULL: element types
     * follow from the notation, and shapes are known only when the operator runs. */
    hone_status (*infer)(const hone_op_api *hone, hone_op_node *node);
    /* Computes the outputs. `state` is what create made, or NULL. */
    hone_status (*compute)(const hone_op_api *hone, hone_op_node *node, void *state);
    /* Does once per node and session what need not be done in every run. Sees attributes, and the
     * data of inputs that are constant. May be NULL; destroy too, when there is nothing to do. */
    hone_status (*create)(const hone_op_api *hone, hone_op_node *node, void **state);
    void (*destroy)(void *context, void *state);
} hone_op_def;

/* A dimension: a size, not known, or (below -1) an expression over the model's free dimensions
 * ("batch + 1"). Equal numbers are equal sizes. */
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

/* What operators may call. Grows at its end only. Pointers that are given out are valid until the
 * operator's function returns. */
struct hone_op_api {
    uint32_t abi; /* HONE_OP_ABI of the library */
    hone_status (*register_op)(hone_op_registry *registry, const hone_op_def *op,
                               hone_error *error);

    /* In all functions. */
    void *(*context)(const hone_op_node *node);
    int (*version)(const hone_op_node *node); /* of `versions`, the one that the model means */
    uint32_t (*n_inputs)(const hone_op_node *node);
    uint32_t (*n_outputs)(const hone_op_node *node);
    bool (*has_input)(const hone_op_node *node, uint32_t i); /* false: left out */
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
    /* Data of an input: in compute of every one that is there; in infer and create only of those
     * that are constant, where it may be unaligned. False otherwise. */
    bool (*input)(const hone_op_node *node, uint32_t i, hone_tensor_info *tensor);
    bool (*input_string)(const hone_op_node *node, uint32_t i, uint64_t k, const char **text,
                         size_t *n_bytes); /* k-th element of a string tensor */
    /* A message for people, without the node's name, which is put before it. Returns code. */
    hone_status (*fail)(hone_op_node *node, hone_status code, const char *format, ...);

    /* In infer. */
    int32_t (*input_elem_type)(const hone_op_node *node, uint32_t i); /* 0 when not known */
    int32_t (*input_rank)(const hone_op_node *node, uint32_t i);      /* -1 when not known */
    hone_dim (*input_dim)(const hone_op_node *node, uint32_t i,
                          int32_t axis); /* a negative axis counts from the end */
    /* Elements of a short integer input that tells sizes; false when not even their number is
     * known. */
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
    /* Memory of an output, to be filled; *data is NULL when nobody reads it. Shapes that infer told
     * must come out. For strings *data stays NULL: elements start empty and are set one by one. */
    hone_status (*output)(hone_op_node *node, uint32_t i, int32_t elem_type, int32_t rank,
                          const int64_t *dims, void **data);
    hone_status (*output_string)(hone_op_node *node, uint32_t i, uint64_t k, const char *text,
                                 size_t n_bytes);
    void *(*scratch)(hone_op_node *node, size_t n_bytes); /* 64-byte aligned; NULL: no memory */
    /* Calls work(ctx, begin, end) for pieces of 0 .. n, each of `grain` but the last, in all
     * threads of the session. */
    void (*parallel_for)(const hone_op_node *node, int64_t n, int64_t grain,
                         void (*work)(void *ctx, int64_t begin, int64_t end), void *ctx);
    bool (*is_stopped)(const hone_op_node *node); /* long loops ask: the run is cancelled */
};

/* Defined by libraries of operators, not here. Calls hone->register_op for each of them. */
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
/* One operator of the program itself. Refused: a name that is taken, a notation that cannot be
 * read, and anything at all once a model was loaded with the registry. */
HONE_API hone_status hone_op_registry_add(hone_op_registry *registry, const hone_op_def *op,
                                          hone_error *error);
/* Models that were loaded with the registry keep what they need of it. */
HONE_API void hone_op_registry_free(hone_op_registry *registry);

/* ---- rules of your own ----------------------------------------------------------------------- */

/* Rewrites beside those of the optimizer: a pattern says where, a function looks at the place and
 * says what comes instead. The optimizer applies, checks, explains and, when asked to, verifies
 * them like its own. A program adds them to a set itself, or a shared library brings them along,
 * which defines hone_register_rules (below). Such a library includes this header and links against
 * nothing: all that it calls stands in the table `hone`. docs/custom-rules.md shows one. */
typedef struct hone_rule_set hone_rule_set;
typedef struct hone_rule_site hone_rule_site; /* the place for which a rule's function is called */
typedef struct hone_rule_api hone_rule_api;

#define HONE_RULE_ABI 1u /* changes when rules must be compiled anew */

/* Everything is copied but `context`. */
typedef struct hone_rule_def {
    uint32_t abi;     /* HONE_RULE_ABI */
    const char *name; /* "weighted-sum": known as custom-rules.weighted-sum. Several may have one */
    const char
        *pattern;      /* "Add(Mul(a, #p), Mul(b, #q))", in the notation of docs/custom-rules.md */
    bool allow_shared; /* inner values of the pattern may be read elsewhere, too */
    void *context;     /* yours: hone->context gives it back */
    /* Called where the pattern fits. Does nothing, or calls hone->replace at least once. Returns
     * HONE_OK, or what hone->miss or hone->fail returned. */
    hone_status (*apply)(const hone_rule_api *hone, hone_rule_site *site);
} hone_rule_def;

/* What rules may call. Grows at its end only. Nodes and values go by their numbers in the graph,
 * new ones by the numbers that they get; HONE_NONE is no value. Pointers that are given out are
 * valid until the rule's function returns. */
struct hone_rule_api {
    uint32_t abi; /* HONE_RULE_ABI of the library */
    hone_status (*register_rule)(hone_rule_set *rules, const hone_rule_def *rule,
                                 hone_error *error);

    /* The place. */
    void *(*context)(const hone_rule_site *site);
    const hone_graph *(*graph)(
        const hone_rule_site *site);              /* as it is, for functions of this header */
    uint32_t (*root)(const hone_rule_site *site); /* node of the pattern's outermost term */
    /* What a name of the pattern stands for: a value, and the node that makes it. HONE_NONE when
     * its term was missing, or nothing makes it. */
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
                     hone_tensor_info *tensor); /* false: it is none */
    bool (*number)(const hone_rule_site *site, uint32_t value,
                   double *number); /* a constant of which all elements are this */
    bool (*ints)(const hone_rule_site *site, uint32_t value, uint32_t *n,
                 const int64_t **values); /* a constant list of integers */

    /* Writing. Nothing happens before the function has returned; what cannot be written fails then.
     */
    /* "Add", "com.microsoft.Gelu", "my.ops.Swish". Attributes are of the kinds INT, FLOAT, STRING,
     * INTS and FLOATS. Returns the node. */
    uint32_t (*make)(hone_rule_site *site, const char *op, uint32_t n_inputs,
                     const uint32_t *inputs, uint32_t n_outputs, uint32_t n_attributes,
                     const hone_attribute_info *attributes);
    /* An initializer from elem_type, rank, dims and data, which is copied. */
    uint32_t (*make_constant)(hone_rule_site *site, const hone_tensor_info *tensor);
    uint32_t (*make_number)(hone_rule_site *site, int32_t elem_type, double number); /* rank 0 */
    /* Who reads `value` reads `with` from now on; nodes that nobody reads any more go. */
    void (*replace)(hone_rule_site *site, uint32_t value, uint32_t with);

    /* Telling. */
    /* All but one condition hold: why not, as a sentence for people. Returns HONE_OK. */
    hone_status (*miss)(hone_rule_site *site, const char *format, ...);
    void (*detail)(hone_rule_site *site, const char *format, ...); /* what was done: "4 inputs" */
    /* Something is wrong with the rule itself: it is switched off. Returns code. */
    hone_status (*fail)(hone_rule_site *site, hone_status code, const char *format, ...);
};

/* Defined by libraries of rules, not here. Calls hone->register_rule for each of them. */
HONE_EXPORT hone_status hone_register_rules(const hone_rule_api *hone, hone_rule_set *rules,
                                            hone_error *error);

/* NULL instead of an allocator means malloc and free; it must outlive the set. */
HONE_API hone_status hone_rule_set_create(const hone_allocator *allocator, hone_rule_set **rules,
                                          hone_error *error);
/* The rules of a shared library; all or none. A path without a slash names a file in the current
 * folder. */
HONE_API hone_status hone_rule_set_load(hone_rule_set *rules, const char *path, hone_error *error);
/* One rule of the program itself. Refused: a pattern that cannot be read. */
HONE_API hone_status hone_rule_set_add(hone_rule_set *rules, const hone_rule_def *rule,
                                       hone_error *error);
/* No optimization is under way that uses it; reports and models need it no more. */
HONE_API void hone_rule_set_free(hone_rule_set *rules);

#ifdef __cplusplus
}
#endif

#endif /* HONE_EXTEND_H */
