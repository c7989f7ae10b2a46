/* Layer 1, the representation of models: types with symbolic shapes, tensors, graphs with def-use
 * lists, patches, verification, textual syntax. */
#ifndef HN_IR_H
#define HN_IR_H

#include "base/base.h"

/* ---- element types: numbers and names are ONNX's (TensorProto.DataType) ---------------------- */

/* X(id, ONNX number, name in type strings, bits per element) */
/* clang-format off */
#define HN_DTYPE_LIST(X)                                                                          \
    X(UNDEFINED, 0, "undefined", 0) X(F32, 1, "float", 32) X(U8, 2, "uint8", 8)                   \
    X(I8, 3, "int8", 8) X(U16, 4, "uint16", 16) X(I16, 5, "int16", 16) X(I32, 6, "int32", 32)     \
    X(I64, 7, "int64", 64) X(STRING, 8, "string", 0) X(BOOL, 9, "bool", 8)                        \
    X(F16, 10, "float16", 16) X(F64, 11, "double", 64) X(U32, 12, "uint32", 32)                   \
    X(U64, 13, "uint64", 64) X(C64, 14, "complex64", 64) X(C128, 15, "complex128", 128)           \
    X(BF16, 16, "bfloat16", 16) X(F8E4M3FN, 17, "float8e4m3fn", 8)                                \
    X(F8E4M3FNUZ, 18, "float8e4m3fnuz", 8) X(F8E5M2, 19, "float8e5m2", 8)                         \
    X(F8E5M2FNUZ, 20, "float8e5m2fnuz", 8) X(U4, 21, "uint4", 4) X(I4, 22, "int4", 4)             \
    X(F4E2M1, 23, "float4e2m1", 4) X(F8E8M0, 24, "float8e8m0", 8) X(U2, 25, "uint2", 2)           \
    X(I2, 26, "int2", 2) X(F6E2M3, 27, "float6e2m3", 6) X(F6E3M2, 28, "float6e3m2", 6)
/* clang-format on */
typedef enum hn_dtype {
#define HN_DTYPE_ENUM(id, number, name, bits) HN_##id = number,
    HN_DTYPE_LIST(HN_DTYPE_ENUM)
#undef HN_DTYPE_ENUM
        HN_DTYPE_COUNT
} hn_dtype;
const char *hn_dtype_name(hn_dtype t); /* "float"; "?" for a number that is not a type */
int hn_dtype_bits(hn_dtype t);         /* 0 for string and undefined */
hn_dtype hn_dtype_from_name(const char *name, size_t n); /* HN_UNDEFINED when unknown */
bool hn_dtype_is_int(hn_dtype t);                        /* any integer, not bool */
static inline bool hn_dtype_is_byte(hn_dtype t) {        /* int8 or uint8 */
    return t == HN_I8 || t == HN_U8;
}
bool hn_dtype_is_float(hn_dtype t); /* any real floating type, also the small ones */
/* Bytes that n_elems take packed (sub-byte types round up); false on overflow. Strings: 0. */
bool hn_dtype_bytes(hn_dtype t, uint64_t n_elems, uint64_t *bytes);

/* ---- dimensions ------------------------------------------------------------------------------ */

/* One integer encodes a dimension: a value >= 0 is the size; HN_DIM_UNKNOWN is unknown; a value
 * below that is an expression over symbols ("batch", "seq + 1", "2*h"), kept in canonical form in
 * the model's hn_syms. Equal integers other than HN_DIM_UNKNOWN mean equal sizes. */
typedef int64_t hn_dim;
#define HN_DIM_UNKNOWN ((hn_dim)-1)
static inline bool hn_dim_is_known(hn_dim d) {
    return d >= 0;
}
static inline bool hn_dim_is_symbolic(hn_dim d) {
    return d < HN_DIM_UNKNOWN;
}

/* Expressions are polynomials with integer coefficients over atoms: symbols, floor quotients, max,
 * min. Every operation is total: an unknown operand gives an unknown result, and an expression that
 * grows too large becomes unknown. Expressions may contain negative constants, but an operation
 * whose result is a negative constant gives unknown, except for hn_sint below. Running out of
 * memory also gives unknown and sets a sticky flag, which the caller of an inference checks once.
 */
typedef struct hn_syms hn_syms;
hn_syms *hn_syms_new(hn_arena *arena, hn_strtab *names);
bool hn_syms_failed(const hn_syms *s);
/* From now on the table is read only, so that any number of threads may use it: what would need a
 * new expression is unknown. Numbers never need one. */
