/* Reductions. Floats are folded as doubles, or by vectors in blocks; integers as 64-bit integers.
 */
#include "cpu/kernels/transpose/transpose.h"
#include "ops/eval/reduction.h"
#include "ops/eval/eval_broadcast.h"

#include <math.h>

/* One at work. What is folded, and from where, may be changed on the way. */
typedef struct reducing {
    const hn_reduction *plan;
    const hn_array *x;
    hn_array *out;
    hn_reduce_op how;
    double first_real;
} reducing;

/* ---- folding --------------------------------------------------------------------------------- */

#define FOLD_ALL(expr)             \
  for (uint64_t i = 0; i < n; i++) \
    acc[i] = (expr);               \
  break

static void fold_reals(hn_fold fold, double *acc, const double *x, uint64_t n) {
    switch (fold) {
    case HN_FOLD_SUM:
        FOLD_ALL(acc[i] + x[i]);
    case HN_FOLD_PROD:
        FOLD_ALL(acc[i] * x[i]);
    case HN_FOLD_MAX:
        FOLD_ALL(x[i] > acc[i] || x[i] != x[i] ? x[i] : acc[i]);
    case HN_FOLD_MIN:
        FOLD_ALL(x[i] < acc[i] || x[i] != x[i] ? x[i] : acc[i]);
    }
}

static void fold_ints(hn_fold fold, int64_t *acc, const int64_t *x, uint64_t n) {
    switch (fold) {
    case HN_FOLD_SUM:
        FOLD_ALL((int64_t)((uint64_t)acc[i] + (uint64_t)x[i]));
    case HN_FOLD_PROD:
        FOLD_ALL((int64_t)((uint64_t)acc[i] * (uint64_t)x[i]));
    case HN_FOLD_MAX:
        FOLD_ALL(x[i] > acc[i] ? x[i] : acc[i]);
    case HN_FOLD_MIN:
        FOLD_ALL(x[i] < acc[i] ? x[i] : acc[i]);
    }
}

/* Elements as they are folded; `around` is what the exponents are taken relative to. */
static void load_reals(const reducing *r, uint64_t at, uint64_t n, const double *around,
                       uint64_t around_step, double *x) {
    hn_load_f64(r->x, at, n, x);
    if (r->how.before == HN_BEFORE_ABS)
        for (uint64_t i = 0; i < n; i++)
            x[i] = fabs(x[i]);
    else if (r->how.before == HN_BEFORE_SQUARE)
        for (uint64_t i = 0; i < n; i++)
            x[i] *= x[i];
    else if (r->how.before == HN_BEFORE_EXP)
        for (uint64_t i = 0; i < n; i++)
            x[i] = exp(x[i] - around[i * around_step]);
}

static void load_ints(const reducing *r, uint64_t at, uint64_t n, int64_t *x) {
    hn_load_i64(r->x, at, n, x);
    if (r->how.before == HN_BEFORE_ABS)
        for (uint64_t i = 0; i < n; i++)
            x[i] = x[i] < 0 ? (int64_t)((uint64_t)0 - (uint64_t)x[i]) : x[i];
    else if (r->how.before == HN_BEFORE_SQUARE)
        for (uint64_t i = 0; i < n; i++)
            x[i] = (int64_t)((uint64_t)x[i] * (uint64_t)x[i]);
    if (r->plan->flips_sign_bit)
        for (uint64_t i = 0; i < n; i++)
            x[i] ^= INT64_MIN;
}

static void store_reals(const reducing *r, uint64_t at, uint64_t n, const double *around,
                        double *acc) {
    for (uint64_t i = 0; i < n; i++) {
        if (r->how.after == HN_AFTER_MEAN)
            acc[i] /= (double)r->plan->n_folded;
        else if (r->how.after == HN_AFTER_SQRT)
            acc[i] = sqrt(acc[i]);
        else if (r->how.after == HN_AFTER_LOG)
            acc[i] = log(acc[i]) + (around ? around[i] : 0);
    }
    hn_store_f64(r->out, at, n, acc);
}

