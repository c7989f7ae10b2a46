/* Static quantization: what is decided of nodes and values before a graph is written. */
#ifndef HN_QUANT_INT_H
#define HN_QUANT_INT_H

#include "quant/observer.h"
#include "quant/quant.h"

/* ---- operators ---------------------------------------------------------------------------------- */

typedef enum hn_quant_role {
    HN_ROLE_NONE,
    HN_ROLE_LAYER,       /* a product or convolution: the reason for quantizing */
    HN_ROLE_ELEMENTWISE, /* has an integer kernel; quantized between quantized nodes */
    HN_ROLE_MOVER,       /* moves numbers: its output has the parameters of its input */
    HN_ROLE_LOOKUP       /* Gather of rows of a constant */
} hn_quant_role;

typedef struct hn_quant_op {
    const char *name;
    hn_quant_role role;
    uint32_t data_slots; /* bit i: input i is an activation; the last bit: all from there on */
    int32_t weight_slot, bias_slot; /* -1: none */
    bool is_default;                /* quantized unless the caller names operators */
    bool keeps_float_output;        /* integer kernels can write floats: the output is quantized
                                       only where a quantized node reads it */
} hn_quant_op;
const hn_quant_op *hn_quant_op_of(const hn_graph *g, hn_id node); /* NULL: none */
bool hn_quant_is_data(const hn_quant_op *op, uint32_t slot);
/* The axis of the output channels of a weight; -1: per tensor only. */
int32_t hn_quant_channel_axis(const hn_graph *g, hn_id node, const hn_tensor *w);
/* The same where the caller has not set another one. */
int32_t hn_quant_axis_of(const hone_quantize_options *o, const hn_graph *g, hn_id node,
                         const hn_tensor *w);
/* Relu, or Clip with constant bounds: numbers are clamped to [low, high]. */
bool hn_quant_clamp(const hn_graph *g, hn_id node, double *low, double *high);

/* ---- decisions ---------------------------------------------------------------------------------- */

typedef struct hn_quant_node {
    const hn_quant_op *op;
    bool is_quantized;
    const char *reason; /* why a candidate is not */
    uint64_t float_bytes, quantized_bytes;
    double weight_sqnr, input_sqnr, output_sqnr;
    const struct hn_static_weight *rounded; /* with feedback; NULL: not yet */
} hn_quant_node;

typedef struct hn_quant_value {
    bool is_quantized; /* gets a QuantizeLinear and a DequantizeLinear */
    bool has_range;    /* low and high are set by the caller, a cache or the operator */
    bool has_params;   /* of the caller */
    hn_id tied_to;     /* parameters are those of that value; itself at the root */
    hn_observer *observer;
    const struct hn_kept_channels
        *kept; /* that integers do not show, of the last axis; NULL: none */
    hn_quant_type type;
    double low, high;
    const char *method;
    hn_quant_params params;
} hn_quant_value;

/* Channels of a value that are computed in float. */
typedef struct hn_kept_channels {
    hn_id value;
    uint64_t n_channels;
    int64_t n_kept;
    const bool *is_kept;
} hn_kept_channels;

typedef struct hn_quant_plan {
    hn_model *model;
    hn_graph *g;
    hn_arena *arena; /* of the plan */
    const hone_quantize_options *options;
    const hn_quant_source *source;
    hn_quant_report *report;
    hn_quant_node *nodes;   /* by node */
    hn_quant_value *values; /* by value */
    uint32_t n_nodes, n_values;
    struct hn_moments **moments; /* by node: of its inputs, for rounding; NULL: not asked for */
    uint32_t n_rounded;          /* layers whose products rounding made nearer */
    double rounding_gain;        /* sum of the logarithms of how many times */
    const char **float_reasons;  /* by node: why it stays float; NULL: nothing is known yet */
    HN_VEC(hn_kept_channels) kept_channels;
    hn_pool *pool;
} hn_quant_plan;