void hn_syms_freeze(hn_syms *s);
hn_dim hn_dim_symbol(hn_syms *s, hn_str name);
/* Parses the output of hn_dim_text. A text that is not in that canonical form becomes a symbol with
 * that name, so any dim_param survives a round trip unchanged. */
hn_dim hn_dim_parse(hn_syms *s, hn_str text);
/* Text of a symbolic dimension: the symbol's name or "2*h + 1", "floor((h + 1)/2)", "max(a, b)".
 * Known: digits. Unknown: "?". Names that are not identifiers are quoted in expressions: 2*"b + a".
 */
void hn_dim_text(const hn_syms *s, hn_dim d, hn_strbuf *out);
hn_dim hn_dim_add(hn_syms *s, hn_dim a, hn_dim b);
hn_dim hn_dim_sub(hn_syms *s, hn_dim a, hn_dim b);
hn_dim hn_dim_mul(hn_syms *s, hn_dim a, hn_dim b);
/* Division by 0 is unknown; a divisor with symbols is assumed to be nonzero, so batch*seq*768 /
 * (batch*seq) is 768. */
hn_dim hn_dim_floor_div(hn_syms *s, hn_dim a, hn_dim b);
hn_dim hn_dim_ceil_div(hn_syms *s, hn_dim a, hn_dim b);
hn_dim hn_dim_max(hn_syms *s, hn_dim a, hn_dim b);
hn_dim hn_dim_min(hn_syms *s, hn_dim a, hn_dim b);
hn_dim hn_dim_add_i(hn_syms *s, hn_dim a, int64_t b); /* b may be negative */
hn_dim hn_dim_mul_i(hn_syms *s, hn_dim a, int64_t b); /* b >= 0 */
/* The same expression with one symbol replaced (by a number or another expression). */
hn_dim hn_dim_subst(hn_syms *s, hn_dim d, hn_str symbol, hn_dim with);
bool hn_dim_is_valid(const hn_syms *s, hn_dim d); /* false for an id that was never assigned */
bool hn_dim_is_symbol(const hn_syms *s, hn_dim d,
                      hn_str *name); /* a bare symbol, not an expression */
bool hn_dim_at_least(const hn_syms *s, hn_dim d,
                     int64_t least); /* provable when every symbol is >= 0 */
/* The number that a dimension is when its symbols have these sizes; false: one has none, or the
 * number does not fit. */
typedef bool (*hn_symbol_size_fn)(void *ctx, hn_str symbol, int64_t *size);
bool hn_dim_value(const hn_syms *s, hn_dim d, hn_symbol_size_fn size_of, void *ctx, int64_t *out);

/* An integer in a shape computation (Shape -> Gather -> Concat -> Reshape): a dimension, a known
 * number that may be negative (Reshape's -1, Slice's ends), or unknown. */
typedef struct hn_sint {
    enum { HN_SINT_UNKNOWN, HN_SINT_CONST, HN_SINT_DIM } kind;
    int64_t v; /* CONST: the number; DIM: an hn_dim that is symbolic */
} hn_sint;
static inline hn_sint hn_sint_const(int64_t v) {
    return (hn_sint){HN_SINT_CONST, v};
}
hn_sint hn_sint_from_dim(hn_dim d);
hn_dim hn_sint_to_dim(hn_sint s); /* negative numbers give HN_DIM_UNKNOWN */
typedef enum hn_sint_op {
    HN_SINT_ADD,
    HN_SINT_SUB,
    HN_SINT_MUL,
    HN_SINT_DIV,
    HN_SINT_MOD,
    HN_SINT_MAX,
    HN_SINT_MIN
} hn_sint_op;
/* As for ONNX integers, DIV truncates and MOD has the sign of the divisor. DIV assumes that a
 * dividend whose sign depends on its symbols (h - 5) is not negative. */
hn_sint hn_sint_apply(hn_syms *s, hn_sint_op op, hn_sint a, hn_sint b);

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct hn_shape {
    int32_t rank; /* -1: the rank is unknown */
    const hn_dim *dims;
} hn_shape;

typedef enum hn_type_kind {
    HN_TYPE_NONE,
    HN_TYPE_TENSOR,
    HN_TYPE_SPARSE,
    HN_TYPE_SEQUENCE,
    HN_TYPE_OPTIONAL,
    HN_TYPE_MAP,
    HN_TYPE_OPAQUE
} hn_type_kind;

