/* Inside cpu/kernels: the transforms of Winograd's convolution, by vectors over channels.
 *
 * 4 x 4 outputs of a 3 x 3 convolution come from a window of 6 x 6 inputs by 36 products instead of
 * 144: rows and columns of the window are taken for polynomials, evaluated at 6 points, multiplied
 * there with the filter, and taken back. */
#ifndef HN_CONV_WINOGRAD_H
#define HN_CONV_WINOGRAD_H

#include "cpu/kernels/rows/row_loops.h"

enum {
    HN_WINOGRAD_TILE = 4,   /* outputs of a tile, along each axis */
    HN_WINOGRAD_WINDOW = 6, /* inputs it reads */
    HN_WINOGRAD_POINTS = 36
};

/* The points are 0, plus and minus A, plus and minus B, and infinity. Roots of 1/2 and 2 keep the
 * errors small: a third of those with 1 and 2. */
#define HN_WINOGRAD_A 0.70710678118654752440
#define HN_WINOGRAD_B 1.41421356237309504880

#define HN_WINOGRAD_LANES 16 /* numbers of channels and of filters are multiples of it below */

/* What the three taps of a filter's line weigh at each point. */
extern const double hn_winograd_weights[HN_WINOGRAD_WINDOW][3];

#define HN_WINOGRAD_MOST_WIDTH 32

/* The transforms of one instruction set. Strides count floats. */
typedef struct hn_winograd_set {
    int width; /* filters that are packed side by side: two vectors */
    /* out[point * plane + f] from taps[9][width], for one channel of `width` filters */
    void (*filters)(const double *taps, float *out, int64_t plane);
    /* v[point * plane + c] from the window x[i * row + j * column + c], for n channels */
    void (*input)(int64_t n, const float *x, int64_t row, int64_t column, float *v, int64_t plane);
    /* outputs y[i * row + j * column + f] from m[point * plane + f], for n filters. The epilogue
     * has a bias per column, limits, and residual[i * residual_row + j * residual_stride + f]. */
    void (*output)(int64_t n, const float *m, int64_t plane, const hn_epilogue_f32 *epilogue,
                   int64_t residual_row, float *y, int64_t row, int64_t column);
} hn_winograd_set;

/* The best that this processor has; NULL: none. */
const hn_winograd_set *hn_winograd_pick(void);

#endif /* HN_CONV_WINOGRAD_H */
