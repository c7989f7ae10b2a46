/* Inside ops/: functions that the rules of ai.onnx.ml share. */
#ifndef HN_ML_INT_H
#define HN_ML_INT_H

#include "ops/infer/infer_int.h"

/* Length of a list attribute of any kind, 0 when absent. */
uint32_t hn_ml_list_len(const hn_infer *c, const char *name);
/* Number of samples in input 0: a vector is one sample, a matrix has one per row. */
hone_status hn_ml_samples(hn_infer *c, int32_t min_rank, hn_dim *out);
/* Labels [samples] in output 0, strings when the attribute `strings` has any, else int64; scores
 * [samples, n_scores] in output 1. */
hone_status hn_ml_out_labels(hn_infer *c, const char *strings, hn_dim samples, hn_dim n_scores);

#endif /* HN_ML_INT_H */
