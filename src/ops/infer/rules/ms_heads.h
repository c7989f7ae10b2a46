/* Inside ops/: arithmetic that the attention operators of com.microsoft share. */
#ifndef HN_MS_HEADS_H
#define HN_MS_HEADS_H

#include "ops/infer/infer_int.h"

/* Reads an integer attribute that must be positive. */
hone_status hn_ms_positive(hn_infer *c, const char *attr, int64_t *out);
/* whole / parts without remainder, or an error; `what` names the whole. */
hone_status hn_ms_divide(hn_infer *c, const char *what, hn_dim whole, int64_t parts, hn_dim *out);
/* The single element of an integer input as a dimension; unknown when absent. */
hn_dim hn_ms_in_dim(const hn_infer *c, uint32_t input);
/* Width of the value projection: qkv_hidden_sizes[2], or a third of the packed bias or weights. */
hone_status hn_ms_value_width(hn_infer *c, uint32_t weights, uint32_t bias, hn_dim *out);
/* batch * queries * keys * (width of keys + width of values): both products of an attention. */
bool hn_ms_attention_macs(hn_dim batch, hn_dim queries, hn_dim keys, hn_dim key_width,
                          hn_dim value_width, uint64_t *macs);

#endif /* HN_MS_HEADS_H */
