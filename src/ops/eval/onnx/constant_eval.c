/* Evaluation of operators that make tensors from attributes, shapes or a few numbers. */
#include "ops/eval/copy.h"
#include "ops/eval/eval_broadcast.h"

#include <math.h>

/* ---- Constant -------------------------------------------------------------------------------- */

static hone_status copy_constant(hn_eval *c, hn_array *out, const hn_tensor *t) {
    uint64_t bytes = 0;
    if (t->n_elems != out->n_elems || (t->n_elems > 0 && !t->data && !t->strings))
        return hn_eval_fail(c, HONE_E_INVALID, "the data of its value are not there");
    if (t->dtype == HN_STRING) {
        for (uint64_t i = 0; i < t->n_elems; i++)
            HN_TRY(hn_array_set_string(c, out, i, t->strings[i].at, t->strings[i].n));
        return HONE_OK;
    }
    if (!hn_dtype_bytes(t->dtype, t->n_elems, &bytes) || bytes > t->data_bytes)
        return hn_eval_fail(c, HONE_E_INVALID, "its value has fewer bytes than its shape asks for");
    if (bytes)
        memcpy(out->data, t->data, (size_t)bytes);
    return HONE_OK;
}

/* Where value k of a sparse tensor stands: a flat index, or one per axis. */
static bool sparse_place(const hn_sparse *s, uint64_t k, uint64_t *at) {
    int64_t index;
    bool is_flat = s->indices->rank == 1;
    int32_t n = is_flat ? 1 : s->rank;
    uint64_t n_elems = hn_count(s->rank, s->dims);
    *at = 0;
    for (int32_t i = 0; i < n; i++) {
        if (!hn_tensor_get_i64(s->indices, k * (uint64_t)n + (uint64_t)i, &index) || index < 0 ||
            (uint64_t)index >= (is_flat ? n_elems : (uint64_t)s->dims[i]))
            return false;
        *at = is_flat ? (uint64_t)index : *at * (uint64_t)s->dims[i] + (uint64_t)index;
    }
    return true;
}

static hone_status fill_sparse(hn_eval *c, hn_array *out, const hn_sparse *s) {
    size_t size = hn_elem_bytes(out->dtype);
    uint64_t bytes = 0;
    hn_dtype_bytes(out->dtype, out->n_elems, &bytes);
    if (!s->values || !s->indices || size == 0 || out->dtype == HN_STRING ||
        s->values->dtype != out->dtype || s->values->data_bytes / size < s->values->n_elems)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "its sparse value cannot be made dense");
    memset(out->data, 0, (size_t)bytes);
    for (uint64_t k = 0; k < s->values->n_elems; k++) {
        uint64_t at;
        if (!sparse_place(s, k, &at))
            return hn_eval_fail(c, HONE_E_INVALID,
                                "index %llu of its sparse value lies outside of the shape",
                                (unsigned long long)k);
        memcpy((uint8_t *)out->data + at * size, (const uint8_t *)s->values->data + k * size, size);
    }
    return HONE_OK;
}

static hone_status copy_attr(hn_eval *c, hn_array *out, const hn_attr *a) {
    switch (a->kind) {
    case HN_ATTR_TENSOR:
        return copy_constant(c, out, a->v.tensor);
    case HN_ATTR_SPARSE:
        return fill_sparse(c, out, a->v.sparse);
    case HN_ATTR_INT:
        memcpy(out->data, &a->v.i, sizeof a->v.i);
        return HONE_OK;
    case HN_ATTR_FLOAT:
        memcpy(out->data, &a->v.f, sizeof a->v.f);
        return HONE_OK;
    case HN_ATTR_STRING:
        return hn_array_set_string(c, out, 0, a->v.s.at, a->v.s.n);
    case HN_ATTR_INTS:
        if (a->n)
            memcpy(out->data, a->v.ints, a->n * sizeof *a->v.ints);
        return HONE_OK;
    case HN_ATTR_FLOATS:
        if (a->n)
            memcpy(out->data, a->v.floats, a->n * sizeof *a->v.floats);
        return HONE_OK;
    case HN_ATTR_STRINGS:
        for (uint32_t i = 0; i < a->n; i++)
            HN_TRY(hn_array_set_string(c, out, i, a->v.strings[i].at, a->v.strings[i].n));
        return HONE_OK;
    default:
        return hn_eval_fail(c, HONE_E_INVALID, "has no value");
    }
}

