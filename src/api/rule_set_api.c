/* extend.h: user-defined rules. */
#include "api/api_int.h"
#include "pass/pass.h"

static hn_rule_set *rule_set_of(hone_rule_set *rules) {
    return (hn_rule_set *)(void *)rules;
}

hone_status hone_rule_set_create(const hone_allocator *allocator, hone_rule_set **rules,
                                 hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(rules, error);
    *rules = (hone_rule_set *)(void *)hn_rule_set_new(allocator);
    return hn_error_complete(error, *rules ? HONE_OK : HONE_E_NOMEM);
}

hone_status hone_rule_set_load(hone_rule_set *rules, const char *path, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(rules, error);
    HN_REQUIRE(path, error);
    return hn_error_complete(error, hn_rule_set_load(rule_set_of(rules), path, error));
}

hone_status hone_rule_set_add(hone_rule_set *rules, const hone_rule_def *rule, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(rules, error);
    HN_REQUIRE(rule, error);
    return hn_error_complete(error, hn_rule_set_add(rule_set_of(rules), rule, error));
}

void hone_rule_set_free(hone_rule_set *rules) {
    hn_rule_set_free(rule_set_of(rules));
}
