/* Windows added into images: transposed convolution and Col2Im. */
#include "ops/eval/onnx/window_eval.h"

#define HN_TEMPLATE "ops/eval/onnx/conv_transpose_tmpl.h"
#include "base/each_type_tmpl.h"

/* ---- ConvTranspose --------------------------------------------------------------------------- */

/* A wanted output_shape and SAME take away at both ends what is too much. */
void hn_window_read_transposed(const hn_infer *node, int32_t n_axes, const int64_t *image,
                               const int64_t *positions, const int64_t *kernel, hn_window *s) {
    uint32_t n_extra, n_shape;
    const int64_t *extra = NULL, *output_shape = NULL;
    bool has_extra = hn_attr_ints(node, "output_padding", &n_extra, &extra) && n_extra > 0;
    bool has_shape = hn_attr_ints(node, "output_shape", &n_shape, &output_shape) && n_shape > 0;
    hn_window_read(node, n_axes, image, positions, kernel, s);
    for (int32_t i = 0; i < s->n_axes && (has_shape || hn_window_is_same(node)); i++) {
        int64_t total =
            (s->out[i] - 1) * s->stride[i] + (s->kernel[i] - 1) * s->dilation[i] + 1 - s->in[i];
        total = HN_MAX(total + (has_extra ? extra[i] : 0), 0);
        s->pad[i] = hn_attr_is(node, "auto_pad", "SAME_UPPER") ? total / 2 : total - total / 2;
    }
}

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
    float *wide = hn_room_f32(c, y);
    HN_TRY_PTR(wide_x && wide_w && wide && (!bias || wide_bias));
    HN_TRY(transpose_all_f32(c, &s, wide_x, wide_w, wide_bias, wide));
    hn_narrow_f32(y, wide);
    return HONE_OK;
}
const hn_impl hn_impl_conv_transpose[1] = {{.eval = eval_conv_transpose}};

/* ---- Col2Im ---------------------------------------------------------------------------------- */

static hone_status read_col2im_window(hn_eval *c, const hn_array *y, hn_window *s) {
    const hn_infer *node = hn_eval_node(c);
    int32_t n_axes = y->rank - 2;
    uint32_t n;
    const int64_t *pads = NULL;
    int64_t block[HN_MAX_RANK], positions[HN_MAX_RANK];
    hn_load_i64(hn_arg(c, 2), 0, (uint64_t)n_axes, block);
    bool has_pads = hn_attr_ints(node, "pads", &n, &pads) && n > 0;
    hn_window_read(node, n_axes, y->dims + 2, y->dims + 2, block, s);
    s->out_elems = 1;
    for (int32_t i = 0; i < n_axes; i++) {
        int64_t room = s->in[i] + (has_pads ? pads[i] + pads[n_axes + i] : 0) -
                       (s->kernel[i] - 1) * s->dilation[i] - 1;
        positions[i] = room < 0 ? 0 : room / s->stride[i] + 1;
        s->out[i] = positions[i];
        s->out_elems *= positions[i];
    }
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
        double *wide = hn_room_f64(c, y);
        HN_TRY_PTR(columns && wide);
        col2im_all_f64(c, &s, columns, wide);
        hn_narrow_f64(y, wide);
        return HONE_OK;
    }
    const float *columns = hn_wide_f32(c, x);
    float *wide = hn_room_f32(c, y);
    HN_TRY_PTR(columns && wide);
    col2im_all_f32(c, &s, columns, wide);
    hn_narrow_f32(y, wide);
    return HONE_OK;
}
const hn_impl hn_impl_col2im[1] = {{.eval = eval_col2im}};
