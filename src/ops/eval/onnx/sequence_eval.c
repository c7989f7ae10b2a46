/* Evaluation of sequences and optionals. Elements are shared by reference, never changed in place.
 */
#include "ops/eval/copy.h"

static const hn_object *sequence_arg(hn_eval *c, uint32_t i) {
    const hn_object *s = hn_arg_object(c, i);
    return s && s->kind == HN_OBJECT_SEQUENCE ? s : NULL;
}

static hone_status fail_no_sequence(hn_eval *c) {
    return hn_eval_fail(c, HONE_E_TYPE, "input 0 is no sequence");
}

/* A position that may count from the end; `n` itself is allowed where something is inserted. */
static hone_status sequence_position(hn_eval *c, uint32_t arg, int64_t n, bool may_be_end,
                                     int64_t def, int64_t *out) {
    const hn_array *position = hn_arg(c, arg);
    *out = def;
    if (position && position->n_elems != 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "the position must have one element, not %llu",
                            (unsigned long long)position->n_elems);
    if (position)
        hn_load_i64(position, 0, 1, out);
    if (*out < -n || *out >= n + may_be_end)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "position %lld is out of range for a sequence of %lld", (long long)*out,
                            (long long)n);
    *out += *out < 0 ? n : 0;
    return HONE_OK;
}

/* Item `i` of the result is a new reference to *from. */
static hone_status sequence_put(hn_eval *c, hn_object *sequence, uint32_t i,
                                const hn_object *from) {
    if (hn_spent(16))
        return HONE_E_CANCELLED;
    sequence->items[i] = hn_object_ref(c, from);
    return sequence->items[i] ? HONE_OK : HONE_E_NOMEM;
}

/* Gives the finished sequence to output 0; drops it after a failure. */
static hone_status sequence_finish(hn_eval *c, hn_object *sequence, hone_status status) {
    if (status == HONE_OK)
        return hn_ret_object(c, 0, sequence);
    hn_object_unref(c, sequence);
    return status;
}

/* ---- sequences ------------------------------------------------------------------------------- */

static hone_status eval_sequence_empty(hn_eval *c) {
    return hn_ret_object(c, 0, hn_object_sequence(c, 0));
}
const hn_impl hn_impl_sequence_empty[1] = {{.eval = eval_sequence_empty}};

static hone_status eval_sequence_construct(hn_eval *c) {
    hn_object *y = hn_object_sequence(c, hn_n_args(c));
    hone_status status = HONE_OK;
    HN_TRY_PTR(y);
    for (uint32_t i = 0; i < y->n_items && status == HONE_OK; i++)
        status = hn_arg_object(c, i) ? sequence_put(c, y, i, hn_arg_object(c, i))
                                     : hn_eval_fail(c, HONE_E_INVALID, "input %u is not given", i);
    return sequence_finish(c, y, status);
}
const hn_impl hn_impl_sequence_construct[1] = {{.eval = eval_sequence_construct}};

static hone_status eval_sequence_at(hn_eval *c) {
    const hn_object *s = sequence_arg(c, 0);
    int64_t at;
    if (!s)
        return fail_no_sequence(c);
    HN_TRY(sequence_position(c, 1, s->n_items, false, 0, &at));
    return hn_ret_object(c, 0, hn_object_ref(c, s->items[at]));
}
const hn_impl hn_impl_sequence_at[1] = {{.eval = eval_sequence_at}};

static hone_status eval_sequence_length(hn_eval *c) {
    const hn_object *s = sequence_arg(c, 0);
    hn_array *y;
    if (!s)
        return fail_no_sequence(c);
    HN_TRY(hn_ret_alloc(c, 0, HN_I64, 0, NULL, &y));
    if (y)
        *(int64_t *)y->data = s->n_items;
    return HONE_OK;
}
const hn_impl hn_impl_sequence_length[1] = {{.eval = eval_sequence_length}};

/* Without a position the last element goes. */
static hone_status eval_sequence_erase(hn_eval *c) {
    const hn_object *s = sequence_arg(c, 0);
    int64_t at;
    if (!s)
        return fail_no_sequence(c);
    HN_TRY(sequence_position(c, 1, s->n_items, false, -1, &at));
    hn_object *y = hn_object_sequence(c, s->n_items - 1);
    hone_status status = HONE_OK;
    HN_TRY_PTR(y);
    for (uint32_t i = 0; i < y->n_items && status == HONE_OK; i++)
        status = sequence_put(c, y, i, s->items[i < at ? i : i + 1]);
    return sequence_finish(c, y, status);
}
const hn_impl hn_impl_sequence_erase[1] = {{.eval = eval_sequence_erase}};

