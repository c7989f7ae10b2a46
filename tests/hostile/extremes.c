/* Attributes of nodes that run become what nobody would write: the largest numbers, lists that are
 * too long, none at all. */
#include "hostile/wild.h"

#define MAX_EXTREMES 12

static void extreme_list(grower *w, hn_attr *a) {
    int64_t ints[MAX_EXTREMES + 1] = {0};
    uint32_t n = HN_MIN(a->n, (uint32_t)MAX_EXTREMES);
    if (n)
        memcpy(ints, a->v.ints, n * sizeof *ints);
    if (n && grow_chance(w, 70)) {
        ints[grow_below(w, n)] = wild_integer(w);
    } else {
        n = grow_below(w, MAX_EXTREMES);
        for (uint32_t i = 0; i < n; i++)
            ints[i] = wild_integer(w);
    }
    a->n = n;
    a->v.ints = hn_arena_copy(w->model->arena, ints, (n + 1) * sizeof *ints);
}

static void extreme_attr(grower *w, hn_attr *a) {
    switch (a->kind) {
    case HN_ATTR_INT:
        a->v.i = wild_integer(w);
        break;
    case HN_ATTR_FLOAT:
        a->v.f = wild_real(w);
        break;
    case HN_ATTR_INTS:
        extreme_list(w, a);
        break;
    case HN_ATTR_TENSOR:
        a->v.tensor = wild_tensor(w, a->v.tensor->dtype, NULL);
        break;
    default:
        break;
    }
}

/* Small integer initializers are axes, sizes and pads. */
static void extreme_initializer(grower *w, hn_value *v) {
    int64_t dims[2 * WILD_MAX_RANK];
    if (v->init->rank > WILD_MAX_RANK || v->init->n_elems > 32 || v->init->dtype == HN_STRING)
        return;
    for (int32_t i = 0; i < v->init->rank; i++)
        dims[i] = v->init->dims[i];
    const hn_type *like = hn_type_tensor(w->arena, v->init->dtype, v->init->rank, dims);
    v->init = wild_tensor(w, v->init->dtype, like);
}

void wild_extremes(grower *w) {
    for (hn_id id = 0; id < w->g->nodes.n; id++) {
        hn_node *n = hn_node_at(w->g, id);
        for (uint32_t i = 0; n->block != HN_NONE && i < n->n_attrs; i++)
            if (grow_chance(w, 20))
                extreme_attr(w, &n->attrs[i]);
    }
    for (hn_id id = 0; id < w->g->values.n; id++) {
        hn_value *v = hn_value_at(w->g, id);
        if (v->init && hn_dtype_is_int(v->init->dtype) && grow_chance(w, 15))
            extreme_initializer(w, v);
    }
}
