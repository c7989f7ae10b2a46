/* What computes bytes element by element from the same bytes, whatever stands between them, is a
 * table of 256 entries. The entries are computed by the operators themselves, so that results are
 * the same. */
#include "cpu/passes/qdq.h"

#include "ops/eval_engine.h"

#define MOST_TABLE_NODES 48
#define N_BYTES 256

#define ELEMENTWISE_OPS                                                                           \
  "Abs|Add|Ceil|Celu|Clip|Cos|DequantizeLinear|Div|Elu|Erf|Exp|Floor|Gelu|HardSigmoid|HardSwish|" \
  "Identity|LeakyRelu|Log|Max|Min|Mish|Mul|Neg|PRelu|Pow|QuantizeLinear|Reciprocal|Relu|Round|"   \
  "Selu|Sigmoid|Sign|Sin|Softplus|Softsign|Sqrt|Sub|Swish|Tanh|ThresholdedRelu"
#define MS_ELEMENTWISE_OPS                                                                   \
  "ms.DequantizeLinear|FastGelu|Gelu|QLinearAdd|QLinearLeakyRelu|QLinearMul|QLinearSigmoid|" \
  "QuantizeLinear|QuickGelu"

/* The nodes between the source and the root, in an order in which they can be computed. */
typedef struct table_walk {
    const hn_rule *r;
    hn_id source;
    uint32_t n;
    hn_id nodes[MOST_TABLE_NODES];
} table_walk;

static bool is_elementwise(const hn_rule *r, hn_id node) {
    return hn_is_op(r, node, ELEMENTWISE_OPS) || hn_is_op(r, node, MS_ELEMENTWISE_OPS) ||
           hn_is_own(r, node, "ByteTable");
}

/* A constant that is the same for all elements, or the table of another table. */
static bool is_same_for_all(const table_walk *w, hn_id node, uint32_t slot) {
    const hn_tensor *t = hn_const(w->r, hn_in(w->r, node, slot));
    return t && t->data && !hn_tensor_is_deferred(t) &&
           (t->n_elems == 1 || (slot == 1 && hn_is_own(w->r, node, "ByteTable")));
}

static bool walk_table_node(table_walk *w, hn_id node) {
    const hn_node *n = hn_at(w->r, node);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->nodes[i] == node)
            return true;
    if (n->block != hn_at(w->r, w->r->root)->block || n->n_outputs != 1 ||
        !is_elementwise(w->r, node) || w->n == MOST_TABLE_NODES)
        return false;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id value = n->inputs[i];
        if (value == HN_NONE || value == w->source || is_same_for_all(w, node, i))
            continue;
        hn_id maker = hn_value_at(w->r->g, value)->producer;
        if (maker == HN_NONE || w->n == MOST_TABLE_NODES || !walk_table_node(w, maker))
            return false;
    }
    if (w->n == MOST_TABLE_NODES)
        return false;
    w->nodes[w->n++] = node;
    return true;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Bytes that the root may be computed from, the nearest first. */
typedef struct table_sources {
    uint32_t n, n_seen;
    hn_id at[MOST_TABLE_NODES], seen[MOST_TABLE_NODES]; /* values; nodes whose inputs were read */
} table_sources;

static void add_source(const hn_rule *r, table_sources *s, hn_id value) {
    hn_dtype t = hn_elem_of(r, value);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->at[i] == value)
            return;
    if (hn_dtype_is_byte(t) && s->n < MOST_TABLE_NODES)
        s->at[s->n++] = value;
}