/* Immutable once made; lives in the model's arena. */
typedef struct hn_type hn_type;
struct hn_type {
    hn_type_kind kind;
    hn_dtype elem;        /* tensors; maps: the key */
    hn_shape shape;       /* tensors */
    const hn_type *inner; /* sequence and optional: element; map: value; NULL when not known */
    hn_str denotation;
    const hn_str *dim_denotations; /* `rank` entries, or NULL */
    hn_str opaque_domain, opaque_name;
    hn_bytes unknown; /* the whole TypeProto, when the fields above cannot represent it; saved
                         instead of them, so a modified copy must clear it */
};
/* dims are copied; rank -1 with dims NULL for unknown rank. NULL when out of memory. */
const hn_type *hn_type_tensor(hn_arena *a, hn_dtype elem, int32_t rank, const hn_dim *dims);
const hn_type *hn_type_wrap(hn_arena *a, hn_type_kind kind, hn_dtype key, const hn_type *inner);
/* ONNX's textual syntax: "float[batch,3,224,224]", "float" for a scalar, "float[]" when the rank is
 * unknown, "seq(int64[n])". */
void hn_type_text(const hn_syms *s, const hn_type *t, hn_strbuf *out);
bool hn_type_equal(const hn_type *a,
                   const hn_type *b); /* kinds, elements and shapes; not denotations */
/* Product of the dimensions: known number, symbolic, or unknown. */
hn_dim hn_shape_elems(hn_syms *s, const hn_shape *shape);

/* ---- tensors --------------------------------------------------------------------------------- */

typedef struct hn_prop {
    hn_str key, value;
} hn_prop;
typedef HN_VEC(hn_prop) hn_props;

/* Key of a node's metadata in graphs of sessions: a node of the model that it computes. */
#define HN_ORIGIN_KEY "hone.node"

/* Rare parts of any element; NULL pointer when there are none. */
typedef struct hn_extra {
    hn_str doc;
    hn_str overload;  /* nodes: which overload of a model-local function */
    hn_props props;   /* metadata_props */
    hn_bytes unknown; /* concatenated wire fields that hone does not interpret; saved verbatim */
} hn_extra;

typedef struct hn_external {
    hn_str location;
    uint64_t offset, length;
    bool has_offset, has_length; /* saving distinguishes absent from zero */
    hn_str checksum;
} hn_external;

/* Data is little-endian, sub-byte types are packed; where possible it is a view into the mapped
 * file and may be unaligned, so read elements through hn_tensor_get_* or memcpy. Immutable and
 * shared. */
typedef struct hn_tensor {
    hn_str name; /* as stored; an initializer is identified by its value's name */
    hn_dtype dtype;
    int32_t rank;
    const int64_t *dims; /* >= 0 */
    uint64_t n_elems;
    const void *data; /* NULL: strings, or external data that was not loaded */
    uint64_t data_bytes;
    const hn_bytes *strings;     /* n_elems of them when dtype is HN_STRING */
    const hn_external *external; /* location of external data; NULL: inside the model file */
    bool has_mixed_data;         /* the file holds elements in more than one field */
    hn_bytes wire; /* the serialized TensorProto it came from, for verbatim saving; n == 0 when made
                      here */
    const hn_extra *extra;
    const struct hn_scaling *deferred; /* of ir/scaled.c alone: ask hn_tensor_is_deferred */
} hn_tensor;
/* A tensor in the arena; data is copied unless `borrow`. */
const hn_tensor *hn_tensor_new(hn_arena *a, hn_dtype t, int32_t rank, const int64_t *dims,
                               const void *data, bool borrow);
/* The same, zeroed; fill it through *data before sharing it. NULL: out of memory. */
hn_tensor *hn_tensor_blank(hn_arena *a, hn_dtype t, int32_t rank, const int64_t *dims, void **data);
/* Position of the channels in a weight: element (outer, mid, inner) belongs to channel
 * outer / outer_per_group * n_mid + mid. */
typedef struct hn_channel_layout {
    uint64_t n_outer, n_mid, n_inner;
    uint64_t outer_per_group;
} hn_channel_layout;
/* How to compute floats from the numbers of another tensor: a factor per channel. */
typedef struct hn_scaling {
    const hn_tensor *of; /* float, float16 or bfloat16; has data */
    hn_channel_layout layout;
    uint64_t n_channels;
    const double *scale;
} hn_scaling;
/* A deferred tensor: `of` times a factor per channel, which nobody has computed yet. Factors are
 * copied. When `of` is deferred itself the result has the products of both factors. NULL: no
 * memory, or they belong to other channels. */
hn_tensor *hn_tensor_scaled(hn_arena *a, const hn_tensor *of, const hn_channel_layout *layout,
                            uint64_t n_channels, const double *scale);
