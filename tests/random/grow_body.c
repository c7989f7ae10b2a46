/* Nodes with subgraphs. What a body reads of outside is captured as it comes. */
#include "random/grow.h"

#define MAX_BODY_STEPS 3

/* A body under way: what was before it began. */
typedef struct body {
    hn_id block, outer;
    uint32_t n_pool; /* values that could be read before */
    uint32_t n_shown;
} body;

static body open_body(grower *w, hn_id node, uint32_t attr) {
    body b = {.outer = w->block, .n_pool = w->pool.n, .n_shown = w->shown.n};
    b.block = hn_graph_add_block(w->g, w->block, node);
    if (b.block == HN_NONE)
        grow_fail("no memory");
    hn_node_at(w->g, node)->attrs[attr].v.block = b.block;
    hn_block_at(w->g, b.block)->name = hn_intern_z(w->model->names, "body");
    w->block = b.block;
    return b;
}

static void close_body(grower *w, const body *b) {
    w->block = b->outer;
    w->pool.n = b->n_pool;
    w->shown.n = b->n_shown;
}

static hn_id body_input(grower *w, const body *b, hn_dtype elem, hn_object *data) {
    hn_id value = hn_graph_add_value(w->g, b->block, hn_graph_fresh_name(w->g, "p"));
    hn_value *v = value == HN_NONE ? NULL : hn_value_at(w->g, value);
    if (!v || !hn_graph_add_input(w->g, b->block, value))
        grow_fail("no memory");
    bool is_scalar = data->array.rank == 0;
    v->type = hn_type_tensor(w->model->arena, elem, is_scalar ? 0 : -1, NULL);
    v->is_declared = true;
    grow_set_data(w, value, data);
    grow_let_read(w, value);
    return value;
}

static void body_output(grower *w, const body *b, hn_id value) {
    hn_id own = hn_value_at(w->g, value)->block == b->block && !hn_value_at(w->g, value)->is_input
                    ? value
                    : grow_unary(w, "Identity", value);
    const hn_block *block = hn_block_at(w->g, b->block);
    for (uint32_t i = 0; i < block->outputs.n; i++)
        if (block->outputs.at[i] == own)
            own = grow_unary(w, "Identity", own);
    hn_value *v = own == HN_NONE ? NULL : hn_value_at(w->g, own);
    if (!v || !hn_graph_add_output(w->g, b->block, own))
        grow_fail("no memory");
    v->type = hn_type_tensor(w->model->arena, grow_elem(w, own), -1, NULL);
    v->is_declared = true;
}

static void grow_steps(grower *w) {
    for (uint32_t n = 1 + grow_below(w, MAX_BODY_STEPS); n > 0; n--)
        grow_step(w);
}

static hn_id scalar_of(grower *w, hn_dtype elem, double v) {
    if (grow_chance(w, 50))
        return grow_numbers(w, elem, 0, NULL, &v);
    hn_id value = grow_input(w, elem, 0, NULL);
    hn_store_f64(&w->data.at[value]->array, 0, 1, &v);
    return value;
}

static hn_object *scalar_data(grower *w, hn_dtype elem, double v) {
    hn_object *o = hn_heap_tensor(w->host.heap, elem, 0, NULL);
    if (!o)
        grow_fail("no memory");
    hn_store_f64(&o->array, 0, 1, &v);
    return o;
}

/* A value of this type that the body may hand out. */
static hn_id value_of_type(grower *w, hn_dtype elem) {
    hn_id value = grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK);
    if (value == HN_NONE || grow_elem(w, value) == elem)
        return value;
    hn_attr to = grow_attr_i(w, "to", (int64_t)elem);
    return grow_make(w, "Cast", HN_VALUES(value), 1, &to);
}

/* ---- If -------------------------------------------------------------------------------------- */

static bool grow_branch(grower *w, hn_id node, uint32_t attr, uint32_t n_out, hn_dtype *types) {
    body b = open_body(w, node, attr);
    bool ok = true;
    grow_steps(w);
    for (uint32_t i = 0; i < n_out && ok; i++) {
        hn_id value =
            attr == 0 ? grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK) : value_of_type(w, types[i]);
        ok = value != HN_NONE;
        if (ok) {
            types[i] = grow_elem(w, value);
            body_output(w, &b, value);
        }
    }
    close_body(w, &b);
    return ok;
}

