/* Scales of weights by their squared error: see scale_search.h. */
#include "quant/scale_search.h"

#include <math.h>

#define MOST_BITS 4 /* of more bits the range is as good */
#define N_REFITS 2
#define N_LANES 8 /* sums that run side by side, for vectors */

typedef struct scale_search {
    const hn_quant_type *type;
    hn_quant_groups groups;
    hn_quant_limits limits;
    const float *numbers; /* of the whole tensor; may be unaligned */
    float *x;             /* of one group */
    uint64_t n;           /* in x, filled up with zeros to a multiple of N_LANES */
} scale_search;

/* A candidate for one group. */
typedef struct scale_trial {
    hn_quant_params params;
    double error;           /* squared */
    double product, square; /* of numbers and integers, of integers */
} scale_trial;

/* ---- one group ------------------------------------------------------------------------------- */

static float element_at(const float *numbers, uint64_t i) {
    float x;
    memcpy(&x, (const char *)numbers + i * sizeof x, sizeof x);
    return x;
}

static void collect_group(scale_search *s, uint64_t group) {
    const hn_quant_groups *g = &s->groups;
    uint64_t n_blocks = g->block ? (g->n_axis + g->block - 1) / g->block : 1;
    uint64_t outer = g->block ? group / g->n_inner / n_blocks : 0;
    uint64_t n_outer = g->block ? 1 : g->n_outer, n_inner = g->block ? 1 : g->n_inner;
    uint64_t inner = g->block ? group % g->n_inner : 0;
    uint64_t k = g->block ? group / g->n_inner % n_blocks * g->block : group;
    uint64_t end = g->block ? HN_MIN(k + g->block, g->n_axis) : k + 1;
    s->n = 0;
    for (uint64_t o = outer; o < outer + n_outer; o++)
        for (uint64_t i = k; i < end; i++)
            for (uint64_t j = inner; j < inner + n_inner; j++)
                s->x[s->n++] = element_at(s->numbers, (o * g->n_axis + i) * g->n_inner + j);
    while (s->n % N_LANES)
        s->x[s->n++] = 0;
}

/* Rounds by adding a number whose sum has no bits left for a fraction. Quotients are small: no
 * candidate is much smaller than the range. */
static void measure_trial(const scale_search *s, scale_trial *t) {
    const float shift = 12582912.0f, inverse = 1 / t->params.scale, scale = t->params.scale;
    const float low = (float)(s->limits.low - t->params.zero);
    const float high = (float)(s->limits.high - t->params.zero);
    float error[N_LANES] = {0}, product[N_LANES] = {0}, square[N_LANES] = {0};
    for (uint64_t i = 0; i < s->n; i += N_LANES)
        for (int k = 0; k < N_LANES; k++) {
            float x = s->x[i + (uint64_t)k], q = (x * inverse + shift) - shift;
            q = q < low ? low : q;
            q = q > high ? high : q;
            float d = x - q * scale;
            error[k] += d * d;
            product[k] += x * q;
            square[k] += q * q;
        }
    t->error = t->product = t->square = 0;
    for (int k = 0; k < N_LANES; k++) {
        t->error += (double)error[k];
        t->product += (double)product[k];
        t->square += (double)square[k];
    }
}

static void try_params(const scale_search *s, hn_quant_params params, scale_trial *best) {
    scale_trial t = {.params = params};
    measure_trial(s, &t);
    if (t.error < best->error)
        *best = t;
}

/* Factors of the range: below 1 the largest numbers are clipped; above it, none is that a
 * symmetric range of two's complement would clip. */
static void try_symmetric(const scale_search *s, double most, scale_trial *best) {
    static const double factors[] = {1.08, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.62, 0.55};
    for (size_t i = 0; i < HN_COUNT(factors); i++) {
        hn_quant_params p = hn_quant_params_of(s->type, -most * factors[i], most * factors[i]);
        p.zero = best->params.zero;
        try_params(s, p, best);
    }
}

