/* Inside pass/: between rules that others have written and the interface that ours are written
 * with. */
#ifndef HN_CUSTOM_RULE_H
#define HN_CUSTOM_RULE_H

#include "pass/engine/pass_int.h"

/* What a rule's function gets to see. Lives during its call. */
struct hone_rule_site {
    hn_rule *rule;
    hone_status refused; /* the first thing that the rule did wrong, whatever it returns itself */
};

/* The fn of rows whose ctx is a hone_rule_def. */
hone_status hn_apply_custom_rule(hn_rule *r);

/* rule_write.c: the part of the table that writes. */
uint32_t hn_site_make(hone_rule_site *site, const char *op, uint32_t n_inputs,
                      const uint32_t *inputs, uint32_t n_outputs, uint32_t n_attributes,
                      const hone_attribute_info *attributes);
uint32_t hn_site_make_constant(hone_rule_site *site, const hone_tensor_info *tensor);
uint32_t hn_site_make_number(hone_rule_site *site, int32_t elem_type, double number);
void hn_site_replace(hone_rule_site *site, uint32_t value, uint32_t with);
/* Records a failure that the rule itself has caused. Returns HN_NONE. */
hn_id hn_site_refuse(hone_rule_site *site, const char *fmt, ...) HN_PRINTF(2, 3);

#endif /* HN_CUSTOM_RULE_H */
