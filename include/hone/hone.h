/*
 * hone: load, inspect, check, edit, optimize, run and save ONNX models.
 *
 * Conventions
 *   - Every function that can fail returns hone_status; HONE_OK is 0. The optional last argument, a
 *     hone_error that the caller owns, receives code, message, node, operator, value and byte
 *     offset. The library never prints.
 *   - Handles are opaque. Functions that take a const model, and hone_session_run, may be called
 *     from several threads at once; functions that take a non-const model need exclusive access.
 *   - Initialize option structs with their hone_*_options_init(); `size` keeps programs compatible
 *     with newer libraries.
 *   - Pointers must not be NULL unless a comment allows it; functions that return a hone_status
 *     report NULL as HONE_E_ARGUMENT. Freeing NULL is allowed, and so is a NULL error. A call that
 *     fails sets the handle it would have created to NULL.
 *   - An index out of range gives an empty description: names "", counts 0, numbers HONE_NONE.
 *   - Strings are UTF-8 and NUL-terminated; those returned by a model live as long as the model and
 *     are not changed by edits.
 *   - Threads that call the library need 512 KiB of stack; musl gives new threads 128 KiB by
 * default.
 */
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 1
#define HONE_VERSION_PATCH 0

#if defined(_WIN32) && defined(HONE_SHARED)
#  ifdef HONE_BUILDING
#    define HONE_API __declspec(dllexport)
#  else
#    define HONE_API __declspec(dllimport)
#  endif
#elif defined(__GNUC__)
#  define HONE_API __attribute__((visibility("default")))
#else
#  define HONE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and errors ----------------------------------------------------------------------- */

/* clang-format off */
#define HONE_STATUS_LIST(X)                                                                       \
    X(HONE_OK, "ok") X(HONE_E_NOMEM, "out of memory") X(HONE_E_ARGUMENT, "bad argument")          \
    X(HONE_E_IO, "input/output error") X(HONE_E_FORMAT, "malformed file")                         \
    X(HONE_E_LIMIT, "limit exceeded") X(HONE_E_UNSUPPORTED, "not supported")                      \
    X(HONE_E_INVALID, "invalid model") X(HONE_E_TYPE, "type mismatch")                            \
    X(HONE_E_SHAPE, "shape mismatch") X(HONE_E_NOT_FOUND, "not found")                            \
    X(HONE_E_CANCELLED, "cancelled") X(HONE_E_INTERNAL, "internal error")
/* clang-format on */

typedef enum hone_status {
#define HONE_STATUS_ENUM(code, text) code,
    HONE_STATUS_LIST(HONE_STATUS_ENUM)
#undef HONE_STATUS_ENUM
} hone_status;

/* Description of an error. The first error is kept; outer calls only prepend context. Fields that
 * do not apply are empty. */
typedef struct hone_error {
    hone_status code;
    char message[1024]; /* a sentence for people: names node and shapes, and says what to do */
    char node[128];     /* name of the node, or "#12 (Conv)" when it has none */
    char op[64];        /* operator, e.g. "Conv" or "com.microsoft.FusedConv" */
    char value[128];    /* name of the value (tensor) */
    int64_t offset;     /* byte offset in the model file, -1 when unknown */
} hone_error;

HONE_API const char *hone_status_text(hone_status status);

/* ---- library --------------------------------------------------------------------------------- */

HONE_API const char *hone_version(void); /* "0.1.0" */
HONE_API const char *hone_cpu_features(
    void); /* "sse2 avx2 fma avx512f ...", limited by the HONE_CPU variable */
/* The values that HONE_CPU may have; "" after the last. The library ignores any other. */
HONE_API const char *hone_cpu_tier(uint32_t i);

/* Memory allocator. resize(ctx, NULL, 0, n) allocates, (ctx, p, old, 0) frees, else reallocates;
 * NULL on failure. Must be thread-safe. A NULL allocator means malloc and free. */
typedef struct hone_allocator {
    void *(*resize)(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes);
    void *ctx;
} hone_allocator;

/* Receives output text. Returns false to stop (a full disk, a closed pipe). */
typedef bool (*hone_write_fn)(void *ctx, const char *text, size_t n_bytes);

/* Called repeatedly during long operations with 0 <= done <= total. Returns true to cancel: the
 * operation then fails with HONE_E_CANCELLED and leaves nothing behind. */
typedef bool (*hone_progress_fn)(void *ctx, uint64_t done, uint64_t total);

/* ---- models ---------------------------------------------------------------------------------- */

typedef struct hone_model hone_model;

typedef struct hone_load_options {
    size_t size;                     /* sizeof(hone_load_options), set by init */
    const hone_allocator *allocator; /* NULL: malloc; must outlive the model */
    bool borrow_buffer;      /* load_buffer: do not copy the bytes, which must outlive the model */
    bool skip_external_data; /* do not load tensors from other files: enough to inspect and
                                check */
    const char
        *external_data_folder; /* NULL: the model's folder. Locations outside it are refused */
    uint32_t max_depth;        /* of nested messages and subgraphs; default 64 */
    uint64_t max_memory_bytes; /* for the graph, without mapped files; 0: in proportion to the file
                                  size */
    struct hone_op_registry *ops; /* operators beside the built-in ones; may be NULL */
    bool
        copy_files; /* read files into memory instead of mapping them: they may change afterwards */
} hone_load_options;
HONE_API void hone_load_options_init(hone_load_options *options);

/* Maps the file and reads its structure; tensor data stay in the mapping. Binary ONNX, or ONNX text
 * syntax (.onnxtxt). The file must not be modified in place while the model exists: where its size
 * or time stamp shows it, the next session, run or save fails with HONE_E_IO, but a file truncated
 * during a run ends the process (SIGBUS). Replacing it by a rename, as hone_model_save does, is
 * safe, and with copy_files everything is. */
HONE_API hone_status hone_model_load(const char *path, const hone_load_options *options,
                                     hone_model **model, hone_error *error);
HONE_API hone_status hone_model_load_buffer(const void *data, size_t n_bytes,
                                            const hone_load_options *options, hone_model **model,
                                            hone_error *error);
