/* Inference rules of matrix products. */
#include "ops/infer/rules/matmul_int.h"

#include "ops/infer/spatial.h"

/* ---- NumPy's matmul -------------------------------------------------------------------------- */

/* One operand as a batch of matrices, after its axes are permuted for the product. */
typedef struct matmul_operand {
    hn_shape batch; /* leading axes */
    hn_dim rows, cols;
    bool is_vector;
} matmul_operand;

static hone_status load_operand(hn_infer *c, hn_matmul_side side, bool is_left, matmul_operand *m) {
    const hn_shape *in = hn_in_shape(c, side.input);
    if (in->rank == 0)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "input %u is a scalar, but a matrix product needs rank 1 or more",
                             side.input);
    m->is_vector = in->rank == 1;
    if (m->is_vector) {
        m->batch = (hn_shape){.rank = 0};
        m->rows = is_left ? 1 : in->dims[0];
        m->cols = is_left ? in->dims[0] : 1;
        return HONE_OK;
    }
    int32_t n_batch = in->rank - 2;
    hn_dim *dims = hn_infer_dims(c, in->rank);
    HN_TRY_PTR(dims);
    bool shift = side.transpose_batch && n_batch > 0;
    for (int32_t i = 0; i < n_batch; i++)
        dims[i] = in->dims[shift ? i + 1 : i];
    m->batch = (hn_shape){.rank = n_batch, .dims = dims};
    hn_dim rows = shift ? in->dims[0] : in->dims[n_batch], cols = in->dims[n_batch + 1];
    m->rows = side.transpose ? cols : rows;
    m->cols = side.transpose ? rows : cols;
    return HONE_OK;
}

hone_status hn_matmul_shape(hn_infer *c, hn_matmul_side a, hn_matmul_side b, int32_t *rank,
                            const hn_dim **dims, hn_dim *depth) {
    *rank = -1;
    *dims = NULL;
    if (depth)
        *depth = HN_DIM_UNKNOWN;
    if (!hn_in_shape(c, a.input) || !hn_in_shape(c, b.input))
        return HONE_OK;
    matmul_operand left, right;
    HN_TRY(load_operand(c, a, true, &left));
    HN_TRY(load_operand(c, b, false, &right));
    if (hn_dim_is_known(left.cols) && hn_dim_is_known(right.rows) && left.cols != right.rows)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "%s and %s cannot be multiplied: rows have %lld elements, but columns "
                             "have %lld",
                             hn_in_text(c, a.input), hn_in_text(c, b.input), (long long)left.cols,
                             (long long)right.rows);
    if (depth)
        *depth = hn_dim_is_known(left.cols) ? left.cols : right.rows;
    int32_t n_batch;
    const hn_dim *batch;
    HN_TRY(hn_broadcast(c, 2, (const hn_shape *[]){&left.batch, &right.batch}, &n_batch, &batch));
    hn_dim *out = hn_infer_dims(c, n_batch + 2);
    HN_TRY_PTR(out);
    for (*rank = 0; *rank < n_batch; ++*rank)
        out[*rank] = batch[*rank];
    if (!left.is_vector)
        out[(*rank)++] = left.rows;
    if (!right.is_vector)
        out[(*rank)++] = right.cols;
    *dims = out;
    return HONE_OK;
}

hone_status hn_matmul_out(hn_infer *c, uint32_t a, uint32_t b) {
    int32_t rank;
    const hn_dim *dims;
    HN_TRY(hn_matmul_shape(c, (hn_matmul_side){.input = a}, (hn_matmul_side){.input = b}, &rank,
                           &dims, NULL));
    return hn_out_shape(c, 0, rank, dims);
}

hone_status hn_infer_matmul(hn_infer *c) {
    return hn_matmul_out(c, 0, 1);
}