static void try_asymmetric(const scale_search *s, double min, double max, scale_trial *best) {
    static const double factors[] = {1.0, 0.92, 0.84, 0.76, 0.68};
    for (size_t i = 0; i < HN_COUNT(factors); i++)
        for (size_t k = 0; k < HN_COUNT(factors); k++)
            try_params(s, hn_quant_params_of(s->type, min * factors[i], max * factors[k]), best);
}

/* The integers stay and the scale that suits them best is taken; then numbers are rounded again. */
static void refit_scale(const scale_search *s, scale_trial *best) {
    hn_quant_params p = best->params;
    double scale = best->square > 0 ? best->product / best->square : 0;
    if (scale < 0x1p-100 || scale > 0x1p100)
        return;
    p.scale = (float)scale;
    try_params(s, p, best);
}

static hn_quant_params search_group(const scale_search *s, hn_quant_range range) {
    double min = (double)range.min, max = (double)range.max, most = fmax(-min, max);
    scale_trial best = {.params = hn_quant_params_of(s->type, min, max)};
    if (s->type->is_symmetric)
        best.params.zero = (int32_t)nearbyint((s->limits.low + s->limits.high) / 2.0);
    if (most < 0x1p-100 || most > 0x1p60) /* squares would not be numbers */
        return best.params;
    measure_trial(s, &best);
    if (s->type->is_symmetric)
        try_symmetric(s, most, &best);
    else
        try_asymmetric(s, min, max, &best);
    for (int i = 0; i < N_REFITS; i++)
        refit_scale(s, &best);
    return best.params;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const float *as_floats(const hn_tensor *w, hn_arena *scratch) {
    if (w->dtype == HN_F32)
        return w->data;
    float *out = HN_NEW_N(scratch, float, w->n_elems + 1);
    for (uint64_t i = 0; out && i < w->n_elems; i += HN_QUANT_TILE)
        hn_quant_load(w, i, HN_MIN(w->n_elems - i, (uint64_t)HN_QUANT_TILE), out + i);
    return out;
}

static hone_status search_tensor(scale_search *s, const hn_tensor *w, hn_arena *scratch,
                                 hn_arena *arena, hn_quant_result *out, hone_error *err) {
    hn_quant_range *ranges = HN_NEW_N(scratch, hn_quant_range, s->groups.n + 1);
    hn_quant_params *params = HN_NEW_N(scratch, hn_quant_params, s->groups.n + 1);
    uint64_t largest = s->groups.block ? s->groups.block : w->n_elems / HN_MAX(s->groups.n, 1u);
    s->x = HN_NEW_N(scratch, float, HN_MIN(largest, w->n_elems) + N_LANES);
    s->numbers = as_floats(w, scratch);
    if (!ranges || !params || !s->x || !s->numbers)
        return HONE_E_NOMEM;
    HN_TRY(hn_quant_ranges(w, &s->groups, ranges, err));
    for (uint64_t i = 0; i < s->groups.n; i++) {
        collect_group(s, i);
        params[i] = search_group(s, ranges[i]);
    }
    return hn_quant_apply(w, s->type, &s->groups, params, arena, out);
}

hone_status hn_quant_search(const hn_tensor *w, const hn_quant_type *type, int32_t axis,
                            int64_t block, hn_arena *arena, hn_quant_result *out, hone_error *err) {
    scale_search s = {.type = type, .limits = hn_quant_limits_of(type)};
    if (!hn_dtype_is_int(type->dtype) || hn_dtype_bits(type->dtype) > MOST_BITS ||
        !hn_quant_groups_of(w, axis, block, &s.groups) || !w->data || w->n_elems == 0)
        return hn_quant_tensor(w, type, axis, block, arena, out, err);
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(arena));
    HN_TRY_PTR(scratch);
    hone_status status = search_tensor(&s, w, scratch, arena, out, err);
    hn_arena_free(scratch);
    return status;
}