/* A deferred tensor with the numbers of one of half precision, as floats. NULL: no memory. */
hn_tensor *hn_tensor_widened(hn_arena *a, const hn_tensor *of);
bool hn_tensor_is_deferred(const hn_tensor *t);
bool hn_tensor_is_widened(const hn_tensor *t); /* are all its numbers of half precision? */
const hn_scaling *hn_tensor_scaling(const hn_tensor *t); /* NULL: it is not deferred */
/* The tensor whose data are stored: t itself, or the one that a deferred t is computed from. */
const hn_tensor *hn_tensor_stored(const hn_tensor *t);
/* The data of a deferred tensor, n_elems floats. */
void hn_tensor_compute(const hn_tensor *t, float *out);
/* t with its data: itself, or a copy in the arena when it is deferred. NULL: no memory. */
const hn_tensor *hn_tensor_dense(hn_arena *a, const hn_tensor *t);
/* Element i of any integer or bool type as int64; false for other types, or out of range. */
bool hn_tensor_get_i64(const hn_tensor *t, uint64_t i, int64_t *out);
bool hn_tensor_get_f64(const hn_tensor *t, uint64_t i, double *out); /* any numeric type */

/* Same type, shape and bits; not names. False also when data are missing. */
bool hn_tensor_equal(const hn_tensor *a, const hn_tensor *b);
/* Equal for equal tensors; samples large ones. */
uint64_t hn_tensor_fingerprint(const hn_tensor *t);

typedef struct hn_sparse {
    const hn_tensor *values; /* its name is the initializer's */
    const hn_tensor *indices;
    int32_t rank;
    const int64_t *dims;
    hn_bytes unknown;
} hn_sparse;

/* ---- graph ----------------------------------------------------------------------------------- */

/* An hn_graph holds a top-level graph (or function body) with all nested subgraphs: nodes and
 * values share one id space, and a subgraph is a block. An inner node refers to an outer value by
 * its id, and the uses of the outer value include the inner node. */
typedef uint32_t hn_id;
#define HN_NONE UINT32_MAX /* no value: an absent optional input or output */

typedef enum hn_attr_kind { /* numbers are ONNX's (AttributeProto.AttributeType) */
                            HN_ATTR_UNDEFINED = 0,
                            HN_ATTR_FLOAT = 1,
                            HN_ATTR_INT = 2,
                            HN_ATTR_STRING = 3,
                            HN_ATTR_TENSOR = 4,
                            HN_ATTR_GRAPH = 5,
                            HN_ATTR_FLOATS = 6,
                            HN_ATTR_INTS = 7,
                            HN_ATTR_STRINGS = 8,
                            HN_ATTR_TENSORS = 9,
                            HN_ATTR_GRAPHS = 10,
                            HN_ATTR_SPARSE = 11,
                            HN_ATTR_SPARSES = 12,
                            HN_ATTR_TYPE = 13,
                            HN_ATTR_TYPES = 14
} hn_attr_kind;

typedef struct hn_attr {
    hn_str name;
    hn_attr_kind kind;
    bool is_kind_implied; /* the file states no kind (IR version 1): it follows from the field that
                             is set */
    bool has_other_value; /* the file also holds a value of another kind; kept in `extra` */
    hn_str ref;           /* in functions: the caller's attribute that supplies the value; NULL
                             otherwise */
    uint32_t n;           /* length of a list kind, else 1 (0 when `ref` is set) */
    union {
        int64_t i;
        float f;
        hn_bytes s;
        const hn_tensor *tensor;
        const hn_sparse *sparse;
        const hn_type *type;
        hn_id block; /* HN_ATTR_GRAPH */
        const int64_t *ints;
        const float *floats;
        const hn_bytes *strings;
        const hn_tensor *const *tensors;
        const hn_sparse *const *sparses;
        const hn_type *const *types;
        const hn_id *blocks; /* HN_ATTR_GRAPHS */
    } v;
    const hn_extra *extra;
} hn_attr;

/* The subgraphs an attribute holds: *n ids, none for other kinds. */
static inline const hn_id *hn_attr_blocks(const hn_attr *a, uint32_t *n) {
    bool one = a->kind == HN_ATTR_GRAPH && !a->ref && a->v.block != HN_NONE;
    *n = one ? 1 : a->kind == HN_ATTR_GRAPHS && !a->ref ? a->n : 0;
    return one ? &a->v.block : *n ? a->v.blocks : NULL;
}

