/* Computes symbolic sizes once. Inference knows which integer values hold the same sizes ([batch,
 * 1, seq]); one of them is enough, and reading the shape of the first tensor with these sizes often
 * needs fewer nodes than the original computation. */
#include "pass/engine/pass_int.h"

#define MAX_WAYS 4   /* sources remembered for one size */
#define MAX_DYING 64 /* nodes visited to count what a replacement removes */

/* A tensor that has a symbolic size at an axis. */
typedef struct size_source {
    hn_dim size;
    hn_id value;
    int32_t axis;
    uint32_t next; /* with the same size; HN_MAP_NONE at the end */
} size_source;

/* A value that holds sizes. */
typedef struct size_value {
    hn_id value;
    uint32_t n;
    const hn_sint *elems;
    bool is_scalar;
    uint32_t next; /* with the same hash */
} size_value;

typedef struct size_walk {
    hn_pass *pass;
    hn_map by_size, by_hash;
    HN_VEC(size_source) sources;
    HN_VEC(size_value) values;
    hn_id block; /* the block being visited */
    /* the innermost enclosing loop body, outside of which a symbol may mean another size */
    hn_id scope;
} size_walk;

/* ---- values and sources seen so far ---------------------------------------------------------- */

static bool is_in_reach(const size_walk *w, hn_id value) {
    const hn_value *v = hn_value_at(w->pass->g, value);
    bool is_alive = v->producer != HN_NONE || v->is_input;
    return is_alive && hn_block_is_inside(w->pass->g, w->block, v->block) &&
           hn_block_is_inside(w->pass->g, v->block, w->scope);
}

static hone_status remember_source(size_walk *w, hn_dim size, hn_id value, int32_t axis) {
    uint64_t key = (uint64_t)size;
    uint32_t first = hn_map_get(&w->by_size, key), n_ways = 0, last = HN_MAP_NONE;
    for (uint32_t i = first; i != HN_MAP_NONE; i = w->sources.at[i].next) {
        n_ways += is_in_reach(w, w->sources.at[i].value);
        last = i;
    }
    if (n_ways >= MAX_WAYS)
        return HONE_OK;
    uint32_t id = w->sources.n;
    size_source source = {size, value, axis, HN_MAP_NONE};
    if (!HN_VEC_PUSH(w->pass->scratch, &w->sources, source))
        return HONE_E_NOMEM;
    if (last != HN_MAP_NONE)
        w->sources.at[last].next = id;
    else if (!hn_map_put(&w->by_size, key, id))
        return HONE_E_NOMEM;
    return HONE_OK;
}

static hone_status remember_shape(size_walk *w, hn_id value) {
    const hn_type *t = value == HN_NONE ? NULL : hn_value_at(w->pass->g, value)->type;
    if (!t || t->kind != HN_TYPE_TENSOR)
        return HONE_OK;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (hn_dim_is_symbolic(t->shape.dims[i]))
            HN_TRY(remember_source(w, t->shape.dims[i], value, i));
    return HONE_OK;
}

static uint64_t hash_sizes(uint32_t n, const hn_sint *elems, bool is_scalar) {
    uint64_t h = hn_key(n, is_scalar);
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ (uint64_t)elems[i].v) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
    return h;
}

static bool same_sizes(const size_value *v, uint32_t n, const hn_sint *elems, bool is_scalar) {
    if (v->n != n || v->is_scalar != is_scalar)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (v->elems[i].kind != elems[i].kind || v->elems[i].v != elems[i].v)
            return false;
    return true;
}

/* Finds a value with these elements that is visible here, or HN_NONE. */
static hn_id find_same_sizes(const size_walk *w, uint32_t n, const hn_sint *elems, bool is_scalar) {
    uint32_t i = hn_map_get(&w->by_hash, hash_sizes(n, elems, is_scalar));
    for (; i != HN_MAP_NONE; i = w->values.at[i].next)
        if (same_sizes(&w->values.at[i], n, elems, is_scalar) &&
            is_in_reach(w, w->values.at[i].value))
            return w->values.at[i].value;
    return HN_NONE;
}

static hone_status remember_sizes(size_walk *w, const size_value *v) {
    uint64_t key = hash_sizes(v->n, v->elems, v->is_scalar);
    size_value entry = *v;
    entry.next = hn_map_get(&w->by_hash, key);
    entry.elems = hn_arena_copy(w->pass->scratch, v->elems, v->n * sizeof *v->elems);
    HN_TRY_PTR(entry.elems);
    return HN_VEC_PUSH(w->pass->scratch, &w->values, entry) &&
                   hn_map_put(&w->by_hash, key, w->values.n - 1)
               ? HONE_OK
               : HONE_E_NOMEM;
}

