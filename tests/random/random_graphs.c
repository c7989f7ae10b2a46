/* Grows random graphs and watches what the optimizer does to them.
 *
 * usage: random_graphs [--graphs N] [--seed N] [--only N] [--print] [--rules]
 *        random_graphs FILE.onnxtxt...
 *
 * Each graph depends on the seed and its number alone. It is run before and after the passes, in
 * every setup of contest.h: the result must be valid, keep inputs and outputs, and compute the
 * same. A graph that fails is made as small as it can be, and printed with the rewrite that did it.
 * --only repeats one graph, --print shows it as it was grown, --rules tells how often each rule was
 * at work. Files are models in which something was wrong once; they are held in the same way, on
 * made-up inputs. */
#include "damage/watchdog.h"
#include "prove/prove.h"
#include "random/contest.h"
#include "random/grow.h"
#include "random/shrink.h"

#include <stdio.h>
#include <stdlib.h>

#define WATCHDOG_SECONDS 60 /* of processor time, for one graph */

enum { MAX_COMPLAINTS = 20, MAX_RULES = 512 };

typedef struct options {
    uint64_t n_graphs, seed;
    uint64_t only; /* UINT64_MAX: all */
    bool print, rules;
    int n_files; /* models instead of random ones */
    char **files;
} options;

typedef struct rule_count {
    const char *pass;
    char rule[64];
    uint64_t n;
} rule_count;

typedef struct totals {
    uint64_t n_graphs, n_nodes, n_rewrites, n_unfit, n_complaints;
    rule_count rules[MAX_RULES];
    uint32_t n_rules;
} totals;

static void count_rewrites(totals *t, const hn_opt_log *log) {
    t->n_rewrites += log->rewrites.n;
    for (uint32_t i = 0; i < log->rewrites.n; i++) {
        const hn_rewrite *w = &log->rewrites.at[i];
        uint32_t k = 0;
        while (k < t->n_rules && (strcmp(t->rules[k].pass, w->pass->name) != 0 ||
                                  strcmp(t->rules[k].rule, w->rule) != 0))
            k++;
        if (k == MAX_RULES)
            continue;
        if (k == t->n_rules) {
            t->rules[t->n_rules++].pass = w->pass->name;
            snprintf(t->rules[k].rule, sizeof t->rules[k].rule, "%s", w->rule);
        }
        t->rules[k].n++;
    }
}

static void print_rules(const totals *t) {
    for (uint32_t i = 0; hn_pass_at(i); i++) {
        printf("%s:", hn_pass_at(i)->name);
        for (uint32_t k = 0; k < t->n_rules; k++)
            if (strcmp(t->rules[k].pass, hn_pass_at(i)->name) == 0)
                printf(" %s %llu", t->rules[k].rule, (unsigned long long)t->rules[k].n);
        printf("\n");
    }
}

/* ---- telling --------------------------------------------------------------------------------- */

static void print_model(const hn_model *m) {
    hn_print_options all = {.max_elems = UINT64_MAX};
    hn_strbuf text;
    hn_strbuf_init(&text, NULL);
    hn_model_print(m, &all, &text);
    if (!text.failed && text.n)
        fwrite(text.at, 1, text.n, stdout);
    hn_strbuf_free(&text);
}

static void print_inputs(const grown *g) {
    const hn_block *b = hn_block_at(g->model->graph, 0);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const hn_object *o = g->inputs[i];
        printf("// %s =", hn_s(hn_value_at(g->model->graph, b->inputs.at[i])->name));
        for (uint64_t k = 0; o && k < HN_MIN(o->array.n_elems, 24u); k++) {
            double v;
            hn_load_f64(&o->array, k, 1, &v);
            printf(" %.9g", v);
        }
        printf("%s\n", o ? "" : " its own");
    }
}

static void report(const options *o, uint64_t number, grown *g, const contest_setup *s,
                   const char *complaint) {
    char guilty[256] = "nobody", again[512] = "";
    hone_error err = {0};
    contest c;
    printf("graph %llu (seed %llu), %s: %s\n", (unsigned long long)number,
           (unsigned long long)o->seed, s->name, complaint);
    fflush(stdout);
    shrink(g, s);
    if (contest_open(&c, g->model, g->heap, g->n_inputs, g->inputs, &err)) {
        hn_opt_log *log = hn_opt_log_new(NULL);
        if (log)
            contest_hold(&c, s, UINT32_MAX, log, again, sizeof again);
        hn_opt_log_free(log);
        contest_blame(&c, s, guilty, sizeof guilty);
    }
    contest_close(&c);
    printf("smaller: %s, by %s\n", again, guilty);
    print_model(g->model);
    print_inputs(g);
    fflush(stdout);
}

/* ---- one graph ------------------------------------------------------------------------------- */

