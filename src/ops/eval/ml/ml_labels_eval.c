/* Evaluation of the operators of ai.onnx.ml that look labels up: LabelEncoder, CategoryMapper,
 * OneHotEncoder, ZipMap, CastMap, DictVectorizer. */
#include "ops/eval/ml/ml_eval.h"
#include "ops/eval/copy.h"
#include "ops/eval/sort_keys.h"

#include <stdlib.h>

/* ---- a table of keys ------------------------------------------------------------------------- */

typedef struct key_table {
    hn_array keys;
    int64_t *numbers; /* their order; NULL for strings */
    uint64_t *order;  /* sorted; of equal keys the first comes first */
} key_table;

static int compare_key(const key_table *t, uint64_t i, hn_bytes text, int64_t number) {
    if (!t->numbers)
        return hn_compare_text(((const hn_bytes *)t->keys.data)[i], text);
    return (t->numbers[i] > number) - (t->numbers[i] < number);
}

static bool key_less(const void *ctx, uint64_t a, uint64_t b) {
    const key_table *t = ctx;
    hn_bytes text = t->numbers ? (hn_bytes){NULL, 0} : ((const hn_bytes *)t->keys.data)[b];
    return compare_key(t, a, text, t->numbers ? t->numbers[b] : 0) < 0;
}

static hone_status key_table_make(hn_eval *c, hn_array keys, key_table *t) {
    uint64_t n = keys.n_elems, *room = hn_eval_scratch(c, n * sizeof *room);
    *t = (key_table){.keys = keys, .order = hn_eval_scratch(c, n * sizeof *t->order)};
    if (keys.dtype != HN_STRING)
        t->numbers = hn_eval_scratch(c, n * sizeof *t->numbers);
    if (!room || !t->order || (keys.dtype != HN_STRING && !t->numbers))
        return HONE_E_NOMEM;
    if (t->numbers)
        hn_sort_keys(&keys, 0, n, t->numbers);
    for (uint64_t i = 0; i < n; i++)
        t->order[i] = i;
    hn_sort_items(n, t->order, room, key_less, t);
    return HONE_OK;
}

