/* Inside cpu/kernels: channels-first convolutions of small maps.
 *
 * All planes of a group are copied into bands with their padding around them. Moved by the offset
 * of a window element, a band is one row of the matrix of windows, so the products read it there
 * and no such matrix is written; what the padding between lines gives is dropped. */
#ifndef HN_CONV_SMALL_H
#define HN_CONV_SMALL_H

#include "cpu/kernels/kernel.h"

enum {
    HN_CONV_SMALL_DEPTH = 320,  /* products of an output, at most; sums are never interrupted */
    HN_CONV_SMALL_LANES = 64,   /* outputs of a plane with the padding between lines, at most */
    HN_CONV_SMALL_BANDS = 4096, /* elements of all bands, at most */
    HN_CONV_SMALL_SLACK = 64    /* elements past the last one of them that are read */
};

typedef struct hn_conv_small_f32 {
    int64_t channels, in_elems, in_row; /* of the planes */
    int64_t rows, cols;                 /* of a plane that windows reach */
    int64_t band_elems, pitch;          /* of a band, and of a line of it */
    int64_t inside;                     /* where a plane begins in its band */
    int64_t out_h, out_w, depth;
    int32_t offsets[HN_CONV_SMALL_DEPTH]; /* of channels and window elements, in their bands */
} hn_conv_small_f32;

typedef struct hn_small_filters {
    const float *at;
    int64_t row, col;
} hn_small_filters;

typedef struct hn_conv_small_set {
    /* Copies the planes into bands whose padding is zero already. */
    void (*copy)(const hn_conv_small_f32 *s, const float *x, float *bands);
    /* y[r, out] = bias[r] + sum over k of w[r * row + k * col] * bands[offsets[k] + place of out]
     * for n filters */
    void (*products)(const hn_conv_small_f32 *s, const float *bands, int64_t n,
                     const hn_small_filters *w, const float *bias, float *y);
} hn_conv_small_set;
const hn_conv_small_set *hn_conv_small_pick(void); /* NULL: not on this processor */

/* Sizes of a job alone; false: it is none of these, or this processor has no vectors. */
bool hn_conv_small_read(const hn_conv_job_f32 *job, hn_conv_small_f32 *s);
void hn_conv_small_run(const hn_pool *pool, const hn_conv_job_f32 *job, const hn_conv_small_f32 *s);

#endif /* HN_CONV_SMALL_H */
