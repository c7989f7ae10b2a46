/* Filters of Winograd's convolution: values at the points, computed in double and rounded once. */
#include "cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "cpu/kernels/winograd/winograd.h"

enum { FILTER_TAPS = 9 };

/* Powers of the point, and a factor that evaluation of the window leaves out: one over the product
 * of distances to the other points. */
#define SQUARE(a) ((a) * (a))
#define FACTOR_0 (1 / (SQUARE(HN_WINOGRAD_A) * SQUARE(HN_WINOGRAD_B)))
#define FACTOR(a, b) (1 / (2 * SQUARE(a) * (SQUARE(a) - SQUARE(b))))
#define AT(point, factor) \
  { factor, (point) * (factor), SQUARE(point) * (factor) }
const double hn_winograd_weights[HN_WINOGRAD_WINDOW][3] = {
    AT(0, FACTOR_0),
    AT(HN_WINOGRAD_A, FACTOR(HN_WINOGRAD_A, HN_WINOGRAD_B)),
    AT(-HN_WINOGRAD_A, FACTOR(HN_WINOGRAD_A, HN_WINOGRAD_B)),
    AT(HN_WINOGRAD_B, FACTOR(HN_WINOGRAD_B, HN_WINOGRAD_A)),
    AT(-HN_WINOGRAD_B, FACTOR(HN_WINOGRAD_B, HN_WINOGRAD_A)),
    {0, 0, 1}};
#undef SQUARE
#undef FACTOR_0
#undef FACTOR
#undef AT

int64_t hn_winograd_packed_elems(const hn_conv_nhwc_job *job) {
    int64_t width = hn_winograd_pick()->width;
    return HN_WINOGRAD_POINTS * job->channels * ((job->filters + width - 1) / width * width);
}

/* Panels of `width` filters; in each the points, in each of those the channels. */
void hn_winograd_pack(const hn_conv_nhwc_job *job, float *out) {
    const hn_winograd_set *set = hn_winograd_pick();
    int64_t width = set->width, channels = job->channels;
    double taps[FILTER_TAPS * HN_WINOGRAD_MOST_WIDTH];
    for (int64_t f0 = 0; f0 < job->filters; f0 += width) {
        int64_t n = HN_MIN(width, job->filters - f0);
        memset(taps, 0, sizeof taps);
        for (int64_t c = 0; c < channels; c++) {
            const float *w = job->w + (f0 * channels + c) * FILTER_TAPS;
            for (int64_t f = 0; f < n; f++, w += channels * FILTER_TAPS)
                for (int64_t t = 0; t < FILTER_TAPS; t++)
                    taps[t * width + f] = w[t];
            set->filters(taps, out + c * width, channels * width);
        }
        out += HN_WINOGRAD_POINTS * channels * width;
    }
}
