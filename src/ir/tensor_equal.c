/* Tensors with the same content. */
#include "ir/ir.h"

#define SAMPLE_BYTES 64 /* at the beginning, in the middle and at the end */

static bool is_all_there(const hn_tensor *t, uint64_t *bytes) {
    *bytes = 0;
    if (t->dtype == HN_STRING)
        return t->strings || t->n_elems == 0;
    return hn_dtype_bytes(t->dtype, t->n_elems, bytes) && *bytes <= t->data_bytes &&
           (t->data || *bytes == 0);
}

static bool same_strings(const hn_tensor *a, const hn_tensor *b) {
    for (uint64_t i = 0; i < a->n_elems; i++) {
        const hn_bytes *x = &a->strings[i], *y = &b->strings[i];
        if (x->n != y->n || (x->n && memcmp(x->at, y->at, (size_t)x->n) != 0))
            return false;
    }
    return true;
}

bool hn_tensor_equal(const hn_tensor *a, const hn_tensor *b) {
    uint64_t bytes, other_bytes;
    if (a == b)
        return true;
    if (a->dtype != b->dtype || a->rank != b->rank || a->n_elems != b->n_elems ||
        (a->rank > 0 && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) != 0) ||
        !is_all_there(a, &bytes) || !is_all_there(b, &other_bytes))
        return false;
    if (a->dtype == HN_STRING)
        return same_strings(a, b);
    return a->data == b->data || bytes == 0 || memcmp(a->data, b->data, (size_t)bytes) == 0;
}

uint64_t hn_tensor_fingerprint(const hn_tensor *t) {
    uint64_t bytes, hash = hn_hash64(&t->rank, sizeof t->rank, (uint64_t)t->dtype);
    if (t->rank > 0)
        hash = hn_hash64(t->dims, (size_t)t->rank * sizeof *t->dims, hash);
    if (!is_all_there(t, &bytes))
        return hash;
    if (t->dtype == HN_STRING) {
        for (uint64_t i = 0; i < t->n_elems && i < SAMPLE_BYTES; i++)
            hash = hn_hash64(t->strings[i].at, (size_t)t->strings[i].n, hash);
        return hash;
    }
    const char *data = t->data;
    if (bytes <= 3 * SAMPLE_BYTES)
        return hn_hash64(data, (size_t)bytes, hash);
    hash = hn_hash64(data, SAMPLE_BYTES, hash);
    hash = hn_hash64(data + bytes / 2, SAMPLE_BYTES, hash);
    return hn_hash64(data + bytes - SAMPLE_BYTES, SAMPLE_BYTES, hash);
}
