/* Functions that many inference rules share. */
#include "ops/infer/infer_engine.h"

#include <stdio.h>

/* ---- failing and messages -------------------------------------------------------------------- */

hone_status hn_infer_fail(hn_infer *c, hone_status code, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hn_failv(&c->fail, code, fmt, args);
    va_end(args);
    return code;
}

const char *hn_infer_keep_text(const hn_infer *c, hn_strbuf *b) {
    c->scope->job->lost_text |= b->failed;
    const char *kept =
        b->failed ? NULL : hn_arena_copy(hn_infer_arena(c), b->at ? b->at : "", b->n + 1);
    hn_strbuf_free(b);
    return kept ? kept : "?";
}

const char *hn_in_text(const hn_infer *c, uint32_t i) {
    const hn_type *t = hn_in_type(c, i);
    if (!t)
        return "unknown";
    hn_strbuf b;
    hn_strbuf_init(&b, hn_arena_allocator(hn_infer_arena(c)));
    hn_type_text(hn_infer_syms(c), t, &b);
    return hn_infer_keep_text(c, &b);
}

const char *hn_shape_str(const hn_infer *c, int32_t rank, const hn_dim *dims) {
    hn_strbuf b;
    hn_strbuf_init(&b, hn_arena_allocator(hn_infer_arena(c)));
    hn_strbuf_puts(&b, "[");
    for (int32_t i = 0; i < rank; i++) {
        if (i)
            hn_strbuf_puts(&b, ",");
        hn_dim_text(hn_infer_syms(c), dims[i], &b);
    }
    hn_strbuf_puts(&b, "]");
    return hn_infer_keep_text(c, &b);
}

/* ---- dimensions ------------------------------------------------------------------------------ */

hn_dim *hn_infer_dims(hn_infer *c, int32_t n) {
    hn_dim *d = hn_arena_alloc(hn_infer_arena(c), (size_t)(n > 0 ? n : 1) * sizeof *d);
    for (int32_t i = 0; d && i < n; i++)
        d[i] = HN_DIM_UNKNOWN;
    return d;
}

hone_status hn_infer_axis(hn_infer *c, const char *what, int64_t axis, int32_t rank, int32_t *out) {
    if (rank == 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s is %lld, but a scalar has no axes", what,
                             (long long)axis);
    if (axis < -(int64_t)rank || axis >= rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s is %lld, but must lie in [%d, %d] for rank %d",
                             what, (long long)axis, -rank, rank - 1, rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return HONE_OK;
}

hone_status hn_merge_dim(hn_infer *c, const char *what, hn_dim a, hn_dim b, hn_dim *out) {
    if (hn_dim_is_known(a) && hn_dim_is_known(b) && a != b)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s is both %lld and %lld", what, (long long)a,
                             (long long)b);
    if (hn_dim_is_known(a))
        *out = a;
    else if (hn_dim_is_known(b))
        *out = b;
    else
        *out = a != HN_DIM_UNKNOWN ? a : b;
    return HONE_OK;
}

hone_status hn_expect_rank(hn_infer *c, uint32_t input, int32_t lo, int32_t hi) {
    int32_t rank = hn_in_rank(c, input);
    if (rank < 0 || (rank >= lo && rank <= hi))
        return HONE_OK;
    if (lo == hi)
        return hn_infer_fail(c, HONE_E_SHAPE, "input %u is %s, but must have rank %d", input,
                             hn_in_text(c, input), lo);
    if (hi >= HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_SHAPE, "input %u is %s, but must have rank %d or more",
                             input, hn_in_text(c, input), lo);
    return hn_infer_fail(c, HONE_E_SHAPE, "input %u is %s, but its rank must be between %d and %d",
                         input, hn_in_text(c, input), lo, hi);
}

/* ---- broadcast ------------------------------------------------------------------------------- */

static bool is_never_below(hn_syms *s, hn_dim a, hn_dim b) {
    return hn_dim_at_least(s, hn_dim_sub(s, a, b), 0);
}