/* Without a position the element goes to the end. */
static hone_status eval_sequence_insert(hn_eval *c) {
    const hn_object *s = sequence_arg(c, 0), *fresh = hn_arg_object(c, 1);
    int64_t at;
    if (!s)
        return fail_no_sequence(c);
    if (!fresh || fresh->kind != HN_OBJECT_TENSOR)
        return hn_eval_fail(c, HONE_E_TYPE, "input 1 is no tensor");
    if (s->n_items > 0 && s->items[0]->kind == HN_OBJECT_TENSOR &&
        s->items[0]->array.dtype != fresh->array.dtype)
        return hn_eval_fail(c, HONE_E_TYPE, "cannot insert %s into a sequence of %s",
                            hn_dtype_name(fresh->array.dtype),
                            hn_dtype_name(s->items[0]->array.dtype));
    HN_TRY(sequence_position(c, 2, s->n_items, true, s->n_items, &at));
    if (s->n_items == UINT32_MAX)
        return hn_eval_fail(c, HONE_E_LIMIT, "the sequence is too long");
    hn_object *y = hn_object_sequence(c, s->n_items + 1);
    hone_status status = HONE_OK;
    HN_TRY_PTR(y);
    for (uint32_t i = 0; i < y->n_items && status == HONE_OK; i++)
        status = sequence_put(c, y, i, i == at ? fresh : s->items[i < at ? i : i - 1]);
    return sequence_finish(c, y, status);
}
const hn_impl hn_impl_sequence_insert[1] = {{.eval = eval_sequence_insert}};

/* ---- from and to tensors --------------------------------------------------------------------- */

/* Do the tensors agree in type and, but for `axis` (-1: none), in shape? */
static hone_status expect_alike(hn_eval *c, const hn_object *s, int32_t axis) {
    for (uint32_t i = 0; i < s->n_items; i++) {
        const hn_array *a = &s->items[0]->array, *b = &s->items[i]->array;
        bool fits =
            s->items[i]->kind == HN_OBJECT_TENSOR && a->dtype == b->dtype && a->rank == b->rank;
        for (int32_t k = 0; fits && k < a->rank; k++)
            fits = k == axis || a->dims[k] == b->dims[k];
        if (!fits)
            return hn_eval_fail(c, HONE_E_SHAPE,
                                "element %u differs from element 0 in type or shape", i);
    }
    return HONE_OK;
}

/* The shape of the joined tensors: their sizes along an axis add up, or a new axis counts them. */
static hone_status joined_dims(hn_eval *c, const hn_object *s, int32_t axis, bool is_new,
                               int64_t *dims) {
    const hn_array *first = &s->items[0]->array;
    int64_t total = 0;
    for (int32_t k = 0, from = 0; k < first->rank + is_new; k++)
        if (!is_new || k != axis)
            dims[k] = first->dims[from++];
    for (uint32_t i = 0; i < s->n_items; i++)
        if (!hn_add_i64(total, is_new ? 1 : s->items[i]->array.dims[axis], &total))
            return hn_eval_fail(c, HONE_E_LIMIT, "the joined tensor is too large");
    dims[axis] = total;
    return HONE_OK;
}

static hone_status eval_concat_from_sequence(hn_eval *c) {
    const hn_object *s = sequence_arg(c, 0);
    bool is_new = hn_attr_i(hn_eval_node(c), "new_axis", 0) != 0;
    int64_t dims[HN_MAX_RANK], at = 0;
    int32_t axis;
    hn_array *y;
    if (!s)
        return fail_no_sequence(c);
    if (s->n_items == 0)
        return hn_eval_fail(c, HONE_E_INVALID, "the sequence is empty: there is nothing to join");
    int32_t rank = s->items[0]->array.rank + is_new;
    if (rank > HN_MAX_RANK)
        return hn_eval_fail(c, HONE_E_LIMIT, "the result would have rank %d; hone allows %d", rank,
                            HN_MAX_RANK);
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), rank, &axis));
    HN_TRY(expect_alike(c, s, is_new ? -1 : axis));
    HN_TRY(joined_dims(c, s, axis, is_new, dims));
    HN_TRY(hn_ret_alloc(c, 0, s->items[0]->array.dtype, rank, dims, &y));
    for (uint32_t i = 0; y && i < s->n_items; i++) {
        const hn_array *item = &s->items[i]->array;
        int64_t part = is_new ? 1 : item->dims[axis];
        HN_TRY(hn_copy_to_axis(c, y, axis, at, part, item));
        at += part;
    }
    return HONE_OK;
}
const hn_impl hn_impl_concat_from_sequence[1] = {{.eval = eval_concat_from_sequence}};

