/* Runs of a model that are recorded. */
#ifndef HONE_CLI_PROFILE_RUN_H
#define HONE_CLI_PROFILE_RUN_H

#include "profile/profile.h"

typedef struct profile_runs {
    hone_model *model;
    const char *path;
    hone_session_options session; /* of hone_session_create */
    const cli_feed *feed;
    uint64_t n_runs; /* 0: about a second, at least 5 */
    double load_us;  /* that loading the model took */
    double timeout_seconds;
    const volatile int *interrupted;
    cli_progress *progress;
} profile_runs;
/* The first run and the recorded ones. False with the error. */
bool profile_record(const profile_runs *r, profile *p, hone_error *error);

/* Records steps: hone_run_options.observe_ctx. */
typedef struct profile_recorder {
    profile *p;
    bool keeps_events; /* false: sums alone, however many runs there are */
    double zero_us;    /* of the profile, on the clock */
    uint32_t run;
    const hone_graph *graph; /* of the session that was seen last */
    uint32_t *node_at;       /* by node of it: its entry and one more; 0: none */
    uint32_t n_node_at, n_inner_events;
} profile_recorder;
void profile_record_step(void *recorder, const hone_step *step); /* an observer */
void profile_recorder_free(profile_recorder *r);

/* Names, sizes and kernel of a step, when it is seen first. */
void profile_describe(profile *p, profile_node *n, const hone_step *step);

double profile_clock_us(void); /* monotonic */

#endif /* HONE_CLI_PROFILE_RUN_H */
