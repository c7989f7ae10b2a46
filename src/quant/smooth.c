/* The balance between activations and weights: see smooth.h. */
#include "quant/smooth.h"

#include <math.h>

#define N_STEPS 20
#define WEIGHT_CREST                                                           \
  3.0 /* the largest number of a channel of weights, by their root mean square \
       */

typedef struct smoothed {
    uint64_t n;
    const double *activations, *powers, *weights;
} smoothed;

/* Up to a constant: activations are off by the step of their scale, which weights multiply; weights
 * by the step of theirs, which activations multiply. */
static double smoothed_error(const smoothed *s, double alpha) {
    double most_a = 0, most_w = 0, sum_a = 0, sum_w = 0;
    for (uint64_t c = 0; c < s->n; c++) {
        double a = s->activations[c], w = s->weights[c];
        if (!(a > 0 && w > 0))
            continue;
        double factor = pow(a, alpha) / pow(w, 1 - alpha);
        most_a = fmax(most_a, a / factor);
        most_w = fmax(most_w, w * factor);
        sum_a += s->powers[c] / (factor * factor);
        sum_w += w * factor * w * factor / (WEIGHT_CREST * WEIGHT_CREST);
    }
    return most_a * most_a * sum_w + most_w * most_w * sum_a;
}

double hn_smooth_alpha(uint64_t n, const double *activations, const double *powers,
                       const double *weights) {
    smoothed s = {n, activations, powers, weights};
    double best = 0.5, least = smoothed_error(&s, best);
    for (int i = 0; i <= N_STEPS; i++) {
        double alpha = (double)i / N_STEPS, error = smoothed_error(&s, alpha);
        if (error < 0.999 * least) {
            best = alpha;
            least = error;
        }
    }
    return best;
}
