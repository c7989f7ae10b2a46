/* Shapes of the operators that the processor's passes write. */
#include "cpu/ops_cpu.h"
#include "ops/infer/follow.h"
#include "ops/infer/spatial.h"

hone_status hn_infer_byte_table(hn_infer *c) {
    const hn_dim n = hn_in_dim(c, 1, 0);
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    if (hn_dim_is_known(n) && n != 256)
        return hn_infer_fail(c, HONE_E_SHAPE, "the table has %lld entries, not 256", (long long)n);
    HN_TRY(hn_out_elem(c, 0, hn_in_elem(c, 1)));
    return hn_out_shape_of(c, 0, 0);
}

hone_status hn_infer_nchw_conv(hn_infer *c) {
    return hn_conv_shape(c,
                         &(hn_conv_form){.x = 0, .weight = 1, .bias = 2, .moves_channels = true});
}

hone_status hn_infer_conv_transpose_nhwc(hn_infer *c) {
    return hn_conv_transpose_shape(c, 2, NULL, true);
}

hone_status hn_infer_nhwc_global_pool(hn_infer *c) {
    return hn_global_pool_shape(c, 0, true);
}

hone_status hn_infer_qlinear_conv_nhwc(hn_infer *c) {
    bool is_last = hn_attr_i(c, "channels_first", 0) == 0;
    HN_TRY(hn_out_elem(c, 0, hn_has_input(c, 7) ? hn_in_elem(c, 7) : HN_F32));
    return hn_conv_shape(c,
                         &(hn_conv_form){.x = 0, .weight = 3, .bias = 8, .channels_last = is_last});
}

hone_status hn_infer_dynamic_conv_nhwc(hn_infer *c) {
    bool is_last = hn_attr_i(c, "channels_first", 0) == 0;
    return hn_conv_shape(c,
                         &(hn_conv_form){.x = 0, .weight = 1, .bias = 4, .channels_last = is_last});
}