static void store_ints(const reducing *r, uint64_t at, uint64_t n, int64_t *acc) {
    for (uint64_t i = 0; i < n; i++) {
        if (r->how.after == HN_AFTER_MEAN && r->plan->n_folded)
            acc[i] /= (int64_t)r->plan->n_folded;
        if (r->plan->flips_sign_bit)
            acc[i] ^= INT64_MIN;
    }
    hn_store_i64(r->out, at, n, acc);
}

/* ---- where the elements are ------------------------------------------------------------------ */

static uint64_t offset_of(int32_t rank, const int64_t *dims, const int64_t *strides, uint64_t at) {
    uint64_t offset = 0;
    if (rank == 1)
        return at * (uint64_t)strides[0];
    for (int32_t i = rank - 1; i >= 0; i--) {
        offset += at % (uint64_t)dims[i] * (uint64_t)strides[i];
        at /= (uint64_t)dims[i];
    }
    return offset;
}

/* First element that goes into output `at`. */
static uint64_t reduction_base(const hn_reduction *r, uint64_t at) {
    return offset_of(r->n_kept, r->kept, r->kept_strides, at);
}

/* Start of the run that holds folded element `at`. */
static uint64_t folded_offset(const reducing *r, uint64_t at) {
    return offset_of(r->plan->n_reduced, r->plan->reduced, r->plan->reduced_strides, at);
}

#define PARTIALS \
  8 /* sums of a run that grow side by side: vectors, and an order that no thread changes */

/* Sums of whole groups of elements, the most common case. */
static uint64_t add_groups(double *acc, const double *x, uint64_t n) {
    uint64_t k = 0;
    for (; k + PARTIALS <= n; k += PARTIALS)
        for (int i = 0; i < PARTIALS; i++)
            acc[i] += x[k + (uint64_t)i];
    return k;
}

/* Folds `n` loaded elements into the partial results. */
#define FOLD_RUN(fold_fn, acc, x, n)           \
  for (uint64_t k = 0; k < (n); k += PARTIALS) \
  fold_fn(r->how.fold, acc, (x) + k, HN_MIN((n)-k, (uint64_t)PARTIALS))

static double fold_real_at(const reducing *r, uint64_t base, const double *around) {
    double acc[PARTIALS], tile[HN_TILE];
    for (int i = 0; i < PARTIALS; i++)
        acc[i] = r->first_real;
    for (uint64_t at = 0; at < r->plan->n_folded; at += r->plan->run) {
        uint64_t begin = base + folded_offset(r, at);
        for (uint64_t i = 0; i < r->plan->run; i += HN_TILE) {
            uint64_t n = HN_MIN(r->plan->run - i, HN_TILE);
            load_reals(r, begin + i, n, around, 0, tile);
            uint64_t done = r->how.fold == HN_FOLD_SUM ? add_groups(acc, tile, n) : 0;
            FOLD_RUN(fold_reals, acc, tile + done, n - done);
        }
    }
    for (int i = 1; i < PARTIALS; i++)
        fold_reals(r->how.fold, acc, &acc[i], 1);
    return acc[0];
}

static int64_t fold_int_at(const reducing *r, uint64_t base) {
    int64_t acc[PARTIALS], tile[HN_TILE];
    for (int i = 0; i < PARTIALS; i++)
        acc[i] = r->plan->first_int;
    for (uint64_t at = 0; at < r->plan->n_folded; at += r->plan->run) {
        uint64_t begin = base + folded_offset(r, at);
        for (uint64_t i = 0; i < r->plan->run; i += HN_TILE) {
            uint64_t n = HN_MIN(r->plan->run - i, HN_TILE);
            load_ints(r, begin + i, n, tile);
            FOLD_RUN(fold_ints, acc, tile, n);
        }
    }
    for (int i = 1; i < PARTIALS; i++)
        fold_ints(r->how.fold, acc, &acc[i], 1);
    return acc[0];
}

/* The largest number, or 0 where that is infinite: exponents are taken relative to it. */
static double anchor(double largest) {
    return isfinite(largest) ? largest : 0;
}

