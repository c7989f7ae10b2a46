/* Inside prove/: the search for sizes of inputs that are made up. */
#ifndef HN_SAMPLE_SIZES_H
#define HN_SAMPLE_SIZES_H

#include "prove/prove.h"

/* samples.c: runs the model with inputs of the sizes that the search proposes. */
typedef struct hn_size_trial hn_size_trial;
const hn_shape *hn_trial_given(const hn_size_trial *t, uint32_t input); /* NULL: is made up */
int64_t *hn_trial_dims(hn_size_trial *t, uint32_t input); /* to be filled; NULL: was given */
hone_status hn_trial_run(hn_size_trial *t, hone_error *err);
/* After a failure with this status: may other sizes help, and is there time for them? */
bool hn_trial_may_go_on(const hn_size_trial *t, hone_status status);

/* From now on runs may leave outputs empty; false: none did. */
bool hn_trial_take_empty(hn_size_trial *t);

/* Ends with a successful run, or with the status of the last one and the error of the first. */
hone_status hn_sample_sizes_search(hn_size_trial *trial, const hn_model *m, bool obeys_names,
                                   hn_arena *arena, hone_error *err);

#endif /* HN_SAMPLE_SIZES_H */