HONE_API void hone_model_free(hone_model *model);

/* Where tensors are saved. */
typedef enum hone_external_data {
    HONE_EXTERNAL_KEEP,  /* as in the model; above 2 GiB, which protobuf cannot represent, data are
                            saved externally */
    HONE_EXTERNAL_NEVER, /* all in one file */
    HONE_EXTERNAL_ALWAYS /* every tensor of at least external_threshold_bytes in one data file
                            next to the model */
} hone_external_data;

typedef struct hone_save_options {
    size_t size;
    hone_external_data external_data;
    uint64_t external_threshold_bytes; /* default 1024 */
    uint64_t external_alignment;       /* default 4096 */
    const char *external_file_name;    /* NULL: "<model file>.data" */
    hone_progress_fn progress;         /* bytes written; may be NULL */
    void *progress_ctx;
} hone_save_options;
HONE_API void hone_save_options_init(hone_save_options *options);
/* The file is replaced atomically, together with its data file: at each moment the path leads to
 * the whole old model or the whole new one. A data file that exists is replaced only if the model
 * at `path` uses it and no other model in the folder does (HONE_E_ARGUMENT); equal data stay in
 * place. Equal models give equal bytes. A name that ends in .onnxtxt selects the textual syntax,
 * with every element of every tensor; options are ignored then. */
HONE_API hone_status hone_model_save(const hone_model *model, const char *path,
                                     const hone_save_options *options, hone_error *error);
/* Into memory of the model's allocator; free it with hone_buffer_free. */
HONE_API hone_status hone_model_save_buffer(const hone_model *model, void **data, size_t *n_bytes,
                                            hone_error *error);
HONE_API void hone_buffer_free(const hone_model *model, void *data, size_t n_bytes);
/* Replaces a file atomically, as saving does: on failure the old one stays, or there is none. */
HONE_API hone_status hone_write_file(const char *path, const void *data, size_t n_bytes,
                                     hone_error *error);

/* ONNX textual syntax. Initializers of more than max_elements are abbreviated; such text cannot be
 * parsed again. */
HONE_API hone_status hone_model_print(const hone_model *model, uint64_t max_elements,
                                      hone_write_fn write, void *ctx, hone_error *error);

/* ---- inspection ------------------------------------------------------------------------------ */

typedef struct hone_model_info {
    int64_t ir_version, model_version;
    const char *producer_name, *producer_version, *domain, *doc; /* "" when absent */
    uint64_t file_bytes;                                         /* of the model file or buffer */
    uint64_t external_bytes;                                     /* of tensors in other files */
    uint32_t n_opsets, n_metadata, n_functions;
} hone_model_info;
HONE_API void hone_model_get_info(const hone_model *model, hone_model_info *info);
HONE_API void hone_model_get_opset(const hone_model *model, uint32_t i, const char **domain,
                                   int64_t *version); /* "" is ai.onnx */
HONE_API void hone_model_get_metadata(const hone_model *model, uint32_t i, const char **key,
                                      const char **value);

/* A graph with all its subgraphs: the main graph, or a function's body. Nodes and values are
 * numbered from 0 across subgraphs; subgraph 0 is the graph itself. Removed nodes have no subgraph.
 * Valid until the model is edited or freed. */
typedef struct hone_graph hone_graph;
#define HONE_NONE UINT32_MAX

typedef struct hone_function_info {
    const char *domain, *name, *overload, *doc;
    uint32_t n_attributes;
    uint32_t n_opsets;
} hone_function_info;

HONE_API const hone_graph *hone_model_graph(const hone_model *model);
HONE_API const hone_graph *hone_model_function(const hone_model *model, uint32_t i,
                                               hone_function_info *info);

typedef struct hone_subgraph_info {
    const char *name, *doc;
    uint32_t parent, owner; /* enclosing subgraph and owning node; HONE_NONE for subgraph 0 and for
                               a removed owner */
    uint32_t n_nodes, n_inputs, n_outputs, n_initializers;
    const uint32_t *nodes;                           /* in execution order */
    const uint32_t *inputs, *outputs, *initializers; /* values */
} hone_subgraph_info;
HONE_API uint32_t hone_graph_n_subgraphs(const hone_graph *graph);
HONE_API void hone_graph_get_subgraph(const hone_graph *graph, uint32_t i,
                                      hone_subgraph_info *info);

typedef enum hone_type_kind { /* the order is ONNX's */
                              HONE_TYPE_UNKNOWN,
                              HONE_TYPE_TENSOR,
                              HONE_TYPE_SPARSE_TENSOR,
                              HONE_TYPE_SEQUENCE,
                              HONE_TYPE_OPTIONAL,
                              HONE_TYPE_MAP,
                              HONE_TYPE_OPAQUE
} hone_type_kind;

/* Values of removed nodes keep their numbers, without producer and uses. */
typedef struct hone_value_info {
    const char *name, *doc;
    hone_type_kind kind;
    int32_t elem_type; /* ONNX number of the element type, 0 when unknown or no tensor */
    int32_t rank;      /* -1 when unknown or no tensor */
    uint32_t producer; /* node, HONE_NONE for inputs and initializers */
    uint32_t n_uses;
    uint32_t subgraph;
    bool is_input, is_output, is_initializer; /* of its subgraph */
    bool is_declared;                         /* the file states its type */
} hone_value_info;
HONE_API uint32_t hone_graph_n_values(const hone_graph *graph);
HONE_API void hone_graph_get_value(const hone_graph *graph, uint32_t value, hone_value_info *info);
HONE_API uint32_t hone_graph_find_value(const hone_graph *graph,
                                        const char *name); /* HONE_NONE when there is none */
/* Size of one dimension, or -1 with its symbol or expression ("batch", "seq + 1", "" when unknown)
 * as text. Like snprintf, the result is the length of the whole text. */
HONE_API size_t hone_value_dim(const hone_graph *graph, uint32_t value, int32_t axis, int64_t *size,
                               char *text, size_t text_size);
/* "float[batch,3,224,224]"; the same for any type: "seq(float[?])". Like snprintf. */
HONE_API size_t hone_value_type_text(const hone_graph *graph, uint32_t value, char *text,
                                     size_t text_size);

