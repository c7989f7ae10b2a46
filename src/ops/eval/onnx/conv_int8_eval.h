/* Sums of a convolution of bytes: ConvInteger, QLinearConv. */
#ifndef HN_CONV_INT8_EVAL_H
#define HN_CONV_INT8_EVAL_H

#include "ops/eval/onnx/window_eval.h"

typedef struct hn_byte_conv {
    const hn_window *window;
    const hn_array *x, *x_zero, *w, *w_zero, *bias; /* zero points and bias may be NULL */
    int64_t groups;
} hn_byte_conv;

/* Bytes, enough filters, and a processor that multiplies bytes. */
bool hn_byte_conv_fits(const hn_byte_conv *v);
/* Sums of (x - x_zero) * (w - w_zero) plus the bias, modulo 2^32. */
hone_status hn_byte_conv_sums(hn_eval *c, const hn_byte_conv *v, int32_t *sums);
/* The same on every processor and for all sizes; y tells the positions, window and groups are read
 * from the node. Padding is the zero point, so it adds nothing. */
hone_status hn_conv_sums(hn_eval *c, hn_byte_conv *in, const hn_array *y, int32_t *sums);

#endif /* HN_CONV_INT8_EVAL_H */
