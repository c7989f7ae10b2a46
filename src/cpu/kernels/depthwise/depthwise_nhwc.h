/* Inside cpu/kernels: rows of a channels-last convolution with one channel per filter. */
#ifndef HN_CONV_NHWC_DEPTHWISE_H
#define HN_CONV_NHWC_DEPTHWISE_H

#include "cpu/kernels/conv_nhwc/conv_nhwc.h"

/* Outputs out0 .. out1 of one row, for some or all channels of one vector, or for several whole
 * vectors. Strides count floats. */
typedef struct hn_depthwise_row {
    const float *x; /* column 0 of the first row that the window has inside the input */
    int64_t n_rows; /* of the window, inside */
    int64_t x_row, x_col;
    int64_t in_w, kernel_w, stride_w, dilation_w, pad_w;
    const float *w;   /* whole vectors: [n_rows][kernel_w] */
    int64_t w_vector; /* from the weights of one vector to those of the next */
    float *y;         /* of output 0 */
    int64_t y_col, out0, out1;
    /* The residual is that of output 0, limits are always applied, and the unary function never. */
    hn_epilogue_f32 epilogue;
    int n_channels;
} hn_depthwise_row;

typedef void (*hn_depthwise_row_fn)(const hn_depthwise_row *row);

/* The rows of one instruction set. */
typedef struct hn_depthwise_set {
    int channels;     /* of a vector */
    int most_vectors; /* of one call */
    /* For such a width, stride and dilation of the window. */
    hn_depthwise_row_fn (*find)(int64_t kernel_w, int64_t stride_w, int64_t dilation_w);
} hn_depthwise_set;
/* NULL: plain C is best. */
const hn_depthwise_set *hn_depthwise_pick(void);

#endif /* HN_CONV_NHWC_DEPTHWISE_H */
