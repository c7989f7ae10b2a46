/* The table of portable passes. */
#include "pass/engine/pass_int.h"

#define HN_PASS HN_PASS_ROW
static const hn_pass_row portable_rows[] = {
#include "pass/passes.def"
};
#undef HN_PASS

const hn_pass_table hn_portable_passes = {portable_rows, HN_COUNT(portable_rows)};