typedef struct hone_node_info {
    const char *name, *op, *domain, *doc;
    uint32_t subgraph; /* HONE_NONE: removed */
    uint32_t n_inputs, n_outputs, n_attributes;
    const uint32_t *inputs, *outputs; /* values, HONE_NONE where left out */
} hone_node_info;
HONE_API uint32_t hone_graph_n_nodes(const hone_graph *graph);
HONE_API void hone_graph_get_node(const hone_graph *graph, uint32_t node, hone_node_info *info);
/* Multiply-accumulates and bytes of the outputs; false when a required dimension is unknown. */
HONE_API bool hone_node_macs(const hone_graph *graph, uint32_t node, uint64_t *macs);
HONE_API bool hone_node_output_bytes(const hone_graph *graph, uint32_t node, uint64_t *bytes);
/* In a graph that was optimized with keep_origins: the names of the nodes that this one replaces,
 * where that is not its name alone: 0, 1, ...; "" past the last. Of a node without a name that of
 * its first output. At most 32. */
HONE_API const char *hone_node_origin(const hone_graph *graph, uint32_t node, uint32_t i);

/* Numbers are ONNX's AttributeProto.AttributeType. */
typedef enum hone_attribute_kind {
    HONE_ATTRIBUTE_UNDEFINED,
    HONE_ATTRIBUTE_FLOAT,
    HONE_ATTRIBUTE_INT,
    HONE_ATTRIBUTE_STRING,
    HONE_ATTRIBUTE_TENSOR,
    HONE_ATTRIBUTE_GRAPH,
    HONE_ATTRIBUTE_FLOATS,
    HONE_ATTRIBUTE_INTS,
    HONE_ATTRIBUTE_STRINGS,
    HONE_ATTRIBUTE_TENSORS,
    HONE_ATTRIBUTE_GRAPHS,
    HONE_ATTRIBUTE_SPARSE_TENSOR,
    HONE_ATTRIBUTE_SPARSE_TENSORS,
    HONE_ATTRIBUTE_TYPE,
    HONE_ATTRIBUTE_TYPES
} hone_attribute_kind;
typedef struct hone_attribute_info {
    const char *name;
    const char
        *reference; /* in a function: the caller's attribute that gives the value; "" otherwise */
    hone_attribute_kind kind;
    uint32_t n; /* elements of a list kind, else 1 */
    int64_t i;
    float f;
    const char *s; /* STRING: s_bytes bytes, not NUL-terminated */
    size_t s_bytes;
    const int64_t *ints;
    const float *floats;
    const uint32_t *subgraphs; /* GRAPH, GRAPHS */
} hone_attribute_info;
HONE_API void hone_node_get_attribute(const hone_graph *graph, uint32_t node, uint32_t i,
                                      hone_attribute_info *info);
HONE_API void hone_node_get_attribute_string(const hone_graph *graph, uint32_t node, uint32_t i,
                                             uint32_t k, const char **text,
                                             size_t *n_bytes); /* k-th of STRINGS */

/* Constant data: an initializer, or an attribute that holds tensors, dense or sparse. */
typedef struct hone_tensor_info {
    const char *name;
    int32_t elem_type;
    int32_t rank;
    const int64_t *dims;
    uint64_t n_elements;
    const void *data; /* little-endian, packed, possibly unaligned; NULL: strings, or external
                         data that was not loaded */
    uint64_t data_bytes;
    const char *external_location; /* NULL when the model file holds it */
    bool is_sparse;                /* dims are the dense ones, data are the values */
} hone_tensor_info;
HONE_API bool hone_value_get_tensor(const hone_graph *graph, uint32_t value,
                                    hone_tensor_info *info); /* false: no initializer */
HONE_API bool hone_attribute_get_tensor(const hone_graph *graph, uint32_t node, uint32_t attribute,
                                        uint32_t k, hone_tensor_info *info);

HONE_API const char *hone_elem_type_name(
    int32_t elem_type); /* "float", "int64", ...; "?" for an unknown type */
HONE_API int hone_elem_type_bits(int32_t elem_type); /* 0 for strings */

/* Statistics of a model. Operation counts need known shapes: fix free dimensions, then infer. */
typedef struct hone_stats hone_stats;
typedef struct hone_stats_totals {
    uint32_t
        n_nodes; /* of the main graph with its subgraphs; the bodies of functions are not counted */
    uint32_t n_tensors;    /* initializers and constants */
    uint64_t n_parameters; /* their elements */
    uint64_t parameter_bytes;
    uint64_t macs;             /* multiply-accumulates of the nodes whose shapes are known */
    uint64_t activation_bytes; /* outputs of the nodes whose shapes are known */
    uint32_t n_unknown_nodes;  /* nodes whose shapes are not known */
    uint32_t n_types, n_ops;   /* entries below */
} hone_stats_totals;
typedef struct hone_stats_type { /* parameters of one element type; most bytes first */
    int32_t elem_type;
    uint32_t n_tensors;
    uint64_t n_elements, bytes;
} hone_stats_type;
typedef struct hone_stats_op { /* nodes of one operator; most frequent first */
    const char *domain, *op;
    uint32_t count;
    uint64_t macs, output_bytes;
} hone_stats_op;
HONE_API hone_status hone_model_get_stats(const hone_model *model, hone_stats **stats,
                                          hone_error *error);
HONE_API void hone_stats_get_totals(const hone_stats *stats, hone_stats_totals *totals);
HONE_API void hone_stats_get_type(const hone_stats *stats, uint32_t i, hone_stats_type *type);
HONE_API void hone_stats_get_op(const hone_stats *stats, uint32_t i, hone_stats_op *op);
HONE_API void hone_stats_free(hone_stats *stats);

