/* Inference rules of Fourier transforms and window functions. */
#include "ops/infer/infer_int.h"

/* The number of unique bins in a transform of real data. */
static hn_dim half_spectrum(hn_syms *s, hn_dim n) {
    return hn_dim_add_i(s, hn_dim_floor_div(s, n, 2), 1);
}

/* Reads a scalar length, unknown when it is not propagated. Fails when it is not positive. */
static hone_status scalar_length(hn_infer *c, uint32_t input, const char *what, hn_dim *out) {
    const hn_sint *elems;
    uint32_t n;
    *out = HN_DIM_UNKNOWN;
    HN_TRY(hn_expect_rank(c, input, 0, 0));
    if (!hn_in_ints(c, input, &n, &elems, NULL) || n != 1)
        return HONE_OK;
    if (elems[0].kind == HN_SINT_CONST && elems[0].v < 1)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s is %lld, but must be positive", what,
                             (long long)elems[0].v);
    *out = hn_sint_to_dim(elems[0]);
    return HONE_OK;
}

/* ---- DFT ------------------------------------------------------------------------------------- */

typedef struct dft_form {
    bool inverse, onesided;
    bool has_axis; /* false: an input that is unknown */
    int32_t axis;
} dft_form;

static hone_status read_dft_form(hn_infer *c, int32_t rank, dft_form *f) {
    *f = (dft_form){.inverse = hn_attr_i(c, "inverse", 0) != 0,
                    .onesided = hn_attr_i(c, "onesided", 0) != 0};
    int64_t axis = -2;
    HN_TRY(hn_expect_rank(c, 2, 0, 0));
    f->has_axis = !hn_has_input(c, 2) || hn_in_i64(c, 2, &axis);
    if (hn_infer_version(c) < 20)
        axis = hn_attr_i(c, "axis", 1);
    if (!f->has_axis)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", axis, rank, &f->axis));
    if (f->axis == rank - 1)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "axis %lld of %s holds real and imaginary parts, not the signal",
                             (long long)axis, hn_in_text(c, 0));
    return HONE_OK;
}

/* The last dimension tells real from complex data; one-sided transforms need one of the two. */
static hone_status check_dft_parts(hn_infer *c, const dft_form *f) {
    hn_dim parts = hn_in_dim(c, 0, -1);
    bool needs_real = f->onesided && !f->inverse, needs_complex = f->onesided && f->inverse;
    bool fits =
        !hn_dim_is_known(parts) || (parts == 1 && !needs_complex) || (parts == 2 && !needs_real);
    if (fits)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE, "the last dimension of %s must be %s", hn_in_text(c, 0),
                         needs_real      ? "1 for a one-sided transform of real data"
                         : needs_complex ? "2 for the inverse of a one-sided transform"
                                         : "1 (real) or 2 (complex)");
}

static hn_dim dft_bins(hn_syms *s, const dft_form *f, bool has_length, hn_dim length, hn_dim in) {
    if (f->onesided && !f->inverse)
        return half_spectrum(s, has_length ? length : in);
    if (has_length)
        return length;
    return f->onesided ? hn_dim_mul_i(s, hn_dim_add_i(s, in, -1), 2) : in;
}

hone_status hn_infer_dft(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    dft_form f;
    hn_dim length;
    HN_TRY(read_dft_form(c, x->rank, &f));
    HN_TRY(check_dft_parts(c, &f));
    HN_TRY(scalar_length(c, 1, "dft_length", &length));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    bool has_length = hn_has_input(c, 1), keeps_sizes = !has_length && !f.onesided;
    for (int32_t i = 0; i < x->rank - 1 && (f.has_axis || keeps_sizes); i++)
        dims[i] = x->dims[i];
    if (f.has_axis)
        dims[f.axis] = dft_bins(hn_infer_syms(c), &f, has_length, length, x->dims[f.axis]);
    dims[x->rank - 1] = f.onesided && f.inverse ? 1 : 2;
    return hn_out_shape(c, 0, x->rank, dims);
}

/* ---- STFT ------------------------------------------------------------------------------------ */