/* ---- a shorter computation of the same sizes ------------------------------------------------- */

/* Consecutive elements: dimensions of one tensor, or constants. */
typedef struct size_run {
    uint32_t begin, n;
    hn_id source; /* HN_NONE: constants */
    int32_t axis;
    hn_id known; /* a value that already holds them; HN_NONE */
} size_run;

typedef struct size_plan {
    const size_value *sizes;
    uint32_t n_runs;
    size_run runs[HN_MAX_RANK];
    bool has_ranges; /* Shape takes start and end */
    uint32_t n_nodes;
} size_plan;

static uint32_t run_length(const size_walk *w, const size_source *s, uint32_t n,
                           const hn_sint *elems) {
    const hn_shape *shape = &hn_value_at(w->pass->g, s->value)->type->shape;
    uint32_t k = 0;
    while (k < n && s->axis + (int32_t)k < shape->rank) {
        hn_sint have = hn_sint_from_dim(shape->dims[s->axis + (int32_t)k]);
        if (have.kind != elems[k].kind || have.v != elems[k].v)
            break;
        k++;
    }
    return k;
}

static size_run longest_run(const size_walk *w, const size_value *v, uint32_t begin) {
    size_run best = {.begin = begin, .source = HN_NONE, .known = HN_NONE};
    uint32_t i = hn_map_get(&w->by_size, (uint64_t)v->elems[begin].v);
    for (; i != HN_MAP_NONE; i = w->sources.at[i].next) {
        const size_source *s = &w->sources.at[i];
        if (s->value == v->value || !is_in_reach(w, s->value))
            continue;
        uint32_t n = run_length(w, s, v->n - begin, v->elems + begin);
        if (n > best.n)
            best = (size_run){begin, n, s->value, s->axis, HN_NONE};
    }
    return best;
}

static uint32_t count_shape_nodes(const size_walk *w, const size_plan *plan, const size_run *run) {
    const hn_shape *shape = &hn_value_at(w->pass->g, run->source)->type->shape;
    bool is_whole = run->n == (uint32_t)shape->rank;
    if (run->known != HN_NONE)
        return 0;
    return plan->sizes->is_scalar || (!is_whole && !plan->has_ranges) ? 2 : 1;
}

/* False when no source is known for some size. */
static bool plan_sizes(const size_walk *w, const size_value *v, size_plan *plan) {
    int64_t opset = hn_opset_version(w->pass->g->opsets, NULL);
    *plan = (size_plan){.sizes = v, .has_ranges = opset >= 15};
    for (uint32_t i = 0; i < v->n;) {
        size_run run = {.begin = i, .source = HN_NONE, .known = HN_NONE};
        while (i + run.n < v->n && v->elems[i + run.n].kind == HN_SINT_CONST)
            run.n++;
        if (run.n == 0)
            run = longest_run(w, v, i);
        if (run.n == 0 || plan->n_runs == HN_MAX_RANK)
            return false;
        if (run.source != HN_NONE) {
            run.known = find_same_sizes(w, run.n, v->elems + i, v->is_scalar);
            plan->n_nodes += count_shape_nodes(w, plan, &run);
        }
        plan->runs[plan->n_runs++] = run;
        i += run.n;
    }
    plan->n_nodes += plan->n_runs > 1;
    return true;
}

static hn_id make_indices(hn_rule *r, const size_run *run, bool is_scalar) {
    int64_t indices[HN_MAX_RANK];
    for (uint32_t i = 0; i < run->n; i++)
        indices[i] = run->axis + (int32_t)i;
    if (!is_scalar)
        return hn_new_const_i64s(r, "indices", run->n, indices);
    void *data;
    hn_tensor *t = hn_new_tensor(r, HN_I64, 0, NULL, &data);
    if (t)
        *(int64_t *)data = indices[0];
    return hn_new_const(r, "index", t);
}

