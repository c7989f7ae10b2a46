/* How much of the spread of channels moves from activations into weights. */
#ifndef HN_QUANT_SMOOTH_H
#define HN_QUANT_SMOOTH_H

#include "base/base.h"

/* The exponent in [0, 1] whose factors a^alpha / w^(1 - alpha) give products of 8-bit numbers the
 * least error, where a and w are the largest magnitudes of activations and weights by channel, and
 * `powers` the mean squares of the activations. Activations have one scale for all channels, and so
 * have the weights of an output. Activations with rare large numbers can give them to the weights,
 * which most numbers then do not notice. */
double hn_smooth_alpha(uint64_t n, const double *activations, const double *powers,
                       const double *weights);

#endif /* HN_QUANT_SMOOTH_H */
