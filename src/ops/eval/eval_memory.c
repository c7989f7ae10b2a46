/* What planners may do with an evaluation, and with the memory of its result. */
#include "cpu/ops_cpu.h"
#include "ops/custom.h"
#include "ops/eval_engine.h"

hn_memory_kind hn_eval_memory(hn_eval_fn fn) {
    static const hn_eval_fn same_bytes[] = {hn_eval_identity, hn_eval_reshape};
    static const hn_eval_fn in_place[] = {hn_eval_batch_norm,
                                          hn_eval_clip,
                                          hn_eval_gelu,
                                          hn_eval_unary,
                                          hn_eval_unary_any,
                                          hn_eval_binary,
                                          hn_eval_softmax,
                                          hn_eval_where,
                                          hn_eval_batch_norm_nhwc,
                                          hn_eval_instance_norm_nhwc,
                                          hn_eval_group_norm_nhwc};
    if (fn == hn_eval_concat)
        return HN_MEMORY_CONCAT;
    if (fn == hn_eval_split)
        return HN_MEMORY_SPLIT;
    for (size_t i = 0; i < HN_COUNT(same_bytes); i++)
        if (fn == same_bytes[i])
            return HN_MEMORY_ALIAS;
    for (size_t i = 0; i < HN_COUNT(in_place); i++)
        if (fn == in_place[i])
            return HN_MEMORY_IN_PLACE;
    return HN_MEMORY_SEPARATE;
}

hn_row_strides hn_eval_row_strides(hn_eval_fn fn) {
    enum { FIRST = 1, RESIDUAL = 1 << 3, RESIDUAL_OF_CHAIN = 1 << 7 };
    static const struct {
        hn_eval_fn fn;
        hn_row_strides steps;
    } rows[] = {
        {hn_eval_average_pool_nhwc, {FIRST, true, false}},
        {hn_eval_batch_norm_nhwc, {FIRST, true, false}},
        {hn_eval_concat, {UINT64_MAX, true, false}},
        {hn_eval_conv_chain, {FIRST | RESIDUAL_OF_CHAIN, true, false}},
        {hn_eval_conv_nhwc, {FIRST | RESIDUAL, true, false}},
        {hn_eval_conv_transpose_nhwc, {FIRST, true, false}},
        {hn_eval_group_norm_nhwc, {FIRST, true, false}},
        {hn_eval_instance_norm_nhwc, {FIRST, true, false}},
        {hn_eval_unary, {FIRST, true, true}},
        {hn_eval_unary_any, {FIRST, true, true}},
        {hn_eval_max_pool_nhwc, {FIRST, true, false}},
        {hn_eval_binary, {UINT64_MAX, true, true}},
        {hn_eval_nchw_conv, {RESIDUAL, true, false}},
        {hn_eval_nchw_conv_chain, {RESIDUAL_OF_CHAIN, true, false}},
        {hn_eval_resize, {FIRST, true, false}},
        {hn_eval_split, {FIRST, true, false}},
    };
    for (size_t i = 0; i < HN_COUNT(rows); i++)
        if (rows[i].fn == fn)
            return rows[i].steps;
    return (hn_row_strides){0};
}

bool hn_eval_copies_arg(hn_eval_fn fn, uint32_t arg) {
    return fn == hn_eval_gather && arg == 0;
}

bool hn_eval_runs_beside_others(hn_eval_fn fn) {
    return fn != hn_eval_custom && fn != hn_eval_image_decoder && fn != hn_eval_identity;
}

bool hn_eval_reads_part(hn_eval_fn fn) {
    static const hn_eval_fn readers[] = {hn_eval_gather, hn_eval_gather_elements, hn_eval_gather_nd,
                                         hn_eval_slice,  hn_eval_shape,           hn_eval_size};
    for (size_t i = 0; i < HN_COUNT(readers); i++)
        if (fn == readers[i])
            return true;
    return false;
}
