/* Sampling images where a grid says: what attributes and shapes decide, and where one sample lies.
 */
#ifndef HN_SAMPLE_EVAL_H
#define HN_SAMPLE_EVAL_H

#include "ops/eval/eval_int.h"

typedef enum hn_sample_padding {
    HN_SAMPLE_ZEROS,
    HN_SAMPLE_BORDER,
    HN_SAMPLE_REFLECTION
} hn_sample_padding;

typedef struct hn_sample_form {
    int32_t n_axes;
    int64_t taps; /* per axis: 1 nearest, 2 linear, 4 cubic */
    hn_sample_padding padding;
    bool align_corners;
    const int64_t *dims; /* spatial */
} hn_sample_form;
hone_status hn_sample_read(hn_eval *c, const hn_array *x, hn_sample_form *f);

/* From [-1, 1] to elements of an axis, then into the image as the padding says. */
double hn_sample_place(const hn_sample_form *f, int32_t axis, double v);
/* The element of an axis at a whole number, which may lie outside; -1: a zero. */
int64_t hn_sample_index(const hn_sample_form *f, int32_t axis, double p);
/* Of an element at this distance from the sample. */
double hn_sample_weight(int64_t taps, double distance);

#endif /* HN_SAMPLE_EVAL_H */
