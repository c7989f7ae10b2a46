/* Inside and above cpu/kernels: boxes that overlap. */
#ifndef HN_OVERLAP_H
#define HN_OVERLAP_H

#include "base/base.h"

typedef struct hn_corners {
    float y1, x1, y2, x2, area;
} hn_corners;

/* Many boxes: element i of each list is of box i. */
typedef struct hn_corner_lists {
    float *y1, *x1, *y2, *x2, *area;
} hn_corner_lists;

/* Is there one of n boxes whose intersection with `box`, divided by their union, is more than
 * `threshold`? Boxes without an area overlap nothing. Lists go in steps of HN_OVERLAP_UNIT: those
 * up to the next multiple of it are there, and have the area 0. */
#define HN_OVERLAP_UNIT 16
typedef bool hn_overlap_fn(const hn_corner_lists *boxes, int64_t n, const hn_corners *box,
                           float threshold);
hn_overlap_fn *hn_overlap_find(void); /* the best for this processor */
hn_overlap_fn hn_overlaps__scalar;

#endif /* HN_OVERLAP_H */