/* Decides which nodes and values are quantized; again once sensitive layers are known. */
hone_status hn_quant_select(hn_quant_plan *p);
hn_quant_type hn_quant_weight_type(const hone_quantize_options *o);
/* Of the weights of a node, by its name; HN_UNDEFINED: nothing was said. */
hn_dtype hn_quant_choice_of(const hone_quantize_options *o, const char *node);
const hone_quantize_override *hn_quant_override(const hone_quantize_options *o, const char *tensor);
hn_id hn_quant_root(const hn_quant_plan *p, hn_id value);
/* From now on the child and what is tied to it have the parameters of the parent. */
void hn_quant_tie(hn_quant_plan *p, hn_id parent, hn_id child);
/* The Relu or Clip that alone reads the output of a quantized node; HN_NONE. */
hn_id hn_quant_following_clamp(const hn_quant_plan *p, hn_id node);
/* The constant that a node reads there; NULL: none. */
const hn_tensor *hn_quant_const_input(const hn_graph *g, hn_id node, uint32_t slot);
static inline hn_id hn_quant_input(const hn_graph *g, hn_id node, uint32_t slot) {
    const hn_node *n = hn_node_at(g, node);
    return slot < n->n_inputs ? n->inputs[slot] : HN_NONE;
}

/* ---- calibration -------------------------------------------------------------------------------- */

/* Runs the model on samples and shows every value that has an observer, or what `watch` does with
 * the float tensors that steps compute. */
typedef struct hn_quant_pass {
    const hn_model *model;
    const hn_quant_source *source;
    uint64_t max_samples; /* 0: all */
    hn_pool *pool;
    hone_progress_fn progress;
    void *progress_ctx;
    /* False: no memory. */
    bool (*watch)(void *ctx, hn_id value, const hn_array *x);
    void *ctx;
    uint64_t n_samples; /* that were read */
} hn_quant_pass;
hone_status hn_quant_run_samples(hn_quant_pass *pass, hone_error *err);
/* A pass of the plan's model over its samples. */
hn_quant_pass hn_quant_pass_of(const hn_quant_plan *p,
                               bool (*watch)(void *ctx, hn_id value, const hn_array *x), void *ctx);
/* The same numbers side by side; NULL: no memory. *copy is NULL, or freed with hn_free. */
const float *hn_quant_dense(const hone_allocator *a, const hn_array *x, float **copy);

/* Observes the values that have no range yet; then all have one, and parameters. */
hone_status hn_quant_calibrate(hn_quant_plan *p, hone_error *err);
/* Ranges and parameters from what was observed. */
hone_status hn_quant_settle(hn_quant_plan *p, hone_error *err);
/* Ranges from a file, and into one. *is_read: it existed. */
hone_status hn_quant_read_cache(hn_quant_plan *p, const char *path, bool *is_read, hone_error *err);
hone_status hn_quant_write_cache(const hn_quant_plan *p, const char *path, hone_error *err);

/* ---- rescue, errors, writing --------------------------------------------------------------------- */

/* Right sides of products that are transposed constants become constants. */
hone_status hn_quant_fold_transposes(hn_model *m, hone_error *err);
hone_status hn_quant_equalize(hn_quant_plan *p, hone_error *err);
/* Dynamic and weight-only modes. */
hone_status hn_quant_weights(hn_model *m, const hone_quantize_options *o,
                             const hn_quant_source *source, hn_quant_report *report,
                             hone_error *err);
/* Static mode has no integer kernels for recurrent layers; their weights are stored as integers. */
hone_status hn_quant_store_recurrent(hn_model *m, const hone_quantize_options *o,
                                     hn_quant_report *report, hone_error *err);
/* Products of outlier channels become nodes of their own; selects again. */
hone_status hn_quant_keep_outliers(hn_quant_plan *p, hone_error *err);
/* The node of the main graph behind a node; HN_NONE: it is the last one. */
hn_id hn_quant_next_node(const hn_graph *g, hn_id node);
/* Measures errors layer by layer: for the report, and with correct_bias for the biases. */
hone_status hn_quant_measure(hn_quant_plan *p, hone_error *err);
hone_status hn_quant_write_qdq(hn_quant_plan *p, hone_error *err);
/* Does nothing for domains that the model knows, and for the standard (NULL). */
hone_status hn_quant_import_domain(hn_model *m, hn_str domain);
/* QDQ groups become operators on integers where there are such, of com.microsoft only if
 * allows_ms. */
hone_status hn_quant_to_qoperators(hn_model *m, bool allows_ms, hone_error *err);

#endif /* HN_QUANT_INT_H */
