/* Optimizes small models through the public API. */
#ifndef TEST_OPTIMIZE_MODEL_H
#define TEST_OPTIMIZE_MODEL_H

#include "run_model.h"

/* A model, its optimized version, and the report. */
typedef struct optimized {
    hone_model *before, *after;
    hone_optimization *report;
    hone_optimization_info info;
} optimized;

static inline optimized optimize_with(const char *text, const hone_optimize_options *options,
                                      const hone_load_options *load) {
    optimized o;
    expect_ok(load_text(text, load, &o.before, &error));
    expect_ok(hone_model_optimize(o.before, options, &o.after, &o.report, &error));
    hone_optimization_get_info(o.report, &o.info);
    return o;
}

static inline optimized optimize(const char *text, const hone_optimize_options *options) {
    return optimize_with(text, options, NULL);
}

static inline void optimized_free(optimized *o) {
    hone_optimization_free(o->report);
    hone_model_free(o->after);
    hone_model_free(o->before);
}

static inline hone_optimize_options default_options(void) {
    hone_optimize_options o;
    hone_optimize_options_init(&o);
    return o;
}

/* The operators of the main graph in order: "Relu my.Add". */
static inline void expect_operators(const hone_model *m, const char *expected) {
    const hone_graph *g = hone_model_graph(m);
    hone_subgraph_info top;
    char text[1024] = "";
    hone_graph_get_subgraph(g, 0, &top);
    for (uint32_t i = 0; i < top.n_nodes; i++) {
        hone_node_info n;
        hone_graph_get_node(g, top.nodes[i], &n);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s%s%s", i ? " " : "", n.domain,
                 *n.domain ? "." : "", n.op);
    }
    assert_string_equal(text, expected);
}

static inline uint32_t count_rewrites(const optimized *o, const char *pass, const char *rule) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->info.n_rewrites; i++) {
        hone_rewrite w;
        hone_optimization_get_rewrite(o->report, i, &w);
        n += strcmp(w.pass, pass) == 0 && (!rule || strcmp(w.rule, rule) == 0);
    }
    return n;
}

static inline void expect_near_miss(const optimized *o, const char *rule, const char *phrase) {
    for (uint32_t i = 0; i < o->info.n_near_misses; i++) {
        hone_near_miss m;
        hone_optimization_get_near_miss(o->report, i, &m);
        if (strcmp(m.rule, rule) == 0 && strstr(m.reason, phrase))
            return;
    }
    fail_msg("no near miss of %s says '%s'", rule, phrase);
}

/* Exactly one rule was disabled, for a reason with this phrase. */
static inline void expect_guilty(const optimized *o, const char *rule, const char *phrase) {
    hone_near_miss g;
    assert_int_equal(o->info.n_guilty, 1);
    hone_optimization_get_guilty(o->report, 0, &g);
    assert_string_equal(g.rule, rule);
    if (!strstr(g.reason, phrase))
        fail_msg("no '%s' in: %s", phrase, g.reason);
}

#endif /* TEST_OPTIMIZE_MODEL_H */
