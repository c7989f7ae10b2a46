/* Inside cpu/: the passes that rewrite portable graphs for the processor. */
#ifndef HN_PASSES_CPU_H
#define HN_PASSES_CPU_H

#include "pass/engine/pass_int.h"

extern const hn_pass_table hn_cpu_passes;

#define HN_PASS HN_PASS_DECLARED
#include "cpu/passes/passes_cpu.def"
#undef HN_PASS

bool hn_is_own(const hn_rule *r, hn_id node, const char *op); /* of the domain `hone` */
/* An operator of the domain `hone` in the place of a node: it gets those of the node's attributes
 * that it knows; those given replace or add. Returns the node. */
hn_id hn_make_own(hn_rule *r, hn_id node, const char *op, uint32_t n_in, const hn_id *in,
                  uint32_t n_attrs, const hn_attr *attrs);

#endif /* HN_PASSES_CPU_H */
