/* A run of a model that nobody has checked, with inputs that fit what it declares and little else:
 * indices out of range, numbers at the ends of their types, empty texts, NaN. */
#ifndef TEST_TRIAL_RUN_H
#define TEST_TRIAL_RUN_H

#include "hone/hone.h"

#include <stdint.h>

#define TRIAL_MEMORY_BYTES ((uint64_t)16 << 20)
#define TRIAL_SECONDS 0.2

#define MAX_TRIAL_OUTPUTS 64

/* Any status is right that comes with its message. The same seed makes the same inputs; those of an
 * even seed give dimensions of the same name different sizes. */
hone_status trial_run(hone_session *session, const hone_model *model, uint64_t seed,
                      hone_error *error);
/* The same; the caller frees the outputs, all of which are NULL when it fails. */
hone_status trial_outputs(hone_session *session, const hone_model *model, uint64_t seed,
                          hone_value *outputs[MAX_TRIAL_OUTPUTS], hone_error *error);

#endif
