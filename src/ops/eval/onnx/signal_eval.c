/* Fourier transforms, windows and filters, computed. */
#include "ops/eval/widen.h"

#include <math.h>

#define SIGNAL_PI 3.14159265358979323846

/* ---- transform of one line ------------------------------------------------------------------- */

/* A line is n complex numbers, real and imaginary part side by side. */
typedef struct fourier {
    int64_t n;
    int64_t padded; /* a power of two: n itself, or enough for the convolution that stands for the
                       transform */
    double *roots;  /* [padded]: exp(-2 pi i k / padded) for the first half */
    double *chirp;  /* [n] complex: exp(-pi i k^2 / n); NULL when n is a power of two */
    double *filter, *work; /* [padded] complex */
} fourier;

static void complex_mul(const double *a, const double *b, double *out) {
    double re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
    out[0] = re;
    out[1] = im;
}

/* In place, for a power of two: reorder by reversed bits, then butterflies of growing width. */
static void fft_power_of_two(int64_t n, const double *roots, double *x) {
    for (int64_t i = 1, j = 0; i < n; i++) {
        int64_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j)
            for (int k = 0; k < 2; k++) {
                double t = x[2 * i + k];
                x[2 * i + k] = x[2 * j + k];
                x[2 * j + k] = t;
            }
    }
    for (int64_t half = 1; half < n; half *= 2)
        for (int64_t begin = 0; begin < n && !hn_spent(4 * (uint64_t)half); begin += 2 * half)
            for (int64_t k = 0; k < half; k++) {
                double *a = x + 2 * (begin + k), *b = a + 2 * half, t[2];
                complex_mul(b, roots + 2 * k * (n / (2 * half)), t);
                b[0] = a[0] - t[0];
                b[1] = a[1] - t[1];
                a[0] += t[0];
                a[1] += t[1];
            }
}

/* Any other length: k * j = (k^2 + j^2 - (k - j)^2) / 2 makes the transform a convolution with a
 * chirp. */
static void prepare_chirp(fourier *f) {
    for (int64_t k = 0; k < f->n; k++) {
        double angle = -SIGNAL_PI * (double)(k * k % (2 * f->n)) / (double)f->n;
        f->chirp[2 * k] = cos(angle);
        f->chirp[2 * k + 1] = sin(angle);
    }
    memset(f->filter, 0, (size_t)f->padded * 2 * sizeof *f->filter);
    for (int64_t k = 0; k < f->n; k++) {
        int64_t mirrored = k == 0 ? 0 : f->padded - k;
        f->filter[2 * k] = f->filter[2 * mirrored] = f->chirp[2 * k];
        f->filter[2 * k + 1] = f->filter[2 * mirrored + 1] = -f->chirp[2 * k + 1];
    }
    fft_power_of_two(f->padded, f->roots, f->filter);
}

static hone_status prepare_fourier(hn_eval *c, int64_t n, fourier *f) {
    if (n > (int64_t)1 << 30)
        return hn_eval_fail(c, HONE_E_LIMIT, "a transform of %lld elements is too long",
                            (long long)n);
    *f = (fourier){.n = n, .padded = 1};
    bool is_power = (n & (n - 1)) == 0;
    while (f->padded < (is_power ? n : 2 * n - 1))
        f->padded *= 2;
    uint64_t padded = (uint64_t)f->padded;
    f->roots = hn_eval_scratch_n(c, padded, 2 * sizeof(double));
    HN_TRY_PTR(f->roots);
    for (int64_t k = 0; k < f->padded; k++) {
        f->roots[2 * k] = cos(2 * SIGNAL_PI * (double)k / (double)f->padded);
        f->roots[2 * k + 1] = -sin(2 * SIGNAL_PI * (double)k / (double)f->padded);
    }
    if (is_power)
        return HONE_OK;
    f->chirp = hn_eval_scratch_n(c, (uint64_t)n, 2 * sizeof(double));
    f->filter = hn_eval_scratch_n(c, padded, 2 * sizeof(double));
    f->work = hn_eval_scratch_n(c, padded, 2 * sizeof(double));
    HN_TRY_PTR(f->chirp && f->filter && f->work);
    prepare_chirp(f);
    return HONE_OK;
}

static void conjugate(int64_t n, double *x) {
    for (int64_t k = 0; k < n; k++)
        x[2 * k + 1] = -x[2 * k + 1];
}

