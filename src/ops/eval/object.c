/* Values at run time: tensors, sequences, maps. Reference counted; memory comes from the heap of
 * the run. */
#include "ops/eval_engine.h"

#define BORROWED UINT32_MAX /* n_refs of a tensor in planned memory or in the caller's buffers */

/* Header, dims and data lie in one block. */
typedef struct tensor_layout {
    size_t dims_at, data_at, bytes;
} tensor_layout;

static bool lay_out(hn_dtype dtype, int32_t rank, const int64_t *dims, uint64_t *n_elems,
                    tensor_layout *out) {
    *n_elems = 1;
    for (int32_t i = 0; i < rank; i++)
        if (dims[i] < 0 || !hn_mul_u64(*n_elems, (uint64_t)dims[i], n_elems))
            return false;
    uint64_t data_bytes;
    if (dtype == HN_STRING ? !hn_mul_u64(*n_elems, sizeof(hn_bytes), &data_bytes)
                           : !hn_dtype_bytes(dtype, *n_elems, &data_bytes))
        return false;
    out->dims_at = (sizeof(hn_object) + 15) / 16 * 16;
    out->data_at = (out->dims_at + (size_t)rank * sizeof(int64_t) + 63) / 64 * 64;
    return data_bytes <= SIZE_MAX / 2 && hn_add_size(out->data_at, (size_t)data_bytes, &out->bytes);
}

hn_object *hn_heap_tensor(hn_heap *heap, hn_dtype dtype, int32_t rank, const int64_t *dims) {
    uint64_t n_elems;
    tensor_layout at;
    bool has_size = lay_out(dtype, rank, dims, &n_elems, &at);
    uint8_t *block = hn_heap_alloc(heap, has_size ? at.bytes : SIZE_MAX); /* which no heap has */
    if (!block)
        return NULL;
    hn_object *o = (hn_object *)(void *)block;
    int64_t *own_dims = (int64_t *)(void *)(block + at.dims_at);
    if (rank > 0)
        memcpy(own_dims, dims, (size_t)rank * sizeof *dims);
    *o = (hn_object){.kind = HN_OBJECT_TENSOR, .n_refs = 1};
    o->array = (hn_array){.dtype = dtype,
                          .rank = rank,
                          .n_elems = n_elems,
                          .dims = own_dims,
                          .data = block + at.data_at};
    if (dtype == HN_STRING ||
        hn_dtype_bits(dtype) < 8) /* strings start empty; packing keeps neighbours */
        memset(o->array.data, 0, at.bytes - at.data_at);
    return o;
}

hn_object *hn_heap_object(hn_heap *heap, hn_object_kind kind, uint32_t n_items) {
    size_t header = (sizeof(hn_object) + 15) / 16 * 16;
    uint8_t *block = hn_heap_alloc(heap, header + n_items * sizeof(hn_object *));
    if (!block)
        return NULL;
    hn_object *o = (hn_object *)(void *)block;
    *o = (hn_object){.kind = kind,
                     .n_refs = 1,
                     .n_items = n_items,
                     .items = (hn_object **)(void *)(block + header)};
    memset(o->items, 0, n_items * sizeof *o->items);
    return o;
}

