#include "cpu/lower/lower.h"

const hn_lowering hn_lower_binary[1] = {
    {.row_strides = {.args = UINT64_MAX, .rets = true, .want_one_type = true}}};
