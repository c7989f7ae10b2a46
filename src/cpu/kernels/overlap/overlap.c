/* Boxes that overlap one, in plain C and with vectors. */
#include "cpu/kernels/overlap/overlap.h"

/* Comparisons that compile to one instruction, which fminf and fmaxf do not. */
static inline float overlap_lower(float a, float b) {
    return a < b ? a : b;
}

static inline float overlap_upper(float a, float b) {
    return a > b ? a : b;
}

bool hn_overlaps__scalar(const hn_corner_lists *boxes, int64_t n, const hn_corners *box,
                         float threshold) {
    for (int64_t i = 0; i < n; i++) {
        float h = overlap_lower(box->y2, boxes->y2[i]) - overlap_upper(box->y1, boxes->y1[i]);
        float w = overlap_lower(box->x2, boxes->x2[i]) - overlap_upper(box->x1, boxes->x1[i]);
        if (!(h > 0 && w > 0 && box->area > 0 && boxes->area[i] > 0))
            continue;
        float either = box->area + boxes->area[i] - h * w;
        if (either > 0 && h * w / either > threshold)
            return true;
    }
    return false;
}

/* ---- with vectors --------------------------------------------------------------------------- */

#define SIMD_TEMPLATE "cpu/kernels/overlap/overlap_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
