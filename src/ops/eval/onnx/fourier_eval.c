/* Fourier transforms, computed in double. */
#include "ops/eval/onnx/fourier_eval.h"
#include "ops/eval/widen.h"

#include <math.h>

#define HALF_TURN 3.14159265358979323846 /* pi */

/* ---- tables ---------------------------------------------------------------------------------- */

static void to_reversed_places(const hn_fourier_plan *f, double *re, double *im) {
    for (int64_t i = 0; i < f->padded; i++) {
        int64_t k = f->places[i];
        if (i >= k)
            continue;
        double r = re[i], m = im[i];
        re[i] = re[k];
        im[i] = im[k];
        re[k] = r;
        im[k] = m;
    }
}

static void transform_padded(const hn_fourier_plan *f, double *re, double *im) {
    if (hn_spent((uint64_t)f->padded))
        return;
    to_reversed_places(f, re, im);
    f->transform(f->padded, f->roots, re, im);
}

/* Lengths that are no power of two: k * j = (k^2 + j^2 - (k - j)^2) / 2 makes the transform a
 * convolution with a chirp. */
static void fill_chirp(const hn_fourier_plan *f, double *chirp, double *filter) {
    int64_t n = f->length, padded = f->padded;
    memset(filter, 0, (size_t)padded * 2 * sizeof *filter);
    for (int64_t k = 0; k < n && !hn_spent(32); k++) {
        double angle = -HALF_TURN * (double)(k * k % (2 * n)) / (double)n;
        int64_t mirrored = k == 0 ? 0 : padded - k;
        chirp[k] = filter[k] = filter[mirrored] = cos(angle);
        chirp[n + k] = sin(angle);
        filter[padded + k] = filter[padded + mirrored] = -chirp[n + k];
    }
    transform_padded(f, filter, filter + padded);
}

static hone_status plan_chirp(hn_eval *c, hn_fourier_plan *f) {
    double *chirp = hn_eval_scratch_n(c, (uint64_t)f->length, 2 * sizeof *chirp);
    double *filter = hn_eval_scratch_n(c, (uint64_t)f->padded, 2 * sizeof *filter);
    HN_TRY_PTR(chirp && filter);
    fill_chirp(f, chirp, filter);
    f->chirp = chirp;
    f->filter = filter;
    return HONE_OK;
}

static hone_status plan_halves(hn_eval *c, hn_fourier_plan *f) {
    double *halves = hn_eval_scratch_n(c, (uint64_t)f->length, 2 * sizeof *halves);
    HN_TRY_PTR(halves);
    for (int64_t k = 0; k < f->length && !hn_spent(32); k++) {
        double angle = 2 * HALF_TURN * (double)k / (double)f->n;
        halves[k] = cos(angle);
        halves[f->length + k] = -sin(angle);
    }
    f->halves = halves;
    return HONE_OK;
}

hone_status hn_fourier_plan_new(hn_eval *c, int64_t n, bool is_real, hn_fourier_plan *f) {
    bool has_halves = is_real && n % 2 == 0;
    if (n > (int64_t)1 << 29)
        return hn_eval_fail(c, HONE_E_LIMIT, "a transform of %lld elements is too long",
                            (long long)n);
    *f = (hn_fourier_plan){
        .n = n, .length = has_halves ? n / 2 : n, .padded = 1, .transform = hn_fourier_pick()};
    bool is_power = (f->length & (f->length - 1)) == 0;
    while (f->padded < (is_power ? f->length : 2 * f->length - 1))
        f->padded *= 2;
    double *roots = hn_eval_scratch_n(c, (uint64_t)f->padded, 2 * sizeof *roots);
    int32_t *places = hn_eval_scratch_n(c, (uint64_t)f->padded, sizeof *places);
    HN_TRY_PTR(roots && places);
    hn_fourier_roots(f->padded, roots);
    if (hn_spent(0))
        return HONE_E_CANCELLED;
    hn_fourier_reversed(f->padded, places);
    f->roots = roots;
    f->places = places;
    if (!is_power)
        HN_TRY(plan_chirp(c, f));
    if (has_halves)
        HN_TRY(plan_halves(c, f));
    return hn_spent(0) ? HONE_E_CANCELLED : HONE_OK; /* tables that are kept are whole */
}

/* ---- one line -------------------------------------------------------------------------------- */

/* a *= b, for n complex numbers. */
static void multiply_line(int64_t n, double *re, double *im, const double *by_re,
                          const double *by_im) {
    for (int64_t k = 0; k < n; k++) {
        double r = re[k] * by_re[k] - im[k] * by_im[k];
        im[k] = re[k] * by_im[k] + im[k] * by_re[k];
        re[k] = r;
    }
}

