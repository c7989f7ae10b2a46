/* Inside cpu/: groups of DequantizeLinear, an operator on floats, and QuantizeLinear, which one
 * operator on bytes computes. */
#ifndef HN_QDQ_H
#define HN_QDQ_H

#include "cpu/passes/passes_cpu.h"

/* Bytes that a DequantizeLinear reads: real = (x - zero) * scale. All parameters are constant. */
typedef struct hn_dequantized {
    hn_id node;
    hn_id x, scale, zero; /* zero: HN_NONE when it is left out */
    hn_dtype elem;
    const hn_tensor *scales;
    int32_t axis; /* of several scales; -1: there is one */
} hn_dequantized;
/* False when the value comes from elsewhere, has other types, or parameters that are not known. */
bool hn_dequantized_read(const hn_rule *r, hn_id value, hn_dequantized *out);
/* The same for integers of any type. */
bool hn_dequantized_read_any(const hn_rule *r, hn_id value, hn_dequantized *out);
/* The zero point as a value; new where it was left out. */
hn_id hn_dequantized_zero(hn_rule *r, const hn_dequantized *d);

/* A QuantizeLinear of floats to bytes with one constant scale. */
typedef struct hn_quantized {
    hn_id node, scale, zero; /* zero: HN_NONE when it is left out */
    hn_dtype elem;
} hn_quantized;
bool hn_quantized_read(const hn_rule *r, hn_id node, hn_quantized *out);
hn_id hn_quantized_zero(hn_rule *r, const hn_quantized *q);
/* The one QuantizeLinear that alone reads a value, in the root's block. */
bool hn_quantized_reader(const hn_rule *r, hn_id value, hn_quantized *out);

/* Do both have the same type, scale and zero point? */
bool hn_same_bytes(const hn_rule *r, const hn_dequantized *d, const hn_quantized *q);
/* A number of a constant scale or zero point; 0 for an absent one. */
double hn_param_at(const hn_rule *r, hn_id value, uint64_t i);

/* A bias of n numbers as int32 with the scales a * b[i]: constant floats, or integers behind a
 * DequantizeLinear. HN_NONE with *is_bad set: it is none of them, or numbers are too large. */
hn_id hn_int32_bias(hn_rule *r, hn_id bias, const hn_tensor *a, const hn_tensor *b, uint64_t n,
                    bool *is_bad);

/* The rules of qdq-groups, by file. */
hone_status hn_qdq_conv(hn_rule *r);
hone_status hn_qdq_qlinear_conv(hn_rule *r);
hone_status hn_qdq_matmul(hn_rule *r);
hone_status hn_qdq_matmul_bias(hn_rule *r);
hone_status hn_qdq_gemm(hn_rule *r);
hone_status hn_qdq_binary(hn_rule *r);
hone_status hn_qdq_softmax(hn_rule *r);
hone_status hn_qdq_concat(hn_rule *r);
hone_status hn_qdq_pool(hn_rule *r);
hone_status hn_qdq_dynamic_conv(hn_rule *r);
hone_status hn_qdq_dynamic_conv_bias(hn_rule *r);
hone_status hn_qdq_constant(hn_rule *r);
hone_status hn_qdq_cancel(hn_rule *r);
hone_status hn_qdq_never_nan(hn_rule *r);
hone_status hn_qdq_move(hn_rule *r);
hone_status hn_qdq_split(hn_rule *r);
hone_status hn_qdq_quantize_first(hn_rule *r);
hone_status hn_qdq_table(hn_rule *r);
hone_status hn_qdq_join_tables(hn_rule *r);

#endif /* HN_QDQ_H */