/* One output at a time. */
static void reduce_runs(const reducing *r, uint64_t begin, uint64_t end) {
    reducing largest = *r;
    largest.how = (hn_reduce_op){NULL, HN_BEFORE_NOTHING, HN_FOLD_MAX, HN_AFTER_NOTHING};
    largest.first_real = -(double)INFINITY;
    for (uint64_t at = begin; at < end; at++) {
        uint64_t base = reduction_base(r->plan, at);
        if (r->plan->is_int) {
            int64_t v = fold_int_at(r, base);
            store_ints(r, at, 1, &v);
            continue;
        }
        double around =
            r->how.before == HN_BEFORE_EXP ? anchor(fold_real_at(&largest, base, NULL)) : 0;
        double v = fold_real_at(r, base, &around);
        store_reals(r, at, 1, &around, &v);
    }
}

static void fold_real_lanes(const reducing *r, uint64_t base, uint64_t n, const double *around,
                            double *acc) {
    double tile[HN_TILE];
    for (uint64_t i = 0; i < n; i++)
        acc[i] = r->first_real;
    for (uint64_t at = 0; at < r->plan->n_folded; at++) {
        load_reals(r, base + folded_offset(r, at), n, around, 1, tile);
        fold_reals(r->how.fold, acc, tile, n);
    }
}

static void reduce_real_lanes(const reducing *r, uint64_t at, uint64_t base, uint64_t n) {
    double acc[HN_TILE], around[HN_TILE];
    bool is_exp = r->how.before == HN_BEFORE_EXP;
    if (is_exp) {
        reducing largest = *r;
        largest.how = (hn_reduce_op){NULL, HN_BEFORE_NOTHING, HN_FOLD_MAX, HN_AFTER_NOTHING};
        largest.first_real = -(double)INFINITY;
        fold_real_lanes(&largest, base, n, NULL, around);
        for (uint64_t i = 0; i < n; i++)
            around[i] = anchor(around[i]);
    }
    fold_real_lanes(r, base, n, is_exp ? around : NULL, acc);
    store_reals(r, at, n, is_exp ? around : NULL, acc);
}

static void reduce_int_lanes(const reducing *r, uint64_t at, uint64_t base, uint64_t n) {
    int64_t acc[HN_TILE], tile[HN_TILE];
    for (uint64_t i = 0; i < n; i++)
        acc[i] = r->plan->first_int;
    for (uint64_t k = 0; k < r->plan->n_folded; k++) {
        load_ints(r, base + folded_offset(r, k), n, tile);
        fold_ints(r->how.fold, acc, tile, n);
    }
    store_ints(r, at, n, acc);
}

/* Neighbouring outputs together. */
static void reduce_lanes(const reducing *r, uint64_t begin, uint64_t end) {
    for (uint64_t at = begin, n; at < end; at += n) {
        uint64_t in_run = r->plan->n_lanes - at % r->plan->n_lanes;
        n = HN_MIN(HN_MIN(in_run, end - at), HN_TILE);
        uint64_t base = reduction_base(r->plan, at);
        if (r->plan->is_int)
            reduce_int_lanes(r, at, base, n);
        else
            reduce_real_lanes(r, at, base, n);
    }
}

/* ---- integers in pairs ----------------------------------------------------------------------- */

enum { PAIR_LANES = 1024, PAIR_SPREAD = 64 }; /* elements; elements of 8 bytes */

/* One output: runs are folded into as many partial results as fit, these by halves. */
static void fold_pair_runs(const reducing *r, const uint8_t *x, size_t bytes, uint8_t *out) {
    uint64_t spread[PAIR_SPREAD], n = HN_MIN(r->plan->run, sizeof spread / bytes);
    uint8_t *parts = (uint8_t *)spread;
    for (uint64_t at = 0; at < r->plan->n_folded; at += r->plan->run) {
        const uint8_t *from = x + folded_offset(r, at) * bytes;
        for (uint64_t i = 0; i < r->plan->run; i += n)
            if (at == 0 && i == 0)
                memcpy(parts, from, (size_t)n * bytes);
            else
                r->plan->fold_pair(parts, 1, from + i * bytes, 1, parts,
                                   HN_MIN(n, r->plan->run - i));
    }
    for (uint64_t half; n > 1; n -= half) {
        half = n / 2;
        r->plan->fold_pair(parts, 1, parts + (n - half) * bytes, 1, parts, half);
    }
    memcpy(out, parts, bytes);
}