/* Memory plan for inputs of the declared shapes. Free dimensions must be fixed. */
typedef struct hone_plan hone_plan;
typedef struct hone_plan_info {
    uint64_t weight_bytes; /* initializers */
    uint64_t input_bytes, output_bytes;
    uint64_t block_bytes; /* intermediate values at the peak; without those whose shape depends on
                             data */
    uint32_t n_nodes;     /* of the main graph, functions inlined */
    uint32_t n_views;     /* nodes whose output is a view of other memory */
    uint32_t n_dynamic_nodes; /* nodes whose shapes depend on data */
    const char *peak_node;    /* at which the most bytes are in use */
    uint32_t n_values;        /* live at that node */
    uint32_t n_all_values;    /* in planned memory */
} hone_plan_info;
/* A node of the main graph, in the order of the run. */
typedef enum hone_step_kind {
    HONE_STEP_PLANNED, /* its outputs have offsets in planned memory, or are graph outputs */
    HONE_STEP_VIEW,    /* its output is a view of other memory */
    HONE_STEP_DYNAMIC  /* shapes depend on data */
} hone_step_kind;
typedef struct hone_plan_step {
    const char *node, *op; /* "#12" when the node has no name; "com.microsoft.FusedConv" */
    const char *provider;
    hone_step_kind kind;
    uint32_t node_id;    /* hone_step.node */
    uint64_t live_bytes; /* of planned memory, in use while it runs */
} hone_plan_step;
typedef struct hone_plan_value { /* largest first; views and in-place results count as the
                                    value whose memory they share */
    const char *name;
    uint64_t bytes, offset;
    uint32_t first, last; /* steps during which it is live, both inclusive */
} hone_plan_value;
HONE_API hone_status hone_model_get_plan(const hone_model *model, hone_plan **plan,
                                         hone_error *error);
HONE_API void hone_plan_get_info(const hone_plan *plan, hone_plan_info *info);
HONE_API void hone_plan_get_value(const hone_plan *plan, uint32_t i, hone_plan_value *value);
/* The same of all steps, in the order in which they become live; i < n_all_values. */
HONE_API void hone_plan_get_any_value(const hone_plan *plan, uint32_t i, hone_plan_value *value);
HONE_API void hone_plan_get_step(const hone_plan *plan, uint32_t i,
                                 hone_plan_step *step); /* i < n_nodes */
HONE_API void hone_plan_free(hone_plan *plan);

/* What the JSON description contains in addition to the summary. */
typedef enum hone_json_parts {
    HONE_JSON_NODES = 1,   /* every node: operator, inputs, outputs, attributes, cost */
    HONE_JSON_WEIGHTS = 2, /* every initializer */
    HONE_JSON_VALUES = 4,  /* every value with its type */
    HONE_JSON_PLAN = 8     /* memory of a run; see hone_model_get_plan */
} hone_json_parts;
/* One JSON object: producer, opsets, interface, parameters by type, operator histogram, cost,
 * metadata. `label` names the model in it. */
HONE_API hone_status hone_model_write_json(const hone_model *model, const char *label,
                                           unsigned parts, hone_write_fn write, void *ctx,
                                           hone_error *error);

/* ---- checking and shapes --------------------------------------------------------------------- */

typedef enum hone_severity { HONE_WARNING, HONE_ERROR } hone_severity;
typedef struct hone_problem {
    hone_severity severity;
    hone_status code;
    const char *message;           /* a sentence about the node or value named here */
    const char *node, *op, *value; /* "" when it concerns the whole model */
} hone_problem;
typedef struct hone_problems hone_problems;
/* Checks structure, operators against their schemas, types and shapes. HONE_OK means that the check
 * ran; the list contains what it found. */
HONE_API hone_status hone_model_check(hone_model *model, hone_problems **problems,
                                      hone_error *error);
HONE_API uint32_t hone_problems_count(const hone_problems *problems,
                                      hone_severity severity); /* all found, also past the cap */
HONE_API uint32_t hone_problems_listed(const hone_problems *problems);
HONE_API void hone_problems_get(const hone_problems *problems, uint32_t i, hone_problem *problem);
HONE_API void hone_problems_free(hone_problems *problems);
/* One JSON object: label, verdict, problems. */
HONE_API hone_status hone_problems_write_json(const hone_problems *problems, const char *label,
                                              hone_write_fn write, void *ctx, hone_error *error);

/* The same object for a model that could not be read at all. */
HONE_API hone_status hone_error_write_json(const hone_error *unreadable, const char *label,
                                           hone_write_fn write, void *ctx);

/* Infers types and shapes of all values. Where inference contradicts a declaration, the declaration
 * is kept; hone_model_check reports the contradiction. */
HONE_API hone_status hone_model_infer(hone_model *model, hone_error *error);
/* These two discard the types that hone_model_infer found, even when they fail: infer again
 * afterwards. */

/* Sets the size of a free dimension in the whole model. */
HONE_API hone_status hone_model_fix_dim(hone_model *model, const char *name, int64_t size,
                                        hone_error *error);
/* Sets the shape of an input; the free dimensions it had get those sizes in the whole model. */
HONE_API hone_status hone_model_fix_shape(hone_model *model, const char *input, uint32_t rank,
                                          const int64_t *dims, hone_error *error);

/* ---- editing --------------------------------------------------------------------------------- */

typedef struct hone_value hone_value; /* a value at run time; see "running" */

/* A refused edit leaves the model unchanged. After an edit that ran out of memory the model may be
 * inconsistent and can only be freed. */

/* Replaces every call of a model-local function by its body. */
HONE_API hone_status hone_model_inline_functions(hone_model *model, hone_error *error);
/* Keeps what computes `outputs` from `inputs` (names of any values). */
HONE_API hone_status hone_model_extract(hone_model *model, uint32_t n_inputs,
                                        const char *const *inputs, uint32_t n_outputs,
                                        const char *const *outputs, hone_error *error);
/* Renames a value: an input, an output or any other; refuses a name that is taken. */
HONE_API hone_status hone_model_rename(hone_model *model, const char *from, const char *to,
                                       hone_error *error);
typedef enum hone_strip {
    HONE_STRIP_DOCS = 1, /* doc strings */
    HONE_STRIP_NODE_NAMES = 2,
    HONE_STRIP_VALUE_NAMES = 4, /* short names for all values but inputs and outputs */
    HONE_STRIP_METADATA = 8,    /* metadata_props of every element */
    HONE_STRIP_VALUE_INFO = 16, /* types of intermediate values */
    HONE_STRIP_UNUSED = 32      /* unused nodes, initializers and functions */
} hone_strip;
/* hone_strip flags; from functions, too. */
HONE_API hone_status hone_model_strip(hone_model *model, unsigned what, hone_error *error);
/* Replaces the data of an initializer (copied; same type and shape), even if the old data were not
 * loaded. Infer again afterwards: shapes may depend on them. */
