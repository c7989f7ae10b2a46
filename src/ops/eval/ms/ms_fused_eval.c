/* Products and activations of com.microsoft with something fused into them, computed. */
#include "ops/eval/eval_broadcast.h"
#include "ops/eval/copy.h"
#include "ops/eval/ms/ms_eval.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/product.h"
#include "ops/eval/onnx/window_eval.h"

/* ---- products -------------------------------------------------------------------------------- */

static hone_status add_in_place(hn_eval *c, hn_array *y, const hn_array *more) {
    return more ? hn_binary_eval(c, hn_binary_find("Add"), y, more, y) : HONE_OK;
}

static hone_status map_in_place(hn_eval *c, const char *op, double a, hn_array *y) {
    return hn_unary_eval(c, hn_unary_find(op), a, 0, y, y);
}

static hone_status eval_fused_conv(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    const hn_array *sum = hn_arg(c, 3);
    if (!y)
        return HONE_OK;
    if (sum)
        HN_TRY(hn_want_dims(c, 3, y->rank, y->dims));
    hn_epilogue_f32 epilogue = {.residual = sum ? sum->data : NULL};
    if (y->dtype == HN_F32 && hn_fused_epilogue(c, &epilogue))
        return hn_conv_with_epilogue(c, &epilogue);
    HN_TRY(hn_eval_conv(c));
    HN_TRY(add_in_place(c, y, sum));
    return hn_fused_activation(c, y);
}
const hn_impl hn_impl_fused_conv[1] = {{.eval = eval_fused_conv}};

static hone_status eval_fused_gemm(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    HN_TRY(hn_eval_gemm(c));
    return hn_fused_activation(c, y);
}
const hn_impl hn_impl_fused_gemm[1] = {{.eval = eval_fused_gemm}};

/* One side of a product laid out for numpy's matmul, when its rows stand before the stack: [rows,
 * stack..., columns]. The last two axes then stand in their places, too. */
static hone_status move_stack_axes(hn_eval *c, const hn_array *a, bool batch_first,
                                   bool *is_transposed, int64_t *dims, hn_array *out) {
    int32_t rank = a->rank;
    int64_t strides[HN_MAX_RANK], plain[HN_MAX_RANK], moved[HN_MAX_RANK];
    *out = *a;
    if (!batch_first || rank < 3)
        return HONE_OK;
    hn_strides(rank, a->dims, strides);
    for (int32_t i = 0; i < rank; i++) {
        int32_t from = i;
        if (i < rank - 1)
            from = i == rank - 2 ? 0 : i + 1;
        int32_t to = *is_transposed && i >= rank - 2 ? 2 * rank - 3 - i : i;
        dims[to] = a->dims[from];
        moved[to] = strides[from];
    }
    HN_TRY(hn_scratch_array(c, a->dtype, rank, dims, out));
    *is_transposed = false;
    hn_strides(rank, dims, plain);
    return hn_copy_grid(c, rank, dims, out, &(hn_grid){0, plain}, a, &(hn_grid){0, moved});
}

static hone_status fused_product(hn_eval *c, hn_array *y) {
    const hn_infer *node = hn_eval_node(c);
    int64_t a_dims[HN_MAX_RANK], b_dims[HN_MAX_RANK];
    hn_array a, b;
    hn_product p = {.a = &a,
                    .b = &b,
                    .trans_a = hn_attr_i(node, "transA", 0) != 0,
                    .trans_b = hn_attr_i(node, "transB", 0) != 0,
                    .packed_b = hn_packed_right_side(c)};
    HN_TRY(move_stack_axes(c, hn_arg(c, 0), hn_attr_i(node, "transBatchA", 0) != 0, &p.trans_a,
                           a_dims, &a));
    HN_TRY(move_stack_axes(c, hn_arg(c, 1), hn_attr_i(node, "transBatchB", 0) != 0, &p.trans_b,
                           b_dims, &b));
    return hn_product_eval(c, &p, y);
}

static hone_status eval_fused_matmul(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    float alpha = hn_attr_f(hn_eval_node(c), "alpha", 1);
    if (!y)
        return HONE_OK;
    HN_TRY(fused_product(c, y));
    return alpha != 1 ? map_in_place(c, "Scale", (double)alpha, y) : HONE_OK;
}
const hn_impl hn_impl_fused_matmul[1] = {{.eval = eval_fused_matmul}};

