/* Merges two data-movement operators in a row: Transpose, Slice, Concat, Split, Pad. */
#include "pass/rules/moves.h"

/* ---- Transpose ------------------------------------------------------------------------------- */

static hone_status merge_transposes(hn_rule *r) {
    hn_perm first, then;
    hn_id x = hn_cap(r, "x");
    if (!hn_perm_read(r, hn_cap_node(r, "inner"), &first) || !hn_perm_read(r, r->root, &then) ||
        first.rank != then.rank)
        return HONE_OK;
    hn_perm both = hn_perm_compose(&first, &then);
    hn_rule_replace(r, hn_perm_is_identity(&both) ? x : hn_make_transpose(r, x, &both));
    return HONE_OK;
}

/* ---- Concat and Split ------------------------------------------------------------------------ */

/* Reads the axis, counted from the front. */
static bool joined_axis(const hn_rule *r, hn_id node, hn_id value, int64_t *axis) {
    int32_t rank = hn_rank_of(r, value);
    *axis = hn_node_i(r, node, "axis", 0);
    return *axis >= 0 || (rank >= 0 && hn_axis_normalize(axis, rank));
}

static bool is_mergeable_part(const hn_rule *r, hn_id part, int64_t axis) {
    hn_id maker = hn_maker(r, part, "Concat");
    int64_t inner_axis;
    return maker != HN_NONE && hn_only_reader(r, part) == r->root &&
           joined_axis(r, maker, part, &inner_axis) && inner_axis == axis;
}

/* A Concat of Concats along one axis takes all their inputs. */
static hone_status merge_concats(hn_rule *r) {
    HN_VEC(hn_id) parts = {0};
    const hn_node *n = hn_at(r, r->root);
    int64_t axis;
    bool is_merged = false;
    if (!joined_axis(r, r->root, hn_out(r, r->root, 0), &axis))
        return HONE_OK;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        bool is_inner = is_mergeable_part(r, n->inputs[i], axis);
        hn_id inner = is_inner ? hn_value_at(r->g, n->inputs[i])->producer : HN_NONE;
        uint32_t n_new = is_inner ? hn_at(r, inner)->n_inputs : 1;
        is_merged |= is_inner;
        for (uint32_t k = 0; k < n_new; k++)
            if (!HN_VEC_PUSH(r->pass->rule_scratch, &parts,
                             is_inner ? hn_in(r, inner, k) : n->inputs[i]))
                return HONE_E_NOMEM;
    }
    if (is_merged)
        hn_rule_replace(
            r, hn_make1(r, "Concat", parts.n, parts.at, HN_ATTRS(hn_new_i(r, "axis", axis))));
    return HONE_OK;
}

/* A Concat of all parts of a Split in their order is the input of the Split. */
static hone_status rejoin_split(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    const hn_value *first = hn_value_at(r->g, n->inputs[0]);
    int64_t axis, cut_axis;
    if (first->producer == HN_NONE || !hn_is_op(r, first->producer, "Split") ||
        !joined_axis(r, r->root, hn_out(r, r->root, 0), &axis))
        return HONE_OK;
    const hn_node *split = hn_at(r, first->producer);
    if (split->n_outputs != n->n_inputs)
        return HONE_OK;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != split->outputs[i])
            return HONE_OK;
    cut_axis = hn_node_i(r, first->producer, "axis", 0);
    if (cut_axis < 0 && !hn_axis_normalize(&cut_axis, hn_rank_of(r, split->inputs[0])))
        return HONE_OK;
    if (axis == cut_axis)
        hn_rule_replace(r, split->inputs[0]);
    return HONE_OK;
}

/* ---- Slice ----------------------------------------------------------------------------------- */

typedef struct slice_list {
    uint32_t n;
    int64_t axes[HN_MAX_RANK], starts[HN_MAX_RANK], ends[HN_MAX_RANK], steps[HN_MAX_RANK];
} slice_list;

