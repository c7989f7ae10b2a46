/* Types that the file declares and types that the nodes give: the more exact one of both. */
#include "ops/infer/infer_engine.h"

#include <stdio.h>

typedef struct settle {
    const infer_scope *scope;
    bool keep_declared_symbols;
    bool conflict;
    bool failed; /* out of memory */
} settle;

static const hn_type *settle_types(settle *st, const hn_type *declared, const hn_type *inferred);

static hn_dim settle_dim(settle *st, hn_dim declared, hn_dim inferred) {
    if (hn_dim_is_known(declared) && hn_dim_is_known(inferred)) {
        st->conflict |= declared != inferred;
        return declared;
    }
    if (hn_dim_is_known(declared) || inferred == HN_DIM_UNKNOWN)
        return declared;
    if (hn_dim_is_known(inferred) || declared == HN_DIM_UNKNOWN)
        return inferred;
    return st->keep_declared_symbols ? declared : inferred;
}

static const hn_type *settle_tensors(settle *st, const hn_type *declared, const hn_type *inferred) {
    hn_type *t = HN_NEW(st->scope->job->work, hn_type);
    if (!t) {
        st->failed = true;
        return declared;
    }
    *t = *declared;
    st->conflict |= declared->elem && inferred->elem && declared->elem != inferred->elem;
    t->elem = declared->elem ? declared->elem : inferred->elem;
    if (declared->shape.rank < 0) {
        t->shape = inferred->shape;
        t->dim_denotations = NULL;
        return t;
    }
    if (inferred->shape.rank < 0)
        return t;
    if (declared->shape.rank != inferred->shape.rank) {
        st->conflict = true;
        return declared;
    }
    hn_dim *dims = HN_NEW_N(st->scope->job->work, hn_dim, (size_t)declared->shape.rank + 1);
    if (!dims) {
        st->failed = true;
        return declared;
    }
    for (int32_t i = 0; i < declared->shape.rank; i++)
        dims[i] = settle_dim(st, declared->shape.dims[i], inferred->shape.dims[i]);
    t->shape.dims = dims;
    return t;
}

static const hn_type *settle_types(settle *st, const hn_type *declared, const hn_type *inferred) {
    if (!declared || declared->kind == HN_TYPE_NONE || declared == inferred)
        return inferred;
    if (!inferred || inferred->kind == HN_TYPE_NONE)
        return declared;
    if (declared->kind != inferred->kind) {
        st->conflict = true;
        return declared;
    }
    if (declared->kind == HN_TYPE_TENSOR || declared->kind == HN_TYPE_SPARSE)
        return settle_tensors(st, declared, inferred);
    st->conflict |= declared->kind == HN_TYPE_MAP && declared->elem != inferred->elem;
    const hn_type *inner = settle_types(st, declared->inner, inferred->inner);
    if (inner == declared->inner)
        return declared;
    hn_type *t = HN_NEW(st->scope->job->work, hn_type);
    st->failed |= !t;
    if (!t)
        return declared;
    *t = *declared;
    t->inner = inner;
    return t;
}

static void report_contradiction(const infer_scope *s, hn_id node, hn_id value,
                                 const hn_type *declared, const hn_type *inferred) {
    hn_strbuf a, b;
    hn_strbuf_init(&a, hn_arena_allocator(s->job->work));
    hn_strbuf_init(&b, hn_arena_allocator(s->job->work));
    hn_type_text(s->job->model->syms, declared, &a);
    hn_type_text(s->job->model->syms, inferred, &b);
    bool same_elem = declared->kind == inferred->kind && declared->elem == inferred->elem;
    char who[200] = "its context";
    if (node == HN_NONE && hn_value_at(s->g, value)->init)
        snprintf(who, sizeof who, "its initializer");
    if (node != HN_NONE)
        hn_node_text(s->g, node, who, sizeof who);
    hn_problem_add(s->job->problems, HN_SEVERITY_ERROR, same_elem ? HONE_E_SHAPE : HONE_E_TYPE,
                   s->g, node, value, "'%s' is declared as %s, but %s gives %s",
                   hn_s(hn_value_at(s->g, value)->name), a.at ? a.at : "?", who, b.at ? b.at : "?");
    s->job->problems->failed |= a.failed || b.failed;
    hn_strbuf_free(&a);
    hn_strbuf_free(&b);
}

const hn_type *hn_infer_reconcile(const infer_scope *s, hn_id node, hn_id value,
                                  const hn_type *declared, const hn_type *inferred,
                                  bool keep_declared_symbols) {
    settle st = {.scope = s, .keep_declared_symbols = keep_declared_symbols};
    const hn_type *t = settle_types(&st, declared, inferred);
    if (st.conflict) {
        if (s->job->problems)
            report_contradiction(s, node, value, declared, inferred);
        return declared;
    }
    return t;
}