typedef struct hn_node {
    hn_str op;     /* operator type; never NULL, may be empty in a broken model */
    hn_str domain; /* NULL when absent: ai.onnx */
    hn_str name;   /* NULL when absent */
    hn_id block;   /* the block that contains it; HN_NONE once removed */
    int64_t
        opset_version; /* of its domain, if it differs from the graph's: inlined from a function
                          with another opset import, which no file can express; 0: the graph's */
    uint32_t n_inputs, n_outputs, n_attrs;
    hn_id *inputs; /* value ids or HN_NONE; change through hn_graph_set_input only */
    hn_id *outputs;
    uint32_t *use_at; /* index of each input in its value's `uses`, for removal in O(1) */
    hn_attr *attrs;
    const hn_extra *extra;
} hn_node;

/* A reader of a value: input `slot` of `node`; or, when node is HN_NONE, an output of block number
 * `slot`. */
typedef struct hn_use {
    hn_id node;
    uint32_t slot;
} hn_use;

typedef struct hn_value {
    hn_str name;           /* unique in a valid model */
    const hn_type *type;   /* declared or inferred; NULL when unknown */
    const hn_tensor *init; /* constant data when this is an initializer */
    const hn_sparse *sparse_init;
    hn_id block;      /* scope that owns it */
    hn_id producer;   /* node, or HN_NONE for inputs, initializers and undefined names */
    uint32_t slot;    /* which output of the producer, or which input of the block */
    bool is_input;    /* a formal input of its block */
    bool is_declared; /* the file declares its type (input, output or value_info) */
    HN_VEC(hn_use) uses;
    const hn_extra *extra; /* of its ValueInfoProto */
} hn_value;

typedef struct hn_quant_annotation {
    hn_str tensor;
    hn_props params;
    hn_bytes unknown;
} hn_quant_annotation;

/* hn_graph_add_block refuses deeper nesting of subgraphs, so walks over nested blocks may recurse.
 */
#define HN_MAX_BLOCK_DEPTH 64

/* The main graph is block 0; bodies of If, Loop and Scan are blocks owned by that node. Lists are
 * in the order of the file. */
typedef struct hn_block {
    hn_str name;
    hn_id parent;   /* block, HN_NONE for block 0 */
    hn_id owner;    /* node, HN_NONE for block 0 and once the owner was removed (all lists are empty
                       then) */
    uint32_t depth; /* 0 for block 0; a parent's id is always smaller than its child's */
    HN_VEC(hn_id) nodes;   /* in execution order */
    HN_VEC(hn_id) inputs;  /* values */
    HN_VEC(hn_id) outputs; /* values; a use entry marks each */
    HN_VEC(hn_id) inits;   /* values with init */
    HN_VEC(hn_id) sparse_inits;
    HN_VEC(hn_id) value_infos; /* values listed in value_info */
    HN_VEC(hn_quant_annotation) quant;
    const hn_extra *extra;
} hn_block;

typedef struct hn_opset {
    hn_str domain; /* "" is ai.onnx; NULL when absent in the file */
    int64_t version;
    hn_bytes unknown;
} hn_opset;
typedef HN_VEC(hn_opset) hn_opsets;

typedef struct hn_model hn_model;

typedef struct hn_graph {
    hn_model *model;         /* arena, names, symbols, functions */
    const hn_opsets *opsets; /* the model's, or the function's own */
    HN_VEC(hn_node) nodes;
    HN_VEC(hn_value) values;
    HN_VEC(hn_block) blocks;
    hn_map by_name;   /* hn_key(block, name id) -> value: the first of that name in the block */
    uint32_t n_fresh; /* counter of hn_graph_fresh_name */
} hn_graph;

/* Pointers into the tables are valid until the next hn_graph_add_*: hold ids across edits. */
static inline hn_node *hn_node_at(const hn_graph *g, hn_id id) {
    return &g->nodes.at[id];
}
static inline hn_value *hn_value_at(const hn_graph *g, hn_id id) {
    return &g->values.at[id];
}
static inline hn_block *hn_block_at(const hn_graph *g, hn_id id) {
    return &g->blocks.at[id];
}

/* Is the value an output of this block (0: of the graph)? HN_NONE: of any. */
bool hn_value_is_output(const hn_value *v, hn_id block);

/* Adding returns HN_NONE when out of memory. */
hn_graph *hn_graph_new(hn_model *m, const hn_opsets *opsets); /* with an empty block 0 */
hn_id hn_graph_add_block(hn_graph *g, hn_id parent,
                         hn_id owner); /* HN_NONE also when nested too deeply: check first */