static void negate_line(int64_t n, double *x) {
    for (int64_t k = 0; k < n; k++)
        x[k] = -x[k];
}

/* Of `length` numbers; work has room for two lines of `padded`. */
static void transform_line(const hn_fourier_plan *f, double *re, double *im, double *work) {
    int64_t n = f->length, padded = f->padded;
    double *wr = work, *wi = work + padded;
    if (!f->chirp) {
        transform_padded(f, re, im);
        return;
    }
    memcpy(wr, re, (size_t)n * sizeof *wr);
    memcpy(wi, im, (size_t)n * sizeof *wi);
    memset(wr + n, 0, (size_t)(padded - n) * sizeof *wr);
    memset(wi + n, 0, (size_t)(padded - n) * sizeof *wi);
    multiply_line(n, wr, wi, f->chirp, f->chirp + n);
    transform_padded(f, wr, wi);
    multiply_line(padded, wr, wi, f->filter, f->filter + padded);
    negate_line(padded, wi); /* back: the forward transform of the conjugate, conjugated */
    transform_padded(f, wr, wi);
    negate_line(n, wi);
    multiply_line(n, wr, wi, f->chirp, f->chirp + n);
    for (int64_t k = 0; k < n; k++) {
        re[k] = wr[k] / (double)padded;
        im[k] = wi[k] / (double)padded;
    }
}

/* Even elements as real parts and odd ones as imaginary parts; their spectra are the parts of the
 * result that its mirror image changes and does not change. */
static void transform_halves(const hn_fourier_plan *f, double *re, double *im, double *work) {
    int64_t half = f->length;
    double *zr = work, *zi = work + half;
    for (int64_t k = 0; k < half; k++) {
        zr[k] = re[2 * k];
        zi[k] = re[2 * k + 1];
    }
    transform_line(f, zr, zi, work + 2 * half);
    for (int64_t k = 0; k < half; k++) {
        int64_t back = k == 0 ? 0 : half - k;
        double even_r = (zr[k] + zr[back]) / 2, even_i = (zi[k] - zi[back]) / 2;
        double odd_r = (zi[k] + zi[back]) / 2, odd_i = (zr[back] - zr[k]) / 2;
        double wr = f->halves[k], wi = f->halves[half + k];
        re[k] = even_r + odd_r * wr - odd_i * wi;
        im[k] = even_i + odd_r * wi + odd_i * wr;
    }
    re[half] = zr[0] - zi[0];
    im[half] = 0;
    for (int64_t k = half + 1; k < f->n; k++) {
        re[k] = re[f->n - k];
        im[k] = -im[f->n - k];
    }
}

static void fourier_run(const hn_fourier_plan *f, bool is_inverse, double *re, double *im,
                        double *work) {
    if (f->halves) {
        transform_halves(f, re, im, work);
        return;
    }
    if (is_inverse)
        negate_line(f->n, im);
    transform_line(f, re, im, work);
    for (int64_t k = 0; is_inverse && k < f->n; k++) {
        re[k] /= (double)f->n;
        im[k] /= -(double)f->n;
    }
}

uint64_t hn_fourier_room(const hn_fourier_form *f) {
    const hn_fourier_plan *p = &f->plan;
    return (uint64_t)(2 * p->n + (p->halves ? 2 * p->length : 0) + (p->chirp ? 2 * p->padded : 0));
}

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct fourier_job {
    const hn_fourier_form *form;
    const hn_fourier_io *io;
    const hn_pool *pool;
} fourier_job;

#define HN_TEMPLATE "ops/eval/onnx/fourier_lines_tmpl.h"
#include "base/each_type_tmpl.h"

static int64_t line_grain(const hn_fourier_form *f) {
    return HN_MAX(1, 1024 / f->plan.n);
}

void hn_dft_run(hn_pool *pool, const hn_fourier_form *f, const hn_fourier_io *io) {
    fourier_job j = {f, io, pool};
    hn_pool_for_lanes(pool, f->n_lines, line_grain(f),
                      io->is_double ? dft_lines_f64 : dft_lines_f32, &j);
}

void hn_stft_run(hn_pool *pool, const hn_fourier_form *f, const hn_fourier_io *io) {
    fourier_job j = {f, io, pool};
    hn_pool_for_lanes(pool, f->n_lines, line_grain(f),
                      io->is_double ? stft_frames_f64 : stft_frames_f32, &j);
}