static hn_id make_run(hn_rule *r, const size_plan *plan, const size_run *run) {
    const hn_sint *elems = plan->sizes->elems + run->begin;
    bool is_scalar = plan->sizes->is_scalar;
    if (run->source == HN_NONE) {
        int64_t numbers[HN_MAX_RANK];
        for (uint32_t i = 0; i < run->n; i++)
            numbers[i] = elems[i].v;
        return hn_new_const_i64s(r, "sizes", run->n, numbers);
    }
    if (run->known != HN_NONE)
        return run->known;
    bool is_whole = !is_scalar && run->n == (uint32_t)hn_rank_of(r, run->source);
    if (!is_whole && !is_scalar && plan->has_ranges)
        return hn_make1(r, "Shape", HN_VALUES(run->source),
                        HN_ATTRS(hn_new_i(r, "start", run->axis),
                                 hn_new_i(r, "end", run->axis + (int64_t)run->n)));
    hn_id shape = hn_make1(r, "Shape", HN_VALUES(run->source), HN_NO_ATTRS);
    if (is_whole)
        return shape;
    return hn_make1(r, "Gather", HN_VALUES(shape, make_indices(r, run, is_scalar)),
                    HN_ATTRS(hn_new_i(r, "axis", 0)));
}

/* ---- savings --------------------------------------------------------------------------------- */

static bool is_among(uint32_t n, const hn_id *list, hn_id node) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == node)
            return true;
    return false;
}

static bool is_read_by_others(const hn_graph *g, hn_id node, uint32_t n, const hn_id *dying) {
    const hn_node *at = hn_node_at(g, node);
    for (uint32_t i = 0; i < at->n_outputs; i++) {
        const hn_value *v = at->outputs[i] == HN_NONE ? NULL : hn_value_at(g, at->outputs[i]);
        for (uint32_t k = 0; v && k < v->uses.n; k++)
            if (v->uses.at[k].node == HN_NONE || !is_among(n, dying, v->uses.at[k].node))
                return true;
    }
    return false;
}

static bool is_reused(const hn_graph *g, hn_id node, const size_plan *plan) {
    for (uint32_t i = 0; i < plan->n_runs; i++)
        if (plan->runs[i].known != HN_NONE && hn_value_at(g, plan->runs[i].known)->producer == node)
            return true;
    return false;
}

/* Counts the nodes that only the old computation needs, including the one that makes the value. */
static uint32_t count_dying(const hn_graph *g, hn_id node, const size_plan *plan) {
    hn_id dying[MAX_DYING] = {node};
    uint32_t n = 1;
    if (hn_node_at(g, node)->n_outputs > 1)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const hn_node *at = hn_node_at(g, dying[i]);
        for (uint32_t k = 0; k < at->n_inputs && n < MAX_DYING; k++) {
            hn_id maker =
                at->inputs[k] == HN_NONE ? HN_NONE : hn_value_at(g, at->inputs[k])->producer;
            bool is_constant = maker != HN_NONE && hn_str_is(hn_node_at(g, maker)->op, "Constant");
            if (maker != HN_NONE && !is_constant && !is_among(n, dying, maker) &&
                !is_reused(g, maker, plan) && !is_read_by_others(g, maker, n, dying))
                dying[n++] = maker;
        }
    }
    return n;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static hone_status reuse(size_walk *w, hn_id node, hn_id value, hn_id known) {
    hn_rule *r = hn_rewrite_begin(w->pass, "same-sizes", node);
    HN_TRY_PTR(r);
    hn_rule_replace_value(r, value, known);
    return hn_rewrite_end(r);
}

/* Returns in *holder the value that holds the sizes afterwards; it is the old one when the log is
 * full. */
static hone_status rewrite_sizes(size_walk *w, hn_id node, const size_plan *plan, hn_id *holder) {
    hn_id pieces[HN_MAX_RANK];
    uint32_t n_before = w->pass->n_rewrites;
    hn_rule *r = hn_rewrite_begin(w->pass, "shorter-way", node);
    HN_TRY_PTR(r);
    for (uint32_t i = 0; i < plan->n_runs; i++)
        pieces[i] = make_run(r, plan, &plan->runs[i]);
    hn_id made = plan->n_runs == 1 ? pieces[0]
                                   : hn_make1(r, "Concat", plan->n_runs, pieces,
                                              HN_ATTRS(hn_new_i(r, "axis", 0)));
    hn_rule_replace_value(r, *holder, made);
    HN_TRY(hn_rewrite_end(r));
    if (w->pass->n_rewrites > n_before)
        *holder = made;
    return HONE_OK;
}

/* A computation with as many nodes is preferred when it starts from an earlier tensor. */
static bool is_worth_it(const size_walk *w, hn_id node, const size_plan *plan) {
    const hn_node *n = hn_node_at(w->pass->g, node);
    uint32_t n_dying = count_dying(w->pass->g, node, plan);
    bool is_shape = hn_str_is(n->op, "Shape") && hn_domain_is_onnx(n->domain);
    bool is_elsewhere = plan->n_runs == 1 && plan->runs[0].source != n->inputs[0];
    return plan->n_nodes < n_dying || (is_shape && is_elsewhere && plan->n_nodes == n_dying);
}