static void fourier_forward(const fourier *f, double *x) {
    if (!f->chirp) {
        fft_power_of_two(f->padded, f->roots, x);
        return;
    }
    memset(f->work, 0, (size_t)f->padded * 2 * sizeof *f->work);
    for (int64_t k = 0; k < f->n; k++)
        complex_mul(x + 2 * k, f->chirp + 2 * k, f->work + 2 * k);
    fft_power_of_two(f->padded, f->roots, f->work);
    for (int64_t k = 0; k < f->padded; k++)
        complex_mul(f->work + 2 * k, f->filter + 2 * k, f->work + 2 * k);
    conjugate(f->padded, f->work); /* back: the forward transform of the conjugate, conjugated */
    fft_power_of_two(f->padded, f->roots, f->work);
    conjugate(f->padded, f->work);
    for (int64_t k = 0; k < f->n; k++) {
        complex_mul(f->work + 2 * k, f->chirp + 2 * k, x + 2 * k);
        x[2 * k] /= (double)f->padded;
        x[2 * k + 1] /= (double)f->padded;
    }
}

static void fourier_inverse(const fourier *f, double *x) {
    conjugate(f->n, x);
    fourier_forward(f, x);
    conjugate(f->n, x);
    for (int64_t k = 0; k < 2 * f->n; k++)
        x[k] /= (double)f->n;
}

/* ---- DFT ------------------------------------------------------------------------------------- */

typedef struct dft_lines {
    int64_t in, out,
        inner; /* lengths along the axis; elements between neighbours, in numbers of `parts` */
    int64_t in_parts, out_parts;
    bool inverse, onesided;
} dft_lines;

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

/* The numbers that the transform sees: cut or filled with zeros; half a spectrum gets its mirror
 * image. */
static void load_dft_line(const dft_lines *d, const double *x, int64_t n, double *line) {
    int64_t half = d->onesided && d->inverse ? n / 2 + 1 : n;
    memset(line, 0, (size_t)n * 2 * sizeof *line);
    for (int64_t k = 0; k < HN_MIN(d->in, half); k++)
        for (int64_t p = 0; p < d->in_parts; p++)
            line[2 * k + p] = x[k * d->inner * d->in_parts + p];
    for (int64_t k = half; k < n; k++) {
        line[2 * k] = line[2 * (n - k)];
        line[2 * k + 1] = -line[2 * (n - k) + 1];
    }
}

static hone_status eval_dft(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    fourier f;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    int64_t axis = dft_axis(c, x->rank);
    if (axis < 0 || axis >= x->rank - 1 || y->rank != x->rank || !has_parts(x) || !has_parts(y))
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "numbers lie along the last axis, one or two at a time; axis %lld of %d "
            "cannot be transformed",
            (long long)axis, x->rank);
    dft_lines d = {.in = x->dims[axis],
                   .out = y->dims[axis],
                   .in_parts = x->dims[x->rank - 1],
                   .out_parts = y->dims[y->rank - 1],
                   .inverse = hn_attr_i(hn_eval_node(c), "inverse", 0) != 0,
                   .onesided = hn_attr_i(hn_eval_node(c), "onesided", 0) != 0};
    d.inner = (int64_t)hn_count(x->rank - (int32_t)axis - 2, x->dims + axis + 1);
    int64_t outer = (int64_t)hn_count((int32_t)axis, x->dims);
    int64_t length = hn_arg_i64_or(c, 1, d.inverse && d.onesided ? d.out : d.in);
    if (length < 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "dft_length is %lld, but must be positive",
                            (long long)length);
    HN_TRY(prepare_fourier(c, length, &f));
    const double *from = hn_wide_f64(c, x);
    double *to = hn_buffer_f64(c, y),
           *line = hn_eval_scratch_n(c, (uint64_t)length, 2 * sizeof *line);
    HN_TRY_PTR(from && to && line);
    for (int64_t i = 0; i < outer * d.inner; i++) {
        int64_t o = i / d.inner, in = i % d.inner;
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        load_dft_line(&d, from + (o * d.in * d.inner + in) * d.in_parts, length, line);
        if (d.inverse)
            fourier_inverse(&f, line);
        else
            fourier_forward(&f, line);
        for (int64_t k = 0; k < HN_MIN(d.out, length); k++)
            for (int64_t p = 0; p < d.out_parts; p++)
                to[((o * d.out + k) * d.inner + in) * d.out_parts + p] = line[2 * k + p];
    }
    hn_narrow_f64(y, to);
    return HONE_OK;
}
const hn_impl hn_impl_dft[1] = {{.eval = eval_dft}};

/* ---- STFT ------------------------------------------------------------------------------------ */

