/* Checks of constant data: sizes against shapes, sparse coordinates. */
#include "ir/verify_int.h"

#include <stdio.h>

/* Formats the location only when there is a problem. */
static void data_error(const hn_verify_location *at, const char *fmt, ...) HN_PRINTF(2, 3);

static void data_error(const hn_verify_location *at, const char *fmt, ...) {
    char message[sizeof((hone_error *)0)->message], where[256], who[190];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (at->node == HN_NONE)
        snprintf(where, sizeof(where), "initializer '%s'",
                 hn_s(hn_value_at(at->g, at->value)->name));
    else
        snprintf(where, sizeof(where), "attribute '%.50s' of %s", hn_s(at->attr),
                 hn_node_text(at->g, at->node, who, sizeof(who)));
    hn_problem_add(at->p, HN_SEVERITY_ERROR, HONE_E_INVALID, at->g, at->node, at->value, "%s: %s",
                   where, message);
}

static bool has_good_dims(const hn_verify_location *at, int32_t rank, const int64_t *dims,
                          int64_t least) {
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < least) {
            data_error(at, "dimension %d is %lld; it must be at least %lld", i, (long long)dims[i],
                       (long long)least);
            return false;
        }
    }
    return true;
}

static void verify_external(const hn_verify_location *at, const hn_tensor *t, uint64_t need) {
    const hn_external *e = t->external;
    if (hn_str_empty(e->location))
        data_error(at, "its data is external, but external_data has no 'location'");
    else if (e->has_length && e->length != need)
        data_error(at, "its shape and type need %llu bytes, but external_data says %llu",
                   (unsigned long long)need, (unsigned long long)e->length);
}

void hn_verify_tensor(const hn_verify_location *at, const hn_tensor *t) {
    uint64_t need;
    if (t->dtype <= HN_UNDEFINED || t->dtype >= HN_DTYPE_COUNT) {
        data_error(at, "element type %d is not defined by ONNX", (int)t->dtype);
    } else if (!has_good_dims(at, t->rank, t->dims, 0)) {
        return;
    } else if (t->has_mixed_data) {
        data_error(at, "its elements are in more than one field (raw_data, float_data, ...)");
    } else if (t->dtype == HN_STRING) {
        if (t->n_elems > 0 && !t->strings)
            data_error(at, "%llu strings are missing (strings must be in string_data)",
                       (unsigned long long)t->n_elems);
    } else if (!hn_dtype_bytes(t->dtype, t->n_elems, &need)) {
        data_error(at, "its shape exceeds the address space");
    } else if (t->external && !t->data) {
        verify_external(at, t, need);
    } else if (t->data_bytes != need || (need > 0 && !t->data && !hn_tensor_is_deferred(t))) {
        data_error(at, "%llu elements of type %s need %llu bytes, but there are %llu",
                   (unsigned long long)t->n_elems, hn_dtype_name(t->dtype),
                   (unsigned long long)need, (unsigned long long)t->data_bytes);
    }
}

/* Offset of coordinate number i in the dense tensor; false, with a report, when it lies outside. */
static bool dense_offset(const hn_verify_location *at, const hn_sparse *s, uint64_t i,
                         uint64_t *offset) {
    bool is_linear = s->indices->rank == 1;
    int32_t n_coords = is_linear ? 1 : s->rank;
    *offset = 0;
    for (int32_t j = 0; j < n_coords; j++) {
        int64_t index = -1;
        uint64_t size = 1;
        for (int32_t k = j; k < (is_linear ? s->rank : j + 1); k++)
            size *= (uint64_t)s->dims[k]; /* the product was checked before */
        hn_tensor_get_i64(s->indices, i * (uint64_t)n_coords + (uint64_t)j, &index);
        if (index < 0 || (uint64_t)index >= size) {
            data_error(at, "sparse index %lld at position %llu is outside 0..%lld",
                       (long long)index, (unsigned long long)i, (long long)size - 1);
            return false;
        }
        *offset = *offset * size + (uint64_t)index;
    }
    return true;
}

/* Any order of coordinates that is strictly ascending is strictly ascending in offsets, too. */
static void verify_indices(const hn_verify_location *at, const hn_sparse *s, uint64_t nnz) {
    uint64_t previous = 0, offset;
    for (uint64_t i = 0; i < nnz; i++, previous = offset) {
        if (!dense_offset(at, s, i, &offset))
            return;
        if (i > 0 && offset <= previous) {
            data_error(at, "sparse indices must be strictly ascending; position %llu is not",
                       (unsigned long long)i);
            return;
        }
    }
}

static bool has_index_shape(const hn_sparse *s, int64_t nnz) {
    const hn_tensor *t = s->indices;
    return (t->rank == 1 && t->dims[0] == nnz) ||
           (t->rank == 2 && t->dims[0] == nnz && t->dims[1] == s->rank);
}

static bool has_dense_size(const hn_sparse *s) {
    uint64_t size = 1;
    for (int32_t i = 0; i < s->rank; i++) {
        if (!hn_mul_u64(size, (uint64_t)s->dims[i], &size) || size > INT64_MAX)
            return false;
    }
    return true;
}

void hn_verify_sparse(const hn_verify_location *at, const hn_sparse *s) {
    uint32_t n_before = at->p->n_errors;
    if (!s->values) {
        data_error(at, "a sparse tensor needs values");
        return;
    }
    hn_verify_tensor(at, s->values);
    if (s->indices)
        hn_verify_tensor(at, s->indices);
    if (s->values->rank != 1)
        data_error(at, "values of a sparse tensor have rank 1, not %d", s->values->rank);
    if (s->rank < 1)
        data_error(at, "a sparse tensor has at least one dimension");
    else if (has_good_dims(at, s->rank, s->dims, 1) && !has_dense_size(s))
        data_error(at, "its shape exceeds the address space");
    if (at->p->n_errors != n_before)
        return;
    int64_t nnz = s->values->dims[0];
    if (!s->indices) {
        if (nnz > 0)
            data_error(at, "%lld values, but no indices", (long long)nnz);
    } else if (s->indices->dtype != HN_I64) {
        data_error(at, "indices of a sparse tensor are int64, not %s",
                   hn_dtype_name(s->indices->dtype));
    } else if (!has_index_shape(s, nnz)) {
        data_error(at, "indices of a sparse tensor have the shape [%lld] or [%lld,%d]",
                   (long long)nnz, (long long)nnz, s->rank);
    } else if (s->indices->data) {
        verify_indices(at, s, (uint64_t)nnz);
    }
}
