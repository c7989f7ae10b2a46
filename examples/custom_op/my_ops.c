/* Three operators of the domain "my.ops", as a shared library for hone. It includes hone's header
 * and links against nothing of hone: what it calls stands in the table that hone hands over.
 *
 *   Swish          x * sigmoid(alpha * x), in one pass over the data
 *   WeightedSum    any number of tensors of one shape, each with a weight of its own
 *   KeepPositive   the elements greater than zero: how many there are depends on the data */
#include <math.h>
#include <stdlib.h>

#include "hone/hone.h"

enum { FLOAT = 1 }; /* TensorProto.FLOAT */

/* ---- Swish ----------------------------------------------------------------------------------- */

static hone_status swish_infer(const hone_op_api *hone, hone_op_node *node) {
    return hone->output_like(node, 0, 0);
}

typedef struct swish_work {
    const float *x;
    float *y;
    float alpha;
} swish_work;

static void swish_piece(void *work, int64_t begin, int64_t end) {
    const swish_work *w = work;
    for (int64_t i = begin; i < end; i++)
        w->y[i] = w->x[i] / (1 + expf(-w->alpha * w->x[i]));
}

static hone_status swish_compute(const hone_op_api *hone, hone_op_node *node, void *state) {
    hone_tensor_info x;
    swish_work work;
    void *y;
    (void)state;
    hone->input(node, 0, &x);
    hone->attr_float(node, "alpha", &work.alpha);
    hone_status status = hone->output(node, 0, FLOAT, x.rank, x.dims, &y);
    if (status != HONE_OK || !y)
        return status;
    work.x = x.data;
    work.y = y;
    hone->parallel_for(node, (int64_t)x.n_elements, 4096, swish_piece, &work);
    return HONE_OK;
}

/* ---- WeightedSum ----------------------------------------------------------------------------- */

/* All inputs have one shape; a size that only some of them know is known of the result. */
static hone_status weighted_sum_infer(const hone_op_api *hone, hone_op_node *node) {
    hone_dim dims[64];
    int32_t rank = hone->input_rank(node, 0);
    for (int32_t axis = 0; axis < rank; axis++)
        dims[axis] = hone->input_dim(node, 0, axis);
    for (uint32_t i = 1; i < hone->n_inputs(node); i++) {
        int32_t other = hone->input_rank(node, i);
        if (other < 0 || rank < 0)
            return HONE_OK;
        if (other != rank)
            return hone->fail(node, HONE_E_SHAPE, "input %u has rank %d, but input 0 has %d", i,
                              other, rank);
        for (int32_t axis = 0; axis < rank; axis++) {
            hone_dim size = hone->input_dim(node, i, axis);
            if (size >= 0 && dims[axis] >= 0 && size != dims[axis])
                return hone->fail(node, HONE_E_SHAPE, "input %u has another shape than input 0", i);
            if (size >= 0 || dims[axis] == HONE_DIM_UNKNOWN)
                dims[axis] = size;
        }
    }
    return hone->output_shape(node, 0, rank, dims);
}

/* The weights, scaled to a sum of 1, once for all runs. */
static hone_status weighted_sum_create(const hone_op_api *hone, hone_op_node *node, void **state) {
    uint32_t n, n_inputs = hone->n_inputs(node);
    const float *weights;
    float sum = 0;
    if (!hone->attr_floats(node, "weights", &n, &weights) || n != n_inputs)
        return hone->fail(node, HONE_E_INVALID, "there must be one weight for each of %u inputs",
                          n_inputs);
    for (uint32_t i = 0; i < n; i++)
        sum += weights[i];
    if (!(fabsf(sum) > 0))
        return hone->fail(node, HONE_E_INVALID, "the weights must have a sum other than 0");
    float *scaled = malloc(n * sizeof *scaled);
    if (!scaled)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        scaled[i] = weights[i] / sum;
    *state = scaled;
    return HONE_OK;
}

static void weighted_sum_destroy(void *context, void *state) {
    (void)context;
    free(state);
}

static hone_status weighted_sum_compute(const hone_op_api *hone, hone_op_node *node, void *state) {
    const float *weights = state;
    hone_tensor_info x;
    void *memory;
    hone->input(node, 0, &x);
    hone_status status = hone->output(node, 0, FLOAT, x.rank, x.dims, &memory);
    float *y = memory;
    if (status != HONE_OK || !y)
        return status;
    for (uint64_t k = 0; k < x.n_elements; k++)
        y[k] = weights[0] * ((const float *)x.data)[k];
    for (uint32_t i = 1; i < hone->n_inputs(node); i++) {
        hone->input(node, i, &x);
        for (uint64_t k = 0; k < x.n_elements; k++)
            y[k] += weights[i] * ((const float *)x.data)[k];
    }
    return HONE_OK;
}

/* ---- KeepPositive ---------------------------------------------------------------------------- */

/* The result has one dimension; its size shows only when the operator runs. */
static hone_status keep_positive_infer(const hone_op_api *hone, hone_op_node *node) {
    return hone->output_shape(node, 0, 1, (const hone_dim[]){HONE_DIM_UNKNOWN});
}

static hone_status keep_positive_compute(const hone_op_api *hone, hone_op_node *node, void *state) {
    hone_tensor_info x;
    int64_t n = 0;
    void *memory;
    (void)state;
    hone->input(node, 0, &x);
    const float *from = x.data;
    for (uint64_t i = 0; i < x.n_elements; i++)
        n += from[i] > 0;
    hone_status status = hone->output(node, 0, FLOAT, 1, &n, &memory);
    float *to = memory;
    for (uint64_t i = 0; status == HONE_OK && to && i < x.n_elements; i++)
        if (from[i] > 0)
            *to++ = from[i];
    return status;
}

/* ---- registration ---------------------------------------------------------------------------- */

static const hone_op_def ops[] = {
    {.abi = HONE_OP_ABI,
     .domain = "my.ops",
     .name = "Swish",
     .versions = "1",
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=float",
     .attributes = "alpha:f=1",
     .infer = swish_infer,
     .compute = swish_compute},
    {.abi = HONE_OP_ABI,
     .domain = "my.ops",
     .name = "WeightedSum",
     .versions = "1",
     .inputs = "inputs:T*1",
     .outputs = "sum:T",
     .types = "T=float",
     .attributes = "weights:floats!",
     .infer = weighted_sum_infer,
     .compute = weighted_sum_compute,
     .create = weighted_sum_create,
     .destroy = weighted_sum_destroy},
    {.abi = HONE_OP_ABI,
     .domain = "my.ops",
     .name = "KeepPositive",
     .versions = "1",
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=float",
     .infer = keep_positive_infer,
     .compute = keep_positive_compute},
};

hone_status hone_register_ops(const hone_op_api *hone, hone_op_registry *registry,
                              hone_error *error) {
    hone_status status = HONE_OK;
    for (size_t i = 0; i < sizeof ops / sizeof *ops && status == HONE_OK; i++)
        status = hone->register_op(registry, &ops[i], error);
    return status;
}
