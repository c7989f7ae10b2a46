/* Libraries that must be rejected as rule libraries; FAULT_<name> selects the fault. */
#include "hone/hone.h"

#ifdef FAULT_no_entry
HONE_EXPORT int hone_other_rules(void);

int hone_other_rules(void) {
    return 0;
}
#else

#  ifndef FAULT_none
static hone_status do_nothing(const hone_rule_api *hone, hone_rule_site *site) {
    (void)hone, (void)site;
    return HONE_OK;
}
#  endif

hone_status hone_register_rules(const hone_rule_api *hone, hone_rule_set *rules,
                                hone_error *error) {
#  if defined FAULT_none
    (void)hone, (void)rules, (void)error;
    return HONE_OK;
#  else
    hone_rule_def rule = {
        .abi = HONE_RULE_ABI, .name = "bad", .pattern = "Relu(x)", .apply = do_nothing};
#    if defined FAULT_other_abi
    rule.abi = HONE_RULE_ABI + 1;
#    endif
    hone_status status = hone->register_rule(rules, &rule, error);
#    if defined FAULT_half
    rule.pattern = "Relu(";
    if (status == HONE_OK)
        status = hone->register_rule(rules, &rule, error);
#    endif
    return status;
#  endif
}
#endif