/* Reads sizes with symbols, all of which must be known. */
static bool describe_sizes(const size_walk *w, hn_id value, size_value *out) {
    const hn_pass *p = w->pass;
    const hn_value *v = hn_value_at(p->g, value);
    bool has_symbol = false;
    *out = (size_value){.value = value};
    if (!v->type || v->type->kind != HN_TYPE_TENSOR || v->type->elem != HN_I64 ||
        v->type->shape.rank < 0 || v->type->shape.rank > 1 || v->uses.n == 0 ||
        !hn_facts_ints(p->facts, value, &out->n, &out->elems, &out->is_scalar))
        return false;
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->elems[i].kind == HN_SINT_UNKNOWN)
            return false;
        has_symbol |= out->elems[i].kind == HN_SINT_DIM;
    }
    return has_symbol && out->n <= HN_MAX_RANK;
}

static hone_status visit_sizes(size_walk *w, hn_id node, hn_id value) {
    size_value sizes;
    size_plan plan;
    if (value == HN_NONE || !describe_sizes(w, value, &sizes))
        return HONE_OK;
    if (hn_value_is_output(hn_value_at(w->pass->g, value), HN_NONE))
        return remember_sizes(w, &sizes);
    hn_id known = find_same_sizes(w, sizes.n, sizes.elems, sizes.is_scalar);
    if (known != HN_NONE)
        return reuse(w, node, value, known);
    if (plan_sizes(w, &sizes, &plan) && is_worth_it(w, node, &plan))
        HN_TRY(rewrite_sizes(w, node, &plan, &sizes.value));
    return remember_sizes(w, &sizes);
}

static hone_status walk_sizes(size_walk *w, hn_id block);

/* A symbol in a loop body may be another size in each iteration, so the body is a scope of its
 * own. */
static hone_status walk_inner(size_walk *w, hn_id node) {
    const hn_node *n = hn_node_at(w->pass->g, node);
    hn_id block = w->block, scope = w->scope;
    bool is_same_world = hn_str_is(n->op, "If") && hn_domain_is_onnx(n->domain);
    for (uint32_t i = 0; i < hn_node_at(w->pass->g, node)->n_attrs; i++) {
        uint32_t n_blocks;
        const hn_id *blocks = hn_attr_blocks(&hn_node_at(w->pass->g, node)->attrs[i], &n_blocks);
        for (uint32_t k = 0; k < n_blocks; k++) {
            w->scope = is_same_world ? scope : blocks[k];
            HN_TRY(walk_sizes(w, blocks[k]));
        }
    }
    w->block = block;
    w->scope = scope;
    return HONE_OK;
}

static hone_status walk_sizes(size_walk *w, hn_id block) {
    const hn_block *b = hn_block_at(w->pass->g, block);
    uint32_t n = b->nodes.n;
    hn_id *nodes = hn_arena_copy(w->pass->scratch, b->nodes.at, n * sizeof *nodes);
    HN_TRY_PTR(nodes);
    w->block = block;
    for (uint32_t i = 0; i < b->inputs.n; i++)
        HN_TRY(remember_shape(w, b->inputs.at[i]));
    for (uint32_t i = 0; i < n; i++) {
        if (hn_node_at(w->pass->g, nodes[i])->block == HN_NONE)
            continue;
        HN_TRY(walk_inner(w, nodes[i]));
        for (uint32_t k = 0; k < hn_node_at(w->pass->g, nodes[i])->n_outputs; k++)
            HN_TRY(visit_sizes(w, nodes[i], hn_node_at(w->pass->g, nodes[i])->outputs[k]));
        if (hn_node_at(w->pass->g, nodes[i])->block == HN_NONE)
            continue;
        for (uint32_t k = 0; k < hn_node_at(w->pass->g, nodes[i])->n_outputs; k++)
            HN_TRY(remember_shape(w, hn_node_at(w->pass->g, nodes[i])->outputs[k]));
    }
    return HONE_OK;
}

hone_status hn_pass_share_sizes(hn_pass *p) {
    size_walk w = {.pass = p, .scope = 0};
    hn_map_init(&w.by_size, p->scratch);
    hn_map_init(&w.by_hash, p->scratch);
    return walk_sizes(&w, 0);
}