hn_id hn_graph_add_value(hn_graph *g, hn_id block, hn_str name); /* name NULL: a fresh unique one */
hn_id hn_graph_find_local(const hn_graph *g, hn_id block, hn_str name);
hn_id hn_graph_find(const hn_graph *g, hn_id block, hn_str name); /* this block, then outward */
/* Appends to the block. Inputs and outputs start as HN_NONE. attrs are copied (shallow). */
hn_id hn_graph_add_node(hn_graph *g, hn_id block, hn_str domain, hn_str op, hn_str name,
                        uint32_t n_inputs, uint32_t n_outputs, uint32_t n_attrs,
                        const hn_attr *attrs);
bool hn_graph_set_input(hn_graph *g, hn_id node, uint32_t slot,
                        hn_id value); /* updates `uses`; false: out of memory */
void hn_graph_set_output(hn_graph *g, hn_id node, uint32_t slot, hn_id value);
bool hn_graph_add_input(hn_graph *g, hn_id block, hn_id value);
bool hn_graph_add_output(hn_graph *g, hn_id block, hn_id value);
bool hn_graph_set_output_at(hn_graph *g, hn_id block, uint32_t index, hn_id value);
void hn_graph_drop_output(hn_graph *g, hn_id block, uint32_t index);
/* Removes an output that has no readers; later outputs move up. */
void hn_graph_drop_node_output(hn_graph *g, hn_id node, uint32_t slot);
bool hn_graph_add_init(hn_graph *g, hn_id value,
                       const hn_tensor *t); /* makes the value an initializer of its block */
bool hn_graph_rename(hn_graph *g, hn_id value, hn_str name);
void hn_graph_swap_names(hn_graph *g, hn_id a, hn_id b); /* of two values that the names find */
/* Makes all readers of `from`, block outputs included, read `to`. */
bool hn_graph_replace_uses(hn_graph *g, hn_id from, hn_id to);
/* Removes the node and its inner blocks from its block; its outputs lose their producer. */
void hn_graph_remove_node(hn_graph *g, hn_id node);
void hn_graph_remove_nodes(
    hn_graph *g,
    const bool *is_doomed); /* removes all marked nodes (one entry per node) in linear time */
void hn_graph_remove_value_listing(
    hn_graph *g,
    hn_id value); /* removes it from inits, sparse_inits, value_infos and inputs of its block */
const hn_attr *hn_node_attr(const hn_node *n, const char *name);      /* NULL when absent */
bool hn_block_is_inside(const hn_graph *g, hn_id inner, hn_id outer); /* true when equal, too */
hn_str hn_graph_fresh_name(hn_graph *g, const char *stem); /* unique in the whole graph */

/* ---- whole models ---------------------------------------------------------------------------- */

typedef struct hn_function {
    hn_str name, domain, overload;
    HN_VEC(hn_str) attr_names; /* required attributes */
    HN_VEC(hn_attr) attr_defaults;
    hn_opsets opsets;
    hn_graph *graph; /* block 0: inputs and outputs carry the formal parameters */
    const hn_extra *extra;
} hn_function;

struct hn_model {
    hn_arena *arena; /* everything below lives here */
    hn_strtab *names;
    hn_syms *syms;
    int64_t ir_version;
    int64_t model_version;
    bool has_ir_version, has_model_version;
    hn_str producer_name, producer_version, domain;
    hn_opsets opsets;
    HN_VEC(hn_function *) functions; /* grows by hn_model_add_function */
    hn_map function_index;
    hn_graph *graph;         /* NULL only in a file without a graph, which the loader refuses */
    const hn_extra *extra;   /* doc, metadata_props, fields not interpreted */
    HN_VEC(hn_filemap) maps; /* closed with the model: the file itself and external data */
    const hn_model *origin;  /* of a clone: the model whose mapped files hold its tensors */
    const char *path;        /* as given; NULL for a buffer */
    uint64_t file_bytes;     /* of the model file or buffer */
    uint64_t external_bytes; /* of tensors kept in other files */
    hn_shared *custom_ops;   /* operators beside the built-in ones (ops/ops.h); may be NULL */
    uint64_t n_edits; /* by the public interface; invalidates what was derived from it before */
};
hn_model *hn_model_new(const hone_allocator *a); /* empty, no graph */
void hn_model_free(hn_model *m);                 /* NULL is fine; unmaps files */
/* A copy to edit; ids stay the same. Tensors, docs and metadata are shared, so `m` must outlive it.
 * NULL: out of memory. */
hn_model *hn_model_clone(const hn_model *m);
/* Identifies bytes by their mapped file and the offset in it. False: they are not in a mapped file,
 * or the identity of the file is unknown. `by_content`: hn_model_identify was called. */