/* Where element i of x stands among the keys, which have its type; -1 when it does not. */
static int64_t key_table_find(const key_table *t, const hn_array *x, uint64_t i) {
    hn_bytes text = t->numbers ? (hn_bytes){NULL, 0} : ((const hn_bytes *)x->data)[i];
    int64_t number = 0;
    uint64_t lo = 0, hi = t->keys.n_elems;
    if (t->numbers)
        hn_sort_keys(x, i, 1, &number);
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (compare_key(t, t->order[mid], text, number) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool is_found = lo < t->keys.n_elems && compare_key(t, t->order[lo], text, number) == 0;
    return is_found ? (int64_t)t->order[lo] : -1;
}

/* ---- attributes as arrays -------------------------------------------------------------------- */

static hn_array array_of(hn_dtype dtype, uint64_t n, const void *data) {
    return (hn_array){
        .dtype = dtype, .n_elems = n, .data = (void *)(uintptr_t)data}; /* read only */
}

/* Data in files need not be aligned: it is copied. */
static hone_status array_of_tensor(hn_eval *c, const hn_tensor *t, hn_array *out) {
    uint64_t bytes;
    if (t->dtype == HN_STRING) {
        *out = array_of(HN_STRING, t->n_elems, t->strings);
        return HONE_OK;
    }
    if (!t->data || !hn_dtype_bytes(t->dtype, t->n_elems, &bytes) || bytes > t->data_bytes)
        return hn_eval_fail(c, HONE_E_INVALID, "the data of a tensor attribute is not there");
    void *copy = hn_eval_scratch(c, bytes);
    HN_TRY_PTR(copy);
    memcpy(copy, t->data, (size_t)bytes);
    *out = array_of(t->dtype, t->n_elems, copy);
    return HONE_OK;
}

static hone_status array_of_attr(hn_eval *c, const char *name, hn_array *out) {
    const hn_attr *a = hn_attr_raw(hn_eval_node(c), name);
    *out = (hn_array){.dtype = HN_UNDEFINED};
    if (!a)
        return HONE_OK;
    switch (a->kind) {
    case HN_ATTR_TENSOR:
        return array_of_tensor(c, a->v.tensor, out);
    case HN_ATTR_INTS:
        *out = array_of(HN_I64, a->n, a->v.ints);
        break;
    case HN_ATTR_FLOATS:
        *out = array_of(HN_F32, a->n, a->v.floats);
        break;
    case HN_ATTR_STRINGS:
        *out = array_of(HN_STRING, a->n, a->v.strings);
        break;
    default:
        break;
    }
    return HONE_OK;
}

/* The first of these attributes that is there and not empty. */
static hone_status array_of_first(hn_eval *c, const char *const names[4], hn_array *out) {
    for (size_t i = 0; i < 4; i++) {
        HN_TRY(array_of_attr(c, names[i], out));
        if (out->n_elems > 0)
            return HONE_OK;
    }
    return hn_eval_fail(c, HONE_E_INVALID, "none of %s, %s, %s and %s lists anything", names[0],
                        names[1], names[2], names[3]);
}

/* What unknown keys get. */
static hone_status default_label(hn_eval *c, hn_dtype dtype, hn_array *out) {
    const hn_infer *node = hn_eval_node(c);
    HN_TRY(array_of_attr(c, "default_tensor", out));
    if (out->n_elems > 0 && out->dtype == dtype)
        return HONE_OK;
    hn_bytes *room = hn_eval_scratch(c, sizeof *room);
    HN_TRY_PTR(room);
    *out = array_of(dtype, 1, room);
    int64_t number = hn_attr_i(node, "default_int64", -1);
    float real = hn_attr_f(node, "default_float", -0.0f);
    if (dtype == HN_STRING)
        *room = hn_attr_s(node, "default_string");
    else if (hn_dtype_is_float(dtype))
        hn_store_f32(out, 0, 1, &real);
    else
        hn_store_i64(out, 0, 1, &number);
    return HONE_OK;
}

/* y[i] = values[where x[i] stands in keys]. */
static hone_status translate(hn_eval *c, hn_array keys, hn_array values) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0), fallback;
    key_table t;
    if (!y)
        return HONE_OK;
    if (keys.dtype != x->dtype || values.dtype != y->dtype || keys.n_elems != values.n_elems)
        return hn_eval_fail(c, HONE_E_TYPE, "keys are %s and values %s, but the node maps %s to %s",
                            hn_dtype_name(keys.dtype), hn_dtype_name(values.dtype),
                            hn_dtype_name(x->dtype), hn_dtype_name(y->dtype));
    HN_TRY(default_label(c, y->dtype, &fallback));
    HN_TRY(key_table_make(c, keys, &t));
    for (uint64_t i = 0; i < x->n_elems && !hn_spent(32); i++) {
        int64_t at = key_table_find(&t, x, i);
        HN_TRY(at < 0 ? hn_copy_run(c, y, i, &fallback, 0, 1)
                      : hn_copy_run(c, y, i, &values, (uint64_t)at, 1));
    }
    return HONE_OK;
}

/* ---- LabelEncoder, CategoryMapper ------------------------------------------------------------ */

/* Version 1: strings and their places in a list. */
static hone_status encode_places(hn_eval *c) {
    hn_array texts, places;
    HN_TRY(array_of_attr(c, "classes_strings", &texts));
    int64_t *at = hn_eval_scratch(c, texts.n_elems * sizeof *at);
    HN_TRY_PTR(at);
    for (uint64_t i = 0; i < texts.n_elems; i++)
        at[i] = (int64_t)i;
    texts.dtype = HN_STRING; /* also when there are none */
    places = array_of(HN_I64, texts.n_elems, at);
    return hn_arg(c, 0)->dtype == HN_STRING ? translate(c, texts, places)
                                            : translate(c, places, texts);
}

static hone_status eval_label_encoder(hn_eval *c) {
    static const char *const key_names[4] = {"keys_tensor", "keys_strings", "keys_int64s",
                                             "keys_floats"};
    static const char *const value_names[4] = {"values_tensor", "values_strings", "values_int64s",
                                               "values_floats"};
    hn_array keys, values;
    if (hn_infer_version(hn_eval_node(c)) < 2)
        return encode_places(c);
    HN_TRY(array_of_first(c, key_names, &keys));
    HN_TRY(array_of_first(c, value_names, &values));
    return translate(c, keys, values);
}
const hn_impl hn_impl_label_encoder[1] = {{.eval = eval_label_encoder}};

