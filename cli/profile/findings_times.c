/* Findings that times alone show: layout conversions, casts, chains bound by memory, threads that
 * wait, steps without a kernel, the first run. */
#include "profile/findings.h"

#include <stdlib.h>
#include <string.h>

static const double WORTH_TELLING = 0.01; /* of a run */
static const double SMALL_STEP_US = 100;  /* less is not worth waking a thread */

/* A set of nodes of the profile: their time, and the slowest of them. */
typedef struct node_set {
    double us;
    uint32_t n;
    uint64_t n_runs; /* executions in a run */
    const profile_node *slowest;
    const profile_node *inner; /* the slowest in a body; NULL: none */
} node_set;

static void add_node(const profile *p, const profile_node *n, node_set *set) {
    double us = profile_node_us(p, n);
    set->us += us;
    set->n++;
    set->n_runs += n->count / p->n_runs;
    if (!set->slowest || us > profile_node_us(p, set->slowest))
        set->slowest = n;
    if (n->is_inner && (!set->inner || us > profile_node_us(p, set->inner)))
        set->inner = n;
}

static double run_us_of(const profile *p) {
    return p->median_run_us;
}

static const char *plural(uint32_t n) {
    return n == 1 ? "" : "s";
}

static const char *optimize_command(const finding_input *in) {
    bool is_lower = in->level != HONE_LEVEL_ALL && in->level != HONE_LEVEL_EXTENDED;
    if (!in->model)
        return "";
    return profile_printf(
        in->p, is_lower ? "hone optimize %s -o optimized.onnx" : "hone optimize %s --explain",
        in->path);
}

/* ---- layouts and types ----------------------------------------------------------------------- */

static void find_transposes(const finding_input *in) {
    profile *p = in->p;
    node_set set = {0};
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const profile_node *n = &p->nodes[i];
        bool is_move = strcmp(n->op, "Transpose") == 0 || strstr(n->op, "ReorderInput") ||
                       strstr(n->op, "ReorderOutput");
        if (is_move && n->count && strcmp(n->kernel, "view") != 0)
            add_node(p, n, &set);
    }
    if (set.us < WORTH_TELLING * run_us_of(p) && !set.inner)
        return;
    profile_finding *f = profile_add_finding(p, "layout", set.us);
    if (!f)
        return;
    f->title = profile_printf(p, "%u layout conversion%s (Transpose) in a run%s", set.n,
                              plural(set.n), set.inner ? ", some in the body of a loop" : "");
    const profile_node *worst = set.inner ? set.inner : set.slowest;
    f->evidence = profile_printf(
        p, "%llu executions take %.3f ms; '%s' %s to %s takes %.3f ms%s",
        (unsigned long long)set.n_runs, 1e-3 * set.us, worst->label,
        trace_types_text(p, worst->inputs), trace_types_text(p, worst->outputs),
        1e-3 * profile_node_us(p, worst),
        set.inner ? "; what does not change in the loop can be transposed before it" : "");
    f->command = optimize_command(in);
}

static bool is_half(const char *type) {
    return strcmp(type, "float16") == 0 || strcmp(type, "bfloat16") == 0;
}

static bool casts_half(const profile_node *n) {
    int64_t dims[CLI_MAX_RANK];
    char from[32] = "", to[32] = "";
    if (strcmp(n->op, "Cast") != 0)
        return false;
    trace_dims(n->inputs, 0, dims, from);
    trace_dims(n->outputs, 0, dims, to);
    return is_half(from) != is_half(to);
}

static void find_half_casts(const finding_input *in) {
    profile *p = in->p;
    node_set set = {0};
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (p->nodes[i].count && casts_half(&p->nodes[i]))
            add_node(p, &p->nodes[i], &set);
    if (set.n < 2) /* one at the border of a model is its interface */
        return;
    profile_finding *f = profile_add_finding(p, "casts", set.us);
    if (!f)
        return;
    f->title = profile_printf(p, "%u casts between float and half precision in a run", set.n);
    f->evidence = profile_printf(
        p, "they take %.3f ms; the slowest is '%s' %s to %s", 1e-3 * set.us, set.slowest->label,
        trace_types_text(p, set.slowest->inputs), trace_types_text(p, set.slowest->outputs));
    f->command = in->model ? profile_printf(p,
                                            "hone optimize %s -o half.onnx --precision float16, "
                                            "or remove the casts where the model is exported",
                                            in->path)
                           : "";
}

/* ---- chains bound by memory ------------------------------------------------------------------ */

static bool is_chain_link(const profile *p, const profile_node *n) {
    return n->count && !n->is_inner && n->macs == 0 && n->output_bytes >= 1 << 16 &&
           profile_floor_us(p, n) > 0 && profile_is_memory_bound(p, n);
}

static bool has_shape_among(const char *shapes, const char *outputs) {
    int64_t dims[CLI_MAX_RANK], other[CLI_MAX_RANK];
    char type[32], other_type[32];
    int rank = trace_dims(outputs, 0, dims, type);
    for (int i = 0, r; (r = trace_dims(shapes, i, other, other_type)) >= 0; i++)
        if (r == rank && memcmp(dims, other, (size_t)rank * sizeof *dims) == 0)
            return true;
    return false;
}

/* Neighbours in the run: what one writes, the next one reads; fused, it would not leave the
 * cache. */
