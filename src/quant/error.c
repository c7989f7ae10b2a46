/* Errors of quantized numbers: see error.h. */
#include "quant/error.h"

#include <math.h>

void hn_quant_error_add(hn_quant_error *e, uint64_t n, const float *exact, const float *got) {
    for (uint64_t i = 0; i < n; i++) {
        double x = (double)exact[i], d = (double)got[i] - x;
        e->signal += x * x;
        e->noise += d * d;
        e->sum += d;
        e->sum_abs += fabs(d);
        e->max_abs = fmax(e->max_abs, fabs(d));
    }
    e->n += n;
}

double hn_quant_sqnr(const hn_quant_error *e) {
    if (e->signal <= 0)
        return NAN;
    return e->noise > 0 ? 10 * log10(e->signal / e->noise) : INFINITY;
}

hone_status hn_quant_error_of(const hn_tensor *w, const hn_quant_result *q, int32_t axis,
                              int64_t block, hn_quant_error *out) {
    hn_quant_groups groups;
    float exact[HN_QUANT_TILE], got[HN_QUANT_TILE], scale, zero;
    if (!hn_quant_groups_of(w, axis, block, &groups))
        return HONE_E_ARGUMENT;
    hn_quant_cursor at = {.groups = &groups};
    *out = (hn_quant_error){0};
    for (uint64_t i = 0; i < w->n_elems; i += HN_QUANT_TILE) {
        uint64_t n = HN_MIN(w->n_elems - i, (uint64_t)HN_QUANT_TILE), last = UINT64_MAX;
        hn_quant_load(w, i, n, exact);
        hn_quant_load(q->q, i, n, got);
        for (uint64_t k = 0; k < n; k++) {
            uint64_t group = hn_quant_next(&at);
            if (group != last) {
                hn_quant_load(q->scale, group, 1, &scale);
                hn_quant_load(q->zero, group, 1, &zero);
                last = group;
            }
            got[k] = (got[k] - zero) * scale;
        }
        hn_quant_error_add(out, n, exact, got);
    }
    return HONE_OK;
}
