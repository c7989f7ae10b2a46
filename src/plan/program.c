/* The order of work: steps per block, who reads what last, constants where evaluations can reach
 * them. */
#include "plan/plan.h"

/* ---- checking -------------------------------------------------------------------------------- */

/* Some rules of the standard do not matter to a run: shapes that the file declares wrongly or not
 * at all, and types of outputs, since the real ones are inferred from the inputs; operators that
 * are deprecated but known; names that nobody needs. */
static bool keeps_from_running(const hn_problem *p) {
    return p->severity == HN_SEVERITY_ERROR && p->code != HONE_E_SHAPE &&
           p->code != HONE_E_UNSUPPORTED;
}

static bool is_shape_error(const hn_problem *p) {
    return p->severity == HN_SEVERITY_ERROR && p->code == HONE_E_SHAPE;
}

typedef bool (*problem_test)(const hn_problem *p);

/* Fails with the first problem that `is_fatal` picks, told as "<what>: <problem>". */
static hone_status refuse_problems(hn_model *m, problem_test is_fatal, const char *what,
                                   hone_error *err) {
    hn_arena *arena = hn_arena_new(hn_arena_allocator(m->arena));
    if (!arena)
        return HONE_E_NOMEM;
    hn_problems problems = {.arena = arena,
                            .cap = 100000}; /* harmless ones must not crowd out the others */
    hone_status status = hn_check_model(m, &problems, err);
    for (uint32_t i = 0; status == HONE_OK && i < problems.list.n; i++)
        if (is_fatal(&problems.list.at[i]))
            status =
                hn_fail(err, problems.list.at[i].code, "%s: %s", what, problems.list.at[i].message);
    hn_arena_free(arena);
    return status;
}

/* Other runtimes take models that break some more rules. */
static hone_status repair_model(hn_program *p, hone_error *err) {
    hn_strbuf notes;
    hn_strbuf_init(&notes, hn_arena_allocator(p->model->arena));
    hone_status status = hn_model_repair(p->model, true, &notes, err);
    p->repairs = notes.n ? hn_arena_copy(p->model->arena, notes.at, notes.n + 1) : "";
    hn_strbuf_free(&notes);
    return status == HONE_OK && !p->repairs ? HONE_E_NOMEM : status;
}

static hone_status refuse_invalid(hn_model *m, hone_error *err) {
    return refuse_problems(m, keeps_from_running, "the model cannot be run", err);
}

/* ---- free dimensions that the caller gives a size -------------------------------------------- */

static hone_status fix_one_dim(hn_model *m, const hn_program_options *o, uint32_t i,
                               hone_error *err) {
    const hone_dim_size *d = &o->dims[i];
    if (!d->name)
        return hn_fail(err, HONE_E_ARGUMENT, "the name of dimension %u is NULL", i);
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(o->dims[k].name, d->name) != 0)
            continue;
        return o->dims[k].size == d->size
                   ? HONE_OK
                   : hn_fail(err, HONE_E_ARGUMENT,
                             "dimension '%s' is given two sizes: %lld and %lld", d->name,
                             (long long)o->dims[k].size, (long long)d->size);
    }
    return hn_fix_dim(m, d->name, d->size, err);
}

/* Shapes that contradict each other after sizes were given are the fault of those sizes, if they
 * did not do so before. */