/* The size of one result dimension. A number above 1 wins, and equal symbols stay. Of two different
 * expressions the one that is provably not smaller wins ("seq" over "min(seq, 512)"), because sizes
 * that broadcast are equal or one of them is 1. */
static bool broadcast_dim(hn_syms *s, hn_dim a, hn_dim b, hn_dim *out) {
    if (a == b || b == 1)
        *out = a;
    else if (a == 1)
        *out = b;
    else if (hn_dim_is_known(a) && hn_dim_is_known(b))
        return false;
    else if (hn_dim_is_known(a))
        *out = a;
    else if (hn_dim_is_known(b))
        *out = b;
    else if (is_never_below(s, a, b))
        *out = a;
    else
        *out = is_never_below(s, b, a) ? b : HN_DIM_UNKNOWN;
    return true;
}

hone_status hn_broadcast(hn_infer *c, uint32_t n, const hn_shape *const *shapes, int32_t *rank,
                         const hn_dim **dims) {
    *rank = 0;
    *dims = NULL;
    for (uint32_t k = 0; k < n; k++) {
        if (!shapes[k]) {
            *rank = -1;
            return HONE_OK;
        }
        *rank = HN_MAX(*rank, shapes[k]->rank);
    }
    hn_dim *out = hn_infer_dims(c, *rank);
    HN_TRY_PTR(out);
    for (int32_t i = 0; i < *rank; i++)
        out[i] = 1;
    for (uint32_t k = 0; k < n; k++) {
        int32_t shift = *rank - shapes[k]->rank;
        for (int32_t i = 0; i < shapes[k]->rank; i++)
            if (!broadcast_dim(hn_infer_syms(c), out[shift + i], shapes[k]->dims[i],
                               &out[shift + i]))
                return hn_infer_fail(c, HONE_E_SHAPE,
                                     "shapes do not broadcast: %s against %s differ at dimension "
                                     "%d (%lld and %lld), "
                                     "and neither is 1",
                                     hn_shape_str(c, *rank, out),
                                     hn_shape_str(c, shapes[k]->rank, shapes[k]->dims), i,
                                     (long long)out[shift + i], (long long)shapes[k]->dims[i]);
    }
    *dims = out;
    return HONE_OK;
}

/* ---- joining --------------------------------------------------------------------------------- */

const hn_type *hn_type_join(hn_infer *c, const hn_type *a, const hn_type *b) {
    if (!a || !b || a->kind != b->kind || a->elem != b->elem)
        return NULL;
    if (a == b)
        return a;
    if (a->kind != HN_TYPE_TENSOR && a->kind != HN_TYPE_SPARSE) {
        const hn_type *inner = hn_type_join(c, a->inner, b->inner);
        return inner ? hn_type_wrap(hn_infer_arena(c), a->kind, a->elem, inner) : NULL;
    }
    if (a->shape.rank < 0 || a->shape.rank != b->shape.rank)
        return hn_type_tensor(hn_infer_arena(c), a->elem, -1, NULL);
    hn_dim *dims = hn_infer_dims(c, a->shape.rank);
    if (!dims)
        return NULL;
    for (int32_t i = 0; i < a->shape.rank; i++)
        dims[i] = a->shape.dims[i] == b->shape.dims[i] ? a->shape.dims[i] : HN_DIM_UNKNOWN;
    return hn_type_tensor(hn_infer_arena(c), a->elem, a->shape.rank, dims);
}

hone_status hn_meet_dims(hn_infer *c, uint32_t input, int32_t rank, hn_dim *const *dims) {
    HN_TRY(hn_expect_rank(c, input, rank, rank));
    for (int32_t i = 0; i < rank; i++) {
        hn_dim have = hn_in_dim(c, input, i);
        if (hn_dim_is_known(have) && hn_dim_is_known(*dims[i]) && have != *dims[i])
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "input %u is %s, but its dimension %d must be %lld", input,
                                 hn_in_text(c, input), i, (long long)*dims[i]);
        HN_TRY(hn_merge_dim(c, "a dimension", *dims[i], have, dims[i]));
    }
    return HONE_OK;
}
