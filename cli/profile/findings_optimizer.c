/* Findings of the optimizer: what it would fuse at a higher level, measured, and what it nearly
 * could. */
#include "profile/findings.h"
#include "profile/profile_run.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NEAR_MISSES = 5 };

/* ---- a higher level -------------------------------------------------------------------------- */

/* The rewrites by rule, those at the most nodes first: "fold-affine.conv-batchnorm at bn1". */
static const char *list_rewrites(const finding_input *in, const hone_optimization *report) {
    hone_optimization_info info;
    cli_buffer text = {0};
    hone_optimization_get_info(report, &info);
    for (uint32_t i = 0, n = 0; i < info.n_rewrites && n < 4; i++) {
        hone_rewrite r, before;
        bool is_new = true;
        hone_optimization_get_rewrite(report, i, &r);
        for (uint32_t k = 0; k < i && is_new; k++) {
            hone_optimization_get_rewrite(report, k, &before);
            is_new = strcmp(before.rule, r.rule) != 0;
        }
        if (is_new)
            cli_buffer_printf(&text, "%s%s.%s at '%s'", n++ ? ", " : "", r.pass, r.rule, r.node);
    }
    cli_buffer_add(&text, "", 1);
    const char *kept = text.failed ? "" : profile_text(in->p, (const char *)text.at);
    cli_buffer_free(&text);
    return kept;
}

/* The run at level all, as it was recorded at this one. */
static double us_at_level_all(const finding_input *in, const finding_level *level) {
    profile p = {0};
    hone_error error;
    cli_progress progress;
    profile_runs runs = {.model = (hone_model *)(uintptr_t)in->model,
                         .path = in->path,
                         .session = level->session,
                         .feed = level->feed,
                         .n_runs = 3,
                         .progress = &progress};
    runs.session.level = HONE_LEVEL_ALL;
    cli_progress_begin(&progress, "running at level all", "runs");
    bool ok = profile_record(&runs, &p, &error);
    cli_progress_end(&progress);
    double us = ok ? p.median_run_us : 0;
    profile_free(&p);
    return us;
}

static void find_higher_level(const finding_input *in, const hone_optimization *report) {
    hone_optimization_info info;
    hone_optimization_get_info(report, &info);
    if (in->level == HONE_LEVEL_ALL || !in->at_level || info.n_rewrites == 0)
        return;
    double before_us = in->p->median_run_us, us = us_at_level_all(in, in->at_level);
    profile_finding *f =
        us > 0 ? profile_add_finding(in->p, "unfused", before_us > us ? before_us - us : 0) : NULL;
    if (!f)
        return;
    f->title = profile_printf(in->p, "%u rewrite%s %s not made at this level", info.n_rewrites,
                              info.n_rewrites == 1 ? "" : "s", info.n_rewrites == 1 ? "is" : "are");
    f->evidence = profile_printf(in->p, "a run at level all takes %.3f ms instead of %.3f ms: %s",
                                 1e-3 * us, 1e-3 * before_us, list_rewrites(in, report));
    f->command =
        profile_printf(in->p, "hone optimize %s -o optimized.onnx, or leave --level out", in->path);
}

/* ---- near misses ----------------------------------------------------------------------------- */

/* Near misses of one rule for one reason. */
typedef struct miss_group {
    hone_near_miss first;
    uint32_t n;
    double us;
} miss_group;

static int costlier_miss_first(const void *a, const void *b) {
    const miss_group *x = a, *y = b;
    return x->us != y->us ? (x->us < y->us ? 1 : -1) : strcmp(x->first.node, y->first.node);
}

static uint32_t group_misses(const finding_input *in, const hone_optimization *report,
                             miss_group *groups, uint32_t n_misses) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_misses; i++) {
        hone_near_miss miss;
        uint32_t at = 0;
        hone_optimization_get_near_miss(report, i, &miss);
        while (at < n && (strcmp(groups[at].first.rule, miss.rule) != 0 ||
                          strcmp(groups[at].first.reason, miss.reason) != 0))
            at++;
        if (at == n)
            groups[n++] = (miss_group){.first = miss};
        groups[at].n++;
        groups[at].us += finding_us_of_node(in->p, miss.node);
    }
    return n;
}

static void find_near_misses(const finding_input *in, const hone_optimization *report) {
    hone_optimization_info info;
    hone_optimization_get_info(report, &info);
    miss_group *groups = calloc((size_t)info.n_near_misses + 1, sizeof *groups);
    uint32_t n = groups ? group_misses(in, report, groups, info.n_near_misses) : 0;
    double run_us = in->p->median_run_us;
    if (n)
        qsort(groups, n, sizeof *groups, costlier_miss_first);
    for (uint32_t i = 0; i < n && i < MOST_NEAR_MISSES && groups[i].us > 0.01 * run_us; i++) {
        const miss_group *m = &groups[i];
        profile_finding *f = profile_add_finding(in->p, "near-miss", m->us);
        if (!f)
            break;
        f->title = profile_printf(in->p, "%s.%s nearly fits at '%s'", m->first.pass, m->first.rule,
                                  m->first.node);
        f->evidence =
            profile_printf(in->p, "%s; %u node%s of this kind take%s %.3f ms", m->first.reason,
                           m->n, m->n == 1 ? "" : "s", m->n == 1 ? "s" : "", 1e-3 * m->us);
        f->command = profile_printf(in->p, "hone optimize %s --explain", in->path);
    }
    free(groups);
}

void findings_of_optimizer(const finding_input *in) {
    hone_optimize_options options;
    hone_optimization *report = NULL;
    hone_model *optimized = NULL;
    hone_error error;
    hone_optimize_options_init(&options);
    options.target = HONE_TARGET_ONNXRUNTIME;
    if (hone_model_optimize(in->model, &options, &optimized, &report, &error) != HONE_OK)
        return;
    find_higher_level(in, report);
    find_near_misses(in, report);
    hone_optimization_free(report);
    hone_model_free(optimized);
}