static hone_status eval_fused_matmul_activation(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    HN_TRY(eval_fused_matmul(c));
    return hn_fused_activation(c, y);
}
const hn_impl hn_impl_fused_matmul_activation[1] = {{.eval = eval_fused_matmul_activation}};

static hone_status eval_gemm_fast_gelu(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    const hn_array *bias = hn_arg(c, 2);
    if (!y)
        return HONE_OK;
    HN_TRY(hn_want_elems(c, 2, (uint64_t)(y->rank > 0 ? y->dims[y->rank - 1] : 1)));
    HN_TRY(hn_eval_matmul(c));
    HN_TRY(add_in_place(c, y, bias));
    return map_in_place(c, "Gelu_tanh", 0, y);
}
const hn_impl hn_impl_gemm_fast_gelu[1] = {{.eval = eval_gemm_fast_gelu}};

/* ---- activations ----------------------------------------------------------------------------- */

/* y = f(x + bias), where the bias may be left out. */
static hone_status map_with_bias(hn_eval *c, const char *op, double a) {
    const hn_array *x = hn_arg(c, 0), *bias = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    if (!bias)
        return hn_unary_eval(c, hn_unary_find(op), a, 0, x, y);
    HN_TRY(hn_want_broadcast(c, 0, y));
    HN_TRY(hn_want_broadcast(c, 1, y));
    HN_TRY(hn_binary_eval(c, hn_binary_find("Add"), x, bias, y));
    return map_in_place(c, op, a, y);
}

static hone_status eval_ms_gelu(hn_eval *c) {
    return map_with_bias(c, "Gelu", 0);
}
const hn_impl hn_impl_ms_gelu[1] = {{.eval = eval_ms_gelu}};

static hone_status eval_fast_gelu(hn_eval *c) {
    return map_with_bias(c, "Gelu_tanh", 0);
}
const hn_impl hn_impl_fast_gelu[1] = {{.eval = eval_fast_gelu}};

static hone_status eval_quick_gelu(hn_eval *c) {
    return map_with_bias(c, "Swish", (double)hn_attr_f(hn_eval_node(c), "alpha", 1.702f));
}
const hn_impl hn_impl_quick_gelu[1] = {{.eval = eval_quick_gelu}};

static hone_status eval_bias_softmax(hn_eval *c) {
    hn_array *y = hn_ret(c, 0), sum;
    int32_t axis;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 1), y->rank, &axis));
    HN_TRY(hn_want_broadcast(c, 0, y));
    HN_TRY(hn_want_broadcast(c, 1, y));
    HN_TRY(hn_scratch_array(c, y->dtype, y->rank, y->dims, &sum));
    HN_TRY(hn_binary_eval(c, hn_binary_find("Add"), hn_arg(c, 0), hn_arg(c, 1), &sum));
    return hn_eval_as(c, hn_eval_softmax, 1, (const hn_array *const[]){&sum}, y);
}
const hn_impl hn_impl_bias_softmax[1] = {{.eval = eval_bias_softmax}};

static hone_status eval_bias_add(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    for (uint32_t i = 0; i < 3; i++)
        HN_TRY(hn_want_broadcast(c, i, y));
    HN_TRY(hn_binary_eval(c, hn_binary_find("Add"), hn_arg(c, 0), hn_arg(c, 1), y));
    return add_in_place(c, y, hn_arg(c, 2));
}
const hn_impl hn_impl_bias_add[1] = {{.eval = eval_bias_add}};

/* The second half of the channels gates the first. */
static hone_status eval_bias_split_gelu(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    const float *bias;
    if (!y)
        return HONE_OK;
    uint64_t width = (uint64_t)x->dims[2], half = width / 2;
    HN_TRY(hn_want_elems(c, 1, width));
    float *row = hn_eval_scratch_n(c, width, sizeof *row);
    HN_TRY_PTR(row && hn_arg_f32s(c, 1, &bias));
    const hn_unary_op *gelu = hn_unary_find("Gelu");
    for (uint64_t i = 0; i * half < y->n_elems; i++) {
        hn_load_f32(x, i * width, width, row);
        for (uint64_t k = 0; k < width; k++)
            row[k] += bias[k];
        gelu->f32(row + half, row + half, half, 0, 0);
        for (uint64_t k = 0; k < half; k++)
            row[k] *= row[half + k];
        hn_store_f32(y, i * half, half, row);
    }
    return HONE_OK;
}
const hn_impl hn_impl_bias_split_gelu[1] = {{.eval = eval_bias_split_gelu}};
