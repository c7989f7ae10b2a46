/* The table of passes. */
#include "pass/engine/pass_int.h"

static const hn_pass_row rows[] = {
#define HN_PASS(name, group, level, numerics, fn, summary) \
  {name, HN_GROUP_##group, HN_LEVEL_##level, HN_NUMERICS_##numerics, hn_pass_##fn, summary},
#include "pass/passes.def"
#undef HN_PASS
};

uint32_t hn_pass_count(void) {
    return HN_COUNT(rows);
}

const hn_pass_row *hn_pass_at(uint32_t i) {
    return &rows[i];
}

const hn_pass_row *hn_pass_find(const char *name) {
    for (uint32_t i = 0; i < HN_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}
