/* Channels-last convolutions of 8-bit integers with 32-bit sums, along one or two axes:
 *   sum[n, out, f] = sum of (x[n, in, c] - x_zero) * (w[f, c, tap] - w_zero[f])
 * modulo 2^32, and what becomes of them (int8_result.h). x is [batch, in, channels], y is
 * [batch, out, filters]. The padding has the value of the zero point. Results are the same on every
 * processor and for any number of threads. */
#ifndef HN_CONV_INT8_H
#define HN_CONV_INT8_H

#include "cpu/kernels/gemm_int8/int8_result.h"
#include "cpu/kernels/kernel.h"

typedef struct hn_conv_int8_form hn_conv_int8_form; /* conv_int8_form.h */
typedef struct hn_conv_int8_job {
    const hn_window *window;
    int64_t batch, channels, filters, groups;
    const void *x; /* int8_t or uint8_t */
    bool x_is_signed;
    int64_t x_step;        /* elements from pixel to pixel */
    uint8_t x_zero;        /* its byte */
    const void *packed_w;  /* by hn_conv_int8_pack */
    hn_int8_result result; /* arrays by hn_conv_int8_fill_columns; residual.row as y_step */
    void *y;
    int64_t y_step;
    const hn_conv_int8_form *form; /* of this job; NULL: read in the call */
    int n_threads;                 /* at most so many run it; the workspace is divided among them */
    void *workspace;               /* hn_conv_int8_workspace_bytes, aligned to HN_CONV_INT8_ALIGN */
} hn_conv_int8_job;

#define HN_CONV_INT8_ALIGN 64

/* Whether the sizes are possible, and the processor has instructions for it. */
bool hn_conv_int8_is_fast(const hn_window *window, int64_t groups);

/* Filters w [filters, channels / groups, taps] as tiles read them; by window->kernel, dilation,
 * channels, filters, groups of the job. The sums of columns are part of it. */
size_t hn_conv_int8_packed_bytes(const hn_conv_int8_job *job);
void hn_conv_int8_pack(const hn_conv_int8_job *job, const void *w, bool is_signed, void *out);

/* Sets the arrays of job->result in memory of the caller. Of `columns` are read: b_zeros (one or
 * one per filter), b_is_signed, bias, scales, scale, divisor, float_bias. */
size_t hn_conv_int8_columns_bytes(const hn_conv_int8_job *job);
void hn_conv_int8_fill_columns(const hn_int8_columns *columns, void *memory, hn_conv_int8_job *job);

/* By everything but pointers to data. */
size_t hn_conv_int8_workspace_bytes(const hn_conv_int8_job *job);
void hn_conv_int8(hn_pool *pool, const hn_conv_int8_job *job);

#endif /* HN_CONV_INT8_H */