bool hn_array_has_type(const hn_array *a, const hn_type *t) {
    return a->dtype == t->elem && a->rank == t->shape.rank &&
           (a->rank == 0 || memcmp(a->dims, t->shape.dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

void hn_object_init_borrowed(hn_object *o, hn_dtype dtype, int32_t rank, const int64_t *dims,
                             void *data) {
    *o = (hn_object){.kind = HN_OBJECT_TENSOR, .n_refs = BORROWED};
    o->array = (hn_array){
        .dtype = dtype, .rank = rank, .n_elems = hn_count(rank, dims), .dims = dims, .data = data};
}

static void free_strings(hn_heap *heap, hn_array *a) {
    hn_bytes *s = a->data;
    for (uint64_t i = 0; i < a->n_elems; i++)
        hn_heap_give(heap, (void *)(uintptr_t)s[i].at, (size_t)s[i].n);
}

bool hn_heap_copy_string(hn_heap *heap, hn_bytes from, hn_bytes *to) {
    void *text = from.n ? hn_heap_alloc(heap, (size_t)from.n) : NULL;
    if (from.n && !text)
        return false;
    if (from.n)
        memcpy(text, from.at, (size_t)from.n);
    *to = (hn_bytes){text, from.n};
    return true;
}

bool hn_heap_copy_elems(hn_heap *heap, hn_array *to, const hn_array *from) {
    uint64_t bytes = 0;
    if (from->row_stride || to->row_stride)
        hn_copy_rows(to, from);
    else if (from->dtype != HN_STRING && hn_dtype_bytes(from->dtype, from->n_elems, &bytes) &&
             bytes)
        memcpy(to->data, from->data, (size_t)bytes);
    for (uint64_t i = 0; from->dtype == HN_STRING && i < from->n_elems; i++) {
        hn_bytes *old = &((hn_bytes *)to->data)[i], fresh;
        if (!hn_heap_copy_string(heap, ((const hn_bytes *)from->data)[i], &fresh))
            return false;
        hn_heap_give(heap, (void *)(uintptr_t)old->at, (size_t)old->n);
        *old = fresh;
    }
    return true;
}

static hn_object *copy_tensor(hn_heap *heap, const hn_array *from) {
    hn_object *copy = hn_heap_tensor(heap, from->dtype, from->rank, from->dims);
    if (!copy || hn_heap_copy_elems(heap, &copy->array, from))
        return copy;
    hn_heap_unref(heap, copy);
    return NULL;
}

hn_object *hn_heap_copy(hn_heap *heap, const hn_object *o) {
    if (o->kind == HN_OBJECT_TENSOR)
        return copy_tensor(heap, &o->array);
    hn_object *copy = hn_heap_object(heap, o->kind, o->n_items);
    for (uint32_t i = 0; copy && i < o->n_items; i++) {
        copy->items[i] = hn_heap_copy(heap, o->items[i]);
        if (!copy->items[i]) {
            hn_heap_unref(heap, copy);
            return NULL;
        }
    }
    return copy;
}

hn_object *hn_heap_ref(hn_heap *heap, hn_object *o) {
    if (o->n_refs == BORROWED)
        return copy_tensor(heap, &o->array);
    o->n_refs++;
    return o;
}

/* As deep as the types nest. */
void hn_heap_unref(hn_heap *heap, hn_object *o) {
    if (!o || o->n_refs == BORROWED || --o->n_refs)
        return;
    if (o->kind == HN_OBJECT_TENSOR) {
        uint64_t n_elems;
        tensor_layout at = {0};
        if (o->array.dtype == HN_STRING)
            free_strings(heap, &o->array);
        lay_out(o->array.dtype, o->array.rank, o->array.dims, &n_elems, &at);
        hn_heap_give(heap, o, at.bytes);
        return;
    }
    for (uint32_t i = 0; i < o->n_items; i++)
        hn_heap_unref(heap, o->items[i]);
    hn_heap_give(heap, o, (sizeof(hn_object) + 15) / 16 * 16 + o->n_items * sizeof(hn_object *));
}

hone_status hn_array_set_string(hn_eval *c, hn_array *a, uint64_t i, const void *text, uint64_t n) {
    hn_bytes *s = a->data;
    hn_bytes fresh;
    if (hn_spent(64 + n / 16))
        return HONE_E_CANCELLED;
    if (!hn_heap_copy_string(c->host->heap, (hn_bytes){text, n}, &fresh))
        return HONE_E_NOMEM;
    hn_heap_give(c->host->heap, (void *)(uintptr_t)s[i].at, (size_t)s[i].n);
    s[i] = fresh;
    return HONE_OK;
}

/* ---- for evaluations ------------------------------------------------------------------------- */

hn_object *hn_object_tensor(hn_eval *c, hn_dtype dtype, int32_t rank, const int64_t *dims) {
    return hn_heap_tensor(c->host->heap, dtype, rank, dims);
}

hn_object *hn_object_sequence(hn_eval *c, uint32_t n_items) {
    return hn_heap_object(c->host->heap, HN_OBJECT_SEQUENCE, n_items);
}

hn_object *hn_object_map(hn_eval *c) {
    return hn_heap_object(c->host->heap, HN_OBJECT_MAP, 2);
}
hn_object *hn_object_none(hn_eval *c) {
    return hn_heap_object(c->host->heap, HN_OBJECT_NONE, 0);
}

hn_object *hn_object_ref(hn_eval *c, const hn_object *o) {
    return hn_heap_ref(c->host->heap, (hn_object *)(uintptr_t)o);
}

void hn_object_unref(hn_eval *c, hn_object *o) {
    hn_heap_unref(c->host->heap, o);
}