static bool read_slice_list(const hn_rule *r, hn_id node, const char *name, uint32_t input,
                            uint32_t n, int64_t *out) {
    const int64_t *given;
    uint32_t n_given;
    if (!hn_node_list(r, node, name, input, &n_given, &given) || n_given != n)
        return false;
    memcpy(out, given, n * sizeof *out);
    return true;
}

/* Absent axes are the first ones, absent steps are 1. All inputs must be constant. */
static bool read_slice(const hn_rule *r, hn_id node, slice_list *s) {
    const int64_t *starts;
    int32_t rank = hn_rank_of(r, hn_in(r, node, 0));
    bool has_attrs = hn_node_attr(hn_at(r, node), "starts") != NULL;
    bool has_axes = hn_node_attr(hn_at(r, node), "axes") || hn_in(r, node, 3) != HN_NONE;
    if (rank < 0 || !hn_node_list(r, node, "starts", 1, &s->n, &starts) || s->n > HN_MAX_RANK)
        return false;
    memcpy(s->starts, starts, s->n * sizeof *starts);
    for (uint32_t i = 0; i < s->n; i++) {
        s->axes[i] = i;
        s->steps[i] = 1;
    }
    if (!read_slice_list(r, node, "ends", 2, s->n, s->ends) ||
        (has_axes && !read_slice_list(r, node, "axes", 3, s->n, s->axes)) ||
        (!has_attrs && hn_in(r, node, 4) != HN_NONE &&
         !read_slice_list(r, node, "steps", 4, s->n, s->steps)))
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (!hn_axis_normalize(&s->axes[i], rank))
            return false;
    return true;
}

/* Applies a slice to one on the same axis: x[a:b][c:d] is x[a+c : min(b, a+d)] when no bound is
 * relative to the end. */
static bool cut_further(slice_list *s, uint32_t at, const slice_list *then, uint32_t i) {
    bool is_plain = s->starts[at] >= 0 && s->ends[at] >= 0 && s->steps[at] == 1 &&
                    then->starts[i] >= 0 && then->ends[i] >= 0 && then->steps[i] == 1;
    int64_t start, end;
    if (!is_plain)
        return false;
    if (!hn_add_i64(s->starts[at], then->starts[i], &start))
        start = INT64_MAX;
    if (!hn_add_i64(s->starts[at], then->ends[i], &end))
        end = INT64_MAX;
    s->starts[at] = start;
    s->ends[at] = HN_MIN(s->ends[at], end);
    return true;
}

static bool merge_slice_lists(slice_list *s, const slice_list *then) {
    for (uint32_t i = 0; i < then->n; i++) {
        uint32_t at = 0;
        while (at < s->n && s->axes[at] != then->axes[i])
            at++;
        if (at < s->n) {
            if (!cut_further(s, at, then, i))
                return false;
            continue;
        }
        if (s->n == HN_MAX_RANK)
            return false;
        s->axes[at] = then->axes[i];
        s->starts[at] = then->starts[i];
        s->ends[at] = then->ends[i];
        s->steps[at] = then->steps[i];
        s->n++;
    }
    return true;
}

static hn_id make_slice(hn_rule *r, hn_id x, const slice_list *s) {
    if (hn_rule_opset(r) < 10)
        return hn_make1(r, "Slice", HN_VALUES(x),
                        HN_ATTRS(hn_new_ints(r, "axes", s->n, s->axes),
                                 hn_new_ints(r, "starts", s->n, s->starts),
                                 hn_new_ints(r, "ends", s->n, s->ends)));
    return hn_make1(r, "Slice",
                    HN_VALUES(x, hn_new_const_i64s(r, "starts", s->n, s->starts),
                              hn_new_const_i64s(r, "ends", s->n, s->ends),
                              hn_new_const_i64s(r, "axes", s->n, s->axes),
                              hn_new_const_i64s(r, "steps", s->n, s->steps)),
                    HN_NO_ATTRS);
}

