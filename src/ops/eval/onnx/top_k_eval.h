/* TopK, settled once for many runs. */
#ifndef HN_TOP_K_EVAL_H
#define HN_TOP_K_EVAL_H

#include "ops/eval/copy.h"

typedef struct hn_top_k_form {
    hn_split3 s; /* of the data, at the axis */
    int64_t k;
    bool smallest, sorts;
} hn_top_k_form;
hone_status hn_top_k_read(hn_eval *c, hn_top_k_form *f);
bool hn_top_k_is_small(const hn_top_k_form *f); /* not worth another thread */
/* By one thread, in this many bytes of memory; values and indices may be NULL. */
size_t hn_top_k_room(const hn_top_k_form *f);
void hn_top_k_run(const hn_top_k_form *f, const hn_array *x, void *values, void *indices,
                  void *room);

#endif /* HN_TOP_K_EVAL_H */
