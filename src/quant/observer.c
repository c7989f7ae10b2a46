#include "quant/observer.h"

#include <math.h>

enum { OBSERVED_GRAIN = 65536 }; /* elements that a thread counts at a time */

hn_observer *hn_observer_new(hn_arena *arena, bool has_histogram) {
    hn_observer *o = HN_NEW(arena, hn_observer);
    if (o)
        o->alloc = hn_arena_allocator(arena);
    if (!o || !has_histogram)
        return o;
    for (int sign = 0; sign < 2; sign++)
        if (!(o->counts[sign] = HN_NEW_N(arena, uint64_t, HN_OBSERVER_BINS)))
            return NULL;
    return o;
}

/* ---- least and greatest numbers --------------------------------------------------------------- */

typedef struct range_part {
    float min, max;
    uint64_t n_not_finite;
} range_part;

enum { SCAN_LANES = 16 };

/* Lanes of their own, so that compilers make vectors of the loops. Numbers that are not finite have
 * all bits of the exponent. */
static bool scan_lanes(const float *x, uint64_t n, float *low, float *high) {
    float lows[SCAN_LANES] = {0}, highs[SCAN_LANES] = {0};
    uint32_t is_odd[SCAN_LANES] = {0};
    for (uint64_t i = 0; i < n; i += SCAN_LANES) {
        uint32_t bits[SCAN_LANES];
        memcpy(bits, x + i, sizeof bits);
        for (uint64_t k = 0; k < SCAN_LANES; k++) {
            lows[k] = x[i + k] < lows[k] ? x[i + k] : lows[k];
            highs[k] = x[i + k] > highs[k] ? x[i + k] : highs[k];
            is_odd[k] |= (bits[k] & 0x7f800000u) == 0x7f800000u;
        }
    }
    for (uint64_t k = 1; k < SCAN_LANES; k++) {
        lows[0] = fminf(lows[0], lows[k]);
        highs[0] = fmaxf(highs[0], highs[k]);
        is_odd[0] |= is_odd[k];
    }
    *low = lows[0];
    *high = highs[0];
    return !is_odd[0];
}

