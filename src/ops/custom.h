/* Inside ops/: nodes of registered operators, between the engine and the operator's own functions.
 */
#ifndef HN_CUSTOM_H
#define HN_CUSTOM_H

#include "ops/eval_engine.h"
#include "ops/schema/registry.h"

/* What an operator's function gets to see. Lives during its call. */
struct hone_op_node {
    hn_infer *infer;
    hn_eval *eval;       /* NULL in infer */
    bool is_computing;   /* eval has results, memory and threads */
    hone_error *err;     /* of infer or eval */
    hone_status refused; /* first thing that the operator did wrong, whatever it returns itself */
};

static inline const hn_custom_op *hn_custom_of(const hone_op_node *node) {
    return (const hn_custom_op *)(const void *)node->infer->op;
}

hone_status hn_infer_custom(hn_infer *c);
extern const hn_impl hn_impl_custom[1];

/* Records a failure that the operator itself has caused. */
hone_status hn_custom_refuse(hone_op_node *node, const char *fmt, ...) HN_PRINTF(2, 3);
/* The end of a call of one of its functions, which returned `status`. */
hone_status hn_custom_end(hone_op_node *node, const char *function, hone_status status);
/* May the output be of this type, next to what the inputs are? */
bool hn_custom_elem_fits(const hone_op_node *node, uint32_t i, int32_t elem_type);

/* Entries of the table that operators call, one file for each part of it. */
int32_t hn_custom_input_elem_type(const hone_op_node *node, uint32_t i);
int32_t hn_custom_input_rank(const hone_op_node *node, uint32_t i);
hone_dim hn_custom_input_dim(const hone_op_node *node, uint32_t i, int32_t axis);
bool hn_custom_input_dims(const hone_op_node *node, uint32_t i, uint32_t *n, const hone_dim **dims);
hone_dim hn_custom_dim_apply(hone_op_node *node, hone_dim_op op, hone_dim a, hone_dim b);
hone_status hn_custom_output_shape(hone_op_node *node, uint32_t i, int32_t rank,
                                   const hone_dim *dims);
hone_status hn_custom_output_type(hone_op_node *node, uint32_t i, int32_t elem_type, int32_t rank,
                                  const hone_dim *dims);
hone_status hn_custom_output_like(hone_op_node *node, uint32_t i, uint32_t input);
hone_status hn_custom_output(hone_op_node *node, uint32_t i, int32_t elem_type, int32_t rank,
                             const int64_t *dims, void **data);
hone_status hn_custom_output_string(hone_op_node *node, uint32_t i, uint64_t k, const char *text,
                                    size_t n_bytes);
void *hn_custom_scratch(hone_op_node *node, size_t n_bytes);
void hn_custom_parallel_for(const hone_op_node *node, int64_t n, int64_t grain,
                            void (*work)(void *ctx, int64_t begin, int64_t end), void *ctx);
bool hn_custom_is_stopped(const hone_op_node *node);

#endif /* HN_CUSTOM_H */