/* signal [batch, length] or [batch, length, 1 or 2]; gives [batch, frames, bins, 2]. */
hone_status hn_infer_stft(hn_infer *c) {
    hn_dim step, length, window;
    HN_TRY(hn_expect_rank(c, 0, 2, 3));
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    HN_TRY(scalar_length(c, 1, "frame_step", &step));
    HN_TRY(scalar_length(c, 3, "frame_length", &length));
    window = hn_in_dim(c, 2, 0);
    HN_TRY(hn_merge_dim(c, "the frame length, by frame_length and by the window,", length, window,
                        &length));
    hn_syms *s = hn_infer_syms(c);
    hn_dim signal = hn_in_dim(c, 0, 1);
    if (hn_dim_is_known(signal) && hn_dim_is_known(length) && signal < length)
        return hn_infer_fail(c, HONE_E_SHAPE, "frames of %lld elements do not fit the signal %s",
                             (long long)length, hn_in_text(c, 0));
    hn_dim frames = hn_dim_add_i(s, hn_dim_floor_div(s, hn_dim_sub(s, signal, length), step), 1);
    hn_dim bins = hn_attr_i(c, "onesided", 1) != 0 ? half_spectrum(s, length) : length;
    return hn_out_shape(c, 0, 4, (hn_dim[]){hn_in_dim(c, 0, 0), frames, bins, 2});
}

/* ---- windows and filters --------------------------------------------------------------------- */

static hone_status out_datatype(hn_infer *c) {
    int64_t t = hn_attr_i(c, "output_datatype", HN_F32);
    bool is_numeric = t > 0 && t < HN_DTYPE_COUNT &&
                      (hn_dtype_is_int((hn_dtype)t) || hn_dtype_is_float((hn_dtype)t));
    if (!is_numeric)
        return hn_infer_fail(c, HONE_E_TYPE,
                             "output_datatype is %lld, which is not a floating-point type",
                             (long long)t);
    return hn_out_elem(c, 0, (hn_dtype)t);
}

hone_status hn_infer_window(hn_infer *c) {
    hn_dim size;
    HN_TRY(out_datatype(c));
    HN_TRY(scalar_length(c, 0, "size", &size));
    return hn_out_shape(c, 0, 1, &size);
}

hone_status hn_infer_mel_weight_matrix(hn_infer *c) {
    hn_dim bands, length;
    HN_TRY(out_datatype(c));
    HN_TRY(scalar_length(c, 0, "num_mel_bins", &bands));
    HN_TRY(scalar_length(c, 1, "dft_length", &length));
    return hn_out_shape(c, 0, 2, (hn_dim[]){half_spectrum(hn_infer_syms(c), length), bands});
}

/* ---- com.microsoft --------------------------------------------------------------------------- */

/* Checks signal_ndim and copies the shape with space for one more axis. */
static hone_status fft_dims(hn_infer *c, int32_t n_after, hn_dim **dims) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t n_signal = hn_attr_i(c, "signal_ndim", 1);
    if (n_signal < 1 || n_signal > 3 || x->rank < n_signal + n_after)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "signal_ndim is %lld, which does not fit the input %s",
                             (long long)n_signal, hn_in_text(c, 0));
    *dims = hn_infer_dims(c, x->rank + 1);
    HN_TRY_PTR(*dims);
    for (int32_t i = 0; i < x->rank; i++)
        (*dims)[i] = x->dims[i];
    return HONE_OK;
}

hone_status hn_infer_rfft(hn_infer *c) {
    int32_t rank = hn_in_rank(c, 0);
    hn_dim *dims;
    if (rank < 0)
        return HONE_OK;
    HN_TRY(fft_dims(c, 0, &dims));
    if (hn_attr_i(c, "onesided", 1) != 0)
        dims[rank - 1] = half_spectrum(hn_infer_syms(c), dims[rank - 1]);
    dims[rank] = 2;
    return hn_out_shape(c, 0, rank + 1, dims);
}

hone_status hn_infer_irfft(hn_infer *c) {
    int32_t rank = hn_in_rank(c, 0);
    hn_syms *s = hn_infer_syms(c);
    hn_dim *dims;
    if (rank < 0)
        return HONE_OK;
    HN_TRY(fft_dims(c, 1, &dims));
    HN_TRY(hn_merge_dim(c, "the last dimension (real and imaginary part)", dims[rank - 1], 2,
                        &dims[rank - 1]));
    if (hn_attr_i(c, "onesided", 1) != 0)
        dims[rank - 2] = hn_dim_mul_i(s, hn_dim_add_i(s, dims[rank - 2], -1), 2);
    return hn_out_shape(c, 0, rank - 1, dims);
}

hone_status hn_infer_complex_mul(hn_infer *c) {
    int32_t rank;
    const hn_dim *dims;
    HN_TRY(hn_broadcast(c, 2, (const hn_shape *[]){hn_in_shape(c, 0), hn_in_shape(c, 1)}, &rank,
                        &dims));
    return hn_out_shape(c, 0, rank, dims);
}
