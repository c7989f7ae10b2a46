/* The providers of this build, and what they add to the passes. */
#include "cpu/provider_cpu.h"
#include "run/session.h"

const hn_provider *const hn_builtin_providers[] = {&hn_cpu_provider, NULL};

const hn_pass_row *hn_pass_at(uint32_t i) {
    const hn_pass_table *table = &hn_portable_passes;
    for (uint32_t next = 0; i >= table->n;) {
        const hn_provider *provider = hn_builtin_providers[next++];
        if (!provider)
            return NULL;
        if (!provider->passes)
            continue;
        i -= table->n;
        table = provider->passes;
    }
    return &table->rows[i];
}

const hn_pass_row *hn_pass_find(const char *name, size_t n) {
    const hn_pass_row *row;
    for (uint32_t i = 0; (row = hn_pass_at(i)) != NULL; i++)
        if (strlen(row->name) == n && memcmp(row->name, name, n) == 0)
            return row;
    return NULL;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static bool is_named_before(const hn_program_options *o, uint32_t i) {
    for (uint32_t k = 0; o && i < o->n_providers && k < i; k++)
        if (strcmp(o->providers[k], o->providers[i]) == 0)
            return true;
    return false;
}

hone_status hn_providers_add_ops(hn_model *m, const hn_program_options *program, hone_error *err) {
    const hn_provider *provider;
    for (uint32_t i = 0;; i++) {
        HN_TRY(hn_program_provider(program, i, &provider, err));
        if (!provider)
            return HONE_OK;
        if (provider->ops)
            HN_TRY(hn_model_add_ops(m, provider->ops));
    }
}

static bool has_unknown_ops(const hn_graph *g) {
    int since;
    bool deprecated;
    for (hn_id id = 0; id < g->nodes.n; id++)
        if (hn_node_at(g, id)->block != HN_NONE &&
            !hn_node_op(g, hn_node_at(g, id), &since, &deprecated))
            return true;
    return false;
}

/* A graph that several providers share is widened only when none of them wants half precision. */
static hone_status wants_float(const hn_program_options *program, bool *out, hone_error *err) {
    const hn_provider *provider;
    *out = true;
    for (uint32_t i = 0;; i++) {
        HN_TRY(hn_program_provider(program, i, &provider, err));
        if (!provider)
            return HONE_OK;
        *out &= provider->computes_in_float;
    }
}

hone_status hn_optimize_for_session(hn_model *m, const hn_program_options *program,
                                    const hn_optimize_options *o, hn_opt_log *log,
                                    hone_error *err) {
    const hn_provider *provider;
    hn_optimize_options portable = *o;
    HN_TRY(wants_float(program, &portable.widen_half, err));
    HN_TRY(hn_optimize(m, &portable, log, err));
    if (has_unknown_ops(m->graph)) /* refused by the program; providers must not make them known */
        return HONE_OK;
    HN_TRY(hn_providers_add_ops(m, program, err));
    for (uint32_t i = 0;; i++) {
        HN_TRY(hn_program_provider(program, i, &provider, err));
        if (!provider)
            return HONE_OK;
        if (provider->rewrite && !is_named_before(program, i))
            HN_TRY(provider->rewrite(m, o, log, err));
    }
}
