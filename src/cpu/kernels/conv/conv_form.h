/* What the sizes of a channels-first convolution of floats decide: read once where the same
 * convolution runs many times. */
#ifndef HN_CONV_FORM_H
#define HN_CONV_FORM_H

#include "cpu/kernels/conv/conv_small.h"
#include "cpu/kernels/conv_chain/band.h"

typedef enum hn_conv_way {
    HN_CONV_DEPTHWISE, /* one channel per filter */
    HN_CONV_POINTWISE, /* windows of one element: the input is the right side of a product */
    HN_CONV_SMALL,     /* small maps */
    HN_CONV_BANDS,     /* the right side of a product is copied from bands */
    HN_CONV_COLUMNS    /* ... or element by element */
} hn_conv_way;

struct hn_conv_form_f32 {
    hn_conv_way way;
    hn_band band;            /* of HN_CONV_BANDS */
    hn_conv_small_f32 small; /* of HN_CONV_SMALL */
};

/* From sizes and window of a job. */
void hn_conv_form_read(const hn_conv_job_f32 *job, hn_conv_form_f32 *form);

#endif /* HN_CONV_FORM_H */