static void find_chains(const finding_input *in) {
    profile *p = in->p;
    double best_us = 0, best_saved = 0;
    uint32_t best = 0, n_best = 0;
    for (uint32_t i = 0; i < p->n_nodes;) {
        uint32_t n = 1;
        double us = profile_node_us(p, &p->nodes[i]), bytes = 0;
        if (!is_chain_link(p, &p->nodes[i])) {
            i++;
            continue;
        }
        while (i + n < p->n_nodes && is_chain_link(p, &p->nodes[i + n]) &&
               has_shape_among(p->nodes[i + n].inputs, p->nodes[i + n - 1].outputs)) {
            bytes += 2 * (double)p->nodes[i + n - 1].output_bytes;
            us += profile_node_us(p, &p->nodes[i + n++]);
        }
        double saved = p->peaks.read_bytes > 0 ? 1e6 * bytes / p->peaks.read_bytes : 0;
        saved = saved < us ? saved : us;
        if (n > 1 && saved > best_saved) {
            best = i;
            n_best = n;
            best_us = us;
            best_saved = saved;
        }
        i += n;
    }
    if (n_best < 2 || best_us < 3 * WORTH_TELLING * run_us_of(p))
        return;
    profile_finding *f = profile_add_finding(p, "memory-bound", best_saved);
    if (!f)
        return;
    f->title = profile_printf(p, "a chain of %u steps bound by memory", n_best);
    f->evidence =
        profile_printf(p, "'%s' (%s) to '%s' (%s) take %.3f ms and compute little",
                       p->nodes[best].label, p->nodes[best].op, p->nodes[best + n_best - 1].label,
                       p->nodes[best + n_best - 1].op, 1e-3 * best_us);
    f->command = optimize_command(in);
}

/* ---- threads, evaluation, first run ---------------------------------------------------------- */

static void find_idle_threads(const finding_input *in) {
    profile *p = in->p;
    node_set set = {0};
    for (uint32_t i = 0; p->n_threads > 1 && i < p->n_nodes; i++) {
        const profile_node *n = &p->nodes[i];
        if (n->count && !n->is_inner && n->worker_us < 0.1 * n->us)
            add_node(p, n, &set);
    }
    if (set.us < 10 * WORTH_TELLING * run_us_of(p))
        return;
    double saved = set.us * (1 - 1.0 / p->n_threads);
    profile_finding *f = profile_add_finding(p, "threads", saved);
    if (!f)
        return;
    f->title = profile_printf(p, "%u step%s use%s one of %u threads", set.n, plural(set.n),
                              set.n == 1 ? "s" : "", p->n_threads);
    f->evidence = profile_printf(p,
                                 "they take %.3f ms (%.0f %% of the nodes); the slowest is '%s', "
                                 "%.3f ms: %s",
                                 1e-3 * set.us, p->us > 0 ? 100 * set.us * p->n_runs / p->us : 0,
                                 set.slowest->label, 1e-3 * profile_node_us(p, set.slowest),
                                 set.slowest->least_us < SMALL_STEP_US
                                     ? "small steps do not pay for starting threads"
                                     : "it is not partitioned, or others used the processors");
    f->command = in->model ? profile_printf(p,
                                            "hone profile %s --threads 1: run several samples at "
                                            "once, one thread each, or as a larger batch",
                                            in->path)
                           : "";
}

static void find_evaluations(const finding_input *in) {
    profile *p = in->p;
    node_set set = {0};
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const profile_node *n = &p->nodes[i];
        if (n->count && !n->is_inner && strcmp(n->kernel, "evaluation") == 0 &&
            strcmp(n->domain, "hone") != 0 && /* those are made of kernels */
            strcmp(n->op, "If") != 0 && strcmp(n->op, "Loop") != 0 && strcmp(n->op, "Scan") != 0)
            add_node(p, n, &set);
    }
    if (set.us < 5 * WORTH_TELLING * run_us_of(p))
        return;
    profile_finding *f = profile_add_finding(p, "evaluation", set.us);
    if (!f)
        return;
    f->title = profile_printf(p, "%u step%s without a fast kernel", set.n, plural(set.n));
    f->evidence =
        profile_printf(p, "plain loops take %.3f ms; the slowest is '%s' (%s) of %s", 1e-3 * set.us,
                       set.slowest->label, set.slowest->op, set.slowest->inputs);
    f->command = optimize_command(in);
}

static double us_of_phase(const profile *p, const char *name) {
    double us = 0;
    for (uint32_t i = 0; i < p->n_phases; i++)
        us += strcmp(p->phases[i].name, name) == 0 ? p->phases[i].us : 0;
    return us;
}

static void find_first_run(const finding_input *in) {
    profile *p = in->p;
    double first_us = 0, make_us = us_of_phase(p, "session_initialization"),
           pack_us = us_of_phase(p, "plan_and_pack");
    for (uint32_t i = 0; i < p->n_phases; i++)
        first_us += p->phases[i].is_first ? p->phases[i].us : 0;
    double all_us = make_us + pack_us + first_us;
    if (all_us < 3e5 || all_us < 10 * run_us_of(p))
        return;
    profile_finding *f = profile_add_finding(p, "first-run", 0);
    if (!f)
        return;
    f->title =
        profile_printf(p, "the first result takes as long as %.0f runs", all_us / run_us_of(p));
    f->evidence =
        profile_printf(p,
                       "optimizing %.0f ms, planning and packing weights %.0f ms, first "
                       "run %.1f ms; a later run %.1f ms",
                       1e-3 * make_us, 1e-3 * pack_us, 1e-3 * first_us, 1e-3 * run_us_of(p));
    f->command =
        in->model ? profile_printf(p, "hone run %s --cache FOLDER (cache_dir in hone.h)", in->path)
                  : "";
}

void findings_of_times(const finding_input *in) {
    find_transposes(in);
    find_half_casts(in);
    find_chains(in);
    find_idle_threads(in);
    find_evaluations(in);
    find_first_run(in);
}