HONE_API hone_status hone_model_set_initializer(hone_model *model, const char *name,
                                                const hone_value *data, hone_error *error);
/* Adds inferred types to the model's value_info, so that they are saved. */
HONE_API hone_status hone_model_store_shapes(hone_model *model, hone_error *error);

/* ---- optimizing ------------------------------------------------------------------------------ */

/* Numbers and meaning are those of onnxruntime's graph optimization levels. */
typedef enum hone_level {
    HONE_LEVEL_NONE = 0,
    HONE_LEVEL_BASIC = 1,    /* the same operators, fewer of them */
    HONE_LEVEL_EXTENDED = 2, /* fused operators */
    HONE_LEVEL_ALL = 99 /* and what depends on the machine, in sessions; a saved file is as after
                           EXTENDED */
} hone_level;

/* The runtime that the optimized file is for. */
typedef enum hone_target {
    HONE_TARGET_ONNX,       /* any runtime: operators of the standard */
    HONE_TARGET_ONNXRUNTIME /* onnxruntime on a CPU: operators of com.microsoft as well */
} hone_target;

/* How a pass may change results. */
typedef enum hone_numerics {
    HONE_NUMERICS_EXACT,        /* not at all */
    HONE_NUMERICS_REASSOCIATES, /* mathematically equal, rounded differently */
    HONE_NUMERICS_APPROXIMATES  /* different values; such passes run only on request */
} hone_numerics;

typedef struct hone_pass_info {
    const char *name, *summary;
    hone_level level;
    hone_numerics numerics;
} hone_pass_info;
HONE_API uint32_t hone_pass_count(void);
HONE_API bool hone_pass_get(uint32_t pass, hone_pass_info *info); /* in the order of a run */

/* What floats are converted to. */
typedef enum hone_precision {
    HONE_PRECISION_KEEP, /* unchanged */
    HONE_PRECISION_FLOAT16,
    HONE_PRECISION_BFLOAT16
} hone_precision;

typedef struct hone_optimize_options {
    size_t size;
    hone_level level;   /* default EXTENDED */
    hone_target target; /* default ONNX */
    int64_t opset;      /* of ai.onnx in the result; 0: unchanged, except that for the target
                           onnxruntime a fusion may raise it */
    uint32_t n_passes;  /* run these alone, whatever the level; 0: those of the level */
    const char *const *passes;
    uint32_t n_disabled; /* "pass", or "pass.rule" */
    const char *const *disabled;
    uint32_t stop_after;     /* rewrites; default UINT32_MAX */
    uint64_t max_fold_bytes; /* a constant that is larger than this and than its inputs is not
                                folded; default 16 MiB */
    bool allow_approximate;
    bool measure; /* weights and multiply-accumulates saved by each pass; takes a little longer */
    /* Run the graph before and after every pass, and disable rules that change results. Inputs are
     * given by name; missing ones are generated from the seed. */
    bool verify;
    uint64_t verify_seed;
    uint32_t n_verify_inputs;
    const char *const *verify_input_names;
    const hone_value *const *verify_inputs;
    /* Called after each run of a pass that changed the model, with the model as it is; may be NULL.
     * Returns true to stop: HONE_E_CANCELLED. */
    bool (*after_pass)(void *ctx, const hone_model *model, const char *pass, uint32_t n_rewrites);
    void *after_pass_ctx;
    const struct hone_rule_set
        *rules; /* user-defined rules, run as the pass custom-rules; may be NULL */
    /* Nodes whose constants exceed the range stay float, with `verify` also those whose values
     * exceeded it, and operators that would lose too much accuracy. */
    hone_precision precision;
    bool keep_io_types;     /* inputs and outputs stay float */
    uint32_t n_blocked_ops; /* further operators that stay float */
    const char *const *blocked_ops;
    uint32_t n_blocked_nodes; /* nodes that stay float, by name */
    const char *const *blocked_nodes;
    /* Dimensions of inputs that share a name have one size. Files that say so of different sizes
     * compute something else afterwards, in any runtime; names are documentation without this. */
    bool trust_dim_names;
    /* Limits of the verification: of its time (default 300), and of the memory for intermediate
     * values of a run (default 4 GiB; made-up inputs take at most a quarter of it). 0: none. */
    double verify_timeout_seconds;
    uint64_t verify_memory_limit_bytes;
    bool keep_origins; /* new nodes note what they replace, in their metadata: hone_node_origin */
} hone_optimize_options;
HONE_API void hone_optimize_options_init(hone_optimize_options *options);

/* Report of the rewrites, and of near misses with their reasons. */
typedef struct hone_optimization hone_optimization;
/* The result shares weights with the model, which is not changed and must outlive it. Inputs and
 * outputs keep their names and order, and their types unless the precision changes. `report` may be
 * NULL. */
HONE_API hone_status hone_model_optimize(const hone_model *model,
                                         const hone_optimize_options *options,
                                         hone_model **optimized, hone_optimization **report,
                                         hone_error *error);
HONE_API void hone_optimization_free(hone_optimization *report);

typedef struct hone_optimization_info {
    uint32_t n_passes, n_rewrites, n_near_misses, n_guilty; /* entries below */
    int64_t opset_before, opset_after;
    bool is_stopped;           /* stopped by stop_after */
    bool is_verified;          /* the fields below are valid */
    uint32_t n_runs;           /* of the model, for the verification */
    double max_difference;     /* between outputs of the model and of the result */
    double max_relative;       /* relative to the largest element of that output */
    const char *difference_at; /* name of that output */
    const char *verify_shapes; /* of the inputs that were made up: "ids 2x8, mask 2x8"; "": none */
} hone_optimization_info;
typedef struct hone_pass_stats { /* of one pass, over all its runs */
    const char *pass;
    uint32_t n_runs, n_rewrites;
    int64_t nodes_saved, weight_bytes_saved, macs_saved;
    double seconds;
} hone_pass_stats;
typedef struct hone_rewrite {
    const char *pass, *rule, *node, *detail;
    uint32_t n_nodes_removed, n_nodes_added;
} hone_rewrite;
typedef struct hone_near_miss { /* a near miss: a rule that matched except for one condition */
    const char *pass, *rule, *node, *reason;
} hone_near_miss;
HONE_API void hone_optimization_get_info(const hone_optimization *report,
                                         hone_optimization_info *info);
