/* Inside cpu/: the operators that its passes write. */
#ifndef HN_OPS_CPU_H
#define HN_OPS_CPU_H

#include "ops/eval.h"
#include "ops/infer/infer_int.h"

extern const hn_op_table hn_cpu_ops;

#define HN_OP HN_OP_DECLARED
#include "cpu/ops_cpu.def"
#undef HN_OP
#define HN_OP HN_OP_IMPLEMENTED
#include "cpu/ops_cpu.def"
#undef HN_OP

#endif /* HN_OPS_CPU_H */
