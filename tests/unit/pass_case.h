/* Passes on models given as text: checks the resulting graph and that results do not change. */
#ifndef TEST_PASS_CASE_H
#define TEST_PASS_CASE_H

#include "model_text.h"
#include "prove/prove.h"
#include "run/session.h"

typedef struct pass_case {
    const char *passes; /* names with commas, run to a fixpoint; NULL: use the level */
    hn_level level;     /* when no passes are named */
    hn_target target;
    int64_t max_opset;
    hn_precision precision;
    const char *text;
    const char
        *expected; /* the same text: no rewrite expected; names of inner values do not matter */
    double bound;  /* on the results, relative to the largest; 0: 1e-6 */
    bool distrusts_names; /* as for files: inputs whose dimensions share a name may differ */
} pass_case;

/* Names inner values by their order, so that two graphs with the same structure have the same
 * text. */
static inline void forget_names(hn_model *m) {
    hn_graph *g = m->graph;
    for (hn_id id = 0; id < g->values.n; id++) {
        hn_value *v = hn_value_at(g, id);
        bool is_output = false;
        for (uint32_t i = 0; i < v->uses.n; i++)
            is_output |= v->uses.at[i].node == HN_NONE && v->uses.at[i].slot == 0;
        if (!v->is_input && !is_output && v->name)
            hn_graph_rename(g, id, hn_internf(m->names, "?%u", id));
    }
    uint32_t n = 0;
    for (hn_id b = 0; b < g->blocks.n; b++) {
        hn_block *block = hn_block_at(g, b);
        block->value_infos.n = 0;
        for (uint32_t i = 0; i < block->nodes.n; i++) {
            const hn_node *node = hn_node_at(g, block->nodes.at[i]);
            for (uint32_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
                hn_id id = k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
                if (id != HN_NONE && hn_s(hn_value_at(g, id)->name)[0] == '?')
                    hn_graph_rename(g, id, hn_internf(m->names, "v%u", n++));
            }
        }
    }
}

/* Sorts initializers by their new names: their order in the file does not matter. */
static inline int compare_inits(const void *a, const void *b) {
    const hn_value *const *x = a, *const *y = b;
    int d = (int)(*x)->name->n - (int)(*y)->name->n;
    return d ? d : strcmp(hn_s((*x)->name), hn_s((*y)->name));
}

static inline void sort_inits(hn_graph *g) {
    for (hn_id b = 0; b < g->blocks.n; b++) {
        hn_block *block = hn_block_at(g, b);
        const hn_value *sorted[256];
        assert_true(block->inits.n <= HN_COUNT(sorted));
        for (uint32_t i = 0; i < block->inits.n; i++)
            sorted[i] = hn_value_at(g, block->inits.at[i]);
        qsort(sorted, block->inits.n, sizeof *sorted, compare_inits);
        for (uint32_t i = 0; i < block->inits.n; i++)
            block->inits.at[i] = (hn_id)(sorted[i] - g->values.at);
    }
}

static inline void tidy(hn_model *m) {
    hn_graph_remove_dead(m->graph, true);
    forget_names(m);
    sort_inits(m->graph);
}

static inline hn_optimize_options options_of(const pass_case *c, char *names, const char **list) {
    hn_optimize_options o;
    hn_optimize_options_init(&o);
    o.level = c->level;
    o.target = c->target;
    o.max_opset = c->max_opset;
    o.trusts_names = !c->distrusts_names;
    o.precision = c->precision;
    o.only = list;
    strcpy(names, c->passes ? c->passes : "");
    for (char *at = strtok(names, ","); at; at = strtok(NULL, ","))
        list[o.n_only++] = at;
    return o;
}

/* Sessions go on with the passes of the provider. */
static inline hone_status optimize_case(hn_model *m, const hn_optimize_options *o, hn_opt_log *log,
                                        hone_error *err) {
    return o->target == HN_TARGET_SESSION ? hn_optimize_for_session(m, NULL, o, log, err)
                                          : hn_optimize(m, o, log, err);
}

/* The model as the passes leave it; the log when wanted. */
static inline hn_model *optimized_from(const pass_case *c, hn_opt_log **log_out) {
    char names[512];
    const char *list[32];
    hone_error err = {0};
    hn_optimize_options o = options_of(c, names, list);
    hn_model *m = model_from(c->text);
    hn_opt_log *log = hn_opt_log_new(NULL);
    if (optimize_case(m, &o, log, &err) != HONE_OK)
        fail_msg("%s\nin\n%s", err.message, c->text);
    expect_sound(m);
    if (log_out)
        *log_out = log;
    else
        hn_opt_log_free(log);
    return m;
}

static inline void expect_same_results(const pass_case *c, const hn_model *after) {
    hn_model *before = model_from(c->text);
    hone_error err = {0};
    hn_samples *s = NULL, *t = NULL;
    hn_difference d;
    if (hn_samples_make(before, 1, &s, &err) != HONE_OK ||
        hn_samples_make(before, 1, &t, &err) != HONE_OK)
        fail_msg("%s\nin\n%s", err.message, c->text);
    if (hn_samples_run(s, before, &err) != HONE_OK)
        fail_msg("before: %s\nin\n%s", err.message, c->text);
    if (hn_samples_run(t, after, &err) != HONE_OK)
        fail_msg("after: %s\nin\n%s", err.message, c->text);
    hn_samples_compare(s->n_outputs, s->outputs, t->outputs, &d);
    if (d.is_other_type || d.max_relative > (c->bound > 0 ? c->bound : 1e-6))
        fail_msg("output %u differs: %g (relative %g, other type %d) in\n%s", d.output, d.max_abs,
                 d.max_relative, d.is_other_type, c->text);
    hn_samples_free(s);
    hn_samples_free(t);
    hn_model_free(before);
}

static inline void expect_pass(const pass_case *c) {
    hn_model *m = optimized_from(c, NULL);
    expect_same_results(c, m);
    hn_model *expected = model_from(c->expected);
    tidy(m);
    tidy(expected);
    expect_same_text(m, expected);
    hn_model_free(expected);
    hn_model_free(m);
}

static inline void expect_passes(const pass_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect_pass(&cases[i]);
}

/* The log has a near miss of this rule whose reason contains this part. */
static inline void expect_miss(const pass_case *c, const char *rule, const char *part) {
    hn_opt_log *log;
    hn_model *m = optimized_from(c, &log);
    for (uint32_t i = 0; i < log->misses.n; i++)
        if (strcmp(log->misses.at[i].rule, rule) == 0 && strstr(log->misses.at[i].reason, part)) {
            hn_opt_log_free(log);
            hn_model_free(m);
            return;
        }
    fail_msg("no near miss of %s says '%s' (%u others) in\n%s", rule, part, log->misses.n, c->text);
}

#endif /* TEST_PASS_CASE_H */