HONE_API void hone_optimization_get_pass(const hone_optimization *report, uint32_t i,
                                         hone_pass_stats *stats);
HONE_API void hone_optimization_get_rewrite(const hone_optimization *report, uint32_t i,
                                            hone_rewrite *rewrite);
HONE_API void hone_optimization_get_near_miss(const hone_optimization *report, uint32_t i,
                                              hone_near_miss *miss);
/* A rule that was disabled because it failed or changed results. */
HONE_API void hone_optimization_get_guilty(const hone_optimization *report, uint32_t i,
                                           hone_near_miss *guilty);
/* One JSON object with all of the above. */
HONE_API hone_status hone_optimization_write_json(const hone_optimization *report,
                                                  const char *label, hone_write_fn write, void *ctx,
                                                  hone_error *error);

/* ---- operators ------------------------------------------------------------------------------- */

/* One version of one operator's schema. */
typedef struct hone_op_info {
    const char *domain; /* "ai.onnx", "ai.onnx.ml", "com.microsoft", ... */
    const char *name;
    int since_version;
    bool is_deprecated;
    bool is_extension; /* not in the standard, but written by other runtimes */
    bool can_run;      /* sessions can run it; all operators can be checked */
    uint32_t min_inputs, max_inputs, min_outputs, max_outputs; /* UINT32_MAX: no limit */
    uint32_t n_inputs, n_outputs;                              /* formal parameters */
    uint32_t n_attributes;
} hone_op_info;
typedef struct hone_op_parameter {
    char name[64];
    char type[64]; /* type variable ("T") or type */
    bool is_optional, is_variadic, is_heterogeneous;
    int min_arity;
} hone_op_parameter;
typedef struct hone_op_attribute {
    char name[64];
    hone_attribute_kind kind;
    bool is_required, has_default;
    char default_text[64];
} hone_op_attribute;
HONE_API uint32_t hone_op_count(void);
HONE_API bool hone_op_get(uint32_t op, hone_op_info *info);
HONE_API bool hone_op_get_parameter(uint32_t op, bool is_output, uint32_t i,
                                    hone_op_parameter *parameter);
/* "tensor(float), tensor(double)". Like snprintf. */
HONE_API size_t hone_op_parameter_types(uint32_t op, bool is_output, uint32_t i, char *text,
                                        size_t text_size);
HONE_API bool hone_op_get_attribute(uint32_t op, uint32_t i, hone_op_attribute *attribute);
/* The schema that applies at an opset version; HONE_NONE when there is none. The domains "" and
 * "ai.onnx" are the same. */
HONE_API uint32_t hone_op_find(const char *domain, const char *name, int64_t opset_version);
/* The whole table as a JSON array. */
HONE_API hone_status hone_ops_write_json(hone_write_fn write, void *ctx, hone_error *error);

/* ---- running --------------------------------------------------------------------------------- */

/* A hone_value is a tensor, a sequence, a map, or an empty optional. */

/* A tensor over the caller's memory, which must outlive the value and be aligned for its type;
 * sub-byte types are packed. */
HONE_API hone_status hone_value_borrow(int32_t elem_type, int32_t rank, const int64_t *dims,
                                       void *data, size_t data_bytes, hone_value **value,
                                       hone_error *error);
/* A tensor that owns its memory; data is copied, or left uninitialized when NULL. */
HONE_API hone_status hone_value_create(int32_t elem_type, int32_t rank, const int64_t *dims,
                                       const void *data, hone_value **value, hone_error *error);
/* A string tensor; texts[i] has lengths[i] bytes (lengths NULL: NUL-terminated). */
HONE_API hone_status hone_value_create_strings(int32_t rank, const int64_t *dims,
                                               const char *const *texts, const size_t *lengths,
                                               hone_value **value, hone_error *error);
HONE_API hone_status hone_value_create_sequence(uint32_t n_items, const hone_value *const *items,
                                                hone_value **value,
                                                hone_error *error); /* items are copied */
/* A map from keys to values: two tensors of rank 1 and of one size, which are copied. */
HONE_API hone_status hone_value_create_map(const hone_value *keys, const hone_value *values,
                                           hone_value **value, hone_error *error);
/* Parses the format of ONNX test data sets: a serialized TensorProto, SequenceProto or
 * OptionalProto, according to `kind`. */
HONE_API hone_status hone_value_parse(const void *bytes, size_t n_bytes, hone_type_kind kind,
                                      hone_value **value, hone_error *error);
HONE_API void hone_value_free(hone_value *value);
HONE_API hone_type_kind hone_value_kind(const hone_value *value); /* OPTIONAL: an empty one */
/* False when it is not a tensor. data may be written to. */
HONE_API bool hone_value_tensor(const hone_value *value, hone_tensor_info *info);
HONE_API bool hone_value_string(const hone_value *value, uint64_t i, const char **text,
                                size_t *n_bytes);
/* Converts elements begin to begin + n of a tensor of any numeric type to double or int64, and
 * back. A complex number counts as two elements. Storing rounds to nearest even; conversion to
 * integers truncates. False when the range is out of bounds or the elements are strings. */
HONE_API bool hone_value_get_f64(const hone_value *value, uint64_t begin, uint64_t n, double *out);
HONE_API bool hone_value_get_i64(const hone_value *value, uint64_t begin, uint64_t n,
                                 int64_t *out); /* uint64 wraps */
HONE_API bool hone_value_set_f64(hone_value *value, uint64_t begin, uint64_t n, const double *in);
HONE_API bool hone_value_set_i64(hone_value *value, uint64_t begin, uint64_t n, const int64_t *in);
/* Items of a sequence; a map has two: its keys and its values. The result belongs to `value`. */
HONE_API uint32_t hone_value_n_items(const hone_value *value);
HONE_API const hone_value *hone_value_item(const hone_value *value, uint32_t i);

