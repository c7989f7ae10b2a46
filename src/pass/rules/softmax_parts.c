/* Fuses Softmax, LogSoftmax and reductions from exponentials, sums and logarithms. */
#include "pass/engine/poly.h"

#include <math.h>

/* ---- Softmax --------------------------------------------------------------------------------- */

/* Reads the single axis of a reduction with keepdims, in [0, rank). */
static bool reduced_axis(const hn_rule *r, hn_id node, int32_t rank, int64_t *axis) {
    uint32_t n;
    const int64_t *axes;
    if (hn_node_i(r, node, "keepdims", 1) != 1 || !hn_node_list(r, node, "axes", 1, &n, &axes) ||
        n != 1)
        return false;
    *axis = axes[0] + (axes[0] < 0 ? rank : 0);
    return *axis >= 0 && *axis < rank;
}

/* Before version 13, Softmax flattens all axes from `axis` on, which is the same only for the last
 * one. */
static hone_status write_softmax(hn_rule *r, const char *op, hn_id x, int64_t axis) {
    int32_t rank = hn_rank_of(r, x);
    if (hn_rule_opset(r) < 13 && axis != rank - 1)
        return hn_miss(r, "%s of opset %lld works along the last axis only", op,
                       (long long)hn_rule_opset(r));
    hn_rule_replace(r, hn_make1(r, op, HN_VALUES(x),
                                HN_ATTRS(hn_new_i(r, "axis", axis == rank - 1 ? -1 : axis))));
    return HONE_OK;
}

static hone_status softmax_along_sum(hn_rule *r, const char *op) {
    hn_id x = hn_cap(r, "x");
    int64_t axis;
    if (!hn_dtype_is_float(hn_elem_of(r, x)) ||
        !reduced_axis(r, hn_cap_node(r, "sum"), hn_rank_of(r, x), &axis))
        return HONE_OK;
    return write_softmax(r, op, x, axis);
}

static hone_status fuse_softmax(hn_rule *r) {
    return softmax_along_sum(r, "Softmax");
}

static hone_status fuse_log_softmax(hn_rule *r) {
    return softmax_along_sum(r, "LogSoftmax");
}

/* The operator subtracts the maximum itself. */
static hone_status drop_shift(hn_rule *r) {
    hn_id x = hn_cap(r, "x");
    int32_t rank = hn_rank_of(r, x);
    int64_t axis = hn_node_i(r, r->root, "axis", -1), max_axis;
    axis += axis < 0 ? rank : 0;
    if (!reduced_axis(r, hn_cap_node(r, "max"), rank, &max_axis) || max_axis != axis ||
        (hn_rule_opset(r) < 13 && axis != rank - 1))
        return HONE_OK;
    hn_id node = hn_make_like(r, r->root, HN_VALUES(x), HN_NO_ATTRS);
    hn_rule_replace(r, hn_out(r, node, 0));
    return HONE_OK;
}

