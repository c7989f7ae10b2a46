/* Trying rules at nodes, and applying what they write. */
#include "pass/engine/opt_log.h"
#include "pass/engine/pattern.h"

#define MAX_SWEEPS 64 /* over all nodes, in one run of a pass */

/* ---- applying -------------------------------------------------------------------------------- */

static bool is_disabled(const hn_pass *p, const char *rule) {
    size_t n = strlen(p->row->name);
    for (uint32_t i = 0; i < p->options->n_disabled; i++) {
        const char *d = p->options->disabled[i];
        if (strncmp(d, p->row->name, n) == 0 && d[n] == '.' && strcmp(d + n + 1, rule) == 0)
            return true;
    }
    return false;
}

bool hn_pass_may(const hn_pass *p, const char *rule) {
    if (p->log->rewrites.n >= p->options->stop_after) {
        p->log->is_stopped = true;
        return false;
    }
    return !is_disabled(p, rule);
}

static void fill_rule(hn_rule *r, hn_pass *p, const hn_rule_row *row, hn_id root) {
    *r = (hn_rule){.pass = p, .row = row, .g = p->g, .root = root, .before = root};
}

/* The import that an operator of another domain needs: the version that has it. */
static hone_status import_domain(hn_model *m, hn_str domain, hn_str op) {
    int since = 0;
    bool deprecated;
    if (hn_opset_version(&m->opsets, domain) >= 0)
        return HONE_OK;
    hn_op_find(hn_model_ops(m), hn_domain_find(hn_model_ops(m), domain->s, domain->n), hn_s(op),
               INT64_MAX, &since, &deprecated);
    hn_opset import = {.domain = domain, .version = HN_MAX(since, 1)};
    return HN_VEC_PUSH(m->arena, &m->opsets, import) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status learn_new_nodes(hn_pass *p, hn_id first) {
    HN_TRY(hn_facts_learn(p->facts));
    for (hn_id id = first; id < p->g->nodes.n; id++) {
        const hn_node *n = hn_node_at(p->g, id);
        if (!hn_domain_is_onnx(n->domain))
            HN_TRY(import_domain(p->model, n->domain, n->op));
        HN_TRY(hn_facts_visit(p->facts, id, p->err));
    }
    return HONE_OK;
}

static bool is_read(const hn_graph *g, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && hn_value_at(g, n->outputs[i])->uses.n > 0)
            return true;
    return false;
}

/* Removes the nodes that nobody reads any more, and what only they read. */
static hone_status remove_loose(hn_rule *r, uint32_t *n_removed) {
    hn_graph *g = r->pass->g;
    while (r->loose.n > 0) {
        hn_id id = r->loose.at[--r->loose.n];
        const hn_node *n = hn_node_at(g, id);
        if (n->block == HN_NONE || is_read(g, n))
            continue;
        for (uint32_t i = 0; i < n->n_inputs; i++) {
            hn_id value = n->inputs[i];
            hn_id maker = value == HN_NONE ? HN_NONE : hn_value_at(g, value)->producer;
            bool is_const = value != HN_NONE && hn_value_at(g, value)->init;
            if ((maker != HN_NONE && !HN_VEC_PUSH(r->pass->rule_scratch, &r->loose, maker)) ||
                (is_const && !HN_VEC_PUSH(r->pass->rule_scratch, &r->unread, value)))
                return HONE_E_NOMEM;
        }
        if (!hn_origins_collect(r, id))
            return HONE_E_NOMEM;
        hn_graph_remove_node(g, id);
        ++*n_removed;
    }
    return HONE_OK;
}

/* Constants that a rewrite has read for the last time need not stay in memory beside what was made
 * of them. */
static void let_constants_go(const hn_rule *r) {
    for (uint32_t i = 0; i < r->unread.n; i++) {
        const hn_value *v = hn_value_at(r->pass->g, r->unread.at[i]);
        if (v->init && v->uses.n == 0)
            hn_model_let_go(r->pass->model, v->init);
    }
}

/* Who takes the place of a value that is gone takes its name, too: inner values keep the names that
 * their author knows. (Outputs of the graph have changed names already.) */
static void keep_names(const hn_rule *r, hn_id first_new) {
    hn_graph *g = r->pass->g;
    for (uint32_t i = 0; i + 1 < r->replaced.n; i += 2) {
        hn_id old = r->replaced.at[i], with = r->replaced.at[i + 1];
        const hn_value *v = hn_value_at(g, old);
        bool is_gone = v->producer == HN_NONE && v->uses.n == 0 && !v->is_input && !v->init;
        if (is_gone && with >= first_new && hn_value_at(g, with)->block == v->block &&
            !hn_is_graph_output(r, with))
            hn_graph_swap_names(g, old, with);
    }
}

