/* Running passes: groups to their fixpoints, the opset raised where a fusion needs it. */
#include "pass/engine/opt_log.h"

#define MAX_ROUNDS 24           /* over all passes of a group */
#define PASS_IS_DONE UINT64_MAX /* as a serial: it need not run again */
#define FREE_INITIALIZERS_IR 4  /* since then initializers need not be listed as inputs */

void hn_optimize_options_init(hn_optimize_options *o) {
    *o = (hn_optimize_options){
        .level = HN_LEVEL_EXTENDED, .stop_after = UINT32_MAX, .max_fold_bytes = (uint64_t)16 << 20};
}

/* One optimization under way. */
typedef struct opt_job {
    hn_pass pass;                  /* what passes see; `row` changes */
    const hn_pass_table *provider; /* behind the portable passes; NULL: those alone run */
    uint64_t serial;
    uint64_t *clean_at; /* by pass: the serial at which it last found nothing to do */
    int64_t wanted_opset;
    uint32_t n_errors_before; /* that the graph came with */
} opt_job;

/* ---- which passes ---------------------------------------------------------------------------- */

static uint32_t pass_row_count(const opt_job *job) {
    return hn_portable_passes.n + (job->provider ? job->provider->n : 0);
}

static const hn_pass_row *pass_row_at(const opt_job *job, uint32_t i) {
    return i < hn_portable_passes.n ? &hn_portable_passes.rows[i]
                                    : &job->provider->rows[i - hn_portable_passes.n];
}

static bool names_pass(uint32_t n, const char *const *names, const char *pass) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], pass) == 0)
            return true;
    return false;
}

static bool is_enabled(const hn_optimize_options *o, const hn_pass_row *row) {
    if (names_pass(o->n_disabled, o->disabled, row->name))
        return false;
    if (row->group == HN_GROUP_CONVERT) /* it has an option of its own */
        return o->precision.elem != HN_UNDEFINED;
    if (o->n_only > 0)
        return names_pass(o->n_only, o->only, row->name);
    return row->level <= o->level &&
           (row->numerics != HN_NUMERICS_APPROXIMATES || o->allow_approximate);
}

/* ---- costs ----------------------------------------------------------------------------------- */

typedef struct graph_cost {
    int64_t nodes, weight_bytes, macs;
} graph_cost;

static graph_cost cost_of(const hn_graph *g) {
    graph_cost cost = {0};
    for (hn_id b = 0; b < g->blocks.n; b++) {
        const hn_block *block = hn_block_at(g, b);
        cost.nodes += block->nodes.n;
        for (uint32_t i = 0; i < block->inits.n; i++)
            cost.weight_bytes += (int64_t)hn_value_at(g, block->inits.at[i])->init->data_bytes;
        for (uint32_t i = 0; i < block->nodes.n; i++) {
            uint64_t macs;
            if (hn_node_macs(g, block->nodes.at[i], &macs))
                cost.macs += (int64_t)macs;
        }
    }
    return cost;
}

static void add_saving(hn_pass_stat *stat, const graph_cost *before, const graph_cost *after) {
    stat->nodes_saved += before->nodes - after->nodes;
    stat->weight_bytes_saved += before->weight_bytes - after->weight_bytes;
    stat->macs_saved += before->macs - after->macs;
}

/* ---- one pass -------------------------------------------------------------------------------- */

/* Outputs without a shape are none: what the file declares of them is set aside. */
static hone_status count_errors(opt_job *job, uint32_t *n, const char **last) {
    hn_problems problems = {.arena = job->pass.scratch};
    const char *found = "";
    hn_graph_verify(job->pass.g, &problems);
    *n = problems.n_errors;
    for (uint32_t i = 0; i < problems.list.n; i++) {
        *n -= problems.list.at[i].code == HONE_E_SHAPE;
        found = problems.list.at[i].code == HONE_E_SHAPE ? found : problems.list.at[i].message;
    }
    if (last)
        *last = found;
    return problems.failed ? HONE_E_NOMEM : HONE_OK;
}

/* A model may come with errors that runtimes overlook; passes add none. */
static hone_status verify_graph(opt_job *job) {
    uint32_t n_errors;
    const char *message;
    HN_TRY(count_errors(job, &n_errors, &message));
    if (n_errors <= job->n_errors_before)
        return HONE_OK;
    job->pass.log->failed = (hn_near_miss){.pass = job->pass.row, .rule = "", .node = ""};
    return hn_fail(job->pass.err, HONE_E_INTERNAL, "pass %s left an invalid graph: %s",
                   job->pass.row->name, message);
}

static hone_status after_change(opt_job *job) {
    hn_pass *p = &job->pass;
    job->serial += p->n_rewrites;
    HN_TRY(hn_graph_sort(p->g, p->err));
    HN_TRY(verify_graph(job));
    if (p->options->after_pass)
        return p->options->after_pass(p->options->ctx, p->model, p->row, p->log, p->err);
    return HONE_OK;
}