static hone_status fuse_log_of_softmax(hn_rule *r) {
    hn_id node = hn_cap_node(r, "softmax");
    int64_t axis = hn_node_i(r, node, "axis", hn_rule_opset(r) < 13 ? 1 : -1);
    hn_rule_replace(r, hn_make1(r, "LogSoftmax", HN_VALUES(hn_cap(r, "x")),
                                HN_ATTRS(hn_new_i(r, "axis", axis))));
    return HONE_OK;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Makes the same reduction by another operator. The axes are an input of ReduceSum since version
 * 13, of the others since 18. HN_NONE when an attribute needs axes that are not known. */
static hn_id make_reduction(hn_rule *r, const char *op, hn_id x, hn_id like) {
    hn_attr attrs[2] = {hn_new_i(r, "keepdims", hn_node_i(r, like, "keepdims", 1))};
    hn_id axes_input = hn_in(r, like, 1);
    int64_t keeps_all = hn_node_i(r, like, "noop_with_empty_axes", 0);
    if (hn_rule_opset(r) >= 18) {
        attrs[1] = hn_new_i(r, "noop_with_empty_axes", 1);
        return hn_make1(r, op, HN_VALUES(x, axes_input), keeps_all ? 2 : 1, attrs);
    }
    uint32_t n;
    const int64_t *axes;
    bool has_axes = hn_node_list(r, like, "axes", 1, &n, &axes) && n > 0;
    if (!has_axes && (axes_input != HN_NONE || keeps_all))
        return HN_NONE;
    if (has_axes)
        attrs[1] = hn_new_ints(r, "axes", n, axes);
    return hn_make1(r, op, HN_VALUES(x), has_axes ? 2 : 1, attrs);
}

static hone_status write_reduction(hn_rule *r, const char *op) {
    hn_id x = hn_cap(r, "x");
    if (hn_elem_of(r, x) != HN_F32 && hn_elem_of(r, x) != HN_F64)
        return HONE_OK;
    hn_id sum = hn_cap_node(r, "sum");
    hn_id y = make_reduction(r, op, x, sum == HN_NONE ? r->root : sum);
    if (y != HN_NONE)
        hn_rule_replace(r, y);
    return HONE_OK;
}

static hone_status fuse_reduce_l2(hn_rule *r) {
    return write_reduction(r, "ReduceL2");
}

static hone_status fuse_reduce_l1(hn_rule *r) {
    return write_reduction(r, "ReduceL1");
}

/* An exponent that is a tensor could enlarge x. */
static hone_status fuse_reduce_sum_square(hn_rule *r) {
    hn_id power = hn_cap_node(r, "power");
    double exponent;
    if (power != HN_NONE && !hn_scalar_beside(r, hn_in(r, power, 1), hn_cap(r, "x"), &exponent))
        return HONE_OK;
    return write_reduction(r, "ReduceSumSquare");
}

static hone_status fuse_reduce_log_sum_exp(hn_rule *r) {
    return write_reduction(r, "ReduceLogSumExp");
}

/* Returns how many elements each result of a reduction comes from; 0 when that is not known. */
static double reduced_elems(const hn_rule *r, hn_id node, hn_id x) {
    uint32_t n;
    const int64_t *axes;
    const hn_shape *shape = hn_shape_of(r, x);
    double product = 1;
    if (!shape || !hn_node_list(r, node, "axes", 1, &n, &axes) || n == 0)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        hn_dim d = hn_dim_of(r, x, (int32_t)axes[i]);
        product *= hn_dim_is_known(d) ? (double)d : 0;
    }
    return product;
}

/* A sum divided by the number of its elements. */
static hone_status fuse_mean(hn_rule *r) {
    hn_id x = hn_cap(r, "x"), sum = hn_cap_node(r, "sum");
    double number, n_elems = reduced_elems(r, sum, x);
    if (!hn_scalar_beside(r, hn_cap(r, "n"), hn_cap(r, "sum"), &number) || n_elems == 0 ||
        (hn_elem_of(r, x) != HN_F32 && hn_elem_of(r, x) != HN_F64))
        return HONE_OK;
    double ratio = hn_is_op(r, r->root, "Mul") ? number * n_elems : number / n_elems;
    if (fabs(ratio - 1) > 1e-6)
        return HONE_OK;
    if (hn_is_op(r, sum, "ReduceSumSquare"))
        x = hn_make1(r, "Mul", HN_VALUES(x, x), HN_NO_ATTRS);
    hn_id y = make_reduction(r, "ReduceMean", x, sum);
    if (y != HN_NONE)
        hn_rule_replace(r, y);
    return HONE_OK;
}

#define SQUARE_OF_X "{Pow(x, 2):power | Mul(x, x)}"

/* Larger formulas are found in steps: the logarithm of a sum of exponentials is fused first. */
static const hn_rule_row softmax_rules[] = {
    {"softmax", "Div(Exp(x):e, ReduceSum(e, ...):sum)", fuse_softmax, false, NULL},
    {"softmax", "Mul(Exp(x):e, Reciprocal(ReduceSum(e, ...):sum))", fuse_softmax, false, NULL},
    {"softmax-shift", "Softmax|LogSoftmax(Sub(x, ReduceMax(x, ...):max))", drop_shift, false, NULL},
    {"log-softmax", "Log(Softmax(x):softmax)", fuse_log_of_softmax, false, NULL},
    {"log-softmax", "Sub(x, ReduceLogSumExp(x, ...):sum)", fuse_log_softmax, false, NULL},
    {"reduce-log-sum-exp", "Log(ReduceSum(Exp(x), ...):sum)", fuse_reduce_log_sum_exp, false, NULL},
    {"reduce-l2", "Sqrt(ReduceSumSquare(x, ...):sum)", fuse_reduce_l2, false, NULL},
    {"reduce-sum-square", "ReduceSum(" SQUARE_OF_X ", ...)", fuse_reduce_sum_square, false, NULL},
    {"reduce-mean", "Mul|Div(ReduceSum|ReduceSumSquare(x, ...):sum, #n)", fuse_mean, false, NULL},
    {"reduce-l1", "ReduceSum(Abs(x), ...)", fuse_reduce_l1, false, NULL},
};

hone_status hn_pass_softmax_parts(hn_pass *p) {
    return hn_pass_rules(p, softmax_rules, HN_COUNT(softmax_rules));
}
