/* hone.h: the elements of a tensor as double or int64. */
#include "api/value_int.h"

/* The elements as real numbers; a complex number counts as two. False when they are not numbers, or
 * when there are fewer. */
static bool view_as_reals(const hone_value *value, uint64_t begin, uint64_t n, hn_array *view) {
    const hn_array *a = hn_value_array(value);
    if (!a || a->dtype == HN_STRING)
        return false;
    *view = *a;
    if (view->dtype == HN_C64 || view->dtype == HN_C128) {
        view->dtype = view->dtype == HN_C64 ? HN_F32 : HN_F64;
        view->n_elems *= 2;
    }
    return begin <= view->n_elems && n <= view->n_elems - begin;
}

bool hone_value_get_f64(const hone_value *value, uint64_t begin, uint64_t n, double *out) {
    hn_array view;
    if (!view_as_reals(value, begin, n, &view))
        return false;
    hn_load_f64(&view, begin, n, out);
    return true;
}

bool hone_value_get_i64(const hone_value *value, uint64_t begin, uint64_t n, int64_t *out) {
    hn_array view;
    if (!view_as_reals(value, begin, n, &view))
        return false;
    hn_load_i64(&view, begin, n, out);
    return true;
}

bool hone_value_set_f64(hone_value *value, uint64_t begin, uint64_t n, const double *in) {
    hn_array view;
    if (!view_as_reals(value, begin, n, &view))
        return false;
    hn_store_f64(&view, begin, n, in);
    return true;
}

bool hone_value_set_i64(hone_value *value, uint64_t begin, uint64_t n, const int64_t *in) {
    hn_array view;
    if (!view_as_reals(value, begin, n, &view))
        return false;
    hn_store_i64(&view, begin, n, in);
    return true;
}