static hone_status eval_category_mapper(hn_eval *c) {
    hn_array texts, numbers;
    HN_TRY(array_of_attr(c, "cats_strings", &texts));
    HN_TRY(array_of_attr(c, "cats_int64s", &numbers));
    return hn_arg(c, 0)->dtype == HN_STRING ? translate(c, texts, numbers)
                                            : translate(c, numbers, texts);
}
const hn_impl hn_impl_category_mapper[1] = {{.eval = eval_category_mapper}};

/* ---- OneHotEncoder --------------------------------------------------------------------------- */

static hone_status eval_one_hot_encoder(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0), keys, whole = *x;
    bool is_text = x->dtype == HN_STRING,
         allows_unknown = hn_attr_i(hn_eval_node(c), "zeros", 1) != 0;
    key_table t;
    if (!y)
        return HONE_OK;
    HN_TRY(array_of_attr(c, is_text ? "cats_strings" : "cats_int64s", &keys));
    HN_TRY(key_table_make(c, keys, &t));
    if (!is_text) { /* floats are cut to integers */
        whole.dtype = HN_I64;
        whole.data = hn_eval_scratch(c, x->n_elems * sizeof(int64_t));
        HN_TRY_PTR(whole.data);
        hn_load_i64(x, 0, x->n_elems, whole.data);
    }
    HN_TRY(hn_copy_fill(c, y, 0, y->n_elems, NULL));
    uint64_t n = x->n_elems ? y->n_elems / x->n_elems : 0;
    for (uint64_t i = 0; i < x->n_elems && !hn_spent(32); i++) {
        int64_t at = keys.n_elems ? key_table_find(&t, &whole, i) : -1;
        if (at < 0 && !allows_unknown)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "element %llu is no known category, and zeros is 0",
                                (unsigned long long)i);
        if (at >= 0 && (uint64_t)at < n)
            ((float *)y->data)[i * n + (uint64_t)at] = 1;
    }
    return HONE_OK;
}
const hn_impl hn_impl_one_hot_encoder[1] = {{.eval = eval_one_hot_encoder}};

/* ---- ZipMap ---------------------------------------------------------------------------------- */

/* A map from labels to row `r` of the scores. Takes no reference of `labels`. */
static hn_object *zip_row(hn_eval *c, const hn_object *labels, const hn_array *x, uint64_t r,
                          uint64_t n) {
    hn_object *map = hn_object_map(c);
    if (!map)
        return NULL;
    map->items[0] = hn_object_ref(c, labels);
    map->items[1] = hn_object_tensor(c, HN_F32, 1, (int64_t[]){(int64_t)n});
    if (map->items[0] && map->items[1] &&
        hn_copy_run(c, &map->items[1]->array, 0, x, r * n, n) == HONE_OK)
        return map;
    hn_object_unref(c, map);
    return NULL;
}

static hone_status zip_rows(hn_eval *c, const hn_object *labels, const hn_array *x, uint64_t n_rows,
                            uint64_t n) {
    hn_object *y = hn_object_sequence(c, (uint32_t)n_rows);
    HN_TRY_PTR(y);
    for (uint32_t r = 0; r < y->n_items; r++) {
        y->items[r] = zip_row(c, labels, x, r, n);
        if (!y->items[r]) {
            hn_object_unref(c, y);
            return HONE_E_NOMEM;
        }
    }
    return hn_ret_object(c, 0, y);
}

static hone_status eval_zip_map(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_ml_labels labels =
        hn_ml_read_labels(hn_eval_node(c), "classlabels_strings", "classlabels_int64s");
    uint64_t n_rows = x->rank < 2 ? 1 : (uint64_t)x->dims[0];
    if (x->rank < 1 || (uint64_t)x->dims[x->rank - 1] != labels.n || n_rows > UINT32_MAX)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "the input must have one column for each of %llu labels",
                            (unsigned long long)labels.n);
    hn_object *keys =
        hn_object_tensor(c, labels.strings ? HN_STRING : HN_I64, 1, (int64_t[]){(int64_t)labels.n});
    HN_TRY_PTR(keys);
    hone_status status = HONE_OK;
    for (uint64_t i = 0; i < labels.n && status == HONE_OK; i++)
        status = hn_ml_put_label(c, &keys->array, i, &labels, i);
    if (status == HONE_OK)
        status = zip_rows(c, keys, x, n_rows, labels.n);
    hn_object_unref(c, keys);
    return status;
}
const hn_impl hn_impl_zip_map[1] = {{.eval = eval_zip_map}};

/* ---- CastMap, DictVectorizer ----------------------------------------------------------------- */

