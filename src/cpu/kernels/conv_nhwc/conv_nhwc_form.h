/* Inside cpu/kernels: a channels-last convolution in the form that its product has, and how the
 * filters of the product lie. */
#ifndef HN_CONV_NHWC_FORM_H
#define HN_CONV_NHWC_FORM_H

#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"

#define HN_PRODUCT_MOST_SLICE 512 /* rows; of a wide panel it takes 64 KB */

/* Filters are a matrix of one row per window element and channel, in this order, and one column per
 * filter of a group. Its columns are cut into panels as wide as a tile (the last may have half the
 * width), its rows into slices; a panel's part of a slice lies side by side.
 *
 * Groups that are narrower than a vector are taken together, as many as fill one: their filters lie
 * as those of one group, and each reads the channels of its own group (see `spread`). */
typedef struct hn_product_form {
    hn_window s; /* two axes at least: the last two are lines, and outputs of a line */
    int64_t batch;
    int64_t all_filters;
    int64_t groups, channels, filters; /* channels and filters of one group */
    int64_t group_span;                /* channels from one group to the next */
    int64_t depth;                     /* rows of filters */
    int64_t unit, slice;               /* slices have so many rows, or less where a unit ends */
    int64_t width, panels, padded;     /* columns of a panel; per group: panels, their columns */
    int64_t planes;                    /* of all images: outputs of the last two axes */
    int64_t in_step[HN_MAX_SPATIAL];   /* elements from one pixel to the next */
    int64_t out_step[HN_MAX_SPATIAL],
        out_image;     /* elements from one output, one image to the next */
    int64_t out_start; /* where the first output lies */
    int64_t y_step,
        residual_step; /* elements from one pixel to the next, where there is a residual */
    bool is_spread;    /* several groups are taken together */
    int32_t spread[HN_CONV_TILE_MOST_LANES]; /* the first channel of the group of each filter */
} hn_product_form;

/* Where outputs lie that do not lie side by side: elements of y. */
typedef struct hn_product_place {
    int64_t start, step[HN_MAX_SPATIAL], image;
} hn_product_place;

/* place: NULL when outputs lie side by side. */
void hn_product_form_read(const hn_conv_nhwc_job *job, const hn_product_place *place,
                          hn_product_form *f);
/* Neither w, packed_w nor method of the job matter. */
void hn_product_run(hn_pool *pool, const hn_conv_nhwc_job *job, const hn_product_form *f,
                    const float *packed_w);

/* Filters as somebody stored them: w[start + filter * filter_step + channel * channel_step + sum
 * over axes of tap * tap_step]. */
typedef struct hn_filter_view {
    const float *w;
    int64_t start, filter_step, channel_step, tap_step[HN_MAX_SPATIAL];
} hn_filter_view;

int64_t hn_product_filter_elems(const hn_conv_nhwc_job *job); /* 0: there are no tiles */
void hn_product_pack_filters(const hn_conv_nhwc_job *job, const hn_filter_view *view, float *out);

/* Rows of the slice that begins at k0. */
static inline int64_t hn_product_slice(const hn_product_form *f, int64_t k0) {
    return HN_MIN(HN_MIN(f->slice, f->unit - k0 % f->unit), f->depth - k0);
}

static inline int64_t hn_panel_width(const hn_product_form *f, int64_t panel) {
    return HN_MIN(f->width, f->padded - panel * f->width);
}

/* Where rows k0 .. k0 + nk of a panel of one group begin. */
static inline int64_t hn_panel_at(const hn_product_form *f, int64_t group, int64_t panel,
                                  int64_t k0, int64_t nk) {
    return group * f->padded * f->depth + k0 * f->padded + panel * f->width * nk;
}

#endif /* HN_CONV_NHWC_FORM_H */