static void settle_or_remove(grower *w, hn_id node, bool ok) {
    if (ok)
        grow_settle(w, node);
    else
        hn_graph_remove_node(w->g, node);
}

static void add_if(grower *w) {
    hn_dtype types[2];
    uint32_t n_out = 1 + grow_below(w, 2);
    hn_id test = scalar_of(w, HN_BOOL, grow_below(w, 2));
    hn_attr attrs[] = {grow_attr_block(w, "then_branch", HN_NONE),
                       grow_attr_block(w, "else_branch", HN_NONE)};
    hn_id node = grow_add(w, "If", HN_VALUES(test), n_out, 2, attrs);
    bool ok = grow_branch(w, node, 0, n_out, types) && grow_branch(w, node, 1, n_out, types);
    settle_or_remove(w, node, ok);
}

/* ---- Loop ------------------------------------------------------------------------------------ */

static void add_loop(grower *w) {
    hn_id start = grow_pick(w, HN_UNDEFINED, 0, 3);
    if (start == HN_NONE)
        return;
    bool collects = grow_chance(w, 50);
    hn_id trips = scalar_of(w, HN_I64, grow_below(w, 4));
    hn_id test = grow_chance(w, 50) ? HN_NONE : scalar_of(w, HN_BOOL, 1);
    hn_attr attr = grow_attr_block(w, "body", HN_NONE);
    hn_id node = grow_add(w, "Loop", HN_VALUES(trips, test, start), collects ? 2 : 1, 1, &attr);
    body b = open_body(w, node, 0);
    hn_dtype elem = grow_elem(w, start);
    hn_id turn = body_input(w, &b, HN_I64, scalar_data(w, HN_I64, 0));
    hn_id goes_on = body_input(w, &b, HN_BOOL, scalar_data(w, HN_BOOL, 1));
    hn_id state = body_input(w, &b, elem, hn_heap_copy(w->host.heap, w->data.at[start]));
    grow_steps(w);
    hn_id next = grow_chance(w, 70) ? grow_binary(w, "Add", state, state) : state;
    if (grow_chance(w, 20))
        goes_on = grow_binary(w, "Less", turn, grow_number(w, HN_I64, 1));
    bool ok = goes_on != HN_NONE && grow_rank(w, goes_on) == 0;
    if (ok) {
        body_output(w, &b, goes_on);
        body_output(w, &b, next == HN_NONE ? state : next);
        if (collects)
            body_output(w, &b, grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK - 1));
    }
    close_body(w, &b);
    settle_or_remove(w, node, ok);
}

/* ---- Scan ------------------------------------------------------------------------------------ */

static hn_object *first_row(grower *w, hn_id value) {
    const hn_array *a = grow_array(w, value);
    hn_object *o = hn_heap_tensor(w->host.heap, a->dtype, a->rank - 1, a->dims + 1);
    if (!o)
        grow_fail("no memory");
    memcpy(o->array.data, a->data, (size_t)o->array.n_elems * hn_elem_bytes(a->dtype));
    return o;
}

static void add_scan(grower *w) {
    hn_id rows = grow_pick(w, HN_UNDEFINED, 1, 3), start = grow_pick(w, HN_UNDEFINED, 0, 2);
    if (rows == HN_NONE || start == HN_NONE || grow_dim(w, rows, 0) < 1)
        return;
    hn_attr attrs[] = {grow_attr_block(w, "body", HN_NONE), grow_attr_i(w, "num_scan_inputs", 1)};
    hn_id node = grow_add(w, "Scan", HN_VALUES(start, rows), 2, 2, attrs);
    body b = open_body(w, node, 0);
    hn_id state =
        body_input(w, &b, grow_elem(w, start), hn_heap_copy(w->host.heap, w->data.at[start]));
    hn_id row = body_input(w, &b, grow_elem(w, rows), first_row(w, rows));
    grow_steps(w);
    hn_id next = grow_binary(w, "Add", state, state);
    body_output(w, &b, next == HN_NONE ? state : next);
    hn_id out = grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK - 1);
    body_output(w, &b, out == HN_NONE ? row : out);
    close_body(w, &b);
    grow_settle(w, node);
}

void grow_body(grower *w) {
    static void (*const ways[])(grower *) = {add_if, add_if, add_loop, add_scan};
    if (hn_block_at(w->g, w->block)->depth < 2)
        GROW_ONE_OF(w, ways)(w);
}
