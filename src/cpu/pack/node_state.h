/* Work that is done once per node, not in every run. Each pair of functions makes a state and
 * releases it. */
#ifndef HN_NODE_STATE_H
#define HN_NODE_STATE_H

#include "cpu/kernels/gemm_nbits/gemm_nbits.h"
#include "cpu/kernels/kernel.h"
#include "ops/eval_engine.h"

/* Blobs made of constant arguments, whose data are read by `fill` alone: a key, what the arguments
 * are, then the blob. */
void hn_prepared_key(const hn_eval *c, hn_blob_key *key, hn_blob_kind kind, uint64_t n_bytes);
void hn_prepared_key_arg(const hn_eval *c, hn_blob_key *key, uint32_t arg);
hone_status hn_prepared_blob(const hn_eval *c, const hn_blob_key *key, hn_blob_fill_fn fill,
                             void *job, hn_blob **out);

/* ---- constant weights, packed for the kernels of this processor ---- */

/* How the floats of arguments 1 to n_args are packed; fill(job) writes them. */
typedef struct hn_weights_form {
    hn_blob_kind kind;
    uint32_t n_args;
    int64_t n_elems;
    bool is_half;     /* two bytes for an element, not four */
    int64_t sizes[3]; /* on which the packing depends */
    hone_status (*fill)(void *job, void *out);
    void *job;
} hn_weights_form;
/* A state for hn_packed_weights and hn_release_weights, shared by all that pack the same. */
hone_status hn_take_weights(hn_eval *c, const hn_weights_form *form, void **state);

/* The constant right side of a float product (with attribute transB), made of what the
 * session asked for; of floats where those do not have its numbers. */
hone_status hn_prepare_right_side(hn_eval *c, void **state);
typedef struct hn_packed_side {
    const void *at; /* NULL: not packed */
    hn_stored as;
} hn_packed_side;
hn_packed_side hn_packed_right_side(const hn_eval *c);
/* The constant right side of a product of 8-bit integers, which is argument 1, or argument 3 (with
 * attribute transB). Released by hn_release_weights. */
hone_status hn_prepare_int8_arg1(hn_eval *c, void **state);
hone_status hn_prepare_int8_arg3(hn_eval *c, void **state);
const void *hn_packed_int8(const hn_eval *c); /* that, or filters; NULL: not packed */
/* The constant weights of MatMulNBits, as small as they are; released by hn_release_weights. */
hone_status hn_prepare_nbits(hn_eval *c, void **state);
/* Fills in what such a step multiplies, but for m, arrays and workspace; false: not packed. */
bool hn_packed_nbits(const hn_eval *c, hn_gemm_nbits_job *job);
/* The constant weights of DynamicQuantizeLSTM, of inputs, then of states: packed for products of
 * bytes, direction by direction, where the processor has those and its activations are the usual
 * ones; else as hn_widen_gates makes them.
 * Released by hn_release_weights. */
hone_status hn_prepare_gates(hn_eval *c, void **state);
const float *hn_packed_wide_gates(const hn_eval *c); /* the latter; NULL: none */
/* The constant weights of a recurrent layer of floats with the usual activations. */
hone_status hn_prepare_recurrent(hn_eval *c, void **state);
/* The constant filters of a float convolution (with attribute group). */
hone_status hn_prepare_filters(hn_eval *c, void **state);
void hn_release_weights(const hn_op *op, void *state);
/* The packed floats; NULL: none. */
const float *hn_packed_weights(const hn_eval *c);

/* The same for channels last, as the chosen method needs it. */
hone_status hn_prepare_filters_nhwc(hn_eval *c, void **state);
void hn_release_filters_nhwc(const hn_op *op, void *state);
/* The constant filters of a channels-last convolution of 8-bit integers, which are argument 3, or
 * argument 1. Released by hn_release_weights. */
hone_status hn_prepare_int8_filters_arg3(hn_eval *c, void **state);
hone_status hn_prepare_int8_filters_arg1(hn_eval *c, void **state);
/* For each convolution of a chain. */
hone_status hn_prepare_chain(hn_eval *c, void **state);
void hn_release_chain(const hn_op *op, void *state);
/* And for transposed convolutions, and those that read channels first; released by
 * hn_release_weights. */
hone_status hn_prepare_transposed_nhwc(hn_eval *c, void **state);
hone_status hn_prepare_nchw_filters(hn_eval *c, void **state);

#endif /* HN_NODE_STATE_H */