static hone_status apply_rewrite(hn_rule *r) {
    hn_pass *p = r->pass;
    hn_id first = p->g->nodes.n, first_value = p->g->values.n;
    uint32_t n_removed = 0;
    const char *label = hn_log_label(r);
    HN_TRY_PTR(label);
    HN_TRY(hn_patch_apply(r->patch, p->g, p->err));
    HN_TRY(learn_new_nodes(p, first));
    if (!HN_VEC_PUSH(p->rule_scratch, &r->loose, r->root))
        return HONE_E_NOMEM;
    HN_TRY(remove_loose(r, &n_removed));
    HN_TRY(hn_origins_give(r, first));
    let_constants_go(r);
    keep_names(r, first_value);
    p->n_rewrites++;
    return hn_log_rewrite(r, label, p->g->nodes.n - first, n_removed) ? HONE_OK : HONE_E_NOMEM;
}

/* Rules take what there is no memory to look at for something unknown; it is told here. */
static bool lacks_memory(const hn_pass *p) {
    return hn_arena_has_failed(p->rule_scratch) || hn_arena_has_failed(p->scratch) ||
           hn_arena_has_failed(p->model->arena);
}

/* A rule that writes nonsense is a bug of ours: the caller can switch it off by the name told. */
static hone_status settle_rewrite(hn_rule *r, hone_status status) {
    if (status == HONE_OK && lacks_memory(r->pass))
        return HONE_E_NOMEM;
    if (status == HONE_OK && r->is_rewritten)
        status = apply_rewrite(r);
    if (status != HONE_OK && status != HONE_E_NOMEM) {
        char who[200];
        hn_log_failure(r);
        hn_error_prefix(r->pass->err, "%s.%s at %s", r->pass->row->name, r->row->name,
                        hn_node_text(r->g, r->root, who, sizeof who));
    }
    return status;
}

typedef struct open_rewrite {
    hn_rule rule;
    hn_rule_row row;
} open_rewrite;

hn_rule *hn_rewrite_begin(hn_pass *p, const char *rule, hn_id root) {
    hn_arena_clear(p->rule_scratch);
    open_rewrite *open = HN_NEW(p->rule_scratch, open_rewrite);
    if (!open)
        return NULL;
    open->row.name = rule;
    fill_rule(&open->rule, p, &open->row, root);
    open->rule.patch = hn_patch_new(p->rule_scratch, p->g);
    return open->rule.patch ? &open->rule : NULL;
}

hone_status hn_rewrite_end(hn_rule *r) {
    r->is_rewritten = r->is_rewritten && hn_pass_may(r->pass, r->row->name);
    return settle_rewrite(r, HONE_OK);
}

/* ---- rules at nodes -------------------------------------------------------------------------- */

/* Rules that may begin at nodes of one operator, by their places in the set. */
typedef struct rule_list {
    uint32_t n;
    const uint32_t *rules;
} rule_list;

/* The rules of one pass, for the whole optimization: patterns are parsed once, and a node that no
 * pattern begins at costs one look into a map. */
struct hn_rule_index {
    struct hn_rule_index *next; /* of another pass */
    const hn_rule_row *rows;
    uint32_t n;
    hn_pattern **patterns;
    hn_map by_op; /* domain and name -> place in `lists` */
    HN_VEC(rule_list) lists;
};
typedef struct hn_rule_index rule_index;

static hone_status tell_near_miss(hn_rule *r, hn_strbuf *why) {
    hone_status status = why->failed ? HONE_E_NOMEM : HONE_OK;
    if (status == HONE_OK && why->n > 0)
        status = hn_miss(r, "%s", why->at);
    hn_strbuf_free(why);
    return status;
}

static hone_status try_rule(hn_pass *p, const rule_index *set, uint32_t i, hn_id node) {
    hn_rule r;
    hn_match match;
    hn_strbuf why;
    if (!hn_pass_may(p, set->rows[i].name))
        return HONE_OK;
    hn_arena_clear(p->rule_scratch);
    hn_strbuf_init(&why, hn_arena_allocator(p->rule_scratch));
    fill_rule(&r, p, &set->rows[i], node);
    r.match = &match;
    if (!hn_pattern_match(set->patterns[i], &r, &match, p->options->is_quiet ? NULL : &why))
        return tell_near_miss(&r, &why);
    hn_strbuf_free(&why);
    r.patch = hn_patch_new(p->rule_scratch, p->g);
    HN_TRY_PTR(r.patch);
    return settle_rewrite(&r, set->rows[i].fn(&r));
}