static void find_sources(const hn_rule *r, table_sources *s) {
    s->seen[s->n_seen++] = r->root;
    for (uint32_t k = 0; k < s->n_seen; k++) {
        const hn_node *n = hn_at(r, s->seen[k]);
        for (uint32_t i = 0; i < n->n_inputs; i++) {
            hn_id value = n->inputs[i];
            if (value == HN_NONE || hn_const(r, value))
                continue;
            add_source(r, s, value);
            hn_id maker = hn_value_at(r->g, value)->producer;
            bool is_seen = maker == HN_NONE || !is_elementwise(r, maker);
            for (uint32_t j = 0; j < s->n_seen && !is_seen; j++)
                is_seen = s->seen[j] == maker;
            if (!is_seen && s->n_seen < MOST_TABLE_NODES)
                s->seen[s->n_seen++] = maker;
        }
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

typedef struct table_run {
    const table_walk *walk;
    hn_eval_host host;
    hn_object *made[MOST_TABLE_NODES]; /* by place in the walk */
} table_run;

/* What a node of the walk reads; NULL: left out. */
static hone_status bind_table_arg(table_run *run, hn_id value, hn_object *source, hn_object **out) {
    const hn_rule *r = run->walk->r;
    *out = NULL;
    if (value == HN_NONE)
        return HONE_OK;
    for (uint32_t k = 0; k < run->walk->n; k++)
        if (hn_out(r, run->walk->nodes[k], 0) == value)
            *out = run->made[k];
    if (value == run->walk->source)
        *out = source;
    if (*out)
        return HONE_OK;
    *out = HN_NEW(run->host.scratch, hn_object);
    HN_TRY_PTR(*out);
    return hn_object_init_tensor(*out, run->host.scratch, hn_const(r, value), NULL);
}

static hone_status run_table_nodes(table_run *run, hn_object *source) {
    const table_walk *w = run->walk;
    hone_error unused = {0};
    for (uint32_t k = 0; k < w->n; k++) {
        const hn_node *n = hn_at(w->r, w->nodes[k]);
        hn_object **args = HN_NEW_N(run->host.scratch, hn_object *, (size_t)n->n_inputs + 1);
        HN_TRY_PTR(args);
        for (uint32_t i = 0; i < n->n_inputs; i++)
            HN_TRY(bind_table_arg(run, n->inputs[i], source, &args[i]));
        HN_TRY(hn_eval_once(&run->host, w->r->g, w->nodes[k], args, (const bool[]){true},
                            &run->made[k], &unused));
    }
    return HONE_OK;
}

/* All bytes in the order of their bits. */
static hone_status compute_table(hn_rule *r, const table_walk *w, uint8_t *table) {
    uint8_t bytes[N_BYTES];
    int64_t dims[1] = {N_BYTES};
    hn_object source;
    table_run run = {.walk = w,
                     .host = {.heap = hn_heap_new(hn_arena_allocator(r->pass->model->arena)),
                              .scratch = r->pass->rule_scratch}};
    HN_TRY_PTR(run.host.heap);
    for (int i = 0; i < N_BYTES; i++)
        bytes[i] = (uint8_t)i;
    hn_object_init_borrowed(&source, hn_elem_of(r, w->source), 1, dims, bytes);
    hone_status status = run_table_nodes(&run, &source);
    if (status == HONE_OK && run.made[w->n - 1]->array.n_elems != N_BYTES)
        status = HONE_E_SHAPE;
    if (status == HONE_OK)
        memcpy(table, run.made[w->n - 1]->array.data, N_BYTES);
    for (uint32_t k = 0; k < w->n; k++)
        hn_heap_unref(run.host.heap, run.made[k]);
    hn_heap_free(run.host.heap);
    return status;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool is_identity(const uint8_t *table) {
    for (int i = 0; i < N_BYTES; i++)
        if (table[i] != i)
            return false;
    return true;
}

static hone_status write_table(hn_rule *r, const table_walk *w) {
    hn_dtype elem = hn_elem_of(r, hn_out(r, r->root, 0));
    void *data;
    hn_tensor *t = hn_new_tensor(r, elem, 1, (int64_t[]){N_BYTES}, &data);
    HN_TRY_PTR(t);
    hone_status status = compute_table(r, w, data);
    if (status != HONE_OK)
        return status == HONE_E_NOMEM ? status : HONE_OK;
    hn_detail(r, "%u nodes", w->n);
    bool is_copy = elem == hn_elem_of(r, w->source) && is_identity(data);
    hn_rule_replace(r, is_copy ? w->source
                               : hn_make1(r, "hone.ByteTable",
                                          HN_VALUES(w->source, hn_new_const(r, "table", t)),
                                          HN_NO_ATTRS));
    return HONE_OK;
}

hone_status hn_qdq_table(hn_rule *r) {
    hn_dtype elem = hn_elem_of(r, hn_out(r, r->root, 0));
    table_sources sources = {0};
    table_walk w = {.r = r};
    if (elem != HN_U8 && elem != HN_I8)
        return HONE_OK;
    find_sources(r, &sources);
    for (uint32_t i = 0; i < sources.n; i++) {
        w.source = sources.at[i];
        w.n = 0;
        if (hn_same_shape(r, w.source, hn_out(r, r->root, 0)) && walk_table_node(&w, r->root))
            return write_table(r, &w);
    }
    return HONE_OK;
}

/* A table of what another one makes, for nobody else. */
hone_status hn_qdq_join_tables(hn_rule *r) {
    hn_id inner = hn_cap_node(r, "inner");
    table_walk w = {.r = r, .source = hn_in(r, inner, 0)};
    return walk_table_node(&w, r->root) ? write_table(r, &w) : HONE_OK;
}
