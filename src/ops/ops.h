/* L2: what operators mean. The schema table (ops.def), the checker that reads it, type and shape
 * inference, operation counts. */
#ifndef HN_OPS_H
#define HN_OPS_H

#include "ir/ir.h"

/* ---- schemas --------------------------------------------------------------------------------- */

typedef struct hn_infer hn_infer; /* one node under inference: ops/infer/infer_int.h */
typedef hone_status (*hn_infer_fn)(hn_infer *c);
/* Multiply-accumulates of one node; false when a needed dimension is not known. */
typedef bool (*hn_macs_fn)(const hn_infer *c, uint64_t *macs);
typedef struct hn_eval hn_eval; /* one node under evaluation: ops/eval/eval_int.h */
typedef hone_status (*hn_eval_fn)(hn_eval *c);
typedef struct hn_impl hn_impl; /* how it is evaluated: ops/eval.h */

/* Operator sets, in the order of the table. */
/* clang-format off */
#define HN_DOMAIN_LIST(X)                                                                         \
    X(ONNX, "") X(ML, "ai.onnx.ml") X(PREVIEW, "ai.onnx.preview")                                 \
    X(TRAINING, "ai.onnx.preview.training") X(MS, "com.microsoft")                                \
    X(NCHWC, "com.microsoft.nchwc") X(NHWC, "com.ms.internal.nhwc") X(HONE, "hone")
/* clang-format on */
/* HONE: what providers write into the graphs that they run (hn_op_table). Files have none of it. */
typedef enum hn_domain {
#define HN_DOMAIN_ENUM(id, text) HN_DOMAIN_##id,
    HN_DOMAIN_LIST(HN_DOMAIN_ENUM)
#undef HN_DOMAIN_ENUM
        HN_DOMAIN_COUNT, /* none of them */
    HN_DOMAIN_CUSTOM     /* the first that only a registry knows; its others follow */
} hn_domain;

/* Operators beside those of the table, registered by programs and shared libraries or brought by
 * providers: rows of the same form. Models share it (hn_model.custom_ops). Wherever one is asked
 * for, NULL stands for the table alone. */
typedef struct hn_op_registry hn_op_registry;
hn_op_registry *hn_registry_new(const hone_allocator *alloc); /* with one owner; NULL: no memory */
void hn_registry_drop(hn_op_registry *r);                     /* one owner less */
hone_status hn_registry_add(hn_op_registry *r, const hone_op_def *def, hone_error *err);
hone_status hn_registry_load(hn_op_registry *r, const char *path, hone_error *err);
/* The model becomes an owner, too; from now on nothing can be added. */
void hn_registry_attach(hn_op_registry *r, hn_model *m);
extern const hone_op_api hn_op_api; /* what registered operators may call */
static inline const hn_op_registry *hn_model_ops(const hn_model *m) {
    return (const hn_op_registry *)(const void *)m->custom_ops;
}

/* Rows that a provider brings along, sorted as those of the table. */
typedef struct hn_op_table {
    const struct hn_op *rows;
    uint32_t n;
} hn_op_table;
/* From now on the model knows these operators, too. Only for a graph that is about to be run: in a
 * file they stay unknown. */
hone_status hn_model_add_ops(hn_model *m, const hn_op_table *table);

const char *hn_domain_text(const hn_op_registry *r, hn_domain d);
/* HN_DOMAIN_COUNT when nobody knows anything of that domain. "ai.onnx" is "". */
hn_domain hn_domain_find(const hn_op_registry *r, const char *text, size_t n);
/* The newest version of a built-in operator set. */
int hn_domain_newest(hn_domain d);

/* One row of ops.def: its text is the schema, in the small language described at the top of that
 * file; what was walked often is remembered (schema_memo.c). The columns stand in one string, so
 * that a row has one pointer for them: in a shared library each costs 32 bytes. */
typedef struct hn_op {
    hn_domain domain;
    const char *text; /* columns, each ended by NUL, in the order of hn_op_column */
    hn_infer_fn infer;
    hn_macs_fn macs;     /* NULL: none worth counting */
    const hn_impl *impl; /* NULL: cannot be run */
} hn_op;
typedef enum hn_op_column {
    HN_OP_NAME,
    HN_OP_VERSIONS,
    HN_OP_INPUTS,
    HN_OP_OUTPUTS,
    HN_OP_TYPES,
    HN_OP_ATTRS
} hn_op_column;
const char *hn_op_text(const hn_op *op, hn_op_column column);
static inline const char *hn_op_name(const hn_op *op) {
    return op->text;
}
uint32_t hn_op_count(const hn_op_registry *r); /* rows: those of the table, then the registry's */
const hn_op *hn_op_row(const hn_op_registry *r, uint32_t i);
#define HN_LATEST_OPSET 28 /* of ai.onnx that the table knows */
/* The row in force at an opset version, and the since-version within it. NULL when there is none.
 */
const hn_op *hn_op_find(const hn_op_registry *r, hn_domain d, const char *name, int64_t opset,
                        int *since, bool *deprecated);
/* The same for a node of a graph. */
const hn_op *hn_node_op(const hn_graph *g, const hn_node *n, int *since, bool *deprecated);
/* First since-version of an operator in any row; 0 when the name is unknown in that domain. */
int hn_op_introduced(const hn_op_registry *r, hn_domain d, const char *name);
/* Names close to a misspelt one, nearest first: "Relu, Elu"; empty when nothing is near. */
void hn_op_suggest(const hn_op_registry *r, hn_domain d, const char *name, hn_strbuf *out);
/* Why hn_node_op finds nothing for a node, in a sentence that names operator, domain and the
 * nearest known ones. */
