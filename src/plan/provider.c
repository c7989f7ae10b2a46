/* Who runs nodes: the table of providers. */
#include "plan/plan.h"

static const hn_provider *const provider_table[] = {&hn_cpu_provider};

const hn_provider *hn_provider_at(uint32_t i) {
    return i < HN_COUNT(provider_table) ? provider_table[i] : NULL;
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
