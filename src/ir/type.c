#include "ir/ir.h"

const hn_type *hn_type_tensor(hn_arena *a, hn_dtype elem, int32_t rank, const hn_dim *dims) {
    hn_type *t = HN_NEW(a, hn_type);
    if (!t)
        return NULL;
    t->kind = HN_TYPE_TENSOR;
    t->elem = elem;
    t->shape.rank = rank < 0 ? -1 : rank;
    if (rank > 0) {
        hn_dim *copy = HN_NEW_N(a, hn_dim, (size_t)rank);
        if (!copy)
            return NULL;
        memcpy(copy, dims, (size_t)rank * sizeof(*copy));
        t->shape.dims = copy;
    }
    return t;
}

const hn_type *hn_type_wrap(hn_arena *a, hn_type_kind kind, hn_dtype key, const hn_type *inner) {
    hn_type *t = HN_NEW(a, hn_type);
    if (!t)
        return NULL;
    t->kind = kind;
    t->elem = key;
    t->inner = inner;
    t->shape.rank = -1;
    return t;
}

/* Opens a wrapping type; what it holds and ")" follow. False when the kind holds no other type. */
static bool open_type_wrapper(const hn_type *t, hn_strbuf *out) {
    switch (t->kind) {
    case HN_TYPE_SEQUENCE:
        hn_strbuf_puts(out, "seq(");
        return true;
    case HN_TYPE_OPTIONAL:
        hn_strbuf_puts(out, "optional(");
        return true;
    case HN_TYPE_MAP:
        hn_strbuf_printf(out, "map(%s, ", hn_dtype_name(t->elem));
        return true;
    default:
        return false;
    }
}

static void put_type_shape(const hn_syms *s, const hn_shape *shape, hn_strbuf *out) {
    if (shape->rank == 0)
        return;
    hn_strbuf_puts(out, "[");
    for (int32_t i = 0; i < shape->rank; i++) {
        if (i > 0)
            hn_strbuf_puts(out, ",");
        hn_dim_text(s, shape->dims[i], out);
    }
    hn_strbuf_puts(out, "]");
}

static void put_type_leaf(const hn_syms *s, const hn_type *t, hn_strbuf *out) {
    if (t && t->kind == HN_TYPE_OPAQUE) {
        hn_strbuf_printf(out, "opaque(%s,%s)", hn_s(t->opaque_domain), hn_s(t->opaque_name));
    } else if (t && (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE)) {
        bool sparse = t->kind == HN_TYPE_SPARSE;
        hn_strbuf_puts(out, sparse ? "sparse_tensor(" : "");
        hn_strbuf_puts(out, hn_dtype_name(t->elem));
        put_type_shape(s, &t->shape, out);
        hn_strbuf_puts(out, sparse ? ")" : "");
    } else {
        hn_strbuf_puts(out, "?");
    }
}

/* Not recursive, because the file determines how deep types nest. */
void hn_type_text(const hn_syms *s, const hn_type *t, hn_strbuf *out) {
    uint64_t n_open = 0;
    for (; t && open_type_wrapper(t, out); t = t->inner)
        n_open++;
    put_type_leaf(s, t, out);
    for (; n_open > 0; n_open--)
        hn_strbuf_puts(out, ")");
}

static bool shapes_equal(const hn_shape *a, const hn_shape *b) {
    if (a->rank != b->rank)
        return false;
    return a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(*a->dims)) == 0;
}

static bool type_layers_equal(const hn_type *a, const hn_type *b) {
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case HN_TYPE_TENSOR:
    case HN_TYPE_SPARSE:
        return a->elem == b->elem && shapes_equal(&a->shape, &b->shape);
    case HN_TYPE_MAP:
        return a->elem == b->elem;
    case HN_TYPE_OPAQUE:
        return a->opaque_domain == b->opaque_domain && a->opaque_name == b->opaque_name;
    default:
        return true;
    }
}

bool hn_type_equal(const hn_type *a, const hn_type *b) {
    for (; a && b && a != b; a = a->inner, b = b->inner) {
        if (!type_layers_equal(a, b))
            return false;
    }
    return a == b;
}

hn_dim hn_shape_elems(hn_syms *s, const hn_shape *shape) {
    if (shape->rank < 0)
        return HN_DIM_UNKNOWN;
    hn_dim product = 1;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0)
            return 0;
        product = hn_dim_mul(s, product, shape->dims[i]);
    }
    return product;
}
