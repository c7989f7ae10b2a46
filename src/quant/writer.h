/* Inside quant/: what the writers of dynamic and weight-only models share. */
#ifndef HN_QUANT_WRITER_H
#define HN_QUANT_WRITER_H

#include "quant/feedback.h"
#include "quant/writers.h"

/* A quantized weight in the graph: values. */
typedef struct hn_quant_weight {
    hn_id q, scale, zero;
    hn_quant_result tensors;
} hn_quant_weight;

/* How a weight is quantized. */
typedef struct hn_weight_form {
    hn_quant_type type;
    int32_t axis; /* < 0: per tensor */
    int64_t block;
    bool is_transposed; /* the last two axes are exchanged afterwards */
    int32_t scale_rank; /* per channel: 1, or that many with ones around `scale_axis` */
    int32_t scale_axis;
    bool has_one_zero; /* a scalar: all channels have the same */
    float factor;      /* of the scales: alpha of a Gemm; 0: none */
    bool joins_axes;   /* axes 0 and 1 count as one: each pair of indices has a scale */
    bool is_nbits;     /* packed as MatMulNBits wants it */
} hn_weight_form;

typedef struct hn_known_weight {
    hn_weight_form form;
    hn_quant_weight weight;
    uint32_t next; /* an older form of the same value; HN_MAP_NONE */
} hn_known_weight;

typedef struct hn_writer {
    hn_model *m;
    hn_graph *g;
    const hn_write_options *o;
    bool is_dynamic;
    hn_arena *scratch; /* lives as long as the writer */
    hone_error *err;
    hn_map activations; /* (block, value) -> place in activation_list */
    HN_VEC(hn_quant_weight) activation_list;
    hn_map weights; /* value -> the newest form of it */
    HN_VEC(hn_known_weight) weight_list;
    hn_moments **moments; /* by node: of its inputs on samples; NULL: unknown */
    uint32_t n_moments;
    HN_VEC(hn_id) halves[2]; /* nodes to compute in float16, bfloat16 */
    hn_quant_note note;      /* of the node at hand */
} hn_writer;

/* One node at hand: new nodes go before it into one patch. */
typedef struct hn_node_writer {
    hn_writer *w;
    hn_id node;
    hn_id before; /* where new nodes go: the node, or the one whose body it is in */
    hn_patch *patch;
    hn_quant_type type;  /* of its weights */
    hn_id results[3][2]; /* values and what takes their places */
    uint32_t n_results;
} hn_node_writer;

/* Quantizes a node, or says in note.reason why not. */
typedef hone_status (*hn_write_node_fn)(hn_node_writer *n);
typedef struct hn_write_row {
    const char *domain, *op;
    hn_write_node_fn write;
} hn_write_row;
/* Infers types, raises the opset where the types need it, and calls the row of every node that is
 * to be quantized. */
hone_status hn_write_model(hn_model *m, const hn_write_options *o, bool is_dynamic, uint32_t n_rows,
                           const hn_write_row *rows, hone_error *err);
/* Weights that are listed as inputs become constants. */
void hn_write_unlist_weights(hn_model *m);
/* These nodes, and no others, compute in half precision. */
hone_status hn_write_halves(hn_model *m, hn_dtype to, uint32_t n, const hn_id *nodes,
                            hone_error *err);

hone_status hn_write_dynamic_lstm(hn_node_writer *n);

/* Weight-only forms, which dynamic models have for small types. */
hone_status hn_write_stored_product(hn_node_writer *n); /* MatMul, Gemm */
hone_status hn_write_stored_gather(hn_node_writer *n);
/* Gather of integers with a scale for all, or per column. */
hone_status hn_write_gather_columns(hn_node_writer *n, const hn_tensor *table);
hone_status hn_write_stored_weights(hn_node_writer *n); /* Conv, ConvTranspose, LSTM, GRU, RNN */

/* ---- of the node at hand --------------------------------------------------------------------- */

hone_status hn_write_skip(hn_node_writer *n, const char *reason);     /* it stays float */
hn_id hn_write_input(const hn_node_writer *n, uint32_t i);            /* HN_NONE when absent */
const hn_tensor *hn_write_const(const hn_node_writer *n, uint32_t i); /* NULL: not constant */
/* The constant matrix that input i is, or is the Transpose of: tied weights of an embedding table
 * are too large to be transposed when a model is optimized. */
const hn_tensor *hn_write_matrix(const hn_node_writer *n, uint32_t i, hn_id *value,
                                 bool *is_transposed);
hn_dtype hn_write_elem(const hn_node_writer *n, hn_id value); /* HN_UNDEFINED: unknown */
int64_t hn_write_int(const hn_node_writer *n, const char *attr, int64_t absent);
float hn_write_float(const hn_node_writer *n, const char *attr, float absent);

/* A new node named after the one at hand; returns its first output, HN_NONE after a failure, which
 * the patch remembers. */
hn_id hn_write_op(hn_node_writer *n, const char *domain, const char *op, uint32_t n_inputs,
                  const hn_id *inputs, uint32_t n_outputs, uint32_t n_attrs, const hn_attr *attrs);
hn_attr hn_write_int_attr(hn_node_writer *n, const char *name, int64_t value);
/* An initializer; its name begins with that of `of`. */
hn_id hn_write_init(hn_node_writer *n, hn_id of, const char *suffix, const hn_tensor *t);
/* New nodes go to the block of this value, before the node at hand or the node whose body it is in:
 * runtimes look for constants of a node in its own block. HN_NONE: before the node at hand. */
void hn_write_beside(hn_node_writer *n, hn_id value);
/* Readers of the node's output i read `with`. */
void hn_write_result(hn_node_writer *n, uint32_t i, hn_id with);

/* The quantized form of a constant; each is made once. */
hone_status hn_write_weight(hn_node_writer *n, hn_id value, const hn_weight_form *form,
                            hn_quant_weight *out);
/* The outputs of one DynamicQuantizeLinear per value and block. */
hone_status hn_write_activation(hn_node_writer *n, hn_id value, hn_quant_weight *out);
/* Numbers of MatMulNBits: [n, blocks, bytes] from blocks along the rows (k_axis 0) or columns of a
 * matrix; scales [n, blocks], zero points packed alike. */
hone_status hn_nbits_pack(hn_arena *arena, int32_t k_axis, int64_t block, hn_quant_result *r);
/* DequantizeLinear of a weight along an axis (ignored for a scalar scale). */
hn_id hn_write_dequantize(hn_node_writer *n, const hn_quant_weight *w, hn_id q, int32_t axis,
                          int64_t block);

#endif /* HN_QUANT_WRITER_H */