static hone_status list_rules(hn_pass *p, rule_index *set, const hn_node *n, rule_list *out) {
    uint32_t *rules = HN_NEW_N(p->kept, uint32_t, (size_t)set->n + 1);
    HN_TRY_PTR(rules);
    *out = (rule_list){.rules = rules};
    for (uint32_t i = 0; i < set->n; i++)
        if (hn_pattern_fits_root(set->patterns[i], n))
            rules[out->n++] = i;
    return HONE_OK;
}

static hone_status find_rules(hn_pass *p, rule_index *set, const hn_node *n, rule_list *out) {
    *out = (rule_list){0};
    if (n->opset_version || !n->op) /* rules think of the graph's version */
        return HONE_OK;
    uint64_t key = hn_key(n->domain ? n->domain->id + 1 : 0, n->op->id);
    uint32_t at = hn_map_get(&set->by_op, key);
    if (at == HN_MAP_NONE) {
        at = set->lists.n;
        HN_TRY(list_rules(p, set, n, out));
        if (!HN_VEC_PUSH(p->kept, &set->lists, *out) || !hn_map_put(&set->by_op, key, at))
            return HONE_E_NOMEM;
    }
    *out = set->lists.at[at];
    return HONE_OK;
}

/* Every rule that may begin at the node, until it is gone. */
static hone_status visit_node(hn_pass *p, rule_index *set, hn_id node) {
    rule_list list;
    if (hn_facts_is_invalid(p->facts, node))
        return HONE_OK;
    HN_TRY(find_rules(p, set, hn_node_at(p->g, node), &list));
    for (uint32_t i = 0; i < list.n && hn_node_at(p->g, node)->block != HN_NONE; i++)
        HN_TRY(try_rule(p, set, list.rules[i], node));
    return HONE_OK;
}

static hone_status sweep_block(hn_pass *p, rule_index *set, hn_id block) {
    const hn_block *b = hn_block_at(p->g, block);
    uint32_t n = b->nodes.n;
    hn_arena_mark mark = hn_arena_save(p->scratch);
    hn_id *nodes = hn_arena_copy(p->scratch, b->nodes.at, n * sizeof *nodes); /* the list changes */
    hone_status status = nodes ? HONE_OK : HONE_E_NOMEM;
    for (uint32_t i = 0; i < n && status == HONE_OK; i++)
        status = visit_node(p, set, nodes[i]);
    hn_arena_restore(p->scratch, mark);
    return status;
}

static hone_status parse_rules(hn_pass *p, rule_index *set) {
    set->patterns = HN_NEW_N(p->kept, hn_pattern *, (size_t)set->n + 1);
    HN_TRY_PTR(set->patterns);
    for (uint32_t i = 0; i < set->n; i++) {
        hone_status status =
            hn_pattern_parse(p->kept, set->rows[i].pattern, &set->patterns[i], p->err);
        if (status != HONE_OK)
            hn_error_prefix(p->err, "rule '%s'", set->rows[i].name);
        HN_TRY(status);
    }
    return HONE_OK;
}

static hone_status find_index(hn_pass *p, const hn_rule_row *rows, uint32_t n_rows,
                              rule_index **out) {
    for (*out = p->indexes; *out; *out = (*out)->next)
        if ((*out)->rows == rows)
            return HONE_OK;
    rule_index *set = HN_NEW(p->kept, rule_index);
    HN_TRY_PTR(set);
    *set = (rule_index){.next = p->indexes, .rows = rows, .n = n_rows};
    hn_map_init(&set->by_op, p->kept);
    HN_TRY(parse_rules(p, set));
    *out = p->indexes = set;
    return HONE_OK;
}

hone_status hn_pass_rules(hn_pass *p, const hn_rule_row *rows, uint32_t n_rows) {
    rule_index *set;
    HN_TRY(find_index(p, rows, n_rows, &set));
    for (uint32_t sweep = 0; n_rows && sweep < MAX_SWEEPS; sweep++) {
        uint32_t n_before = p->n_rewrites;
        for (hn_id block = p->g->blocks.n; block-- > 0;) /* inner blocks have larger ids */
            HN_TRY(sweep_block(p, set, block));
        if (p->n_rewrites == n_before)
            break;
    }
    return HONE_OK;
}