static hone_status run_pass(opt_job *job, const hn_pass_row *row, bool *is_changed) {
    hn_pass *p = &job->pass;
    graph_cost before = {0}, after = {0};
    uint64_t start_ns = hn_now_ns();
    p->row = row;
    p->n_rewrites = 0;
    p->is_done = false;
    if (p->options->measure)
        before = cost_of(p->g);
    hn_log_forget_misses(p->log, row);
    hone_status status = row->fn(p);
    if (status == HONE_OK && p->n_rewrites > 0)
        status = after_change(job);
    if (p->options->measure)
        after = cost_of(p->g);
    hn_arena_clear(p->scratch);
    hn_arena_clear(p->rule_scratch);
    HN_TRY(status);
    hn_pass_stat *stat = hn_log_stat(p->log, row);
    HN_TRY_PTR(stat);
    stat->n_runs++;
    stat->n_rewrites += p->n_rewrites;
    stat->seconds += (double)(hn_now_ns() - start_ns) * 1e-9;
    add_saving(stat, &before, &after);
    *is_changed = p->n_rewrites > 0;
    return HONE_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* In a provider's graph there is nothing left to recognize, only to clean up. */
static bool belongs_to(const hn_pass_row *row, hn_pass_group group) {
    return group == HN_GROUP_PROVIDER
               ? row->group == HN_GROUP_CLEAN || row->group == HN_GROUP_PROVIDER
               : row->group <= group;
}

static hone_status run_round(opt_job *job, hn_pass_group group, bool *is_changed) {
    *is_changed = false;
    for (uint32_t i = 0; i < pass_row_count(job); i++) {
        const hn_pass_row *row = pass_row_at(job, i);
        bool changed;
        if (!belongs_to(row, group) || !is_enabled(job->pass.options, row) ||
            job->clean_at[i] == job->serial || job->clean_at[i] == PASS_IS_DONE)
            continue;
        HN_TRY(run_pass(job, row, &changed));
        *is_changed |= changed;
        if (job->pass.is_done)
            job->clean_at[i] = PASS_IS_DONE;
        else if (!changed)
            job->clean_at[i] = job->serial;
    }
    return HONE_OK;
}

static hone_status run_group(opt_job *job, hn_pass_group group) {
    bool is_changed = true;
    for (uint32_t round = 0; is_changed && round < MAX_ROUNDS; round++)
        HN_TRY(run_round(job, group, &is_changed));
    return HONE_OK;
}

/* A session finds out when sizes contradict a name, and prepares anew; whoever reads a file does
 * not. */
hone_status hn_pass_refresh_facts(hn_pass *p) {
    static const hn_split_dims all = {.all = true};
    bool trusts = p->options->target == HN_TARGET_SESSION || p->options->trusts_names;
    hn_facts_free(p->facts);
    p->facts = NULL;
    return hn_facts_new(p->model, trusts ? &p->options->split : &all, &p->facts, p->err);
}

/* A fusion would need a newer operator: the whole model moves there, and the passes look again. A
 * model that cannot move stays as it is, and they look again for what else can be done. */
static hone_status raise_opset(opt_job *job, bool *look_again) {
    hone_error unused = {0};
    int64_t opset = hn_opset_version(&job->pass.model->opsets, NULL);
    *look_again =
        job->wanted_opset > opset && !job->pass.is_opset_settled && !job->pass.log->is_stopped;
    if (!*look_again)
        return HONE_OK;
    job->serial++;
    hone_status status = hn_convert_opset(job->pass.model, job->wanted_opset, &unused);
    if (status == HONE_E_NOMEM)
        return status;
    job->wanted_opset = 0;
    job->pass.is_opset_settled =
        status != HONE_OK || job->pass.options->target == HN_TARGET_SESSION;
    return status == HONE_OK ? hn_pass_refresh_facts(&job->pass) : HONE_OK;
}

/* Patches tell what their own nodes compute, not what follows from it further down; what shape
 * computations left behind makes many sizes known. */
static hone_status sharpen_facts(opt_job *job) {
    HN_TRY(hn_pass_refresh_facts(&job->pass));
    job->serial++;
    return HONE_OK;
}

static hone_status look_at_graph(opt_job *job) {
    HN_TRY(count_errors(job, &job->n_errors_before, NULL));
    return hn_pass_refresh_facts(&job->pass);
}

static hone_status run_groups(opt_job *job) {
    hn_model_raise_ir(job->pass.model, FREE_INITIALIZERS_IR);
    HN_TRY(look_at_graph(job));
    for (int group = HN_GROUP_CLEAN; group <= HN_GROUP_CONVERT; group++) {
        bool look_again;
        if (group == HN_GROUP_FUSE)
            HN_TRY(sharpen_facts(job));
        HN_TRY(run_group(job, (hn_pass_group)group));
        HN_TRY(raise_opset(job, &look_again));
        group -= look_again;
    }
    return HONE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Rules name new nodes after the one they began at; runtimes want every name once. Nodes from
 * n_before on are ours. */
static hone_status settle_node_names(hn_pass *p, uint32_t n_before) {
    hn_map taken;
    hn_map_init(&taken, p->scratch);
    for (hn_id id = 0; id < p->g->nodes.n; id++) {
        hn_node *n = hn_node_at(p->g, id);
        if (n->block == HN_NONE || hn_str_empty(n->name))
            continue;
        if (id >= n_before && hn_map_get(&taken, n->name->id) != HN_MAP_NONE)
            n->name = hn_graph_fresh_name(p->g, n->name->s);
        if (!n->name || !hn_map_put(&taken, n->name->id, id))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

static bool is_ours(hn_str domain) {
    return hn_domain_is_onnx(domain) || hn_str_is(domain, "com.microsoft");
}

/* Rules know operators by their names and rely on their schemas; what does not fit one is refused,
 * deprecated operators and those of strangers are not. */
static hone_status refuse_malformed(hn_pass *p) {
    hn_problems problems = {.arena = p->scratch};
    for (hn_id id = 0; id < p->g->nodes.n; id++) {
        const hn_node *n = hn_node_at(p->g, id);
        const hn_op *op;
        int version;
        uint32_t first = problems.list.n;
        if (n->block == HN_NONE || !is_ours(n->domain))
            continue;
        bool is_fine = hn_node_form_ok(p->g, NULL, id, &problems, &op, &version);
        for (uint32_t i = first; !is_fine && i < problems.list.n; i++)
            if (!op || problems.list.at[i].code != HONE_E_UNSUPPORTED)
                return hn_fail(p->err, problems.list.at[i].code, "%s", problems.list.at[i].message);
    }
    return problems.failed ? HONE_E_NOMEM : HONE_OK;
}

static hone_status run_portable(opt_job *job) {
    hn_pass *p = &job->pass;
    const hn_optimize_options *o = p->options;
    if (p->model->functions.n > 0)
        HN_TRY(
            hn_model_inline(p->model, o->target == HN_TARGET_SESSION ? NULL : hn_same_op, p->err));
    p->g = p->model->graph;
    HN_TRY(refuse_malformed(p));
    uint32_t n_before = p->g->nodes.n;
    p->log->opset_before = hn_opset_version(&p->model->opsets, NULL);
    if (o->opset > 0 && o->opset != p->log->opset_before)
        HN_TRY(hn_convert_opset(p->model, o->opset, p->err));
    if (o->level > HN_LEVEL_NONE || o->n_only > 0 || o->precision.elem != HN_UNDEFINED)
        HN_TRY(run_groups(job));
    p->log->opset_after = hn_opset_version(&p->model->opsets, NULL);
    return settle_node_names(p, n_before);
}

static bool has_enabled_rows(const opt_job *job) {
    bool is_any = false;
    for (uint32_t i = 0; i < job->provider->n; i++)
        is_any |= is_enabled(job->pass.options, &job->provider->rows[i]);
    return is_any;
}

/* The portable passes have nothing to do before the provider's have changed something. */
static hone_status run_provider(opt_job *job) {
    hn_pass *p = &job->pass;
    uint32_t n_before = p->model->graph->nodes.n;
    p->g = p->model->graph;
    p->is_opset_settled = true;
    if (!has_enabled_rows(job))
        return HONE_OK;
    for (uint32_t i = 0; i < hn_portable_passes.n; i++)
        job->clean_at[i] = job->serial;
    HN_TRY(look_at_graph(job));
    HN_TRY(run_group(job, HN_GROUP_PROVIDER));
    return settle_node_names(p, n_before);
}

static hone_status run_passes(opt_job *job, const hone_allocator *a) {
    hn_pass *p = &job->pass;
    p->scratch = hn_arena_new(a);
    p->rule_scratch = hn_arena_new(a);
    p->kept = hn_arena_new(a);
    p->wanted_opset = &job->wanted_opset;
    job->serial = 1;
    hone_status status = HONE_E_NOMEM;
    if (p->scratch && p->rule_scratch && p->kept)
        job->clean_at = HN_NEW_N(p->kept, uint64_t, (size_t)pass_row_count(job) + 1);
    if (job->clean_at)
        status = job->provider ? run_provider(job) : run_portable(job);
    hn_facts_free(p->facts);
    hn_arena_free(p->kept);
    hn_arena_free(p->scratch);
    hn_arena_free(p->rule_scratch);
    return hn_error_complete(p->err, status);
}

hone_status hn_optimize(hn_model *m, const hn_optimize_options *o, hn_opt_log *log,
                        hone_error *err) {
    opt_job job = {.pass = {.model = m, .options = o, .log = log, .err = err}};
    return run_passes(&job, hn_arena_allocator(m->arena));
}

hone_status hn_optimize_for_provider(hn_model *m, const hn_pass_table *passes,
                                     const hn_optimize_options *o, hn_opt_log *log,
                                     hone_error *err) {
    opt_job job = {.pass = {.model = m, .options = o, .log = log, .err = err}, .provider = passes};
    return run_passes(&job, hn_arena_allocator(m->arena));
}
