/* Inside cpu/: the passes that rewrite portable graphs for the processor. */
#ifndef HN_PASSES_CPU_H
#define HN_PASSES_CPU_H

#include "pass/engine/pass_int.h"

extern const hn_pass_table hn_cpu_passes;

#define HN_PASS HN_PASS_DECLARED
#include "cpu/passes/passes_cpu.def"
#undef HN_PASS

#endif /* HN_PASSES_CPU_H */
