/* A run of a model that nobody has checked, with inputs that fit what it declares and little else:
 * indices out of range, numbers at the ends of their types, empty texts, NaN. */
#ifndef TEST_TRIAL_RUN_H
#define TEST_TRIAL_RUN_H

#include "hone/hone.h"

#include <stdint.h>

#define TRIAL_MEMORY_BYTES ((uint64_t)16 << 20)
#define TRIAL_SECONDS 0.2

/* Any status is right that comes with its message. The same seed makes the same inputs. */
hone_status trial_run(hone_session *session, const hone_model *model, uint64_t seed,
                      hone_error *error);

#endif