/* Decodes an encoded image for the operator ImageDecoder: the library itself supports no image
 * format. Calls `alloc` once for the pixels and fills them: height * width * 3 bytes, red, green
 * and blue, rows from top to bottom without gaps. `alloc` returns NULL when out of memory or when
 * the image is empty. Any status other than HONE_OK fails the run with the error's message. Called
 * concurrently from all threads that run the session. */
typedef unsigned char *(*hone_image_alloc_fn)(void *image, uint64_t height, uint64_t width);
typedef hone_status (*hone_decode_image_fn)(void *ctx, const void *encoded, size_t n_bytes,
                                            hone_image_alloc_fn alloc, void *image,
                                            hone_error *error);

/* A size for a free dimension. */
typedef struct hone_dim_size {
    const char *name;
    int64_t size;
} hone_dim_size;

typedef struct hone_session hone_session;
typedef struct hone_session_options {
    size_t size;
    int n_threads;               /* 0: all processors available to this process */
    uint64_t memory_limit_bytes; /* for intermediate values and scratch of operators, and for each
                                    output that a run allocates; 0: what the machine has */
    uint32_t max_plans;          /* number of input shapes whose plans are kept; default 16 */
    /* Names of the providers that run nodes, in order of preference. 0: "cpu". A provider that this
     * build does not have is an error, never a silent fallback. */
    uint32_t n_providers;
    const char *const *providers;
    /* Free dimensions of the model that have one size in all runs of this session. */
    uint32_t n_dims;
    const hone_dim_size *dims;
    bool keep_denormals; /* compute with denormals, which is slow on most processors. Default:
                            flushed to zero during a run, in all its threads; the caller's mode is
                            restored afterwards */
    hone_decode_image_fn
        decode_image; /* NULL: models with the operator ImageDecoder fail when they reach it */
    void *decode_image_ctx;
    hone_level level; /* of graph optimization, on the session's own copy; default ALL */
    /* A folder for the optimized graph and packed weights: written once, then mapped by all later
     * sessions with the same model file, options, processor and build. Created if it is missing.
     * Anyone who can write to it can change results. NULL: no cache; every process packs weights
     * before its first run. */
    const char *cache_dir;
    /* A file written by hone_model_tune_kernels: the fastest kernels on this processor. Results may
     * differ in the last digits from those without it, and between numbers of threads, which are
     * tuned separately. NULL: kernels are chosen by sizes. */
    const char *kernel_choices;
    /* Storage type of packed constant right operands of float matrix products (MatMul, Gemm and
     * fused forms). Half precision takes half of the memory, and half of the time where the left
     * operand has few rows; each weight is rounded to 11 or 8 bits, accumulation stays in float. A
     * matrix with an element outside the range of float16 is not converted. */
    hone_precision weights;
    /* Where operators such as RandomNormal begin that have no `seed` of their own: the first run of
     * a session draws the same numbers each time, the second one others. 0: new ones in every run
     * of every process. */
    uint64_t seed;
    /* What float matrix products and 1x1 convolutions with constant weights multiply: bfloat16
     * rounds both operands to 8 bits and adds up in float, about twice as fast where the processor
     * has instructions for it; where it has none, creating the session fails. Default: float. */
    hone_precision compute;
} hone_session_options;
HONE_API void hone_session_options_init(hone_session_options *options);
/* The model is not changed and must outlive the session. Free dimensions stay free unless the
 * options set their size: each new set of input shapes gets a plan. Runs are deterministic: equal
 * inputs give the same bytes, with any number of threads and any set of requested outputs. Weights
 * are packed before the first run, which takes longer than creating the session; with a cache_dir
 * they are packed here. Packed weights are shared by all sessions of this process that use the same
 * allocator. */
HONE_API hone_status hone_session_create(const hone_model *model,
                                         const hone_session_options *options,
                                         hone_session **session, hone_error *error);
HONE_API void hone_session_free(hone_session *session);
/* A message when a requested cache was not used (it was damaged, or of another build) or could not
 * be written; "" otherwise. The session works in any case. */
HONE_API const char *hone_session_cache_note(const hone_session *session);
/* The same for kernel_choices: the file could not be read, belongs to another processor, or has
 * invalid lines. */
HONE_API const char *hone_session_kernels_note(const hone_session *session);
/* Names of dimensions that the inputs of a run have contradicted ("dimension 'batch' is 2 and 8 in
 * one run: ..."), because the model uses one name for two sizes; "" for none. Such a run is
 * computed as the nodes say: the session prepares the model again without relying on the name,
 * which takes as long as creating it. May change in any run; a text once returned stays valid until
 * the session is freed. */
HONE_API const char *hone_session_dims_note(const hone_session *session);
/* Rules of the standard that the model breaks and hone_model_check reports, though its meaning is
 * clear: nodes that are not in topological order, missing imports of known operator sets, IR
 * versions that disagree with the imports. Says what was assumed; "" when the model is valid, or
 * came from the cache. */
HONE_API const char *hone_session_model_note(const hone_session *session);
/* Where the time of a session went so far. */
typedef struct hone_session_costs {
    double optimize_seconds; /* the program: graph optimization, or reading the cache; with a
                                cache_dir or kernel_choices packing, too */
    double pack_seconds;     /* packing weights before the first run */
    double plan_seconds;     /* plans, one for each new set of input shapes */
    uint64_t n_plans;
} hone_session_costs;
HONE_API void hone_session_get_costs(const hone_session *session, hone_session_costs *costs);
/* Names of the providers of this build: 0, 1, ...; "" past the last. */
HONE_API const char *hone_provider_name(uint32_t i);

/* A kernel: what one family of loops is on one instruction set. Those of a family follow each
 * other, the best first; of each family a processor runs the first one that it can. */
