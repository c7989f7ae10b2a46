/* hone.h: values at run time. */
#include "api/value_int.h"
#include "onnx/onnx.h"

static hone_value *bare_handle(const hone_allocator *alloc, int32_t n_dims) {
    size_t n_bytes = sizeof(hone_value) + (size_t)n_dims * sizeof(int64_t);
    hone_value *v = hn_calloc(alloc, 1, n_bytes);
    if (v) {
        v->alloc = alloc;
        v->n_bytes = n_bytes;
    }
    return v;
}

hone_value *hn_value_handle(const hone_allocator *alloc) {
    hone_value *v = bare_handle(alloc, 0);
    if (!v)
        return NULL;
    v->heap = hn_heap_new(alloc);
    if (v->heap)
        return v;
    hn_free(alloc, v, v->n_bytes);
    return NULL;
}

void hn_value_free_items(hone_value *v) {
    uint32_t n = v->items ? v->n_items : 0;
    for (uint32_t i = 0; i < n; i++)
        if (v->items[i]) {
            hn_value_free_items(v->items[i]);
            hn_free(v->alloc, v->items[i], sizeof **v->items);
        }
    hn_free(v->alloc, v->items, v->n_items * sizeof *v->items);
}

void hone_value_free(hone_value *value) {
    if (!value)
        return;
    hn_value_free_items(value);
    if (value->object != &value->borrowed)
        hn_heap_unref(value->heap, value->object);
    hn_heap_free(value->heap);
    hn_free(value->alloc, value, value->n_bytes);
}

static hone_status check_shape(int32_t elem_type, int32_t rank, const int64_t *dims,
                               uint64_t *bytes, hone_error *error) {
    uint64_t n = 1;
    if (elem_type <= 0 || elem_type >= HN_DTYPE_COUNT)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not an element type", elem_type);
    if (rank < 0 || rank > 64)
        return hn_fail(error, HONE_E_ARGUMENT, "a tensor cannot have rank %d", rank);
    for (int32_t i = 0; i < rank; i++)
        if (dims[i] < 0 || !hn_mul_u64(n, (uint64_t)dims[i], &n))
            return hn_fail(error, HONE_E_ARGUMENT, "dimension %d of a tensor cannot be %lld", i,
                           (long long)dims[i]);
    *bytes = 0;
    if (elem_type != HN_STRING && !hn_dtype_bytes((hn_dtype)elem_type, n, bytes))
        return hn_fail(error, HONE_E_ARGUMENT, "the tensor is too large");
    return HONE_OK;
}

hone_status hone_value_borrow(int32_t elem_type, int32_t rank, const int64_t *dims, void *data,
                              size_t data_bytes, hone_value **value, hone_error *error) {
    hn_error_clear(error);
    *value = NULL;
    uint64_t bytes;
    HN_TRY(check_shape(elem_type, rank, dims, &bytes, error));
    if (elem_type == HN_STRING || data_bytes < bytes)
        return hn_fail(error, HONE_E_ARGUMENT, "the tensor needs %llu bytes, but %zu are given",
                       (unsigned long long)bytes, data_bytes);
    size_t align = hn_elem_bytes((hn_dtype)elem_type);
    if ((bytes && !data) || (align && (uintptr_t)data % HN_MIN(align, 8)))
        return hn_fail(error, HONE_E_ARGUMENT, "the memory of the tensor is %s",
                       data ? "not aligned for its type" : "NULL");
    hone_value *v = bare_handle(NULL, rank);
    if (!v)
        return hn_error_complete(error, HONE_E_NOMEM);
    if (rank)
        memcpy(v + 1, dims, (size_t)rank * sizeof *dims);
    hn_object_init_borrowed(&v->borrowed, (hn_dtype)elem_type, rank, (const int64_t *)(v + 1),
                            data);
    v->object = &v->borrowed;
    *value = v;
    return HONE_OK;
}

static hone_status create_tensor(int32_t elem_type, int32_t rank, const int64_t *dims,
                                 hone_value **value, uint64_t *bytes, hone_error *error) {
    *value = NULL;
    HN_TRY(check_shape(elem_type, rank, dims, bytes, error));
    hone_value *v = hn_value_handle(NULL);
    if (v)
        v->object = hn_heap_tensor(v->heap, (hn_dtype)elem_type, rank, dims);
    if (!v || !v->object) {
        hone_value_free(v);
        return hn_error_complete(error, HONE_E_NOMEM);
    }
    *value = v;
    return HONE_OK;
}

