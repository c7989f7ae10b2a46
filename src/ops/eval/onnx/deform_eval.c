/* Deformable convolution: every window element reads where an offset sends it. */
#include "ops/eval/onnx/window_eval.h"

#include <math.h>

#define HN_TEMPLATE "ops/eval/onnx/deform_tmpl.h"
#include "base/each_type_tmpl.h"

static hone_status eval_deform_conv(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *offset = hn_arg(c, 2),
                   *mask = hn_arg(c, 4);
    hn_array *y = hn_ret(c, 0);
    hn_window s;
    int64_t offset_groups = hn_attr_i(hn_eval_node(c), "offset_group", 1);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if (x->rank != 4)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED,
                            "deformable convolution is defined for images of rank 4, not %d",
                            x->rank);
    hn_window_read(hn_eval_node(c), 2, x->dims + 2, y->dims + 2, w->dims + 2, &s);
    uint64_t fields = (uint64_t)(x->dims[0] * offset_groups * s.kernel_elems * s.out_elems);
    if (offset_groups < 1 || x->dims[1] % offset_groups != 0 || offset->n_elems != 2 * fields ||
        (mask && mask->n_elems != fields))
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "offset and mask must have one entry per offset group, window element and "
            "output position");
    return y->dtype == HN_F64 ? deform_eval_f64(c, &s, y) : deform_eval_f32(c, &s, y);
}
const hn_impl hn_impl_deform_conv[1] = {{.eval = eval_deform_conv}};