/* In every setup; true: nothing to complain. */
static bool hold_all(const options *o, uint64_t number, grown *g, totals *t) {
    char complaint[512];
    hone_error err = {0};
    contest c;
    const contest_setup *lost = NULL;
    if (!contest_open(&c, g->model, g->heap, g->n_inputs, g->inputs, &err)) {
        t->n_unfit++;
        if (o->only != UINT64_MAX)
            printf("graph %llu does not run: %s\n", (unsigned long long)number, err.message);
        contest_close(&c);
        return true;
    }
    for (uint32_t i = 0; i < n_contest_setups && !lost; i++) {
        hn_opt_log *log = hn_opt_log_new(NULL);
        if (!log)
            grow_fail("no memory");
        if (!contest_hold(&c, &contest_setups[i], UINT32_MAX, log, complaint, sizeof complaint))
            lost = &contest_setups[i];
        count_rewrites(t, log);
        hn_opt_log_free(log);
    }
    contest_close(&c);
    t->n_graphs++;
    t->n_nodes += hn_block_at(g->model->graph, 0)->nodes.n;
    if (lost)
        report(o, number, g, lost, complaint);
    return !lost;
}

static void try_graph(const options *o, uint64_t number, totals *t) {
    grown g;
    if (!grow_model(o->seed + number * UINT64_C(0x9E3779B97F4A7C15), &g)) {
        t->n_unfit++;
        return;
    }
    if (o->print) {
        print_model(g.model);
        print_inputs(&g);
    }
    if (!hold_all(o, number, &g, t))
        t->n_complaints++;
    grown_free(&g);
}

/* ---- files ----------------------------------------------------------------------------------- */

static hn_model *read_model(const char *path) {
    hn_filemap map;
    hn_model *m;
    hone_error err = {0};
    if (hn_filemap_open(path, &map, &err) != HONE_OK ||
        hn_model_parse(map.bytes.at, (size_t)map.bytes.n, NULL, &m, &err) != HONE_OK)
        grow_fail(err.message);
    hn_filemap_close(&map);
    return m;
}

/* What samples make up becomes the graph's. */
static grown grown_from(hn_model *m, uint64_t seed) {
    grown g = {
        .model = m, .heap = hn_heap_new(NULL), .n_inputs = hn_block_at(m->graph, 0)->inputs.n};
    hone_error err = {0};
    hn_samples *s;
    g.inputs = calloc((size_t)g.n_inputs + 1, sizeof *g.inputs);
    if (!g.heap || !g.inputs || hn_samples_make(m, seed, &s, &err) != HONE_OK)
        grow_fail(err.message);
    for (uint32_t i = 0; i < g.n_inputs; i++)
        g.inputs[i] = s->inputs[i] ? hn_heap_copy(g.heap, s->inputs[i]) : NULL;
    hn_samples_free(s);
    return g;
}

static int run_files(void *ctx, watch_progress *p) {
    const options *o = ctx;
    static totals t;
    for (int i = 0; i < o->n_files; i++) {
        watch_begin(p, (uint64_t)i, WATCHDOG_SECONDS);
        grown g = grown_from(read_model(o->files[i]), o->seed);
        uint64_t n_before = t.n_graphs;
        if (!hold_all(o, (uint64_t)i, &g, &t) || t.n_graphs == n_before) {
            printf("%s: failed, or does not run\n", o->files[i]);
            t.n_complaints++;
        }
        grown_free(&g);
    }
    p->is_done = true;
    return t.n_complaints > 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static options read_options(int argc, char **argv) {
    options o = {.n_graphs = 2000, .seed = 1, .only = UINT64_MAX};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--graphs") == 0)
            o.n_graphs = strtoull(argv[++i], NULL, 10);
        else if (has_value && strcmp(argv[i], "--seed") == 0)
            o.seed = strtoull(argv[++i], NULL, 10);
        else if (has_value && strcmp(argv[i], "--only") == 0)
            o.only = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--print") == 0)
            o.print = true;
        else if (strcmp(argv[i], "--rules") == 0)
            o.rules = true;
        else if (argv[i][0] == '-')
            grow_fail(
                "usage: random_graphs [--graphs N] [--seed N] [--only N] [--print] [--rules]");
        else {
            o.files = argv + i;
            o.n_files = argc - i;
            break;
        }
    }
    return o;
}

/* Graphs that cannot be used do not count: there are as many others. */
static int run_graphs(void *ctx, watch_progress *p) {
    const options *o = ctx;
    static totals t;
    uint64_t number = o->only == UINT64_MAX ? 0 : o->only;
    uint64_t n_wanted = o->only == UINT64_MAX ? o->n_graphs : 1;
    for (uint64_t i = 0; t.n_graphs < n_wanted && i < 2 * n_wanted; i++, number++) {
        watch_begin(p, number, WATCHDOG_SECONDS);
        try_graph(o, number, &t);
        if (t.n_complaints == MAX_COMPLAINTS || o->only != UINT64_MAX)
            break;
    }
    printf("%llu graphs (seed %llu) with %llu nodes in %u setups: %llu rewrites, %llu complaints; "
           "%llu came to nothing\n",
           (unsigned long long)t.n_graphs, (unsigned long long)o->seed,
           (unsigned long long)t.n_nodes, n_contest_setups, (unsigned long long)t.n_rewrites,
           (unsigned long long)t.n_complaints, (unsigned long long)t.n_unfit);
    if (o->rules)
        print_rules(&t);
    p->is_done = true;
    return t.n_complaints > 0 || (o->only == UINT64_MAX && t.n_graphs < n_wanted);
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    uint64_t last;
    return watch_child("graph", o.seed, o.n_files ? run_files : run_graphs, &o, &last) ? 1 : 0;
}
