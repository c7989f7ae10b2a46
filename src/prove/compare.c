/* Comparison of the outputs of two runs. */
#include "prove/prove.h"

#include <math.h>

/* Bounds on the largest difference, relative to the largest element of the output. */
#define EXACT_BOUND \
  1e-6 /* the same computation, possibly by other code when constants are folded */
#define REASSOCIATED_BOUND 1e-3
#define APPROXIMATE_BOUND 5e-2
#define CHUNK 256

/* Floats may be in a type of lower precision. */
static bool are_comparable(hn_dtype a, hn_dtype b) {
    return a == b || (hn_dtype_is_float(a) && hn_dtype_is_float(b));
}

static bool is_same_kind(const hn_object *a, const hn_object *b) {
    if (a->kind != b->kind || a->n_items != b->n_items)
        return false;
    if (a->kind != HN_OBJECT_TENSOR)
        return true;
    const hn_array *x = &a->array, *y = &b->array;
    if (!are_comparable(x->dtype, y->dtype) || x->rank != y->rank)
        return false;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i])
            return false;
    return true;
}

static void compare_strings(const hn_array *a, const hn_array *b, hn_difference *d) {
    const hn_bytes *x = a->data, *y = b->data;
    for (uint64_t i = 0; i < a->n_elems; i++)
        if (x[i].n != y[i].n || memcmp(x[i].at, y[i].at, x[i].n) != 0)
            d->max_abs = d->max_relative = INFINITY;
}

static double distance(double x, double y) {
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    double far = fabs(x - y);
    return isnan(far) ? INFINITY : far;
}

static void compare_tensors(const hn_array *a, const hn_array *b, hn_difference *d) {
    double x[CHUNK], y[CHUNK], largest = 0;
    if (a->dtype == HN_STRING) {
        compare_strings(a, b, d);
        return;
    }
    for (uint64_t i = 0; i < a->n_elems; i += CHUNK) {
        uint64_t n = HN_MIN(a->n_elems - i, (uint64_t)CHUNK);
        hn_load_f64(a, i, n, x);
        hn_load_f64(b, i, n, y);
        for (uint64_t k = 0; k < n; k++) {
            d->max_abs = fmax(d->max_abs, distance(x[k], y[k]));
            if (isfinite(x[k]))
                largest = fmax(largest, fabs(x[k]));
        }
    }
    d->max_relative = d->max_abs / (largest > 0 ? largest : 1);
}

static hn_difference compare_objects(const hn_object *a, const hn_object *b) {
    hn_difference d = {0};
    d.is_other_type = !a != !b || (a && !is_same_kind(a, b));
    if (d.is_other_type || !a)
        return d;
    if (a->kind == HN_OBJECT_TENSOR)
        compare_tensors(&a->array, &b->array, &d);
    for (uint32_t i = 0; i < a->n_items; i++) {
        hn_difference inner = compare_objects(a->items[i], b->items[i]);
        d.is_other_type |= inner.is_other_type;
        d.max_abs = fmax(d.max_abs, inner.max_abs);
        d.max_relative = fmax(d.max_relative, inner.max_relative);
    }
    return d;
}

void hn_samples_compare(uint32_t n, hn_object *const *a, hn_object *const *b, hn_difference *out) {
    *out = (hn_difference){0};
    for (uint32_t i = 0; i < n; i++) {
        hn_difference d = compare_objects(a[i], b[i]);
        d.output = i;
        if (d.is_other_type > out->is_other_type ||
            (d.is_other_type == out->is_other_type && d.max_relative > out->max_relative))
            *out = d;
    }
}

bool hn_difference_is_fine(const hn_difference *d, hn_numerics numerics) {
    static const double bounds[] = {EXACT_BOUND, REASSOCIATED_BOUND, APPROXIMATE_BOUND};
    return !d->is_other_type && d->max_relative <= bounds[numerics];
}