hone_status hone_value_create(int32_t elem_type, int32_t rank, const int64_t *dims,
                              const void *data, hone_value **value, hone_error *error) {
    hn_error_clear(error);
    uint64_t bytes;
    if (elem_type == HN_STRING)
        return hn_fail(error, HONE_E_ARGUMENT, "use hone_value_create_strings for string tensors");
    HN_TRY(create_tensor(elem_type, rank, dims, value, &bytes, error));
    if (data && bytes)
        memcpy((*value)->object->array.data, data, (size_t)bytes);
    return HONE_OK;
}

hone_status hone_value_create_strings(int32_t rank, const int64_t *dims, const char *const *texts,
                                      const size_t *lengths, hone_value **value,
                                      hone_error *error) {
    hn_error_clear(error);
    uint64_t bytes;
    HN_TRY(create_tensor(HN_STRING, rank, dims, value, &bytes, error));
    hn_array *a = &(*value)->object->array;
    for (uint64_t i = 0; i < a->n_elems; i++) {
        hn_bytes text = {texts[i], lengths ? lengths[i] : strlen(texts[i])};
        if (!hn_heap_copy_string((*value)->heap, text, &((hn_bytes *)a->data)[i])) {
            hone_value_free(*value);
            *value = NULL;
            return hn_error_complete(error, HONE_E_NOMEM);
        }
    }
    return HONE_OK;
}

/* A sequence or a map of copies of the items. */
static hone_status create_of_items(hn_object_kind kind, uint32_t n_items,
                                   const hone_value *const *items, hone_value **value,
                                   hone_error *error) {
    hone_value *v = hn_value_handle(NULL);
    if (v)
        v->object = hn_heap_object(v->heap, kind, n_items);
    bool ok = v && v->object;
    for (uint32_t i = 0; ok && i < n_items; i++) {
        v->object->items[i] = hn_heap_copy(v->heap, items[i]->object);
        ok = v->object->items[i] != NULL;
    }
    *value = ok ? v : NULL;
    if (!ok)
        hone_value_free(v);
    return ok ? HONE_OK : hn_error_complete(error, HONE_E_NOMEM);
}

hone_status hone_value_create_sequence(uint32_t n_items, const hone_value *const *items,
                                       hone_value **value, hone_error *error) {
    hn_error_clear(error);
    *value = NULL;
    for (uint32_t i = 0; i < n_items; i++)
        HN_TRY(hn_api_require(items && items[i], "items", error));
    return create_of_items(HN_OBJECT_SEQUENCE, n_items, items, value, error);
}

hone_status hone_value_create_map(const hone_value *keys, const hone_value *values,
                                  hone_value **value, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(value, error);
    *value = NULL;
    HN_REQUIRE(keys, error);
    HN_REQUIRE(values, error);
    const hn_object *k = keys->object, *v = values->object;
    if (k->kind != HN_OBJECT_TENSOR || v->kind != HN_OBJECT_TENSOR || k->array.rank != 1 ||
        v->array.rank != 1 || k->array.n_elems != v->array.n_elems)
        return hn_fail(error, HONE_E_ARGUMENT,
                       "keys and values of a map must be tensors of rank 1 and of equal size");
    return create_of_items(HN_OBJECT_MAP, 2, (const hone_value *const[]){keys, values}, value,
                           error);
}

/* ---- serialized ------------------------------------------------------------------------------ */