static void scan_range(const float *x, uint64_t n, range_part *part) {
    uint64_t n_lanes = n - n % SCAN_LANES;
    float low, high;
    uint64_t done = scan_lanes(x, n_lanes, &low, &high) ? n_lanes : 0;
    if (done == 0)
        low = high = 0;
    for (uint64_t i = done; i < n; i++) {
        if (!isfinite(x[i])) {
            part->n_not_finite++;
            continue;
        }
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    part->min = fminf(part->min, low);
    part->max = fmaxf(part->max, high);
}

/* ---- histograms ------------------------------------------------------------------------------- */

/* A wider limit: each bin takes the content of `factor` of the old ones. */
static void widen_histogram(hn_observer *o, double limit) {
    double factor = o->limit > 0 ? limit / o->limit : 1;
    o->limit = limit;
    if (factor <= 1)
        return;
    for (int sign = 0; sign < 2; sign++) {
        uint64_t *counts = o->counts[sign];
        for (uint64_t k = 0; k < HN_OBSERVER_BINS; k++) {
            uint64_t n = counts[k];
            counts[k] = 0;
            counts[(uint64_t)((double)k / factor)] += n;
        }
    }
}

/* The least power of two above the magnitude. */
static double limit_above(double magnitude) {
    int exponent;
    frexp(magnitude, &exponent);
    return ldexp(1, exponent);
}

/* Bins of one sign, and one for numbers that are not finite, which are counted elsewhere. */
enum { SIGN_BINS = HN_OBSERVER_BINS + 1, TABLE_BINS = 2 * SIGN_BINS, BIN_TABLES = 2 };

/* Places first, which are vectors; then counts, in tables of their own for neighbours: equal
 * numbers would wait for each other. */
static void count_in_bins(const float *x, uint64_t n, float bins_per_unit, uint32_t *counts) {
    int32_t places[256];
    for (uint64_t i = 0; i < n;) {
        uint64_t n_now = HN_MIN(n - i, HN_COUNT(places));
        for (uint64_t k = 0; k < n_now; k++) {
            float at = x[i + k] * bins_per_unit, magnitude = fabsf(at);
            magnitude = magnitude < (float)HN_OBSERVER_BINS ? magnitude : (float)HN_OBSERVER_BINS;
            places[k] = (int32_t)magnitude + (at < 0 ? SIGN_BINS : 0);
        }
        for (uint64_t k = 0; k < n_now; k++)
            counts[k % BIN_TABLES * TABLE_BINS + (uint64_t)places[k]]++;
        i += n_now;
    }
}

/* ---- both, by all threads --------------------------------------------------------------------- */

typedef struct observation {
    const hn_observed_rows *rows;
    uint64_t rows_per_part, n_parts;
    range_part *ranges; /* of each part */
    uint32_t *counts;   /* of each lane: BIN_TABLES tables, both signs in each */
    float bins_per_unit;
} observation;

static uint64_t part_rows(const observation *job, int64_t part, uint64_t *first) {
    *first = (uint64_t)part * job->rows_per_part;
    return HN_MIN(job->rows_per_part, job->rows->n_rows - *first);
}

static void scan_parts(void *ctx, int64_t begin, int64_t end) {
    observation *job = ctx;
    for (int64_t part = begin; part < end; part++) {
        uint64_t first, n = part_rows(job, part, &first);
        for (uint64_t r = first; r < first + n; r++)
            scan_range(job->rows->at + r * job->rows->stride, job->rows->row, &job->ranges[part]);
    }
}

static void count_parts(void *ctx, int lane, int64_t begin, int64_t end) {
    observation *job = ctx;
    uint32_t *counts = job->counts + (size_t)lane * BIN_TABLES * TABLE_BINS;
    for (int64_t part = begin; part < end; part++) {
        uint64_t first, n = part_rows(job, part, &first);
        for (uint64_t r = first; r < first + n; r++)
            count_in_bins(job->rows->at + r * job->rows->stride, job->rows->row, job->bins_per_unit,
                          counts);
    }
}

static bool add_counts(hn_observer *o, observation *job, hn_pool *pool) {
    size_t n_tables = (size_t)hn_pool_threads(pool) * BIN_TABLES, n = n_tables * TABLE_BINS;
    job->counts = hn_calloc(o->alloc, n, sizeof *job->counts);
    if (!job->counts)
        return false;
    job->bins_per_unit = (float)(HN_OBSERVER_BINS / o->limit);
    hn_pool_for_lanes(pool, (int64_t)job->n_parts, 1, count_parts, job);
    for (size_t t = 0; t < 2 * n_tables; t++)
        for (size_t k = 0; k < HN_OBSERVER_BINS; k++)
            o->counts[t % 2][k] += job->counts[t * SIGN_BINS + k];
    hn_free(o->alloc, job->counts, n * sizeof *job->counts);
    return true;
}

/* Rows are cut so that parts have about the same size, one long row into several. */
static hn_observed_rows cut_rows(const hn_observed_rows *rows) {
    uint64_t n = rows->n_rows * rows->row;
    bool is_dense = rows->stride == rows->row || rows->n_rows <= 1;
    if (!is_dense || n % OBSERVED_GRAIN != 0)
        return is_dense ? (hn_observed_rows){rows->at, 1, n, n} : *rows;
    return (hn_observed_rows){rows->at, n / OBSERVED_GRAIN, OBSERVED_GRAIN, OBSERVED_GRAIN};
}

static bool observe_rows(hn_observer *o, const hn_observed_rows *rows, range_part *all,
                         hn_pool *pool) {
    observation job = {.rows = rows,
                       .rows_per_part = HN_MAX(OBSERVED_GRAIN / HN_MAX(rows->row, 1), 1)};
    job.n_parts = (rows->n_rows + job.rows_per_part - 1) / job.rows_per_part;
    job.ranges = hn_calloc(o->alloc, job.n_parts + 1, sizeof *job.ranges);
    if (!job.ranges)
        return false;
    hn_pool_for(pool, (int64_t)job.n_parts, 1, scan_parts, &job);
    for (uint64_t i = 0; i < job.n_parts; i++) {
        all->min = fminf(all->min, job.ranges[i].min);
        all->max = fmaxf(all->max, job.ranges[i].max);
        all->n_not_finite += job.ranges[i].n_not_finite;
    }
    hn_free(o->alloc, job.ranges, (job.n_parts + 1) * sizeof *job.ranges);
    double magnitude = fmax(-(double)all->min, all->max);
    if (!o->counts[0])
        return true;
    if (magnitude == 0 && o->limit == 0) {
        o->counts[0][0] += rows->n_rows * rows->row - all->n_not_finite;
        return true;
    }
    if (magnitude >= o->limit)
        widen_histogram(o, limit_above(magnitude));
    return add_counts(o, &job, pool);
}

bool hn_observer_add(hn_observer *o, const hn_observed_rows *rows, double average_weight,
                     hn_pool *pool) {
    hn_observed_rows whole = cut_rows(rows);
    uint64_t n = rows->n_rows * rows->row, n_whole = whole.row / OBSERVED_GRAIN;
    range_part all = {0};
    bool ok;
    if (whole.n_rows == 1 && n_whole > 1) { /* full parts, then the rest */
        hn_observed_rows full = {whole.at, n_whole, OBSERVED_GRAIN, OBSERVED_GRAIN};
        hn_observed_rows rest = {whole.at + n_whole * OBSERVED_GRAIN, 1, n % OBSERVED_GRAIN, 0};
        ok = observe_rows(o, &full, &all, pool) && observe_rows(o, &rest, &all, pool);
    } else {
        ok = observe_rows(o, &whole, &all, pool);
    }
    double w = o->n_samples ? average_weight : 1;
    o->mean_min += w * (all.min - o->mean_min);
    o->mean_max += w * (all.max - o->mean_max);
    o->min = fmin(o->min, all.min);
    o->max = fmax(o->max, all.max);
    o->n += n - all.n_not_finite;
    o->n_not_finite += all.n_not_finite;
    o->n_samples++;
    return ok;
}

void hn_observer_add_channels(hn_observer *o, const float *x, uint64_t n_outer, uint64_t n_inner) {
    for (uint64_t k = 0; k < n_outer * o->n_channels; k++) {
        float most = o->channel_max[k % o->n_channels];
        const float *line = x + k * n_inner;
        double squares = 0;
        for (uint64_t i = 0; i < n_inner; i++) {
            float magnitude = fabsf(line[i]);
            most = magnitude > most ? magnitude : most;
            squares += (double)(line[i] * line[i]);
        }
        o->channel_max[k % o->n_channels] = most;
        if (o->channel_squares)
            o->channel_squares[k % o->n_channels] += squares;
    }
    o->n_per_channel += n_outer * n_inner;
}
