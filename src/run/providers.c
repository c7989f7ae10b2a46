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

static hone_status rewrite_by_providers(hn_model *m, const hn_program_options *program,
                                        const hn_optimize_options *o, hn_opt_log *log,
                                        hone_error *err) {
    const hn_provider *provider;
    for (uint32_t i = 0;; i++) {
        HN_TRY(hn_program_provider(program, i, &provider, err));
        if (!provider)
            return HONE_OK;
        if (provider->rewrite && !is_named_before(program, i))
            HN_TRY(provider->rewrite(m, o, log, err));
    }
}

hone_status hn_optimize_for_session(hn_model *m, const hn_program_options *program,
                                    const hn_optimize_options *o, hn_opt_log *log,
                                    hone_error *err) {
    HN_TRY(hn_optimize(m, o, log, err));
    return rewrite_by_providers(m, program, o, log, err);
}