static hone_status fix_dims(hn_model *m, const hn_program_options *o, hone_error *err) {
    if (!o || !o->n_dims)
        return HONE_OK;
    hone_error ignored;
    hn_error_clear(&ignored);
    hone_status before = refuse_problems(m, is_shape_error, "", &ignored);
    if (before == HONE_E_NOMEM)
        return before;
    for (uint32_t i = 0; i < o->n_dims; i++)
        HN_TRY(fix_one_dim(m, o, i, err));
    return before != HONE_OK
               ? HONE_OK
               : refuse_problems(m, is_shape_error, "the model cannot take these dimensions", err);
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* Nesting is limited by the loader. */
static const hn_type *without_symbols(hn_arena *a, const hn_type *t) {
    hn_type *copy = hn_arena_copy(a, t, sizeof *t);
    size_t rank = copy && t->shape.rank > 0 ? (size_t)t->shape.rank : 0;
    hn_dim *dims = rank ? HN_NEW_N(a, hn_dim, rank) : NULL;
    if (!copy || (rank && !dims))
        return NULL;
    for (size_t i = 0; i < rank; i++)
        dims[i] = hn_dim_is_known(t->shape.dims[i]) ? t->shape.dims[i] : HN_DIM_UNKNOWN;
    copy->shape.dims = dims;
    copy->inner = t->inner ? without_symbols(a, t->inner) : NULL;
    return t->inner && !copy->inner ? NULL : copy;
}

/* At run time every size is a number, so that inference needs no symbol: the table is frozen, and
 * any number of threads may plan and run. */
static hone_status forget_symbols(hn_model *m) {
    const hn_graph *g = m->graph;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *n = hn_node_at(g, id);
        for (uint32_t i = 0; i < n->n_attrs; i++) {
            hn_attr *a = &n->attrs[i];
            if (a->kind != HN_ATTR_TYPE || !a->v.type)
                continue;
            a->v.type = without_symbols(m->arena, a->v.type);
            HN_TRY_PTR(a->v.type);
        }
    }
    hn_syms_freeze(m->syms);
    return HONE_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The node of `block` that a reader stands in: itself, or the one whose body it belongs to. */
static hn_id reader_in_block(const hn_graph *g, hn_id node, hn_id block) {
    while (node != HN_NONE && hn_node_at(g, node)->block != block)
        node = hn_block_at(g, hn_node_at(g, node)->block)->owner;
    return node;
}

/* Reader for a use; HN_NONE when the value must live to the end of its block. */
static hn_id use_in_block(const hn_graph *g, const hn_value *v, const hn_use *u) {
    if (u->node != HN_NONE)
        return reader_in_block(g, u->node, v->block);
    return u->slot == v->block ? HN_NONE
                               : reader_in_block(g, hn_block_at(g, u->slot)->owner, v->block);
}

/* By value: position of the last reader; UINT32_MAX: it lives to the end. */
static uint32_t *find_last_readers(const hn_program *p) {
    const hn_graph *g = p->model->graph;
    uint32_t *last = HN_NEW_N(p->model->arena, uint32_t, (size_t)g->values.n + 1);
    for (hn_id id = 0; last && id < g->values.n; id++) {
        const hn_value *v = hn_value_at(g, id);
        last[id] = v->producer != HN_NONE ? p->position[v->producer] : 0;
        for (uint32_t i = 0; i < v->uses.n; i++) {
            hn_id reader = use_in_block(g, v, &v->uses.at[i]);
            uint32_t at = reader == HN_NONE ? UINT32_MAX : p->position[reader];
            last[id] = HN_MAX(last[id], at);
        }
    }
    return last;
}

static hone_status find_positions(hn_program *p) {
    const hn_graph *g = p->model->graph;
    p->position = HN_NEW_N(p->model->arena, uint32_t, (size_t)g->nodes.n + 1);
    HN_TRY_PTR(p->position);
    for (hn_id b = 0; b < g->blocks.n; b++)
        for (uint32_t i = 0; i < hn_block_at(g, b)->nodes.n; i++)
            p->position[hn_block_at(g, b)->nodes.at[i]] = i;
    return HONE_OK;
}

static hone_status fail_unknown_op(const hn_graph *g, const hn_step *step, hone_error *err) {
    hn_strbuf why;
    hn_strbuf_init(&why, hn_arena_allocator(g->model->arena));
    if (!step->op)
        hn_op_tell_unknown(g, hn_node_at(g, step->node), &why);
    if (!step->op && !hn_domain_is_onnx(hn_node_at(g, step->node)->domain))
        hn_strbuf_puts(&why, "; libraries of operators are loaded with --custom-ops");
    hone_status status = why.failed ? HONE_E_NOMEM
                                    : hn_fail(err, HONE_E_UNSUPPORTED, "%s",
                                              why.n ? why.at : "hone cannot run this operator");
    hn_error_at_node(err, g, step->node);
    hn_strbuf_free(&why);
    return status;
}

/* The first of the providers that claims the node runs it. */
static hone_status place_step(const hn_graph *g, const hn_program_options *o, hn_step *step,
                              hone_error *err) {
    const hn_provider *provider;
    for (uint32_t i = 0;; i++) {
        HN_TRY(hn_program_provider(o, i, &provider, err));
        if (!provider)
            return fail_unknown_op(g, step, err);
        if (!provider->claims(g, step))
            continue;
        step->provider = provider;
        step->lowering = provider->lowering(step->op);
        return HONE_OK;
    }
}

/* Is this the attribute with the second body of a node? See hn_body_role. */
static bool names_second_body(const char *attr) {
    static const char *const names[] = {"else_branch", "prob_mod", "encoder", "init_decoder"};
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (strcmp(attr, names[i]) == 0)
            return true;
    return false;
}

static hone_status make_step(hn_program *p, const hn_program_options *o, hn_id node, hn_step *step,
                             hone_error *err) {
    hn_graph *g = p->model->graph;
    const hn_node *n = hn_node_at(g, node);
    bool is_deprecated;
    step->node = node;
    step->op = hn_node_op(g, n, &step->version, &is_deprecated);
    if (!step->op)
        return fail_unknown_op(g, step, err);
    HN_TRY(place_step(g, o, step, err));
    bool *wanted = HN_NEW_N(p->model->arena, bool, (size_t)n->n_outputs + 1);
    HN_TRY_PTR(wanted);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        wanted[i] = n->outputs[i] != HN_NONE && hn_value_at(g, n->outputs[i])->uses.n > 0;
    for (int i = 0; i < HN_N_BODIES; i++)
        step->bodies[i] = HN_NONE;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        if (n->attrs[i].kind != HN_ATTR_GRAPH)
            continue;
        bool is_second = names_second_body(hn_s(n->attrs[i].name));
        step->bodies[is_second ? HN_BODY_SECOND : HN_BODY_MAIN] = n->attrs[i].v.block;
        step->has_body = true;
    }
    step->wanted = wanted;
    return HONE_OK;
}

