/* Values of wild graphs: inputs and initializers of any type and nearly any shape. */
#include "hostile/wild.h"

#include <math.h>

int64_t wild_integer(grower *w) {
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, UINT32_MAX,
                                       -1,        0,         1 << 20,   1 << 30,   INT64_MIN + 1,
                                       65536,     1000};
    if (grow_chance(w, 25))
        return GROW_ONE_OF(w, extremes);
    return grow_between(w, grow_chance(w, 60) ? 0 : -4, grow_chance(w, 70) ? 4 : 17);
}

float wild_real(grower *w) {
    static const float extremes[] = {INFINITY, -INFINITY, NAN,   3e38f,
                                     -3e38f,   1e-40f,    -0.0f, 9.3e18f};
    static const float common[] = {0, 1, 0.5f, 2, -1, 0.01f, 1e-5f, 0.75f};
    return grow_chance(w, 25) ? GROW_ONE_OF(w, extremes) : GROW_ONE_OF(w, common);
}

hn_dtype wild_elem(grower *w) {
    return grow_chance(w, 60) ? grow_some_type(w)
                              : (hn_dtype)(1 + grow_below(w, HN_DTYPE_COUNT - 1));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static int64_t known_size(const hn_type *like, int32_t axis) {
    hn_dim d = like->shape.dims[axis];
    return hn_dim_is_known(d) ? HN_MIN(d, 64) : 2;
}

/* The same shape, a part of it, a list of as many numbers as it has axes (or twice), or another. */
static void near_shape(grower *w, const hn_type *like, int32_t *rank, int64_t *dims) {
    int32_t own = like && like->kind == HN_TYPE_TENSOR ? like->shape.rank : -1;
    uint32_t way = own < 0 || own > WILD_MAX_RANK ? 9 : grow_below(w, 10);
    if (way < 4) {
        *rank = own;
        for (int32_t i = 0; i < own; i++)
            dims[i] = known_size(like, i);
    } else if (way < 6 && own > 0) {
        *rank = 1;
        dims[0] = known_size(like, way == 4 ? own - 1 : HN_MIN(own - 1, 1));
    } else if (way < 8) {
        *rank = 1;
        dims[0] = way == 6 ? own : 2 * own;
    } else {
        grow_some_shape(w, rank, dims);
    }
    if (*rank > 0 && grow_chance(w, 10))
        dims[grow_below(w, (uint32_t)*rank)] = grow_between(w, 0, 3);
    int64_t n = 1;
    for (int32_t i = 0; i < *rank; i++)
        if (n *= dims[i], n > WILD_MAX_ELEMS)
            dims[i] = n = 1;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const hn_tensor *string_tensor(grower *w, int32_t rank, const int64_t *dims) {
    static const char *const texts[] = {"", "a", "b", "1", "-2.5e3", "\xc3\xa9", "\xff", "a b,c"};
    void *unused;
    hn_tensor *t = hn_tensor_blank(w->model->arena, HN_STRING, rank, dims, &unused);
    hn_bytes *strings =
        t ? hn_arena_alloc(w->model->arena, (t->n_elems + 1) * sizeof *strings) : NULL;
    if (!strings)
        grow_fail("no memory");
    for (uint64_t i = 0; i < t->n_elems; i++) {
        const char *text = GROW_ONE_OF(w, texts);
        strings[i] = (hn_bytes){(const uint8_t *)text, strlen(text)};
    }
    t->strings = strings;
    return t;
}

const hn_tensor *wild_tensor(grower *w, hn_dtype elem, const hn_type *like) {
    int64_t dims[2 * WILD_MAX_RANK];
    int32_t rank;
    void *data;
    near_shape(w, like, &rank, dims);
    if (elem == HN_STRING)
        return string_tensor(w, rank, dims);
    hn_tensor *t = hn_tensor_blank(w->model->arena, elem, rank, dims, &data);
    if (!t)
        grow_fail("no memory");
    hn_array a = {
        .dtype = elem, .rank = rank, .n_elems = t->n_elems, .dims = t->dims, .data = data};
    bool is_tame = grow_chance(w, 60), is_complex = elem == HN_C64 || elem == HN_C128;
    for (uint64_t i = 0; i < t->n_elems && !is_complex; i++) {
        int64_t integer = is_tame ? grow_between(w, -1, 3) : wild_integer(w);
        double real = is_tame ? (double)hn_rng_normal(&w->rng) : (double)wild_real(w);
        if (hn_dtype_is_float(elem))
            hn_store_f64(&a, i, 1, &real);
        else
            hn_store_i64(&a, i, 1, &integer);
    }
    return t;
}

/* ---- values ---------------------------------------------------------------------------------- */

hn_id wild_input(grower *w, hn_id block, const hn_type *type) {
    hn_id id = hn_graph_add_value(w->g, block, hn_graph_fresh_name(w->g, "in"));
    hn_value *v = id == HN_NONE ? NULL : hn_value_at(w->g, id);
    if (!v || !type || !hn_graph_add_input(w->g, block, id))
        grow_fail("no memory");
    v->type = type;
    v->is_declared = true;
    grow_let_read(w, id);
    return id;
}

/* Some sizes are free: named, by few names, or not even that. */
static const hn_type *input_type(grower *w, hn_dtype elem, const hn_type *like) {
    static const char *const names[] = {"N", "N", "M", "batch", "d - 1"};
    int64_t dims[2 * WILD_MAX_RANK];
    int32_t rank;
    near_shape(w, like, &rank, dims);
    bool is_free = grow_chance(w, 50);
    for (int32_t i = 0; i < rank && is_free; i++)
        if (grow_chance(w, 40))
            dims[i] = grow_chance(w, 20)
                          ? HN_DIM_UNKNOWN
                          : hn_dim_symbol(w->model->syms,
                                          hn_intern_z(w->model->names, GROW_ONE_OF(w, names)));
    return hn_type_tensor(w->model->arena, elem, grow_chance(w, 4) ? -1 : rank, dims);
}

hn_id wild_value(grower *w, hn_dtype elem, const hn_type *like) {
    if (grow_chance(w, 40))
        return wild_input(w, 0, input_type(w, elem, like));
    hn_id id =
        hn_graph_add_value(w->g, grow_chance(w, 80) ? 0 : w->block, hn_graph_fresh_name(w->g, "c"));
    const hn_tensor *t = wild_tensor(w, elem, like);
    if (id == HN_NONE || !hn_graph_add_init(w->g, id, t))
        grow_fail("no memory");
    hn_value_at(w->g, id)->type = hn_type_tensor(w->model->arena, elem, t->rank, t->dims);
    grow_let_read(w, id);
    return id;
}