bool hn_model_locate(const hn_model *m, const void *at, uint64_t n_bytes, bool by_content,
                     uint64_t place[3]);
/* The identity of a file of the model; zeros: unknown. */
const uint64_t *hn_map_identity(const hn_filemap *map, bool by_content);
/* Hashes the files whose time stamps do not tell their state, by all threads of the pool. */
void hn_model_identify(const hn_model *m, hn_pool *pool);
/* Fails when a file that the model reads was modified since it was loaded, if that shows. */
hone_status hn_model_check_files(const hn_model *m, hone_error *err);
/* Hint that the tensor will not be read soon: its pages of a mapped file are released. */
void hn_model_let_go(const hn_model *m, const hn_tensor *t);
int64_t hn_opset_version(const hn_opsets *o,
                         hn_str domain); /* -1 when not imported; "" and "ai.onnx" are one domain */
bool hn_domain_is_onnx(hn_str domain);
/* The version of its operator set that a node is written for; -1 when that is not imported. */
int64_t hn_node_opset(const hn_graph *g, const hn_node *n);
/* Appends the function and registers its name; name, domain and overload must be set. Lookups find
 * the first of several equal ones. */
bool hn_model_add_function(hn_model *m, hn_function *f);
const hn_function *hn_model_function(const hn_model *m, hn_str domain, hn_str name,
                                     hn_str overload);
const hn_function *hn_node_function(
    const hn_graph *g, hn_id node); /* the model-local function a node calls; NULL when none */

/* ---- problems: what a check finds ------------------------------------------------------------ */

typedef enum hn_severity { HN_SEVERITY_WARNING, HN_SEVERITY_ERROR } hn_severity;
typedef struct hn_problem {
    hn_severity severity;
    hone_status code;
    const char *message; /* whole sentence, names node and op */
    const char *node;    /* "" when none, as hn_node_label */
    const char *op;
    const char *value;
    uint32_t message_hash; /* of problems in functions, which are compared; 0 otherwise */
} hn_problem;
/* Collects every problem up to a cap; past it only counts. */
typedef struct hn_problems {
    hn_arena *arena;
    HN_VEC(hn_problem) list;
    uint32_t n_errors, n_warnings;
    uint32_t cap; /* most entries kept; 0 = 1000 */
    bool failed;  /* out of memory */
} hn_problems;
/* The message as it is. node and value may be HN_NONE; g may be NULL for problems of the model
 * itself. */
void hn_problem_add(hn_problems *p, hn_severity sev, hone_status code, const hn_graph *g,
                    hn_id node, hn_id value, const char *fmt, ...) HN_PRINTF(7, 8);
/* The same with "node 'conv1' (Conv): " before it. */
void hn_node_problem(hn_problems *p, hn_severity sev, hone_status code, const hn_graph *g,
                     hn_id node, hn_id value, const char *fmt, ...) HN_PRINTF(7, 8);
/* "node 'conv1' (Conv)", or "node #12 (Conv)" for one without a name, into buf. Returns buf. */
const char *hn_node_text(const hn_graph *g, hn_id node, char *buf, size_t buf_bytes);
/* Marks the problems from index `first` on as problems of a function body. Those that every call
 * repeats are listed once. */
void hn_problems_in_function(hn_problems *p, uint32_t first, const struct hn_function *f);
/* "conv1", or "#12 (Conv)" for a node without a name, into buf. Returns buf. */
const char *hn_node_label(const hn_graph *g, hn_id node, char *buf, size_t buf_bytes);
/* "Conv", "com.microsoft.FusedConv". */
const char *hn_node_op_label(const hn_graph *g, hn_id node, char *buf, size_t buf_bytes);
/* Adds the node to an error. Of several nested nodes the record names the innermost. */
void hn_error_at_node(hone_error *err, const hn_graph *g, hn_id node);

/* Structure alone, no operator knowledge: names defined once and before use (SSA), topological
 * order, outputs defined, lists and uses consistent, initializers agree with declared inputs, types
 * well formed, IR-version rules. */
void hn_graph_verify(const hn_graph *g, hn_problems *p);
/* The same for the main graph and every function, and the rules of the model itself: versions,
 * opset imports, functions. */
void hn_model_verify(const hn_model *m, hn_problems *p);

/* ---- edits ----------------------------------------------------------------------------------- */

/* A rewrite is a patch: it is filled against a const graph and applied atomically. New nodes and
 * values get ids that are valid as arguments within the patch and keep them once it is applied.
 * Failures while filling are reported by apply. A replacement affects only readers that existed
 * before the patch, so a new node may read the value it replaces. Attributes are copied shallowly:
 * what they point to must live in the model's arena. */
