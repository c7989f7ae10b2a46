/* Evaluation of operators that draw random numbers: from the attribute `seed` alone when it is
 * there, else from the run's generator. */
#include "ops/eval/eval_broadcast.h"

#include <math.h>

static hn_rng *seeded(hn_eval *c, hn_rng *own) {
    const hn_infer *node = hn_eval_node(c);
    const hn_attr *seed = hn_attr_raw(node, "seed");
    uint64_t number = 0;
    if (!seed)
        return hn_eval_rng(c);
    if (seed->kind == HN_ATTR_INT) {
        number = (uint64_t)seed->v.i;
    } else {
        float f = hn_attr_f(node, "seed", 0);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        number = bits;
    }
    hn_rng_seed(own, number);
    return own;
}

/* ---- uniform and normal ---------------------------------------------------------------------- */

static hone_status fill_random(hn_eval *c, bool is_normal, double at_zero, double scale) {
    hn_array *out = hn_ret(c, 0);
    hn_rng own, *rng = seeded(c, &own);
    double tile[HN_TILE];
    for (uint64_t at = 0; out && at < out->n_elems; at += HN_TILE) {
        uint64_t n = HN_MIN(out->n_elems - at, HN_TILE);
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        for (uint64_t i = 0; i < n; i++)
            tile[i] = at_zero + scale * (is_normal ? (double)hn_rng_normal(rng) : hn_rng_f64(rng));
        hn_store_f64(out, at, n, tile);
    }
    return HONE_OK;
}

static hone_status eval_random_normal(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    return fill_random(c, true, (double)hn_attr_f(node, "mean", 0),
                       (double)hn_attr_f(node, "scale", 1));
}
const hn_impl hn_impl_random_normal[1] = {{.eval = eval_random_normal}};

static hone_status eval_random_uniform(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    double low = (double)hn_attr_f(node, "low", 0), high = (double)hn_attr_f(node, "high", 1);
    return fill_random(c, false, low, high - low);
}
const hn_impl hn_impl_random_uniform[1] = {{.eval = eval_random_uniform}};

/* ---- draws ----------------------------------------------------------------------------------- */

static hone_status eval_bernoulli(hn_eval *c) {
    const hn_array *p = hn_arg(c, 0);
    hn_array *out = hn_ret(c, 0);
    hn_rng own, *rng = seeded(c, &own);
    double tile[HN_TILE];
    for (uint64_t at = 0; out && at < p->n_elems && !hn_spent(16 * HN_TILE); at += HN_TILE) {
        uint64_t n = HN_MIN(p->n_elems - at, HN_TILE);
        hn_load_f64(p, at, n, tile);
        for (uint64_t i = 0; i < n; i++)
            tile[i] = hn_rng_f64(rng) < tile[i];
        hn_store_f64(out, at, n, tile);
    }
    return HONE_OK;
}
const hn_impl hn_impl_bernoulli[1] = {{.eval = eval_bernoulli}};

/* Index at which the running sum of weights passes `target`. */
static int64_t pick(const double *sums, uint64_t n, double target) {
    uint64_t low = 0, high = n - 1;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (sums[middle] > target)
            high = middle;
        else
            low = middle + 1;
    }
    return (int64_t)low;
}

/* Inputs are logarithms of weights, one row for each batch. */
static hone_status eval_multinomial(hn_eval *c) {
    const hn_array *logits = hn_arg(c, 0);
    hn_array *out = hn_ret(c, 0);
    hn_rng own, *rng = seeded(c, &own);
    if (!out || out->n_elems == 0)
        return HONE_OK;
    uint64_t n_classes = (uint64_t)logits->dims[1], n_samples = (uint64_t)out->dims[1];
    if (n_classes == 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "there is no class to draw from");
    double *sums = hn_eval_scratch(c, n_classes * sizeof *sums);
    HN_TRY_PTR(sums);
    for (uint64_t row = 0; row < (uint64_t)logits->dims[0]; row++) {
        hn_load_f64(logits, row * n_classes, n_classes, sums);
        double largest = sums[0], total = 0;
        for (uint64_t i = 1; i < n_classes; i++)
            largest = HN_MAX(largest, sums[i]);
        for (uint64_t i = 0; i < n_classes; i++)
            sums[i] = total += exp(sums[i] - largest);
        for (uint64_t i = 0; i < n_samples && !hn_spent(32); i++) {
            int64_t drawn = pick(sums, n_classes, hn_rng_f64(rng) * total);
            hn_store_i64(out, row * n_samples + i, 1, &drawn);
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_multinomial[1] = {{.eval = eval_multinomial}};

/* ---- Dropout --------------------------------------------------------------------------------- */

/* Before version 7 an attribute said that this is no training; from 7 to 10 it never was; since 12
 * an input says that it is. */
static bool is_training(const hn_eval *c) {
    const hn_array *given = hn_arg(c, 2);
    int version = hn_infer_version(hn_eval_node(c));
    if (version < 7)
        return hn_attr_i(hn_eval_node(c), "is_test", 0) == 0;
    return version >= 12 && given && given->n_elems > 0 && *(const uint8_t *)given->data;
}

static double dropout_ratio(const hn_eval *c) {
    const hn_array *given = hn_arg(c, 1);
    double ratio = 0.5;
    if (hn_infer_version(hn_eval_node(c)) < 12)
        return (double)hn_attr_f(hn_eval_node(c), "ratio", 0.5f);
    if (given && given->n_elems > 0)
        hn_load_f64(given, 0, 1, &ratio);
    return ratio;
}

static void fill_ones(hn_array *a) {
    const float one = 1;
    for (uint64_t i = 0; a && i < a->n_elems; i++)
        hn_store_f32(a, i, 1, &one);
}

/* What stays is scaled up, so that the expected sum stays, too. */
static void drop(const hn_array *x, hn_array *y, hn_array *mask, double ratio, hn_rng *rng) {
    double tile[HN_TILE], stays[HN_TILE];
    for (uint64_t at = 0; at < x->n_elems && !hn_spent(16 * HN_TILE); at += HN_TILE) {
        uint64_t n = HN_MIN(x->n_elems - at, HN_TILE);
        hn_load_f64(x, at, n, tile);
        for (uint64_t i = 0; i < n; i++) {
            stays[i] = hn_rng_f64(rng) >= ratio;
            tile[i] = stays[i] != 0 ? tile[i] / (1 - ratio) : 0;
        }
        if (y)
            hn_store_f64(y, at, n, tile);
        if (mask)
            hn_store_f64(mask, at, n, stays);
    }
}

static hone_status eval_dropout(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0), *mask = hn_ret(c, 1);
    hn_rng own;
    double ratio = dropout_ratio(c);
    if (is_training(c) && ratio != 0) {
        drop(x, y, mask, ratio, seeded(c, &own));
        return HONE_OK;
    }
    fill_ones(mask);
    return y ? hn_array_copy(c, y, x) : HONE_OK;
}
const hn_impl hn_impl_dropout[1] = {{.eval = eval_dropout}};
