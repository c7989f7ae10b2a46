/* An earlier result: the change against it, and the exit status of --fail-above. */
#include <string.h>

#include "bench/bench_runtime.h"

/* ---- reading --------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool member_is(const json_tree *t, const json_node *object, const char *key,
                      const char *text) {
    const json_node *m = json_member(t, object, key);
    return m && m->kind == JSON_TEXT && strcmp(base_name(m->text), text) == 0;
}

static bool member_counts(const json_tree *t, const json_node *object, const char *key,
                          uint64_t n) {
    uint64_t count;
    const json_node *m = json_member(t, object, key);
    return m && json_count(m, &count) && count == n;
}

static bool is_same_case(const json_tree *t, const json_node *result, const bench_setup *s) {
    return member_is(t, result, "model", base_name(s->path)) &&
           member_is(t, result, "runtime", s->runtime->name) &&
           member_is(t, result, "level", bench_level_name(s->level)) &&
           member_counts(t, result, "threads", s->threads) &&
           member_counts(t, result, "sessions", s->concurrent) &&
           member_counts(t, result, "batch", s->batch);
}

static bool member_seconds(const json_tree *t, const json_node *object, const char *key,
                           double *seconds) {
    const json_node *m = json_member(t, object, key);
    *seconds = m && m->kind == JSON_NUMBER ? m->number : 0;
    return *seconds > 0 && *seconds < 1e9;
}

static bool compare_result(const json_tree *t, const json_node *result, const char *path,
                           bench_case *c) {
    const json_node *latency = json_member(t, result, "latency");
    const json_node *ends = latency ? json_member(t, latency, "median_interval") : NULL;
    const json_node *low = ends ? json_first(t, ends) : NULL;
    const json_node *high = low ? json_next(t, low) : NULL;
    double median;
    if (!latency || !member_seconds(t, latency, "p50", &median) || !high || !(low->number > 0) ||
        !(high->number >= low->number && high->number < 1e9)) {
        cli_fail("--baseline '%s': the result of '%s' has no median of its latency with an "
                 "interval; write baselines with `hone bench --json`",
                 path, c->setup.path);
        return false;
    }
    bench_interval of_old = {low->number, high->number};
    bench_compare_medians(median, &of_old, c->stats.p50, &c->stats.median, &c->against_baseline);
    c->baseline_median = median;
    c->has_baseline = true;
    return true;
}

bool bench_open_baseline(bench_cases *cases) {
    const char *path = cases->options->baseline;
    cli_buffer file = {0};
    hone_error error = {0};
    if (!path)
        return true;
    bool ok = cli_file_read(path, &file, &error) &&
              json_tree_parse(&file, path, &cases->baseline, &error);
    cli_buffer_free(&file);
    const json_tree *t = &cases->baseline;
    const json_node *results = ok ? json_member(t, t->nodes, "results") : NULL;
    if (!ok)
        cli_fail("--baseline: %s", error.message);
    else if (!results || results->kind != JSON_ARRAY || !results->n)
        cli_fail("--baseline '%s' has no results; write baselines with `hone bench --json`", path);
    return results && results->kind == JSON_ARRAY && results->n;
}

bool bench_compare_baseline(bench_cases *cases) {
    const json_tree *t = &cases->baseline;
    const char *path = cases->options->baseline;
    if (!path)
        return true;
    const json_node *results = json_member(t, t->nodes, "results");
    size_t n_found = 0;
    for (size_t i = 0; i < cases->n; i++) {
        bench_case *c = &cases->at[i];
        const json_node *r = json_first(t, results);
        bool is_only = cases->n == 1 && results->n == 1; /* whatever it is called now */
        while (r && !is_only && !is_same_case(t, r, &c->setup))
            r = json_next(t, r);
        if (r && !compare_result(t, r, path, c))
            return false;
        n_found += r != NULL;
    }
    if (!n_found)
        cli_fail("--baseline '%s' has no result of these models, runtimes, levels, threads, "
                 "sessions and batches",
                 path);
    return n_found > 0;
}

/* ---- judging --------------------------------------------------------------------------------- */

int bench_judge(const bench_cases *cases) {
    const bench_options *o = cases->options;
    int status = EXIT_OK;
    for (size_t i = 0; o->fail_ratio > 0 && i < cases->n; i++) {
        const bench_case *c = &cases->at[i];
        const bench_change *change = o->baseline ? &c->against_baseline : &c->against_first;
        if ((o->baseline && !c->has_baseline) || !change->is_larger_than_noise ||
            change->ratio <= o->fail_ratio)
            continue;
        status = cli_fail("'%s' takes %.1f %% longer than %s: more than --fail-above %s", c->label,
                          100 * (change->ratio - 1),
                          o->baseline ? "the baseline" : cases->at[0].label, o->fail_above);
    }
    return status;
}