void hn_op_tell_unknown(const hn_graph *g, const hn_node *n, hn_strbuf *out);
/* An hn_same_op_fn: one since-version is in force at both. */
bool hn_same_op(const hn_model *m, hn_str domain, hn_str op, int64_t a, int64_t b);
/* Since-versions of a row one by one: i-th, 0 past the end. */
int hn_op_version(const hn_op *op, uint32_t i, bool *deprecated);
/* Not part of the standard, but onnxruntime knows it in this domain (SimplifiedLayerNormalization,
 * Crop, ...). */
bool hn_op_is_extension(const hn_op *op);
/* A registered operator that says so of itself. */
bool hn_op_is_random(const hn_op *op);

typedef struct hn_param {
    const char *name; /* not NUL-terminated */
    uint32_t name_len;
    const char *type; /* constraint name or concrete type, not NUL-terminated */
    uint32_t type_len;
    uint32_t tensors; /* bit k: a tensor of element type k is allowed; 0: not worked out */
    bool optional, variadic, heterogeneous;
    int min_arity; /* of a variadic parameter */
} hn_param;
/* Formal parameter that argument i belongs to at a version; false past the last. `list` is the text
 * of the inputs or outputs column. */
bool hn_op_param(const char *list, int version, uint32_t i, hn_param *out);
/* The same for a row, whose text is walked once per version and process. */
bool hn_op_arg(const hn_op *op, hn_op_column column, int version, uint32_t i, hn_param *out);
void hn_op_n_args(const hn_op *op, hn_op_column column, int version, uint32_t *min, uint32_t *max);
/* i-th formal parameter (a variadic one counts once). */
bool hn_op_formal(const char *list, int version, uint32_t i, hn_param *out);
/* Smallest and largest number of arguments; *max = UINT32_MAX when variadic. */
void hn_op_arity(const char *list, int version, uint32_t *min, uint32_t *max);
/* Does the constraint (or concrete type) named by a parameter allow this type? */
bool hn_op_type_allowed(const hn_op *op, int version, const hn_param *p, const hn_type *t);
/* "tensor(float), tensor(double)": everything a parameter allows. */
void hn_op_type_text(const hn_op *op, int version, const hn_param *p, hn_strbuf *out);

typedef struct hn_attr_spec {
    const char *name; /* not NUL-terminated */
    uint32_t name_len;
    hn_attr_kind kind;
    bool required;
    const char *def; /* text of the default, NULL when none; not NUL-terminated */
    uint32_t def_len;
} hn_attr_spec;
bool hn_op_attr(const hn_op *op, int version, uint32_t i,
                hn_attr_spec *out); /* i-th; false past the end */
bool hn_op_attr_find(const hn_op *op, int version, const char *name, size_t n, hn_attr_spec *out);
/* i-th number of a default (a scalar has one); false past the last, or without a default. Whatever
 * the locale. */
bool hn_attr_spec_i64(const hn_attr_spec *spec, uint32_t i, int64_t *out);
bool hn_attr_spec_f32(const hn_attr_spec *spec, uint32_t i, float *out);

/* ---- inference ------------------------------------------------------------------------------- */

typedef struct hn_infer_options {
    hn_problems
        *problems; /* receives what contradicts the schema or the declared types; may be NULL */
    bool keep_declared; /* do not store results that the file does not declare: a check only */
} hn_infer_options;

/* Types of all values, in the main graph and its blocks, through model-local functions; declared
 * types are merged with inferred ones. Small integer tensors are followed through shape
 * computations. Partial knowledge is fine: a node that cannot be inferred leaves its outputs
 * unknown and the rest goes on. Fails only for lack of memory or a limit. */
hone_status hn_infer_model(hn_model *m, const hn_infer_options *o, hone_error *err);

/* What inference knows of the values of a block when n values that it reads have these types (NULL:
 * unknown) and data (NULL: of none, or not of this one), by value: types, and the elements of small integer tensors that follow from shapes
 * (data of the type, or NULL). All of it is in `work`. Real inputs decide: what the file declares
 * of other values does not count. */
typedef struct hn_inferred {
    const hn_type **types;
    const void **data;
} hn_inferred;
hone_status hn_infer_shapes(const hn_graph *g, hn_arena *work, hn_id block, uint32_t n,
                            const hn_id *values, const hn_type *const *types,
                            const hn_tensor *const *consts, hn_inferred *out);

/* Replaces a symbol everywhere in the declared types (--dim batch=4), or fixes an input's whole
 * shape (--shape x=1x3x224x224: the symbols at those places are replaced everywhere). Inferred,
 * undeclared types are dropped, so infer again afterwards. */
hone_status hn_fix_dim(hn_model *m, const char *symbol, int64_t value, hone_error *err);
hone_status hn_fix_shape(hn_model *m, const char *input, uint32_t rank, const int64_t *dims,
                         hone_error *err);

/* Multiply-accumulates of a node in an inferred model. */
bool hn_node_macs(const hn_graph *g, hn_id node, uint64_t *macs);

/* ---- checking -------------------------------------------------------------------------------- */

/* Everything: structure (hn_model_verify), operators against their schemas, types and shapes. All
 * problems are listed. */
hone_status hn_check_model(hn_model *m, hn_problems *p, hone_error *err);
/* Sets right what keeps a model from being valid, but not from being understood: the order of
 * nodes, missing imports of known operator sets, IR versions that disagree with them; for a run
 * also the version of Constants with types that theirs does not allow, after which the model cannot
 * be saved. Adds a sentence for each to `notes`, which may be NULL. Other faults stay. */
hone_status hn_model_repair(hn_model *m, bool is_for_run, hn_strbuf *notes, hone_error *err);

#endif /* HN_OPS_H */
