/* Writers that need no samples: they edit a model in place, so that its weights are integers.
 * Callers hand in a clone, optimized before, so that constants are initializers. */
#ifndef HN_QUANT_WRITERS_H
#define HN_QUANT_WRITERS_H

#include "quant/quant.h"

/* The type of the weights of nodes whose name fits a pattern; `*` stands for any characters, `?`
 * for one. HN_F32: they stay as they are; HN_F16, HN_BF16: such nodes compute in half precision. */
typedef struct hn_quant_choice {
    const char *pattern;
    hn_dtype type;
} hn_quant_choice;

typedef enum hn_quant_rounding {
    HN_ROUND_RANGE, /* scales of the range: what onnxruntime's tools do */
    HN_ROUND_SEARCH /* scales with the least squared error of the weight */
} hn_quant_rounding;

/* What became of a node that a writer could quantize. Strings live during the call. */
typedef struct hn_quant_note {
    const char *node, *op;
    const char *weight; /* "": none, or not constant */
    bool is_quantized;
    const char *reason;                    /* why it was not; "" */
    hn_dtype type;                         /* of its weights now */
    uint64_t float_bytes, quantized_bytes; /* of its weights, scales included */
    double weight_sqnr;                    /* decibels; NAN: unknown */
    double feedback_gain; /* how many times smaller rounding with feedback made the squared error
                             of its products on the samples; 1: not at all */
} hn_quant_note;

typedef struct hn_write_options {
    hn_quant_type weight;
    bool is_per_channel;
    int64_t block;              /* weight-only: numbers of a channel that share a scale; 0: all */
    hn_quant_rounding rounding; /* weight-only */
    bool allows_ms;  /* com.microsoft operators: DynamicQuantizeLSTM, QAttention, MatMulNBits */
    bool uses_nbits; /* weight-only: MatMulNBits where it fits, else DequantizeLinear */
    int64_t accuracy_level; /* of MatMulNBits: 4 lets onnxruntime compute with int8; 0: not said */
    bool is_const_b_only;   /* dynamic: products of two activations stay float */
    uint32_t n_ops;         /* only these operators; 0: all that the writer knows */
    const char *const *ops;
    uint32_t n_excluded_ops;
    const char *const *excluded_ops;
    uint32_t n_nodes; /* patterns of names: only these; 0: all */
    const char *const *nodes;
    uint32_t n_excluded_nodes;
    const char *const *excluded_nodes;
    uint32_t n_choices; /* the first that fits decides */
    const hn_quant_choice *choices;
    /* Samples: numbers of products are rounded so that they make up for each other's errors on
     * them; NULL: each to the nearest. */
    const hn_quant_source *samples;
    uint64_t max_samples; /* 0: all */
    hn_pool *pool;        /* may be NULL */
    hone_progress_fn progress;
    void *progress_ctx;
    hone_status (*tell)(void *ctx, const hn_quant_note *note); /* may be NULL */
    void *ctx;
} hn_write_options;
void hn_write_options_init(hn_write_options *o);

/* Activations are quantized by the range that they have in each run: DynamicQuantizeLinear and
 * MatMulInteger or ConvInteger. Types other than int8 and uint8 are stored only, as below. */
hone_status hn_quant_dynamic(hn_model *m, const hn_write_options *o, hone_error *err);
/* Weights are stored in the type and computed with as floats: MatMulNBits, or DequantizeLinear
 * before the node. */
hone_status hn_quant_weight_only(hn_model *m, const hn_write_options *o, hone_error *err);

bool hn_quant_name_fits(const char *pattern, const char *name);

#endif /* HN_QUANT_WRITERS_H */