/* Sizes of the pieces; *n_pieces of them. Without `split` they are 1; a scalar is the size of all
 * but a smaller last one. */
static hone_status piece_sizes(hn_eval *c, int64_t whole, uint32_t *n_pieces, int64_t **out) {
    const hn_array *split = hn_arg(c, 1);
    int64_t size = 1, sum = 0;
    if (split && split->rank == 0)
        hn_load_i64(split, 0, 1, &size);
    if (size < 1)
        return hn_eval_fail(c, HONE_E_INVALID, "split is %lld, but must be 1 or more",
                            (long long)size);
    bool is_list = split && split->rank > 0;
    int64_t n = is_list ? (int64_t)split->n_elems : whole / size + (whole % size != 0);
    if (n > INT32_MAX)
        return hn_eval_fail(c, HONE_E_LIMIT, "%lld pieces are too many", (long long)n);
    int64_t *sizes = hn_eval_scratch(c, (uint64_t)n * sizeof *sizes);
    HN_TRY_PTR(sizes);
    if (is_list)
        hn_load_i64(split, 0, (uint64_t)n, sizes);
    for (int64_t i = 0; i < n; i++) {
        sizes[i] = is_list ? sizes[i] : HN_MIN(size, whole - i * size);
        if (sizes[i] < 0 || sizes[i] > whole - sum)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "split[%lld] is %lld, but %lld elements are left", (long long)i,
                                (long long)sizes[i], (long long)(whole - sum));
        sum += sizes[i];
    }
    if (sum != whole)
        return hn_eval_fail(c, HONE_E_INVALID, "the pieces add up to %lld of %lld elements",
                            (long long)sum, (long long)whole);
    *n_pieces = (uint32_t)n;
    *out = sizes;
    return HONE_OK;
}

static hone_status eval_split_to_sequence(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    bool drops_axis = !hn_attr_i(hn_eval_node(c), "keepdims", 1) && !hn_arg(c, 1);
    int64_t *sizes = NULL, dims[HN_MAX_RANK], at = 0;
    int32_t axis;
    uint32_t n = 0;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &axis));
    HN_TRY(piece_sizes(c, x->dims[axis], &n, &sizes));
    hn_object *y = hn_object_sequence(c, n);
    hone_status status = HONE_OK;
    HN_TRY_PTR(y);
    for (uint32_t i = 0; i < n && status == HONE_OK; i++) {
        int32_t rank = 0;
        for (int32_t k = 0; k < x->rank; k++)
            if (k != axis || !drops_axis)
                dims[rank++] = k == axis ? sizes[i] : x->dims[k];
        y->items[i] = hn_object_tensor(c, x->dtype, rank, dims);
        status = y->items[i] ? hn_copy_from_axis(c, &y->items[i]->array, x, axis, at, sizes[i])
                             : HONE_E_NOMEM;
        at += sizes[i];
    }
    return sequence_finish(c, y, status);
}
const hn_impl hn_impl_split_to_sequence[1] = {{.eval = eval_split_to_sequence}};

/* ---- optionals ------------------------------------------------------------------------------- */

/* An optional with content is its content. */
static hone_status eval_optional(hn_eval *c) {
    const hn_object *x = hn_arg_object(c, 0);
    return hn_ret_object(c, 0, x ? hn_object_ref(c, x) : hn_object_none(c));
}
const hn_impl hn_impl_optional[1] = {{.eval = eval_optional}};

static hone_status eval_optional_has_element(hn_eval *c) {
    const hn_object *x = hn_arg_object(c, 0);
    hn_array *y;
    HN_TRY(hn_ret_alloc(c, 0, HN_BOOL, 0, NULL, &y));
    if (y)
        *(uint8_t *)y->data = x && x->kind != HN_OBJECT_NONE;
    return HONE_OK;
}
const hn_impl hn_impl_optional_has_element[1] = {{.eval = eval_optional_has_element}};

static hone_status eval_optional_get_element(hn_eval *c) {
    const hn_object *x = hn_arg_object(c, 0);
    if (!x || x->kind == HN_OBJECT_NONE)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "the optional is empty: ask OptionalHasElement first");
    return hn_ret_object(c, 0, hn_object_ref(c, x));
}
const hn_impl hn_impl_optional_get_element[1] = {{.eval = eval_optional_get_element}};
