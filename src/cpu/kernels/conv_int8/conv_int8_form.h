/* What sizes decide about a convolution of bytes.
 *
 * Tiles read windows in runs: the bytes of one line of the kernel where its pixels are neighbours
 * and all channels belong to the window, else those of one pixel. Windows that lie inside the input
 * and whose runs are whole steps of unsigned bytes are read in place; else bands of lines are
 * copied with their padding, and so are lines that are too short for a tile. A 1x1 convolution
 * without strides has no lines: its pixels are cut into lines of even length. */
#ifndef HN_CONV_INT8_FORM_H
#define HN_CONV_INT8_FORM_H

#include "cpu/kernels/conv_int8/conv_int8.h"
#include "cpu/kernels/conv_int8/depthwise_int8.h"
#include "cpu/kernels/gemm_int8/int8_panels.h"

/* Along lines and columns; a convolution along one axis has one line. */
typedef struct hn_int8_plane {
    int64_t in, out, kernel, stride, dilation, pad;
} hn_int8_plane;

struct hn_conv_int8_form {
    hn_int8_plane lines, cols;
    int64_t images;
    /* Pixels of an image of x and of y: the last line may have fewer than the others. */
    int64_t pixels_in, positions;
    bool is_depthwise, copies;
    int64_t n_runs, run_bytes; /* depthwise: taps of one byte */
    int64_t group_channels, group_filters;
    int64_t pixel_bytes, line_bytes; /* of what tiles read */
    int64_t band_lines, n_bands;     /* output lines; bands of an image */
    int64_t band_bytes;              /* of a copy */
    /* Panels of filters, or blocks of channels: of a group, of all, columns of one, of a task. */
    int64_t group_panels, n_panels, width, panel_grain;
};

hn_conv_int8_form hn_conv_int8_read_form(const hn_conv_int8_job *job);
/* The job's own, or one that is read. */
static inline hn_conv_int8_form hn_conv_int8_form_of(const hn_conv_int8_job *job) {
    return job->form ? *job->form : hn_conv_int8_read_form(job);
}

/* Bytes of one packed panel. */
static inline int64_t hn_conv_int8_panel_bytes(const hn_conv_int8_form *f) {
    int64_t groups = f->is_depthwise ? hn_int8_groups_of(f->n_runs)
                                     : f->n_runs * hn_int8_groups(hn_u8s8_pick(), f->run_bytes);
    return groups * f->width * HN_U8S8_GROUP;
}

/* Where run i of a window begins, from its first pixel. */
void hn_conv_int8_runs(const hn_conv_int8_form *f, int64_t *runs);

#endif /* HN_CONV_INT8_FORM_H */
