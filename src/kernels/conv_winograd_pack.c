/* Filters of Winograd's convolution: values at the points, computed in double and rounded once. */
#include "kernels/conv_last_tile.h"
#include "kernels/conv_winograd.h"

enum {
    FILTER_SIDE = 3,
    MOST_PANEL_WIDTH = HN_WINOGRAD_MOST_WIDTH,
    WEIGH_STEP = 8 /* all widths are multiples: a constant number of steps, turned into vectors */
};

/* What the values of a filter's taps weigh at each point. The factors are those that evaluation of
 * the window leaves out: one over the product of distances to the other points. */
#define SQUARE(a) ((a) * (a))
#define FACTOR_0 (1 / (SQUARE(HN_WINOGRAD_A) * SQUARE(HN_WINOGRAD_B)))
#define FACTOR(a, b) (1 / (2 * SQUARE(a) * (SQUARE(a) - SQUARE(b))))
#define AT(point, factor) \
  { factor, (point) * (factor), SQUARE(point) * (factor) }
static const double at_points[HN_WINOGRAD_WINDOW][FILTER_SIDE] = {
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

/* out[i] = the three lines of n numbers that begin at `lines`, weighed for one point. */
static void weigh_lines(const double *restrict weights, int64_t n, const double *restrict lines,
                        double *restrict out) {
    for (int64_t i = 0; i < n; i += WEIGH_STEP)
        for (int64_t k = i; k < i + WEIGH_STEP; k++)
            out[k] =
                weights[0] * lines[k] + weights[1] * lines[n + k] + weights[2] * lines[2 * n + k];
}

/* One channel of filters that lie side by side: taps[3][3][width] to values[6][6][width]. */
static void evaluate_filters(int64_t width, const double *taps, double *values) {
    double lines[FILTER_SIDE * MOST_PANEL_WIDTH];
    for (int i = 0; i < HN_WINOGRAD_WINDOW; i++) {
        weigh_lines(at_points[i], FILTER_SIDE * width, taps, lines);
        for (int j = 0; j < HN_WINOGRAD_WINDOW; j++, values += width)
            weigh_lines(at_points[j], width, lines, values);
    }
}

int64_t hn_winograd_packed_elems(const hn_conv_last_job *job) {
    int64_t width = hn_winograd_width();
    return HN_WINOGRAD_POINTS * job->channels * ((job->filters + width - 1) / width * width);
}

/* Panels of `width` filters; in each the points, in each of those the channels. */
void hn_winograd_pack(const hn_conv_last_job *job, float *out) {
    int64_t width = hn_winograd_width(), channels = job->channels;
    double taps[FILTER_SIDE * FILTER_SIDE * MOST_PANEL_WIDTH],
        values[HN_WINOGRAD_POINTS * MOST_PANEL_WIDTH];
    for (int64_t f0 = 0; f0 < job->filters; f0 += width) {
        int64_t n = HN_MIN(width, job->filters - f0);
        memset(taps, 0, sizeof taps);
        for (int64_t c = 0; c < channels; c++) {
            const float *w = job->w + (f0 * channels + c) * FILTER_SIDE * FILTER_SIDE;
            for (int64_t f = 0; f < n; f++, w += channels * FILTER_SIDE * FILTER_SIDE)
                for (int64_t t = 0; t < FILTER_SIDE * FILTER_SIDE; t++)
                    taps[t * width + f] = w[t];
            evaluate_filters(width, taps, values);
            for (int64_t p = 0; p < HN_WINOGRAD_POINTS; p++)
                for (int64_t f = 0; f < width; f++)
                    out[(p * channels + c) * width + f] = (float)values[p * width + f];
        }
        out += HN_WINOGRAD_POINTS * channels * width;
    }
}
