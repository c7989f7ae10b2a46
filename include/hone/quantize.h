/*
 * hone: quantization. hone.h includes this header; its conventions apply here, too.
 * docs/quantize.md explains the methods.
 */
#ifndef HONE_QUANTIZE_H
#define HONE_QUANTIZE_H

#include "hone/hone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- samples --------------------------------------------------------------------------------- */

/* What one run of a model gets. */
typedef struct hone_sample {
    const char *name;  /* for messages; may be NULL */
    int64_t label;     /* class; -1: unknown */
    uint32_t n_inputs; /* 0: there are no more samples */
    const char *const *inputs;
    const hone_value *const *values;
    uint64_t batch; /* how many samples of a dataset it is; 0 counts as 1 */
} hone_sample;

/* Samples in order. `read` is asked for 0, 1, 2, ..., and again from 0 for another pass; what it
 * gives is valid until the next call. */
typedef struct hone_dataset {
    void *ctx;
    uint64_t n_samples; /* 0: unknown */
    hone_status (*read)(void *ctx, uint64_t i, hone_sample *sample, hone_error *error);
} hone_dataset;

/* ---- options --------------------------------------------------------------------------------- */

typedef enum hone_quantize_mode {
    HONE_QUANTIZE_STATIC,     /* activations by ranges that samples have shown */
    HONE_QUANTIZE_DYNAMIC,    /* activations by the range of each run */
    HONE_QUANTIZE_WEIGHT_ONLY /* activations stay float */
} hone_quantize_mode;

typedef enum hone_quantize_format {
    HONE_QUANTIZE_QDQ,      /* QuantizeLinear and DequantizeLinear around float operators */
    HONE_QUANTIZE_QOPERATOR /* QLinearConv, QLinearMatMul, com.microsoft.QLinearAdd, ... */
} hone_quantize_format;

/* How a range of an activation follows from what was observed. */
typedef enum hone_calibration {
    HONE_CALIBRATION_MINMAX,         /* least and greatest number */
    HONE_CALIBRATION_MOVING_AVERAGE, /* of the least and greatest number of each sample */
    HONE_CALIBRATION_PERCENTILE,     /* leaves out a share of the largest numbers */
    HONE_CALIBRATION_ENTROPY,        /* least divergence (KL) of the quantized distribution */
    HONE_CALIBRATION_MSE,            /* least mean squared error */
    HONE_CALIBRATION_AUTO            /* per tensor the one of them with the least squared error */
} hone_calibration;

/* Wishes for one tensor, in place of what the options say of all. */
typedef struct hone_quantize_override {
    const char *tensor;
    int32_t type;     /* ONNX number of an element type; 0: as the others; FLOAT (1): not at all */
    int symmetric;    /* 0, 1; -1: as the others */
    int reduce_range; /* 0, 1; -1: as the others */
    bool has_range;   /* min and max are the range, whatever was observed */
    bool has_params;  /* scale and zero_point are set */
    double min, max;
    float scale;
    int32_t zero_point;
} hone_quantize_override;

/* The type of the weights of layers whose name fits a pattern: `*` stands for any characters, `?`
 * for one. */
typedef struct hone_quantize_choice {
    const char *pattern;
    int32_t type; /* FLOAT (1): they stay as they are; FLOAT16 (10) and BFLOAT16 (16): such layers
                     compute in half precision */
} hone_quantize_choice;

/* The axis of the output channels of the weights of an operator: static mode has a scale per index
 * of it. */
typedef struct hone_quantize_axis {
    const char *op_type;
    int32_t axis;
} hone_quantize_axis;