typedef struct hone_kernel_info {
    const char *family, *name;
    const char *instruction_set; /* as HONE_CPU spells it: "avx512", "neon", "scalar" (plain C) */
    const char *types;           /* of elements: "f32" */
    const char *tile;    /* computed at a time: rows x columns, "14x32", or elements of a vector */
    const char *summary; /* what the family computes */
    bool is_exact;       /* gives the same bytes as the other kernels of its family */
    bool is_picked;      /* runs on this processor */
} hone_kernel_info;
HONE_API uint32_t hone_kernel_count(void);
HONE_API bool hone_kernel_get(uint32_t kernel, hone_kernel_info *info);

/* Convolutions of the same sizes, each kernel timed on its own. */
typedef struct hone_kernel_timing {
    const char *node;  /* the first of them in the graph */
    const char *sizes; /* as in the file */
    uint32_t n_nodes;  /* of those sizes */
    uint32_t n_kernels;
    const char *const *kernels;
    const double *seconds; /* of the fastest run */
    uint32_t usual;        /* the kernel chosen by sizes alone */
    uint32_t chosen;
    uint32_t done, total; /* this one included */
} hone_kernel_timing;
/* Called after each; strings are valid during the call. Returns true to stop: HONE_E_CANCELLED. */
typedef bool (*hone_tune_fn)(void *ctx, const hone_kernel_timing *timing);
/* Measures on this machine which kernel is fastest for each convolution of the model that has known
 * sizes and several kernels; fix free dimensions first, by the options or in the model. Level,
 * dimensions, providers and threads of the options (NULL: defaults) must be those of the sessions
 * that will use the result. The measurements are merged into the file at `path`; a file of another
 * kind or of another processor is not changed: HONE_E_FORMAT, HONE_E_UNSUPPORTED. path and `tell`
 * may be NULL. */
HONE_API hone_status hone_model_tune_kernels(const hone_model *model,
                                             const hone_session_options *options, const char *path,
                                             hone_tune_fn tell, void *ctx, hone_error *error);

/* One node that has just run; of one that begins, times, outputs and what follows from them are
 * missing. */
typedef struct hone_step {
    const hone_graph *graph; /* of the session: functions inlined */
    uint32_t node;
    const char *name, *domain, *op; /* of the node */
    const char *provider;
    uint64_t start_ns, end_ns; /* monotonic */
    uint64_t macs;             /* multiply-accumulates; 0: negligible */
    /* By position, NULL where omitted; valid during the call. Outputs computed in place may have
     * overwritten the data of inputs; their shapes are still valid. */
    const hone_value *const *inputs, *const *outputs;
    uint32_t n_inputs, n_outputs;
    /* Names of the nodes of the model that it computes, where that is not its name alone; of a node
     * without a name that of its first output. At most 32; valid during the call. */
    const char *const *origins;
    uint32_t n_origins;
    /* What ran it: a family of kernels (hone_kernel_info), the name of a lowering, "view" (nothing
     * was to be done) or "evaluation" (plain loops). */
    const char *kernel;
    /* Time that each thread of the session worked on it; the first one is the thread of the run.
     * n_threads is 0 for a session with more than 64. */
    const uint64_t *thread_ns;
    uint32_t n_threads;
    uint64_t dynamic_bytes; /* in use outside planned memory: values of unknown size, scratch */
} hone_step;

typedef struct hone_run_options {
    size_t size;
    const volatile int
        *cancel;            /* set to nonzero from another thread to stop the run; may be NULL */
    double timeout_seconds; /* 0: none */
    /* Called after every node, in the thread of the run; may be NULL. Results do not depend on it;
     * small nodes that would run concurrently run one after the other. */
    void (*observe)(void *ctx, const hone_step *step);
    void *observe_ctx;
    /* Called about fifty times a second by the thread of the run, also within long nodes; true
     * stops the run. May be NULL. */
    bool (*should_stop)(void *ctx);
    void *should_stop_ctx;
    /* Called before every node with observe_ctx; may be NULL. */
    void (*observe_begin)(void *ctx, const hone_step *step);
} hone_run_options;
HONE_API void hone_run_options_init(hone_run_options *options);
/* Inputs and outputs by name; n_outputs 0 with names NULL: all outputs of the model, in its order.
 * Nodes that no requested output depends on are not run.
 * An entry of `outputs` that is not NULL is written to and must have the right type and size; the
 * others are created and belong to the caller. Thread-safe. */
HONE_API hone_status hone_session_run(hone_session *session, const hone_run_options *options,
                                      uint32_t n_inputs, const char *const *input_names,
                                      const hone_value *const *inputs, uint32_t n_outputs,
                                      const char *const *output_names, hone_value **outputs,
                                      hone_error *error);
HONE_API uint32_t
hone_session_n_inputs(const hone_session *session); /* without those that have a default */
HONE_API uint32_t hone_session_n_outputs(const hone_session *session);
HONE_API const char *hone_session_input_name(const hone_session *session, uint32_t i);
HONE_API const char *hone_session_output_name(const hone_session *session, uint32_t i);
/* Peak bytes of intermediate values for inputs of these shapes, before any run. */
HONE_API hone_status hone_session_peak_bytes(hone_session *session, uint32_t n_inputs,
                                             const char *const *input_names,
                                             const hone_value *const *inputs, uint64_t *bytes,
                                             hone_error *error);

/* The memory plan of a run with inputs of these shapes; input_bytes is 0. Independent of the
 * session. */
HONE_API hone_status hone_session_get_plan(hone_session *session, uint32_t n_inputs,
                                           const char *const *input_names,
                                           const hone_value *const *inputs, hone_plan **plan,
                                           hone_error *error);

/* What this processor can do at most, measured in about a second on so many threads at once. */
typedef struct hone_peaks {
    double flops;       /* float multiply-adds in registers, two operations each, per second */
    double read_bytes;  /* from memory beyond the caches, per second */
    double cache_bytes; /* from a buffer of 256 KiB per thread, per second */
} hone_peaks;
HONE_API hone_status hone_measure_peaks(int n_threads, hone_peaks *peaks, hone_error *error);

#ifdef __cplusplus
}
#endif

#include "hone/extend.h"   /* user-defined operators and rules */
#include "hone/quantize.h" /* quantization */

#endif /* HONE_HONE_H */
