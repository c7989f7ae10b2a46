/* Convolutions of channels-last floats: what packing and running them share. */
#ifndef HN_CONV_NHWC_EVAL_H
#define HN_CONV_NHWC_EVAL_H

#include "cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "ops/eval/onnx/window_eval.h"

/* The method for a job without packed filters. */
hn_conv_nhwc_method hn_conv_nhwc_unpacked(const hn_conv_nhwc_job *job);
/* Filters of argument `arg`, packed for the sizes and the method of a job; its w is the argument's
 * data. NULL: that method does not pack them. */
hone_status hn_filters_nhwc_blob(hn_eval *c, hn_conv_nhwc_job *job, uint32_t arg, hn_blob **out);
/* Sets method and packed filters: those that were prepared, or else how to do without. */
void hn_conv_nhwc_take(const hn_eval *c, hn_conv_nhwc_job *job);
/* Allocates the workspace that the job needs, and computes. */
hone_status hn_conv_nhwc_run(hn_eval *c, hn_conv_nhwc_job *job);

#endif /* HN_CONV_NHWC_EVAL_H */
