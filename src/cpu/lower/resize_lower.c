/* Lowering of Resize. */
#include "cpu/lower/lower.h"

const hn_lowering hn_lower_resize[1] = {{.row_strides = {.args = 1, .rets = true}}};
