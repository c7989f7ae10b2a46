/* Values of random graphs: which there are, and new ones. */
#include "random/grow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void grow_fail(const char *what) {
    fprintf(stderr, "random_graphs: %s\n", what);
    exit(2);
}

/* ---- what there is --------------------------------------------------------------------------- */

const hn_array *grow_array(const grower *w, hn_id value) {
    const hn_object *o = value < w->data.n ? w->data.at[value] : NULL;
    return o && o->kind == HN_OBJECT_TENSOR ? &o->array : NULL;
}

hn_dtype grow_elem(const grower *w, hn_id value) {
    const hn_array *a = grow_array(w, value);
    return a ? a->dtype : HN_UNDEFINED;
}

int32_t grow_rank(const grower *w, hn_id value) {
    const hn_array *a = grow_array(w, value);
    return a ? a->rank : -1;
}

int64_t grow_dim(const grower *w, hn_id value, int32_t axis) {
    const hn_array *a = grow_array(w, value);
    axis += a && axis < 0 ? a->rank : 0;
    return a && axis >= 0 && axis < a->rank ? a->dims[axis] : -1;
}

void grow_set_data(grower *w, hn_id value, hn_object *data) {
    while (w->data.n <= value)
        if (!HN_VEC_PUSH(w->arena, &w->data, NULL))
            grow_fail("no memory");
    if (w->data.at[value])
        hn_heap_unref(w->host.heap, w->data.at[value]);
    w->data.at[value] = data;
}

void grow_let_read(grower *w, hn_id value) {
    if (!HN_VEC_PUSH(w->arena, &w->pool, value))
        grow_fail("no memory");
}

void grow_show(grower *w, hn_id value) {
    if (!HN_VEC_PUSH(w->arena, &w->shown, value))
        grow_fail("no memory");
}

static bool is_real(hn_dtype t) {
    return t == HN_F32 || t == HN_F64 || t == HN_F16;
}

/* Values made last are picked more often, so that chains grow. */
static hn_id pick(grower *w, hn_dtype elem, bool any_real, int32_t min_rank, int32_t max_rank) {
    hn_id found = HN_NONE;
    uint32_t n_found = 0;
    bool wants_recent = grow_chance(w, 50);
    for (uint32_t i = w->pool.n; i-- > 0;) {
        hn_id value = w->pool.at[i];
        int32_t rank = grow_rank(w, value);
        hn_dtype t = grow_elem(w, value);
        bool fits = any_real ? is_real(t) : elem == HN_UNDEFINED || t == elem;
        if (!fits || rank < min_rank || rank > max_rank)
            continue;
        if (grow_below(w, ++n_found) == 0)
            found = value;
        if (wants_recent && n_found == 3)
            break;
    }
    return found;
}

hn_id grow_pick(grower *w, hn_dtype elem, int32_t min_rank, int32_t max_rank) {
    return pick(w, elem, false, min_rank, max_rank);
}

hn_id grow_pick_real(grower *w, int32_t min_rank, int32_t max_rank) {
    return pick(w, HN_UNDEFINED, true, min_rank, max_rank);
}

hn_dtype grow_some_real(grower *w) {
    static const hn_dtype types[] = {HN_F32, HN_F32, HN_F32, HN_F32, HN_F32, HN_F64, HN_F16};
    return GROW_ONE_OF(w, types);
}