static void reduce_pairs(void *ctx, int64_t begin, int64_t end) {
    const reducing *r = ctx;
    size_t bytes = hn_elem_bytes(r->x->dtype);
    for (uint64_t at = (uint64_t)begin, n; at < (uint64_t)end; at += n) {
        const uint8_t *x = (const uint8_t *)r->x->data + reduction_base(r->plan, at) * bytes;
        uint8_t *out = (uint8_t *)r->out->data + at * bytes;
        n = HN_MIN(HN_MIN(r->plan->n_lanes - at % r->plan->n_lanes, (uint64_t)end - at),
                   PAIR_LANES);
        if (r->plan->n_lanes == 1) {
            fold_pair_runs(r, x, bytes, out);
            continue;
        }
        memcpy(out, x, (size_t)n * bytes);
        for (uint64_t k = 1; k < r->plan->n_folded; k++)
            r->plan->fold_pair(out, 1, x + folded_offset(r, k) * bytes, 1, out, n);
    }
}

/* ---- everything else ------------------------------------------------------------------------- */

static void reduce_range(void *ctx, int64_t begin, int64_t end) {
    const reducing *r = ctx;
    if (r->plan->n_lanes > 1)
        reduce_lanes(r, (uint64_t)begin, (uint64_t)end);
    else
        reduce_runs(r, (uint64_t)begin, (uint64_t)end);
}

/* ---- floats by vectors ------------------------------------------------------------------------ */

static void finish_floats(const hn_reduction *r, float *out, uint64_t n) {
    float count = (float)r->n_folded;
    for (uint64_t i = 0; i < n; i++) {
        if (r->how.after == HN_AFTER_MEAN)
            out[i] /= count;
        else if (r->how.after == HN_AFTER_SQRT)
            out[i] = sqrtf(out[i]);
        else if (r->how.after == HN_AFTER_LOG)
            out[i] = logf(out[i]);
    }
}

enum { SHORT_RUN = 16, RUNS_AT_ONCE = 64 };

/* Runs of a few elements that follow each other, turned around: each vector has one of many. */
static bool has_short_runs(const hn_reduction *r) {
    return r->run > 1 && r->run <= SHORT_RUN && r->n_kept == 1 && r->n_reduced == 1 &&
           r->kept_strides[0] == (int64_t)r->run;
}

static void reduce_short_runs(const hn_reduction *r, const float *x, uint64_t n, float *out) {
    float tile[SHORT_RUN * RUNS_AT_ONCE];
    for (uint64_t at = 0, some; at < n; at += some) {
        some = HN_MIN(n - at, RUNS_AT_ONCE);
        hn_transpose(&(hn_transpose_job){.elem_bytes = sizeof *x,
                                         .rows = (int64_t)some,
                                         .cols = (int64_t)r->run,
                                         .from = x + at * r->run,
                                         .from_row = (int64_t)r->run,
                                         .to = tile,
                                         .to_row = RUNS_AT_ONCE});
        r->fold_rows((int64_t)r->run, RUNS_AT_ONCE, tile, (int64_t)some, out + at);
    }
}

/* Part k of what is folded into one output: the innermost reduced axis, at a place on the others.
 */
static const float *reduced_part(const hn_reduction *r, const float *x, uint64_t k) {
    return x + offset_of(r->n_reduced - 1, r->reduced, r->reduced_strides, k);
}

/* Parts are folded by vectors, and their results as doubles. */
static float fold_runs(const hn_reduction *r, const float *x) {
    double all = r->first_real;
    if (r->n_reduced == 1)
        return r->fold_run((int64_t)r->run, x);
    for (uint64_t k = 0; k < r->n_folded / r->run; k++) {
        double part = (double)r->fold_run((int64_t)r->run, reduced_part(r, x, k));
        fold_reals(r->how.fold, &all, &part, 1);
    }
    return (float)all;
}