typedef struct hn_patch hn_patch;
hn_patch *hn_patch_new(hn_arena *scratch, const hn_graph *g);
hn_id hn_patch_node(hn_patch *p, hn_id before, hn_str domain, hn_str op, hn_str name,
                    uint32_t n_inputs, const hn_id *inputs, uint32_t n_outputs, uint32_t n_attrs,
                    const hn_attr *attrs); /* inserted before that node; HN_NONE: at the end
                                              of the main graph */
hn_id hn_patch_output(hn_patch *p, hn_id patch_node,
                      uint32_t slot); /* value id of a new node's output */
void hn_patch_drop_output(hn_patch *p, hn_id patch_node,
                          uint32_t slot); /* omits an optional output of the new node */
hn_id hn_patch_const(hn_patch *p, hn_id block, const char *stem,
                     const hn_tensor *t); /* a new initializer */
void hn_patch_replace(hn_patch *p, hn_id value,
                      hn_id with); /* readers of value read `with`; graph output names are kept */
/* Does the replacement need an Identity, because a block cannot output `with` instead of `value`?
 */
bool hn_replace_needs_identity(const hn_graph *g, hn_id value, hn_id with);
void hn_patch_set_input(hn_patch *p, hn_id node, uint32_t slot, hn_id value);
/* Records a failure while filling; apply will fail with it. */
void hn_patch_fail(hn_patch *p, hone_status status);
/* All or nothing: on failure (bad ids, no memory) the graph is as before. */
hone_status hn_patch_apply(hn_patch *p, hn_graph *g, hone_error *err);

/* Removes nodes without readers, then initializers without readers; returns how many were removed.
 * Block outputs count as readers. HN_NONE: out of memory, nothing was removed. */
uint32_t hn_graph_remove_dead(hn_graph *g, bool remove_inits);
/* Moves the content of a subgraph without inputs to the position before its owner; conflicting
 * names are changed. Its outputs stay outputs of the block, which is removed with the node. False:
 * out of memory, the graph is partly changed. */
bool hn_graph_splice(hn_graph *g, hn_id node, hn_id block);
/* Raises the IR version to at least this one and keeps the meaning of the model: from version 4 on
 * the caller may override inputs that are initializers; before, initializers had to be inputs. */
void hn_model_raise_ir(hn_model *m, int64_t version);
/* Removes functions that the main graph does not need, and imports of domains that only they used.
 * False: out of memory, nothing was changed. */
bool hn_model_drop_unused_functions(hn_model *m);
/* Stable topological order within every block (outer values used by inner blocks count);
 * HONE_E_INVALID names the cycle. */
hone_status hn_graph_sort(hn_graph *g, hone_error *err);
/* A node that reads what a later node computes, itself or in its body; HN_NONE when the order is
 * topological. */
hone_status hn_graph_find_unsorted(const hn_graph *g, hn_id *reader);
/* Is an operator the same in two versions of its operator set? */
typedef bool (*hn_same_op_fn)(const hn_model *m, hn_str domain, hn_str op, int64_t a, int64_t b);
/* Replaces every call of a model-local function by its body, to any depth (capped, recursion
 * refused), then removes the functions. For a function with other opset versions than the model's,
 * nodes that `same_op` finds different are refused before anything is changed. Without `same_op`
 * such nodes get an opset_version: correct for a run, but the model cannot be saved. After any
 * later failure the model may be partly changed and can only be freed. */
hone_status hn_model_inline(hn_model *m, hn_same_op_fn same_op, hone_error *err);
/* Keeps what is needed to compute `outputs` from `inputs`, which become the graph's interface.
 * Unknown names, and outputs that need a graph input that was not listed, are errors. */
hone_status hn_graph_extract(hn_graph *g, uint32_t n_inputs, const hn_str *inputs,
                             uint32_t n_outputs, const hn_str *outputs, hone_error *err);

/* ---- ONNX textual syntax --------------------------------------------------------------------- */

typedef struct hn_print_options {
    uint64_t max_elems; /* larger initializers print their shape and "..." only; UINT64_MAX:
                           everything, parses back */
} hn_print_options;
void hn_model_print(const hn_model *m, const hn_print_options *o, hn_strbuf *out);
/* The text of one model ("<ir_version: 8, opset_import: [...]> name (float[N] x) => (float[N] y) {
 * y = Relu(x) }" and functions). Errors carry line and column. Depth-limited. */
hone_status hn_model_parse(const char *text, size_t n, const hone_allocator *a, hn_model **out,
                           hone_error *err);

#endif /* HN_IR_H */
