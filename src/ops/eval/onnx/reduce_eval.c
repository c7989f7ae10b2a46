/* Reductions. Axes that lie together and share their fate become one, so that either the innermost
 * axis is reduced (long runs fold into one number) or it is kept (runs fold lane by lane). */
#include "cpu/kernels/reduce/reduce_loops.h"
#include "ops/eval/eval_broadcast.h"

#include <math.h>

typedef enum fold_kind { FOLD_SUM, FOLD_PROD, FOLD_MAX, FOLD_MIN } fold_kind;
typedef enum fold_before { BEFORE_NOTHING, BEFORE_ABS, BEFORE_SQUARE, BEFORE_EXP } fold_before;
typedef enum fold_after { AFTER_NOTHING, AFTER_MEAN, AFTER_SQRT, AFTER_LOG } fold_after;

typedef struct reduce_op {
    const char *op;
    fold_before before;
    fold_kind fold;
    fold_after after;
} reduce_op;

static const reduce_op reduce_ops[] = {
    {"ReduceSum", BEFORE_NOTHING, FOLD_SUM, AFTER_NOTHING},
    {"ReduceMean", BEFORE_NOTHING, FOLD_SUM, AFTER_MEAN},
    {"ReduceProd", BEFORE_NOTHING, FOLD_PROD, AFTER_NOTHING},
    {"ReduceMax", BEFORE_NOTHING, FOLD_MAX, AFTER_NOTHING},
    {"ReduceMin", BEFORE_NOTHING, FOLD_MIN, AFTER_NOTHING},
    {"ReduceL1", BEFORE_ABS, FOLD_SUM, AFTER_NOTHING},
    {"ReduceL2", BEFORE_SQUARE, FOLD_SUM, AFTER_SQRT},
    {"ReduceSumSquare", BEFORE_SQUARE, FOLD_SUM, AFTER_NOTHING},
    {"ReduceLogSum", BEFORE_NOTHING, FOLD_SUM, AFTER_LOG},
    {"ReduceLogSumExp", BEFORE_EXP, FOLD_SUM,
     AFTER_LOG}, /* around the largest, so that nothing overflows */
};

typedef struct reduction {
    hn_eval *c;
    const hn_array *x;
    hn_array *out;
    reduce_op how;
    bool is_int;         /* folds int64, else double */
    bool flips_sign_bit; /* uint64 in the order of int64 */
    int64_t first_int;   /* where folding starts */
    double first_real;
    int32_t n_kept, n_reduced; /* axes, outermost first; strides in elements */
    int64_t kept[HN_MAX_RANK], kept_strides[HN_MAX_RANK];
    int64_t reduced[HN_MAX_RANK], reduced_strides[HN_MAX_RANK];
    uint64_t n_folded; /* elements per output */
    uint64_t run;      /* length of the innermost reduced axis when that is contiguous, else 1 */
    uint64_t n_lanes;  /* length of the innermost kept axis when that is contiguous, else 1 */
    const hn_reduce_loops_f32 *folds;
} reduction;

/* ---- folding --------------------------------------------------------------------------------- */

#define FOLD_ALL(expr)             \
  for (uint64_t i = 0; i < n; i++) \
    acc[i] = (expr);               \
  break

static void fold_reals(fold_kind fold, double *acc, const double *x, uint64_t n) {
    switch (fold) {
    case FOLD_SUM:
        FOLD_ALL(acc[i] + x[i]);
    case FOLD_PROD:
        FOLD_ALL(acc[i] * x[i]);
    case FOLD_MAX:
        FOLD_ALL(x[i] > acc[i] || x[i] != x[i] ? x[i] : acc[i]);
    case FOLD_MIN:
        FOLD_ALL(x[i] < acc[i] || x[i] != x[i] ? x[i] : acc[i]);
    }
}

