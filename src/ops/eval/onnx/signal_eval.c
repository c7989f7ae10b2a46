/* Windows and filters of signals, computed. */
#include "ops/eval/copy.h"
#include "ops/eval/widen.h"

#include <math.h>

#define SIGNAL_PI 3.14159265358979323846

/* ---- windows --------------------------------------------------------------------------------- */

/* a - b cos(t) + c cos(2 t), once around. */
static hone_status run_window(hn_eval *c, double a, double b, double d) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    int64_t n = (int64_t)y->n_elems,
            turn = hn_attr_i(hn_eval_node(c), "periodic", 1) != 0 ? n : HN_MAX(n - 1, 1);
    for (int64_t i = 0; i < n && !hn_spent(64); i++) {
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
static void mel_triangle(hn_array *y, int64_t col, const int64_t bins[3]) {
    int64_t low = bins[0], center = bins[1], high = bins[2], rows = y->dims[0];
    for (int64_t j = low; j < rows && j <= HN_MAX(center, high - 1) && !hn_spent(16); j++) {
        bool is_falling = high > center && j >= center;
        double v = is_falling     ? (double)(high - j) / (double)(high - center)
                   : center > low ? (double)(j - low) / (double)(center - low)
                                  : 1;
        hn_store_f64(y, (uint64_t)(j * y->dims[1] + col), 1, &v);
    }
}

static hone_status eval_mel_weight_matrix(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    int64_t cols = y->dims[1], length = hn_arg_i64_or(c, 1, 1), rate = hn_arg_i64_or(c, 2, 1);
    double low = hertz_to_mel(hn_arg_f64_or(c, 3, 0)),
           step = (hertz_to_mel(hn_arg_f64_or(c, 4, 0)) - low) / (double)(cols + 2);
    HN_TRY(hn_copy_fill(c, y, 0, y->n_elems, NULL));
    for (int64_t col = 0; col < cols && !hn_spent(64); col++) {
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
        mel_triangle(y, col, bins);
    }
    return HONE_OK;
}
const hn_impl hn_impl_mel_weight_matrix[1] = {{.eval = eval_mel_weight_matrix}};
