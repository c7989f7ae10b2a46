/* Who runs nodes: the table of providers, and the one that is always there. */
#include "plan/plan.h"

/* ---- cpu ------------------------------------------------------------------------------------- */

static bool cpu_claims(const hn_graph *g, const hn_step *step) {
    (void)g;
    return step->op->eval != NULL;
}

static hone_status cpu_lower(const hn_graph *g, hn_step *step, hone_error *err) {
    (void)g, (void)err;
    step->run = step->op->eval;
    step->memory = hn_eval_memory(step->run);
    step->row_strides = hn_eval_row_strides(step->run);
    return HONE_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hn_provider provider_table[] = {
    {.name = "cpu", .claims = cpu_claims, .lower = cpu_lower},
};

const hn_provider *hn_provider_at(uint32_t i) {
    return i < HN_COUNT(provider_table) ? &provider_table[i] : NULL;
}

hone_status hn_provider_find(const char *name, const hn_provider **out, hone_error *err) {
    hn_strbuf names;
    for (uint32_t i = 0; (*out = hn_provider_at(i)) != NULL; i++)
        if (strcmp((*out)->name, name) == 0)
            return HONE_OK;
    hn_strbuf_init(&names, NULL);
    for (uint32_t i = 0; hn_provider_at(i); i++)
        hn_strbuf_printf(&names, "%s%s", i ? ", " : "", hn_provider_at(i)->name);
    hone_status status =
        hn_fail(err, HONE_E_UNSUPPORTED, "there is no provider '%s'; this build has: %s", name,
                names.failed ? "others" : names.at);
    hn_strbuf_free(&names);
    return status;
}