/* Types other than float32 and float64 are widened. */
static hone_status eval_fourier(hn_eval *c, const hn_fourier_form *f, const hn_array *window,
                                void (*run)(hn_pool *, const hn_fourier_form *,
                                            const hn_fourier_io *)) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    hn_pool *pool = hn_eval_pool(c);
    bool is_float = x->dtype == HN_F32 && (!window || window->dtype == HN_F32);
    double *wide = is_float ? NULL : hn_buffer_f64(c, y);
    hn_fourier_io io = {.is_double = !is_float,
                        .x = is_float ? x->data : hn_wide_f64(c, x),
                        .window = !window    ? NULL
                                  : is_float ? window->data
                                             : hn_wide_f64(c, window),
                        .y = is_float ? y->data : wide,
                        .room = hn_eval_scratch_n(c, (uint64_t)hn_pool_threads(pool),
                                                  hn_fourier_room(f) * sizeof(double))};
    HN_TRY_PTR(io.x && io.y && io.room && (!window || io.window));
    run(pool, f, &io);
    if (hn_eval_stopped(c))
        return HONE_E_CANCELLED;
    if (!is_float)
        hn_narrow_f64(y, wide);
    return HONE_OK;
}

/* ---- DFT ------------------------------------------------------------------------------------- */

static int64_t dft_axis(const hn_eval *c, int32_t rank) {
    const hn_infer *node = hn_eval_node(c);
    int64_t axis =
        hn_infer_version(node) < 20 ? hn_attr_i(node, "axis", 1) : hn_arg_i64_or(c, 2, -2);
    return axis < 0 ? axis + rank : axis;
}

/* Real numbers, or pairs of a real and an imaginary part. */
static bool has_parts(const hn_array *a) {
    return a->rank > 0 && (a->dims[a->rank - 1] == 1 || a->dims[a->rank - 1] == 2);
}

hone_status hn_dft_read(hn_eval *c, hn_fourier_form *f) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    int64_t axis = dft_axis(c, x->rank);
    if (axis < 0 || axis >= x->rank - 1 || y->rank != x->rank || !has_parts(x) || !has_parts(y))
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "numbers lie along the last axis, one or two at a time; axis %lld of %d "
            "cannot be transformed",
            (long long)axis, x->rank);
    *f = (hn_fourier_form){.in = x->dims[axis],
                           .out = y->dims[axis],
                           .in_parts = x->dims[x->rank - 1],
                           .out_parts = y->dims[y->rank - 1],
                           .is_inverse = hn_attr_i(hn_eval_node(c), "inverse", 0) != 0,
                           .is_onesided = hn_attr_i(hn_eval_node(c), "onesided", 0) != 0};
    f->inner = (int64_t)hn_count(x->rank - (int32_t)axis - 2, x->dims + axis + 1);
    f->n_lines = (int64_t)hn_count((int32_t)axis, x->dims) * f->inner;
    int64_t length = hn_arg_i64_or(c, 1, f->is_inverse && f->is_onesided ? f->out : f->in);
    if (length < 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "dft_length is %lld, but must be positive",
                            (long long)length);
    return hn_fourier_plan_new(c, length, f->in_parts == 1 && !f->is_inverse, &f->plan);
}

static hone_status eval_dft(hn_eval *c) {
    hn_fourier_form f;
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_dft_read(c, &f));
    return eval_fourier(c, &f, NULL, hn_dft_run);
}
const hn_impl hn_impl_dft[1] = {{.eval = eval_dft}};

/* ---- STFT ------------------------------------------------------------------------------------ */

hone_status hn_stft_read(hn_eval *c, hn_fourier_form *f) {
    const hn_array *x = hn_arg(c, 0), *window = hn_arg(c, 2), *y = hn_ret(c, 0);
    int64_t length = hn_arg_i64_or(c, 3, window ? (int64_t)window->n_elems : 0);
    *f = (hn_fourier_form){.step = hn_arg_i64_or(c, 1, 1),
                           .frames = y->dims[1],
                           .out = y->dims[2],
                           .samples = x->dims[1],
                           .in_parts = x->rank == 3 ? x->dims[2] : 1,
                           .has_window = window != NULL};
    f->n_lines = x->dims[0] * f->frames;
    if (length < 1 || length > f->samples || f->step < 1 || f->out > length || f->in_parts < 1 ||
        f->in_parts > 2 || (window && (int64_t)window->n_elems != length) ||
        f->frames > (f->samples - length) / f->step + 1)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "frames of %lld elements every %lld do not fit a signal of %lld",
                            (long long)length, (long long)f->step, (long long)f->samples);
    return hn_fourier_plan_new(c, length, f->in_parts == 1, &f->plan);
}

static hone_status eval_stft(hn_eval *c) {
    hn_fourier_form f;
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_stft_read(c, &f));
    return eval_fourier(c, &f, hn_arg(c, 2), hn_stft_run);
}
const hn_impl hn_impl_stft[1] = {{.eval = eval_stft}};
