/* hone run --profile: the time of runs by operator and by node. */
#ifndef HONE_CLI_RUN_PROFILE_H
#define HONE_CLI_RUN_PROFILE_H

#include "profile/profile_run.h"

void run_profile_print(const profile *p, size_t n_runs);
void run_profile_json(const profile *p, size_t n_runs, cli_buffer *out);

#endif /* HONE_CLI_RUN_PROFILE_H */
