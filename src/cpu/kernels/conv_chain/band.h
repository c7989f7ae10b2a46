/* Inside cpu/kernels: images packed so that neighbouring outputs of a window read
 * neighbouring elements.
 *
 * Rows and columns of the padded input are sorted by their remainders of the stride. Then each
 * window element is one shifted copy of the band, and all outputs of the band come from one loop
 * over such copies, whatever the size of the image. What the padding between rows gives is
 * dropped. */
#ifndef HN_BAND_H
#define HN_BAND_H

#include "cpu/kernels/kernel.h"
#include "cpu/kernels/rows/row_loops.h"

enum {
    HN_BAND_ELEMS = 16384, /* of a packed band, with slack: 64 KB */
    HN_BAND_MOST_TAPS = 128,
    HN_BAND_MOST_STRIDE = 16
};
/* Room for a band, or for its outputs. */
#define HN_BAND_ROOM (HN_BAND_ELEMS + HN_TAP_SUMS_SLACK)

/* The window with exactly two axes, and how a band lies. */
typedef struct hn_band {
    int64_t in_h, in_w, out_h, out_w, pad_h, pad_w, stride_h, stride_w;
    int64_t pitch;     /* of a row of one remainder */
    int64_t rows;      /* output rows of a full band */
    int64_t part_rows; /* packed rows of one remainder, for a full band */
    int64_t n_taps, offsets[HN_BAND_MOST_TAPS];
    bool has_phase_h[HN_BAND_MOST_STRIDE]; /* remainders that any tap reads */
    bool has_phase_w[HN_BAND_MOST_STRIDE];
} hn_band;

/* Bands of up to most_rows rows of the output. False when there are other than one or two axes, or
 * a single row does not fit. */
bool hn_band_read(const hn_window *s, int64_t most_rows, hn_band *f);
/* What output rows row0 .. row0 + rows need of one plane; `outside` stands in the padding. */
void hn_band_plan(const hn_band *f, const float *x, int64_t row0, float outside, float *band);
/* Outputs of one band, packed with f->pitch, of which `rows` rows count. */
static inline int64_t hn_band_outputs(const hn_band *f, int64_t rows) {
    return (rows - 1) * f->pitch + f->out_w;
}

#endif /* HN_BAND_H */
