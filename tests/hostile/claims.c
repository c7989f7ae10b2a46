/* What a file says of its values, and what contradicts the nodes: sizes, ranks, names of
 * dimensions, now and then element types. */
#include "hostile/wild.h"

/* One dimension: as it is, another size, a name that means something else, or nothing. */
static hn_dim claimed_dim(grower *w, hn_dim d) {
    static const char *const names[] = {"N", "M", "batch", "d0", "d2", "d3"};
    switch (grow_below(w, 6)) {
    case 0:
        return grow_between(w, 0, 5);
    case 1:
        return hn_dim_symbol(w->model->syms, hn_intern_z(w->model->names, GROW_ONE_OF(w, names)));
    case 2:
        return HN_DIM_UNKNOWN;
    case 3:
        return grow_chance(w, 10) ? wild_integer(w) & INT64_MAX : d;
    default:
        return d;
    }
}

/* Another shape than the true one, which may be unknown. */
static const hn_type *claimed_type(grower *w, const hn_type *true_type) {
    hn_dim dims[2 * WILD_MAX_RANK];
    int32_t rank = true_type ? true_type->shape.rank : -1;
    hn_dtype elem = true_type ? true_type->elem : HN_F32;
    if (rank < 0 || rank > WILD_MAX_RANK || grow_chance(w, 10))
        grow_some_shape(w, &rank, dims);
    else
        for (int32_t i = 0; i < rank; i++)
            dims[i] = claimed_dim(w, true_type->shape.dims[i]);
    if (rank > 0 && grow_chance(w, 10))
        rank--;
    else if (rank < WILD_MAX_RANK && grow_chance(w, 10))
        dims[rank++] = 1;
    if (rank > 1 && grow_chance(w, 15)) {
        hn_dim last = dims[rank - 1];
        dims[rank - 1] = dims[0];
        dims[0] = last;
    }
    return hn_type_tensor(w->model->arena, grow_chance(w, 3) ? wild_elem(w) : elem, rank, dims);
}

static void claim_of(grower *w, hn_id id, bool is_listed) {
    hn_value *v = hn_value_at(w->g, id);
    if (v->type && v->type->kind != HN_TYPE_TENSOR)
        return;
    const hn_type *claim = claimed_type(w, v->type);
    if (!claim)
        grow_fail("no memory");
    v->type = claim;
    v->is_declared = true;
    if (is_listed && !HN_VEC_PUSH(w->model->arena, &hn_block_at(w->g, v->block)->value_infos, id))
        grow_fail("no memory");
}

/* Sizes of inputs become names that other sizes have, too. */
static void name_inputs(grower *w) {
    const hn_block *b = hn_block_at(w->g, 0);
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        hn_value *v = hn_value_at(w->g, b->inputs.at[i]);
        hn_dim dims[2 * WILD_MAX_RANK];
        if (v->type->kind != HN_TYPE_TENSOR || v->type->shape.rank < 1 ||
            v->type->shape.rank > WILD_MAX_RANK || !grow_chance(w, 50))
            continue;
        for (int32_t k = 0; k < v->type->shape.rank; k++)
            dims[k] = grow_chance(w, 30)
                          ? hn_dim_symbol(w->model->syms, hn_intern_z(w->model->names, "N"))
                          : v->type->shape.dims[k];
        v->type = hn_type_tensor(w->model->arena, v->type->elem, v->type->shape.rank, dims);
    }
}

void wild_claims(grower *w) {
    uint32_t percent = grow_chance(w, 50) ? 15 : 60;
    if (grow_chance(w, 30))
        name_inputs(w);
    for (hn_id id = 0; id < w->g->nodes.n; id++) {
        const hn_node *n = hn_node_at(w->g, id);
        if (n->block == HN_NONE)
            continue;
        for (uint32_t k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] != HN_NONE && grow_chance(w, percent))
                claim_of(w, n->outputs[k],
                         !hn_value_is_output(hn_value_at(w->g, n->outputs[k]), HN_NONE));
    }
}