static hone_status read_map(hn_eval *c, const hn_array **keys, const hn_array **values) {
    const hn_object *map = hn_arg_object(c, 0);
    bool is_map = map && map->kind == HN_OBJECT_MAP && map->n_items == 2;
    *keys = is_map ? &map->items[0]->array : NULL;
    *values = is_map ? &map->items[1]->array : NULL;
    if (!is_map || (*keys)->n_elems != (*values)->n_elems)
        return hn_eval_fail(c, HONE_E_TYPE, "input 0 is no map");
    return HONE_OK;
}

/* One value as another type: numbers and texts into each other. */
static hone_status cast_value(hn_eval *c, hn_array *y, uint64_t at, const hn_array *values,
                              uint64_t i) {
    char text[64];
    double v = 0;
    if (y->dtype == values->dtype)
        return hn_copy_run(c, y, at, values, i, 1);
    if (values->dtype == HN_STRING) {
        hn_bytes s = ((const hn_bytes *)values->data)[i];
        size_t n = (size_t)HN_MIN(s.n, sizeof text - 1);
        if (n > 0)
            memcpy(text, s.at, n);
        text[n] = 0;
        v = strtod(text, NULL);
    } else {
        hn_load_f64(values, i, 1, &v);
    }
    if (y->dtype == HN_STRING)
        return hn_array_set_string(c, y, at, text, (uint64_t)hn_format_f32(text, (float)v));
    hn_store_f64(y, at, 1, &v);
    return HONE_OK;
}

/* Dense: the values in the order of their keys. Sparse: each at its key, others are 0. */
static hone_status eval_cast_map(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *keys, *values;
    bool is_sparse = hn_attr_is(node, "map_form", "SPARSE");
    int64_t size = hn_attr_i(node, "max_map", 1), key;
    hn_dtype dtype = hn_attr_is(node, "cast_to", "TO_STRING")  ? HN_STRING
                     : hn_attr_is(node, "cast_to", "TO_INT64") ? HN_I64
                                                               : HN_F32;
    key_table t;
    hn_array *y;
    HN_TRY(read_map(c, &keys, &values));
    if (is_sparse && size < 1)
        return hn_eval_fail(c, HONE_E_INVALID, "max_map is %lld, but must be 1 or more",
                            (long long)size);
    HN_TRY(hn_ret_alloc(c, 0, dtype, 2, (int64_t[]){1, is_sparse ? size : (int64_t)keys->n_elems},
                        &y));
    if (!y)
        return HONE_OK;
    HN_TRY(key_table_make(c, *keys, &t));
    HN_TRY(hn_copy_fill(c, y, 0, y->n_elems, NULL));
    for (uint64_t i = 0; i < keys->n_elems; i++) {
        uint64_t from = t.order[i], at = i;
        if (is_sparse) {
            hn_load_i64(keys, from, 1, &key);
            if (key < 0 || key >= size)
                continue;
            at = (uint64_t)key;
        }
        HN_TRY(cast_value(c, y, at, values, from));
    }
    return HONE_OK;
}
const hn_impl hn_impl_cast_map[1] = {{.eval = eval_cast_map}};

/* One column for each word of the vocabulary. */
static hone_status eval_dict_vectorizer(hn_eval *c) {
    const hn_array *keys, *values;
    hn_array words, *y;
    key_table t;
    HN_TRY(read_map(c, &keys, &values));
    HN_TRY(array_of_attr(c, keys->dtype == HN_STRING ? "string_vocabulary" : "int64_vocabulary",
                         &words));
    if (words.n_elems > 0 && words.dtype != keys->dtype)
        return hn_eval_fail(c, HONE_E_TYPE, "the vocabulary has another type than the map's keys");
    HN_TRY(hn_ret_alloc(c, 0, values->dtype, 2, (int64_t[]){1, (int64_t)words.n_elems}, &y));
    if (!y)
        return HONE_OK;
    HN_TRY(key_table_make(c, *keys, &t));
    HN_TRY(hn_copy_fill(c, y, 0, y->n_elems, NULL));
    for (uint64_t i = 0; i < words.n_elems; i++) {
        int64_t at = key_table_find(&t, &words, i);
        if (at >= 0)
            HN_TRY(hn_copy_run(c, y, i, values, (uint64_t)at, 1));
    }
    return HONE_OK;
}
const hn_impl hn_impl_dict_vectorizer[1] = {{.eval = eval_dict_vectorizer}};