hn_dtype grow_some_type(grower *w) {
    static const hn_dtype types[] = {HN_F32, HN_F32, HN_F64, HN_F16,  HN_I32,
                                     HN_I64, HN_I64, HN_U8,  HN_BOOL, HN_I8};
    return GROW_ONE_OF(w, types);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static int64_t some_size(grower *w) {
    static const int64_t sizes[] = {1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8};
    return grow_chance(w, 1) ? 0 : GROW_ONE_OF(w, sizes);
}

void grow_some_shape(grower *w, int32_t *rank, int64_t dims[GROWN_MAX_RANK]) {
    static const int32_t ranks[] = {0, 1, 2, 2, 3, 3, 3, 4, 4, 5};
    int64_t n = 1;
    *rank = GROW_ONE_OF(w, ranks);
    for (int32_t i = 0; i < *rank; i++) {
        dims[i] = some_size(w);
        if (n * dims[i] > GROWN_MAX_ELEMS / 2)
            dims[i] = 1;
        n *= dims[i];
    }
}

void grow_beside(grower *w, hn_id value, int32_t *rank, int64_t dims[GROWN_MAX_RANK]) {
    const hn_array *a = grow_array(w, value);
    int32_t own = a ? a->rank : 0;
    *rank = grow_chance(w, 40) ? 0 : grow_chance(w, 70) ? own : (int32_t)grow_between(w, 0, own);
    bool is_whole = grow_chance(w, 30), is_last = !is_whole && grow_chance(w, 40);
    for (int32_t i = 0; i < *rank; i++) {
        int64_t d = a->dims[own - *rank + i];
        bool keeps = is_whole || (is_last ? i + 1 == *rank : grow_chance(w, 50));
        dims[i] = keeps ? d : 1;
    }
    if (grow_chance(w, 6) && *rank < GROWN_MAX_RANK) { /* makes what it meets larger */
        memmove(dims + 1, dims, (size_t)*rank * sizeof *dims);
        dims[0] = grow_between(w, 1, 2);
        ++*rank;
    }
}

/* ---- new ones -------------------------------------------------------------------------------- */

/* Numbers that every type holds exactly, so that folding can be compared bit by bit. */
static double some_number(grower *w, hn_dtype t) {
    static const double few[] = {0, 1, -1, 2, 0.5, -0.5, 3, 0.25, -2, 4};
    if (t == HN_BOOL)
        return grow_below(w, 2);
    if (t == HN_U8)
        return grow_below(w, grow_chance(w, 90) ? 6 : 256);
    if (hn_dtype_is_int(t))
        return (double)grow_between(w, -4, 6);
    return grow_chance(w, 30) ? GROW_ONE_OF(w, few) : (double)hn_rng_normal(&w->rng);
}

static hn_object *new_tensor(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims) {
    hn_object *o = hn_heap_tensor(w->host.heap, elem, rank, dims);
    if (!o)
        grow_fail("no memory");
    return o;
}

/* One element becomes infinite or NaN. Weights do not: by them padding would be more than zeros. */
static void make_wild(grower *w, hn_array *a) {
    double v = grow_chance(w, 50) ? INFINITY : (double)NAN;
    if (hn_dtype_is_float(a->dtype) && a->n_elems > 0)
        hn_store_f64(a, grow_below(w, (uint32_t)a->n_elems), 1, &v);
}

static hn_object *some_data(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims,
                            uint32_t percent_same) {
    hn_object *o = new_tensor(w, elem, rank, dims);
    bool is_same = grow_chance(w, percent_same);
    double v = is_same && grow_chance(w, 70) ? grow_below(w, 2) : some_number(w, elem);
    for (uint64_t i = 0; i < o->array.n_elems; i++) {
        if (!is_same)
            v = some_number(w, elem);
        hn_store_f64(&o->array, i, 1, &v);
    }
    return o;
}

static hn_id new_value(grower *w, hn_id block, const char *stem) {
    hn_id value = hn_graph_add_value(w->g, block, hn_graph_fresh_name(w->g, stem));
    if (value == HN_NONE)
        grow_fail("no memory");
    return value;
}

hn_id grow_input(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims) {
    hn_id value = new_value(w, 0, "in");
    hn_value *v = hn_value_at(w->g, value);
    v->type = hn_type_tensor(w->model->arena, elem, rank, dims);
    v->is_declared = true;
    if (!v->type || !hn_graph_add_input(w->g, 0, value))
        grow_fail("no memory");
    grow_set_data(w, value, some_data(w, elem, rank, dims, 2));
    if (grow_chance(w, 8))
        make_wild(w, &w->data.at[value]->array);
    grow_let_read(w, value);
    return value;
}

static const hn_tensor *tensor_of(grower *w, const hn_array *a) {
    const hn_tensor *t = hn_tensor_new(w->model->arena, a->dtype, a->rank, a->dims, a->data, false);
    if (!t)
        grow_fail("no memory");
    return t;
}

static hn_id constant_node(grower *w, hn_object *data) {
    hn_attr value = {.kind = HN_ATTR_TENSOR,
                     .n = 1,
                     .name = hn_intern_z(w->model->names, "value"),
                     .v.tensor = tensor_of(w, &data->array)};
    hn_heap_unref(w->host.heap, data);
    return grow_make(w, "Constant", 0, NULL, 1, &value);
}

static hn_id constant_of(grower *w, hn_object *data, bool may_be_read) {
    if (grow_chance(w, 15))
        return constant_node(w, data);
    hn_id value = new_value(w, grow_chance(w, 80) ? 0 : w->block, "c");
    if (!hn_graph_add_init(w->g, value, tensor_of(w, &data->array)))
        grow_fail("no memory");
    grow_set_data(w, value, data);
    if (may_be_read)
        grow_let_read(w, value);
    return value;
}

hn_id grow_const(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims) {
    return constant_of(w, some_data(w, elem, rank, dims, 40), grow_chance(w, 50));
}

hn_id grow_numbers(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims, const double *v) {
    hn_object *o = new_tensor(w, elem, rank, dims);
    hn_store_f64(&o->array, 0, o->array.n_elems, v);
    return constant_of(w, o, false);
}

hn_id grow_number(grower *w, hn_dtype elem, double v) {
    return grow_numbers(w, elem, grow_chance(w, 80) ? 0 : 1, (const int64_t[]){1}, &v);
}

hn_id grow_ints(grower *w, uint32_t n, const int64_t *v) {
    int64_t dims[] = {n};
    hn_object *o = new_tensor(w, HN_I64, 1, dims);
    hn_store_i64(&o->array, 0, n, v);
    return constant_of(w, o, false);
}
