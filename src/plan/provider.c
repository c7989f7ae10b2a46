/* Who runs nodes: finding providers by their names. */
#include "plan/plan.h"

const hn_provider *hn_provider_at(uint32_t i) {
    uint32_t n = 0;
    while (n < i && hn_builtin_providers[n])
        n++;
    return hn_builtin_providers[n];
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

hone_status hn_program_provider(const hn_program_options *o, uint32_t i, const hn_provider **out,
                                hone_error *err) {
    *out = NULL;
    if (o && o->n_providers)
        return i < o->n_providers ? hn_provider_find(o->providers[i], out, err) : HONE_OK;
    *out = i == 0 ? hn_builtin_providers[0] : NULL;
    return HONE_OK;
}