static hone_status eval_stft(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *window = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    fourier f;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    int64_t step = hn_arg_i64_or(c, 1, 1),
            length = hn_arg_i64_or(c, 3, window ? (int64_t)window->n_elems : 0);
    int64_t frames = y->dims[1], bins = y->dims[2], parts = x->rank == 3 ? x->dims[2] : 1,
            n = x->dims[1];
    if (length < 1 || step < 1 || bins > length || parts < 1 || parts > 2 ||
        (window && (int64_t)window->n_elems != length) || frames > (n - length) / step + 1)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "frames of %lld elements every %lld do not fit a signal of %lld",
                            (long long)length, (long long)step, (long long)n);
    HN_TRY(prepare_fourier(c, length, &f));
    const double *from = hn_wide_f64(c, x), *weights = window ? hn_wide_f64(c, window) : NULL;
    double *line = hn_eval_scratch_n(c, (uint64_t)length, 2 * sizeof *line);
    HN_TRY_PTR(from && line && (!window || weights));
    for (int64_t i = 0; i < x->dims[0] * frames; i++) {
        const double *frame = from + (i / frames * n + i % frames * step) * parts;
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        for (int64_t k = 0; k < length; k++) {
            double w = weights ? weights[k] : 1;
            line[2 * k] = w * frame[k * parts];
            line[2 * k + 1] = parts == 2 ? w * frame[k * parts + 1] : 0;
        }
        fourier_forward(&f, line);
        hn_store_f64(y, (uint64_t)(i * bins * 2), (uint64_t)bins * 2, line);
    }
    return HONE_OK;
}
const hn_impl hn_impl_stft[1] = {{.eval = eval_stft}};

/* ---- windows --------------------------------------------------------------------------------- */

/* a - b cos(t) + c cos(2 t), once around. */
static hone_status run_window(hn_eval *c, double a, double b, double d) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    int64_t n = (int64_t)y->n_elems,
            turn = hn_attr_i(hn_eval_node(c), "periodic", 1) != 0 ? n : HN_MAX(n - 1, 1);
    for (int64_t i = 0; i < n; i++) {
        double t = 2 * SIGNAL_PI * (double)i / (double)turn;
        double v = a - b * cos(t) + d * cos(2 * t);
        hn_store_f64(y, (uint64_t)i, 1, &v);
    }
    return HONE_OK;
}

static hone_status eval_hann_window(hn_eval *c) {
    return run_window(c, 0.5, 0.5, 0);
}
const hn_impl hn_impl_hann_window[1] = {{.eval = eval_hann_window}};
static hone_status eval_hamming_window(hn_eval *c) {
    return run_window(c, 25.0 / 46, 21.0 / 46, 0);
}
const hn_impl hn_impl_hamming_window[1] = {{.eval = eval_hamming_window}};
static hone_status eval_blackman_window(hn_eval *c) {
    return run_window(c, 0.42, 0.5, 0.08);
}
const hn_impl hn_impl_blackman_window[1] = {{.eval = eval_blackman_window}};

/* ---- MelWeightMatrix ------------------------------------------------------------------------- */

static double hertz_to_mel(double hertz) {
    return 2595 * log1p(hertz / 700) / log(10);
}
static double mel_to_hertz(double mel) {
    return 700 * expm1(mel / 2595 * log(10));
}

/* One triangle: up from bin `low` to `center`, down to `high`. */
static void mel_triangle(double *m, int64_t rows, int64_t cols, int64_t col,
                         const int64_t bins[3]) {
    int64_t low = bins[0], center = bins[1], high = bins[2];
    if (center == low && center < rows)
        m[center * cols + col] = 1;
    for (int64_t j = low; center > low && j <= center && j < rows; j++)
        m[j * cols + col] = (double)(j - low) / (double)(center - low);
    for (int64_t j = center; high > center && j < high && j < rows; j++)
        m[j * cols + col] = (double)(high - j) / (double)(high - center);
}

static hone_status eval_mel_weight_matrix(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    int64_t rows = y->dims[0], cols = y->dims[1], length = hn_arg_i64_or(c, 1, 1),
            rate = hn_arg_i64_or(c, 2, 1);
    double low = hertz_to_mel(hn_arg_f64_or(c, 3, 0)),
           step = (hertz_to_mel(hn_arg_f64_or(c, 4, 0)) - low) / (double)(cols + 2);
    double *m = hn_eval_scratch_n(c, y->n_elems, sizeof *m);
    HN_TRY_PTR(m);
    memset(m, 0, y->n_elems * sizeof *m);
    for (int64_t col = 0; col < cols; col++) {
        int64_t bins[3];
        for (int k = 0; k < 3; k++) {
            double hertz = mel_to_hertz(low + (double)(col + k) * step);
            double bin = floor((double)(length + 1) * hertz / (double)rate);
            if (!(bin >= 0 && bin <= 2 * (double)length + 2))
                return hn_eval_fail(
                    c, HONE_E_INVALID,
                    "%g Hz lies outside the spectrum of a signal sampled at %lld Hz", hertz,
                    (long long)rate);
            bins[k] = (int64_t)bin;
        }
        mel_triangle(m, rows, cols, col, bins);
    }
    hn_store_f64(y, 0, y->n_elems, m);
    return HONE_OK;
}
const hn_impl hn_impl_mel_weight_matrix[1] = {{.eval = eval_mel_weight_matrix}};