/* Hands every value of a block to the step after which nobody reads it. */
static hone_status assign_dead(hn_program *p, const uint32_t *last, hn_step_list *list) {
    uint32_t n_assigned = 0;
    for (uint32_t i = 0; i < list->n_owned; i++)
        if (last[list->owned[i]] < list->n_steps)
            list->steps[last[list->owned[i]]].n_dead++;
    hn_id *dead = HN_NEW_N(p->model->arena, hn_id, (size_t)list->n_owned + 1);
    HN_TRY_PTR(dead);
    for (uint32_t i = 0; i < list->n_steps; i++) {
        list->steps[i].dead = dead + n_assigned;
        n_assigned += list->steps[i].n_dead;
        list->steps[i].n_dead = 0;
    }
    for (uint32_t i = 0; i < list->n_owned; i++) {
        uint32_t at = last[list->owned[i]];
        if (at < list->n_steps) {
            hn_step *s = &list->steps[at];
            ((hn_id *)(uintptr_t)s->dead)[s->n_dead++] = list->owned[i];
        }
    }
    return HONE_OK;
}

static hone_status make_block(hn_program *p, const hn_program_options *o, const uint32_t *last,
                              hn_id block, hone_error *err) {
    const hn_graph *g = p->model->graph;
    const hn_block *b = hn_block_at(g, block);
    hn_step_list *list = &p->blocks[block];
    list->n_steps = b->nodes.n;
    list->steps = HN_NEW_N(p->model->arena, hn_step, (size_t)b->nodes.n + 1);
    hn_id *owned = HN_NEW_N(p->model->arena, hn_id, (size_t)g->values.n + 1);
    if (!list->steps || !owned)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < b->nodes.n; i++)
        HN_TRY(make_step(p, o, b->nodes.at[i], &list->steps[i], err));
    for (uint32_t i = 0; i < b->inputs.n; i++)
        owned[list->n_owned++] = b->inputs.at[i];
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const hn_node *n = hn_node_at(g, b->nodes.at[i]);
        for (uint32_t k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] != HN_NONE)
                owned[list->n_owned++] = n->outputs[k];
    }
    list->owned = owned;
    return assign_dead(p, last, list);
}

/* ---- what blocks read of others ---------------------------------------------------------------- */

static bool is_within(const hn_graph *g, hn_id block, hn_id outer) {
    while (block != outer && block != 0) {
        hn_id owner = hn_block_at(g, block)->owner;
        block = owner == HN_NONE ? 0 : hn_node_at(g, owner)->block;
    }
    return block == outer;
}

/* Does a use stand in the block, at any depth? */
static bool is_use_within(const hn_graph *g, const hn_use *u, hn_id block) {
    return is_within(g, u->node != HN_NONE ? hn_node_at(g, u->node)->block : u->slot, block);
}

static bool is_captured(const hn_graph *g, const hn_value *v, hn_id block) {
    if (is_within(g, v->block, block))
        return false;
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (is_use_within(g, &v->uses.at[i], block))
            return true;
    return false;
}

/* Constants of the program are no entries: they are the same in every run. */
static hone_status find_entries(hn_program *p, hn_id block) {
    const hn_graph *g = p->model->graph;
    const hn_block *b = hn_block_at(g, block);
    hn_step_list *list = &p->blocks[block];
    HN_VEC(hn_id) found = {0};
    for (uint32_t i = 0; i < b->inputs.n; i++)
        if (!HN_VEC_PUSH(p->model->arena, &found, b->inputs.at[i]))
            return HONE_E_NOMEM;
    for (hn_id id = 0; block != 0 && id < g->values.n; id++)
        if (is_captured(g, hn_value_at(g, id), block) &&
            !hn_infer_initial_const(p->model, hn_value_at(g, id)) &&
            !HN_VEC_PUSH(p->model->arena, &found, id))
            return HONE_E_NOMEM;
    list->n_entries = found.n;
    list->entries = found.at;
    return HONE_OK;
}

