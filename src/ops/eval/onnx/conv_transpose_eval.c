/* Windows added into images: transposed convolution and Col2Im. */
#include "ops/eval/onnx/window_eval.h"

#define HN_TEMPLATE "ops/eval/onnx/conv_transpose_tmpl.h"
#include "base/each_type_tmpl.h"

/* ---- ConvTranspose --------------------------------------------------------------------------- */

static hone_status eval_conv_transpose(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    hn_window s;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_window_read_transposed(hn_eval_node(c), x->rank - 2, y->dims + 2, x->dims + 2, w->dims + 2,
                              &s);
    if (y->dtype == HN_F64)
        return transpose_all_f64(c, &s, x->data, w->data, bias ? bias->data : NULL, y->data);
    const float *wide_x = hn_wide_f32(c, x), *wide_w = hn_wide_f32(c, w),
                *wide_bias = bias ? hn_wide_f32(c, bias) : NULL;
    float *wide = hn_buffer_f32(c, y);
    HN_TRY_PTR(wide_x && wide_w && wide && (!bias || wide_bias));
    HN_TRY(transpose_all_f32(c, &s, wide_x, wide_w, wide_bias, wide));
    hn_narrow_f32(y, wide);
    return HONE_OK;
}
const hn_impl hn_impl_conv_transpose[1] = {{.eval = eval_conv_transpose}};

/* ---- Col2Im ---------------------------------------------------------------------------------- */

static hone_status read_col2im_window(hn_eval *c, const hn_array *y, hn_window *s) {
    int32_t n_axes = y->rank - 2;
    int64_t block[HN_MAX_RANK], positions[HN_MAX_RANK];
    hn_window_attrs attrs;
    hn_load_i64(hn_arg(c, 2), 0, (uint64_t)n_axes, block);
    hn_window_attrs_get(hn_eval_node(c), n_axes, &attrs);
    for (int32_t i = 0; i < n_axes; i++) {
        attrs.axes[i].kernel = block[i];
        positions[i] = hn_window_attrs_positions(&attrs, i, y->dims[2 + i]);
    }
    hn_window_set(&attrs, y->dims + 2, positions, block, s);
    const hn_array *x = hn_arg(c, 0);
    if (s->out_elems != x->dims[2] || s->kernel_elems * y->dims[1] != x->dims[1])
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "the input has %lld rows and %lld columns, but the image has %lld "
                            "channels, the block %lld "
                            "elements and %lld positions",
                            (long long)x->dims[1], (long long)x->dims[2], (long long)y->dims[1],
                            (long long)s->kernel_elems, (long long)s->out_elems);
    return HONE_OK;
}

/* Integers that float cannot hold exactly go through double. */
static hone_status eval_col2im(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    hn_window s;
    if (!y)
        return HONE_OK;
    if (!hn_dtype_is_float(x->dtype) && !hn_dtype_is_int(x->dtype))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "elements of type %s cannot be added up",
                            hn_dtype_name(x->dtype));
    HN_TRY(read_col2im_window(c, y, &s));
    if (hn_dtype_is_int(x->dtype) || x->dtype == HN_F64) {
        const double *columns = hn_wide_f64(c, x);
        double *wide = hn_buffer_f64(c, y);
        HN_TRY_PTR(columns && wide);
        col2im_all_f64(c, &s, columns, wide);
        hn_narrow_f64(y, wide);
        return HONE_OK;
    }
    const float *columns = hn_wide_f32(c, x);
    float *wide = hn_buffer_f32(c, y);
    HN_TRY_PTR(columns && wide);
    col2im_all_f32(c, &s, columns, wide);
    hn_narrow_f32(y, wide);
    return HONE_OK;
}
const hn_impl hn_impl_col2im[1] = {{.eval = eval_col2im}};
