/* Scales of weights by their squared error: see scale_search.h. Candidates are tried one after the
 * other on the whole tensor, with one sum per group, in the order of memory. */
#include "quant/scale_search.h"

#include <math.h>

#define MOST_BITS 4 /* of more bits the range is as good */
#define N_REFITS 2

typedef struct scale_search {
    const hn_tensor *w;
    const hn_quant_type *type;
    hn_quant_groups groups;
    hn_quant_limits limits;
    hn_quant_params *params, *tried; /* by group: the best so far, and the candidate */
    double *error, *best;            /* by group: squared error of them */
    double *product, *square;        /* by group: of numbers and integers, for the best */
} scale_search;

/* Errors of the candidates; their least-squares scales, too, where `fits`. */
static void measure_scales(scale_search *s, bool fits) {
    float x[HN_QUANT_TILE];
    hn_quant_cursor at = {.groups = &s->groups};
    const hn_quant_params *params = fits ? s->params : s->tried;
    memset(s->error, 0, s->groups.n * sizeof *s->error);
    if (fits) {
        memset(s->product, 0, s->groups.n * sizeof *s->product);
        memset(s->square, 0, s->groups.n * sizeof *s->square);
    }
    for (uint64_t i = 0; i < s->w->n_elems; i += HN_QUANT_TILE) {
        uint64_t n = HN_MIN(s->w->n_elems - i, (uint64_t)HN_QUANT_TILE);
        hn_quant_load(s->w, i, n, x);
        for (uint64_t k = 0; k < n; k++) {
            uint64_t group = hn_quant_next(&at);
            hn_quant_params p = params[group];
            float q = (float)(hn_quant_number(x[k], p, s->limits) - p.zero);
            float d = x[k] - q * p.scale;
            s->error[group] += (double)(d * d);
            if (fits) {
                s->product[group] += (double)(x[k] * q);
                s->square[group] += (double)(q * q);
            }
        }
    }
}

static void keep_better(scale_search *s) {
    measure_scales(s, false);
    for (uint64_t g = 0; g < s->groups.n; g++)
        if (s->error[g] < s->best[g]) {
            s->best[g] = s->error[g];
            s->params[g] = s->tried[g];
        }
}

/* Factors of the range: below 1 the largest numbers are clipped; above it, none is that a
 * symmetric range of two's complement would clip. */
static void try_ranges(scale_search *s, const hn_quant_range *ranges) {
    static const double factors[] = {1.0, 1.08, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.62, 0.55};
    for (size_t i = 0; i < HN_COUNT(factors); i++) {
        for (uint64_t g = 0; g < s->groups.n; g++) {
            s->tried[g] = hn_quant_params_of(s->type, (double)ranges[g].min * factors[i],
                                             (double)ranges[g].max * factors[i]);
            if (s->type->is_symmetric)
                s->tried[g].zero = (int32_t)nearbyint((s->limits.low + s->limits.high) / 2.0);
        }
        keep_better(s);
    }
}

/* The integers stay, the scale that suits them best is taken; then the numbers are rounded again.
 */
static void refit_scales(scale_search *s) {
    measure_scales(s, true);
    for (uint64_t g = 0; g < s->groups.n; g++) {
        s->tried[g] = s->params[g];
        float scale = s->square[g] > 0 ? (float)(s->product[g] / s->square[g]) : 0;
        if (scale >= 0x1p-126f && isfinite(scale))
            s->tried[g].scale = scale;
    }
    keep_better(s);
}

static hone_status begin_search(scale_search *s, hn_arena *arena) {
    uint64_t n = s->groups.n + 1;
    s->params = HN_NEW_N(arena, hn_quant_params, n);
    s->tried = HN_NEW_N(arena, hn_quant_params, n);
    double *sums = HN_NEW_N(arena, double, 4 * n);
    if (!s->params || !s->tried || !sums)
        return HONE_E_NOMEM;
    s->error = sums;
    s->best = sums + n;
    s->product = sums + 2 * n;
    s->square = sums + 3 * n;
    for (uint64_t i = 0; i < n; i++)
        s->best[i] = INFINITY;
    return HONE_OK;
}

static hone_status search(scale_search *s, hn_arena *scratch, hn_arena *arena, hn_quant_result *out,
                          hone_error *err) {
    hn_quant_range *ranges = HN_NEW_N(scratch, hn_quant_range, s->groups.n + 1);
    HN_TRY_PTR(ranges);
    HN_TRY(begin_search(s, scratch));
    HN_TRY(hn_quant_ranges(s->w, &s->groups, ranges, err));
    try_ranges(s, ranges);
    for (int i = 0; i < N_REFITS; i++)
        refit_scales(s);
    return hn_quant_apply(s->w, s->type, &s->groups, s->params, arena, out);
}

hone_status hn_quant_search(const hn_tensor *w, const hn_quant_type *type, int32_t axis,
                            int64_t block, hn_arena *arena, hn_quant_result *out, hone_error *err) {
    scale_search s = {.w = w, .type = type, .limits = hn_quant_limits_of(type)};
    if (!hn_dtype_is_int(type->dtype) || hn_dtype_bits(type->dtype) > MOST_BITS ||
        !hn_quant_groups_of(w, axis, block, &s.groups) || !w->data)
        return hn_quant_tensor(w, type, axis, block, arena, out, err);
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(arena));
    HN_TRY_PTR(scratch);
    hone_status status = search(&s, scratch, arena, out, err);
    hn_arena_free(scratch);
    return status;
}