static hone_status eval_constant(hn_eval *c) {
    static const char *const names[] = {"value",        "sparse_value", "value_int",
                                        "value_ints",   "value_float",  "value_floats",
                                        "value_string", "value_strings"};
    hn_array *out = hn_ret(c, 0);
    const hn_attr *a = NULL;
    for (size_t i = 0; !a && i < HN_COUNT(names); i++)
        a = hn_attr_raw(hn_eval_node(c), names[i]);
    if (!out)
        return HONE_OK;
    return a ? copy_attr(c, out, a) : hn_eval_fail(c, HONE_E_INVALID, "has no value");
}
const hn_impl hn_impl_constant[1] = {{.eval = eval_constant}};

/* ---- ConstantOfShape ------------------------------------------------------------------------- */

#define MOST_FILLED_BYTES ((uint64_t)64 << 10) /* at a time; they stay in the first cache */

static void fill_with(hn_array *out, const void *element, size_t bytes) {
    uint8_t *to = out->data;
    uint64_t total = out->n_elems * bytes, done = HN_MIN(bytes, total), more;
    if (done)
        memcpy(to, element, (size_t)done);
    for (; done < total && !hn_spent(HN_MIN(done, MOST_FILLED_BYTES) / 16);
         done += more) { /* copied behind itself */
        more = HN_MIN(HN_MIN(done, MOST_FILLED_BYTES / bytes * bytes), total - done);
        memcpy(to + done, to, (size_t)more);
    }
}

static hone_status eval_constant_of_shape(hn_eval *c) {
    const hn_attr *a = hn_attr_raw(hn_eval_node(c), "value");
    const hn_tensor *value = a && a->kind == HN_ATTR_TENSOR ? a->v.tensor : NULL;
    hn_array *out = hn_ret(c, 0);
    const float zero = 0;
    if (!out || out->n_elems == 0)
        return HONE_OK;
    if (!value) {
        fill_with(out, &zero, sizeof zero);
        return HONE_OK;
    }
    uint64_t element = 0; /* holds any element that value may be: it has no complex ones */
    hn_array one = {.dtype = value->dtype, .n_elems = 1, .data = &element};
    HN_TRY(copy_constant(c, &one, value));
    if (hn_elem_bytes(out->dtype) > 0) {
        fill_with(out, &element, hn_elem_bytes(out->dtype));
        return HONE_OK;
    }
    int bits = hn_dtype_bits(out->dtype),
        code = hn_unpack_int((const uint8_t *)&element, 0, bits, false);
    for (uint64_t i = 0; i < out->n_elems && !hn_spent(1); i++)
        hn_pack_int(out->data, i, bits, code);
    return HONE_OK;
}
const hn_impl hn_impl_constant_of_shape[1] = {{.eval = eval_constant_of_shape}};

/* ---- Range ----------------------------------------------------------------------------------- */

static hone_status range_count(hn_eval *c, const double *real, const int64_t *whole, bool is_int,
                               int64_t *n) {
    if (is_int ? whole[2] == 0 : real[2] == 0)
        return hn_eval_fail(c, HONE_E_INVALID, "delta is 0; a range must move");
    double count = is_int ? ceil(((double)whole[1] - (double)whole[0]) / (double)whole[2])
                          : ceil((real[1] - real[0]) / real[2]);
    if (!(count < (double)(1LL << 53)))
        return hn_eval_fail(c, HONE_E_LIMIT, "the range would never end");
    *n = count > 0 ? (int64_t)count : 0;
    return HONE_OK;
}

/* Tiles are whole, so that the compiler sees how long they are. */
static void tile_of_ints(const uint64_t *steps, uint64_t first, uint64_t *tile) {
    for (int i = 0; i < HN_TILE; i++)
        tile[i] = first + steps[i];
}

static void tile_of_reals(double start, double first, double step, double *tile) {
    for (int i = 0; i < HN_TILE; i++)
        tile[i] = start + (first + i) * step;
}