static hone_status make_blocks(hn_program *p, const hn_program_options *o, hone_error *err) {
    const hn_graph *g = p->model->graph;
    HN_TRY(find_positions(p));
    const uint32_t *last = find_last_readers(p);
    p->blocks = HN_NEW_N(p->model->arena, hn_step_list, g->blocks.n);
    if (!last || !p->blocks)
        return HONE_E_NOMEM;
    for (hn_id b = 0; b < g->blocks.n; b++)
        HN_TRY(make_block(p, o, last, b, err));
    for (hn_id b = 0; b < g->blocks.n; b++)
        HN_TRY(find_entries(p, b));
    return HONE_OK;
}

/* ---- what a subset of the outputs needs ------------------------------------------------------ */

static bool is_wanted_output(const hn_graph *g, const hn_value *v, const bool *wanted_outputs) {
    const hn_block *main = hn_block_at(g, 0);
    for (uint32_t i = 0; i < main->outputs.n; i++)
        if (wanted_outputs[i] && hn_value_at(g, main->outputs.at[i]) == v)
            return true;
    return false;
}

static bool has_needed_reader(const hn_program *p, const hn_value *v, const bool *wanted_outputs,
                              const bool *needed_steps) {
    const hn_graph *g = p->model->graph;
    bool is_output = false;
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id reader = use_in_block(g, v, &v->uses.at[i]);
        if (reader != HN_NONE && needed_steps[p->position[reader]])
            return true;
        is_output |= reader == HN_NONE;
    }
    return is_output && is_wanted_output(g, v, wanted_outputs);
}

void hn_program_mark_needed(const hn_program *p, const bool *wanted_outputs, bool *needed_steps) {
    const hn_graph *g = p->model->graph;
    const hn_step_list *list = &p->blocks[0];
    memset(needed_steps, 0, list->n_steps * sizeof *needed_steps);
    for (uint32_t s = list->n_steps; s-- > 0;) {
        const hn_node *n = hn_node_at(g, list->steps[s].node);
        for (uint32_t i = 0; i < n->n_outputs && !needed_steps[s]; i++)
            needed_steps[s] =
                n->outputs[i] != HN_NONE &&
                has_needed_reader(p, hn_value_at(g, n->outputs[i]), wanted_outputs, needed_steps);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static hone_status make_program(hn_program *p, const hn_model *source, const hn_program_options *o,
                                hone_error *err) {
    hn_model *m = p->model;
    HN_TRY(repair_model(p, err));
    HN_TRY(refuse_invalid(m, err));
    HN_TRY(fix_dims(m, o, err));
    HN_TRY(hn_model_inline(m, NULL, err));
    if (o && o->rewrite)
        HN_TRY(o->rewrite(o->rewrite_ctx, m, err));
    HN_TRY(forget_symbols(m));
    HN_TRY(hn_program_make_consts(p, source, o, err));
    HN_TRY(make_blocks(p, o, err));
    return hn_program_prepare(p, o, err);
}

hone_status hn_program_new(const hn_model *m, const hn_program_options *options, hn_program **out,
                           hone_error *err) {
    hn_model *copy = hn_model_clone(m);
    *out = NULL;
    return copy ? hn_program_adopt(copy, m, options, out, err) : HONE_E_NOMEM;
}

hone_status hn_program_adopt(hn_model *own, const hn_model *m, const hn_program_options *options,
                             hn_program **out, hone_error *err) {
    *out = NULL;
    hn_program *p = HN_NEW(own->arena, hn_program);
    if (!p) {
        hn_model_free(own);
        return HONE_E_NOMEM;
    }
    p->model = own;
    p->evaluates_all = options && options->evaluates_all;
    pthread_mutex_init(&p->lock, NULL);
    p->fork_hook.lock = &p->lock;
    hn_fork_list(&p->fork_hook, HN_FORK_PROGRAM);
    hone_status status = make_program(p, m, options, err);
    if (status == HONE_OK)
        *out = p;
    else
        hn_program_free(p);
    return status;
}

void hn_program_free(hn_program *p) {
    if (!p)
        return;
    hn_fork_unlist(&p->fork_hook);
    hn_program_release(p);
    hn_program_drop_consts(p);
    pthread_mutex_destroy(&p->lock);
    hn_model_free(p->model);
}