static hone_status merge_slices(hn_rule *r) {
    slice_list both, then;
    if (!read_slice(r, hn_cap_node(r, "inner"), &both) || !read_slice(r, r->root, &then))
        return HONE_OK;
    if (!merge_slice_lists(&both, &then))
        return hn_miss(
            r, "both slice one axis, and a bound is relative to its end or a step is not 1");
    hn_rule_replace(r, make_slice(r, hn_cap(r, "x"), &both));
    return HONE_OK;
}

/* ---- Pad ------------------------------------------------------------------------------------- */

/* Reads the pads of every axis, begins then ends; none is negative. */
static bool read_pads(const hn_rule *r, hn_id node, int32_t rank, int64_t *pads) {
    const int64_t *given, *axes = NULL;
    uint32_t n, n_axes = (uint32_t)rank;
    const char *name = hn_node_version(r, node) < 2 ? "paddings" : "pads";
    bool has_axes = hn_in(r, node, 3) != HN_NONE;
    if (rank < 0 || rank > HN_MAX_RANK || !hn_node_s_is(r, node, "mode", "constant") ||
        !hn_node_list(r, node, name, 1, &n, &given) ||
        (has_axes && !hn_axes_read(r, node, 3, rank, &n_axes, &axes)) || n != 2 * n_axes)
        return false;
    memset(pads, 0, 2 * (size_t)rank * sizeof *pads);
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = axes ? axes[i % n_axes] : i % n_axes;
        if (given[i] < 0 || given[i] > INT32_MAX)
            return false;
        pads[axis + (i >= n_axes ? rank : 0)] = given[i];
    }
    return true;
}

/* Reads the padding value, 0 when absent. */
static bool read_pad_value(const hn_rule *r, hn_id node, double *out) {
    *out = (double)hn_node_f(r, node, "value", 0);
    hn_id value = hn_in(r, node, 2);
    return value == HN_NONE || hn_const_f64(r, value, out);
}

static hone_status merge_pads(hn_rule *r) {
    hn_id inner = hn_cap_node(r, "inner"), x = hn_cap(r, "x");
    int32_t rank = hn_rank_of(r, x);
    int64_t pads[2 * HN_MAX_RANK], then[2 * HN_MAX_RANK];
    double value, then_value;
    if (!read_pads(r, inner, rank, pads) || !read_pads(r, r->root, rank, then) ||
        !read_pad_value(r, inner, &value) || !read_pad_value(r, r->root, &then_value))
        return HONE_OK;
    if (!(value == then_value))
        return hn_miss(r, "the two pad with different values");
    for (int32_t i = 0; i < 2 * rank; i++)
        pads[i] += then[i];
    uint32_t n = 2 * (uint32_t)rank;
    if (hn_rule_opset(r) >= 11)
        hn_rule_replace(
            r, hn_make1(r, "Pad",
                        HN_VALUES(x, hn_new_const_i64s(r, "pads", n, pads), hn_in(r, r->root, 2)),
                        HN_ATTRS(hn_new_s(r, "mode", "constant"))));
    else
        hn_rule_replace(
            r,
            hn_make1(r, "Pad", HN_VALUES(x),
                     HN_ATTRS(hn_new_ints(r, hn_rule_opset(r) < 2 ? "paddings" : "pads", n, pads),
                              hn_new_f(r, "value", (float)value))));
    return HONE_OK;
}

hone_status hn_pass_merge_moves(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "two-transposes",
         .pattern = "Transpose(Transpose(x):inner)",
         .fn = merge_transposes,
         .allow_shared = true},
        {.name = "split-concat", .pattern = "Concat", .fn = rejoin_split},
        {.name = "two-concats", .pattern = "Concat", .fn = merge_concats},
        {.name = "two-slices", .pattern = "Slice(Slice(x, ...):inner, ...)", .fn = merge_slices},
        {.name = "two-pads", .pattern = "Pad(Pad(x, ...):inner, ...)", .fn = merge_pads},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
