/* Rules that programs and shared libraries bring along, and the pass that runs them. */
#include "pass/engine/custom_rule.h"
#include "pass/engine/pattern.h"

struct hn_rule_set {
    hn_arena *arena; /* the set itself lives there */
    HN_VEC(hn_rule_row) rows;
    HN_VEC(void *) libraries; /* closed at the end */
};

hn_rule_set *hn_rule_set_new(const hone_allocator *alloc) {
    hn_arena *arena = hn_arena_new(alloc);
    hn_rule_set *s = arena ? HN_NEW(arena, hn_rule_set) : NULL;
    if (s)
        s->arena = arena;
    else
        hn_arena_free(arena);
    return s;
}

void hn_rule_set_free(hn_rule_set *s) {
    if (!s)
        return;
    for (uint32_t i = 0; i < s->libraries.n; i++)
        hn_library_close(s->libraries.at[i]);
    hn_arena_free(s->arena);
}

const hn_rule_row *hn_rule_set_rows(const hn_rule_set *s, uint32_t *n) {
    *n = s->rows.n;
    return s->rows.at;
}

hone_status hn_pass_custom_rules(hn_pass *p) {
    return hn_pass_rules(p, p->options->custom, p->options->n_custom);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static hone_status check_rule(const hone_rule_def *def, hone_error *err) {
    if (def->abi != HONE_RULE_ABI)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "the rule was compiled for version %u of the interface, but this is version "
                       "%u: compile it with the header of this hone",
                       def->abi, HONE_RULE_ABI);
    if (!def->name || !*def->name || !def->pattern || !def->apply)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "rule '%s' cannot be registered: name, pattern and apply must be there",
                       def->name ? def->name : "");
    return HONE_OK;
}

/* Read once to see whether it can be; a pass reads it again. */
static hone_status check_pattern(hn_rule_set *s, const hone_rule_def *def, hone_error *err) {
    hn_pattern *unused;
    hn_arena_mark mark = hn_arena_save(s->arena);
    hone_status status = hn_pattern_parse(s->arena, def->pattern, &unused, err);
    hn_arena_restore(s->arena, mark);
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_error_prefix(err, "rule '%s' cannot be registered", def->name);
    return status;
}

static const char *own_text(hn_rule_set *s, const char *text) {
    return hn_arena_copy(s->arena, text, strlen(text) + 1);
}

hone_status hn_rule_set_add(hn_rule_set *s, const hone_rule_def *def, hone_error *err) {
    HN_TRY(check_rule(def, err));
    HN_TRY(check_pattern(s, def, err));
    hone_rule_def *own = HN_NEW(s->arena, hone_rule_def);
    HN_TRY_PTR(own);
    *own = *def;
    own->name = own_text(s, def->name);
    own->pattern = own_text(s, def->pattern);
    hn_rule_row row = {.name = own->name,
                       .pattern = own->pattern,
                       .fn = hn_apply_custom_rule,
                       .allow_shared = own->allow_shared,
                       .ctx = own};
    bool ok = own->name && own->pattern && HN_VEC_PUSH(s->arena, &s->rows, row);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

/* ---- libraries ------------------------------------------------------------------------------- */

typedef hone_status (*register_rules_fn)(const hone_rule_api *hone, hone_rule_set *rules,
                                         hone_error *error);

static hone_status register_rules_of(hn_rule_set *s, void *library, const char *path,
                                     hone_error *err) {
    uint32_t n_before = s->rows.n;
    void *symbol = hn_library_symbol(library, "hone_register_rules");
    register_rules_fn register_rules;
    if (!symbol)
        return hn_fail(err, HONE_E_FORMAT,
                       "the library '%s' has no function hone_register_rules: it is none of rules "
                       "for hone",
                       path);
    memcpy(&register_rules, &symbol, sizeof symbol); /* C has no cast from data to functions */
    hone_error own = {.code = HONE_OK};
    hone_status status = register_rules(&hn_rule_api, (hone_rule_set *)(void *)s, &own);
    if (status == HONE_OK && s->rows.n == n_before)
        return hn_fail(err, HONE_E_FORMAT, "the library '%s' registers no rule", path);
    if (status == HONE_OK)
        return HONE_OK;
    s->rows.n = n_before;
    status = hn_status_from_outside(status);
    return hn_fail(err, status, "the library '%s' did not register its rules: %s", path,
                   own.message[0] ? own.message : hone_status_text(status));
}

hone_status hn_rule_set_load(hn_rule_set *s, const char *path, hone_error *err) {
    void *library;
    if (!HN_VEC_RESERVE(s->arena, &s->libraries, 1))
        return HONE_E_NOMEM;
    HN_TRY(hn_library_open(path, &library, err));
    hone_status status = register_rules_of(s, library, path, err);
    if (status == HONE_OK)
        s->libraries.at[s->libraries.n++] = library;
    else
        hn_library_close(library);
    return status;
}
