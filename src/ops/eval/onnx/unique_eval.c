/* Evaluation of Unique: which slices of a tensor differ, and where each first stands. */
#include "ops/eval/copy.h"
#include "ops/eval/sort_keys.h"

typedef struct unique_run {
    const hn_array *x; /* seen as [outer, n, inner]: slices along the middle axis are compared */
    hn_split3 s;
    uint64_t n;
    int64_t *keys; /* [n, width], or NULL for strings */
    uint64_t width;
    uint64_t *order; /* slices sorted */
    int64_t *group;  /* of each slice */
    int64_t *first;  /* of each group: the slice that it begins with */
    int64_t *counts;
    uint64_t n_groups;
} unique_run;

/* Element j of slice i. */
static uint64_t unique_at(const unique_run *u, uint64_t i, uint64_t j) {
    uint64_t inner = (uint64_t)u->s.inner;
    return (j / inner * u->n + i) * inner + j % inner;
}

static int unique_compare(const unique_run *u, uint64_t a, uint64_t b) {
    const hn_bytes *text = u->x->data;
    int sign = 0;
    for (uint64_t j = 0; j < u->width && sign == 0; j++) {
        if (!u->keys) {
            sign = hn_compare_text(text[unique_at(u, a, j)], text[unique_at(u, b, j)]);
        } else {
            int64_t p = u->keys[a * u->width + j], q = u->keys[b * u->width + j];
            sign = (p > q) - (p < q);
        }
    }
    return sign;
}

static bool unique_less(const void *ctx, uint64_t a, uint64_t b) {
    return unique_compare(ctx, a, b) < 0;
}

/* Complex numbers are ordered by their real, then their imaginary part. */
static hone_status unique_make_keys(hn_eval *c, unique_run *u) {
    hn_array parts = *u->x;
    bool is_complex = parts.dtype == HN_C64 || parts.dtype == HN_C128;
    uint64_t per_elem = is_complex ? 2 : 1, n_elems = u->width;
    if (parts.dtype == HN_STRING)
        return HONE_OK;
    if (is_complex)
        parts.dtype = parts.dtype == HN_C64 ? HN_F32 : HN_F64;
    u->width *= per_elem;
    u->keys = hn_eval_scratch(c, u->n * u->width * sizeof *u->keys);
    HN_TRY_PTR(u->keys);
    for (uint64_t i = 0; i < u->n && !hn_spent(16 * n_elems); i++)
        for (uint64_t j = 0; j < n_elems; j++)
            hn_sort_keys(&parts, unique_at(u, i, j) * per_elem, per_elem,
                         u->keys + i * u->width + j * per_elem);
    return HONE_OK;
}

/* Groups in sorted order: equal slices stand together, the first of them in front. */
static void unique_group(unique_run *u) {
    for (uint64_t k = 0; k < u->n; k++) {
        uint64_t i = u->order[k];
        bool is_new = k == 0 || unique_compare(u, u->order[k - 1], i) != 0;
        if (is_new) {
            u->first[u->n_groups] = (int64_t)i;
            u->counts[u->n_groups++] = 0;
        }
        u->group[i] = (int64_t)u->n_groups - 1;
        u->counts[u->n_groups - 1]++;
    }
}

static bool unique_first_less(const void *ctx, uint64_t a, uint64_t b) {
    const int64_t *first = ctx;
    return first[a] < first[b];
}

/* Renumbers the groups in the order in which they appear. */
static hone_status unique_by_appearance(hn_eval *c, unique_run *u, uint64_t *room) {
    uint64_t n = u->n_groups;
    int64_t *number = hn_eval_scratch(c, n * sizeof *number),
            *old = hn_eval_scratch(c, 2 * n * sizeof *old);
    if (!number || !old)
        return HONE_E_NOMEM;
    for (uint64_t g = 0; g < n; g++) {
        u->order[g] = g;
        old[g] = u->first[g];
        old[n + g] = u->counts[g];
    }
    hn_sort_items(n, u->order, room, unique_first_less, old);
    for (uint64_t g = 0; g < n; g++) {
        number[u->order[g]] = (int64_t)g;
        u->first[g] = old[u->order[g]];
        u->counts[g] = old[n + u->order[g]];
    }
    for (uint64_t i = 0; i < u->n; i++)
        u->group[i] = number[u->group[i]];
    return HONE_OK;
}

