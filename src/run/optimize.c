/* Programs of optimized graphs: the passes run on the program's own copy of the model. */
#include "run/session.h"

#include "run/cache.h"

#define MAX_SWITCHED_OFF 32 /* rules; then the graph is run as it is */

/* What one attempt uses and leaves for the next one. */
typedef struct attempt {
    hn_optimize_options options;
    const hn_program_options *program;
    hn_arena *arena;
    HN_VEC(const char *) disabled;
    bool has_failed_rule;
} attempt;

static hone_status remember_failure(attempt *a, const hn_near_miss *failed) {
    const char *name = hn_arena_printf(a->arena, "%s%s%s", failed->pass->name,
                                       *failed->rule ? "." : "", failed->rule);
    a->has_failed_rule = true;
    return name && HN_VEC_PUSH(a->arena, &a->disabled, name) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status optimize_graph(void *ctx, hn_model *m, hone_error *err) {
    attempt *a = ctx;
    hn_opt_log *log = hn_opt_log_new(hn_arena_allocator(m->arena));
    HN_TRY_PTR(log);
    a->options.n_disabled = a->disabled.n;
    a->options.disabled = a->disabled.at;
    hone_status status = hn_optimize_for_session(m, a->program, &a->options, log, err);
    if (status != HONE_OK && status != HONE_E_NOMEM && log->failed.pass)
        status = remember_failure(a, &log->failed) == HONE_OK ? status : HONE_E_NOMEM;
    hn_opt_log_free(log);
    return status;
}

/* A rule that fails is a bug, but no reason not to run: the next attempt does without it. */
static hone_status try_programs(const hn_model *m, const hn_program_options *o, attempt *a,
                                hn_program **out, hone_error *err) {
    hn_program_options with_passes = *o;
    with_passes.rewrite = optimize_graph;
    with_passes.rewrite_ctx = a;
    for (;;) {
        a->has_failed_rule = false;
        hone_status status =
            hn_program_new(m, a->disabled.n < MAX_SWITCHED_OFF ? &with_passes : o, out, err);
        if (status == HONE_OK || status == HONE_E_NOMEM || !a->has_failed_rule)
            return status;
        hn_error_clear(err);
    }
}

/* ---- graphs of earlier processes ------------------------------------------------------------- */

/* Dimensions have their sizes in such a graph. One that cannot be run is left aside. */
static hone_status take_kept_graph(const hn_model *m, const hn_program_options *o,
                                   hn_program **out) {
    hn_model *graph;
    hn_program_options rest = *o;
    rest.n_dims = 0;
    *out = NULL;
    HN_TRY(hn_cache_take_graph(o->cache, m, &graph));
    if (!graph)
        return HONE_OK;
    hone_status status = hn_providers_add_ops(graph, o, NULL);
    if (status == HONE_OK)
        status = hn_program_adopt(graph, m, &rest, out, NULL);
    else
        hn_model_free(graph);
    return status == HONE_E_NOMEM ? status : HONE_OK;
}

static hone_status keep_graph(const hn_model *m, hn_cache *cache, hn_program **program) {
    hone_status status = hn_cache_put_graph(cache, m, (*program)->model);
    if (status == HONE_OK)
        return status;
    hn_program_free(*program);
    *program = NULL;
    return status;
}

hone_status hn_program_optimized(const hn_model *m, hn_level level, const hn_program_options *o,
                                 hn_program **out, hone_error *err) {
    static const hn_program_options none;
    o = o ? o : &none;
    if (level == HN_LEVEL_NONE)
        return hn_program_new(m, o, out, err);
    if (o->cache)
        HN_TRY(take_kept_graph(m, o, out));
    if (o->cache && *out)
        return HONE_OK;
    attempt a = {.program = o, .arena = hn_arena_new(hn_arena_allocator(m->arena))};
    if (!a.arena)
        return HONE_E_NOMEM;
    hn_optimize_options_init(&a.options);
    a.options.level = level;
    a.options.target = HN_TARGET_SESSION;
    a.options.split = o->split;
    a.options.is_quiet = a.options.defer_weights = a.options.keep_origins = true;
    a.options.max_opset = HN_LATEST_OPSET;
    hone_status status = try_programs(m, o, &a, out, err);
    hn_arena_free(a.arena);
    if (status == HONE_OK && o->cache)
        status = keep_graph(m, o->cache, out);
    return status;
}
