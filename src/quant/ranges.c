/* Ranges that follow from what observers have counted: percentiles, least divergence, least
 * squared error. */
#include "quant/observer.h"

#include <math.h>

enum {
    SHRINK_STEPS = 64,   /* ranges tried by the search for the least squared error */
    ENTROPY_STEP = 16,   /* bins between two thresholds that are tried */
    LEAST_NUMBERS = 1024 /* fewer numbers say nothing of a distribution */
};

/* Number in the middle of a bin. */
static double bin_center(const hn_observer *o, int sign, uint64_t k) {
    double x = ((double)k + 0.5) * o->limit / HN_OBSERVER_BINS;
    return sign ? -x : x;
}

double hn_observer_power(const hn_observer *o) {
    double sum = 0;
    for (int sign = 0; sign < 2 && o->counts[0]; sign++)
        for (uint64_t k = 0; k < HN_OBSERVER_BINS; k++) {
            double x = bin_center(o, sign, k);
            sum += (double)o->counts[sign][k] * x * x;
        }
    return o->n ? sum / (double)o->n : 0;
}

/* Within a bin numbers are taken as evenly spread: the error of a rounded number is that of its
 * step, of a clamped one the distance to the end of the range. */
double hn_observer_error(const hn_observer *o, const hn_quant_type *type, double low, double high) {
    if (!o->counts[0] || !o->n)
        return 0;
    hn_quant_params p = hn_quant_params_of(type, low, high);
    hn_quant_limits limits = hn_quant_limits_of(type);
    double bottom = ((double)limits.low - p.zero) * p.scale;
    double top = ((double)limits.high - p.zero) * p.scale;
    double rounding = (double)p.scale * p.scale / 12, sum = 0;
    for (int sign = 0; sign < 2; sign++)
        for (uint64_t k = 0; k < HN_OBSERVER_BINS; k++) {
            if (!o->counts[sign][k])
                continue;
            double x = bin_center(o, sign, k);
            double beyond = x > top ? x - top : x < bottom ? bottom - x : 0;
            sum += (double)o->counts[sign][k] * (rounding + beyond * beyond);
        }
    return sum / (double)o->n;
}

/* ---- percentiles ------------------------------------------------------------------------------- */

/* The magnitude that `n_above` numbers of this sign exceed. */
static double magnitude_exceeded(const hn_observer *o, int sign, double n_above) {
    double width = o->limit / HN_OBSERVER_BINS, seen = 0;
    for (uint64_t k = HN_OBSERVER_BINS; k-- > 0;) {
        double n = (double)o->counts[sign][k];
        if (n > 0 && seen + n > n_above)
            return ((double)k + 1 - (n_above - seen) / n) * width;
        seen += n;
    }
    return 0;
}

static void percentile_range(const hn_observer *o, double percentile, double *low, double *high) {
    double cut = (double)o->n * (100 - percentile) / 200; /* at each end */
    *low = fmax(-magnitude_exceeded(o, 1, cut), o->min);
    *high = fmin(magnitude_exceeded(o, 0, cut), o->max);
}

/* ---- entropy ----------------------------------------------------------------------------------- */

/* Divergence of magnitudes below bin n, those above it counted in the last, from the same counts
 * spread evenly within each of n_levels equal parts. */
static double divergence(const double *magnitudes, uint64_t n, uint64_t n_levels, double total) {
    double above = 0, sum = 0;
    for (uint64_t k = n; k < HN_OBSERVER_BINS; k++)
        above += magnitudes[k];
    for (uint64_t level = 0; level < n_levels; level++) {
        uint64_t begin = level * n / n_levels, end = (level + 1) * n / n_levels, n_used = 0;
        double count = 0;
        for (uint64_t k = begin; k < end; k++) {
            count += magnitudes[k];
            n_used += magnitudes[k] > 0;
        }
        if (!n_used)
            continue;
        double even = count / (double)n_used / (total - above);
        for (uint64_t k = begin; k < end; k++) {
            double p = (magnitudes[k] + (k == n - 1 ? above : 0)) / total;
            if (magnitudes[k] > 0)
                sum += p * log(p / even);
        }
    }
    if (magnitudes[n - 1] == 0 && above > 0)
        return INFINITY; /* the last bin has numbers that the quantized distribution has not */
    return sum;
}

