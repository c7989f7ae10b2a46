/* The table of the processor's operators. */
#include "cpu/ops_cpu.h"

#define hn_macs_none NULL
#define hn_impl_none NULL
#define HN_OP HN_OP_ROW

static const hn_op cpu_op_rows[] = {
#include "cpu/ops_cpu.def"
};

#undef HN_OP
#undef hn_impl_none
#undef hn_macs_none

const hn_op_table hn_cpu_ops = {cpu_op_rows, HN_COUNT(cpu_op_rows)};