/* n <= HN_TILE where several axes are reduced. */
static void fold_lanes(const hn_reduction *r, const float *x, uint64_t n, float *out) {
    int64_t n_rows = r->reduced[r->n_reduced - 1], row = r->reduced_strides[r->n_reduced - 1];
    double all[HN_TILE], part[HN_TILE];
    if (r->n_reduced == 1) {
        r->fold_rows(n_rows, row, x, (int64_t)n, out);
        return;
    }
    for (uint64_t k = 0; k < r->n_folded / (uint64_t)n_rows; k++) {
        r->fold_rows(n_rows, row, reduced_part(r, x, k), (int64_t)n, out);
        for (uint64_t i = 0; i < n; i++)
            part[i] = (double)out[i];
        if (k == 0)
            memcpy(all, part, (size_t)n * sizeof *all);
        else
            fold_reals(r->how.fold, all, part, n);
    }
    for (uint64_t i = 0; i < n; i++)
        out[i] = (float)all[i];
}

static void reduce_floats(void *ctx, int64_t begin, int64_t end) {
    const reducing *job = ctx;
    const hn_reduction *r = job->plan;
    const float *from = job->x->data;
    float *out = job->out->data;
    bool is_short = has_short_runs(r);
    if (is_short)
        reduce_short_runs(r, from + (uint64_t)begin * r->run, (uint64_t)(end - begin), out + begin);
    for (uint64_t at = (uint64_t)begin, n; at < (uint64_t)end && !is_short; at += n) {
        const float *x = from + reduction_base(r, at);
        n = HN_MIN(r->n_lanes - at % r->n_lanes, (uint64_t)end - at);
        n = r->n_reduced > 1 ? HN_MIN(n, HN_TILE) : n;
        if (r->run > 1)
            out[at] = fold_runs(r, x);
        else
            fold_lanes(r, x, n, out + at);
    }
    if (r->how.after != HN_AFTER_NOTHING)
        finish_floats(r, out + begin, (uint64_t)(end - begin));
}

/* Outputs that one thread takes at a time: whole vectors of them, and whole tiles, so that no
 * result depends on who computes it. */
static int64_t reduce_grain(const hn_reduction *r) {
    bool is_short = r->fold_run && has_short_runs(r);
    uint64_t grain = HN_GRAIN / HN_MAX(1, HN_MIN(r->n_folded, HN_GRAIN)),
             unit = is_short            ? RUNS_AT_ONCE
                    : r->n_lanes >= 512 ? 128 /* rows far apart: whole pieces of them */
                    : r->n_lanes > 1    ? 16
                                        : 1;
    return (int64_t)((grain + unit - 1) / unit * unit);
}

void hn_reduction_run(hn_pool *pool, const hn_reduction *r, const hn_array *x, hn_array *out) {
    reducing job = {r, x, out, r->how, r->first_real};
    hn_pool_for(pool, (int64_t)r->n_out, reduce_grain(r),
                r->fold_run    ? reduce_floats
                : r->fold_pair ? reduce_pairs
                               : reduce_range,
                &job);
}

hone_status hn_reduce(hn_eval *c, const char *op, const hn_array *x, uint64_t axes, hn_array *out) {
    hn_reduction r;
    if (out->n_elems == 0)
        return HONE_OK;
    hn_reduction_plan(&r, op, x, axes, out);
    hn_reduction_run(hn_eval_pool(c), &r, x, out);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

double hn_sum_run(const hn_array *x, uint64_t begin, uint64_t n, double from, int power) {
    double sums[PARTIALS] = {0}, tile[HN_TILE], total = 0;
    for (uint64_t at = 0; at < n; at += HN_TILE) {
        uint64_t n_tile = HN_MIN(n - at, HN_TILE);
        hn_load_f64(x, begin + at, n_tile, tile);
        for (uint64_t i = 0; i < n_tile; i++) {
            double v = tile[i] - from;
            sums[i % PARTIALS] += power == 2 ? v * v : v;
        }
    }
    for (int i = 0; i < PARTIALS; i++)
        total += sums[i];
    return total;
}

/* ---- operators ------------------------------------------------------------------------------- */

static hone_status eval_reduce(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *out = hn_ret(c, 0);
    uint64_t axes;
    if (!out)
        return HONE_OK;
    HN_TRY(hn_reduced_axes(c, x->rank, &axes));
    return hn_reduce(c, hn_infer_op(hn_eval_node(c)), x, axes, out);
}
const hn_impl hn_impl_reduce[1] = {{.eval = eval_reduce}};