static hone_status object_of_tensor(hn_heap *heap, const hn_tensor *t, hn_object **out) {
    hn_object borrowed;
    uint64_t bytes = 0;
    if (t->dtype == HN_STRING
            ? t->n_elems && !t->strings
            : !hn_dtype_bytes(t->dtype, t->n_elems, &bytes) || bytes > t->data_bytes)
        return HONE_E_FORMAT;
    hn_object_init_borrowed(
        &borrowed, t->dtype, t->rank, t->dims,
        (void *)(uintptr_t)(t->dtype == HN_STRING ? (const void *)t->strings : t->data));
    *out = hn_heap_copy(heap, &borrowed);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

static hone_status object_of_parsed(hn_heap *heap, const hn_parsed *p, hn_object **out) {
    switch (p->kind) {
    case HN_TYPE_TENSOR:
        return object_of_tensor(heap, &p->tensor, out);
    case HN_TYPE_SEQUENCE:
        *out = hn_heap_object(heap, HN_OBJECT_SEQUENCE, p->n_items);
        for (uint32_t i = 0; *out && i < p->n_items; i++)
            HN_TRY(object_of_parsed(heap, &p->items[i], &(*out)->items[i]));
        break;
    default:
        *out = hn_heap_object(heap, HN_OBJECT_NONE, 0);
    }
    return *out ? HONE_OK : HONE_E_NOMEM;
}

hone_status hone_value_parse(const void *bytes, size_t n_bytes, hone_type_kind kind,
                             hone_value **value, hone_error *error) {
    hn_error_clear(error);
    *value = NULL;
    hn_arena *arena = hn_arena_new(NULL);
    hn_strtab *names = arena ? hn_strtab_new(arena) : NULL;
    hn_parsed parsed;
    hone_status status = names ? hn_load_value(arena, names, (hn_bytes){bytes, n_bytes},
                                               (hn_type_kind)kind, &parsed, error)
                               : HONE_E_NOMEM;
    hone_value *v = status == HONE_OK ? hn_value_handle(NULL) : NULL;
    if (status == HONE_OK)
        status = v ? object_of_parsed(v->heap, &parsed, &v->object) : HONE_E_NOMEM;
    hn_arena_free(arena);
    if (status == HONE_OK)
        *value = v;
    else
        hone_value_free(v);
    return hn_error_complete(error, status);
}

/* ---- looking --------------------------------------------------------------------------------- */

hone_type_kind hone_value_kind(const hone_value *value) {
    static const hone_type_kind kinds[] = {HONE_TYPE_OPTIONAL, HONE_TYPE_TENSOR, HONE_TYPE_SEQUENCE,
                                           HONE_TYPE_MAP};
    return kinds[value->object->kind];
}

const hn_array *hn_value_array(const hone_value *value) {
    hone_value *v = (hone_value *)(uintptr_t)value;
    if (v->object->kind != HN_OBJECT_TENSOR)
        return NULL;
    if (!v->object->array.row_stride)
        return &v->object->array;
    v->heap = v->heap ? v->heap : hn_heap_new(v->alloc);
    hn_object *copy = v->heap ? hn_heap_copy(v->heap, v->object) : NULL;
    if (!copy)
        return NULL;
    v->object = copy;
    return &copy->array;
}

bool hone_value_tensor(const hone_value *value, hone_tensor_info *info) {
    const hn_array *a = hn_value_array(value);
    if (!a)
        return false;
    uint64_t bytes = 0;
    hn_dtype_bytes(a->dtype, a->n_elems, &bytes);
    *info = (hone_tensor_info){.name = "",
                               .elem_type = (int32_t)a->dtype,
                               .rank = a->rank,
                               .dims = a->dims,
                               .n_elements = a->n_elems,
                               .data = a->dtype == HN_STRING ? NULL : a->data,
                               .data_bytes = bytes};
    return true;
}

bool hone_value_string(const hone_value *value, uint64_t i, const char **text, size_t *n_bytes) {
    const hn_array *a = &value->object->array;
    if (value->object->kind != HN_OBJECT_TENSOR || a->dtype != HN_STRING || i >= a->n_elems)
        return false;
    const hn_bytes *s = &((const hn_bytes *)a->data)[i];
    *text = s->n ? s->at : "";
    *n_bytes = (size_t)s->n;
    return true;
}

uint32_t hone_value_n_items(const hone_value *value) {
    return value->object->n_items;
}

/* Handles of items are created on first access and freed with their parent. */
const hone_value *hone_value_item(const hone_value *value, uint32_t i) {
    hone_value *v = (hone_value *)(uintptr_t)value;
    if (i >= v->object->n_items)
        return NULL;
    if (!v->items) {
        v->items = hn_calloc(v->alloc, v->object->n_items, sizeof *v->items);
        v->n_items = v->items ? v->object->n_items : 0;
    }
    if (v->items && !v->items[i]) {
        v->items[i] = hn_calloc(v->alloc, 1, sizeof **v->items);
        if (v->items[i]) {
            v->items[i]->alloc = v->alloc;
            v->items[i]->object = v->object->items[i];
        }
    }
    return v->items ? v->items[i] : NULL;
}
