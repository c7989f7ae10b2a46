/* Inside cpu/lower/: elements that one number per lane, found before, goes into. */
#ifndef HN_LANE_LOWER_H
#define HN_LANE_LOWER_H

#include "cpu/lower/lower.h"
#include "ops/eval/onnx/axis_eval.h"

/* axis_lower.c: output 0 is what the form makes of argument 0 along the axis, as it is evaluated.
 */
hone_status hn_lower_lanes(hn_eval *c, const hn_axis_view *v, hn_lane_form form, hn_lowered *out);

#endif /* HN_LANE_LOWER_H */