static void fold_ints(fold_kind fold, int64_t *acc, const int64_t *x, uint64_t n) {
    switch (fold) {
    case FOLD_SUM:
        FOLD_ALL((int64_t)((uint64_t)acc[i] + (uint64_t)x[i]));
    case FOLD_PROD:
        FOLD_ALL((int64_t)((uint64_t)acc[i] * (uint64_t)x[i]));
    case FOLD_MAX:
        FOLD_ALL(x[i] > acc[i] ? x[i] : acc[i]);
    case FOLD_MIN:
        FOLD_ALL(x[i] < acc[i] ? x[i] : acc[i]);
    }
}

/* Elements as they are folded; `around` is what the exponents are taken relative to. */
static void load_reals(const reduction *r, uint64_t at, uint64_t n, const double *around,
                       uint64_t around_step, double *x) {
    hn_load_f64(r->x, at, n, x);
    if (r->how.before == BEFORE_ABS)
        for (uint64_t i = 0; i < n; i++)
            x[i] = fabs(x[i]);
    else if (r->how.before == BEFORE_SQUARE)
        for (uint64_t i = 0; i < n; i++)
            x[i] *= x[i];
    else if (r->how.before == BEFORE_EXP)
        for (uint64_t i = 0; i < n; i++)
            x[i] = exp(x[i] - around[i * around_step]);
}

static void load_ints(const reduction *r, uint64_t at, uint64_t n, int64_t *x) {
    hn_load_i64(r->x, at, n, x);
    if (r->how.before == BEFORE_ABS)
        for (uint64_t i = 0; i < n; i++)
            x[i] = x[i] < 0 ? (int64_t)((uint64_t)0 - (uint64_t)x[i]) : x[i];
    else if (r->how.before == BEFORE_SQUARE)
        for (uint64_t i = 0; i < n; i++)
            x[i] = (int64_t)((uint64_t)x[i] * (uint64_t)x[i]);
    if (r->flips_sign_bit)
        for (uint64_t i = 0; i < n; i++)
            x[i] ^= INT64_MIN;
}

static void store_reals(const reduction *r, uint64_t at, uint64_t n, const double *around,
                        double *acc) {
    for (uint64_t i = 0; i < n; i++) {
        if (r->how.after == AFTER_MEAN)
            acc[i] /= (double)r->n_folded;
        else if (r->how.after == AFTER_SQRT)
            acc[i] = sqrt(acc[i]);
        else if (r->how.after == AFTER_LOG)
            acc[i] = log(acc[i]) + (around ? around[i] : 0);
    }
    hn_store_f64(r->out, at, n, acc);
}

static void store_ints(const reduction *r, uint64_t at, uint64_t n, int64_t *acc) {
    for (uint64_t i = 0; i < n; i++) {
        if (r->how.after == AFTER_MEAN && r->n_folded)
            acc[i] /= (int64_t)r->n_folded;
        if (r->flips_sign_bit)
            acc[i] ^= INT64_MIN;
    }
    hn_store_i64(r->out, at, n, acc);
}

/* ---- where the elements are ------------------------------------------------------------------ */

static uint64_t offset_of(int32_t rank, const int64_t *dims, const int64_t *strides, uint64_t at) {
    uint64_t offset = 0;
    for (int32_t i = rank - 1; i >= 0; i--) {
        offset += at % (uint64_t)dims[i] * (uint64_t)strides[i];
        at /= (uint64_t)dims[i];
    }
    return offset;
}

/* Start of the run that holds folded element `at`. */
static uint64_t folded_offset(const reduction *r, uint64_t at) {
    return offset_of(r->n_reduced, r->reduced, r->reduced_strides, at);
}

#define PARTIALS \
  8 /* sums of a run that grow side by side: vectors, and an order that no thread changes */

/* Folds `n` loaded elements into the partial results. */
#define FOLD_RUN(fold_fn, acc, x, n)           \
  for (uint64_t k = 0; k < (n); k += PARTIALS) \
  fold_fn(r->how.fold, acc, (x) + k, HN_MIN((n)-k, (uint64_t)PARTIALS))