typedef struct hone_quantize_options {
    size_t size;
    hone_quantize_mode mode;     /* default STATIC */
    hone_quantize_format format; /* default QDQ */
    bool standard_ops; /* QOPERATOR in static mode: operators of ONNX only, none of com.microsoft */
    /* ONNX numbers of element types: uint8 2 (default of activations), int8 3 (default of weights),
     * uint16 4, int16 5, uint4 21, int4 22, uint2 25, int2 26, float8 17 to 20. */
    int32_t activation_type, weight_type;
    bool activation_symmetric;
    bool activation_restricted_asymmetric; /* uint8: the zero point is 0, or 128 where the range has
                                              negative numbers */
    int weight_symmetric;                  /* 0, 1; -1 (default): where the type is signed */
    bool per_channel;        /* a scale per output channel of a weight; default true */
    uint32_t n_channel_axes; /* operators whose weights have scales along another axis */
    const hone_quantize_axis *channel_axes;
    bool reduce_range;   /* 7 bits for 8-bit weights: for runtimes whose products saturate on
                            processors without VNNI. hone's do not */
    uint32_t block_size; /* a scale per so many weights of a channel; 0: none (static, dynamic) or
                            32 (weight-only) */
    /* What is quantized: all of these, if any are named, without the excluded ones. */
    uint32_t n_op_types;
    const char *const *op_types; /* 0: those with integer kernels */
    uint32_t n_excluded_op_types;
    const char *const *excluded_op_types;
    uint32_t n_float_output_op_types;
    const char *const *float_output_op_types; /* of these operators no output is quantized, unless a
                                                 quantized node reads it */
    uint32_t n_nodes;
    const char *const *nodes;
    uint32_t n_excluded_nodes;
    const char *const *excluded_nodes;
    bool keep_first, keep_last; /* in float: the layers that read inputs, or compute outputs */
    uint32_t keep_sensitive;    /* so many layers with the largest errors stay float (static) */
    uint32_t n_choices;         /* the first that fits decides */
    const hone_quantize_choice *choices;
    uint32_t n_overrides;
    const hone_quantize_override *overrides;
    bool matmul_const_b_only;  /* products of two activations stay float; default true: attention is
                                  faster and more accurate so */
    bool force_no_input_check; /* quantize operators of op_types even between float ones */
    bool keep_removable_activations; /* Relu and Clip that the quantization of their output implies
                                        stay in the graph */
    bool quantize_bias;              /* to int32; default true */
    bool weight_adjust_for_int32_bias; /* larger scales of weights where the integers of a bias
                                          would not fit; default true */
    bool add_qdq_pair_to_weight;       /* weights stay float, with a QuantizeLinear behind */
    bool dedicated_qdq_pair;  /* QDQ: every reader of an activation has a pair of its own */
    bool use_qdq_contrib_ops; /* QDQ: the pairs are operators of com.microsoft, which have 16 and 4
                                 bits in every opset */
    /* Calibration of activations, in static mode. */
    const hone_dataset *samples;    /* may be NULL where calibration_cache has all ranges */
    uint64_t max_samples;           /* 0: all */
    hone_calibration calibration;   /* default AUTO */
    double percentile;              /* default 99.999 */
    double moving_average_constant; /* weight of a new sample; default 0.01 */
    bool range_symmetric;           /* ranges become [-m, m] */
    double minimum_real_range;      /* a shorter range is extended to it; 0: none */
    const char *calibration_cache;  /* JSON file: read if it exists, else written; may be NULL */
    /* Rescue of accuracy, in static mode; all use the samples. */
    bool equalize;       /* channels of activations get similar ranges by factors that move into
                            the layers before and behind them (cross-layer equalization,
                            SmoothQuant) */
    double smooth_alpha; /* how much of the spread moves into weights, 0 to 1; < 0: as it is best */
    bool correct_bias;   /* biases make up for the mean error of their layer */
    bool gptq;           /* weights are rounded so that they make up for each other's errors on the
                            samples; other modes do so wherever there are samples */
    bool keep_outliers;  /* channels of the inputs of products with far larger numbers than the
                            others are computed in float */
    bool search_scales;  /* of weights: those with the least squared error, not those of the range
                            (weight-only, dynamic with less than 8 bits) */
    int64_t accuracy_level; /* of MatMulNBits: 4 lets runtimes compute with int8; 0: not said */
    bool explain;     /* measure errors layer by layer; takes another pass over some samples */
    hone_level level; /* of optimization before; default EXTENDED */
    int n_threads;    /* 0: all processors available to this process */
    hone_progress_fn progress; /* samples done; may be NULL */
    void *progress_ctx;
} hone_quantize_options;
HONE_API void hone_quantize_options_init(hone_quantize_options *options);

/* ---- quantizing ------------------------------------------------------------------------------ */

/* What was done, and why not. */
typedef struct hone_quantization hone_quantization;
/* The result shares data with the model, which is not changed and must outlive it. `report` may be
 * NULL. Fails with HONE_E_INVALID when the model is quantized already, and when activations are not
 * finite. */
HONE_API hone_status hone_model_quantize(const hone_model *model,
                                         const hone_quantize_options *options,
                                         hone_model **quantized, hone_quantization **report,
                                         hone_error *error);
HONE_API void hone_quantization_free(hone_quantization *report);

typedef struct hone_quantization_info {
    uint32_t n_nodes;                      /* entries below */
    uint32_t n_quantized;                  /* of them */
    uint64_t n_samples;                    /* that calibration has read */
    uint64_t float_bytes, quantized_bytes; /* of weights, before and after */
    uint32_t n_notes;                      /* sentences about what was done */
} hone_quantization_info;
HONE_API void hone_quantization_get_info(const hone_quantization *report,
                                         hone_quantization_info *info);
/* A node that could be quantized, or was asked for. */
typedef struct hone_quantized_node {
    const char *node, *op;
    bool is_quantized;
    const char *reason;                    /* why it stayed float; "" */
    uint64_t float_bytes, quantized_bytes; /* of its weights */
    /* Signal to noise in decibels; NAN: not measured. Of the weight; of the activations that it
     * reads; of its output when it alone is quantized (sensitivity: small numbers hurt). */
    double weight_sqnr, input_sqnr, output_sqnr;
} hone_quantized_node;
HONE_API void hone_quantization_get_node(const hone_quantization *report, uint32_t i,
                                         hone_quantized_node *node);
HONE_API const char *hone_quantization_note(const hone_quantization *report, uint32_t i);
/* One JSON object with all of the above, and the ranges of activations. */
HONE_API hone_status hone_quantization_write_json(const hone_quantization *report,
                                                  const char *label, hone_write_fn write, void *ctx,
                                                  hone_error *error);

#ifdef __cplusplus
}
#endif

#endif /* HONE_QUANTIZE_H */
