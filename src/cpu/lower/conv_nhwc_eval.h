/* Convolutions of channels-last floats: what packing and running them share. */
#ifndef HN_CONV_NHWC_EVAL_H
#define HN_CONV_NHWC_EVAL_H

#include "cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "cpu/lower/lower.h"
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

/* A node with inputs X, W, B and Z as a job. The job points at the window: not to be copied. */
typedef struct hn_conv_nhwc_call {
    hn_window window;
    hn_conv_nhwc_job job;
    bool is_fused;               /* the activation is part of the epilogue */
    bool has_bias, has_residual; /* of a lowered step: inputs B and Z */
} hn_conv_nhwc_call;
/* Everything that does not depend on the layout of X; window, channels, groups and method remain to
 * be set. */
hone_status hn_conv_nhwc_fill(hn_eval *c, hn_conv_nhwc_call *call);
/* Lowers a node whose call `fill` makes. */
typedef hone_status (*hn_conv_nhwc_fill_fn)(hn_eval *c, hn_conv_nhwc_call *call);
hone_status hn_conv_nhwc_lower(hn_eval *c, hn_conv_nhwc_fill_fn fill, hn_lowered *out);
/* Computes the job, and the activation where the epilogue does not have it. */
hone_status hn_conv_nhwc_call_run(hn_eval *c, hn_conv_nhwc_call *call);

#endif /* HN_CONV_NHWC_EVAL_H */
