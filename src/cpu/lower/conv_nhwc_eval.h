/* Inside ops/: convolutions of channels-last floats, between what prepares and what runs them. */
#ifndef HN_CONV_LAST_EVAL_H
#define HN_CONV_LAST_EVAL_H

#include "cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "ops/eval/onnx/window_eval.h"

/* How a job without packed filters is done. */
hn_conv_nhwc_method hn_conv_nhwc_unpacked(const hn_conv_nhwc_job *job);
/* Filters of argument `arg`, laid out for the sizes and the method of a job; its w is the
 * argument's data. NULL: that method lays none out. */
hone_status hn_filters_nhwc_blob(hn_eval *c, hn_conv_nhwc_job *job, uint32_t arg, hn_blob **out);
/* Sets method and packed filters: those that were prepared, or else how to do without. */
void hn_conv_nhwc_take(const hn_eval *c, hn_conv_nhwc_job *job);
/* Takes the scratch memory that the job needs, and computes. */
hone_status hn_conv_nhwc_run(hn_eval *c, hn_conv_nhwc_job *job);

#endif /* HN_CONV_LAST_EVAL_H */