/* ONNX has int32 only; the 16-bit variant is unsigned when both operands are. */
hone_status hn_infer_matmul_integer(hn_infer *c) {
    bool is_unsigned = hn_in_elem(c, 0) == HN_U16 && hn_in_elem(c, 1) == HN_U16;
    HN_TRY(hn_out_elem(c, 0, is_unsigned ? HN_U32 : HN_I32));
    return hn_matmul_out(c, 0, 1);
}

hone_status hn_infer_qlinear_matmul(hn_infer *c) {
    return hn_matmul_out(c, 0, 3);
}

bool hn_matmul_macs(const hn_infer *c, hn_dim depth, uint64_t *macs) {
    const hn_shape *y = hn_out_shape_known(c, 0);
    *macs = 1;
    return y && hn_macs_times(macs, y->rank, y->dims) && hn_macs_times(macs, 1, &depth);
}

bool hn_macs_matmul(const hn_infer *c, uint64_t *macs) {
    return hn_matmul_macs(c, hn_in_dim(c, 0, -1), macs);
}

bool hn_macs_qlinear_matmul(const hn_infer *c, uint64_t *macs) {
    return hn_macs_matmul(c, macs);
}

/* ---- Gemm ------------------------------------------------------------------------------------ */

/* The bias broadcasts to [M, N], never the other way round. */
static hone_status check_gemm_bias(hn_infer *c, uint32_t bias, const hn_dim y[2]) {
    HN_TRY(hn_expect_rank(c, bias, 0, 2));
    int32_t rank = HN_MAX(hn_in_rank(c, bias), 0);
    for (int32_t i = 1; i <= rank; i++) {
        hn_dim have = hn_in_dim(c, bias, -i), want = y[2 - i];
        if (hn_dim_is_known(have) && hn_dim_is_known(want) && have != 1 && have != want)
            return hn_infer_fail(c, HONE_E_SHAPE, "the bias %s does not broadcast to the result %s",
                                 hn_in_text(c, bias), hn_shape_str(c, 2, y));
    }
    return HONE_OK;
}

hone_status hn_gemm_out(hn_infer *c, uint32_t a, uint32_t b, uint32_t bias) {
    int32_t trans_a = hn_attr_i(c, "transA", 0) != 0, trans_b = hn_attr_i(c, "transB", 0) != 0;
    HN_TRY(hn_expect_rank(c, a, 2, 2));
    HN_TRY(hn_expect_rank(c, b, 2, 2));
    hn_dim depth_a = hn_in_dim(c, a, 1 - trans_a), depth_b = hn_in_dim(c, b, trans_b);
    if (hn_dim_is_known(depth_a) && hn_dim_is_known(depth_b) && depth_a != depth_b)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "A %s%s and B %s%s cannot be multiplied: rows have %lld elements, but "
                             "columns have %lld",
                             hn_in_text(c, a), trans_a ? " transposed" : "", hn_in_text(c, b),
                             trans_b ? " transposed" : "", (long long)depth_a, (long long)depth_b);
    const hn_dim y[2] = {hn_in_dim(c, a, trans_a), hn_in_dim(c, b, 1 - trans_b)};
    HN_TRY(check_gemm_bias(c, bias, y));
    return hn_out_shape(c, 0, 2, y);
}

hone_status hn_infer_gemm(hn_infer *c) {
    return hn_gemm_out(c, 0, 1, 2);
}

bool hn_macs_gemm(const hn_infer *c, uint64_t *macs) {
    return hn_matmul_macs(c, hn_in_dim(c, 0, hn_attr_i(c, "transA", 0) != 0 ? 0 : 1), macs);
}

/* ---- determinant ----------------------------------------------------------------------------- */

hone_status hn_infer_det(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    hn_dim side;
    HN_TRY(hn_merge_dim(c, "the side of the square matrices", hn_in_dim(c, 0, -2),
                        hn_in_dim(c, 0, -1), &side));
    return hn_out_shape(c, 0, x->rank - 2, x->dims);
}