static hone_status unique_run_on(hn_eval *c, const hn_array *x, hn_split3 s, bool is_sorted,
                                 unique_run *u) {
    *u = (unique_run){.x = x, .s = s, .n = (uint64_t)s.mid, .width = (uint64_t)(s.outer * s.inner)};
    uint64_t bytes = u->n * sizeof(int64_t);
    uint64_t *room = hn_eval_scratch(c, bytes);
    u->order = hn_eval_scratch(c, bytes);
    u->group = hn_eval_scratch(c, bytes);
    u->first = hn_eval_scratch(c, bytes);
    u->counts = hn_eval_scratch(c, bytes);
    if (!room || !u->order || !u->group || !u->first || !u->counts)
        return HONE_E_NOMEM;
    HN_TRY(unique_make_keys(c, u));
    for (uint64_t i = 0; i < u->n; i++)
        u->order[i] = i;
    hn_sort_items(u->n, u->order, room, unique_less, u);
    if (hn_eval_stopped(c))
        return HONE_E_CANCELLED;
    unique_group(u);
    return is_sorted ? HONE_OK : unique_by_appearance(c, u, room);
}

static hone_status unique_put_list(hn_eval *c, uint32_t output, uint64_t n, const int64_t *list) {
    hn_array *y;
    HN_TRY(hn_ret_alloc(c, output, HN_I64, 1, (int64_t[]){(int64_t)n}, &y));
    if (y)
        hn_store_i64(y, 0, n, list);
    return HONE_OK;
}

static hone_status unique_put_values(hn_eval *c, const unique_run *u, const hn_array *from,
                                     int32_t axis) {
    int64_t dims[HN_MAX_RANK];
    const int64_t *picks[HN_MAX_RANK] = {NULL};
    hn_array *y;
    memcpy(dims, from->dims, (size_t)from->rank * sizeof *dims);
    dims[axis] = (int64_t)u->n_groups;
    picks[axis] = u->first;
    HN_TRY(hn_ret_alloc(c, 0, from->dtype, from->rank, dims, &y));
    return y ? hn_copy_picked(c, y, from, picks, NULL) : HONE_OK;
}

static hone_status eval_unique(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    const hn_infer *node = hn_eval_node(c);
    hn_array flat = hn_array_as(x, 1, (int64_t[]){(int64_t)x->n_elems});
    int32_t axis = 0;
    unique_run u;
    if (hn_has_attr(node, "axis"))
        HN_TRY(hn_axis_of(c, hn_attr_i(node, "axis", 0), x->rank, &axis));
    else
        x = &flat;
    HN_TRY(unique_run_on(c, x, hn_split_at(x->rank, x->dims, axis),
                         hn_attr_i(node, "sorted", 1) != 0, &u));
    HN_TRY(unique_put_values(c, &u, x, axis));
    HN_TRY(unique_put_list(c, 1, u.n_groups, u.first));
    HN_TRY(unique_put_list(c, 2, u.n, u.group));
    return unique_put_list(c, 3, u.n_groups, u.counts);
}
const hn_impl hn_impl_unique[1] = {{.eval = eval_unique}};

/* com.microsoft: in order of appearance; there is no list of first places. */
static hone_status eval_ms_unique(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    unique_run u;
    HN_TRY(unique_run_on(c, x, hn_split_at(1, x->dims, 0), false, &u));
    HN_TRY(unique_put_values(c, &u, x, 0));
    HN_TRY(unique_put_list(c, 1, u.n, u.group));
    return unique_put_list(c, 2, u.n_groups, u.counts);
}
const hn_impl hn_impl_ms_unique[1] = {{.eval = eval_ms_unique}};