static void fill_int_range(hn_array *out, uint64_t start, uint64_t step) {
    uint64_t steps[HN_TILE], tile[HN_TILE];
    for (uint64_t i = 0; i < HN_TILE; i++)
        steps[i] = i * step;
    for (uint64_t at = 0; at < out->n_elems && !hn_spent(HN_TILE); at += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, out->n_elems - at);
        bool is_there = out->dtype == HN_I64 && n == HN_TILE;
        tile_of_ints(steps, start + at * step, is_there ? (uint64_t *)out->data + at : tile);
        if (!is_there)
            hn_store_i64(out, at, n, (const int64_t *)tile);
    }
}

static void fill_real_range(hn_array *out, double start, double step) {
    double tile[HN_TILE];
    for (uint64_t at = 0; at < out->n_elems && !hn_spent(HN_TILE); at += HN_TILE) {
        tile_of_reals(start, (double)at, step, tile);
        hn_store_f64(out, at, HN_MIN(HN_TILE, out->n_elems - at), tile);
    }
}

static hone_status eval_range(hn_eval *c) {
    double real[3] = {0, 0, 1};
    int64_t whole[3] = {0, 0, 1}, n;
    hn_array *out;
    hn_dtype t = hn_arg(c, 0)->dtype;
    bool is_int = hn_dtype_is_int(t);
    for (uint32_t i = 0; i < 3; i++) {
        const hn_array *given = hn_arg(c, i); /* com.microsoft lets delta be absent */
        if (given && given->n_elems != 1)
            return hn_eval_fail(c, HONE_E_SHAPE, "input %u must be one number", i);
        if (given && is_int)
            hn_load_i64(given, 0, 1, &whole[i]);
        else if (given)
            hn_load_f64(given, 0, 1, &real[i]);
    }
    HN_TRY(range_count(c, real, whole, is_int, &n));
    HN_TRY(hn_ret_alloc(c, 0, t, 1, &n, &out));
    if (out && is_int)
        fill_int_range(out, (uint64_t)whole[0], (uint64_t)whole[2]);
    else if (out)
        fill_real_range(out, real[0], real[2]);
    return HONE_OK;
}
const hn_impl hn_impl_range[1] = {{.eval = eval_range}};

/* ---- shapes ---------------------------------------------------------------------------------- */

static int32_t clamp_shape_axis(int64_t axis, int32_t rank) {
    axis += axis < 0 ? rank : 0;
    return (int32_t)HN_MAX(0, HN_MIN(axis, rank));
}

static hone_status eval_shape(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *out = hn_ret(c, 0);
    if (!out)
        return HONE_OK;
    int32_t start = clamp_shape_axis(hn_attr_i(hn_eval_node(c), "start", 0), x->rank);
    if (out->n_elems)
        memcpy(out->data, x->dims + start, (size_t)out->n_elems * sizeof(int64_t));
    return HONE_OK;
}
const hn_impl hn_impl_shape[1] = {{.eval = eval_shape, .reads_part = true}};

static hone_status eval_size(hn_eval *c) {
    hn_array *out = hn_ret(c, 0);
    if (out)
        *(int64_t *)out->data = (int64_t)hn_arg(c, 0)->n_elems;
    return HONE_OK;
}
const hn_impl hn_impl_size[1] = {{.eval = eval_size, .reads_part = true}};

static hone_status eval_eye_like(hn_eval *c) {
    hn_array *out = hn_ret(c, 0);
    int64_t k = hn_attr_i(hn_eval_node(c), "k", 0);
    const float one = 1;
    if (!out || out->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_copy_fill(c, out, 0, out->n_elems, NULL));
    int64_t n_rows = out->dims[0], n_cols = out->dims[1];
    if (k >= n_cols || k <= -n_rows)
        return HONE_OK;
    for (int64_t row = k < 0 ? -k : 0; row < n_rows && row + k < n_cols; row++)
        hn_store_f32(out, (uint64_t)(row * n_cols + row + k), 1, &one);
    return HONE_OK;
}
const hn_impl hn_impl_eye_like[1] = {{.eval = eval_eye_like}};