static void entropy_range(const hn_observer *o, const hn_quant_type *type, double *low,
                          double *high) {
    double magnitudes[HN_OBSERVER_BINS], total = 0, least = INFINITY;
    hn_quant_limits limits = hn_quant_limits_of(type);
    uint64_t n_steps = (uint64_t)(limits.high - limits.low) + 1;
    bool is_one_sided = !type->is_symmetric && (o->min >= 0 || o->max <= 0);
    uint64_t n_levels = HN_MIN(is_one_sided ? n_steps : n_steps / 2, 512), n_bins = 0, best = 0;
    for (uint64_t k = 0; k < HN_OBSERVER_BINS; k++) {
        magnitudes[k] = (double)o->counts[0][k] + (double)o->counts[1][k];
        total += magnitudes[k];
        n_bins = magnitudes[k] > 0 ? k + 1 : n_bins;
    }
    for (uint64_t n = n_bins; n >= n_levels && n > 0; n -= HN_MIN(n, ENTROPY_STEP)) {
        double d = divergence(magnitudes, n, n_levels, total);
        if (d < least) {
            least = d;
            best = n;
        }
    }
    double threshold = (double)(best ? best : n_bins) * o->limit / HN_OBSERVER_BINS;
    *low = fmax(-threshold, o->min);
    *high = fmin(threshold, o->max);
}

/* ---- least squared error ----------------------------------------------------------------------- */

/* Shrinks one end, or with both flags both, as long as some shorter range has a smaller error. */
static double shrink_range(const hn_observer *o, const hn_quant_type *type, bool moves_low,
                           bool moves_high, double *low, double *high) {
    double from[2] = {*low, *high}, least = hn_observer_error(o, type, *low, *high);
    for (int step = 1; step < SHRINK_STEPS; step++) {
        double factor = 1 - (double)step / SHRINK_STEPS;
        double l = moves_low ? from[0] * factor : from[0];
        double h = moves_high ? from[1] * factor : from[1];
        double error = hn_observer_error(o, type, l, h);
        if (error < least) {
            least = error;
            *low = l;
            *high = h;
        }
    }
    return least;
}

static void mse_range(const hn_observer *o, const hn_quant_type *type, double *low, double *high) {
    *low = o->min;
    *high = o->max;
    shrink_range(o, type, true, true, low, high);
    if (type->is_symmetric || *low == 0 || *high == 0)
        return;
    shrink_range(o, type, true, false, low, high);
    shrink_range(o, type, false, true, low, high);
}

/* ---- all ---------------------------------------------------------------------------------------- */

static const char *const method_names[] = {
    "minmax", "moving-average", "percentile", "entropy", "mse", "auto"};

static void method_range(const hn_observer *o, const hn_range_options *r, hone_calibration method,
                         double *low, double *high) {
    *low = o->min;
    *high = o->max;
    if (method == HONE_CALIBRATION_MOVING_AVERAGE) {
        *low = o->mean_min;
        *high = o->mean_max;
    } else if (o->n < LEAST_NUMBERS || !o->counts[0] || o->limit == 0) {
        return;
    } else if (method == HONE_CALIBRATION_PERCENTILE) {
        percentile_range(o, r->percentile, low, high);
    } else if (method == HONE_CALIBRATION_ENTROPY) {
        entropy_range(o, r->type, low, high);
    } else if (method == HONE_CALIBRATION_MSE) {
        mse_range(o, r->type, low, high);
    }
}

const char *hn_observer_range(const hn_observer *o, const hn_range_options *options, double *low,
                              double *high) {
    hone_calibration best = options->method;
    if (best == HONE_CALIBRATION_AUTO) {
        static const hone_calibration tried[] = {HONE_CALIBRATION_MINMAX,
                                                 HONE_CALIBRATION_PERCENTILE,
                                                 HONE_CALIBRATION_ENTROPY, HONE_CALIBRATION_MSE};
        double least = INFINITY;
        for (size_t i = 0; i < HN_COUNT(tried); i++) {
            method_range(o, options, tried[i], low, high);
            double error = hn_observer_error(o, options->type, *low, *high);
            if (error < least) {
                least = error;
                best = tried[i];
            }
        }
    }
    method_range(o, options, best, low, high);
    return method_names[best];
}
