/* What shapes, types and the operator decide about a reduction. */
#include "ops/eval/reduction.h"

#include <math.h>

static const hn_reduce_op reduce_ops[] = {
    {"ReduceSum", HN_BEFORE_NOTHING, HN_FOLD_SUM, HN_AFTER_NOTHING},
    {"ReduceMean", HN_BEFORE_NOTHING, HN_FOLD_SUM, HN_AFTER_MEAN},
    {"ReduceProd", HN_BEFORE_NOTHING, HN_FOLD_PROD, HN_AFTER_NOTHING},
    {"ReduceMax", HN_BEFORE_NOTHING, HN_FOLD_MAX, HN_AFTER_NOTHING},
    {"ReduceMin", HN_BEFORE_NOTHING, HN_FOLD_MIN, HN_AFTER_NOTHING},
    {"ReduceL1", HN_BEFORE_ABS, HN_FOLD_SUM, HN_AFTER_NOTHING},
    {"ReduceL2", HN_BEFORE_SQUARE, HN_FOLD_SUM, HN_AFTER_SQRT},
    {"ReduceSumSquare", HN_BEFORE_SQUARE, HN_FOLD_SUM, HN_AFTER_NOTHING},
    {"ReduceLogSum", HN_BEFORE_NOTHING, HN_FOLD_SUM, HN_AFTER_LOG},
    {"ReduceLogSumExp", HN_BEFORE_EXP, HN_FOLD_SUM,
     HN_AFTER_LOG}, /* around the largest, so that nothing overflows */
};

static void plan_axes(hn_reduction *r, const hn_array *x, uint64_t axes) {
    int64_t strides[HN_MAX_RANK];
    bool was_reduced = false;
    r->n_folded = 1;
    hn_strides(x->rank, x->dims, strides);
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t dim = x->dims[i];
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
static void plan_start(hn_reduction *r, hn_dtype t) {
    bool is_max = r->how.fold == HN_FOLD_MAX, is_min = r->how.fold == HN_FOLD_MIN;
    r->first_real = r->how.fold == HN_FOLD_PROD ? 1
                    : is_max                    ? -(double)INFINITY
                    : is_min                    ? (double)INFINITY
                                                : 0;
    r->first_int = r->how.fold == HN_FOLD_PROD;
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

/* Reduced axes of float32, which is where models spend their time. */
static void plan_floats(hn_reduction *r, hn_dtype in, hn_dtype out) {
    const hn_reduce_loops_f32 *folds = hn_reduce_loops_find_f32();
    bool is_plain = r->how.before == HN_BEFORE_NOTHING;
    hn_reduce_kind fold = r->how.fold == HN_FOLD_MAX          ? HN_REDUCE_MAX
                          : r->how.fold == HN_FOLD_MIN        ? HN_REDUCE_MIN
                          : r->how.before == HN_BEFORE_ABS    ? HN_REDUCE_ABS
                          : r->how.before == HN_BEFORE_SQUARE ? HN_REDUCE_SQUARE
                                                              : HN_REDUCE_SUM;
    if (in != HN_F32 || out != HN_F32 || r->n_reduced < 1 || r->n_folded == 0 ||
        r->how.fold == HN_FOLD_PROD || r->how.before == HN_BEFORE_EXP ||
        (!is_plain && r->how.fold != HN_FOLD_SUM))
        return;
    r->fold_run = folds->run[fold];
    r->fold_rows = folds->rows[fold];
}

/* Integers that are folded as they lie. A mean needs a wider sum. */
static void plan_integers(hn_reduction *r, hn_dtype t) {
    static const char *const ops[] = {[HN_FOLD_SUM] = "Add",
                                      [HN_FOLD_PROD] = "Mul",
                                      [HN_FOLD_MAX] = "Max",
                                      [HN_FOLD_MIN] = "Min"};
    if (r->is_int && r->n_folded > 0 && r->how.before == HN_BEFORE_NOTHING &&
        r->how.after == HN_AFTER_NOTHING)
        r->fold_pair = hn_binary_loop_of(hn_binary_find(ops[r->how.fold]), t);
}

void hn_reduction_plan(hn_reduction *r, const char *op, const hn_array *x, uint64_t axes,
                       const hn_array *out) {
    *r = (hn_reduction){.n_out = out->n_elems};
    for (size_t i = 0; i < HN_COUNT(reduce_ops); i++)
        if (strcmp(reduce_ops[i].op, op) == 0)
            r->how = reduce_ops[i];
    bool is_exact = r->how.after == HN_AFTER_NOTHING || r->how.after == HN_AFTER_MEAN;
    r->is_int =
        (hn_dtype_is_int(x->dtype) || x->dtype == HN_BOOL) && is_exact && out->dtype == x->dtype;
    plan_axes(r, x, axes);
    plan_start(r, x->dtype);
    plan_floats(r, x->dtype, out->dtype);
    plan_integers(r, x->dtype);
}

hone_status hn_reduced_axes(hn_eval *c, int32_t rank, uint64_t *bits) {
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
