/* The table of the processor's passes. */
#include "cpu/passes/passes_cpu.h"

#define HN_PASS HN_PASS_ROW
static const hn_pass_row cpu_pass_rows[] = {
#include "cpu/passes/passes_cpu.def"
};
#undef HN_PASS

const hn_pass_table hn_cpu_passes = {cpu_pass_rows, HN_COUNT(cpu_pass_rows)};
