#include "cpu/lower/lower.h"

const hn_lowering hn_lower_unary[1] = {
    {.row_strides = {.args = 1, .rets = true, .want_one_type = true}}};