static double fold_real_at(const reduction *r, uint64_t base, const double *around) {
    double acc[PARTIALS], tile[HN_TILE];
    for (int i = 0; i < PARTIALS; i++)
        acc[i] = r->first_real;
    for (uint64_t at = 0; at < r->n_folded; at += r->run) {
        uint64_t begin = base + folded_offset(r, at);
        for (uint64_t i = 0; i < r->run; i += HN_TILE) {
            uint64_t n = HN_MIN(r->run - i, HN_TILE);
            load_reals(r, begin + i, n, around, 0, tile);
            FOLD_RUN(fold_reals, acc, tile, n);
        }
    }
    for (int i = 1; i < PARTIALS; i++)
        fold_reals(r->how.fold, acc, &acc[i], 1);
    return acc[0];
}

static int64_t fold_int_at(const reduction *r, uint64_t base) {
    int64_t acc[PARTIALS], tile[HN_TILE];
    for (int i = 0; i < PARTIALS; i++)
        acc[i] = r->first_int;
    for (uint64_t at = 0; at < r->n_folded; at += r->run) {
        uint64_t begin = base + folded_offset(r, at);
        for (uint64_t i = 0; i < r->run; i += HN_TILE) {
            uint64_t n = HN_MIN(r->run - i, HN_TILE);
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
static void reduce_runs(const reduction *r, uint64_t begin, uint64_t end) {
    reduction largest = *r;
    largest.how = (reduce_op){NULL, BEFORE_NOTHING, FOLD_MAX, AFTER_NOTHING};
    largest.first_real = -(double)INFINITY;
    for (uint64_t at = begin; at < end; at++) {
        uint64_t base = offset_of(r->n_kept, r->kept, r->kept_strides, at);
        if (r->is_int) {
            int64_t v = fold_int_at(r, base);
            store_ints(r, at, 1, &v);
            continue;
        }
        double around =
            r->how.before == BEFORE_EXP ? anchor(fold_real_at(&largest, base, NULL)) : 0;
        double v = fold_real_at(r, base, &around);
        store_reals(r, at, 1, &around, &v);
    }
}

static void fold_real_lanes(const reduction *r, uint64_t base, uint64_t n, const double *around,
                            double *acc) {
    double tile[HN_TILE];
    for (uint64_t i = 0; i < n; i++)
        acc[i] = r->first_real;
    for (uint64_t at = 0; at < r->n_folded; at++) {
        load_reals(r, base + folded_offset(r, at), n, around, 1, tile);
        fold_reals(r->how.fold, acc, tile, n);
    }
}

static void reduce_real_lanes(const reduction *r, uint64_t at, uint64_t base, uint64_t n) {
    double acc[HN_TILE], around[HN_TILE];
    bool is_exp = r->how.before == BEFORE_EXP;
    if (is_exp) {
        reduction largest = *r;
        largest.how = (reduce_op){NULL, BEFORE_NOTHING, FOLD_MAX, AFTER_NOTHING};
        largest.first_real = -(double)INFINITY;
        fold_real_lanes(&largest, base, n, NULL, around);
        for (uint64_t i = 0; i < n; i++)
            around[i] = anchor(around[i]);
    }
    fold_real_lanes(r, base, n, is_exp ? around : NULL, acc);
    store_reals(r, at, n, is_exp ? around : NULL, acc);
}

static void reduce_int_lanes(const reduction *r, uint64_t at, uint64_t base, uint64_t n) {
    int64_t acc[HN_TILE], tile[HN_TILE];
    for (uint64_t i = 0; i < n; i++)
        acc[i] = r->first_int;
    for (uint64_t k = 0; k < r->n_folded; k++) {
        load_ints(r, base + folded_offset(r, k), n, tile);
        fold_ints(r->how.fold, acc, tile, n);
    }
    store_ints(r, at, n, acc);
}

/* Neighbouring outputs together. */
static void reduce_lanes(const reduction *r, uint64_t begin, uint64_t end) {
    for (uint64_t at = begin, n; at < end; at += n) {
        uint64_t in_run = r->n_lanes - at % r->n_lanes;
        n = HN_MIN(HN_MIN(in_run, end - at), HN_TILE);
        uint64_t base = offset_of(r->n_kept, r->kept, r->kept_strides, at);
        if (r->is_int)
            reduce_int_lanes(r, at, base, n);
        else
            reduce_real_lanes(r, at, base, n);
    }
}

static void reduce_range(void *ctx, int64_t begin, int64_t end) {
    const reduction *r = ctx;
    if (hn_eval_stopped(r->c))
        return;
    if (r->n_lanes > 1)
        reduce_lanes(r, (uint64_t)begin, (uint64_t)end);
    else
        reduce_runs(r, (uint64_t)begin, (uint64_t)end);
}

/* ---- floats by vectors ------------------------------------------------------------------------ */

/* One reduced axis of float32, which is where models spend their time. */
static bool finds_fold(const reduction *r, hn_reduce_kind *fold) {
    bool is_plain = r->how.before == BEFORE_NOTHING;
    bool is_float = r->x->dtype == HN_F32 && r->out->dtype == HN_F32;
    *fold = r->how.fold == FOLD_MAX          ? HN_REDUCE_MAX
            : r->how.fold == FOLD_MIN        ? HN_REDUCE_MIN
            : r->how.before == BEFORE_ABS    ? HN_REDUCE_ABS
            : r->how.before == BEFORE_SQUARE ? HN_REDUCE_SQUARE
                                             : HN_REDUCE_SUM;
    return is_float && r->n_reduced == 1 && r->how.fold != FOLD_PROD &&
           r->how.before != BEFORE_EXP && (is_plain || r->how.fold == FOLD_SUM);
}

static void finish_floats(const reduction *r, float *out, uint64_t n) {
    float count = (float)r->n_folded;
    for (uint64_t i = 0; i < n; i++) {
        if (r->how.after == AFTER_MEAN)
            out[i] /= count;
        else if (r->how.after == AFTER_SQRT)
            out[i] = sqrtf(out[i]);
        else if (r->how.after == AFTER_LOG)
            out[i] = logf(out[i]);
    }
}

static void reduce_floats(void *ctx, int64_t begin, int64_t end) {
    const reduction *r = ctx;
    const float *x = r->x->data;
    float *out = r->out->data;
    hn_reduce_kind fold;
    finds_fold(r, &fold);
    if (hn_eval_stopped(r->c))
        return;
    for (uint64_t at = (uint64_t)begin, n; at < (uint64_t)end; at += n) {
        uint64_t base = offset_of(r->n_kept, r->kept, r->kept_strides, at);
        n = HN_MIN(r->n_lanes - at % r->n_lanes, (uint64_t)end - at);
        if (r->run > 1)
            out[at] = r->folds->run[fold]((int64_t)r->run, x + base);
        else
            r->folds->rows[fold](r->reduced[0], r->reduced_strides[0], x + base, (int64_t)n,
                                 out + at);
    }
    finish_floats(r, out + begin, (uint64_t)(end - begin));
}

/* Outputs that one thread takes at a time: whole vectors of them. */
static int64_t reduce_grain(const reduction *r) {
    const uint64_t unit = 16;
    uint64_t grain = HN_GRAIN / HN_MAX(1, HN_MIN(r->n_folded, HN_GRAIN));
    return (int64_t)(r->n_lanes > 1 ? (grain + unit - 1) / unit * unit : HN_MAX(grain, 1));
}

/* ---- planning -------------------------------------------------------------------------------- */

static void plan_axes(reduction *r, uint64_t axes) {
    int64_t strides[HN_MAX_RANK];
    bool was_reduced = false;
    r->n_folded = 1;
    hn_strides(r->x->rank, r->x->dims, strides);
    for (int32_t i = 0; i < r->x->rank; i++) {
        int64_t dim = r->x->dims[i];
        bool is_reduced = (axes >> i) & 1;
        int32_t *n = is_reduced ? &r->n_reduced : &r->n_kept;
        int64_t *dims = is_reduced ? r->reduced : r->kept;
        int64_t *steps = is_reduced ? r->reduced_strides : r->kept_strides;
        if (is_reduced)
            r->n_folded *= (uint64_t)dim;
        if (dim == 1)
            continue;
        bool joins = r->n_kept + r->n_reduced > 0 && was_reduced == is_reduced;
        if (!joins)
            dims[(*n)++] = 1;
        dims[*n - 1] *= dim;
        steps[*n - 1] = strides[i];
        was_reduced = is_reduced;
    }
    bool has_axes = r->n_kept + r->n_reduced > 0;
    r->run = has_axes && was_reduced ? (uint64_t)r->reduced[r->n_reduced - 1] : 1;
    r->n_lanes = has_axes && !was_reduced ? (uint64_t)r->kept[r->n_kept - 1] : 1;
}

/* What an empty set reduces to. */
static void plan_start(reduction *r, hn_dtype t) {
    bool is_max = r->how.fold == FOLD_MAX, is_min = r->how.fold == FOLD_MIN;
    r->first_real = r->how.fold == FOLD_PROD ? 1
                    : is_max                 ? -(double)INFINITY
                    : is_min                 ? (double)INFINITY
                                             : 0;
    r->first_int = r->how.fold == FOLD_PROD;
    if (!r->is_int || (!is_max && !is_min))
        return;
    if (t == HN_BOOL) {
        r->first_int = is_min;
        return;
    }
    bool is_signed = t == HN_I8 || t == HN_I16 || t == HN_I32 || t == HN_I64 || t == HN_U64;
    int64_t top = (int64_t)(UINT64_MAX >> (64 - hn_dtype_bits(t) + is_signed));
    r->flips_sign_bit = t == HN_U64;
    r->first_int = is_min ? top : is_signed ? -top - 1 : 0;
}

hone_status hn_reduce(hn_eval *c, const char *op, const hn_array *x, uint64_t axes, hn_array *out) {
    reduction r = {.c = c, .x = x, .out = out};
    for (size_t i = 0; i < HN_COUNT(reduce_ops); i++)
        if (strcmp(reduce_ops[i].op, op) == 0)
            r.how = reduce_ops[i];
    if (out->n_elems == 0)
        return HONE_OK;
    bool is_exact = r.how.after == AFTER_NOTHING || r.how.after == AFTER_MEAN;
    r.is_int =
        (hn_dtype_is_int(x->dtype) || x->dtype == HN_BOOL) && is_exact && out->dtype == x->dtype;
    plan_axes(&r, axes);
    plan_start(&r, x->dtype);
    r.folds = hn_reduce_loops_find_f32();
    hn_reduce_kind fold;
    hn_pool_for(hn_eval_pool(c), (int64_t)out->n_elems, reduce_grain(&r),
                finds_fold(&r, &fold) ? reduce_floats : reduce_range, &r);
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

/* Axes as bits, from the attribute or from input 1. */
static hone_status reduced_axes(hn_eval *c, int32_t rank, uint64_t *bits) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *given = hn_arg(c, 1);
    const int64_t *list = NULL;
    uint32_t n = 0;
    if (given) {
        list = given->data;
        n = (uint32_t)given->n_elems;
    } else {
        hn_attr_ints(node, "axes", &n, &list);
    }
    *bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = list[i] < 0 ? list[i] + rank : list[i];
        if (axis < 0 || axis >= rank)
            return hn_eval_fail(c, HONE_E_SHAPE, "axis %lld does not exist in data of rank %d",
                                (long long)list[i], rank);
        *bits |= (uint64_t)1 << axis;
    }
    if (n == 0 && !hn_attr_i(node, "noop_with_empty_axes", 0))
        *bits = UINT64_MAX;
    return HONE_OK;
}

static hone_status eval_reduce(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *out = hn_ret(c, 0);
    uint64_t axes;
    if (!out)
        return HONE_OK;
    HN_TRY(reduced_axes(c, x->rank, &axes));
    return hn_reduce(c, hn_infer_op(hn_eval_node(c)), x, axes, out);
}
const hn_impl hn_impl_reduce[1] = {{.eval = eval_reduce}};
